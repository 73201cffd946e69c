# SPDX-License-Identifier: Apache-2.0

"""What the volumes of a tier may do: their QoS limits, and how many there are.

Pure. Limits are those that Cinder names for libvirt and for drivers such as
RBD's (`*_iops_sec`); what a volume may do in a burst (`*_iops_sec_max`) is
not sold for long, and not counted.
"""

import collections.abc
import dataclasses
import re

#: Of IOPS, and their form for the size of a volume (cinder/volume/manager.py,
#: _driver_initialize_connection: the product of both, and not less than
#: `_per_gb_min`).
_NUMBER = re.compile(r'[0-9]{1,15}', re.ASCII)


def _limit(
    specs: collections.abc.Mapping[str, str], name: str, size_gib: int | None
) -> int | None:
    """A limit of a volume; None when it has none, or none of its size."""
    plain = specs.get(f'{name}_iops_sec', '')
    if _NUMBER.fullmatch(plain):
        # 0 is no limit.
        return int(plain) or None
    of_gib = specs.get(f'{name}_iops_sec_per_gb', '')
    if size_gib is None or not _NUMBER.fullmatch(of_gib):
        return None
    least = specs.get(f'{name}_iops_sec_per_gb_min', '')
    return (
        max(
            int(of_gib) * size_gib,
            int(least) if _NUMBER.fullmatch(least) else 0,
        )
        or None
    )


def iops_limit(
    specs: collections.abc.Mapping[str, str],
    direction: str | None,
    *,
    size_gib: int | None = None,
) -> int | None:
    """What a volume may read, or write, or both together, per second.

    >>> iops_limit({'total_iops_sec': '500', 'write_iops_sec': '200'}, 'write')
    200
    >>> iops_limit({'total_iops_sec_per_gb': '3'}, 'read', size_gib=100)
    300

    :param specs: of a QoS spec of Cinder; what is no number is no limit.
    :param direction: `read`, `write`, or None for both together.
    :param size_gib: of the volume; None: limits by size are not known.
    :returns: None when there is no limit.
    """
    total = _limit(specs, 'total', size_gib)
    if direction is not None:
        found = (total, _limit(specs, direction, size_gib))
        return min((each for each in found if each), default=None)
    if total is not None:
        return total
    both = [_limit(specs, each, size_gib) for each in ('read', 'write')]
    return None if None in both else sum(both)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SoldType:
    """A volume type of a tier, and its volumes."""

    #: Of the volume type: that of the tier, or one that it replaced.
    name: str
    #: {key: value} of its QoS spec; empty when it has none.
    specs: collections.abc.Mapping[str, str]
    #: Of each volume of it, of all projects.
    sizes_gib: tuple[int, ...]

    def iops(self, direction: str | None) -> int | None:
        """What all its volumes may do at once; None when one has no limit.

        :param direction: as of `iops_limit`.
        """
        found = [
            iops_limit(self.specs, direction, size_gib=size)
            for size in self.sizes_gib
        ]
        return None if None in found else sum(found)
