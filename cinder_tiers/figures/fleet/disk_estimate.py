# SPDX-License-Identifier: Apache-2.0

"""Expected speed of a tier, from its disks alone.

The rule of thumb for small random I/O on hard disks: a read costs one disk
I/O, a write one on the disk of each replica, and all disks share the load.
The paper idcf2014 estimates so, by its figure 2, 160 IOPS x 54 disks / 3
replicas = 2,880 writes a second.  The rule says nothing about sequential
patterns, whose neighbouring I/Os disks and stores join.
"""

from dataclasses import dataclass

from cinder_tiers.figures.fio import pattern as fio_pattern

_RANDOM = ('randread', 'randwrite', 'randrw')
_MIX_READ_PERCENT = 50  # fio's own, where a mix does not say


@dataclass(frozen=True, kw_only=True)
class Disks:
    """The disks below a tier."""

    #: how many there are, at least 1
    disks: int
    #: what one of them does of small random I/O
    iops_per_disk: float
    #: copies of each object, at least 1
    replicas: int
    #: I/Os on a disk for each write of one copy: the data itself and what the
    #: store writes beside it on the same disk; 1 if journal and metadata are
    #: elsewhere
    disk_writes_per_write: float = 1.0

    def __post_init__(self) -> None:
        """Check all fields.

        :raises ValueError: names every wrong field
        """
        wrong = [
            f'{name} {value}: expected {expected}'
            for name, value, fits, expected in (
                ('disks', self.disks, self.disks >= 1, 'at least 1'),
                (
                    'iops_per_disk',
                    self.iops_per_disk,
                    self.iops_per_disk > 0,
                    'more than 0',
                ),
                ('replicas', self.replicas, self.replicas >= 1, 'at least 1'),
                (
                    'disk_writes_per_write',
                    self.disk_writes_per_write,
                    self.disk_writes_per_write >= 1,
                    'at least 1',
                ),
            )
            if not fits
        ]
        if wrong:
            raise ValueError('; '.join(wrong))


def _read_share(pattern: fio_pattern.Pattern) -> float:
    if pattern.rw in fio_pattern.MIXES:
        percent = pattern.rwmixread_percent
        return (_MIX_READ_PERCENT if percent is None else percent) / 100
    return float(pattern.rw == 'randread')


def estimate_iops(disks: Disks, pattern: fio_pattern.Pattern) -> float | None:
    """IOPS of all guests together that the disks allow.

    :returns: None for a sequential pattern
    """
    if pattern.rw not in _RANDOM:
        return None
    reads = _read_share(pattern)
    disk_ios = reads + (1 - reads) * (
        disks.replicas * disks.disk_writes_per_write
    )
    return disks.disks * disks.iops_per_disk / disk_ios
