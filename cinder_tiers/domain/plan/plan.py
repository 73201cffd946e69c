# SPDX-License-Identifier: Apache-2.0

"""The plan: what separates the world from the catalog.

Pure: the same catalog and state give the same plan, and when nothing
separates them it is empty, so it is the drift check too. Must not know how
actions are carried out or shown.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.resources import cephx_user
from cinder_tiers.domain.resources import crush
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.resources import primary_affinity
from cinder_tiers.domain.resources import qos_spec as qos_spec_kind
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.resources import volume_type as volume_type_kind
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import difference
from cinder_tiers.domain.validation import clusters as cluster_rules
from cinder_tiers.domain.validation import projects as project_rules

#: Fields of a pool of which a change moves or rewrites data.
_MOVES_DATA = frozenset(
    {'kind', 'size', 'pg_num', 'crush_rule', 'erasure_code_profile'}
)
_STEERS_AUTOSCALER = frozenset(
    f'options.{name}' for name in pool_options.STEERS_AUTOSCALER
)
#: Those of them that Ceph changes in a pool that exists, by its kind.
_SETTABLE = {
    'replicated': _STEERS_AUTOSCALER | {'size', 'pg_num', 'crush_rule'},
    'erasure': _STEERS_AUTOSCALER | {'pg_num', 'crush_rule'},
}
#: {kind of object: the mask of its sections in the monitors}.
_MASKS = {
    actions.Kind.OSD_OPTIONS: osd_options.CLASS,
    actions.Kind.HOST_OSD_OPTIONS: osd_options.HOST,
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """Actions in an order in which they can be carried out."""

    actions: tuple[actions.Action, ...]

    @property
    def refused(self) -> tuple[actions.Action, ...]:
        """Those that only an operator may do.

        While there is one, none of the plan is carried out.
        """
        return tuple(
            action for action in self.actions if action.refusal is not None
        )


def make(
    *, catalog: catalogs.Catalog, actual: actual_state.ActualState
) -> Plan:
    """Compares the catalog with what exists.

    :returns: a plan, empty when nothing is to be done.
    :raises errors.ProblemsFound: when a cluster cannot hold a tier, or a
        project is unknown.
    """
    problems = (
        *cluster_rules.check(catalog, actual.ceph),
        *project_rules.check(catalog, actual.projects),
    )
    if problems:
        raise errors.ProblemsFound(problems)
    found: list[actions.Action] = []
    for cluster in catalog.clusters_in_use:
        ceph = actual.ceph[cluster.name]
        for tier in catalog.tiers_of(cluster.name):
            found.extend(_tier_actions(tier, ceph))
        found.extend(_osd_actions(catalog, cluster, ceph))
        found.extend(_host_osd_actions(cluster, ceph))
        found.extend(primary_affinity.plan(catalog, cluster, ceph))
        found.extend(_user_actions(catalog, cluster, ceph))
        found.extend(cache_tier.make(catalog, cluster, ceph))
    found.extend(
        volume_type_kind.make(
            catalog=catalog,
            volume_types=actual.cinder.volume_types,
            projects=actual.projects,
        )
    )
    found.extend(qos_spec_kind.make(catalog=catalog, cinder=actual.cinder))
    found.extend(
        volume_type_kind.make_quotas(
            catalog=catalog, quotas=actual.cinder.quotas
        )
    )
    return Plan(actions=tuple(sorted(found, key=_turn)))


def _turn(action: actions.Action) -> tuple[bool, int]:
    """Deletions come last, and what was created last goes first."""
    place = list(actions.Kind).index(action.key.kind)
    return (True, -place) if action.after is None else (False, place)


def _tier_actions(
    tier: catalogs.Tier,
    ceph: ceph_state.CephState,
) -> collections.abc.Iterator[actions.Action]:
    """Actions on profiles, rules and pools of a tier."""
    rbd = tier.rbd
    if rbd is None:
        return
    wanted = crush.pools_in(rbd, ceph)
    why = f'tier {tier.name}'
    kind = actions.Kind.ERASURE_CODE_PROFILE
    for profile in wanted.erasure_code_profiles:
        key = actions.Key(kind=kind, cluster=rbd.cluster, name=profile.name)
        yield from _unchangeable(
            key, ceph.erasure_code_profiles.get(profile.name), profile, why
        )
    for rule in wanted.crush_rules:
        key = actions.Key(
            kind=actions.Kind.CRUSH_RULE, cluster=rbd.cluster, name=rule.name
        )
        needs = frozenset(
            {
                actions.Key(kind=kind, cluster=rbd.cluster, name=profile.name)
                for profile in wanted.erasure_code_profiles
                if profile.name == rule.name
            }
        )
        yield from _unchangeable(
            key, ceph.crush_rules.get(rule.name), rule, why, needs
        )
    for pool in wanted.pools:
        yield from _pool_actions(
            rbd.cluster, pool, ceph.pools.get(pool.name), why
        )


def _unchangeable(
    key: actions.Key,
    before: ceph_state.CrushRule | ceph_state.ErasureCodeProfile | None,
    after: ceph_state.CrushRule | ceph_state.ErasureCodeProfile,
    why: str,
    needs: frozenset[actions.Key] = frozenset(),
) -> collections.abc.Iterator[actions.Action]:
    """An object that is created, and never changed once pools use it."""
    refusal = None
    if before is not None:
        if not difference.differences(before, after):
            return
        refusal = actions.Refusal(
            reason=f'the {key.kind.value} exists with other values, and '
            f'changing it moves or endangers the data of pools that '
            f'use it',
            remedy='name another pool in the catalog, or remove the '
            f'{key.kind.value} by hand when no pool uses it',
        )
    yield actions.Action(
        key=key,
        before=before,
        after=after,
        why=why,
        needs=needs,
        refusal=refusal,
    )


def _pool_actions(
    cluster: str,
    wanted: ceph_state.Pool,
    before: ceph_state.Pool | None,
    why: str,
) -> collections.abc.Iterator[actions.Action]:
    def key(kind: actions.Kind, name: str) -> actions.Key:
        return actions.Key(kind=kind, cluster=cluster, name=name)

    needs = {key(actions.Kind.CRUSH_RULE, wanted.crush_rule)}
    if wanted.erasure_code_profile:
        needs.add(
            key(actions.Kind.ERASURE_CODE_PROFILE, wanted.erasure_code_profile)
        )
    if wanted.rbd_default_data_pool:
        needs.add(key(actions.Kind.POOL, wanted.rbd_default_data_pool))
    after = wanted
    if before is not None:
        after = dataclasses.replace(
            wanted, applications=before.applications | wanted.applications
        )
        if not difference.differences(before, after):
            return
    yield actions.Action(
        key=key(actions.Kind.POOL, wanted.name),
        before=before,
        after=after,
        why=why,
        needs=frozenset(needs),
        refusal=before and _pool_refusal(before, after),
    )


def _pool_refusal(
    before: ceph_state.Pool, after: ceph_state.Pool
) -> actions.Refusal | None:
    refusals = []
    foreign = before.applications - {'rbd'}
    if foreign:
        refusals.append(
            actions.Refusal(
                reason=f'the pool is used by {", ".join(sorted(foreign))}',
                remedy='name another pool in the catalog',
            )
        )
    moves = set(_MOVES_DATA)
    if before.pg_autoscale_mode == 'on':
        moves |= _STEERS_AUTOSCALER
    moving = [
        one
        for one in difference.differences(before, after)
        if one.field in moves
    ]
    if moving:
        changes = ', '.join(
            f'{one.field} {one.before} -> {one.after}' for one in moving
        )
        can_be_set = {one.field for one in moving} <= _SETTABLE.get(
            before.kind, frozenset()
        )
        refusals.append(
            actions.Refusal(
                reason=f'it would move or rewrite data of a pool that exists: '
                f'{changes}',
                remedy='declare what exists'
                + (
                    ''
                    if can_be_set
                    else ', or name another pool and retype the volumes'
                ),
                yields_to_consent=can_be_set,
            )
        )
    return actions.joined(refusals)


def _osd_actions(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> collections.abc.Iterator[actions.Action]:
    for after in tier_pools.osd_options_of(
        catalog, cluster, ceph.option_schemas
    ):
        tiers = ', '.join(
            tier.name
            for tier in catalog.tiers_of(cluster.name)
            if tier.rbd
            and tier.rbd.osd_options
            and tier.rbd.device_class == after.name
        )
        yield from _osd_action(
            actions.Key(
                kind=actions.Kind.OSD_OPTIONS,
                cluster=cluster.name,
                name=after.name,
            ),
            ceph.class_options[after.name],
            after,
            ceph,
            f'tier {tiers}',
        )


def _host_osd_actions(
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> collections.abc.Iterator[actions.Action]:
    for after in tier_pools.host_osd_options_of(cluster, ceph.option_schemas):
        yield from _osd_action(
            actions.Key(
                kind=actions.Kind.HOST_OSD_OPTIONS,
                cluster=cluster.name,
                name=after.name,
            ),
            ceph.host_options[after.name],
            after,
            ceph,
            f'host_osd_options of cluster {cluster.name}',
        )


def _osd_action(
    key: actions.Key,
    before: ceph_state.OsdOptions,
    after: ceph_state.OsdOptions,
    ceph: ceph_state.CephState,
    why: str,
) -> collections.abc.Iterator[actions.Action]:
    changed = [
        one.field.removeprefix('values.')
        for one in difference.differences(before, after)
    ]
    if not changed:
        return
    later = [
        name for name in changed if not ceph.option_schemas[name].at_runtime
    ]
    yield actions.Action(
        key=key,
        before=before,
        after=after,
        why=why
        + (
            f'; {", ".join(later)} counts from the start of an OSD, '
            f'when Ceph does not look at device class and host'
            if later
            else ''
        )
        + ''.join(
            osd_options.not_heeded(
                changed,
                wanted=after.values,
                reasons=before.reasons,
                told=ceph.told_options.get(
                    f'{_MASKS[key.kind]}:{key.name}', {}
                ),
                schemas=ceph.option_schemas,
            )
        ),
    )


def _user_actions(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> collections.abc.Iterator[actions.Action]:
    name = f'client.{cluster.cinder_user}'
    before = ceph.users.get(name)
    after = ceph_state.CephxUser(
        name=name,
        caps=cephx_user.union(
            before.caps if before else {},
            tier_pools.grants_of(catalog, cluster),
        ),
    )
    if before is None or difference.differences(before, after):
        yield actions.Action(
            key=actions.Key(
                kind=actions.Kind.CEPHX_USER, cluster=cluster.name, name=name
            ),
            before=before,
            after=after,
            why='cinder-volume reaches the pools of the tiers',
        )
