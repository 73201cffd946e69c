# SPDX-License-Identifier: Apache-2.0

"""A run's outcomes as the result file that is kept of it.

Pure: schedule, profile, outcomes and facts in, one ``RunResult`` out.  Guests
that are not complete are in it, each with its verdict, and in no figure.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import statistics

from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.fio import latency_log
from cinder_tiers.figures.fio import load_step
from cinder_tiers.figures.fio import output as fio_output
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import merge
from cinder_tiers.figures.fleet import precondition
from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.fleet import verdict
from cinder_tiers.figures.profile import profile as named_profile
from cinder_tiers.figures.result import caveats
from cinder_tiers.figures.result import ceph as ceph_result
from cinder_tiers.figures.result import environment as result_environment
from cinder_tiers.figures.result import guest_times
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.stats import intervals
from cinder_tiers.figures.stats import steadiness


@dataclasses.dataclass(frozen=True, kw_only=True)
class Environment:
    """Facts on a run's environment that guests cannot report."""

    #: of ``run_result.ENVIRONMENT``, in place of reasons why they are not
    #: known
    facts: Mapping[str, run_result.Fact] = dataclasses.field(
        default_factory=dict
    )
    #: {tier: QoS specs of its volume types}
    qos: Mapping[str, run_result.Fact] = dataclasses.field(
        default_factory=dict
    )
    #: {tier: backends of its volumes}
    backends: Mapping[str, run_result.Fact] = dataclasses.field(
        default_factory=dict
    )
    #: {tier: volume type of its volumes}, of the tiers of which it is known
    types: Mapping[str, run_result.TypeAsMeasured] = dataclasses.field(
        default_factory=dict
    )
    #: {guest: what it worked on, in Ceph}
    images: Mapping[str, ceph_result.CephImage] = dataclasses.field(
        default_factory=dict
    )
    #: the cluster; None if the task names none
    ceph: ceph_result.CephWatch | None = None


NOT_ASKED = Environment()
# A file of a hundred guests, each with more, takes long to read.
_MOST_TIMES_OF_GUEST = 60


def _guest_figures(
    outcome: verdict.GuestOutcome, found: verdict.SlotOutcome
) -> run_result.GuestFigures:
    measured = found.measured
    if measured is None:
        return run_result.GuestFigures(
            guest=outcome.guest,
            verdict=found.verdict.value,
            reason=found.reason,
            planned_ms=None,
            started_ms=None,
            ended_ms=None,
            iops=None,
            bw_bytes=None,
            total_ios=None,
            p99_ns=None,
        )
    result = measured.result
    return run_result.GuestFigures(
        guest=outcome.guest,
        verdict=found.verdict.value,
        reason=found.reason,
        planned_ms=measured.planned_ms,
        started_ms=measured.started_ms,
        ended_ms=measured.ended_ms,
        iops=result.iops,
        bw_bytes=result.bw_bytes,
        total_ios=result.total_ios,
        p99_ns=result.clat.percentile_ns(99),
        cpu=measured.cpu,
        longest_stall_s=steadiness.longest_stall_s(
            [iops for _ms, iops in measured.series]
        )
        if measured.series
        else None,
        volumes=tuple(
            run_result.VolumeFigures(
                volume=volume,
                iops=each.iops,
                bw_bytes=each.bw_bytes,
                total_ios=each.total_ios,
                p99_ns=each.clat.percentile_ns(99),
            )
            for volume, each in measured.volumes
        )
        if measured.volumes
        else None,
    )


def _with_times(
    found: run_result.PatternResult, complete: Sequence[merge.GuestSlot]
) -> run_result.PatternResult:
    """A pattern with the values over time of the guests that are drawn.

    :param complete: guests of the repeat of which they are drawn
    """
    drawn = guest_times.slot_of(found.slots)
    kept = guest_times.guests_of(drawn) if drawn else frozenset()
    measured = {each.guest: each for each in complete if each.guest in kept}
    return dataclasses.replace(
        found,
        slots=tuple(
            dataclasses.replace(
                slot,
                guests=tuple(
                    _guest_over_time(guest, measured[guest.guest])
                    if guest.guest in measured
                    else guest
                    for guest in slot.guests
                ),
            )
            if slot is drawn
            else slot
            for slot in found.slots
        ),
    )


