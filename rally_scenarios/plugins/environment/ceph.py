# SPDX-License-Identifier: Apache-2.0

"""Reader of the state of the Ceph cluster below the tiers.

Adapter: ``cinder_tiers.observe`` talks to Ceph, and its answers become
``figures.result.ceph``.  Nothing is written to Ceph.
"""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
import re
from typing import Any

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalog
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.figures.result import ceph as ceph_result
from cinder_tiers.observe.ceph import crush as observed_crush
from cinder_tiers.observe.ceph.osd import osd_options as ceph_osds
from cinder_tiers.observe.ceph.osd import osds as observed_osds
from cinder_tiers.observe.ceph import pool as observed_pool

_VERSION = re.compile(r'ceph version (\S+) \(\w+\) (\w+)')
# Options of OSDs that have to do with I/O, and of these, where things are.
_OF_IO = (
    'bdev_',
    'bluefs_',
    'bluestore_',
    'debug_',
    'filestore_',
    'journal_',
    'ms_',
    'objecter_',
    'osd_',
    'rocksdb_',
)
_NOT_OF_IO = (
    'ms_bind_',
    'osd_crush_',
    'osd_data',
    'osd_journal',
    'osd_pool_default_',
    'osd_uuid',
)
_CACHE_OPTIONS = {'rbd_cache', 'rbd_cache_policy'}
# librbd writes the time of the last change here.
_NO_CLIENT_OPTION = 'rbd_config_pool_override_update_timestamp'
_MAX_VALUE_CHARS = 200


def cluster(conf: str, user: str) -> catalog.Cluster:
    """The cluster that a task names.

    :param conf: path of its ceph.conf
    :param user: cephx user, without ``client.``
    """
    return catalog.Cluster(name='ceph', conf=conf, user=user)


def releases(versions: Mapping) -> tuple[str, ...]:
    """Return the releases of daemons, with the kinds of daemon if they differ.

    :param versions: answer to ``ceph versions``
    """
    kinds: dict[str, list[str]] = {}
    for kind, counts in versions.items():
        for text in counts if kind != 'overall' else ():
            match = _VERSION.match(text)
            kinds.setdefault(
                ' '.join(match.groups()) if match else text[:40], []
            ).append(kind)
    if len(kinds) == 1:
        return tuple(kinds)
    return tuple(
        f'{release} ({", ".join(kinds[release])})' for release in sorted(kinds)
    )


def options_in_use(diffs: Mapping[int, Mapping]) -> dict[str, str]:
    """Options of I/O that are not at their default, as OSDs have them.

    :param diffs: {OSD: of ``ceph tell osd.N config diff``}
    :returns: {option: value}; where OSDs differ, the value of each
    """
    names = {
        name
        for diff in diffs.values()
        for name, layers in diff.items()
        if name.startswith(_OF_IO)
        and not name.startswith(_NOT_OF_IO)
        and str(layers['final']) != str(layers.get('default'))
    }
    found = {}
    for name in sorted(names):
        values = {
            osd: str(diff[name]['final']) if name in diff else 'default'
            for osd, diff in diffs.items()
        }
        found[name] = osd_options.shown(values)[:_MAX_VALUE_CHARS]
    return found


def _client_options(session: ceph_session.Session) -> dict[str, str]:
    found = {
        name: schema.default
        for name, schema in ceph_osds.schemas_of(
            session, _CACHE_OPTIONS
        ).items()
    }
    for entry in session.command('config dump'):
        name, who = entry['name'], entry['section']
        if (
            name.startswith('rbd_')
            and name != _NO_CLIENT_OPTION
            and (who == 'global' or who.partition('.')[0] == 'client')
        ):
            of_all = who in ('global', 'client') and not entry['mask']
            found[
                name if of_all else f'{name} of {who} {entry["mask"]}'.rstrip()
            ] = entry['value']
    return found


def _is_below(osd: ceph_state.Osd, rule: ceph_state.CrushRule | None) -> bool:
    """Return whether a rule may choose an OSD; True for several parts."""
    if rule is None or rule.root is None:
        return True
    return rule.takes(osd)


