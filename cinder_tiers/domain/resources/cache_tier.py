# SPDX-License-Identifier: Apache-2.0

"""Cache tiers: settings, the rules between them, and the plan.

A cache is put in front of a pool when neither side can hold data that the
other does not know. It is removed, with consent, after it was flushed into the
pool behind it. A change to another mode or another cache is left to an
operator. Pure.

Settings are text on both sides, in one form for each meaning. Their names are
those of `ceph osd pool set`, which accepts them only for a pool that is a tier
(OSDMonitor.cc, prepare_command_pool_set, v16.2.15).
"""

import collections.abc
import itertools
import operator
import shlex
import types

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import cephx_user
from cinder_tiers.domain.resources import kind as kinds
from cinder_tiers.domain.resources import known_safe
from cinder_tiers.domain.resources import safety
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import difference
from cinder_tiers.domain.state import usage as usages
from cinder_tiers.domain import units

#: Clients read and write the cache; Ceph's agent moves what is not used.
WRITEBACK = 'writeback'
#: Clients read the cache and write to the pool behind it; an object that is
#: in the cache is not refreshed.
READONLY = 'readonly'
#: Clients write to the pool behind the cache, except for objects in the cache;
#: only objects that clients lock get into it.
PROXY = 'proxy'
#: Major release of Ceph that deprecates cache tiers.
DEPRECATED_SINCE = 18
#: Mode of a pool that just became a tier.
NO_MODE = 'none'

#: {wanted mode: modes that it may follow without wrong data}. A cache that was
#: `NO_MODE` or `READONLY` may hold stale objects.
SAFE_MODES_BEFORE: collections.abc.Mapping[str, frozenset[str]] = (
    types.MappingProxyType(
        {
            WRITEBACK: frozenset({WRITEBACK, PROXY, 'readproxy'}),
            READONLY: frozenset({READONLY}),
        }
    )
)

HIT_SET_TYPES = ('bloom', 'explicit_hash', 'explicit_object')
RATIOS = (
    'cache_target_dirty_ratio',
    'cache_target_dirty_high_ratio',
    'cache_target_full_ratio',
)
COUNTS = (
    'hit_set_count',
    'hit_set_period',
    'target_max_bytes',
    'target_max_objects',
    'cache_min_flush_age',
    'cache_min_evict_age',
    'min_read_recency_for_promote',
    'min_write_recency_for_promote',
)
KNOWN = frozenset({'hit_set_type', *RATIOS, *COUNTS})
#: Values of `ceph osd tier add-cache` (osd_tier_default_cache_hit_set_*);
#: without hit sets Ceph neither promotes by use nor stops warning.
DEFAULTS: collections.abc.Mapping[str, catalogs.Value] = (
    types.MappingProxyType(
        {'hit_set_type': 'bloom', 'hit_set_count': 4, 'hit_set_period': 1200}
    )
)

_TARGET_BYTES = 'target_max_bytes'
#: {limit of a cache's content: format of its value}
_TARGETS: collections.abc.Mapping[
    str, collections.abc.Callable[[int], str]
] = types.MappingProxyType(
    {
        _TARGET_BYTES: units.size_text,
        'target_max_objects': '{} objects'.format,
    }
)
_NO_TARGET = '0'
#: Id that stands for no pool (src/osd/osd_types.h).
_NO_POOL = -1
# Ceph keeps ratios in millionths.
_RATIO_DECIMALS = 6


#: Objects of a pool for RBD without an image: its options (rbd_info).
_OBJECTS_WITHOUT_IMAGES = 1


