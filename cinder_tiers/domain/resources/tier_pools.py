# SPDX-License-Identifier: Apache-2.0

"""What a catalog asks for, in the words of Cinder and Ceph.

Every naming and sizing rule is here and nowhere else. Pure. Must not know
what exists.

Names: an RBD tier with pool P has the CRUSH rule P, unless `pool_placement`
finds another one. An erasure coded one has
a replicated pool P with the headers of the images, and for their data the
pool, the CRUSH rule and the erasure code profile `P-data`: librbd keeps
headers and omap in a replicated pool (ceph doc/rados/operations/
erasure-code.rst, "Erasure coding with overwrites"). A cache tier in pool C
has the CRUSH rule C, and stands in front of the pool with the data.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import cache_settings
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain import tags

#: CRUSH root below which tiers place data.
ROOT = 'default'
#: Stands for a device class in the name of a rule that takes all of them.
ANY = 'any'


@dataclasses.dataclass(frozen=True, kw_only=True)
class TierPools:
    """The Ceph objects of one RBD tier, each tuple in order of creation."""

    erasure_code_profiles: tuple[ceph_state.ErasureCodeProfile, ...]
    crush_rules: tuple[ceph_state.CrushRule, ...]
    pools: tuple[ceph_state.Pool, ...]


def pools_of(rbd: catalogs.RbdPool) -> TierPools:
    """Profiles, CRUSH rules and pools of an RBD tier, its cache included."""
    own = _own_pools(rbd)
    if rbd.cache is None:
        return own
    cache = _own_pools(rbd.cache.rbd)
    return TierPools(
        erasure_code_profiles=own.erasure_code_profiles,
        crush_rules=own.crush_rules + cache.crush_rules,
        pools=own.pools + cache.pools,
    )


def cache_tier_of(rbd: catalogs.RbdPool) -> ceph_state.CacheTier | None:
    """What stands in front of the data of an RBD tier; None: nothing."""
    cache = rbd.cache
    if cache is None:
        return None
    return ceph_state.CacheTier(
        name=rbd.data_pool,
        cache_pool=cache.rbd.pool,
        mode=cache.mode,
        overlay=True,
        settings={
            name: cache_settings.normal(name, value)
            for name, value in {
                **cache_settings.DEFAULTS,
                **cache.settings,
            }.items()
        },
    )


def _own_pools(rbd: catalogs.RbdPool) -> TierPools:
    """The same without the cache."""
    if isinstance(rbd.protection, catalogs.Replicated):
        return TierPools(
            erasure_code_profiles=(),
            crush_rules=(_rule(rbd, name=rbd.pool, kind='replicated'),),
            pools=(
                _replicated(rbd, protection=rbd.protection, pg_num=rbd.pg_num),
            ),
        )
    head, data = rbd.pool, rbd.data_pool
    return TierPools(
        erasure_code_profiles=(
            ceph_state.ErasureCodeProfile(
                name=data,
                k=rbd.protection.k,
                m=rbd.protection.m,
                root=ROOT,
                device_class=rbd.device_class,
                failure_domain=rbd.failure_domain,
            ),
        ),
        crush_rules=(
            _rule(rbd, name=data, kind='erasure'),
            _rule(rbd, name=head, kind='replicated'),
        ),
        pools=(
            _erasure_coded(rbd, name=data, protection=rbd.protection),
            _replicated(
                rbd,
                protection=head_protection(rbd.protection),
                pg_num=head_pg_num(rbd.pg_num),
                data_pool=data,
            ),
        ),
    )


def rule_names(rbd: catalogs.RbdPool, pool: str) -> tuple[str, ...]:
    """Names for the CRUSH rule and the profile of a pool, the best first.

    The second is for when something else has the first one.

    :param rbd: the pool of the tier.
    :param pool: the pool, one of `rbd.pools`.
    """
    return pool, f'{pool}-{rbd.device_class or ANY}-{rbd.failure_domain}'


def head_protection(protection: catalogs.ErasureCoded) -> catalogs.Replicated:
    """Copies of the image headers of an erasure coded tier.

    They survive the loss of as many failure domains as the data, and there
    are three at least, Ceph's own default.

    >>> head_protection(catalogs.ErasureCoded(k=4, m=3)).size
    4
    """
    size = max(3, protection.m + 1)
    return catalogs.Replicated(size=size, min_size=default_min_size(size))


def default_min_size(size: int) -> int:
    """Ceph's own: half, rounded up (src/osd/osd_types.h, v16.2.15).

    >>> [default_min_size(size) for size in (2, 3, 4)]
    [1, 2, 2]
    """
    return size - size // 2


def head_pg_num(pg_num: int | None) -> int | None:
    """A quarter of the data pool's, for headers are few and small.

    :param pg_num: of the data pool; None when Ceph chooses.

    >>> head_pg_num(128)
    32
    """
    return pg_num and min(pg_num, max(8, pg_num // 4))


def _rule(
    rbd: catalogs.RbdPool, *, name: str, kind: str
) -> ceph_state.CrushRule:
    return ceph_state.CrushRule(
        name=name,
        kind=kind,
        root=ROOT,
        device_class=rbd.device_class,
        failure_domain=rbd.failure_domain,
    )


def _replicated(
    rbd: catalogs.RbdPool,
    *,
    protection: catalogs.Replicated,
    pg_num: int | None,
    data_pool: str | None = None,
) -> ceph_state.Pool:
    return ceph_state.Pool(
        name=rbd.pool,
        kind='replicated',
        size=protection.size,
        min_size=protection.min_size,
        pg_num=pg_num,
        pg_autoscale_mode=_autoscale_mode(pg_num),
        crush_rule=rbd.pool,
        rbd_default_data_pool=data_pool,
        options={} if data_pool else _options(rbd),
        rbd_options={
            name: rbd_option_text(value)
            for name, value in rbd.rbd_options.items()
        },
    )


def _erasure_coded(
    rbd: catalogs.RbdPool, *, name: str, protection: catalogs.ErasureCoded
) -> ceph_state.Pool:
    # min_size as OSDMonitor::prepare_pool_size chooses it (v16.2.15).
    return ceph_state.Pool(
        name=name,
        kind='erasure',
        size=protection.k + protection.m,
        min_size=protection.k + min(1, protection.m - 1),
        pg_num=rbd.pg_num,
        pg_autoscale_mode=_autoscale_mode(rbd.pg_num),
        crush_rule=name,
        erasure_code_profile=name,
        ec_overwrites=True,
        options=_options(rbd),
    )


def _options(rbd: catalogs.RbdPool) -> dict[str, str]:
    return {
        name: pool_options.normal(name, value)
        for name, value in rbd.options.items()
    }


def rbd_option_text(value: pool_options.Value) -> str:
    """A librbd option as `rbd config pool set` takes it.

    >>> rbd_option_text(True), rbd_option_text(33554432)
    ('true', '33554432')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def _autoscale_mode(pg_num: int | None) -> str | None:
    # Else the autoscaler would change what the operator declared.
    return None if pg_num is None else 'off'


