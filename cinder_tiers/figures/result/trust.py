# SPDX-License-Identifier: Apache-2.0

"""Rules on which figures of a run may be shown, and with which doubts.

Pure: the one gate through which tables, charts and claims take figures.  A
percentile of too few I/Os is never shown; missing facts on a run are a reason
to read it with care, just like its ``caveats``.  Nothing is added to result
files: a file of an older release passes the same gate.
"""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import math

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.figures.result import caveats as result_caveats
from cinder_tiers.figures.result import figures
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.stats import intervals
from cinder_tiers.figures.stats import steadiness

#: What is meant by a mean over repeats, wherever one is shown.
MEAN = 'geometric mean over the repeats in which all guests are complete'
#: What caveats of patterns without a figure are about.
NO_REPEAT = 'no complete repeat'
#: What caveats of a single repeat are about.
ONE_REPEAT = 'one repeat'
#: What caveats of too few I/Os are about.
TOO_FEW_IOS = 'too few I/Os'
#: Percentiles that tables show, beside those that nothing less shows.
_SHOWN = (99.0, 99.9)
_LEAST_REPEATS = 2
_ADVISED_REPEATS = 3
#: What a few hard disks do of random I/Os, all guests together.
_SLOW_IOPS = 100


def percentile_ns(
    clat: run_result.Latencies | None, percent: float
) -> int | None:
    """Return a percentile of the latencies of one repeat, in ns.

    :param clat: latencies of all guests together, or None
    :param percent: 1 or more, less than 100
    :returns: None if there are too few I/Os
    """
    if clat is None:
        return None
    found = clat.histogram()
    if not figures.has_percentile(found.count, percent):
        return None
    return found.percentile_ns(percent)


def guest_p99_ns(guest: run_result.GuestFigures) -> int | None:
    """p99 of one guest in one repeat; None of too few I/Os."""
    if guest.total_ios is None or not figures.has_percentile(
        guest.total_ios, 99
    ):
        return None
    return guest.p99_ns


def p99_over_time_ns(
    latency: run_result.LatencyOverTime | None,
) -> tuple[tuple[int, int], ...]:
    """(place of a time, its p99), of the times with enough I/Os."""
    if latency is None:
        return ()
    return tuple(
        (at, p99_ns)
        for at, (ios, p99_ns) in enumerate(
            zip(latency.ios, latency.p99_ns, strict=True)
        )
        if p99_ns > 0 and figures.has_percentile(ios, 99)
    )


def estimate(
    slots: Sequence[run_result.SlotResult], quantity: str, *, looks: int = 1
) -> intervals.Estimate | None:
    """The mean over repeats that comparisons have, with its interval.

    :param slots: the repeats of a pattern of a tier
    :param quantity: a name as in ``expectations.find_quantity``
    :param looks: see ``intervals.confidence``
    :returns: in the unit of the quantity; None if no repeat is complete, one
        has no such figure, or it rests on too few I/Os
    """
    complete = figures.complete(slots)
    limit = expectations.quantity(quantity)
    if not complete or figures.not_told(complete, limit):
        return None
    values = figures.of_complete(complete, limit)
    if not values or figures.too_few_ios(complete, limit):
        return None
    return intervals.estimate_geometric_mean(values, looks=looks)


def least_ios(slots: Sequence[run_result.SlotResult]) -> int:
    """Fewest I/Os of a complete repeat; 0 if there is none."""
    return min(
        (
            slot.measured.clat.histogram().count
            for slot in figures.complete(slots)
        ),
        default=0,
    )


def runtime_needed_s(runtime_s: int, ios: int, percent: float) -> int | None:
    """Return the runtime that a pattern needs for a percentile.

    >>> runtime_needed_s(6, 62, 99)
    97

    :param runtime_s: runtime in which it had this number of I/Os
    :param ios: lowest number of I/Os of a repeat
    :returns: None without I/Os
    """
    if not ios:
        return None
    return math.ceil(runtime_s * figures.ios_needed(percent) / ios)


