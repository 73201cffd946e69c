# SPDX-License-Identifier: Apache-2.0

"""Measured and expected speed of each layer from a disk to a guest.

The layers, from below: one raw disk; the OSDs of a tier's pool, each alone
with its disk; RADOS, which keeps several copies; librbd; a guest.  Each is
judged by the layer below it, which shows where speed is lost.

The expected speed of a layer is counted in disks.  A raw disk is one.  All
OSDs of a pool together are as many as they are.  From RADOS upwards a read
costs one disk I/O and a write one for each copy, so that N disks do as many
writes as N / copies disks: the rule of ``disk_estimate``, here also for large
sequential I/O, where it is about bandwidth.

This module must not know tools, Ceph's commands or Rally.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from dataclasses import dataclass

from cinder_tiers.figures.fio import pattern as fio_pattern

# From below.
LAYERS = ('raw', 'osd', 'rados', 'librbd', 'guest')
WORKLOADS = ('read', 'write', 'randread', 'randwrite')
WRITES = ('write', 'randwrite')


@dataclass(frozen=True, kw_only=True)
class TierPool:
    """Pool that stores the data of a tier."""

    #: of the pool
    name: str
    #: that have a part of it, ascending, at least one
    osds: tuple[int, ...]
    #: of each object so many OSDs have a copy or a chunk, at least 1
    size: int
    #: chunks that hold data, of an erasure coded pool; else None
    data_chunks: int | None = None
    #: of these OSDs, each once
    device_classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the numbers.

        :raises ValueError: they are those of no pool
        """
        if (
            not self.osds
            or self.size < 1
            or not (
                self.data_chunks is None or 1 <= self.data_chunks <= self.size
            )
        ):
            raise ValueError(
                f'pool {self.name!r}: {len(self.osds)} OSDs, size'
                f' {self.size}, {self.data_chunks} data chunks: expected at'
                f' least one OSD, a size of at least 1, and data chunks from'
                f' 1 to the size, if any'
            )


@dataclass(frozen=True, kw_only=True)
class LayerFigures:
    """Figures of a layer with one pattern."""

    #: I/Os per second, of all disks or clients together
    iops: float
    #: bytes per second
    bw_bytes: float
    #: latency that 99 percent did not exceed; None if the tool does not say
    p99_ns: int | None
    #: I/Os in flight; None if the tool does not let choose
    in_flight: int | None
    #: what a reader should know; may be empty
    remark: str = ''

    def rate(self, pattern: fio_pattern.Pattern) -> float:
        """Return the I/Os per second by which layers are compared.

        For sequential patterns it follows from the bandwidth: of few large
        I/Os, tools count those that end in time, which may be one more or
        less.
        """
        if pattern.rw.startswith('rand'):
            return self.iops
        return self.bw_bytes / pattern.bs_bytes


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """Measurement of one layer with one pattern."""

    #: one of ``LAYERS``
    layer: str
    #: what was run
    pattern: fio_pattern.Pattern
    #: None if it was not measured
    figures: LayerFigures | None
    #: why not; empty if it was
    reason: str = ''


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """A measurement against the layers below."""

    #: the measurement
    measured: Measurement
    #: the next lower layer that was measured; None if there is none
    below: str | None = None
    #: of its rate; None without one
    percent_of_below: float | None = None
    #: what that should be; None if theory says nothing
    percent_by_theory: float | None = None
    #: by theory, from the raw disk; None if that was not measured or theory
    #: says nothing
    disks_allow_iops: float | None = None
    #: of all layers with this pattern, this is furthest below what the layer
    #: below allows
    loses_most: bool = False

    @property
    def percent_of_theory(self) -> float | None:
        """Return the percentage of what the layer below allows, or None."""
        if self.percent_of_below is None or not self.percent_by_theory:
            return None
        return 100 * self.percent_of_below / self.percent_by_theory


