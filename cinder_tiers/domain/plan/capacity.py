# SPDX-License-Identifier: Apache-2.0

"""Fill level of the OSDs of a CRUSH rule before and after a change.

Pure. Must not know what the change is.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import data_movement
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import usage as usages

#: {OSD id: added bytes, negative for fewer}
Added = collections.abc.Mapping[int, float]


@dataclasses.dataclass(frozen=True, kw_only=True)
class FillLevel:
    """Fill level of a group of OSDs: ratios from 0, above 1 if too full."""

    osds: int
    #: Ratio of all OSDs together.
    ratio: float
    #: Ratio of the fullest OSD, at which Ceph stops.
    fullest_ratio: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class CapacityChange:
    """Effect of a change on the OSDs of a CRUSH rule."""

    rule: ceph_state.CrushRule
    before: FillLevel
    after: FillLevel
    #: nearfull, backfillfull or full: the highest ratio that the fullest OSD
    #: reaches; '' for none, or if nothing is added.
    passes: str
    #: That ratio; 0 without one.
    limit_ratio: float

    def __str__(self) -> str:
        """Return the number of OSDs, both levels, and any limit exceeded."""
        of = (
            f'class {self.rule.device_class}'
            if self.rule.device_class
            else f'root {self.rule.root}'
        )
        if self.rule.device_class and self.rule.root != catalogs.CRUSH_ROOT:
            of += f' under {self.rule.root}'
        text = (
            f'{self.after.osds} OSDs of {of}: {_percent(self.before)} -> '
            f'{_percent(self.after)}'
        )
        if self.passes:
            text += f', past {self.passes} ({100 * self.limit_ratio:g} %)'
        return text


def _percent(level: FillLevel) -> str:
    text = f'{100 * level.ratio:.0f} %'
    fullest = f'{100 * level.fullest_ratio:.0f} %'
    return text if fullest == text else f'{text} (fullest {fullest})'


def change(
    rule: ceph_state.CrushRule,
    *,
    shares: data_movement.Shares,
    usage: usages.ClusterUsage,
    earlier: Added,
    added: Added,
) -> CapacityChange:
    """Return the effect of a change on the OSDs of a CRUSH rule.

    :param shares: distribution of data by the rule, over at least one OSD.
    :param earlier: bytes that earlier changes add to each OSD.
    :param added: bytes that this change adds to each OSD.
    """
    now = {
        osd_id: usage.osds[osd_id].used_bytes + earlier.get(osd_id, 0)
        for osd_id in shares
    }
    then = {
        osd_id: used + added.get(osd_id, 0) for osd_id, used in now.items()
    }
    before, after = _level(now, usage), _level(then, usage)
    passes, limit = '', 0.0
    if sum(then.values()) > sum(now.values()):
        for name, ratio in (
            ('nearfull', usage.nearfull_ratio),
            ('backfillfull', usage.backfillfull_ratio),
            ('full', usage.full_ratio),
        ):
            if after.fullest_ratio >= ratio:
                passes, limit = name, ratio
    return CapacityChange(
        rule=rule, before=before, after=after, passes=passes, limit_ratio=limit
    )


def _level(
    used: collections.abc.Mapping[int, float], usage: usages.ClusterUsage
) -> FillLevel:
    total = {osd_id: usage.osds[osd_id].total_bytes for osd_id in used}
    return FillLevel(
        osds=len(used),
        ratio=sum(used.values()) / sum(total.values()),
        fullest_ratio=max(used[osd_id] / total[osd_id] for osd_id in used),
    )
