# SPDX-License-Identifier: Apache-2.0

"""Reasons to read the figures of a run with care.

Pure: a run in, reasons out.  Each reason has a rule here, and its limit has a
name; a rule is a function of a run, and ``_RULES`` lists them in the order in
which a reader should hear of them.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
import functools
import math
import re
import statistics

from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.fleet import guest_system
from cinder_tiers.figures.fleet import merge
from cinder_tiers.figures.result import ceph as ceph_result
from cinder_tiers.figures.result import figures
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.stats import intervals

# So much of what a guest wanted to do with its CPUs had to wait, and I/O with
# it.  It makes one guest slower than another by as much, so it is half of the
# spread that is flagged.
STEAL_LIMIT_PERCENT = 5
# Of the CPUs that a pattern's jobs can keep busy.  What is left goes in ticks
# that round down, and in the seconds in which fio starts and ends.
BUSY_LIMIT_PERCENT = 90
# Of the median of the guests, in each repeat: one that does less has something
# that the tier has not, such as a slow host.  Of two, none is in the middle.
SLOW_SHARE = 0.5
_LEAST_GUESTS = 3
# Of the fact clone_or_flat, where it says how volumes were asked for.
NOT_FILLED = 'region not filled'
BLANK = 'blank data volume (flat)'
# Between the different values of one thing.
SEVERAL = ' | '
_MAX_NAMES = 5
# The first that issues as many I/Os as it was asked for with both.
_RATE_MENDED_IN_FIO = (3, 42)
_FIO_VERSION = re.compile(r'fio-([0-9]{1,4})\.([0-9]{1,4})', re.ASCII)

_MIXED = (
    'cpu_model',
    'cpus',
    'hypervisor',
    'distribution',
    'disk_bus',
    'write_cache',
    'io_scheduler',
    'clock_source',
)


def _some(names: Iterable[str]) -> str:
    """The first few of some names, and how many more there are.

    >>> _some("abcdefg")
    'a, b, c, d, e and 2 more'
    """
    found = list(dict.fromkeys(names))
    more = len(found) - _MAX_NAMES
    return ', '.join(found[:_MAX_NAMES]) + (
        f' and {more} more' if more > 0 else ''
    )


def _name(tier: str, pattern: str) -> str:
    """Return the name of a tier's pattern, as caveats use it."""
    return f'{tier} {pattern}'


def of_pattern(
    found: Iterable[run_result.Caveat], tier: str, pattern: str
) -> tuple[run_result.Caveat, ...]:
    """Return the caveats on one pattern of one tier."""
    return tuple(
        caveat
        for caveat in found
        if caveat.text.startswith(f'{_name(tier, pattern)}: ')
    )


def _patterns(
    run: run_result.RunResult,
) -> Iterator[tuple[str, run_result.PatternResult]]:
    """(what it is called, each pattern of each tier)."""
    for tier in run.tiers:
        for pattern in tier.patterns:
            yield _name(tier.tier, pattern.pattern), pattern


def _missing_guests(run: run_result.RunResult) -> Iterator[tuple[str, str]]:
    for name, pattern in _patterns(run):
        bad = [
            (guest, slot)
            for slot in pattern.slots
            for guest in slot.guests
            if guest.verdict != 'complete'
        ]
        if bad:
            slots = {slot.number for _guest, slot in bad}
            yield (
                'guests missing',
                f'{name}: in {len(slots)} of {len(pattern.slots)} repeats,'
                f' which are in no interval: '
                + _some(
                    f'{guest.guest} ({guest.verdict})' for guest, _slot in bad
                ),
            )


def _skew(run: run_result.RunResult) -> Iterator[tuple[str, str]]:
    def may_be_ms(merged: run_result.MergedFigures) -> float:
        error_ms = merged.start_skew_error_ms
        return (
            math.inf if error_ms is None else (merged.start_skew_ms + error_ms)
        )

    def remark_of(merged: run_result.MergedFigures) -> str:
        return merge.start_remark(
            merged.start_skew_ms,
            merged.start_skew_error_ms,
            merged.window.length_ms,
        )

    for tier in run.tiers:
        merged = [
            (slot.merged, pattern, slot)
            for pattern in tier.patterns
            for slot in pattern.slots
            if slot.merged
        ]
        found = [each for each in merged if remark_of(each[0])]
        if found:
            worst, pattern, slot = max(
                found, key=lambda each: may_be_ms(each[0])
            )
            yield (
                'start skew',
                f'{tier.tier}: in {len(found)} of {len(merged)} runs, worst'
                f' in {pattern.pattern}, repeat {slot.repeat}: guests'
                f' {remark_of(worst)}',
            )


