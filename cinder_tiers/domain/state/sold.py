# SPDX-License-Identifier: Apache-2.0

"""QoS limits of the volumes of a tier, and the number of volumes.

Pure. Limits are those of Cinder for libvirt and for drivers such as RBD's
(`*_iops_sec`); bursts (`*_iops_sec_max`) are short and not counted.
"""

import collections.abc
import dataclasses
import re

from cinder_tiers.domain import limits_by_size

_NUMBER = re.compile(r'[0-9]{1,15}', re.ASCII)
# Statuses of volumes that cannot be attached: they were not created, or are
# being deleted.
_WITHOUT_STORAGE = frozenset(
    {
        *('error', 'deleting', 'error_deleting'),
        *('error_managing', 'error_managing_deleting'),
    }
)


def _number(specs: collections.abc.Mapping[str, str], key: str) -> int | None:
    value = specs.get(key, '')
    return int(value) if _NUMBER.fullmatch(value) else None


def _limit(
    specs: collections.abc.Mapping[str, str],
    name: str,
    size_gib: int | None,
    has_by_size: bool,
) -> int | None:
    """Return a limit of a volume; None without a limit.

    A limit by size is None without a size.
    """
    limit = f'{name}_iops_sec'
    of_gib = f'{limit}{limits_by_size.OF_GIB}'
    if not has_by_size or _number(specs, of_gib) is None:
        # 0 is no limit.
        return _number(specs, limit) or None
    if size_gib is None:
        return None
    made = limits_by_size.of_size(
        {
            key: specs[key]
            for key in (
                of_gib,
                f'{limit}{limits_by_size.AT_LEAST}',
                f'{limit}_max',
            )
            if _number(specs, key) is not None
        },
        size_gib,
    )
    return int(made[limit]) or None


def iops_limit(
    specs: collections.abc.Mapping[str, str],
    direction: str | None,
    *,
    size_gib: int | None = None,
    has_by_size: bool = True,
) -> int | None:
    """Return the IOPS that a volume may read, or write, or both together.

    >>> iops_limit({'total_iops_sec': '500', 'write_iops_sec': '200'}, 'write')
    200
    >>> iops_limit({'total_iops_sec_per_gb': '3'}, 'read', size_gib=100)
    300

    :param specs: keys of a QoS spec of Cinder; only numbers are limits.
    :param direction: `read`, `write`, or None for both together.
    :param size_gib: size of the volume in GiB; None to ignore limits by size.
    :param has_by_size: whether the backend is certain to set limits by size.
    :returns: limit in IOPS; None without a limit.
    """
    total = _limit(specs, 'total', size_gib, has_by_size)
    if direction is not None:
        found = (total, _limit(specs, direction, size_gib, has_by_size))
        return min((each for each in found if each), default=None)
    if total is not None:
        return total
    read, write = (
        _limit(specs, each, size_gib, has_by_size)
        for each in ('read', 'write')
    )
    return None if read is None or write is None else read + write


def clients(status: str | None, servers: int) -> int:
    """Return how many servers can use a volume at once, now or if attached.

    Each has the limit for itself, in libvirt and in librbd alike.

    >>> clients('available', 0), clients('in-use', 2), clients('error', 0)
    (1, 2, 0)

    :param status: status of the volume; None if unknown.
    :param servers: number of servers to which it is attached.
    """
    if servers:
        return servers
    return 0 if status in _WITHOUT_STORAGE else 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits:
    """QoS limits of a volume type."""

    #: {key: value}; empty when the type has none.
    specs: collections.abc.Mapping[str, str]
    #: Whether the backend is certain to set the limits by size of that QoS
    #: spec.
    has_by_size: bool = True

    def iops(
        self, direction: str | None, *, size_gib: int | None = None
    ) -> int | None:
        """Return the IOPS limit of one volume; see `iops_limit`."""
        return iops_limit(
            self.specs,
            direction,
            size_gib=size_gib,
            has_by_size=self.has_by_size,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SoldVolume:
    """A volume that can do I/O, now or if attached."""

    size_gib: int
    #: Result of `clients`, more than 0.
    clients: int = 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class SoldType:
    """A volume type of a tier, and its volumes."""

    #: Name of the volume type: that of the tier, or one that it replaced.
    name: str
    limits: Limits
    #: Volumes of all projects.
    volumes: tuple[SoldVolume, ...]

    def iops(self, direction: str | None) -> int | None:
        """Return the IOPS of all its volumes; None if one has no limit.

        :param direction: see `iops_limit`.
        """
        total = 0
        for one in self.volumes:
            found = self.limits.iops(direction, size_gib=one.size_gib)
            if found is None:
                return None
            total += found * one.clients
        return total
