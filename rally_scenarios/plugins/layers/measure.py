# SPDX-License-Identifier: Apache-2.0

"""Measures one pattern at one layer, with that layer's own tool.

Adapter: words of commands in, figures out.  How a pattern becomes words of fio
is said in ``figures.fio.pattern``, the same as in guests.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from dataclasses import dataclass
import time

from cinder_tiers.figures.fio import output as fio_output
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.layers import ceph_output
from cinder_tiers.figures.layers import host_file
from cinder_tiers.figures.layers import model
from cinder_tiers.figures.result import figures
from rally_scenarios.plugins.layers import ceph as layers_ceph
from rally_scenarios.plugins.layers import process
from rally_scenarios.plugins.layers import raw_disk

_SLACK_SECONDS = 120
_OSD_BENCH_OBJECT_BYTES = 4 * 1024**2
# It fills them anew each time.
_OSD_BENCH_OBJECTS = 64


class NotMeasured(Exception):
    """A layer has no figure for a pattern, which is not a failure."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Setting that all measurements of a run share."""

    #: where it works in Ceph
    place: layers_ceph.Place
    #: what is measured
    pool: model.TierPool
    #: the disk that stands for those of the pool; None if there is none
    raw: host_file.RawDisk | None
    #: region, ramp and runtime
    method: fio_pattern.Profile
    #: of RADOS bench, which share what is in flight
    processes: int = 1
    #: whether OSDs drop theirs before reads
    drop_caches: bool = True

    @property
    def measure_timeout_seconds(self) -> int:
        """Time limit of a measurement, in seconds."""
        return (
            self.method.ramp_seconds
            + self.method.runtime_seconds
            + _SLACK_SECONDS
        )

    @property
    def fill_timeout_seconds(self) -> int:
        """Time limit for writing a region: 1 MiB/s is fast enough."""
        return self.method.region_mib + _SLACK_SECONDS


def _fio(
    bench: Bench,
    pattern: fio_pattern.Pattern,
    where: Sequence[str],
    engine: str,
    environment: Mapping[str, str] | None = None,
    cgroup: str | None = None,
) -> model.LayerFigures:
    with_engine = dataclasses.replace(pattern, ioengine=engine)
    text = process.run(
        ['fio', *fio_pattern.measure_argv(with_engine, bench.method), *where],
        timeout_seconds=bench.measure_timeout_seconds,
        environment=environment,
        cgroup=cgroup,
    )
    try:
        found = fio_output.parse(text, jobname=pattern.name)
    except fio_output.ResultError as error:
        raise process.LayerError(str(error)) from error
    return model.LayerFigures(
        iops=found.iops,
        bw_bytes=found.bw_bytes,
        p99_ns=found.clat.percentile_ns(99)
        if figures.has_percentile(found.clat.count, 99)
        else None,
        in_flight=pattern.iodepth,
    )


def _fill(
    bench: Bench,
    where: Sequence[str],
    engine: str,
    environment: Mapping[str, str] | None = None,
    cgroup: str | None = None,
) -> None:
    method = dataclasses.replace(bench.method, ioengine=engine)
    process.run(
        ['fio', *fio_pattern.fill_argv(method), *where],
        timeout_seconds=bench.fill_timeout_seconds,
        environment=environment,
        cgroup=cgroup,
    )


def check_raw(bench: Bench) -> None:
    """Check that the raw disk can be measured, before other measurements.

    :raises process.LayerError: it cannot, or must not, be measured
    """
    raw_disk.check_readable(bench.raw, bench.method.region_mib * 1024**2)
    if bench.raw.may_be_overwritten:
        with raw_disk.claimed(bench.raw):
            pass


