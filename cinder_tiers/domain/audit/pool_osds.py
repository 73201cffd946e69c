# SPDX-License-Identifier: Apache-2.0

"""OSDs on which the pools of a cluster may lie, for comparisons.

Pure. Must not know what is concluded from them.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.state import ceph as ceph_state

#: Selection of OSDs by a CRUSH rule: root, device class, class of first
#: copies.
_Takes = tuple[str | None, str | None, str | None]


def _takes(rule: ceph_state.CrushRule) -> _Takes:
    return rule.root, rule.device_class, rule.primary_device_class


class PoolOsds:
    """OSDs of the pools of one cluster, computed once for each rule."""

    def __init__(self, ceph: ceph_state.CephState) -> None:
        self._ceph = ceph
        self._taken: dict[_Takes, frozenset[int]] = {}
        self._disjoint: dict[tuple[_Takes, _Takes], bool] = {}

    def of(self, pools: collections.abc.Iterable[str]) -> frozenset[int]:
        """Return the ids of the OSDs on which any of the pools may lie.

        :param pools: names of pools; a pool that does not exist, or whose
            CRUSH rule is not understood, has no OSD.
        """
        return frozenset().union(
            *(self._osds(rule) for rule in self._rules(pools))
        )

    def of_reads(self, pool: str) -> frozenset[int]:
        """Return the ids of the OSDs that serve reads of a pool if all are up.

        The first copies serve reads, and may have a device class of their own.
        """
        return frozenset().union(
            *(
                self._osds(
                    rule
                    if rule.primary_device_class is None
                    else dataclasses.replace(
                        rule,
                        device_class=rule.primary_device_class,
                        primary_device_class=None,
                    )
                )
                for rule in self._rules([pool])
            )
        )

    def has_class_of_first_copies(self, pool: str) -> bool:
        """Return whether first copies of a pool have a class of their own."""
        return any(
            rule.primary_device_class is not None
            for rule in self._rules([pool])
        )

    def share(
        self,
        pools: collections.abc.Iterable[str],
        others: collections.abc.Iterable[str],
    ) -> bool:
        """Return whether some pools may lie on an OSD of the others."""
        rules = self._rules(others)
        return any(
            self._meet(one, other)
            for one in self._rules(pools)
            for other in rules
        )

    def overlap(self, pool: str, other: str) -> bool:
        """Return whether pools with different roots or classes share OSDs."""
        return any(
            _takes(one) != _takes(two) and self._meet(one, two)
            for one in self._rules([pool])
            for two in self._rules([other])
        )

    def described(self, pool: str) -> str:
        """Describe the OSDs that serve reads of a pool with a known rule.

        For example: ssd OSDs below root default.
        """
        (rule,) = self._rules([pool])
        taken = rule.primary_device_class or rule.device_class or 'all'
        return f'{taken} OSDs below root {rule.root}'

    def _rules(
        self, pools: collections.abc.Iterable[str]
    ) -> list[ceph_state.CrushRule]:
        found = (
            self._ceph.crush_rules.get(self._ceph.pools[name].crush_rule)
            for name in pools
            if name in self._ceph.pools
        )
        return [rule for rule in found if rule and rule.root is not None]

    def _osds(self, rule: ceph_state.CrushRule) -> frozenset[int]:
        key = _takes(rule)
        if key not in self._taken:
            self._taken[key] = frozenset(
                osd.osd_id for osd in self._ceph.osds if rule.takes(osd)
            )
        return self._taken[key]

    def _meet(
        self, rule: ceph_state.CrushRule, other: ceph_state.CrushRule
    ) -> bool:
        key = (_takes(rule), _takes(other))
        if key not in self._disjoint:
            self._disjoint[key] = self._osds(rule).isdisjoint(
                self._osds(other)
            )
        return not self._disjoint[key]
