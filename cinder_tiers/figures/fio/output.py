# SPDX-License-Identifier: Apache-2.0

"""One guest's fio output, checked strictly.

The text comes from inside a guest and over its console: anything may be
wrong with it, and a wrong number is worse than none.  So the shape is
checked, and the counters must agree with each other.

Format: ``--output-format=json+`` of fio 3.x, see HOWTO "JSON+ output" and
``stat.c`` add_ddir_status_json.  This module must not know how the text came
here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import Any

from cinder_tiers.domain import record
from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.fio import pattern as fio_pattern

_MAX_TEXT_BYTES = 4 * 1024**2
# Of any number, and of a count of I/Os: no guest gets there (a day at ten
# million IOPS), and sums over a thousand guests and repeats still fit 64 bits.
_MAX_NUMBER = 10**15
_MAX_IOS = 10**12
# Of a guest, per second: memory itself does not answer more often.
_MAX_IOPS = 10**8
# Rates are printed to six decimals, bytes per second as whole numbers.
_PRINTED = 0.01
# Means of fio's buckets are off by 0.8 % at most, and a timer ticks.
_LATENCIES = 0.05
# Calls between writes that fio counts more than it orders.
_CALLS = 0.01
# A bucket is printed as its mean: off by half of its width at most.
_BUCKET = 1 / 64
# fio catches up with what it could not issue in time.
_OVER_RATE = 1.5
# Standard deviations of a number of I/Os that are spaced by chance.
_BY_CHANCE = 6


class ResultError(ValueError):
    """A fio output that must not be used; the message says why."""


@dataclass(frozen=True, kw_only=True)
class LatencyMoments:
    """A kind of latency as fio sums it up itself, exact to the nanosecond."""

    #: how many I/Os it is of
    count: int
    #: of all of them
    mean_ns: float
    #: the longest
    max_ns: int


_OF_NO_IO = LatencyMoments(count=0, mean_ns=0.0, max_ns=0)


@dataclass(frozen=True, kw_only=True)
class Direction:
    """Reads, or writes, of a job."""

    #: read or write
    name: str
    #: I/Os that were completed per second
    iops: float
    #: bytes per second
    bw_bytes: int
    #: bytes of the I/Os that were completed
    io_bytes: int
    #: I/Os that were completed; fio's field of this name is something else
    total_ios: int
    #: what the rates refer to
    runtime_ms: int
    #: completion latencies: from the submission of an I/O to its completion
    clat: histogram.LatencyHistogram
    #: of these, as fio sums them up
    clat_moments: LatencyMoments
    #: from the wish for an I/O to its completion
    lat: LatencyMoments
    #: from the wish to the submission; None for an engine that submits and
    #: waits in one
    slat: LatencyMoments | None


@dataclass(frozen=True, kw_only=True)
class Syncs:
    """Calls of fdatasync or fsync between writes."""

    #: how long each took
    lat: histogram.LatencyHistogram
    #: of these, as fio sums them up
    moments: LatencyMoments


@dataclass(frozen=True, kw_only=True)
class FioResult:
    """Result of one fio job, in total and for each direction."""

    #: fio's ``--name``
    jobname: str
    #: as fio prints it, such as ``fio-3.33``
    fio_version: str
    #: I/Os that were completed per second
    iops: float
    #: bytes per second
    bw_bytes: int
    #: I/Os that were completed
    total_ios: int
    #: what the rates refer to
    runtime_ms: int
    #: completion latencies
    clat: histogram.LatencyHistogram
    #: when fio wrote this, ms since 1970 by its own clock; None if it does not
    #: say
    timestamp_ms: int | None = None
    #: those in which it did an I/O of which the latency is known
    directions: tuple[Direction, ...] = ()
    #: None if it called none
    syncs: Syncs | None = None


def _field(
    mapping: object, key: str, kinds: tuple[type, ...], where: str
) -> Any:
    """Value of ``key``, checked; bool is not a number, NaN and < 0 neither.

    A whole number may have thousands of digits, too many for a float.
    """
    if not isinstance(mapping, dict):
        raise ResultError(
            f'{where}: found {type(mapping).__name__}, expected an object'
        )
    value = mapping.get(key)
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise ResultError(
            f'{where}.{key}: found {str(value)[:40]!r}, expected'
            f' {" or ".join(kind.__name__ for kind in kinds)}'
        )
    if isinstance(value, int | float) and not 0 <= value <= _MAX_NUMBER:
        raise ResultError(
            f'{where}.{key}: found {str(value)[:40]}, expected'
            f' a finite number of at least 0 and at most'
            f' {_MAX_NUMBER:.0e}'
        )
    return value


def _bins(clat: object, where: str) -> histogram.LatencyHistogram:
    bins = _field(clat, 'bins', (dict,), where)
    known = histogram.fio_buckets()
    counts = list(bins.values())
    if set(map(type, counts)) - {int}:
        for key in bins:
            _field(bins, key, (int,), f'{where}.bins')
    try:
        latencies_ns = [known[key] for key in bins]
        if 0 in counts or sorted(latencies_ns) != latencies_ns:
            return histogram.from_counts(
                dict(zip(latencies_ns, counts, strict=True))
            )
        # As fio prints them.
        return histogram.from_columns(latencies_ns, counts)
    except KeyError as error:
        raise ResultError(
            f'{where}.bins: found bucket {error.args[0][:40]!r}, expected'
            f" whole nanoseconds, the mean of one of fio's buckets"
        ) from error
    except ValueError as error:
        raise ResultError(f'{where}.bins: {error}') from error


def _moments(side: object, key: str, where: str) -> LatencyMoments | None:
    """A kind of latency; None if no I/O has it."""
    mapping = _field(side, key, (dict,), where)
    where = f'{where}.{key}'
    count = _field(mapping, 'N', (int,), where)
    if not count:
        return None
    mean_ns = float(_field(mapping, 'mean', (int, float), where))
    max_ns = _field(mapping, 'max', (int,), where)
    # The mean is printed to six decimals.
    if mean_ns > max_ns + 1:
        raise ResultError(
            f'{where}: mean {mean_ns:.0f} ns, expected at most its max'
            f' {max_ns} ns'
        )
    return LatencyMoments(count=count, mean_ns=mean_ns, max_ns=max_ns)


def _check_moments(
    bins: histogram.LatencyHistogram, clat: LatencyMoments, where: str
) -> None:
    """Hold fio's own mean and longest against its buckets.

    Above the last bucket, see ``histogram``, the buckets are too coarse.

    :raises ResultError: they are not of the same I/Os
    """
    longest_ns = bins.bins[-1][0]
    mean_ns = math.fsum(ns * count for ns, count in bins.bins) / bins.count
    if clat.max_ns < longest_ns * (1 - _BUCKET) - 1 or (
        clat.max_ns <= histogram.MOST_NS
        and (
            clat.max_ns > longest_ns * (1 + _BUCKET) + 1
            or not math.isclose(
                clat.mean_ns, mean_ns, rel_tol=_BUCKET, abs_tol=1
            )
        )
    ):
        raise ResultError(
            f'{where}.clat_ns: mean {clat.mean_ns:.0f} ns and max'
            f' {clat.max_ns} ns, but its bins have mean {mean_ns:.0f} ns and'
            f' max {longest_ns} ns'
        )


def _completed(
    side: object,
    samples: int,
    block_bytes: int | None,
    in_flight: int,
    *,
    where: str,
) -> int:
    """Count the I/Os of one direction that completed in its runtime.

    fio's total_ios counts I/Os when they are submitted (ioengines.c
    td_io_queue).  It lacks those in flight at the end of a ramp, but the
    runtime includes the time in which those in flight at its end complete, so
    that fio's iops is too low by up to iodepth I/Os.  io_bytes counts all that
    complete (io_u.c io_completed), so with blocks of one size it gives their
    number.  N lacks those that complete from the end of a ramp until a process
    submits again: few, but a paced process may wait for long.

    :raises ResultError: bytes and latencies are not of the same I/Os
    """
    io_bytes = _field(side, 'io_bytes', (int,), where)
    if block_bytes is None:
        return samples
    if abs(io_bytes - samples * block_bytes) > in_flight * block_bytes:
        raise ResultError(
            f'{where}: {io_bytes} bytes in {samples} I/Os, expected blocks of'
            f' {block_bytes} bytes'
        )
    return round(io_bytes / block_bytes)


def _direction(
    job: object,
    of_job: str,
    name: str,
    *,
    in_flight: int,
    block_bytes: int | None,
) -> Direction | None:
    """Parse one direction of a job and check its counters; None if unused.

    fio divides both rates by the same runtime in whole ms (stat.c
    add_ddir_status_json), so they are exact, however short it is.  Every
    completion lies in one bucket, so the bins must add up to N.  N and
    total_ios differ where there was a ramp, by I/Os that were in flight when
    fio reset its counters: at most iodepth for each process.
    """
    where = f'{of_job}.{name}'
    side = _field(job, name, (dict,), of_job)
    submitted = _field(side, 'total_ios', (int,), where)
    clat = _field(side, 'clat_ns', (dict,), where)
    samples = _field(clat, 'N', (int,), f'{where}.clat_ns')
    if not submitted and not samples:
        return None
    if max(submitted, samples) > _MAX_IOS:
        raise ResultError(
            f'{where}: {max(submitted, samples)} I/Os, expected'
            f' at most {_MAX_IOS:.0e}'
        )
    bins = _bins(clat, f'{where}.clat_ns')
    if bins.count != samples:
        raise ResultError(
            f'{where}.clat_ns.bins add up to {bins.count}, expected the'
            f' {samples} of clat_ns.N'
        )
    if abs(samples - submitted) > in_flight:
        raise ResultError(
            f'{where}: {samples} latencies for {submitted} I/Os, expected a'
            f' difference of at most {in_flight}, what may be in'
            f' flight'
        )
    runtime_ms = _field(side, 'runtime', (int,), where)
    submitted_iops = float(_field(side, 'iops', (int, float), where))
    bw_bytes = _field(side, 'bw_bytes', (int,), where)
    io_bytes = _field(side, 'io_bytes', (int,), where)
    for rate, unit, counted, counter in (
        (submitted_iops, 'IOPS', submitted, 'total_ios'),
        (bw_bytes, 'bytes/s', io_bytes, 'io_bytes'),
    ):
        if not math.isclose(
            rate * runtime_ms / 1000, counted, rel_tol=_PRINTED, abs_tol=1
        ):
            raise ResultError(
                f'{where}: {rate:.1f} {unit} in {runtime_ms} ms, but'
                f' {counter} is {counted}'
            )
    ios = _completed(side, samples, block_bytes, in_flight, where=where)
    if ios and not runtime_ms:
        raise ResultError(f'{where}: {ios} I/Os in 0 ms')
    iops = ios * 1000 / runtime_ms if ios else 0.0
    if iops > _MAX_IOPS:
        raise ResultError(
            f'{where}: {iops:.3g} IOPS, expected at most {_MAX_IOPS:.0e}'
        )
    clat_moments, lat, slat = (
        _moments(side, key, where) if samples else None
        for key in ('clat_ns', 'lat_ns', 'slat_ns')
    )
    if clat_moments is not None:
        _check_moments(bins, clat_moments, where)
        if lat is None:
            raise ResultError(
                f'{where}.lat_ns: of no I/O, expected it of the {samples} that'
                f' have a completion latency'
            )
    return Direction(
        name=name,
        iops=iops,
        bw_bytes=bw_bytes,
        io_bytes=io_bytes,
        total_ios=ios,
        runtime_ms=runtime_ms,
        clat=bins,
        clat_moments=clat_moments or _OF_NO_IO,
        lat=lat or _OF_NO_IO,
        slat=slat,
    )


def _check_ordered(
    sides: Sequence[Direction],
    ordered: fio_pattern.Pattern,
    of_job: str,
    *,
    engine: str | None,
) -> None:
    """Compare what fio reports with what it was ordered to do.

    :param engine: the ``ioengine`` that fio reports; None if it reports none
    :raises ResultError: another direction, other block sizes, more in flight,
        or more than its rate
    """
    least, most = ordered.bs_range_bytes
    in_flight = ordered.numjobs * fio_pattern.queue_depth(
        ordered.iodepth, ordered.ioengine or engine
    )
    for side in sides:
        where = f'{of_job}.{side.name}'
        if side.name not in ordered.directions:
            raise ResultError(
                f'{where}: {side.total_ios} I/Os, expected none with rw'
                f' {ordered.rw}'
            )
        ios = side.clat.count
        if not (
            (ios - in_flight) * least
            <= side.io_bytes
            <= (ios + in_flight) * most
        ):
            raise ResultError(
                f'{where}: {side.io_bytes} bytes in {side.total_ios} I/Os,'
                f' expected blocks of {least} to {most} bytes'
            )
        over = _OVER_RATE
        if ordered.rate_process == 'poisson':
            over += _BY_CHANCE / math.sqrt(max(1, side.total_ios))
        # What was in flight at the end of the ramp is completed beside it.
        before = in_flight * 1000 / max(1, side.runtime_ms)
        for limit, rate, beside, unit in (
            (ordered.rate_iops, side.iops, before, 'IOPS'),
            (
                ordered.rate_kib and ordered.rate_kib * 1024,
                side.bw_bytes,
                before * most,
                'bytes/s',
            ),
        ):
            if limit and rate > over * limit * ordered.numjobs + beside:
                raise ResultError(
                    f'{where}: {rate:.1f} {unit}, expected at most'
                    f' {limit * ordered.numjobs}, which is the limit of its'
                    f' {ordered.numjobs} jobs'
                )
    _check_in_flight(sides, in_flight)


def _check_syncs(
    syncs: Syncs | None,
    sides: Sequence[Direction],
    ordered: fio_pattern.Pattern,
    of_job: str,
    *,
    in_flight: int,
) -> None:
    """Hold the number of calls against the writes, where it is ordered.

    After its writes, fio calls again beside each read until the next write
    (io_u.c get_rw_ddir), so that a mix has more calls. Without reads, too, it
    counts a few more calls than writes: 12,875 and 12,871 in one of thousands
    of runs (fio 3.33).

    :raises ResultError: there are none, or too many
    """
    every = ordered.writes_per_sync
    calls = syncs.lat.count if syncs else 0
    ios = {side.name: side.clat.count for side in sides}
    writes = ios.get('write', 0)
    most = (
        ios.get('read', 0)
        + (1 + _CALLS) * writes / every
        + in_flight
        + 2 * ordered.numjobs
        if every
        else 0
    )
    if calls > most or (
        not calls and every and writes > 2 * every * in_flight
    ):
        raise ResultError(
            f'{of_job}.sync: {calls} calls with {writes} writes, expected'
            + (f' one after {every} writes of a job' if every else ' none')
        )


def _check_in_flight(sides: Sequence[Direction], in_flight: int) -> None:
    """Little's law: latencies add up to what was in flight, times the time.

    What was in flight when counting began has waited before.

    :raises ResultError: there was more in flight than was ordered
    """
    bins = [each for side in sides for each in side.clat.bins]
    waited_ns = sum(latency_ns * count for latency_ns, count in bins)
    longest_ns = max(latency_ns for latency_ns, _count in bins)
    runtime_ns = max(side.runtime_ms for side in sides) * 10**6
    if waited_ns > (1 + _LATENCIES) * in_flight * (runtime_ns + longest_ns):
        raise ResultError(
            f'latencies add up to {waited_ns / 1e9:.1f} s in'
            f' {runtime_ns / 1e9:.1f} s: on average'
            f' {waited_ns / runtime_ns:.1f} I/Os in flight, expected at most'
            f' {in_flight}'
        )


def _document(text: bytes) -> Any:
    if len(text) > _MAX_TEXT_BYTES:
        raise ResultError(
            f'{len(text)} bytes of fio output, expected at most'
            f' {_MAX_TEXT_BYTES}'
        )
    try:
        return record.parsed(text.decode('ascii'))
    except ValueError as error:
        raise ResultError(f'fio output is not JSON: {error}') from error


def _block_bytes(job: object, of_job: str) -> int | None:
    """Size of all blocks of a job; None: it has several, or does not say."""
    options = _field(job, 'job options', (dict,), of_job)
    if options.keys() & {'bsrange', 'bssplit'}:
        return None
    return fio_pattern.single_block_bytes(options.get('bs'))


def _in_flight(job: object, of_job: str) -> int:
    """I/Os that all processes of the job may have in flight."""
    options = _field(job, 'job options', (dict,), of_job)
    numbers = []
    for name in ('iodepth', 'numjobs'):
        value = options.get(name, '1')
        if not (
            isinstance(value, str)
            and value.isascii()
            and value.isdigit()
            and len(value) <= 5
        ):
            raise ResultError(
                f'{of_job}.job options.{name}: found'
                f' {str(value)[:40]!r}, expected a number'
            )
        numbers.append(int(value))
    iodepth, numjobs = numbers
    return numjobs * fio_pattern.queue_depth(iodepth, _engine(job, of_job))


def _engine(job: object, of_job: str) -> str | None:
    """Return the engine that a job reports, or None."""
    options = _field(job, 'job options', (dict,), of_job)
    engine = options.get('ioengine')
    return engine if isinstance(engine, str) else None


def _syncs(job: object, of_job: str) -> Syncs | None:
    """Calls between writes; None if the job orders none.

    fio's total_ios counts fsync and not fdatasync (fio 3.33), so it is not
    read. One call at the end of a job is no part of a load.
    """
    options = _field(job, 'job options', (dict,), of_job)
    if not options.keys() & {'fsync', 'fdatasync'}:
        return None
    where = f'{of_job}.sync'
    sync = _field(job, 'sync', (dict,), of_job)
    moments = _moments(sync, 'lat_ns', where)
    if moments is None:
        return None
    lat = _bins(_field(sync, 'lat_ns', (dict,), where), f'{where}.lat_ns')
    if lat.count != moments.count or moments.count > _MAX_IOS:
        raise ResultError(
            f'{where}.lat_ns.bins add up to {lat.count}, expected the'
            f' {moments.count} of lat_ns.N'
        )
    _check_moments(lat, moments, where)
    return Syncs(lat=lat, moments=moments)


def merged_syncs(found: Sequence[Syncs | None]) -> Syncs | None:
    """Merge the sync calls of several jobs or guests; None if one has none.

    :param found: at least one
    """
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    return Syncs(
        lat=histogram.merge(each.lat for each in known),
        moments=merged_moments([each.moments for each in known]),
    )


def parse(
    text: bytes, *, jobname: str, ordered: fio_pattern.Pattern | None = None
) -> FioResult:
    """Read the json+ output of a fio run with one job.

    :param text: complete output of fio
    :param jobname: the expected ``--name``
    :param ordered: the ordered pattern; None if unknown
    :raises ResultError: not JSON, not of the shape that fio writes, another
        job, a job that failed or did no I/O, or counters that contradict each
        other or the order
    """
    return parse_each(text, jobname=jobname, ordered=ordered, jobs=1)[0]


def parse_each(
    text: bytes,
    *,
    jobname: str,
    jobs: int,
    ordered: fio_pattern.Pattern | None = None,
) -> tuple[FioResult, ...]:
    """Read the json+ output of a fio run with equal jobs side by side.

    :param text: complete output of fio
    :param jobname: the expected ``--name`` of each job
    :param jobs: the expected number of jobs
    :param ordered: the pattern that each job was given; None if unknown
    :returns: result of each job, in the order of the command line
    :raises ResultError: see ``parse``; or the number of jobs differs
    """
    document = _document(text)
    version = _field(document, 'fio version', (str,), 'fio output')
    found = _field(document, 'jobs', (list,), 'fio output')
    if len(found) != jobs:
        raise ResultError(f'fio output has {len(found)} jobs, expected {jobs}')
    timestamp_ms = (
        _field(document, 'timestamp_ms', (int,), 'fio output')
        if 'timestamp_ms' in document
        else None
    )
    return tuple(
        _result(
            job,
            f'jobs[{number}]',
            jobname=jobname,
            ordered=ordered,
            version=version,
            timestamp_ms=timestamp_ms,
        )
        for number, job in enumerate(found)
    )


def _result(
    job: object,
    of_job: str,
    *,
    jobname: str,
    ordered: fio_pattern.Pattern | None,
    version: str,
    timestamp_ms: int | None,
) -> FioResult:
    """Parse the result of one job.

    :raises ResultError: see ``parse``
    """
    found_name = _field(job, 'jobname', (str,), of_job)
    if found_name != jobname:
        raise ResultError(
            f'fio ran job {found_name[:40]!r}, expected {jobname!r}'
        )
    error = _field(job, 'error', (int,), of_job)
    if error:
        raise ResultError(f'fio job {jobname!r} ended with error {error}')
    in_flight = _in_flight(job, of_job)
    block_bytes = _block_bytes(job, of_job)
    sides = [
        side
        for side in (
            _direction(
                job,
                of_job,
                name,
                in_flight=in_flight,
                block_bytes=block_bytes,
            )
            for name in ('read', 'write')
        )
        if side is not None
    ]
    if not sides:
        raise ResultError(f'fio job {jobname!r} did no I/O')
    bins = [side.clat for side in sides]
    if not any(side.count for side in bins):
        raise ResultError(f'fio job {jobname!r} has no latency of an I/O')
    syncs = _syncs(job, of_job)
    if ordered is not None:
        _check_ordered(sides, ordered, of_job, engine=_engine(job, of_job))
        _check_syncs(syncs, sides, ordered, of_job, in_flight=in_flight)
    return FioResult(
        jobname=found_name,
        fio_version=version[:40],
        iops=sum(side.iops for side in sides),
        bw_bytes=sum(side.bw_bytes for side in sides),
        total_ios=sum(side.total_ios for side in sides),
        runtime_ms=max(side.runtime_ms for side in sides),
        timestamp_ms=timestamp_ms,
        clat=bins[0] if len(bins) == 1 else histogram.merge(bins),
        directions=tuple(side for side in sides if side.lat.count),
        syncs=syncs,
    )


def merged_moments(found: Sequence[LatencyMoments]) -> LatencyMoments:
    """Merge one kind of latency of several jobs or guests.

    :param found: at least one
    """
    count = sum(each.count for each in found)
    return LatencyMoments(
        count=count,
        mean_ns=math.fsum(each.mean_ns * each.count for each in found) / count,
        max_ns=max(each.max_ns for each in found),
    )


def merged_slat(found: Sequence[Direction]) -> LatencyMoments | None:
    """Merge submission latencies of jobs or guests; None if one has none.

    :param found: at least one
    """
    known = [each.slat for each in found if each.slat is not None]
    return merged_moments(known) if len(known) == len(found) else None


def _side_by_side(found: Sequence[Direction]) -> Direction:
    """Merge one direction of jobs that ran at the same time."""
    return Direction(
        name=found[0].name,
        iops=sum(each.iops for each in found),
        bw_bytes=sum(each.bw_bytes for each in found),
        io_bytes=sum(each.io_bytes for each in found),
        total_ios=sum(each.total_ios for each in found),
        runtime_ms=max(each.runtime_ms for each in found),
        clat=histogram.merge(each.clat for each in found),
        clat_moments=merged_moments([each.clat_moments for each in found]),
        lat=merged_moments([each.lat for each in found]),
        slat=merged_slat(found),
    )


def together(found: Sequence[FioResult]) -> FioResult:
    """Merge jobs that ran side by side: rates add up, histograms merge.

    :param found: at least one, all from one run of fio
    """
    if len(found) == 1:
        return found[0]
    sides: dict[str, list[Direction]] = {}
    for each in found:
        for side in each.directions:
            sides.setdefault(side.name, []).append(side)
    return FioResult(
        jobname=found[0].jobname,
        fio_version=found[0].fio_version,
        iops=sum(each.iops for each in found),
        bw_bytes=sum(each.bw_bytes for each in found),
        total_ios=sum(each.total_ios for each in found),
        runtime_ms=max(each.runtime_ms for each in found),
        timestamp_ms=found[0].timestamp_ms,
        clat=histogram.merge(each.clat for each in found),
        directions=tuple(
            _side_by_side(sides[name])
            for name in ('read', 'write')
            if name in sides
        ),
        syncs=merged_syncs([each.syncs for each in found]),
    )
