# SPDX-License-Identifier: Apache-2.0

"""Cephx users for plan, audit, export, apply, watch and repair.

Their capabilities follow from the commands that are sent, which are listed
only here. Grammar: ceph doc/rados/operations/user-management.rst,
"Authorization (Capabilities)", and src/mon/MonCap.cc. Pure.
"""

import collections.abc
import dataclasses
import re

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import pool as pool_kind
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.state import ceph as ceph_state

#: Answers commands that the monitors pass on to the manager.
MGR = 'mgr'
MON = 'mon'
OSD = 'osd'
#: Names without quotes in a capability (src/mon/MonCap.cc).
_PLAIN = re.compile('[A-Za-z0-9_./-]+')
#: The object that has the RBD options of a pool (src/cls/rbd, RBD_INFO).
_RBD_INFO = 'rbd_info'
#: Objects that librbd reads to list images, and to open one or its parent
#: (src/include/rbd_types.h); none has data.
_RBD_HEADER = 'rbd_header.'
_RBD_OPEN = ('rbd_directory', 'rbd_id.', _RBD_INFO, 'rbd_trash', _RBD_HEADER)
#: Object where librbd looks for a missing image of Cinder (RBD_SUFFIX, of the
#: format before 2).
_RBD_OLD_HEADER = 'volume-'


@dataclasses.dataclass(frozen=True, kw_only=True)
class CephCommand:
    """A command of Ceph, and the permission to send it."""

    prefix: str
    #: `MON`, `MGR` or `OSD`, which answers it.
    daemon: str = MON
    #: As in src/mon/MonCommands.h; * if nothing less is enough.
    permission: str = 'r'
    #: Whether a user may lack it: another command replaces it, or its output
    #: stays unknown.
    is_optional: bool = False


#: All commands of `observe`.
READS = (
    CephCommand(prefix='auth get', permission='rx'),
    CephCommand(prefix='config dump'),
    CephCommand(prefix='config get'),
    CephCommand(prefix='config help'),
    CephCommand(prefix='df'),
    CephCommand(prefix='get_command_descriptions', permission=''),
    CephCommand(prefix='mon dump'),
    CephCommand(prefix='mon metadata'),
    CephCommand(prefix='osd crush class ls-osd'),
    CephCommand(prefix='osd crush rule dump'),
    CephCommand(prefix='osd dump'),
    CephCommand(prefix='osd erasure-code-profile get'),
    CephCommand(prefix='osd ls-tree'),
    CephCommand(prefix='osd metadata'),
    CephCommand(prefix='osd pool ls'),
    CephCommand(prefix='osd tree'),
    CephCommand(prefix='osd df', daemon=MGR),
    CephCommand(prefix='osd pool stats', daemon=MGR),
    CephCommand(prefix='osd pool autoscale-status', daemon=MGR),
    CephCommand(prefix='balancer status', daemon=MGR),
    CephCommand(prefix='config show', daemon=MGR),
    # Current changes of a cluster; only watch reads them, and can do without.
    CephCommand(prefix='config log', is_optional=True),
    CephCommand(prefix='status', is_optional=True),
    CephCommand(prefix='osd perf', daemon=MGR, is_optional=True),
    CephCommand(prefix='rbd perf image stats', daemon=MGR, is_optional=True),
    # Sent before a fault, and until it is undone.
    CephCommand(prefix='osd ok-to-stop', daemon=MGR),
    CephCommand(prefix='pg ls-by-osd', daemon=MGR),
    CephCommand(prefix='pg ls-by-pool', daemon=MGR),
    # An OSD answers only users that may do anything with it
    # (OSD::handle_command); `config show` has what it sent the manager.
    CephCommand(
        prefix='config diff', daemon=OSD, permission='*', is_optional=True
    ),
    CephCommand(
        prefix='config get', daemon=OSD, permission='*', is_optional=True
    ),
    CephCommand(
        prefix='dump_recovery_reservations',
        daemon=OSD,
        permission='*',
        is_optional=True,
    ),
)
#: Rename of a new pool, which gets its final name last.
_RENAME = 'osd pool rename'
_POOL_WRITES = (
    'osd crush rule create-erasure',
    'osd crush rule create-replicated',
    'osd erasure-code-profile set',
    'osd pool application enable',
    'osd pool application set',
    'osd pool create',
    _RENAME,
    'osd pool set',
    'osd pool set-quota',
)
_CACHE_WRITES = ('osd tier add', 'osd tier cache-mode', 'osd tier set-overlay')
#: Commands to remove a cache. That also needs access to the objects of the
#: cache, so no user with fewer than all rights is created for it.
_CACHE_REMOVALS = ('osd tier remove', 'osd tier remove-overlay')
_AFFINITY_WRITES = ('osd primary-affinity',)
# Ceph has no command for some CRUSH rules.
_MAP_WRITES = ('osd setcrushmap',)
# A sweep removes options that were not set before it.
_OPTION_WRITES = ('config rm', 'config set')
_USER_WRITES = ('auth caps', 'auth get-or-create')
#: All other commands of `execute`, except for faults.
WRITES = tuple(
    CephCommand(
        prefix=prefix,
        permission='rwx' if prefix in _USER_WRITES else 'rw',
    )
    for prefix in (
        *_POOL_WRITES,
        *_CACHE_WRITES,
        *_CACHE_REMOVALS,
        *_AFFINITY_WRITES,
        *_MAP_WRITES,
        *_OPTION_WRITES,
        *_USER_WRITES,
    )
)
#: Further commands of faults. No user with fewer than all rights is created
#: for them: a user who may mark OSDs out and down needs the same trust.
FAULT_WRITES = (
    CephCommand(prefix='osd down', permission='rw'),
    CephCommand(prefix='osd in', permission='rw'),
    CephCommand(prefix='osd out', permission='rw'),
    CephCommand(prefix='osd set-group', permission='rw'),
    CephCommand(prefix='osd unset-group', permission='rw'),
    CephCommand(prefix='osd pool deep-scrub', daemon=MGR, permission='rw'),
)


