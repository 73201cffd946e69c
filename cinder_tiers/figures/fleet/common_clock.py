# SPDX-License-Identifier: Apache-2.0


"""Check that the clocks of all guests agree.

A guest whose clock stands still for a while (a suspended server), jumps or
drifts starts at the right time by its own clock, and reports no error; only
an observer sees that it runs beside the others no more.  The observer here is
the host that reads the consoles: between which two readings an event came is
known.  For each event, *host time minus guest's time on the leader's clock*
lies between two bounds, and if all clocks go alike, all these intervals have
a point in common.  The point in most of them is taken for right (Marzullo's
rule), and who says otherwise has a wrong clock.  First each guest's own events
are taken together that way, so that a guest that had more turns than others
has no more of a say; then those of all guests.  If as many guests say one
thing as another, as when two guests differ, neither can be believed.

A guest prints an event some time after it looked at the clock, and one line
may be seconds late.  What a guest says time after time is not: the least late
of its next few events speaks for its clock.

Pure: this module must not know how consoles are read.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from dataclasses import dataclass

from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.fleet import verdict

# From a guest's look at its clock to the end of the line that has it: a few
# processes, which take long where many emulated guests share few cores.  Seen
# on two cores: mostly 1 s, at most 4.5 s, of 12 guests.
_PRINTING_MS = 5000
_PRINTING_OF_SEVERAL_MS = 2000
_SEVERAL_CLAIMS = 4
# Clocks of guests and host without a time service may differ by 200 ppm, which
# is 0.2 s in this time: what is further apart is not compared.
_BLOCK_MS = 15 * 60 * 1000
_LATER_CLAIMS = 8

# (name of the event, number of the slot)
Key = tuple[str, int]


@dataclass(frozen=True, kw_only=True)
class FirstSeen:
    """Times of an event and of its first reading, in ms."""

    #: when it was, on the guest's clock; None if it does not say
    said_ms: int | None
    #: when the reading before began, in which it was not there; None without
    #: one
    after_ms: int | None
    #: when the reading was there in which it was
    by_ms: int


@dataclass(frozen=True, kw_only=True)
class _Claim:
    """Bounds that an event sets on host time minus leader's time."""

    outcome: verdict.GuestOutcome
    slot: schedule.Slot
    name: str
    at_ms: int
    #: None if it says nothing of it; too high by what printing took
    least_ms: int | None
    most_ms: int


def _claims(
    outcome: verdict.GuestOutcome,
    heard: Mapping[Key, FirstSeen],
    late_after_ms: int,
) -> Iterator[_Claim]:
    """Yield the claims of slots that have a result, in order of time."""
    for found in outcome.slots:
        for name in ('START', 'END'):
            seen = heard.get((name, found.slot.number))
            if (
                found.measured is not None
                and seen is not None
                and seen.said_ms is not None
                and outcome.clock_shift_ms is not None
            ):
                at_ms = seen.said_ms - outcome.clock_shift_ms
                yield _Claim(
                    outcome=outcome,
                    slot=found.slot,
                    name=name,
                    at_ms=at_ms,
                    least_ms=None
                    if seen.after_ms is None
                    else seen.after_ms - at_ms - late_after_ms,
                    most_ms=seen.by_ms - at_ms + late_after_ms,
                )


