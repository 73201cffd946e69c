# SPDX-License-Identifier: Apache-2.0

"""What the volumes of a tier may do: their QoS limits, and how many there are.

Pure. Limits are those that Cinder names for libvirt and for drivers such as
RBD's (`*_iops_sec`); what a volume may do in a burst (`*_iops_sec_max`) is
not sold for long, and not counted.
"""

import collections.abc
import dataclasses
import re

_NUMBER = re.compile(r'[0-9]{1,15}', re.ASCII)
# Of volumes that cannot be attached: they were not created, or are being
# deleted.
_WITHOUT_STORAGE = frozenset(
    {
        *('error', 'deleting', 'error_deleting'),
        *('error_managing', 'error_managing_deleting'),
    }
)
#: The only consumer for which Cinder makes no limit out of the size.
_BACK_END = 'back-end'


def _number(specs: collections.abc.Mapping[str, str], key: str) -> int | None:
    value = specs.get(key, '')
    return int(value) if _NUMBER.fullmatch(value) else None


def _limit(
    specs: collections.abc.Mapping[str, str],
    name: str,
    size_gib: int | None,
    consumer: str,
) -> int | None:
    """A limit of a volume; None when it has none, or none of its size.

    One for each GiB takes the place of a plain one, and what is a burst
    otherwise is then the most (cinder/volume/manager.py,
    _parse_connection_options). Drivers do not know it.
    """
    of_gib = _number(specs, f'{name}_iops_sec_per_gb')
    if of_gib is None or consumer == _BACK_END:
        # 0 is no limit.
        return _number(specs, f'{name}_iops_sec') or None
    if size_gib is None:
        return None
    found = max(
        of_gib * size_gib, _number(specs, f'{name}_iops_sec_per_gb_min') or 0
    )
    most = _number(specs, f'{name}_iops_sec_max')
    return (found if most is None else min(found, most)) or None


def iops_limit(
    specs: collections.abc.Mapping[str, str],
    direction: str | None,
    *,
    size_gib: int | None = None,
    consumer: str = '',
) -> int | None:
    """What a volume may read, or write, or both together, per second.

    >>> iops_limit({'total_iops_sec': '500', 'write_iops_sec': '200'}, 'write')
    200
    >>> iops_limit({'total_iops_sec_per_gb': '3'}, 'read', size_gib=100)
    300

    :param specs: of a QoS spec of Cinder; what is no number is no limit.
    :param direction: `read`, `write`, or None for both together.
    :param size_gib: of the volume; None: limits by size are not known.
    :param consumer: of the QoS spec, as Cinder names it.
    :returns: None when there is no limit.
    """
    total = _limit(specs, 'total', size_gib, consumer)
    if direction is not None:
        found = (total, _limit(specs, direction, size_gib, consumer))
        return min((each for each in found if each), default=None)
    if total is not None:
        return total
    read, write = (
        _limit(specs, each, size_gib, consumer) for each in ('read', 'write')
    )
    return None if read is None or write is None else read + write


def clients(status: str | None, servers: int) -> int:
    """How many servers a volume can do I/O for at once, now or when attached.

    Each has the limit for itself, in libvirt and in librbd alike.

    >>> clients('available', 0), clients('in-use', 2), clients('error', 0)
    (1, 2, 0)

    :param status: of the volume; None: not known.
    :param servers: to which it is attached.
    """
    if servers:
        return servers
    return 0 if status in _WITHOUT_STORAGE else 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits:
    """The QoS spec of a volume type."""

    #: {key: value}; empty when the type has none.
    specs: collections.abc.Mapping[str, str]
    #: Of the QoS spec; empty when there is none.
    consumer: str = ''

    def iops(
        self, direction: str | None, *, size_gib: int | None = None
    ) -> int | None:
        """What one volume may do, as of `iops_limit`.

        :param direction: as of `iops_limit`.
        :param size_gib: as of `iops_limit`.
        """
        return iops_limit(
            self.specs, direction, size_gib=size_gib, consumer=self.consumer
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SoldVolume:
    """A volume that can do I/O, now or when it is attached."""

    size_gib: int
    #: As of `clients`, more than 0.
    clients: int = 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class SoldType:
    """A volume type of a tier, and its volumes."""

    #: Of the volume type: that of the tier, or one that it replaced.
    name: str
    limits: Limits
    #: Of all projects.
    volumes: tuple[SoldVolume, ...]

    def iops(self, direction: str | None) -> int | None:
        """What all its volumes may do at once; None when one has no limit.

        :param direction: as of `iops_limit`.
        """
        total = 0
        for one in self.volumes:
            found = self.limits.iops(direction, size_gib=one.size_gib)
            if found is None:
                return None
            total += found * one.clients
        return total