def reader(
    catalog: catalogs.Catalog, cluster: catalogs.Cluster
) -> ceph_state.CephxUser:
    """Return the read-only user for plan, audit and export.

    It may read the RBD options of the pools, but no image.
    """
    return ceph_state.CephxUser(
        name=_name(cluster, 'tiers-reader'),
        caps={
            MON: ', '.join(_reading(cluster)),
            OSD: ', '.join(
                f'allow r class-read pool={_word(pool)} '
                f'object_prefix {_RBD_INFO}'
                for pool in _pools_with_options(catalog, cluster)
            ),
            MGR: 'allow r',
        },
    )


def writer(
    catalog: catalogs.Catalog, cluster: catalogs.Cluster
) -> ceph_state.CephxUser:
    """Return the user that apply needs for a catalog.

    It may send only the commands of apply, and `config rm` for a sweep; none
    of them deletes an object. OSDs are asked for the effect of a new option,
    because their reports to the manager may be older than the change.
    """
    return ceph_state.CephxUser(
        name=_name(cluster, 'tiers-writer'),
        caps={
            MON: ', '.join(
                [
                    *_reading(cluster),
                    *(
                        _command(prefix, limit)
                        for prefix in _prefixes(catalog, cluster)
                        for limit in _limits(prefix, catalog, cluster)
                    ),
                ]
            ),
            OSD: (
                'allow *'
                if _has_osd_options(catalog, cluster)
                else ', '.join(
                    f'allow rwx pool={_word(pool)} object_prefix {_RBD_INFO}'
                    for pool in _pools(catalog, cluster)
                )
            ),
            MGR: 'allow r',
        },
    )


def watcher(
    catalog: catalogs.Catalog, cluster: catalogs.Cluster
) -> ceph_state.CephxUser:
    """Return the user that watch needs.

    It writes into an RBD namespace of its own in the pools of the tiers, which
    has no volumes, and reads the state of the cluster.
    """
    return ceph_state.CephxUser(
        name=_name(cluster, 'tiers-watcher'),
        caps={
            MON: 'allow r',
            OSD: ', '.join(
                f'profile rbd pool={_word(pool)} '
                f'namespace={catalogs.WATCH_IMAGE}'
                for pool in _pools(catalog, cluster)
            ),
            MGR: 'allow r',
        },
    )


def repairer(
    catalog: catalogs.Catalog, cluster: catalogs.Cluster
) -> ceph_state.CephxUser:
    """Return the user that repair needs to set limits of images.

    It writes the headers of images, which hold their options, and can neither
    read nor write the data. It could remove a header: Ceph has no capability
    for a single method of RBD's class.
    """
    pools = _pools(catalog, cluster)
    images = (cluster.images_pool,) if cluster.images_pool else ()
    return ceph_state.CephxUser(
        name=_name(cluster, 'tiers-repairer'),
        caps={
            MON: 'allow r',
            OSD: ', '.join(
                [
                    *(
                        f'allow rwx pool={_word(pool)} '
                        f'object_prefix {_RBD_HEADER}'
                        for pool in pools
                    ),
                    *(
                        f'allow r pool={_word(pool)} '
                        f'object_prefix {_RBD_OLD_HEADER}'
                        for pool in pools
                    ),
                    *(
                        f'allow rx pool={_word(pool)} object_prefix {prefix}'
                        for pool in dict.fromkeys((*pools, *images))
                        for prefix in _RBD_OPEN
                        if prefix != _RBD_HEADER or pool not in pools
                    ),
                ]
            ),
        },
    )