def plan(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> collections.abc.Iterator[actions.Action]:
    """Yield the actions on the cache tiers of a cluster.

    Pools that belong to no tier of the catalog may have any cache.
    """
    tiers = catalog.tiers_of(cluster.name)
    for tier in tiers:
        for pool in tier.rbd.own_pools:
            yield from _in_front_of(pool, tier, catalog, cluster, ceph)
    known = {pool for tier in tiers for pool in tier.rbd.own_pools}
    for tier in tiers:
        for pool in tier.rbd.own_pools:
            for other in _fronted_by(pool, ceph):
                if other.name not in known:
                    yield actions.Action(
                        key=_key(cluster, other.name),
                        before=other,
                        after=None,
                        why=f'tier {tier.name}',
                        refusal=actions.Refusal(
                            reason=f'pool {pool} is a cache of pool '
                            f'{other.name}',
                            remedy='name another pool in the tiers file, or '
                            + _removal(other),
                        ),
                    )


def _key(
    cluster: catalogs.Cluster,
    name: str,
    kind: actions.Kind = actions.Kind.CACHE_TIER,
) -> actions.Key:
    return actions.Key(kind=kind, cluster=cluster.name, name=name)


def _fronted_by(
    pool: str, ceph: ceph_state.CephState
) -> list[ceph_state.CacheTier]:
    """Return the cache tiers of other pools that a pool is a cache of."""
    return [
        one for one in ceph.cache_tiers.values() if pool in one.cache_pools
    ]


def _in_front_of(
    pool: str,
    tier: catalogs.CephTier,
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> collections.abc.Iterator[actions.Action]:
    before = ceph.cache_tiers.get(pool)
    cache = tier.rbd.cache if pool == tier.rbd.data_pool else None
    if cache is None:
        if before is not None:
            yield actions.Action(
                key=_key(cluster, pool),
                before=before,
                after=None,
                why=f'tier {tier.name} declares no cache',
                refusal=_no_removal(before, ceph),
            )
        return
    after = cache_tier_of(pool, cache)
    if before is not None and not difference.differences(before, after):
        return
    why = f'tier {tier.name}'
    if before is None:
        why += f'; I/O of {pool} goes through {after.cache_pool}'
    yield actions.Action(
        key=_key(cluster, pool),
        before=before,
        after=after,
        why=why,
        needs=frozenset(
            {
                _key(cluster, pool, actions.Kind.POOL),
                _key(cluster, after.cache_pool, actions.Kind.POOL),
                _key(
                    cluster,
                    f'client.{cluster.cinder_user}',
                    actions.Kind.CEPHX_USER,
                ),
            }
        ),
        refusal=actions.joined(
            (
                *filter(
                    None,
                    (
                        _no_addition(after, ceph)
                        or _locked_out(tier, cache, catalog, cluster, ceph)
                        if before is None
                        else _no_change(before, after, ceph),
                    ),
                ),
                *(
                    actions.Refusal(
                        reason=statement,
                        remedy='declare more than the cache holds',
                        yields_to_consent=True,
                    )
                    for statement in too_small(before, after, ceph.usage)
                ),
                *safety.refusals(
                    safety.objection(known_safe.CACHE, name, value)
                    for name, value in after.settings.items()
                    if before is None or before.settings.get(name) != value
                ),
            )
        ),
    )


def _no_addition(
    after: ceph_state.CacheTier, ceph: ceph_state.CephState
) -> actions.Refusal | None:
    """Return why a pool cannot become a cache."""
    cache = after.cache_pool
    elsewhere = 'name another pool in the tiers file'
    for other in _fronted_by(cache, ceph):
        return actions.Refusal(
            reason=f'pool {cache} is already a cache of pool {other.name}',
            remedy=f'{elsewhere}, or {_removal(other)}',
        )
    if cache in ceph.cache_tiers:
        return actions.Refusal(
            reason=f'pool {cache} has a cache tier of its own, '
            f'{ceph.cache_tiers[cache].cache_pool}',
            remedy=elsewhere,
        )
    objects = ceph.objects_in.get(cache, 0)
    if objects:
        return actions.Refusal(
            reason=(
                f'pool {cache} holds {objects} objects, which would be served '
                f'as objects of pool {after.name}'
            ),
            remedy=(
                f'{elsewhere}, or remove the pool by hand if its objects are '
                'not needed'
            ),
        )
    return None


def _locked_out(
    tier: catalogs.CephTier,
    cache: catalogs.Cache,
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> actions.Refusal | None:
    """Return a refusal if the cache's OSDs would reject running clients.

    A client keeps its first capabilities until its ticket is renewed;
    meanwhile its I/O fails with EPERM (seen with v16.2.15).
    """
    user = ceph.users.get(f'client.{cluster.cinder_user}')
    objects = ceph.objects_in.get(tier.rbd.pool, 0)
    if user is None or objects <= _OBJECTS_WITHOUT_IMAGES:
        return None
    grant = cephx_user.grant_of(cache.rbd.pool)
    if cephx_user.union(user.caps, {'osd': (grant,)}) == user.caps:
        return None
    wanted = cephx_user.union(
        user.caps, cephx_user.grants_of(catalog, cluster)
    )
    command = ' '.join(
        (
            'ceph auth caps',
            user.name,
            *(
                f'{daemon} {shlex.quote(text)}'
                for daemon, text in sorted(wanted.items())
            ),
        )
    )
    return actions.Refusal(
        reason=(
            f'pool {tier.rbd.pool} holds images, and I/O of running '
            'clients would fail until their cephx tickets include the '
            f'grant for pool {cache.rbd.pool}'
        ),
        remedy=(
            f"run '{command}' now, and apply when each client has renewed "
            'its ticket, which takes up to auth_service_ticket_ttl (an hour)'
        ),
    )


def _no_change(
    before: ceph_state.CacheTier,
    after: ceph_state.CacheTier,
    ceph: ceph_state.CephState,
) -> actions.Refusal | None:
    """Return why an existing cache cannot become the declared one."""
    if before.cache_pool != after.cache_pool:
        return actions.Refusal(
            reason=(
                f'pool {before.name} already has another '
                f'cache, {before.cache_pool}'
            ),
            remedy='declare the current settings in the tiers file, or '
            f'{_removal(before)}',
        )
    if before.mode not in (
        *SAFE_MODES_BEFORE[after.mode],
        NO_MODE,
    ):
        return actions.Refusal(
            reason=(
                f'the mode of a cache cannot change from {before.mode} '
                f'to {after.mode} unless the cache is empty'
            ),
            remedy='declare the current settings in the tiers file, or '
            f'{_removal(before)}',
        )
    objects = ceph.objects_in.get(after.cache_pool, 0)
    is_used = before.overlay and before.mode != NO_MODE
    if objects and not is_used:
        return actions.Refusal(
            reason=(
                f'clients do not use the cache, and pool {after.cache_pool} '
                f'holds {objects} objects that may be older than those in '
                f'pool {after.name}'
            ),
            remedy=f'if the objects in {after.name} are the current ones, '
            + _removal(before, flush=False),
        )
    return None


def lowered(
    before: ceph_state.CacheTier | None, after: ceph_state.CacheTier
) -> dict[str, int]:
    """Return the limits of a cache that are lowered, {name: new value}.

    :param before: existing cache; None if it will be created.
    :param after: declared cache.
    """
    found: dict[str, int] = {}
    # A cache without an overlay is empty, or its update is refused anyway.
    if before is None or not before.overlay:
        return found
    for name in _TARGETS:
        old, new = (
            int(one.settings.get(name, _NO_TARGET)) for one in (before, after)
        )
        if new and not 0 < old <= new:
            found[name] = new
    return found


def too_small(
    before: ceph_state.CacheTier | None,
    after: ceph_state.CacheTier,
    usage: usages.ClusterUsage | usages.Unknown,
) -> collections.abc.Iterator[str]:
    """Yield a reason for each limit that is lowered below what is cached.

    Ceph treats a cache above its limit as full, and I/O waits until enough was
    evicted (PrimaryLogPG::agent_choose_mode). Raising a limit is always safe.

    :param before: existing cache; None if it will be created, and so is empty.
    :param after: declared cache.
    :param usage: usage of the cluster; a cache of unknown usage yields a
        reason as well.
    """
    used = usages.of_pool(usage, after.cache_pool)
    for name, target in lowered(before, after).items():
        text = _TARGETS[name]
        if isinstance(used, usages.Unknown):
            yield (
                f'{name} may be below what pool {after.cache_pool} holds, '
                f'which could not be determined: {used.reason}'
            )
            continue
        held = used.stored_bytes if name == _TARGET_BYTES else used.objects
        if target <= held:
            yield (
                f'{name} of {text(target)} is not above the {text(held)} '
                f'that pool {after.cache_pool} holds: all I/O of pool '
                f'{after.name} would wait until the rest is evicted'
            )


def _no_removal(
    before: ceph_state.CacheTier, ceph: ceph_state.CephState
) -> actions.Refusal:
    """Return why an undeclared cache stays without more consent."""
    if len(before.cache_pools) > 1:
        return actions.Refusal(
            reason=f'pool {before.name} has several caches, '
            f'{before.cache_pool}',
            remedy=_removal(before),
        )
    objects = sum(ceph.objects_in.get(one, 0) for one in before.cache_pools)
    if objects and (stale := why_not_flushed(before)):
        return actions.Refusal(
            reason=(
                f'{stale}, and pool {before.cache_pool} holds {objects} '
                f'objects, which may be older or newer than those in pool '
                f'{before.name}'
            ),
            remedy=f'if the objects in {before.name} are the current ones, '
            + _removal(before, flush=False),
        )
    return actions.Refusal(
        reason=(
            f'I/O of pool {before.name} no longer goes through the cache'
            if before.mode == READONLY
            else f'what clients wrote may be in pool {before.cache_pool} '
            f'only, and I/O of pool {before.name} becomes slower as '
            'soon as the removal starts'
        ),
        remedy='declare the cache',
        yields_to_consent=True,
    )


def why_not_flushed(tier: ceph_state.CacheTier) -> str | None:
    """Return why a cache must not be flushed to the pool behind it.

    :returns: a clause; None if it may be flushed, or need not, as a cache for
        reads has only copies.
    """
    if tier.mode == READONLY:
        return None
    if tier.mode == NO_MODE:
        return f'pool {tier.cache_pool} has the cache mode {NO_MODE}'
    if not tier.overlay:
        return f'clients do not use the cache of pool {tier.name}'
    return None


def removal_steps(tier: ceph_state.CacheTier) -> tuple[str, ...]:
    """Return the steps of `apply` to remove a cache, in this order.

    The order is Ceph's (doc/rados/operations/cache-tiering.rst, "Removing a
    Cache Tier"). The pool of the cache is kept.
    """
    pool, cache = tier.name, tier.cache_pool
    steps = []
    if tier.mode not in (READONLY, NO_MODE) and tier.overlay:
        if tier.mode != PROXY:
            steps.append(f'set the mode of {cache} to {PROXY}')
        steps += [
            f'flush and evict all objects of {cache}',
            f'see that {cache} is empty; objects that clients watch, such as '
            'headers of open images, cannot be evicted, and apply stops here '
            'while there are any',
        ]
    if tier.overlay:
        steps.append(f'redirect clients to {pool}')
    if tier.mode not in (READONLY, NO_MODE):
        steps.append(f'set the mode of {cache} to {NO_MODE}')
    steps.append(f'remove {cache} as a cache of {pool}; the pool is kept')
    return tuple(steps)


def _removal(tier: ceph_state.CacheTier, *, flush: bool = True) -> str:
    """Return the steps to remove a cache by hand.

    :param flush: whether writes of clients may be only in the cache.
    """
    commands = []
    for pool in tier.cache_pools:
        if flush and tier.mode not in (
            READONLY,
            NO_MODE,
        ):
            commands += [
                f'ceph osd tier cache-mode {pool} {PROXY}',
                f'rados -p {pool} cache-flush-evict-all',
            ]
    if tier.overlay:
        commands.append(f'ceph osd tier remove-overlay {tier.name}')
    for pool in tier.cache_pools:
        commands += [
            f'ceph osd tier remove {tier.name} {pool}',
            f'ceph osd pool delete {pool} {pool} '
            f'--yes-i-really-really-mean-it',
        ]
    return 'with all clients stopped, run ' + ', '.join(
        f'"{one}"' for one in commands
    )


def check(
    catalog: catalogs.Catalog,
) -> collections.abc.Iterator[errors.Problem]:
    """Yield all problems between the settings of caches."""
    for tier in catalog.tiers:
        if tier.rbd is None or tier.rbd.cache is None:
            continue
        for name, found, expected, remedy in _faults(tier.rbd.cache):
            yield errors.Problem(
                where=catalog.source.where(
                    ('tiers', tier.name, 'rbd', 'cache', name)
                ),
                found=f'cache of tier {tier.name!r}: {found}',
                expected=expected,
                remedy=remedy,
            )


def _faults(
    cache: catalogs.Cache,
) -> collections.abc.Iterator[tuple[str, str, str, str]]:
    """Yield (key, found, expected, remedy) of each problem."""
    if (cache.mode == READONLY) != cache.stale_reads:
        yield (
            'mode',
            f'mode {cache.mode}'
            f'{" with" if cache.stale_reads else " without"} '
            f'stale_reads: true',
            (
                'both readonly and stale_reads, or neither: writes do not '
                'refresh such a cache, so it must be requested explicitly'
            ),
            'remove stale_reads'
            if cache.stale_reads
            else (
                'use writeback, or add stale_reads: true for images that are '
                'never written'
            ),
        )
    if cache.mode == WRITEBACK and not cache.settings.get('target_max_bytes'):
        yield (
            'target_max_bytes',
            'no target_max_bytes',
            (
                'a number of bytes greater than 0; without it Ceph flushes '
                'and evicts nothing until the OSDs are full'
            ),
            'set it to what the OSDs of the cache can hold, copies not '
            'counted',
        )
    ratios = [
        (name, cache.settings[name])
        for name in RATIOS
        if name in cache.settings
    ]
    for (lower, low), (higher, high) in itertools.pairwise(ratios):
        if float(low) > float(high):
            yield (
                higher,
                f'{higher} {high} is below {lower} {low}',
                f'{low} or more',
                'raise it',
            )


def check_cluster(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> kinds.Problems:
    """Yield problems of a cluster that lacks cache tiers."""
    if ceph.has_cache_tiering:
        return
    for tier in catalog.tiers_of(cluster.name):
        if tier.rbd.cache is None:
            continue
        yield errors.Problem(
            where=catalog.source.where(('tiers', tier.name, 'rbd', 'cache')),
            found=f'the monitors of cluster {cluster.name!r} do not know the '
            'command "osd tier add"',
            expected='a release of Ceph with cache tiers',
            remedy='remove cache, and choose a faster device_class for the '
            'tier or put the DB and WAL of its OSDs on flash',
        )


def normal(name: str, value: catalogs.Value) -> str:
    """Return a setting in the form in which it is compared.

    >>> normal('cache_target_full_ratio', 0.80), normal('hit_set_count', 4)
    ('0.8', '4')

    :param name: one of `KNOWN`.
    :param value: declared value.
    """
    if name in RATIOS:
        return format(round(float(value), _RATIO_DECIMALS), '.15g')
    return str(value)


def observed(dumped: dict) -> dict[str, str]:
    """Return {name: value} of all settings in `osd pool ls detail`.

    :raises LookupError: a setting is missing.
    :raises TypeError: a setting has another type.
    """
    return {
        'hit_set_type': dumped['hit_set_params']['type'],
        # Plans read the number of a limit again.
        **{name: str(operator.index(dumped[name])) for name in COUNTS},
        **{
            name: normal(name, dumped[f'{name}_micro'] / 1e6)
            for name in RATIOS
        },
    }


def of_pools(dumped: list[dict]) -> dict[str, ceph_state.CacheTier]:
    """Return {pool behind it: cache tier} of `osd pool ls detail`."""
    by_id = {pool['pool_id']: pool for pool in dumped}
    found = {}
    for pool in dumped:
        caches = sorted(
            (by_id[one] for one in pool['tiers']),
            key=lambda one: one['pool_name'],
        )
        if not caches:
            continue
        # Clients use one of them at most.
        first = by_id.get(pool['read_tier'], caches[0])
        found[pool['pool_name']] = ceph_state.CacheTier(
            name=pool['pool_name'],
            mode=first['cache_mode'],
            cache_pool=ceph_state.CacheTier.SEVERAL.join(
                one['pool_name'] for one in caches
            ),
            overlay=pool['read_tier'] != _NO_POOL,
            settings=observed(first),
        )
    return found


def cache_tier_of(pool: str, cache: catalogs.Cache) -> ceph_state.CacheTier:
    """Return the cache in front of the data pool of an RBD tier."""
    return ceph_state.CacheTier(
        name=pool,
        cache_pool=cache.rbd.pool,
        mode=cache.mode,
        overlay=True,
        settings={
            name: normal(name, value)
            for name, value in {
                **DEFAULTS,
                **cache.settings,
            }.items()
        },
    )


def _tiers_affected(
    catalog: catalogs.Catalog, action: actions.Action
) -> tuple[str, ...]:
    before = action.before
    held = (
        before.cache_pools if isinstance(before, ceph_state.CacheTier) else ()
    )
    return tier_pools.tiers_with_pool(
        catalog, action.key.of_cluster, frozenset({action.key.name, *held})
    )


CACHE_TIER = kinds.ResourceKind(
    kind=actions.Kind.CACHE_TIER,
    resource=ceph_state.CacheTier,
    state_field='cache_tiers',
    plan=kinds.for_each_cluster(plan),
    tiers_affected=_tiers_affected,
    check=check,
    check_cluster=check_cluster,
)
