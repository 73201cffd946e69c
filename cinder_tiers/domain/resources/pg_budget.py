# SPDX-License-Identifier: Apache-2.0

"""How many placement groups OSDs may have, looked at before pools are made.

Ceph refuses a pool, or more placement groups of one, when the OSDs of its
CRUSH rule would have more than `mon_max_pg_per_osd` of them on average
(OSDMonitor::check_pg_num), in the middle of an apply. It counts the pools of
the rule; counted here is every pool that has data on the same OSDs. Pure.
"""

import collections.abc
import dataclasses

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
    pools = dict(ceph.pools)
    for action in planned:
        after = action.after
        pools[after.name] = after
        refusal = (
            _refusal(after, pools, known, ceph)
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
    least = pool.options.get('pg_num_min', '1')
    return (pool.pg_num or int(least)) * pool.size


def _osds(
    name: str, rules: _Rules, ceph: ceph_state.CephState
) -> frozenset[int]:
    """The OSDs of a CRUSH rule; empty for one that is not understood."""
    rule = rules.get(name)
    if rule is None:
        return frozenset()
    return frozenset(osd.osd_id for osd in ceph.osds if rule.takes(osd))


def _refusal(
    pool: ceph_state.Pool,
    pools: collections.abc.Mapping[str, ceph_state.Pool],
    rules: _Rules,
    ceph: ceph_state.CephState,
) -> actions.Refusal | None:
    osds = _osds(pool.crush_rule, rules, ceph)
    if ceph.max_pg_per_osd is None or not osds:
        return None
    total = 0.0
    for other in pools.values():
        theirs = _osds(other.crush_rule, rules, ceph)
        if theirs:
            total += _copies(other) * len(osds & theirs) / len(theirs)
    each = int(total / len(osds))
    if each <= ceph.max_pg_per_osd:
        return None
    return actions.Refusal(
        reason=(
            f'the {len(osds)} OSDs of its CRUSH rule would have {each} '
            'placement groups each on average, more than the '
            f'{ceph.max_pg_per_osd} of mon_max_pg_per_osd, and Ceph would '
            'refuse it'
        ),
        remedy=(
            'lower pg_num of tiers on these OSDs, add OSDs, or raise the '
            f'limit: "ceph config set global mon_max_pg_per_osd {each}"'
        ),
        yields_to_consent=True,
    )