def _pools(
    session: ceph_session.Session, names: Collection[str], up: Collection[int]
) -> dict[str, ceph_result.CephPool]:
    rules = observed_crush.read_rules(session)
    osds = observed_osds.read_osds(session)
    of_pools = {}
    for name, pool in observed_pool.read_pools(
        session, with_rbd_options=names
    ).items():
        if name in names:
            rule = rules.get(pool.crush_rule)
            of_pools[name] = (
                pool,
                rule,
                [osd.osd_id for osd in osds if _is_below(osd, rule)],
            )
    asked = {
        osd for _, _, ids in of_pools.values() for osd in ids if osd in up
    }
    diffs = {
        osd: session.tell(osd, 'config diff')['diff'] for osd in sorted(asked)
    }
    return {
        name: _pool(pool, rule, ids, diffs)
        for name, (pool, rule, ids) in of_pools.items()
    }


def _pool(
    pool: Any,
    rule: Any,
    osd_ids: Iterable[int],
    diffs: Mapping[int, Any],
) -> ceph_result.CephPool:
    return ceph_result.CephPool(
        kind=pool.kind,
        size=pool.size,
        min_size=pool.min_size,
        pg_num=pool.pg_num,
        crush_rule=pool.crush_rule,
        device_class=rule and rule.device_class,
        compression=ceph_result.compression(pool.options),
        rbd_options=dict(pool.rbd_options),
        osds=len(osd_ids),
        osd_options=options_in_use(
            {osd: diffs[osd] for osd in osd_ids if osd in diffs}
        ),
    )


def reading(
    session: ceph_session.Session, pools: Collection[str]
) -> ceph_result.CephReading:
    """Read the current state of the cluster.

    :param pools: pools that hold volumes of the run; others are not read
    :raises cinder_tiers.domain.errors.TiersError: Ceph does not answer or
        refuses
    """
    status = session.command('status')
    osds = session.command('osd dump')['osds']
    up = [osd['osd'] for osd in osds if osd['up']]
    return ceph_result.CephReading(
        release=releases(session.command('versions')),
        health=status['health']['status'],
        checks={
            code: check['summary']['message']
            for code, check in sorted(status['health']['checks'].items())
        },
        osds_down=tuple(osd['osd'] for osd in osds if not osd['up']),
        osds_out=tuple(osd['osd'] for osd in osds if not osd['in']),
        osd_boots={str(osd['osd']): osd['up_from'] for osd in osds},
        pg_states={
            one['state_name']: one['count']
            for one in status['pgmap']['pgs_by_state']
        },
        client_options=_client_options(session),
        pools=_pools(session, pools, up),
    )


def find_images(
    session: ceph_session.Session, volumes: Collection[str]
) -> dict[str, tuple[str, str]]:
    """Find the RBD images of volumes.

    :param volumes: ids of volumes in Cinder
    :returns: {id: (pool, image)} for images in this cluster
    :raises cinder_tiers.domain.errors.TiersError: Ceph does not answer or
        refuses
    """
    found = {}
    for dumped in session.command('osd pool ls', detail='detail'):
        # A cache answers for the pool behind it.
        if 'rbd' not in dumped['application_metadata'] or (
            dumped['tier_of'] >= 0
        ):
            continue
        for name in session.images(dumped['pool_name']):
            # Cinder's volume_name_template, whatever is in front of the id.
            if name[-36:] in volumes:
                found[name[-36:]] = (dumped['pool_name'], name)
    return found


def image(
    session: ceph_session.Session, pool: str, name: str
) -> ceph_result.CephImage:
    """An RBD image as it is now.

    :raises cinder_tiers.domain.errors.TiersError: Ceph does not answer, or
        refuses
    """
    found = session.image(pool, name)
    return ceph_result.CephImage(
        pool=pool,
        data_pool=found.data_pool if found.data_pool != pool else None,
        parent=found.parent,
        objects=found.objects,
        own_objects=found.own_objects,
        object_bytes=found.object_bytes,
    )