def _peaks(
    pattern: run_result.PatternResult,
    percent_of: Callable[
        [run_result.GuestFigures, guest_system.CpuUse], float | None
    ],
) -> str:
    """Name guests with their highest percentages over the slots.

    :param percent_of: takes a guest in a slot and the use of its CPUs; returns
        None if there is nothing to object
    """
    found: dict[str, float] = {}
    for slot in pattern.slots:
        for guest in slot.guests:
            percent = percent_of(guest, guest.cpu) if guest.cpu else None
            if percent is not None:
                found[guest.guest] = max(found.get(guest.guest, 0), percent)
    return _some(
        f'{guest} ({percent:g} %)' for guest, percent in found.items()
    )


def _steal(run: run_result.RunResult) -> Iterator[tuple[str, str]]:
    def percent_of(
        _guest: run_result.GuestFigures, cpu: guest_system.CpuUse
    ) -> float | None:
        steal = cpu.steal_percent
        return steal if steal and steal > STEAL_LIMIT_PERCENT else None

    for name, pattern in _patterns(run):
        if peaks := _peaks(pattern, percent_of):
            yield (
                'steal',
                f'{name}: hosts took more than {STEAL_LIMIT_PERCENT} % of'
                f' the CPU from {peaks}',
            )


def _busy_cpus(run: run_result.RunResult) -> Iterator[tuple[str, str]]:
    jobs = {each.name: each.numjobs for each in run.profile.patterns}
    cpus = {
        guest.guest: guest.system.cpus
        for guest in run.guests
        if guest.system and guest.system.cpus
    }

    def percent_of(
        wanted: int, guest: run_result.GuestFigures, cpu: guest_system.CpuUse
    ) -> float | None:
        own = cpus.get(guest.guest)
        busy = cpu.busy_percent
        # Each volume has jobs of its own.
        wanted *= len(guest.volumes or ()) or 1
        if own is None or busy < BUSY_LIMIT_PERCENT * min(wanted, own) / own:
            return None
        return busy

    for name, pattern in _patterns(run):
        # With steps of guests, a pattern's name ends in .gN.
        wanted = jobs.get(pattern.pattern) or jobs.get(
            pattern.pattern.rpartition('.')[0], 1
        )
        if peaks := _peaks(pattern, functools.partial(percent_of, wanted)):
            yield (
                'guest CPU',
                f'{name}: its guests, not the tier, may be the limit; CPUs'
                f' were busy in {peaks}',
            )


def _rate(run: run_result.RunResult) -> Iterator[tuple[str, str]]:
    """Explain what an older fio does not do as ordered."""
    patterns = [
        each.name
        for each in run.profile.patterns
        if each.rate_iops and each.bssplit
    ]
    old = [
        found[0]
        for found in _FIO_VERSION.finditer(run.environment['fio'].value or '')
        if (int(found[1]), int(found[2])) < _RATE_MENDED_IN_FIO
    ]
    if patterns and old:
        yield (
            'rate',
            f'{_some(patterns)}: with bssplit, fio before'
            f' {".".join(map(str, _RATE_MENDED_IN_FIO))} issues fewer I/Os'
            f' than rate_iops asks for; guests have {_some(old)}',
        )


def _spread(run: run_result.RunResult) -> Iterator[tuple[str, str]]:
    for name, pattern in _patterns(run):
        if pattern.iops is not None and pattern.iops.spread_is_wide:
            yield (
                'spread',
                f'{name}: IOPS of the repeats spread by'
                f' {pattern.iops.spread_percent:.1f} %, more than'
                f' {intervals.SPREAD_LIMIT_PERCENT} %',
            )


def _wide_intervals(
    run: run_result.RunResult,
) -> Iterator[tuple[str, str]]:
    if run.stopping and not run.stopping.is_narrow:
        yield 'wide intervals', run.stopping.reason


def _unsteady(run: run_result.RunResult) -> Iterator[tuple[str, str]]:
    for name, pattern in _patterns(run):
        bad = [
            slot for slot in pattern.slots if slot.steadiness.steady is False
        ]
        if bad:
            yield (
                'not steady',
                f'{name}: in {len(bad)} of {len(pattern.slots)} repeats,'
                f' such as repeat {bad[0].repeat}:'
                f' {bad[0].steadiness.reason}',
            )