def osd_options_of(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    schemas: collections.abc.Mapping[str, ceph_state.OptionSchema],
) -> tuple[ceph_state.OsdOptions, ...]:
    """What the tiers of a cluster want of its OSDs.

    :param schemas: {option: schema} of each that is declared.
    :returns: one for each device class with a declared option, by name.
    """
    classes: dict[str, dict[str, str]] = {}
    for tier in catalog.tiers_of(cluster.name):
        for name, value in tier.rbd.osd_options.items() if tier.rbd else ():
            if tier.rbd.device_class is not None:
                classes.setdefault(tier.rbd.device_class, {})[name] = (
                    osd_options.normal(schemas[name], value)
                )
    return tuple(
        ceph_state.OsdOptions(name=name, values=values)
        for name, values in sorted(classes.items())
    )


def host_osd_options_of(
    cluster: catalogs.Cluster,
    schemas: collections.abc.Mapping[str, ceph_state.OptionSchema],
) -> tuple[ceph_state.OsdOptions, ...]:
    """What a cluster is told of the OSDs of some of its hosts.

    :param schemas: {option: schema} of each that is declared.
    :returns: one for each host with a declared option, by name.
    """
    return tuple(
        ceph_state.OsdOptions(
            name=host,
            values={
                name: osd_options.normal(schemas[name], value)
                for name, value in options.items()
            },
        )
        for host, options in sorted(cluster.host_osd_options.items())
    )


