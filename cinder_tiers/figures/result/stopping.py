# SPDX-License-Identifier: Apache-2.0

"""Check whether the repeats of a run are enough, for its result.

Pure: figures of tiers in, intervals that are too wide out.  ``stats.stopping``
explains when there is a look, and what it costs.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.figures.result import figures
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.stats import stopping

# {tier: its patterns}
Patterns = Mapping[str, Sequence[run_result.PatternResult]]


def _series(
    patterns: Patterns, rule: stopping.StoppingRule
) -> Iterator[stopping.RepeatSeries]:
    """Yield the intervals to which a rule applies."""
    for tier, of_tier in patterns.items():
        for pattern in of_tier:
            slots = figures.complete(pattern.slots)
            for name, percent in (
                ('iops', rule.interval_percent),
                ('p99_ms', rule.p99_interval_percent),
            ):
                if percent is None:
                    continue
                limit = expectations.quantity(name)
                # A percentile of too few I/Os has no interval to rely on.
                usable = slots
                if slots and figures.too_few_ios(slots, limit):
                    usable = []
                yield stopping.RepeatSeries(
                    name=f'{tier} {pattern.pattern}: {name}',
                    values=tuple(figures.of_complete(usable, limit)),
                    limit_percent=percent,
                    resolution=figures.resolution(usable, limit)
                    if usable
                    else 0.0,
                )


def too_wide(
    patterns: Patterns, rule: stopping.StoppingRule
) -> Sequence[stopping.Wide]:
    """Return the intervals that are wider than the rule wants.

    :param patterns: patterns with the repeats so far
    :returns: empty if the rule is satisfied
    """
    return stopping.wide(_series(patterns, rule), looks=len(rule.looks))


def record(
    patterns: Patterns,
    rule: stopping.StoppingRule,
    *,
    repeats: int,
    looks: int,
) -> run_result.Stopping:
    """Return the record of the end of the repeats.

    :param patterns: patterns with all repeats that count
    :param repeats: number of these repeats
    :param looks: number of looks, including the one after the last repeats
    """
    wide = too_wide(patterns, rule)
    if wide:
        why = f'{len(wide)} intervals are too wide, such as {wide[0]}'
        if looks < len(rule.looks) and repeats == rule.most_repeats:
            why += (
                f'; results of {len(rule.looks) - looks} of'
                f' {len(rule.looks)} looks were not there in time'
            )
    else:
        why = 'all intervals are narrow enough'
    return run_result.Stopping(
        interval_percent=rule.interval_percent,
        p99_interval_percent=rule.p99_interval_percent,
        most_repeats=rule.most_repeats,
        most_looks=len(rule.looks),
        looks=looks,
        repeats=repeats,
        is_narrow=not wide,
        reason=f'{repeats} of at most {rule.most_repeats} repeats: {why}',
    )