def _stalls(run: run_result.RunResult) -> Iterator[tuple[str, str]]:
    """Yield stalls of a whole tier, or else of some of its guests."""
    for name, pattern in _patterns(run):
        of_tier = [
            (stall_s, slot)
            for slot in pattern.slots
            if (stall_s := slot.steadiness.longest_stall_s)
        ]
        if of_tier:
            worst_s, worst = max(of_tier, key=lambda each: each[0])
            yield (
                'stall',
                f'{name}: in {len(of_tier)} of {len(pattern.slots)} repeats'
                f' no guest completed an I/O, or next to none, for up to'
                f' {worst_s:g} s (repeat {worst.repeat})',
            )
            continue
        longest: dict[str, float] = {}
        for slot in pattern.slots:
            for guest in slot.guests:
                if guest.longest_stall_s:
                    longest[guest.guest] = max(
                        longest.get(guest.guest, 0), guest.longest_stall_s
                    )
        if longest:
            guests = _some(
                f'{guest} ({stall_s:g} s)'
                for guest, stall_s in longest.items()
            )
            yield (
                'stall',
                f'{name}: single guests completed no I/O, or next to none,'
                f' for so long: {guests}',
            )


def _beyond_buckets(
    run: run_result.RunResult,
) -> Iterator[tuple[str, str]]:
    for name, pattern in _patterns(run):
        longest_ns = max(
            (
                found.clat_moments.max_ns
                for slot in pattern.slots
                if slot.merged
                for found in (slot.merged.directions or {}).values()
            ),
            default=0,
        )
        if longest_ns > histogram.MOST_NS:
            yield (
                'long latencies',
                f'{name}: the longest was {longest_ns / 1e9:.1f} s; fio'
                f' counts all above {histogram.MOST_NS / 1e9:.1f} s in one'
                f' bucket, so that percentiles that lie there are too low',
            )


def _far_below(slot: run_result.SlotResult) -> set[str]:
    """Return the guests that did far less than the others in a repeat."""
    done = {
        each.guest: each.iops for each in slot.guests if each.iops is not None
    }
    if len(done) < _LEAST_GUESTS:
        return set()
    least = SLOW_SHARE * statistics.median(done.values())
    return {guest for guest, iops in done.items() if iops < least}


def _slow_guests(run: run_result.RunResult) -> Iterator[tuple[str, str]]:
    for name, pattern in _patterns(run):
        slow = [_far_below(slot) for slot in figures.complete(pattern.slots)]
        always = sorted(set.intersection(*slow)) if len(slow) > 1 else ()
        if always:
            yield (
                'slow guest',
                f'{name}: less than {100 * SLOW_SHARE:g} % of the median of'
                f' the guests in all {len(slow)} complete repeats:'
                f' {_some(always)}; a host may be slow, and not the tier',
            )


def _mixed_guests(run: run_result.RunResult) -> Iterator[tuple[str, str]]:
    seen = {
        name: {
            getattr(guest.system, name) for guest in run.guests if guest.system
        }
        - {None}
        for name in _MIXED
    }
    seen['kernel'] = {guest.kernel for guest in run.guests} - {None}
    for name, values in seen.items():
        if len(values) > 1:
            yield (
                'mixed guests',
                f'{name.replace("_", " ")} is not the same in all guests:'
                f' {_some(sorted(map(str, values)))}',
            )
    fio = run.environment['fio'].value
    if fio and ', ' in fio:
        yield 'mixed guests', f'versions of fio differ: {fio}'
    compute = run.environment['compute'].value
    if compute and SEVERAL in compute:
        yield 'mixed hosts', f'compute hosts differ: {compute}'


def _placement(run: run_result.RunResult) -> Iterator[tuple[str, str]]:
    for tier in run.tiers:
        for what, fact, between in (
            ('volume types', tier.volume_types, ', '),
            ('backends', tier.backends, SEVERAL),
            ('QoS specs', tier.qos, SEVERAL),
        ):
            if fact and fact.value and between in fact.value:
                yield (
                    'placement',
                    f'{tier.tier}: {what} of its volumes differ: {fact.value}',
                )
        pools = sorted(
            {
                guest.image.data_pool or guest.image.pool
                for guest in run.guests
                if guest.tier == tier.tier and guest.image
            }
        )
        if len(pools) > 1:
            yield (
                'placement',
                f'{tier.tier}: its volumes lie in several'
                f' pools: {", ".join(pools)}',
            )


