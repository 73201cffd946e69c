# SPDX-License-Identifier: Apache-2.0

"""Environment of a run, as tables."""

from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.report import figure


def _text(fact: run_result.Fact | None) -> str:
    if fact is None:
        return 'not known'
    if fact.value is None:
        return f'not known: {fact.reason}'
    return fact.value


def facts(result: run_result.RunResult) -> figure.Table:
    """Versions and settings that figures depend on.

    What is not known has its reason, and comes last.
    """
    found = sorted(
        result.environment.items(), key=lambda each: each[1].value is None
    )
    return figure.Table(
        columns=figure.columns('What', 'Value'),
        rows=tuple(
            (name.replace('_', ' '), _text(fact)) for name, fact in found
        ),
    )


def tiers(result: run_result.RunResult) -> figure.Table:
    """Return the place of each tier's volumes, and its complete guests."""
    rows = []
    for tier in result.tiers:
        guests = [each for each in result.guests if each.tier == tier.tier]
        complete = sum(each.verdict == 'complete' for each in guests)
        rows.append(
            (
                tier.tier,
                _text(tier.image),
                _text(tier.volume_types),
                _text(tier.backends),
                _text(tier.qos),
                f'{complete} of {len(guests)}',
            )
        )
    return figure.Table(
        columns=figure.columns(
            'Tier',
            'Image',
            'Volume types',
            'Backends',
            'QoS',
            'Complete guests',
        ),
        rows=tuple(rows),
    )