def _lacks(
    run: run_result.RunResult, percent: float
) -> tuple[dict[str, str], str]:
    """Find patterns that lack a percentile, and what they would need.

    :returns: ({pattern of a tier: its number of I/Os}, all of them in one
        sentence); both empty if none lacks it
    """
    found = {
        f'{tier.tier} {pattern.pattern}': pattern.slots
        for tier in run.tiers
        for pattern in tier.patterns
        if figures.complete(pattern.slots)
    }
    runtime_s = run.profile.method.runtime_seconds
    few = {}
    for name, slots in sorted(found.items(), key=lambda e: least_ios(e[1])):
        ios = least_ios(slots)
        if not figures.has_percentile(ios, percent):
            few[name] = f'{ios} I/Os of a repeat'
            if needed_s := runtime_needed_s(runtime_s, ios, percent):
                # Those in flight at the end of a repeat count among its I/Os,
                # and not among its IOPS.
                iops = min(s.measured.iops for s in figures.complete(slots))
                if iops:
                    needed_s = max(
                        needed_s,
                        math.ceil(figures.ios_needed(percent) / iops),
                    )
                few[name] += (
                    f'; needs runtime >= {needed_s} s for p{percent:g}'
                )
    if not few:
        return {}, ''
    name = next(iter(few))
    return few, (
        f'p{percent:g} is not known of {len(few)} of {len(found)} patterns of'
        f' tiers ({name}: {few[name]})'
    )


def why_dashes(run: run_result.RunResult) -> str:
    """Explain why percentiles of a run are not shown; empty if all are.

    :returns: a sentence, and which runtime would have them
    """
    found = [text for each in _SHOWN if (text := _lacks(run, each)[1])]
    if not found:
        return ''
    return (
        f'"-" is a percentile with fewer than {figures.LEAST_ABOVE} I/Os of'
        f' a repeat above it: {"; ".join(found)}.'
    )


def before_run(runtime_s: int, repeats: int) -> str:
    """Explain what a run cannot show, regardless of its result.

    :param runtime_s: runtime of each repeat
    :param repeats: minimum number of repeats
    :returns: a line with the necessary settings; empty if nothing is missing
    """
    found = []
    if repeats < _LEAST_REPEATS:
        found.append(
            'intervals, so that no tier is shown to be better'
            f' (needs repeats >= {_ADVISED_REPEATS})'
        )
    if runtime_s < steadiness.SHORTEST_SECONDS:
        found.append(
            'whether load was steady (needs runtime >='
            f' {steadiness.SHORTEST_SECONDS} s)'
        )
    slow = math.ceil(figures.ios_needed(99) / runtime_s)
    if slow > _SLOW_IOPS:
        found.append(
            f'p99 of what does less than {slow:,} IOPS, p99.9 of less than'
            f' {math.ceil(figures.ios_needed(99.9) / runtime_s):,} (at'
            f' {_SLOW_IOPS} IOPS, p99 needs runtime >='
            f' {runtime_needed_s(1, _SLOW_IOPS, 99)} s)'
        )
    if not found:
        return ''
    return (
        f'With a runtime of {runtime_s} s'
        + (' and one repeat' if repeats < _LEAST_REPEATS else '')
        + f', the result will not say: {"; ".join(found)}'
    )


def _of_some(
    found: Mapping[str, str], names: Collection[str], of_all: str
) -> Iterator[str]:
    """Yield a text for each pattern or tier, or one if it applies to all.

    A fact known of one is not doubted because of another one.

    :param found: {tier, or pattern of a tier: text}, for those concerned
    :param names: names of all
    :param of_all: text to use if all are concerned
    """
    if found and len(found) == len(names):
        yield of_all
    else:
        yield from (f'{name}: {text}' for name, text in found.items())


def _patterns(
    run: run_result.RunResult,
) -> dict[str, run_result.PatternResult]:
    """{what it is called: each pattern of each tier}."""
    return {
        f'{tier.tier} {pattern.pattern}': pattern
        for tier in run.tiers
        for pattern in tier.patterns
    }


def _few_ios(run: run_result.RunResult) -> Iterator[tuple[str, str]]:
    found, of_all = _lacks(run, 99)
    complete = [
        name
        for name, pattern in _patterns(run).items()
        if figures.complete(pattern.slots)
    ]
    for text in _of_some(found, complete, of_all):
        yield TOO_FEW_IOS, text


def _few_repeats(run: run_result.RunResult) -> Iterator[tuple[str, str]]:
    counts = {
        name: len(figures.complete(pattern.slots))
        for name, pattern in _patterns(run).items()
    }
    none = 'no repeat in which all guests are complete: there is no figure'
    once = (
        'no more than one complete repeat: there is no interval, and a'
        f' difference may be chance; measure {_ADVISED_REPEATS} repeats'
    )
    for about, count, text in ((NO_REPEAT, 0, none), (ONE_REPEAT, 1, once)):
        found = {
            name: text for name, repeats in counts.items() if repeats == count
        }
        for each in _of_some(found, counts, f'each pattern has {text}'):
            yield about, each


