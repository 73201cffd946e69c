# SPDX-License-Identifier: Apache-2.0

"""Workloads of fio as data, and their command line arguments.

A pattern describes how an application uses its disk; the profile adds how it
is measured.  The file or device is not named here: only the guest knows it.

Option names and meanings: fio 3.33 HOWTO.  This module must not know guests,
clouds or tiers.
"""

from collections.abc import Iterable, Iterator
import dataclasses
from dataclasses import dataclass
import re

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain import record

# fio HOWTO, "rw=str": the ones that neither trim nor need a second option.
WORKLOADS = (
    'read',
    'write',
    'randread',
    'randwrite',
    'rw',
    'readwrite',
    'randrw',
)

# Without ASCII, the sign of Kelvin is a k, too.
_AS_FIO = re.IGNORECASE | re.ASCII
_SIZE = r'[1-9][0-9]{0,6}[km]?'
_BLOCK_SIZE = re.compile(_SIZE, _AS_FIO)
_BLOCK_RANGE = re.compile(f'({_SIZE})-({_SIZE})', _AS_FIO)
_SHARE = f'{_SIZE}/[0-9]{{1,3}}'
_BLOCK_SPLIT = re.compile(f'{_SHARE}(:{_SHARE}){{,15}}', _AS_FIO)
_ENGINE = re.compile(r'[a-z0-9_]{1,32}')
MIXES = ('rw', 'readwrite', 'randrw')
#: Of the volumes of QEMU; direct I/O of anything else is an error.
SECTOR_BYTES = 512
#: How I/Os are spaced that are paced: evenly, or by chance, as those of many
#: users are.
RATE_PROCESSES = ('linear', 'poisson')
#: How a file may be opened, so that a write is done when its data is durable:
#: with its metadata, or with the part that is needed to read it.
SYNCS = ('sync', 'dsync')
_DISTRIBUTION = re.compile(
    r'(zipf|pareto):([0-9]{1,2}(?:\.[0-9]{1,4})?)', re.ASCII
)


def block_bytes(text: str) -> int:
    """Bytes of a block size that matches fio's spelling; k, m are of 1024.

    >>> block_bytes("4k")
    4096
    """
    factor = {'k': 1024, 'm': 1024**2}.get(text[-1].lower())
    return int(text[:-1]) * factor if factor else int(text)


def single_block_bytes(text: object) -> int | None:
    """Bytes of a block size that a fio output has; None if it is not one.

    >>> single_block_bytes("4k"), single_block_bytes("4k,64k")
    (4096, None)
    """
    if not isinstance(text, str) or not _BLOCK_SIZE.fullmatch(text):
        return None
    return block_bytes(text)