def watch_preparations(
    catalog: catalogs.Catalog, cluster: catalogs.Cluster
) -> tuple[tuple[str, ...], ...]:
    """Return the steps of an administrator before a watch, as `rbd` words.

    librbd tests a pool when it creates the first image with data in it,
    outside of all namespaces.
    """
    found = []
    for tier in catalog.tiers_of(cluster.name):
        namespace = f'{tier.rbd.pool}/{catalogs.WATCH_IMAGE}'
        found += [
            ('pool', 'init', tier.rbd.data_pool),
            ('namespace', 'create', namespace),
        ]
    return tuple(dict.fromkeys(found))


def volumes_grants(
    catalog: catalogs.Catalog, cluster: catalogs.Cluster
) -> tuple[str, ...]:
    """Return the additional OSD capabilities for `audit --volumes`."""
    images = (cluster.images_pool,) if cluster.images_pool else ()
    return tuple(
        f'profile rbd-read-only pool={_word(pool)}'
        for pool in dict.fromkeys((*_pools(catalog, cluster), *images))
    )


def _name(cluster: catalogs.Cluster, default: str) -> str:
    """Return the user of the file, or the default in place of admin."""
    return f'client.{default if cluster.user == "admin" else cluster.user}'


def _reading(cluster: catalogs.Cluster) -> collections.abc.Iterator[str]:
    yield 'allow r'
    for command in READS:
        if command.daemon == MON and not set(command.permission) <= {'r'}:
            yield _command(command.prefix, _limit(command.prefix, cluster))


def _prefixes(
    catalog: catalogs.Catalog, cluster: catalogs.Cluster
) -> tuple[str, ...]:
    """Return the commands that apply sends for a catalog."""
    pools = _storages(catalog, cluster)
    return (
        *_POOL_WRITES,
        *(_CACHE_WRITES if any(one.cache for one in pools) else ()),
        *(
            _AFFINITY_WRITES
            if any(one.primary_affinity is not None for one in pools)
            else ()
        ),
        *(
            _MAP_WRITES
            if any(
                rule.needs_crush_map
                for one in pools
                for rule in tier_pools.pools_of(one).crush_rules
            )
            else ()
        ),
        *(_OPTION_WRITES if _has_osd_options(catalog, cluster) else ()),
        *_USER_WRITES,
    )


def _has_osd_options(
    catalog: catalogs.Catalog, cluster: catalogs.Cluster
) -> bool:
    return bool(cluster.host_osd_options) or any(
        one.osd_options for one in _storages(catalog, cluster)
    )


def _storages(
    catalog: catalogs.Catalog, cluster: catalogs.Cluster
) -> tuple[catalogs.RbdPool, ...]:
    """Return the pools of the tiers, and those of their caches."""
    return tuple(
        rbd
        for tier in catalog.tiers_of(cluster.name)
        for _, rbd in tier.storages
    )


def _limits(
    prefix: str, catalog: catalogs.Catalog, cluster: catalogs.Cluster
) -> tuple[str, ...]:
    """Return the allowed arguments of a command of apply, each a grant."""
    if prefix == _RENAME:
        return tuple(
            f'srcpool={_word(pool_kind.draft_name(pool))}'
            for pool in _pools(catalog, cluster)
        )
    return (_limit(prefix, cluster),)


def _limit(prefix: str, cluster: catalogs.Cluster) -> str:
    """Return the allowed arguments of a command; '' for any."""
    if prefix.startswith('auth '):
        return f'entity={_word(f"client.{cluster.cinder_user}")}'
    if prefix in _OPTION_WRITES:
        return 'who prefix "osd/"'
    return ''


def _command(prefix: str, limit: str) -> str:
    return f'allow command "{prefix}"' + (f' with {limit}' if limit else '')


def _pools_with_options(
    catalog: catalogs.Catalog, cluster: catalogs.Cluster
) -> tuple[str, ...]:
    """Return the pools whose RBD options are read for a plan.

    A cache pool answers for the pool behind it.
    """
    pools = []
    for tier in catalog.tiers_of(cluster.name):
        pools.append(tier.rbd.pool)
        if tier.rbd.cache and tier.rbd.data_pool == tier.rbd.pool:
            pools.append(tier.rbd.cache.rbd.pool)
    return tuple(dict.fromkeys(pools))


def _pools(
    catalog: catalogs.Catalog, cluster: catalogs.Cluster
) -> tuple[str, ...]:
    """Return all pools of the tiers; apply reads the RBD options of each."""
    return tuple(
        dict.fromkeys(
            pool
            for tier in catalog.tiers_of(cluster.name)
            for pool in tier.rbd.pools
        )
    )


def _word(text: str) -> str:
    """Return a name in the notation of capabilities."""
    if _PLAIN.fullmatch(text):
        return text
    quote = "'" if '"' in text else '"'
    return f'{quote}{text}{quote}'
