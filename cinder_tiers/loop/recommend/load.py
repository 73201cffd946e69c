# SPDX-License-Identifier: Apache-2.0

"""Load of an application on its volume, as far as it is known.

A load is known from a job, or from counters of a running volume.  Counters do
not distinguish random from sequential I/O, nor show how block sizes are
spread.  A load is compared with a measured pattern: unknown properties match
any.

Pure.  Must not know tiers.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
import math

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.profile import profile as named_profile

#: Block sizes and I/Os in flight that differ by more are another load: twice
#: is the step of the sweeps in the papers, so the nearest pattern of a sweep
#: is within it.
MOST_FACTOR = 2.0
#: Percentage points by which the shares of reads may differ.
MOST_MIX_POINTS = 10.0
# A direction with a smaller share says little of the load.
_LEAST_SHARE_PERCENT = 10.0


@dataclass(frozen=True, kw_only=True)
class Load:
    """Load of one application on one volume."""

    #: of the job or the volume
    name: str
    #: share of reads in all I/Os, 0 to 100
    read_percent: float
    #: {read or write: mean size of an I/O in bytes}, of what it does
    block_bytes: Mapping[str, float]
    #: I/Os in flight, at least 1; None: not known
    in_flight: float | None = None
    #: None: not known
    is_random: bool | None = None
    #: limit of I/Os per second and of KiB per second, as a job has it
    rate: tuple[int | None, int | None] = (None, None)
    #: I/Os per second that it does; None: as many as it can
    iops: float | None = None
    #: pattern that it is of; None: it is known from counters
    pattern: fio_pattern.Pattern | None = None
    #: part of the volume that it works on; None: not known
    size_mib: int | None = None


def of_pattern(
    pattern: fio_pattern.Pattern, method: fio_pattern.Profile
) -> Load:
    """The load of a pattern.

    :param method: has the engine and the region of one that names none
    """
    reads = {'read': 100.0, 'write': 0.0}.get(pattern.directions[0], 50.0)
    if pattern.rw in fio_pattern.MIXES:
        reads = (
            50.0
            if pattern.rwmixread_percent is None
            else float(pattern.rwmixread_percent)
        )
    is_synchronous = (
        pattern.ioengine or method.ioengine
    ) in named_profile.SYNCHRONOUS_ENGINES
    return Load(
        name=pattern.name,
        read_percent=reads,
        block_bytes=dict.fromkeys(pattern.directions, _mean_block(pattern)),
        in_flight=float(
            pattern.numjobs * (1 if is_synchronous else pattern.iodepth)
        ),
        is_random=pattern.rw.startswith('rand'),
        rate=(pattern.rate_iops, pattern.rate_kib),
        pattern=pattern,
        size_mib=pattern.size_mib or method.region_mib,
    )


def _mean_block(pattern: fio_pattern.Pattern) -> float:
    """Mean block in bytes; fio chooses within a range evenly."""
    if pattern.bssplit is None:
        return sum(pattern.bs_range_bytes) / 2
    parts = [part.split('/') for part in pattern.bssplit.split(':')]
    return math.fsum(
        fio_pattern.block_bytes(size) * int(share) / 100
        for size, share in parts
    )


@dataclass(frozen=True, kw_only=True)
class Likeness:
    """Differences between a load and a pattern."""

    #: why the pattern says nothing of the load; empty if it does
    unlike: tuple[str, ...]
    #: what differs a little
    nearly: tuple[str, ...]
    #: 0 for the same, 1 for each factor of 2, or for 10 points of the mix
    distance: float
    #: what else differs, of which nothing is known by how much it matters
    others: tuple[str, ...] = ()


def compare(load: Load, pattern: Load) -> Likeness:
    """Compare a load with that of a pattern.

    :param pattern: result of ``of_pattern``
    """
    unlike: list[str] = []
    nearly: list[str] = []
    distance = 0.0

    def note(words: str, *, far: float, is_far: bool) -> None:
        nonlocal distance
        distance += far
        (unlike if is_far else nearly).append(words)

    points = abs(load.read_percent - pattern.read_percent)
    if points > 0:
        note(
            f'{load.read_percent:.0f} % reads, measured with'
            f' {pattern.read_percent:.0f} %',
            far=points / MOST_MIX_POINTS,
            is_far=points > MOST_MIX_POINTS,
        )
    if load.is_random is not None and load.is_random != pattern.is_random:
        note(
            'random, measured sequential'
            if load.is_random
            else 'sequential, measured random',
            far=math.inf,
            is_far=True,
        )
    if load.rate != pattern.rate:
        note(
            'another limit of I/Os or bytes per second',
            far=math.inf,
            is_far=True,
        )
    sizes = [
        (
            f'{direction}s of {{:.0f}} bytes',
            size,
            pattern.block_bytes[direction],
        )
        for direction, size in load.block_bytes.items()
        if direction in pattern.block_bytes
        and _share(load, direction) >= _LEAST_SHARE_PERCENT
    ]
    if load.in_flight is not None and pattern.in_flight is not None:
        sizes.append(
            ('{:.1f} I/Os in flight', load.in_flight, pattern.in_flight)
        )
    for words, mine, other in sizes:
        octaves = abs(math.log2(mine / other))
        if octaves > 0:
            note(
                f'{words.format(mine)}, measured with {other:.0f}',
                far=octaves,
                # Some room for what counters round.
                is_far=octaves > math.log2(MOST_FACTOR) + 1e-9,
            )
    return Likeness(
        unlike=tuple(unlike),
        nearly=tuple(nearly),
        distance=distance,
        others=tuple(_other_options(load, pattern)),
    )


def _other_options(load: Load, pattern: Load) -> Iterator[str]:
    """Sentences on other options in which two patterns differ.

    How blocks are spread, how much of the volume is used, how it ends.
    """
    if load.pattern is None or pattern.pattern is None:
        return
    mine, other = load.pattern, pattern.pattern
    if _spread(mine) != _spread(other):
        yield (f'blocks of {_blocks(mine)}, measured with {_blocks(other)}')
    if load.size_mib != pattern.size_mib:
        yield (
            f'on {load.size_mib} MiB of the volume, measured on'
            f' {pattern.size_mib} MiB'
        )
    if mine.end_fsync != other.end_fsync:
        words = ('without', 'with')
        yield (
            f'{words[mine.end_fsync]} fsync at the end, measured'
            f' {words[other.end_fsync]}'
        )
    for what, how in (
        ('made durable by', _durability),
        ('spread as', lambda each: each.random_distribution or 'random'),
        ('with pauses of', lambda each: f'{each.thinktime_us or 0} us'),
    ):
        if how(mine) != how(other):
            yield f'{what} {how(mine)}, measured with {how(other)}'
    paces = [
        each.rate_process or fio_pattern.RATE_PROCESSES[0]
        for each in (mine, other)
    ]
    if mine.rate_iops and paces[0] != paces[1]:
        yield f'paced {paces[0]}, measured {paces[1]}'


def _durability(pattern: fio_pattern.Pattern) -> str:
    if pattern.writes_per_sync:
        call = 'fdatasync' if pattern.fdatasync else 'fsync'
        return f'{call} after {pattern.writes_per_sync}'
    return pattern.sync or 'nothing'


def _spread(pattern: fio_pattern.Pattern) -> object:
    """Return the spread of block sizes; None if all are of one size."""
    if pattern.bssplit is not None:
        shares: dict[int, int] = {}
        for part in pattern.bssplit.split(':'):
            size, share = part.split('/')
            bytes_ = fio_pattern.block_bytes(size)
            shares[bytes_] = shares.get(bytes_, 0) + int(share)
        shares = {size: share for size, share in shares.items() if share}
        return None if len(shares) == 1 else shares
    smallest, largest = pattern.bs_range_bytes
    return None if smallest == largest else (smallest, largest)


def _blocks(pattern: fio_pattern.Pattern) -> str:
    return pattern.bs or pattern.bsrange or pattern.bssplit or ''


def _share(load: Load, direction: str) -> float:
    return (
        load.read_percent if direction == 'read' else 100 - load.read_percent
    )
