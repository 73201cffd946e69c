# SPDX-License-Identifier: Apache-2.0

"""How many placement groups OSDs may have, looked at before pools are made.

Ceph refuses a pool, or more placement groups of one, when the OSDs of its
CRUSH rule would have more than `mon_max_pg_per_osd` of them on average
(OSDMonitor::check_pg_num), in the middle of an apply. It counts the pools of
the rule; counted here is every pool that has data on the same OSDs. Pure.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state

_Rules = collections.abc.Mapping[str, ceph_state.CrushRule]


def checked(
    planned: collections.abc.Iterable[actions.Action],
    rules: collections.abc.Iterable[ceph_state.CrushRule],
    ceph: ceph_state.CephState,
) -> collections.abc.Iterator[actions.Action]:
    """Actions on pools, refused where OSDs would get too many.

    :param planned: on pools of one cluster, in the order of the plan; each
        is judged as if those before it had been carried out.
    :param rules: CRUSH rules that are made before.
    :param ceph: the cluster.
    """
    known = {**ceph.crush_rules, **{one.name: one for one in rules}}
    budget = _Budget(known, ceph)
    for pool in ceph.pools.values():
        budget.add(pool, 1)
    pools = dict(ceph.pools)
    for action in planned:
        after = action.after
        if after.name in pools:
            budget.add(pools[after.name], -1)
        budget.add(after, 1)
        pools[after.name] = after
        refusal = (
            budget.refusal(after)
            if _copies(after) > (_copies(action.before) or 0)
            or action.before.crush_rule != after.crush_rule
            else None
        )
        yield dataclasses.replace(
            action,
            refusal=actions.joined(filter(None, (action.refusal, refusal))),
        )


def _copies(pool: ceph_state.Pool | None) -> int:
    """Placement groups of a pool, each as often as it is stored.

    One of which Ceph chooses the number has the least that is declared.
    """
    if pool is None:
        return 0
    least = pool.options.get('pg_num_min', pool_options.UNSET)
    return (
        pool.pg_num or (1 if least == pool_options.UNSET else int(least))
    ) * pool.size


class _Budget:
    """The placement groups on the OSDs of each CRUSH rule.

    Many rules take the same OSDs, and many pools have such a rule: what they
    have in common is counted once for all of them.
    """

    def __init__(self, rules: _Rules, ceph: ceph_state.CephState) -> None:
        self._rules = rules
        self._ceph = ceph
        self._osds: dict[ceph_state.CrushRule, frozenset[int]] = {}
        #: {OSDs: placement groups on all of them together}
        self._copies: dict[frozenset[int], int] = {}
        self._shared: dict[tuple[frozenset[int], frozenset[int]], int] = {}

    def add(self, pool: ceph_state.Pool, times: int) -> None:
        """Counts a pool; -1 times: no longer."""
        osds = self._osds_of(pool)
        if osds:
            self._copies[osds] = self._copies.get(osds, 0) + times * _copies(
                pool
            )

    def _osds_of(self, pool: ceph_state.Pool) -> frozenset[int]:
        """The OSDs of a pool; empty for a rule that is not understood."""
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
        """How many OSDs are among both."""
        if (osds, others) not in self._shared:
            self._shared[osds, others] = len(osds & others)
        return self._shared[osds, others]

    def refusal(self, pool: ceph_state.Pool) -> actions.Refusal | None:
        """Why a pool cannot be as it is counted; None when it can."""
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