def _guest_over_time(
    found: run_result.GuestFigures, measured: merge.GuestSlot
) -> run_result.GuestFigures:
    return dataclasses.replace(
        found,
        rates=_rates(measured) if measured.series else None,
        latency=_latency(latency_log.in_equal_times(measured.latencies))
        if measured.latencies
        else None,
    )


def _means(values: Sequence[float], step: int) -> list[float]:
    return [
        statistics.fmean(values[at : at + step])
        for at in range(0, len(values) - len(values) % step, step)
    ]


def _rates(measured: merge.GuestSlot) -> run_result.RatesOverTime:
    """A guest's seconds, or means of some of them where they are many."""
    seconds = len(measured.series)
    step = -(-seconds // _MOST_TIMES_OF_GUEST)
    values = [value for _ms, value in measured.bw_series]
    return run_result.RatesOverTime(
        begin_ms=measured.series[0][0],
        step_ms=1000 * step,
        iops=tuple(
            round(mean, 1)
            for mean in _means([iops for _ms, iops in measured.series], step)
        ),
        bw_bytes=tuple(map(round, _means(values, step)[: seconds // step])),
    )


def _latency(found: latency_log.Counted) -> run_result.LatencyOverTime:
    return run_result.LatencyOverTime(
        begin_ms=found.begin_ms,
        step_ms=found.step_ms,
        ios=tuple(each.count for each in found.times),
        p99_ns=tuple(
            each.percentile_ns(99) if each.count else 0 for each in found.times
        ),
    )


def _sent_latencies(
    guests: Sequence[merge.GuestSlot],
) -> list[latency_log.GuestLatencies]:
    """Latencies of each guest; none if not all of them sent theirs."""
    found = [guest.latencies for guest in guests if guest.latencies]
    return found if len(found) == len(guests) else []


def _latency_together(
    guests: Sequence[merge.GuestSlot],
) -> run_result.LatencyOverTime | None:
    """Latencies of a slot's guests; None if not all of them sent theirs."""
    found = _sent_latencies(guests)
    if len({each.step_ms for each in found}) != 1:
        return None
    return _latency(
        latency_log.together(list(map(latency_log.in_equal_times, found)))
    )


def _moments(found: fio_output.LatencyMoments) -> run_result.Moments:
    return run_result.Moments(mean_ns=found.mean_ns, max_ns=found.max_ns)


def directions(
    found: merge.FleetSlot,
) -> dict[str, run_result.DirectionFigures]:
    """Reads and writes of a slot as they are written."""
    return {
        name: run_result.DirectionFigures(
            iops=each.iops,
            bw_bytes=each.bw_bytes,
            total_ios=each.total_ios,
            clat=run_result.latencies(each.clat)
            if len(found.directions) > 1
            else None,
            clat_moments=_moments(each.clat_moments),
            slat_moments=_moments(each.slat) if each.slat else None,
            lat_moments=_moments(each.lat),
        )
        for name, each in found.directions.items()
    }


def _merged(
    guests: Sequence[merge.GuestSlot], together: steadiness.FleetSeries | None
) -> run_result.MergedFigures | None:
    if not guests:
        return None
    found = merge.merge(guests)
    iops = [guest.result.iops for guest in guests]
    start_ms = max(guest.started_ms for guest in guests)
    return run_result.MergedFigures(
        guests=found.guests,
        iops=found.iops,
        bw_bytes=found.bw_bytes,
        clat=run_result.latencies(found.clat),
        start_skew_ms=found.start_skew_ms,
        window=together.window
        if together
        else steadiness.Window(
            start_ms=start_ms, end_ms=start_ms + found.window_ms
        ),
        fairness=intervals.fairness(iops) if any(iops) else None,
        start_skew_error_ms=found.start_skew_error_ms,
        directions=directions(found),
        syncs=run_result.SyncFigures(
            lat=run_result.latencies(found.syncs.lat),
            moments=_moments(found.syncs.moments),
        )
        if found.syncs
        else None,
    )


def _seconds_together(
    series: Mapping[str, steadiness.Series],
) -> steadiness.FleetSeries | None:
    """Values of each second of all guests; None if not all have them."""
    if not series or not all(series.values()):
        return None
    # They are on the common clock already.
    return steadiness.cut(series, offsets_ms=dict.fromkeys(series, 0))


def _together(
    guests: Sequence[merge.GuestSlot],
) -> tuple[steadiness.FleetSeries | None, steadiness.Verdict]:
    """Return guests of a slot second by second, and whether they were steady.

    :param guests: the complete guests
    :returns: None as the series if not all of them sent values
    """
    found = _seconds_together({guest.guest: guest.series for guest in guests})
    if found is not None:
        return found, steadiness.judge(found.total)
    silent = [guest.guest for guest in guests if not guest.series]
    return None, steadiness.unknown(
        f'no values of each second from {", ".join(silent[:5])}'
        if silent
        else 'no guest is complete'
    )


def _of_directions(
    guests: Sequence[merge.GuestSlot],
    together: steadiness.FleetSeries | None,
) -> dict[str, tuple[float, ...]] | None:
    """Reads and writes second by second; None of a single direction."""
    directions = {guest.guest: dict(guest.directions) for guest in guests}
    names = {name for found in directions.values() for name in found}
    if together is None or len(names) < 2:
        return None
    found = {}
    for name in sorted(names):
        of_guests = {
            guest.guest: directions[guest.guest].get(
                name, [(at_ms, 0.0) for at_ms, _iops in guest.series]
            )
            for guest in guests
        }
        cut = steadiness.cut(of_guests, offsets_ms=dict.fromkeys(of_guests, 0))
        found[name] = tuple(iops for _ms, iops in cut.total)
    return found


def _latency_windows(
    guests: Sequence[merge.GuestSlot],
) -> tuple[run_result.LatencyWindow, ...] | None:
    """Latencies of each few seconds of all guests.

    Those of different guests do not begin at the same moment, so all are
    widened to whole seconds.
    """
    sent = _sent_latencies(guests)
    if not sent:
        return None
    found: dict[tuple[int, int, str], list[histogram.LatencyHistogram]] = {}
    for latencies in sent:
        for each in latencies.windows:
            begin_ms = each.begin_ms // 1000 * 1000
            end_ms = -(-each.end_ms // 1000) * 1000
            found.setdefault((begin_ms, end_ms, each.direction), []).append(
                each.clat
            )
    return tuple(
        run_result.LatencyWindow(
            direction=direction,
            begin_ms=begin_ms,
            end_ms=end_ms,
            bins=histogram.merge(parts).bins,
        )
        for (begin_ms, end_ms, direction), parts in sorted(found.items())
    )


def _slot(
    slot: schedule.Slot,
    of_guests: Sequence[verdict.OfGuest],
    *,
    has_latency_windows: bool,
) -> run_result.SlotResult:
    return slot_of(
        verdict.complete(of_guests),
        number=slot.number,
        repeat=slot.repeat,
        guests=tuple(
            _guest_figures(outcome, found) for outcome, found in of_guests
        ),
        has_latency_windows=has_latency_windows,
    )


def slot_of(
    complete: Sequence[merge.GuestSlot],
    *,
    number: int,
    repeat: int,
    guests: tuple[run_result.GuestFigures, ...],
    has_latency_windows: bool,
) -> run_result.SlotResult:
    """Build the result of a slot from its guests.

    :param complete: guests whose figures count
    :param number: number of the slot in its run
    :param repeat: number of the repeat of its pattern
    :param guests: figures of each guest of the slot, complete or not
    :param has_latency_windows: whether to keep the latencies of each few
        seconds
    """
    series, steady = _together(complete)
    bandwidth = _seconds_together(
        {guest.guest: guest.bw_series for guest in complete}
    )
    return run_result.SlotResult(
        number=number,
        repeat=repeat,
        guests=guests,
        merged=_merged(complete, series),
        steadiness=steady,
        series=series.total if series else (),
        bw_series=bandwidth.total if bandwidth else (),
        latency=_latency_together(complete),
        series_of_directions=_of_directions(complete, series),
        latency_windows=_latency_windows(complete)
        if has_latency_windows
        else None,
    )


def _over_repeats(
    complete: Sequence[run_result.MergedFigures],
    estimate_mean: Callable[[Sequence[float]], intervals.Estimate],
) -> dict[str, run_result.DirectionEstimates] | None:
    """Directions of repeats; one that a repeat does not have is left out."""
    directions = [
        each.directions for each in complete if each.directions is not None
    ]
    if not directions or len(directions) < len(complete):
        return None
    names = [
        name
        for name in directions[0]
        if all(name in each for each in directions)
    ]
    found = {}
    for name in names:
        of_repeats = [each[name] for each in directions]
        found[name] = run_result.DirectionEstimates(
            iops=estimate_mean([each.iops for each in of_repeats]),
            bw_bytes=estimate_mean([each.bw_bytes for each in of_repeats]),
            clat_mean_ns=estimate_mean(
                [each.clat_moments.mean_ns for each in of_repeats]
            ),
            lat_mean_ns=estimate_mean(
                [each.lat_moments.mean_ns for each in of_repeats]
            ),
            lat_max_ns=max(each.lat_moments.max_ns for each in of_repeats),
        )
    return found


def pattern_result(
    name: str,
    slots: Sequence[run_result.SlotResult],
    *,
    looks: int = 1,
    asked: run_result.AskedLoad | None = None,
) -> run_result.PatternResult:
    """Summarize a pattern over its repeats.

    :param slots: one for each repeat
    :param looks: see ``intervals.confidence``
    :param asked: load requested of all guests; None if unlimited
    """
    estimate_mean = functools.partial(intervals.estimate_mean, looks=looks)
    complete = [
        slot.merged
        for slot in slots
        if slot.merged is not None and slot.merged.guests == len(slot.guests)
    ]

    syncs = [each.syncs for each in complete if each.syncs]

    def estimate(values: Sequence[float]) -> intervals.Estimate | None:
        return estimate_mean(values) if complete else None

    return run_result.PatternResult(
        pattern=name,
        slots=tuple(slots),
        complete_repeats=len(complete),
        iops=estimate([each.iops for each in complete]),
        bw_bytes=estimate([each.bw_bytes for each in complete]),
        p99_ns=estimate([each.clat.percentiles_ns['99'] for each in complete]),
        clat=run_result.latencies(
            histogram.merge(each.clat.histogram() for each in complete)
        )
        if complete
        else None,
        directions=_over_repeats(complete, estimate_mean),
        asked=asked,
        sync_lat=run_result.latencies(
            histogram.merge(each.lat.histogram() for each in syncs)
        )
        if syncs and len(syncs) == len(complete)
        else None,
    )


def _asked(
    pattern: fio_pattern.Pattern,
    slots: Sequence[run_result.SlotResult],
    *,
    has_guest_steps: bool,
) -> run_result.AskedLoad | None:
    """Return the load that a pattern requests of all guests of its slots."""
    of_volume = load_step.asked_iops(pattern)
    if of_volume is None:
        return None
    guests = max((slot.guests for slot in slots), key=len)
    # Those of which no result arrived do not say; all have as many.
    volumes = max((len(each.volumes or ()) for each in guests), default=0)
    unstepped = pattern
    if has_guest_steps:
        unstepped = dataclasses.replace(
            pattern, name=pattern.name.rpartition('.g')[0]
        )
    return run_result.AskedLoad(
        curve=load_step.curve_name(unstepped),
        iops=of_volume * len(guests) * max(volumes, 1),
        volume_iops=of_volume,
    )


def _listed(
    patterns: Iterable[fio_pattern.Pattern],
    profile: named_profile.NamedProfile,
) -> list[fio_pattern.Pattern]:
    """Patterns in the order of the profile, steps of guests ascending."""
    place = {each.name: at for at, each in enumerate(profile.patterns)}

    def key(pattern: fio_pattern.Pattern) -> tuple[int, int]:
        if pattern.name in place:
            return place[pattern.name], 0
        name, _, guests = pattern.name.rpartition('.g')
        return place[name], int(guests)

    return sorted(patterns, key=key)


def pattern_results(
    tier: str,
    *,
    plan: schedule.Schedule,
    profile: named_profile.NamedProfile,
    outcomes: Sequence[verdict.GuestOutcome],
    looks: int = 1,
    has_latency_windows: bool = False,
) -> tuple[run_result.PatternResult, ...]:
    """Figures of all patterns of a tier, in the order of the profile.

    :param looks: see ``intervals.confidence``
    :param has_latency_windows: see ``build_result``
    """
    turns = plan.of_tier(tier)
    of_slots = verdict.by_slot(outcomes)
    found = []
    for pattern in _listed(
        dict.fromkeys(slot.pattern for slot in turns), profile
    ):
        of_pattern = [slot for slot in turns if slot.pattern == pattern]
        slots = [
            _slot(
                slot,
                of_slots.get(slot.number, ()),
                has_latency_windows=has_latency_windows,
            )
            for slot in of_pattern
        ]
        of_all = pattern_result(
            pattern.name,
            slots,
            looks=looks,
            asked=_asked(
                pattern,
                slots,
                has_guest_steps=of_pattern[0].guests is not None,
            ),
        )
        drawn = guest_times.slot_of(slots)
        found.append(
            _with_times(
                of_all,
                verdict.complete(of_slots[drawn.number]) if drawn else (),
            )
        )
    return tuple(found)


def _tier(
    tier: str,
    *,
    plan: schedule.Schedule,
    profile: named_profile.NamedProfile,
    outcomes: Sequence[verdict.GuestOutcome],
    image: run_result.Fact,
    volume_types: run_result.Fact,
    measured_on: Environment,
    looks: int,
    has_latency_windows: bool,
) -> run_result.TierResult:
    return run_result.TierResult(
        tier=tier,
        image=image,
        volume_types=volume_types,
        qos=measured_on.qos.get(tier),
        backends=measured_on.backends.get(tier),
        type_as_measured=measured_on.types.get(tier),
        patterns=pattern_results(
            tier,
            plan=plan,
            profile=profile,
            outcomes=outcomes,
            looks=looks,
            has_latency_windows=has_latency_windows,
        ),
    )


def _guest(
    outcome: verdict.GuestOutcome, host: str | None, measured_on: Environment
) -> run_result.GuestResult:
    return run_result.GuestResult(
        guest=outcome.guest,
        tier=outcome.tier,
        verdict=outcome.verdict.value,
        reasons=outcome.reasons,
        clock_offset_ms=outcome.clock_offset_ms,
        clock_samples=outcome.clock_samples,
        damaged_lines=outcome.damaged_lines,
        kernel=outcome.kernel,
        target=outcome.target,
        clock_error_ms=outcome.clock_error_ms,
        clock_reason=outcome.clock_reason,
        host=host,
        system=outcome.system,
        image=measured_on.images.get(outcome.guest),
        preconditioned=outcome.preconditioned,
    )


def _clone_or_flat(
    asked: run_result.Fact, seen: run_result.Fact | None
) -> run_result.Fact:
    """Return what volumes are: from Ceph, and as they were requested."""
    if seen is None or not asked.value or not seen.value:
        return asked if seen is None or asked.value else seen
    return run_result.Fact(
        value=f'{seen.value} by Ceph; asked for: {asked.value}'
    )


def fio_fact(outcomes: Sequence[verdict.GuestOutcome]) -> run_result.Fact:
    """The versions of fio that results came from."""
    versions = sorted(
        {
            found.measured.result.fio_version
            for outcome in outcomes
            for found in outcome.slots
            if found.measured is not None
        }
    )
    if not versions:
        return run_result.Fact(value=None, reason='no result arrived')
    return run_result.Fact(value=', '.join(versions))


def build_result(
    *,
    run: str,
    ended_at: str,
    profile: named_profile.NamedProfile,
    plan: schedule.Schedule,
    guests_per_tier: int,
    outcomes: Sequence[verdict.GuestOutcome],
    environment: Mapping[str, run_result.Fact],
    images: Mapping[str, run_result.Fact],
    volume_types: Mapping[str, run_result.Fact],
    hosts: Mapping[str, str | None],
    measured_on: Environment = NOT_ASKED,
    stopping: run_result.Stopping | None = None,
    preconditioning: precondition.Precondition | None = None,
    cost: run_result.Cost | None = None,
    run_of_fleet: int = 1,
    has_latency_windows: bool = False,
    task: str | None = None,
) -> run_result.RunResult:
    """Assemble the result of a run.

    :param run: nonce of the run
    :param ended_at: ISO 8601, UTC
    :param outcomes: outcomes of all guests, good and bad
    :param environment: all facts of ``run_result.ENVIRONMENT`` that guests do
        not report
    :param images: {tier: its image}, in the order of the task
    :param volume_types: {tier: the types of the volumes on which fio works}
    :param hosts: {guest: host of its server}
    :param measured_on: facts that do not come from guests
    :param stopping: reason why the repeats ended; None: their number was fixed
    :param preconditioning: writes ordered before the first turn
    :param cost: duration of the run; None if unknown
    :param run_of_fleet: number of the run on its guests, from 1
    :param has_latency_windows: whether to keep latencies of short times as
        histograms, which take much of a file
    :param task: title of the task that ran it; None if unknown
    :raises ValueError: a fact of the environment is missing
    """
    # Their images are in the order of the task, whatever that of turns is.
    tiers = sorted({slot.tier for slot in plan.slots}, key=list(images).index)
    found = run_result.RunResult(
        version=run_result.VERSION,
        run=run,
        ended_at=ended_at,
        task=task,
        environment={
            **environment,
            'fio': fio_fact(outcomes),
            **result_environment.from_guests(outcomes),
            **measured_on.facts,
            'clone_or_flat': _clone_or_flat(
                environment['clone_or_flat'],
                measured_on.facts.get('clone_or_flat'),
            ),
        },
        profile=named_profile.from_profile(profile),
        guests_per_tier=guests_per_tier,
        seed=plan.seed,
        side_by_side=plan.side_by_side,
        stopping=stopping,
        precondition=preconditioning,
        cost=cost,
        run_of_fleet=run_of_fleet,
        tiers=tuple(
            _tier(
                tier,
                plan=plan,
                profile=profile,
                outcomes=outcomes,
                image=images[tier],
                volume_types=volume_types[tier],
                measured_on=measured_on,
                looks=stopping.most_looks if stopping else 1,
                has_latency_windows=has_latency_windows,
            )
            for tier in tiers
        ),
        guests=tuple(
            _guest(outcome, hosts[outcome.guest], measured_on)
            for outcome in outcomes
        ),
        ceph=measured_on.ceph,
    )
    return dataclasses.replace(found, doubts=caveats.find_caveats(found))