def raw(bench: Bench, pattern: fio_pattern.Pattern) -> model.LayerFigures:
    """Fio on a disk, past the page cache.

    A disk that may not be overwritten is only read, whatever is on it.

    :raises NotMeasured: it is a write, and the disk may not be overwritten
    :raises process.LayerError: it cannot be measured
    """
    disk = bench.raw
    where = [f'--filename={disk.device}']
    if not disk.may_be_overwritten:
        if pattern.rw in model.WRITES:
            raise NotMeasured(
                f'the host file does not allow {disk.device} to be overwritten'
            )
        return _fio(
            bench,
            pattern,
            [*where, '--readonly'],
            'libaio',
            cgroup=disk.cgroup,
        )
    with raw_disk.claimed(disk):
        if pattern.rw not in model.WRITES:
            _fill(bench, where, 'libaio', cgroup=disk.cgroup)
        return _fio(bench, pattern, where, 'libaio', cgroup=disk.cgroup)


def _osd_bench_argv(
    bench: Bench, pattern: fio_pattern.Pattern, osd: int
) -> list[str]:
    block = pattern.bs_bytes
    total = ceph_output.osd_bench_total_bytes(
        block, bench.method.runtime_seconds
    )
    # Small writes go to random places of objects that are there, as those of
    # an image do; large ones are whole objects.
    objects = bench.method.region_mib * 1024**2 // _OSD_BENCH_OBJECT_BYTES
    places = (
        str(_OSD_BENCH_OBJECT_BYTES),
        str(max(1, min(_OSD_BENCH_OBJECTS, objects))),
    )
    return layers_ceph.ceph_argv(
        bench.place.ceph,
        'tell',
        f'osd.{osd}',
        'bench',
        str(total),
        str(block),
        *(places if block < ceph_output.OSD_BENCH_LARGE_BYTES else ()),
    )


def osd(bench: Bench, pattern: fio_pattern.Pattern) -> model.LayerFigures:
    """OSD bench on all OSDs of the pool at once, again and again.

    :raises NotMeasured: it is a read: OSD bench only writes
    :raises process.LayerError: it cannot be measured
    """
    if pattern.rw not in model.WRITES:
        raise NotMeasured('OSD bench only writes')
    commands = [
        _osd_bench_argv(bench, pattern, number) for number in bench.pool.osds
    ]
    found: dict[int, list[ceph_output.Rate]] = {}
    # No ramp: it fills objects first, which wears off a journal's effect.
    ends = time.monotonic() + bench.method.runtime_seconds
    while not found or time.monotonic() < ends:
        texts = process.run_together(
            commands, timeout_seconds=bench.measure_timeout_seconds
        )
        try:
            rates = [ceph_output.osd_bench(text) for text in texts]
        except ceph_output.AnswerError as error:
            raise process.LayerError(str(error)) from error
        for number, rate in zip(bench.pool.osds, rates, strict=True):
            found.setdefault(number, []).append(rate)
    each = {
        number: ceph_output.one_after_another(rates)
        for number, rates in found.items()
    }
    return model.LayerFigures(
        iops=sum(rate.iops for rate in each.values()),
        bw_bytes=sum(rate.bw_bytes for rate in each.values()),
        p99_ns=None,
        in_flight=None,
        remark=', '.join(
            f'osd.{number} {rate.iops:.3g} IOPS'
            for number, rate in each.items()
        ),
    )


def _rados_bench(
    bench: Bench,
    pattern: fio_pattern.Pattern,
    kind: str,
    seconds: int,
    names: Sequence[str],
    *options: str,
) -> list[ceph_output.Rate]:
    each = pattern.iodepth // bench.processes
    texts = process.run_together(
        [
            bench.place.rados(
                'bench',
                str(seconds),
                kind,
                '-t',
                str(each),
                '--run-name',
                name,
                '--format',
                'json',
                *options,
            )
            for name in names
        ],
        timeout_seconds=seconds + _SLACK_SECONDS,
    )
    try:
        return [
            ceph_output.rados_bench(
                text, ramp_seconds=bench.method.ramp_seconds
            )
            for text in texts
        ]
    except ceph_output.AnswerError as error:
        raise process.LayerError(str(error)) from error


