# SPDX-License-Identifier: Apache-2.0

"""Limit of placement groups per OSD, checked before pools are created.

Ceph refuses a pool, or more placement groups of one, if the OSDs of its CRUSH
rule would have more than `mon_max_pg_per_osd` of them on average
(OSDMonitor::check_pg_num); apply would stop half way. Ceph counts the pools of
the rule; this module counts every pool with data on the same OSDs. Pure.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state


def _copies(pool: ceph_state.Pool) -> int:
    """Return the placement groups of a pool times its copies or chunks.

    If Ceph chooses the number, the declared minimum counts.
    """
    least = pool.options.get('pg_num_min', pool_options.UNSET)
    return (
        pool.pg_num or (1 if least == pool_options.UNSET else int(least))
    ) * pool.size


class Budget:
    """The placement groups on the OSDs of each CRUSH rule.

    Many rules take the same OSDs, and many pools have such a rule, so common
    results are computed once.

    :param ceph: cluster whose pools are counted.
    :param rules: {name: CRUSH rule} of the cluster, and rules that are created
        before the pools.
    """

    def __init__(
        self,
        ceph: ceph_state.CephState,
        rules: collections.abc.Mapping[str, ceph_state.CrushRule],
    ) -> None:
        self._rules = rules
        self._ceph = ceph
        self._osds: dict[ceph_state.CrushRule, frozenset[int]] = {}
        #: {OSDs: placement groups on all of them together}
        self._copies: dict[frozenset[int], int] = {}
        self._shared: dict[tuple[frozenset[int], frozenset[int]], int] = {}
        self._pools = dict(ceph.pools)
        for pool in self._pools.values():
            self._add(pool, 1)

    def refusal_of(
        self, before: ceph_state.Pool | None, after: ceph_state.Pool
    ) -> actions.Refusal | None:
        """Return a refusal if a pool gives OSDs too many placement groups.

        Later calls count the change as carried out.
        """
        counted = self._pools.get(after.name)
        if counted is not None:
            self._add(counted, -1)
        self._add(after, 1)
        self._pools[after.name] = after
        if (
            before is None
            or _copies(after) > _copies(before)
            or before.crush_rule != after.crush_rule
        ):
            return self._refusal(after)
        return None

    def _add(self, pool: ceph_state.Pool, times: int) -> None:
        """Count the placement groups of a pool; -1 times removes them."""
        osds = self._osds_of(pool)
        if osds:
            self._copies[osds] = self._copies.get(osds, 0) + times * _copies(
                pool
            )

    def _osds_of(self, pool: ceph_state.Pool) -> frozenset[int]:
        """Return the OSDs of a pool; empty if its rule is not understood."""
        rule = self._rules.get(pool.crush_rule)
        if rule is None:
            return frozenset()
        alike = dataclasses.replace(rule, name='')
        if alike not in self._osds:
            self._osds[alike] = frozenset(
                osd.osd_id for osd in self._ceph.osds if rule.takes(osd)
            )
        return self._osds[alike]

    def _shared_by(self, osds: frozenset[int], others: frozenset[int]) -> int:
        """Return the number of OSDs in both sets."""
        if (osds, others) not in self._shared:
            self._shared[osds, others] = len(osds & others)
        return self._shared[osds, others]

    def _refusal(self, pool: ceph_state.Pool) -> actions.Refusal | None:
        """Return why a pool does not fit; None if it does."""
        osds = self._osds_of(pool)
        if self._ceph.max_pg_per_osd is None or not osds:
            return None
        most = self._ceph.max_pg_per_osd
        total = sum(
            copies * self._shared_by(osds, others) / len(others)
            for others, copies in self._copies.items()
        )
        each = int(total / len(osds))
        if each <= most:
            return None
        return actions.Refusal(
            reason=(
                f'the {len(osds)} OSDs of its CRUSH rule would have {each} '
                'placement groups each on average, more than the '
                f'{most} of mon_max_pg_per_osd, and Ceph would refuse it'
            ),
            remedy=(
                'lower pg_num of tiers on these OSDs, add OSDs, or raise the '
                f'limit: "ceph config set global mon_max_pg_per_osd {each}"'
            ),
            yields_to_consent=True,
        )
