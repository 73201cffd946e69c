# SPDX-License-Identifier: Apache-2.0

"""On which OSDs of a cluster pools may lie, to compare pools.

Pure. Must not know what is said about them.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.state import ceph as ceph_state

#: What a CRUSH rule takes OSDs by: root, device class, class of first copies.
_Takes = tuple[str | None, str | None, str | None]


def _takes(rule: ceph_state.CrushRule) -> _Takes:
    return rule.root, rule.device_class, rule.primary_device_class


class PoolOsds:
    """The OSDs of the pools of one cluster, looked up once for each rule."""

    def __init__(self, ceph: ceph_state.CephState) -> None:
        self._ceph = ceph
        self._taken: dict[_Takes, frozenset[int]] = {}
        self._disjoint: dict[tuple[_Takes, _Takes], bool] = {}

    def of(self, pools: collections.abc.Iterable[str]) -> frozenset[int]:
        """Ids of the OSDs on which any of some pools may lie.

        :param pools: names; one that does not exist, or has a CRUSH rule that
            is not understood, has none.
        """
        return frozenset().union(
            *(self._osds(rule) for rule in self._rules(pools))
        )

    def of_reads(self, pool: str) -> frozenset[int]:
        """Ids of the OSDs that serve reads of a pool while all are up.

        The first copy serves them, which may be on a class of its own.
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
        """Whether the first copies of a pool are on a class of their own."""
        return any(
            rule.primary_device_class is not None
            for rule in self._rules([pool])
        )

    def share(
        self,
        pools: collections.abc.Iterable[str],
        others: collections.abc.Iterable[str],
    ) -> bool:
        """Whether some pools may lie on an OSD of others."""
        rules = self._rules(others)
        return any(
            self._meet(one, other)
            for one in self._rules(pools)
            for other in rules
        )

    def overlap(self, pool: str, other: str) -> bool:
        """Whether two pools share OSDs by different roots or classes."""
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
