# SPDX-License-Identifier: Apache-2.0
"""An existing Ceph pool as the `rbd` part of a tier.

Pure. A pool that cannot be declared so that a plan is empty is not declared at
all: the reason is a ValueError, and the tier has a backend only.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import limits
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.export import cache_tiers as export_cache
from cinder_tiers.domain.export import inventory
from cinder_tiers.domain.export import osds as export_osds
from cinder_tiers.domain.export import values as export_texts
from cinder_tiers.domain.resources import cephx_user
from cinder_tiers.domain.resources import crush
from cinder_tiers.domain.resources import erasure_code
from cinder_tiers.domain.resources import pool as pool_kind
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.resources import rbd_options
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import difference
from cinder_tiers.domain.validation import catalog as catalog_rules
from cinder_tiers.domain.validation import clusters as cluster_rules

Remarks = list[str]
_Protection = catalogs.Replicated | catalogs.ErasureCoded


def rbd_of(
    known: inventory.KnownCluster,
    name: str,
) -> tuple[catalogs.RbdPool, Remarks]:
    """Return the declaration of an existing pool, for which a plan is empty.

    :param known: cluster of the pool.
    :param name: name of the pool in Cinder.
    :returns: the declaration, and remarks on state that it does not express.
    :raises ValueError: the pool cannot be declared; the text says why.
    """
    ceph = known.ceph
    pool = _pool(known, name)
    holder = pool
    export_cache.check_alone(ceph, name)
    if pool.rbd_default_data_pool:
        holder = _pool(known, pool.rbd_default_data_pool)
        export_cache.check_alone(ceph, holder.name)
        if name in ceph.cache_tiers:
            raise ValueError(
                f'pool {name} has a cache, and only its data '
                f'pool {holder.name} can have one'
            )
    elif pool.kind != 'replicated':
        raise ValueError(f'pool {name} is erasure coded and has no data pool')
    remarks: Remarks = []
    if pool.rbd_options_unread:
        _check_has_no_data_pool(known, pool)
        remarks.append(
            f'the RBD options of pool {name} are not known, and stay as they '
            f'are: {pool.rbd_options_unread}'
        )
    rbd = _placed(known, pool, holder, remarks)
    rbd = dataclasses.replace(
        rbd,
        options=_options(rbd, holder, remarks),
        rbd_options=_rbd_options(pool, remarks),
        osd_options=export_osds.class_options(
            known, rbd.device_class, remarks
        ),
        primary_affinity=export_osds.primary_affinity(
            known, rbd.device_class, remarks
        ),
    )
    tier = ceph.cache_tiers.get(holder.name)
    if tier:
        cache = _cache(known, tier, remarks)
        export_cache.check_same(cache, tier)
        rbd = dataclasses.replace(rbd, cache=cache)
    _check(rbd, known)
    return rbd, remarks


class Undetermined(ValueError):
    """State that a catalog might declare could not be read.

    :param what: noun for the setting.
    :param why: reason, which is also reported elsewhere; empty for none.
    """

    def __init__(self, what: str, why: str = '') -> None:
        super().__init__(f'{what} ({why})' if why else what)
        self.what = what


def _check_has_no_data_pool(
    known: inventory.KnownCluster, pool: ceph_state.Pool
) -> None:
    """Reject a pool whose data may be in another pool.

    :raises Undetermined: the data may be in an erasure coded pool.
    """
    others = sorted(
        one.name
        for one in known.ceph.pools.values()
        if one.kind != 'replicated' and 'rbd' in one.applications
    )
    if others:
        raise Undetermined(
            f'whether the data of pool {pool.name} is in it or in one of '
            f'{", ".join(others)} could not be read: '
            f'{pool.rbd_options_unread}'
        )


def _placed(
    known: inventory.KnownCluster,
    pool: ceph_state.Pool,
    holder: ceph_state.Pool,
    remarks: Remarks,
) -> catalogs.RbdPool:
    """Return a pool with the fields that describe where its data lies.

    :param holder: pool with the data: `pool` itself, or an erasure coded one.
    :raises ValueError: the fields cannot be declared.
    """
    rule, root, failure_domain = _rule(known.ceph, holder)
    is_default = holder.name == pool.name + catalogs.DATA_POOL_SUFFIX
    return catalogs.RbdPool(
        cluster=known.cluster.name,
        pool=pool.name,
        device_class=rule.device_class,
        primary_device_class=rule.primary_device_class,
        crush_root=root,
        failure_domain=failure_domain,
        protection=_protection(known.ceph, holder, rule),
        data_pool_name=(None if holder is pool or is_default else holder.name),
        pg_num=_pg_num(pool, holder, remarks),
    )


def _cache(
    known: inventory.KnownCluster, tier: ceph_state.CacheTier, remarks: Remarks
) -> catalogs.Cache:
    export_cache.check(tier)
    pool = _pool(known, tier.cache_pool)
    if pool.kind != 'replicated':
        raise ValueError(f'the cache {pool.name} is not replicated')
    return export_cache.declared(tier, _placed(known, pool, pool, remarks))


def lacking_caps(
    rbd: catalogs.RbdPool,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> tuple[str, ...]:
    """Return the daemons whose grants of apply cinder-volume's user lacks.

    :param cluster: cluster of the pool, with the user.
    :param ceph: existing state of the cluster.
    """
    alone = _catalog(rbd, cluster)
    user = ceph.users.get(f'client.{cluster.cinder_user}')
    held = user.caps if user else {}
    wanted = cephx_user.union(held, cephx_user.grants_of(alone, cluster))
    return tuple(
        sorted(name for name in wanted if wanted[name] != held.get(name))
    )


def _catalog(
    rbd: catalogs.RbdPool, cluster: catalogs.Cluster
) -> catalogs.Catalog:
    """Return a catalog with only this pool."""
    return catalogs.Catalog(
        tiers=(catalogs.Tier(name='tier', rbd=rbd),),
        clusters={cluster.name: cluster},
        without_fallback=True,
    )


def _pool(known: inventory.KnownCluster, name: str) -> ceph_state.Pool:
    pool = known.ceph.pools.get(name)
    if pool is None:
        raise ValueError(f'cluster {known.cluster.name} has no pool {name}')
    if not is_pool_name(name):
        raise ValueError(
            f'the pool name {name} has characters other than letters, '
            'digits, ".", "_" and "-", or is longer than 63 characters'
        )
    return pool


def _rule(
    ceph: ceph_state.CephState, pool: ceph_state.Pool
) -> tuple[ceph_state.CrushRule, str, str]:
    """Return the rule of a pool, its root and its failure domain.

    :raises ValueError: a tiers file cannot declare the rule.
    """
    rule = ceph.crush_rules.get(pool.crush_rule)
    if rule is None:
        raise ValueError(f'CRUSH rule {pool.crush_rule} is not known')
    if rule.root is None or rule.failure_domain is None:
        raise ValueError(
            f'CRUSH rule {rule.name} {rule.other_form}, and a tiers file can '
            'declare rules that choose once, as many as the pool has copies '
            'or chunks, or as many failure domains and 2 or more copies in '
            'each'
        )
    if rule.number not in (None, pool.size):
        raise ValueError(
            f'CRUSH rule {rule.name} chooses {rule.number} '
            f'{rule.failure_domain} whatever the size of the pool, and pool '
            f'{pool.name} has {pool.size} copies or chunks'
        )
    if (
        not limits.FAILURE_DOMAIN.fits(rule.failure_domain)
        or not limits.CRUSH_ROOT.fits(rule.root)
        or not all(
            limits.DEVICE_CLASS.fits(name)
            for name in (rule.device_class, rule.primary_device_class)
            if name
        )
        or not limits.SUB_FAILURE_DOMAIN.fits(rule.sub_failure_domain or 'osd')
    ):
        raise ValueError(
            f'the root, the failure domain or the device class of CRUSH '
            f'rule {rule.name} cannot be written'
        )
    return rule, rule.root, rule.failure_domain


def _protection(
    ceph: ceph_state.CephState,
    pool: ceph_state.Pool,
    rule: ceph_state.CrushRule,
) -> _Protection:
    if pool.kind == 'replicated':
        if pool.size not in limits.COPIES:
            raise ValueError(f'it has {pool.size} copies')
        each = rule.replicas_per_failure_domain
        if each is not None and (pool.size % each or pool.size == each):
            raise ValueError(
                f'CRUSH rule {rule.name} places {each} copies in each '
                f'{rule.failure_domain}, and pool {pool.name} has '
                f'{pool.size}: a size that is two or more times as large can '
                'be declared'
            )
        return _with_min_size(
            catalogs.Replicated(
                size=pool.size,
                single_copy=pool.size == 1,
                replicas_per_failure_domain=each,
                sub_failure_domain=rule.sub_failure_domain,
            ),
            pool,
        )
    profile = ceph.erasure_code_profiles.get(pool.erasure_code_profile or '')
    if profile is None:
        raise ValueError(
            f'the erasure code profile of pool {pool.name} is not known'
        )
    k, m = profile.k, profile.m
    if not (k in limits.DATA_CHUNKS and m in limits.CODING_CHUNKS and m <= k):
        raise ValueError(
            f'pool {pool.name} is erasure coded with k={k} and m={m}'
        )
    domains, each = rule.num_failure_domains, rule.osds_per_failure_domain
    if each is not None and each not in limits.CHUNKS_PER_FAILURE_DOMAIN:
        raise ValueError(
            f'CRUSH rule {rule.name} takes {each} OSDs in each of {domains} '
            'failure domains, and at least '
            f'{limits.CHUNKS_PER_FAILURE_DOMAIN.least} can be declared'
        )
    return _with_min_size(
        _with_code(
            catalogs.ErasureCoded(
                k=k,
                m=m,
                num_failure_domains=domains,
                osds_per_failure_domain=each,
            ),
            profile,
            pool,
        ),
        pool,
    )


def _with_code(
    coded: catalogs.ErasureCoded,
    profile: ceph_state.ErasureCodeProfile,
    pool: ceph_state.Pool,
) -> catalogs.ErasureCoded:
    """Return the code with plugin, technique and stripe unit.

    Values that cannot be declared are left out and stay as they are.
    """
    techniques = erasure_code.TECHNIQUES.get(profile.plugin or '', ())
    if profile.technique in techniques:
        coded = dataclasses.replace(
            coded, plugin=profile.plugin, technique=profile.technique
        )
    unit_bytes, rest = divmod(pool.stripe_width_bytes or 0, profile.k)
    if (
        not rest
        and unit_bytes in limits.STRIPE_UNIT_BYTES
        and unit_bytes % limits.STRIPE_UNIT_BYTES.least == 0
    ):
        return dataclasses.replace(coded, stripe_unit_bytes=unit_bytes)
    return coded


def _with_min_size(
    protection: _Protection, pool: ceph_state.Pool
) -> _Protection:
    return dataclasses.replace(
        protection,
        min_size=pool.min_size,
        unprotected_writes=pool.min_size is not None
        and pool.min_size < protection.least_min_size,
    )


def _pg_num(
    pool: ceph_state.Pool, holder: ceph_state.Pool, remarks: Remarks
) -> int | None:
    """Return the number of placement groups, unless Ceph chooses it."""
    if holder.pg_autoscale_mode != 'off':
        return None
    number = holder.pg_num
    if (
        number is None
        or number.bit_count() != 1
        or number not in limits.PG_NUM
        or (
            holder is not pool
            and (pool.pg_num, pool.pg_autoscale_mode)
            != (tier_pools.head_pg_num(number), 'off')
        )
    ):
        remarks.append(
            f'pg_num {number} of pool {holder.name} is left out: a tiers '
            'file cannot declare it; it stays as it is'
        )
        return None
    return number


def _options(
    rbd: catalogs.RbdPool, pool: ceph_state.Pool, remarks: Remarks
) -> dict[str, catalogs.Value]:
    """Return the options of a pool that can be declared together."""
    found: dict[str, catalogs.Value] = {}
    for name, text in sorted(pool.options.items()):
        if text in (pool_options.UNSET, 'false') or (
            name in pool_options.QUOTAS and text == pool_options.NO_QUOTA
        ):
            continue
        value = export_texts.plain_value(text)
        try:
            is_same = pool_options.normal(name, value) == text
        except ValueError:
            is_same = False
        trial = dataclasses.replace(rbd, options={**found, name: value})
        if not is_same or tuple(
            pool_kind.check(
                _catalog(trial, catalogs.Cluster(name=rbd.cluster))
            )
        ):
            remarks.append(
                f'the setting {name}={text} of pool {pool.name} '
                'is left out: it cannot be declared here; it '
                'stays as it is'
            )
            continue
        found[name] = value
    return found


def _rbd_options(
    pool: ceph_state.Pool, remarks: Remarks
) -> dict[str, catalogs.Value]:
    found: dict[str, catalogs.Value] = {}
    for name, text in sorted(pool.rbd_options.items()):
        if (
            text is None
            or not limits.RBD_OPTION.fits(name)
            or not export_texts.is_option(text)
        ):
            remarks.append(
                f'the RBD option {name}={text} of pool '
                f'{pool.name} is left out: it cannot be written'
            )
            continue
        found[name] = export_texts.plain_value(text)
    # Without one of them, another may have no effect.
    while wrong := {name: why for name, *why in rbd_options.faults(found)}:
        for name, (what, expected, _) in wrong.items():
            remarks.append(
                f'the RBD option {name}={found.pop(name)} of pool '
                f'{pool.name} is left out: {what}; expected {expected}; it '
                'stays as it is'
            )
    return found


def _check(rbd: catalogs.RbdPool, known: inventory.KnownCluster) -> None:
    """Reject a pool that a plan would change.

    :raises ValueError: the plan would change a value; the text names it.
    """
    alone = _catalog(rbd, dataclasses.replace(known.cluster, images_pool=None))
    for problem in (
        *catalog_rules.check(alone),
        *cluster_rules.check(alone, {known.cluster.name: known.ceph}),
    ):
        raise ValueError(f'{problem.found}, but {problem.expected} is needed')
    for pool in crush.pools_in(rbd, known.ceph).pools:
        before = known.ceph.pools[pool.name]
        foreign = before.applications - pool.applications
        if foreign:
            raise ValueError(
                f'pool {pool.name} is also used '
                f'by {", ".join(sorted(foreign))}'
            )
        for one in difference.differences(before, pool):
            # Taking over the tier sets it, which is intended.
            if one.field == 'managed':
                continue
            raise ValueError(
                f'{one.field} of pool {pool.name} is '
                f'{_shown(one.before)}, and would be '
                f'{_shown(one.after)}'
            )


def _shown(value: object) -> str:
    if isinstance(value, collections.abc.Set):
        return ', '.join(sorted(value)) or 'none'
    return str(value)


def is_pool_name(name: str) -> bool:
    """Return whether a catalog can have a pool with this name."""
    return limits.POOL.fits(name)


def is_user(name: str) -> bool:
    """Return whether a catalog can have a cephx user with this name."""
    return limits.USER.fits(name)