def _deepest(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges where the most spans overlap; empty without spans.

    Usually there is one.  Of several, the lower one comes first: delays make
    claims too high, and nothing makes them too low.
    """
    edges = []
    for begin_ms, end_ms in spans:
        # At the same place, beginnings come first.
        edges += [(begin_ms, 0), (end_ms, 1)]
    best, depth = 0, 0
    found: list[tuple[int, int]] = []
    edges.sort()
    for number, (at_ms, is_end) in enumerate(edges):
        depth += -1 if is_end else 1
        if depth > best:
            best, found = depth, []
        if depth == best and not is_end:
            # An end follows, or a beginning that makes it better still.
            found.append((at_ms, edges[number + 1][0]))
    return found


def _agreed(claims: Iterable[_Claim]) -> list[tuple[int, int]]:
    """The spans that the most guests agree on; none without a claim."""
    of_guests: dict[str, list[tuple[int, int]]] = {}
    for claim in claims:
        if claim.least_ms is not None and claim.least_ms <= claim.most_ms:
            of_guests.setdefault(claim.outcome.guest, []).append(
                (claim.least_ms - _PRINTING_MS, claim.most_ms)
            )
    return _deepest(
        span for own in of_guests.values() for span in _deepest(own)
    )


def _objection(claims: Sequence[_Claim], agreed: tuple[int, int]) -> str:
    """Explain why the clock is wrong at the first of a guest's claims.

    A clock that is behind stays behind, but an event that is heard late need
    not: so the later claims decide, or, without any, an undamaged console.

    :param claims: the claim to judge and all later ones
    """
    claim = claims[0]
    # What most agree on may hold some whose clock is behind by a little.
    ahead_ms = agreed[0] - claim.most_ms - _PRINTING_OF_SEVERAL_MS
    if ahead_ms > 0:
        return f"its clock is at least {ahead_ms} ms ahead of the others'"
    least_ms = [each.least_ms for each in claims if each.least_ms is not None]
    if len(least_ms) < len(claims) or (
        len(claims) == 1 and claim.outcome.damaged_lines
    ):
        return ''
    printing_ms = (
        _PRINTING_MS
        if len(claims) < _SEVERAL_CLAIMS
        else _PRINTING_OF_SEVERAL_MS
    )
    behind_ms = min(least_ms) - printing_ms - agreed[1]
    if behind_ms > 0:
        return f"its clock is at least {behind_ms} ms behind the others'"
    return ''


def _by_block(
    claims: Iterable[_Claim],
) -> dict[int, list[tuple[int, int]]]:
    """Return the agreed clock offsets per block of the run, with a margin."""
    blocks: dict[int, list[_Claim]] = {}
    for claim in claims:
        block = claim.at_ms // _BLOCK_MS
        for near in (block - 1, block, block + 1):
            blocks.setdefault(near, []).append(claim)
    found = {block: _agreed(near) for block, near in blocks.items()}
    return {block: spans for block, spans in found.items() if spans}


def _objections(
    claims: Mapping[str, Sequence[_Claim]],
) -> dict[tuple[str, int], str]:
    """{(guest, number of a slot): what is wrong with its clock}."""
    agreed = _by_block(claim for own in claims.values() for claim in own)
    found = _objections_to(
        {block: spans[0] for block, spans in agreed.items()}, claims
    )
    # Where as many agree on something else, those who agree on the first may
    # be the wrong ones.
    rivals = {
        block: spans[-1] for block, spans in agreed.items() if len(spans) > 1
    }
    disputed = {
        claim.at_ms // _BLOCK_MS
        for (guest, slot) in found
        for claim in claims[guest]
        if claim.slot.number == slot
    }
    others = _objections_to(
        {block: rivals[block] for block in rivals.keys() & disputed}, claims
    )
    for key, reason in others.items():
        found.setdefault(
            key,
            f'{reason}, or theirs is wrong: as many clocks say one thing as'
            f' the other',
        )
    return found


def _objections_to(
    agreed: Mapping[int, tuple[int, int]],
    claims: Mapping[str, Sequence[_Claim]],
) -> dict[tuple[str, int], str]:
    """{(guest, number of a slot): what is wrong with its clock}.

    :param agreed: {block: what is taken for right in it}
    """
    found: dict[tuple[str, int], str] = {}
    for guest, own in claims.items():
        for number, claim in enumerate(own):
            span = agreed.get(claim.at_ms // _BLOCK_MS)
            later = [
                each
                for each in own[number : number + _LATER_CLAIMS]
                if each.at_ms - claim.at_ms < _BLOCK_MS
            ]
            reason = span and _objection(later, span)
            if reason:
                found.setdefault(
                    (guest, claim.slot.number),
                    f'{reason} at its {claim.name} of'
                    f' {claim.slot.pattern.name}, by when it was received',
                )
    return found


def _start_ms(outcomes: Sequence[verdict.GuestOutcome]) -> int | None:
    """T0 as most guests have it, the first one's if as many have another."""
    told = [
        outcome.start_ms
        for outcome in outcomes
        if outcome.start_ms is not None
    ]
    return max(told, key=told.count, default=None)


def reject_wrong_clocks(
    outcomes: Sequence[verdict.GuestOutcome],
    heard: Mapping[str, Mapping[Key, FirstSeen]],
    *,
    late_after_ms: int,
) -> list[verdict.GuestOutcome]:
    """Return the outcomes, with slots by a wrong clock not complete any more.

    :param outcomes: outcomes of all guests
    :param heard: {guest: {event: when it was heard}}, with the events START
        and END
    :param late_after_ms: how far a clock may be off, in addition to delays of
        hearing
    """
    claims = {
        outcome.guest: list(
            _claims(outcome, heard.get(outcome.guest, {}), late_after_ms)
        )
        for outcome in outcomes
    }
    wrong = _objections(claims)
    start_ms = _start_ms(outcomes)
    found = []
    for outcome in outcomes:
        slots = []
        for slot in outcome.slots:
            reason = wrong.get((outcome.guest, slot.slot.number), '')
            if outcome.start_ms != start_ms:
                reason = (
                    f'it was given the start {outcome.start_ms} ms, most'
                    f' guests {start_ms} ms'
                )
            if reason and slot.verdict is verdict.GuestVerdict.COMPLETE:
                slot = dataclasses.replace(
                    slot,
                    verdict=verdict.GuestVerdict.WRONG_CLOCK,
                    reason=reason,
                )
            slots.append(slot)
        found.append(dataclasses.replace(outcome, slots=tuple(slots)))
    return found