def grant_of(pool: str) -> str:
    """What allows a cephx user the images of a pool."""
    return f'profile rbd pool={pool}'


def grants_of(
    catalog: catalogs.Catalog, cluster: catalogs.Cluster
) -> dict[str, tuple[str, ...]]:
    """Grants that the cephx user of Cinder needs (ceph doc/rbd/
    rbd-openstack.rst, "Setup Ceph client authentication").

    :returns: {daemon type: grants}.
    """
    pools = [
        grant_of(pool)
        for tier in catalog.tiers_of(cluster.name)
        if tier.rbd
        for pool in tier.rbd.pools
    ]
    read = (
        [f'profile rbd-read-only pool={cluster.images_pool}']
        if cluster.images_pool
        else []
    )
    return {
        'mon': ('profile rbd',),
        'osd': (*pools, *read),
        'mgr': tuple(pools),
    }


def volume_type_of(
    tier: catalogs.Tier,
    *,
    overflow: catalogs.Tier | None = None,
    projects: frozenset[str] = frozenset(),
) -> cinder_state.VolumeType:
    """The volume type of a tier; extra specs as in the design's table.

    :param overflow: the tier that `tier.overflow` names. Only its own backend
        is taken: where it overflows to is not followed.
    :param projects: ids of the projects that `tier.access` names.
    """
    specs = {**tier.extra_specs, cinder_state.NAME: tier.name}
    if tier.backend is not None:
        specs[cinder_state.BACKEND] = tier.backend
    if overflow is not None:
        specs[cinder_state.OVERFLOW] = overflow.name
        # Cinder's own words for alternatives, which its CapabilitiesFilter
        # and our weigher read.
        specs[cinder_state.BACKEND] = (
            f'{cinder_state.OR} {tier.backend} '
            f'{cinder_state.OR} {overflow.backend}'
        )
    if tier.tags:
        specs[cinder_state.TAGS] = tags.format_tags(tier.normal_tags)
        specs[cinder_state.PRIORITY] = str(tier.priority)
    if tier.fallback:
        specs[cinder_state.FALLBACK] = cinder_state.TRUE
    return cinder_state.VolumeType(
        name=tier.name,
        extra_specs=specs,
        is_public=tier.is_public,
        projects=projects,
        description=tier.description or '',
    )


def qos_spec_of(tier: catalogs.Tier) -> cinder_state.QosSpec | None:
    """The QoS spec of a tier; None when it declares no limits."""
    if tier.qos is None:
        return None
    return cinder_state.QosSpec(
        name=qos_spec_name(tier.name),
        consumer=tier.qos.consumer,
        specs=tier.qos.specs,
        volume_types=frozenset({tier.name}),
    )


def type_quota_of(tier: catalogs.Tier) -> cinder_state.TypeQuota | None:
    """The default quota of a tier's type; None when it declares none."""
    if tier.quotas is None:
        return None
    return cinder_state.TypeQuota(
        name=tier.name,
        volumes=tier.quotas.volumes,
        size_gib=tier.quotas.size_gib,
        snapshots=tier.quotas.snapshots,
    )


def qos_spec_name(tier: str) -> str:
    """Name of the QoS spec of a tier.

    >>> qos_spec_name('database')
    'tier-database'
    """
    return f'tier-{tier}'


def follow_image_type(name: str) -> cinder_state.VolumeType:
    """A volume type that leaves the choice to the image."""
    return cinder_state.VolumeType(
        name=name,
        extra_specs={cinder_state.FOLLOW_IMAGE: cinder_state.TRUE},
        description='The tags of the image choose the storage tier',
    )