def rados(
    bench: Bench, pattern: fio_pattern.Pattern, unremoved: set[str]
) -> model.LayerFigures:
    """RADOS bench: each operation writes or reads one object of block size.

    :param unremoved: has names of its runs whose objects are there
    :raises process.LayerError: it cannot be measured
    """
    method = bench.method
    names = [f'{pattern.name}-{number}' for number in range(bench.processes)]
    blocks = ['-b', str(pattern.bs_bytes), '--no-cleanup']
    seconds = method.ramp_seconds + method.runtime_seconds
    unremoved.update(names)
    objects = None
    if pattern.rw in model.WRITES:
        rates = _rados_bench(bench, pattern, 'write', seconds, names, *blocks)
    else:
        most = method.region_mib * 1024**2 // pattern.bs_bytes
        objects = sum(
            rate.in_all
            for rate in _rados_bench(
                bench,
                pattern,
                'write',
                seconds,
                names,
                *blocks,
                '--max-objects',
                str(max(1, most // bench.processes)),
            )
        )
        _drop_caches(bench)
        rates = _rados_bench(
            bench,
            pattern,
            'seq' if pattern.rw == 'read' else 'rand',
            seconds,
            names,
        )
    layers_ceph.remove_objects(bench.place, names)
    unremoved.difference_update(names)
    return model.LayerFigures(
        iops=sum(rate.iops for rate in rates),
        bw_bytes=sum(rate.bw_bytes for rate in rates),
        p99_ns=None,
        in_flight=pattern.iodepth,
        remark='; '.join(_rados_remarks(rates, objects)),
    )


def _rados_remarks(
    rates: Sequence[ceph_output.Rate], objects: int | None
) -> Iterator[str]:
    if not all(rate.has_ramp for rate in rates):
        yield 'ended before the ramp did, all of it is counted'
    reads = sum(rate.in_all for rate in rates)
    if objects is not None and reads > objects:
        yield f'{reads} reads of {objects} objects: caches helped'


def librbd(bench: Bench, pattern: fio_pattern.Pattern) -> model.LayerFigures:
    """Fio with librbd on an image that ``prepare_image`` has made.

    :raises process.LayerError: it cannot be measured
    """
    if pattern.rw not in model.WRITES:
        _drop_caches(bench)
    return _fio(
        bench, pattern, _rbd_words(bench), 'rbd', environment=_conf(bench)
    )


def prepare_image(bench: Bench) -> None:
    """Make the image for ``librbd`` and write all of its region.

    :raises process.LayerError: it cannot be made or written
    """
    layers_ceph.make_image(bench.place, bench.method.region_mib)
    _fill(bench, _rbd_words(bench), 'rbd', environment=_conf(bench))


def _conf(bench: Bench) -> dict[str, str]:
    # fio's engine has no option for it.
    return {'CEPH_CONF': bench.place.ceph.conf}


def _rbd_words(bench: Bench) -> list[str]:
    return [
        f'--clientname={bench.place.ceph.user}',
        f'--pool={bench.place.image_pool}',
        f'--rbdname={bench.place.name}',
    ]


def _drop_caches(bench: Bench) -> None:
    if bench.drop_caches:
        process.run_together(
            [
                layers_ceph.ceph_argv(
                    bench.place.ceph, 'tell', f'osd.{number}', 'cache', 'drop'
                )
                for number in bench.pool.osds
            ],
            timeout_seconds=_SLACK_SECONDS,
        )


def measured(
    layer: str,
    pattern: fio_pattern.Pattern,
    measure: Callable[[], model.LayerFigures],
    failures: list[str],
) -> model.Measurement:
    """Return the result of a measurement.

    :param measure: makes the measurement
    :param failures: gets a line if it failed
    """
    try:
        return model.Measurement(
            layer=layer, pattern=pattern, figures=measure()
        )
    except NotMeasured as why:
        reason = str(why)
    except process.LayerError as error:
        reason = str(error)
        failures.append(f'{layer}, {pattern.name}: {reason}')
    return model.Measurement(
        layer=layer, pattern=pattern, figures=None, reason=reason
    )
