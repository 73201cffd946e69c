# SPDX-License-Identifier: Apache-2.0


"""Check that each guest's volumes lie in the tier to be measured.

Figures of a volume that landed elsewhere are those of another tier.  If
Cinder's volume type of a tier is known, it is expected; otherwise volumes of
one tier must at least agree, regardless of the guest.

Pure: this module must not know Cinder.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from cinder_tiers.figures.fleet import verdict

# Other verdicts are worse, and say more.
_REPLACED = (verdict.GuestVerdict.COMPLETE, verdict.GuestVerdict.LATE)


def _most_have(types: Sequence[str | None]) -> tuple[str | None, ...]:
    """The type of more than half of a tier's volumes, or nothing."""
    most = max(types, key=types.count)
    return (most,) if 2 * types.count(most) > len(types) else ()


def _objection(
    found: Iterable[str | None],
    of_tier: Sequence[str | None],
    expected: str | None,
) -> str:
    """Explain why the types of a guest's volumes are wrong; empty if right."""
    accepted = _most_have(of_tier) if expected is None else (expected,)
    wrong = sorted({each or 'none' for each in found if each not in accepted})
    if not wrong:
        return ''
    others = ', '.join(sorted({each or 'none' for each in of_tier}))
    wanted = (
        f'{accepted[0] or "none"}'
        if accepted
        else f'one for all volumes of the tier, which have {others}'
    )
    return (
        f'its volume has the volume type {" and ".join(wrong)}, expected'
        f' {wanted}'
    )


def reject_wrong_volume_types(
    outcomes: Sequence[verdict.GuestOutcome],
    found: Mapping[str, Sequence[str | None]],
    expected: Mapping[str, str],
) -> list[verdict.GuestOutcome]:
    """Return the outcomes, with volumes on a wrong tier excluded.

    :param outcomes: outcomes of all guests
    :param found: {guest: volume type of each of its volumes, or None without
        one}
    :param expected: {tier: its volume type} for tiers where it is known; for
        others, the type of most of their volumes is expected
    """
    of_tiers: dict[str, list[str | None]] = {}
    for outcome in outcomes:
        of_tiers.setdefault(outcome.tier, []).extend(found[outcome.guest])
    result = []
    for outcome in outcomes:
        reason = _objection(
            found[outcome.guest],
            of_tiers[outcome.tier],
            expected.get(outcome.tier),
        )
        result.append(
            dataclasses.replace(
                outcome,
                slots=tuple(
                    dataclasses.replace(
                        slot,
                        reason=reason,
                        verdict=verdict.GuestVerdict.WRONG_TIER,
                    )
                    if reason and slot.verdict in _REPLACED
                    else slot
                    for slot in outcome.slots
                ),
            )
        )
    return result