def _unknown_steadiness(
    run: run_result.RunResult,
) -> Iterator[tuple[str, str]]:
    slots = [each for each in run.runs if each.slot.merged is not None]
    unknown = [each for each in slots if each.slot.steadiness.steady is None]
    if not unknown:
        return
    of_pattern: dict[str, list[run_result.SlotResult]] = {}
    for each in unknown:
        of_pattern.setdefault(
            f'{each.tier.tier} {each.pattern.pattern}', []
        ).append(each.slot)
    found = {
        name: f'in {len(few)} of its repeats, such as repeat'
        f' {few[0].repeat}: {few[0].steadiness.reason}'
        for name, few in of_pattern.items()
    }
    first = unknown[0]
    for text in _of_some(
        found,
        {f'{each.tier.tier} {each.pattern.pattern}' for each in slots},
        f'in {len(unknown)} of {len(slots)} runs, such as'
        f' {first.tier.tier} {first.name}: {first.slot.steadiness.reason}',
    ):
        yield 'steadiness not known', text


def _unknown_host_load(
    run: run_result.RunResult,
) -> Iterator[tuple[str, str]]:
    measured: dict[str, set[str]] = {}
    unknown: dict[str, set[str]] = {}
    for each in run.runs:
        for guest in each.slot.guests:
            if guest.verdict != 'complete':
                continue
            measured.setdefault(each.tier.tier, set()).add(guest.guest)
            if guest.cpu is None or guest.cpu.steal_percent is None:
                unknown.setdefault(each.tier.tier, set()).add(guest.guest)

    def told(few: Iterable[set[str]], many: Iterable[set[str]]) -> str:
        return (
            f'{sum(map(len, few))} of {sum(map(len, many))} guests do not'
            ' report CPU steal: whether their hosts were busy with other work'
            ' is not known'
        )

    for text in _of_some(
        {
            tier: told([guests], [measured[tier]])
            for tier, guests in unknown.items()
        },
        measured,
        told(unknown.values(), measured.values()),
    ):
        yield 'host load not known', text


def _unknown_placement(
    run: run_result.RunResult,
) -> Iterator[tuple[str, str]]:
    in_ceph = {guest.tier for guest in run.guests if guest.image}
    for what, tiers in (
        (
            'volume types',
            [
                tier.tier
                for tier in run.tiers
                if tier.volume_types.value is None
            ],
        ),
        (
            'backends',
            [
                tier.tier
                for tier in run.tiers
                if tier.tier not in in_ceph
                and (tier.backends is None or tier.backends.value is None)
            ],
        ),
    ):
        for text in _of_some(
            dict.fromkeys(tiers, f'{what} of its volumes'),
            [tier.tier for tier in run.tiers],
            f'{what} of the volumes of {", ".join(tiers)}',
        ):
            yield 'placement not known', text


def _unknown_storage(run: run_result.RunResult) -> Iterator[tuple[str, str]]:
    if run.ceph is None:
        yield (
            'storage load not known',
            'the storage below was not asked for its health and other work;'
            ' of Ceph, the argument ceph has it asked',
        )


_NOT_KNOWN = (
    _few_repeats,
    _few_ios,
    _unknown_steadiness,
    _unknown_host_load,
    _unknown_storage,
    _unknown_placement,
)


def caveats(run: run_result.RunResult) -> tuple[run_result.Caveat, ...]:
    """Return the reasons to read a run with care: known and possible faults.

    :returns: the gravest first; empty only if all is known, and good
    """
    found = run.doubts
    if found is None:
        found = result_caveats.find_caveats(run)
    few_repeats, *others = (
        [
            run_result.Caveat(about=about, text=text)
            for about, text in rule(run)
        ]
        for rule in _NOT_KNOWN
    )
    return tuple(
        dict.fromkeys(
            (*few_repeats, *found, *(each for one in others for each in one))
        )
    )


def kinds(
    found: Iterable[run_result.Caveat],
    run: run_result.RunResult,
    tier: str,
    pattern: str,
) -> tuple[str, ...]:
    """Return the kinds of caveats that apply to a pattern of a tier.

    :returns: kinds, including those of caveats on the whole run
    """

    def concerns(text: str) -> bool:
        for each in run.tiers:
            if text.startswith(f'{each.tier}: '):
                return each.tier == tier
            for one in each.patterns:
                if text.startswith(f'{each.tier} {one.pattern}: '):
                    return (each.tier, one.pattern) == (tier, pattern)
        return True

    return tuple(
        dict.fromkeys(each.about for each in found if concerns(each.text))
    )
