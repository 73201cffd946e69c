# SPDX-License-Identifier: Apache-2.0

"""Whether the repeats of a run are enough, and what its result says of it.

Pure: figures of tiers in, what is too wide out.  When there is a look, and
what it costs, is in ``stats.stopping``.
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
    """All intervals that a rule is about."""
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
    """Intervals that are wider than the rule wants; empty: it is enough.

    :param patterns: with the repeats so far
    """
    return stopping.wide(_series(patterns, rule), looks=len(rule.looks))


def record(
    patterns: Patterns,
    rule: stopping.StoppingRule,
    *,
    repeats: int,
    looks: int,
) -> run_result.Stopping:
    """What a result says of the end of its repeats.

    :param patterns: with all repeats that count
    :param repeats: how many these are
    :param looks: how many there were; after the last repeats, too
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