def queue_depth(iodepth: int, ioengine: str | None) -> int:
    """I/Os that fio keeps in flight for an ``iodepth``, per job.

    The rings of io_uring have a power of two of places, and fio fills them
    (fio 3.33 ``engines/io_uring.c`` fio_ioring_init).

    >>> queue_depth(24, 'io_uring'), queue_depth(24, 'libaio')
    (32, 24)

    :param ioengine: None: any other than io_uring
    """
    if ioengine not in ('io_uring', 'io_uring_cmd'):
        return iodepth
    return 1 << (iodepth - 1).bit_length()


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """A way of using a disk.

    Exactly one of ``bs``, ``bsrange`` and ``bssplit`` is given.
    """

    #: how tables call it: lower case letters, digits, ``.-``
    name: str
    #: one of ``WORKLOADS``
    rw: str
    #: block size as fio spells it: bytes, or a number with k or m
    bs: str | None = None
    #: I/Os in flight per job, 1 to 1024
    iodepth: int = 1
    #: block sizes between two, such as ``4k-64k``
    bsrange: str | None = None
    #: block sizes with their shares in percent, such as ``4k/60:64k/40``
    bssplit: str | None = None
    #: share of reads of a mix, 0 to 100; None: 50
    rwmixread_percent: int | None = None
    #: fio's engine; None: the profile's
    ioengine: str | None = None
    #: processes per guest, each in a part of its own, 1 to 256
    numjobs: int = 1
    #: limit of I/Os per second, per job and direction
    rate_iops: int | None = None
    #: limit of KiB per second, per job and direction
    rate_kib: int | None = None
    #: MiB that all jobs together work on; None: the whole region
    size_mib: int | None = None
    #: pause between the common start and the ramp
    startdelay_seconds: int = 0
    #: whether each job calls fsync at its end, within the time that fio
    #: counts: what the disk's write cache holds is then on the tier
    end_fsync: bool = False
    #: one of ``RATE_PROCESSES``, of what ``rate_iops`` paces; None: fio's
    #: default, evenly
    rate_process: str | None = None
    #: writes of a job after each of which it calls fdatasync; None: never
    fdatasync: int | None = record.omitted()
    #: likewise fsync
    fsync: int | None = record.omitted()
    #: one of ``SYNCS``; None: writes are not durable when they are done
    sync: str | None = record.omitted()
    #: whether the page cache is left out; with it, each write must be made
    #: durable, or the cache would answer instead of the tier
    direct: bool = record.omitted(True)
    #: how random I/Os are spread, such as ``zipf:1.1``; None: evenly
    random_distribution: str | None = record.omitted()
    #: pause of a job between two I/Os in microseconds
    thinktime_us: int | None = record.omitted()

    def __post_init__(self) -> None:
        """Check all fields.

        :raises ValueError: names every wrong field
        """
        wrong = [
            *self._wrong_words(),
            *self._wrong_blocks(),
            *self._wrong_numbers(),
            *self._wrong_syncs(),
        ]
        if wrong:
            raise ValueError(f'pattern {self.name!r}: ' + '; '.join(wrong))

    def _wrong_words(self) -> Iterator[str]:
        if not expectations.PATTERN.fullmatch(self.name):
            yield (
                f'name {self.name!r}: expected up to 40 lower case'
                f" letters, digits, '.' and '-'"
            )
        if self.rw not in WORKLOADS:
            yield f'rw {self.rw!r}: expected one of {", ".join(WORKLOADS)}'
        if self.rate_process not in (None, *RATE_PROCESSES):
            yield (
                f'rate_process {self.rate_process!r}: expected one of'
                f' {", ".join(RATE_PROCESSES)}'
            )
        if self.ioengine is not None and not _ENGINE.fullmatch(self.ioengine):
            yield (
                f'ioengine {self.ioengine!r}: expected the name of an'
                f' engine of fio'
            )

    def _wrong_syncs(self) -> Iterator[str]:
        given = [
            name
            for name in ('fdatasync', 'fsync', 'sync')
            if getattr(self, name) is not None
        ]
        if given and 'write' not in self.directions:
            yield (
                f'{", ".join(given)} with rw {self.rw}: expected one that '
                'writes'
            )
        if len(given) > 1:
            yield f'{", ".join(given)}: expected one of them'
        if self.sync not in (None, *SYNCS):
            yield f'sync {self.sync!r}: expected one of {", ".join(SYNCS)}'
        is_durable = self.sync or 1 in (self.fdatasync, self.fsync)
        if not self.direct and not (
            is_durable and self.directions == ('write',)
        ):
            yield (
                f'direct false with rw {self.rw}: expected writes alone, each'
                f' made durable by fdatasync 1, fsync 1 or sync, or the page'
                f' cache of the guest would answer'
            )
        if self.random_distribution is None:
            return
        match = _DISTRIBUTION.fullmatch(self.random_distribution)
        if not self.rw.startswith('rand') or not (
            match
            and (
                0 < float(match[2]) < 1
                or (match[1] == 'zipf' and 1 < float(match[2]) <= 10)
            )
        ):
            yield (
                f'random_distribution {self.random_distribution!r} with rw'
                f' {self.rw}: expected random I/O, and zipf: with a number up'
                f' to 10 other than 1, such as zipf:1.1, or pareto: with a'
                f' number below 1, such as pareto:0.2'
            )

    def _wrong_blocks(self) -> Iterator[str]:
        given = [
            each
            for each in (self.bs, self.bsrange, self.bssplit)
            if each is not None
        ]
        if len(given) != 1:
            yield (
                f'{len(given)} of bs, bsrange and bssplit are given:'
                f' expected one'
            )
        if self.bs is not None and not _BLOCK_SIZE.fullmatch(self.bs):
            yield (
                f'bs {self.bs!r}: expected bytes or a number with k or m,'
                f' such as 4k'
            )
        if self.bsrange is not None:
            match = _BLOCK_RANGE.fullmatch(self.bsrange)
            if not match or (block_bytes(match[1]) > block_bytes(match[2])):
                yield (
                    f'bsrange {self.bsrange!r}: expected two block sizes,'
                    f' the smaller first, such as 4k-64k'
                )
        if self.bssplit is not None and not (
            _BLOCK_SPLIT.fullmatch(self.bssplit)
            and sum(
                int(part.partition('/')[2]) for part in self.bssplit.split(':')
            )
            == 100
        ):
            yield (
                f'bssplit {self.bssplit!r}: expected block sizes with'
                f' shares of together 100, such as 4k/60:64k/40'
            )

    def _wrong_numbers(self) -> Iterator[str]:
        for name, least, most in (
            ('iodepth', 1, 1024),
            ('numjobs', 1, 256),
            ('rwmixread_percent', 0, 100),
            ('rate_iops', 1, 10**8),
            ('rate_kib', 1, 10**9),
            ('size_mib', 1, 10**8),
            ('startdelay_seconds', 0, 3600),
            ('fdatasync', 1, 10**6),
            ('fsync', 1, 10**6),
            ('thinktime_us', 1, 10**7),
        ):
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                yield f'{name} {value}: expected {least} to {most}'
        if self.rwmixread_percent is not None and self.rw not in MIXES:
            yield (
                f'rwmixread_percent {self.rwmixread_percent} with rw'
                f' {self.rw}: expected one of {", ".join(MIXES)}'
            )
        if self.end_fsync and 'write' not in self.directions:
            yield f'end_fsync with rw {self.rw}: expected one that writes'

    @property
    def bs_all_bytes(self) -> tuple[int, ...]:
        """Blocks as they are given; k and m are powers of 1024."""
        given = self.bs or self.bsrange or self.bssplit or ''
        return tuple(
            block_bytes(part.partition('/')[0])
            for part in re.split('[-:]', given)
        )

    @property
    def bs_range_bytes(self) -> tuple[int, int]:
        """The smallest and the largest block."""
        return min(self.bs_all_bytes), max(self.bs_all_bytes)

    @property
    def bs_bytes(self) -> int:
        """The largest block in bytes."""
        return self.bs_range_bytes[1]

    @property
    def directions(self) -> tuple[str, ...]:
        """Return the directions of the pattern: read, write or both."""
        if self.rw in MIXES:
            return ('read', 'write')
        return (self.rw.removeprefix('rand'),)

    @property
    def writes_per_sync(self) -> int | None:
        """Writes of a job to a call of fdatasync or fsync; None: no call."""
        return self.fdatasync or self.fsync

    @property
    def in_flight_bytes(self) -> int:
        """Return the maximum number of bytes that a guest has in flight."""
        return self.bs_bytes * self.iodepth * self.numjobs


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Method of measurement, the same for all patterns."""

    #: MiB that each guest fills first and then works on
    region_mib: int
    #: run but not counted: caches and, on Ceph, the deferred writes that
    #: BlueStore takes before the disk's own speed shows
    ramp_seconds: int
    #: counted
    runtime_seconds: int
    #: fio's engine; an asynchronous one, or iodepth means nothing
    ioengine: str = 'libaio'
    #: how often the region is written before, 1 to 10
    fill_passes: int = 1

    def __post_init__(self) -> None:
        """Check all fields.

        :raises ValueError: names every wrong field
        """
        wrong = []
        if self.region_mib < 1:
            wrong.append(f'region_mib {self.region_mib}: expected at least 1')
        if self.ramp_seconds < 0:
            wrong.append(
                f'ramp_seconds {self.ramp_seconds}: expected at least 0'
            )
        if self.runtime_seconds < 1:
            wrong.append(
                f'runtime_seconds {self.runtime_seconds}: expected at least 1'
            )
        if not _ENGINE.fullmatch(self.ioengine):
            wrong.append(
                f'ioengine {self.ioengine!r}: expected the name of'
                f' an engine of fio'
            )
        if not 1 <= self.fill_passes <= 10:
            wrong.append(f'fill_passes {self.fill_passes}: expected 1 to 10')
        if wrong:
            raise ValueError('; '.join(wrong))


def _shared_argv(ioengine: str, *, direct: bool = True) -> tuple[str, ...]:
    return (
        '--output-format=json+',
        f'--ioengine={ioengine}',
        # The guest's page cache would answer instead of the tier.
        f'--direct={direct:d}',
    )


def fill_argv(profile: Profile) -> tuple[str, ...]:
    """Arguments of the fio run that writes the whole region once.

    A boot volume is a copy-on-write clone: what was never written lies in the
    images pool, and the first write to it copies a whole object.  Neither
    belongs to the tier.

    :returns: words after ``fio``, without ``--filename``
    """
    return _shared_argv(profile.ioengine) + (
        f'--size={profile.region_mib}m',
        '--name=prep',
        '--rw=write',
        '--bs=1m',
        '--iodepth=4',
        f'--loops={profile.fill_passes}',
        # Data that no layer can compress or recognise as zeros.
        '--refill_buffers',
        '--end_fsync=1',
    )


def round_argv(
    pattern: Pattern, profile: Profile, *, seconds: int
) -> tuple[str, ...]:
    """Arguments of the fio run that writes one round before the first turn.

    Its output is for the guest's script, which has no parser of JSON.

    :param seconds: length of the round
    :returns: words after ``fio``, without ``--filename``
    :raises ValueError: as ``measure_argv`` says
    """
    argv = measure_argv(
        pattern,
        dataclasses.replace(profile, ramp_seconds=0, runtime_seconds=seconds),
    )
    return (
        '--output-format=terse',
        '--terse-version=3',
        '--refill_buffers',
        *(word for word in argv if word != '--output-format=json+'),
        '--group_reporting',
    )


def _size_argv(pattern: Pattern, profile: Profile) -> tuple[str, ...]:
    """Return the arguments that give each job whole blocks of its own."""
    size_mib = pattern.size_mib or profile.region_mib
    if size_mib > profile.region_mib:
        raise ValueError(
            f'pattern {pattern.name!r}: a size of {size_mib} MiB does not fit'
            f' a region of {profile.region_mib} MiB'
        )
    part = size_mib * 1024**2 // pattern.numjobs
    part -= part % pattern.bs_bytes
    if not part:
        raise ValueError(
            f'pattern {pattern.name!r}: a block of {pattern.bs_bytes} bytes'
            f' for each of {pattern.numjobs} jobs does not fit a region of'
            f' {size_mib} MiB'
        )
    if pattern.numjobs == 1:
        return (f'--size={size_mib}m',)
    return (
        f'--size={part}',
        f'--offset_increment={part}',
        f'--numjobs={pattern.numjobs}',
        # One result with one histogram, not one for each job.
        '--group_reporting',
    )


def ramp_problems(
    patterns: Iterable[Pattern], profile: Profile
) -> Iterator[str]:
    """Patterns that fio would not measure after such a ramp.

    A job that waits for its rate ends after the runtime without the ramp. If
    the ramp is not over by then, fio counts I/Os and no latency: seen with fio
    3.33, with ``rate`` and ``rate_iops``, evenly and by chance, with any
    engine and depth. Of several jobs, those count whose ramp was over.
    """
    for pattern in patterns:
        is_paced = pattern.rate_iops or pattern.rate_kib
        if is_paced and 0 < profile.ramp_seconds >= profile.runtime_seconds:
            yield (
                f'pattern {pattern.name!r}: runtime_seconds'
                f' {profile.runtime_seconds} with a rate and ramp_seconds'
                f' {profile.ramp_seconds}: expected a runtime longer than the'
                f' ramp, or fio ends before it measures a latency'
            )


def measure_argv(pattern: Pattern, profile: Profile) -> tuple[str, ...]:
    """Arguments of the fio run that measures one pattern.

    :returns: words after ``fio``, without ``--filename``
    :raises ValueError: one block of the pattern, for each of its jobs, or its
        size does not fit the region, or a block is no whole number of sectors
    """
    odd = [each for each in pattern.bs_all_bytes if each % SECTOR_BYTES]
    if odd and pattern.direct:
        raise ValueError(
            f'pattern {pattern.name!r}: blocks of'
            f' {", ".join(map(str, odd))} bytes: expected multiples of'
            f' {SECTOR_BYTES}, since direct I/O reads and writes whole sectors'
        )
    optional = [
        ('bs', pattern.bs),
        ('bsrange', pattern.bsrange),
        ('bssplit', pattern.bssplit),
        ('rwmixread', pattern.rwmixread_percent),
        ('rate_iops', pattern.rate_iops),
        ('rate', pattern.rate_kib and f'{pattern.rate_kib}k'),
        ('rate_process', pattern.rate_process),
        ('startdelay', pattern.startdelay_seconds or None),
        ('fdatasync', pattern.fdatasync),
        ('fsync', pattern.fsync),
        ('sync', pattern.sync),
        ('random_distribution', pattern.random_distribution),
        ('thinktime', pattern.thinktime_us),
    ]
    return _shared_argv(
        pattern.ioengine or profile.ioengine, direct=pattern.direct
    ) + (
        # Options before the name, fio reports as those of no job.
        f'--name={pattern.name}',
        *_size_argv(pattern, profile),
        f'--rw={pattern.rw}',
        *(
            f'--{name}={value}'
            for name, value in optional
            if value is not None
        ),
        f'--iodepth={pattern.iodepth}',
        *(('--end_fsync=1',) if pattern.end_fsync else ()),
        '--time_based',
        f'--ramp_time={profile.ramp_seconds}',
        f'--runtime={profile.runtime_seconds}',
        # Else every guest writes the same blocks in the same order, and a
        # random pattern visits no block twice until all were visited.
        '--randrepeat=0',
        '--norandommap',
    )