def _side_by_side(run: run_result.RunResult) -> Iterator[tuple[str, str]]:
    if run.side_by_side:
        yield (
            'tiers at the same time',
            f'{_some(tier.tier for tier in run.tiers)}: measured side by side;'
            f' what they share, such as network and cores of hosts, is in the'
            f' figures of all of them, and that they share no disk is the'
            f' word of the task',
        )


def _never_written(run: run_result.RunResult) -> Iterator[tuple[str, str]]:
    if NOT_FILLED in (run.environment['clone_or_flat'].value or ''):
        yield (
            'not filled',
            'the task leaves regions as they are: what was never written'
            " is read from the image's parent, or from no disk at all",
        )
        return
    region_bytes = run.profile.method.region_mib * 1024**2
    found: dict[str, list[str]] = {}
    for guest in run.guests:
        image = guest.image
        if (
            image
            and image.own_objects is not None
            and (image.own_objects * image.object_bytes < region_bytes)
        ):
            found.setdefault(guest.tier, []).append(
                f'{guest.guest} ({image.own_objects} objects of'
                f' {image.objects})'
            )
    for tier, names in found.items():
        yield (
            'not filled',
            f'{tier}: volumes have less data than the'
            f' {run.profile.method.region_mib} MiB that guests worked on;'
            f" what was never written is read from the image's parent, or"
            f' from no disk at all: {_some(names)}',
        )


def _preconditioning(
    run: run_result.RunResult,
) -> Iterator[tuple[str, str]]:
    if run.precondition is None:
        return
    for tier in run.tiers:
        guests = [each for each in run.guests if each.tier == tier.tier]
        found = {
            guest.guest: guest.preconditioned.reason
            if guest.preconditioned
            else 'no round arrived'
            for guest in guests
            if not (guest.preconditioned and guest.preconditioned.is_steady)
        }
        if found:
            name, reason = next(iter(found.items()))
            yield (
                'preconditioning',
                f'{tier.tier}: {len(found)} of {len(guests)} guests did not'
                f' become steady in {run.precondition.most_rounds} rounds'
                f' before the measurement, such as {name}: {reason}',
            )


def _contradiction(run: run_result.RunResult) -> Iterator[tuple[str, str]]:
    asked = run.environment['clone_or_flat'].value or ''
    clones = [
        f'{guest.guest} (of {guest.image.parent})'
        for guest in run.guests
        if guest.image and guest.image.parent
    ]
    if clones and BLANK in asked and 'clone of' not in asked:
        yield (
            'clone or flat',
            f'volumes were asked for blank, but Ceph has'
            f' clones: {_some(clones)}',
        )


def _cluster(run: run_result.RunResult) -> Iterator[tuple[str, str]]:
    if run.ceph is None:
        return
    for text in ceph_result.changes(run.ceph):
        yield 'cluster changed', f'during this run: {text}'
    for when, reading in (
        ('before', run.ceph.before),
        ('after', run.ceph.after),
    ):
        if reading is None:
            continue
        if reading.health != ceph_result.HEALTHY:
            yield (
                'cluster health',
                f'{when} the measurement {reading.health}: '
                + _some(
                    f'{code} ({text})'
                    for code, text in sorted(reading.checks.items())
                ),
            )
        busy = ceph_result.busy_with(reading)
        if busy:
            yield (
                'cluster busy',
                f'{when} the measurement, placement groups'
                f' were not only active+clean: {busy}',
            )
    last = run.ceph.after or run.ceph.before
    if last and len(last.release) > 1:
        yield (
            'cluster mixed',
            f'daemons are of several releases: {", ".join(last.release)}',
        )
    for text in run.ceph.unread:
        yield 'cluster unread', text


_RULES = (
    _missing_guests,
    _cluster,
    _placement,
    _side_by_side,
    _never_written,
    _preconditioning,
    _contradiction,
    _steal,
    _busy_cpus,
    _skew,
    _rate,
    _unsteady,
    _stalls,
    _spread,
    _wide_intervals,
    _beyond_buckets,
    _slow_guests,
    _mixed_guests,
)


def find_caveats(run: run_result.RunResult) -> tuple[run_result.Caveat, ...]:
    """Return all caveats, the gravest first; empty without any.

    :param run: the run, whose stored caveats are ignored
    """
    return tuple(
        run_result.Caveat(about=about, text=text)
        for rule in _RULES
        for about, text in rule(run)
    )
