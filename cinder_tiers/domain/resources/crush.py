# SPDX-License-Identifier: Apache-2.0
"""The CRUSH rules and erasure code profiles that the pools of a tier use.

`desired` says what they should hold, and their names where nothing exists.
Here that meets a cluster. What a pool uses already is right whatever its name,
as long as it holds what is wanted. A name that is taken by something else is
left to it, and another one is used. So no rule and no profile is ever changed.
Pure.
"""

import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.state import ceph as ceph_state

Named = ceph_state.CrushRule | ceph_state.ErasureCodeProfile


def pools_in(
    rbd: catalogs.RbdPool, ceph: ceph_state.CephState
) -> tier_pools.TierPools:
    """Profiles, CRUSH rules and pools of a tier, as this cluster needs them.

    :param rbd: the pool of the tier.
    :param ceph: the cluster.
    :returns: rules and profiles that the pools use already are left out, and
        the pools name them.
    """
    wanted = tier_pools.pools_of(rbd)
    profiles = {one.name: one for one in wanted.erasure_code_profiles}
    rules = {one.name: one for one in wanted.crush_rules}
    made_profiles: list[ceph_state.ErasureCodeProfile] = []
    made_rules: list[ceph_state.CrushRule] = []
    pools = []
    for pool in wanted.pools:
        rule, profile = rules[pool.name], profiles.get(pool.name)
        name = _free_name(rbd, rule, profile, ceph)
        before = ceph.pools.get(pool.name)
        used = before and ceph.crush_rules.get(before.crush_rule)
        is_rule_used = used is not None and _is_alike(used, rule)
        used_profile = before and ceph.erasure_code_profiles.get(
            before.erasure_code_profile or ''
        )
        # Where the chunks go is up to the rule of a pool that exists.
        is_profile_used = (
            used_profile is not None
            and profile is not None
            and (used_profile.k, used_profile.m) == (profile.k, profile.m)
        )
        # A rule for erasure code is made from the profile of its name.
        if profile and not (
            is_profile_used and (is_rule_used or name in ceph.crush_rules)
        ):
            made_profiles.append(dataclasses.replace(profile, name=name))
        if not is_rule_used:
            made_rules.append(dataclasses.replace(rule, name=name))
        pools.append(
            dataclasses.replace(
                pool,
                crush_rule=used.name if is_rule_used else name,
                erasure_code_profile=(
                    used_profile.name if is_profile_used else profile and name
                ),
            )
        )
    return tier_pools.TierPools(
        erasure_code_profiles=tuple(made_profiles),
        crush_rules=tuple(made_rules),
        pools=tuple(pools),
    )


def profiles_to_read(
    rbd: catalogs.RbdPool, ceph: ceph_state.CephState
) -> frozenset[str]:
    """Names of the erasure code profiles that `pools_in` wants to know.

    :param rbd: the pool of the tier.
    :param ceph: the cluster; with the profiles that were asked for first,
        there may be another name to ask for.
    """
    used = (
        ceph.pools[name].erasure_code_profile
        for name in rbd.pools
        if name in ceph.pools
    )
    wanted = (
        *tier_pools.pools_of(rbd).erasure_code_profiles,
        *pools_in(rbd, ceph).erasure_code_profiles,
    )
    return frozenset({*filter(None, used), *(one.name for one in wanted)})


def _free_name(
    rbd: catalogs.RbdPool,
    rule: ceph_state.CrushRule,
    profile: ceph_state.ErasureCodeProfile | None,
    ceph: ceph_state.CephState,
) -> str:
    """The first name that nothing else has; else the last."""
    names = tier_pools.rule_names(rbd, rule.name)
    for name in names:
        others = [ceph.crush_rules.get(name)]
        wanted: list[Named] = [rule]
        if profile is not None:
            others.append(ceph.erasure_code_profiles.get(name))
            wanted.append(profile)
        if all(
            other is None or _is_alike(other, one)
            for other, one in zip(others, wanted, strict=True)
        ):
            return name
    return names[-1]


def _is_alike(one: Named, other: Named) -> bool:
    """Whether they hold the same, whatever their names."""
    return dataclasses.replace(one, name=other.name) == other