def patterns(given: Sequence[Mapping]) -> tuple[fio_pattern.Pattern, ...]:
    """The patterns that a task asks for, if every layer has a tool for them.

    :param given: fields of ``fio_pattern.Pattern``: name, rw, bs, iodepth
    :raises ValueError: one is not, or two have the same name
    :raises TypeError: a field is missing or unknown
    """
    found = tuple(fio_pattern.Pattern(**each) for each in given)
    wrong = [
        f'pattern {each.name!r}: rw {each.rw}, bs {each.bs}: expected'
        f' one of {", ".join(WORKLOADS)} and one block size'
        for each in found
        if each.rw not in WORKLOADS or not each.bs
    ]
    names = [each.name for each in found]
    wrong += [
        f'pattern {name!r} is given {names.count(name)} times, expected once'
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    if not found:
        wrong = ['no pattern is given, expected at least one']
    if wrong:
        raise ValueError('; '.join(wrong))
    return found


def worth_in_disks(
    layer: str, pattern: fio_pattern.Pattern, pool: TierPool | None
) -> float | None:
    """Return how many raw disks a layer should be as fast as.

    With 3 OSDs and 3 copies, RADOS writes like one disk and reads like three.

    >>> pool = TierPool(name="p", osds=(0, 1, 2), size=3)
    >>> [worth_in_disks("rados", fio_pattern.Pattern(
    ...     name=rw, rw=rw, bs="4k"), pool) for rw in ("randwrite", "read")]
    [1.0, 3.0]

    :param pool: None if it is not known
    :returns: None without a pool, and for small random I/O on an erasure coded
        pool: chunks that are not written whole are read before
    """
    if layer == 'raw':
        return 1.0
    if pool is None:
        return None
    disks = len(pool.osds)
    if layer == 'osd':
        return float(disks)
    if pool.data_chunks is None:
        copies = float(pool.size)
    elif pattern.rw.startswith('rand'):
        return None
    else:
        copies = pool.size / pool.data_chunks
    return disks / copies if pattern.rw in WRITES else float(disks)


def _judge(
    measured: Measurement,
    below: Measurement | None,
    raw: Measurement | None,
    pool: TierPool | None,
) -> Judgement:
    pattern = measured.pattern
    worth = worth_in_disks(measured.layer, pattern, pool)
    allowed = (
        None
        if worth is None or raw is None or raw.figures is None
        else raw.figures.rate(pattern) * worth
    )
    if measured.figures is None or below is None or below.figures is None:
        return Judgement(measured=measured, disks_allow_iops=allowed)
    worth_below = worth_in_disks(below.layer, pattern, pool)
    of_below = below.figures.rate(pattern)
    return Judgement(
        measured=measured,
        below=below.layer,
        disks_allow_iops=allowed,
        percent_of_below=(
            100 * measured.figures.rate(pattern) / of_below
            if of_below
            else None
        ),
        # Both None or none: above a disk, all layers have the same worth.
        percent_by_theory=(
            100.0
            if worth == worth_below
            else None
            if worth is None or worth_below is None
            else 100 * worth / worth_below
        ),
    )


def judge(
    found: Sequence[Measurement], pool: TierPool | None
) -> list[Judgement]:
    """Judge every layer by the next lower one that has a figure.

    :param found: measurements in any order, each layer and pattern at most
        once
    :param pool: None if only guests were measured
    :returns: by pattern, in the order of their first appearance, then from
        the lowest layer
    """
    judged: list[Judgement] = []
    for name in dict.fromkeys(each.pattern.name for each in found):
        of_pattern: list[Judgement] = []
        below = raw = None
        for measured in sorted(
            (each for each in found if each.pattern.name == name),
            key=lambda each: LAYERS.index(each.layer),
        ):
            has_figures = measured.figures is not None
            if has_figures and measured.layer == 'raw':
                raw = measured
            of_pattern.append(_judge(measured, below, raw, pool))
            if has_figures:
                below = measured
        judged += _with_the_loser(of_pattern)
    return judged


def _with_the_loser(of_pattern: list[Judgement]) -> list[Judgement]:
    shares = [
        each.percent_of_theory
        for each in of_pattern
        if each.percent_of_theory is not None
    ]
    worst = min(shares, default=100.0)
    return [
        dataclasses.replace(
            each, loses_most=worst < 100 and each.percent_of_theory == worst
        )
        for each in of_pattern
    ]
