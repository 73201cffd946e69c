# SPDX-License-Identifier: Apache-2.0
"""Reads what exists in Cinder and in Ceph clusters, without a catalog.

A cluster that is not reachable is reported and does not stop the rest. Writes
nothing. Must not know what becomes of it.
"""

import collections.abc
import functools

import openstack.connection

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.export import inventory
from cinder_tiers.domain.export import volume_types
from cinder_tiers.domain.placement import rbd_location
from cinder_tiers.domain.resources import osd_masks
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph import answers
from cinder_tiers.observe.ceph import cache_tier as ceph_cache
from cinder_tiers.observe.ceph import cephx_user as observed_user
from cinder_tiers.observe.ceph import crush as observed_crush
from cinder_tiers.observe.ceph.osd import osd_options as ceph_osds
from cinder_tiers.observe.ceph.osd import osds as observed_osds
from cinder_tiers.observe.ceph import owner as ceph_owner
from cinder_tiers.observe.ceph import pool as observed_pool
from cinder_tiers.observe.cinder import scope as scopes
from cinder_tiers.observe.cinder import state as cinder
from cinder_tiers.observe import for_audit as survey
from cinder_tiers.observe import keystone
from cinder_tiers.observe import visible_cloud as placement

#: {device class, host or mask: {option: value}}
_Configured = dict[str, dict[str, str]]


def observe(
    connection: openstack.connection.Connection,
    clusters: collections.abc.Iterable[catalogs.Cluster],
    *,
    open_session: ceph_session.Open = ceph_session.session,
) -> inventory.Inventory:
    """Read all existing objects that a catalog could declare.

    :param clusters: clusters to read, each with a unique name.
    :param open_session: opens a session with a cluster.
    :raises errors.Unreachable: Cinder or Keystone does not answer, or refuses.
    """
    found = cinder.observe(
        connection,
        scopes.Scope(
            access_of=volume_types.may_be_tier,
            encryption_of=volume_types.may_be_tier,
            project_defaults=True,
        ),
    )
    backends = placement.observe_backends(connection)
    if backends is None:
        raise errors.NotVisible(
            'Cinder does not show you its backends; the user must be an '
            'administrator of block storage'
        )
    locations = [one for one in map(rbd_location.location_of, backends) if one]
    asked = {
        one.name: survey.attempt(
            functools.partial(_cluster, one, locations, open_session)
        )
        for one in clusters
    }
    return inventory.Inventory(
        cinder=found,
        backends=backends,
        clusters=tuple(
            one
            for one in asked.values()
            if isinstance(one, inventory.KnownCluster)
        ),
        unreached={
            name: one.reason
            for name, one in asked.items()
            if isinstance(one, audit.Unread)
        },
        projects=keystone.names(
            connection,
            sorted(
                set().union(
                    *(one.projects for one in found.volume_types.values()),
                    *(
                        one.default_for
                        for one in found.project_defaults.values()
                    ),
                )
            ),
        ),
    )


def _cluster(
    cluster: catalogs.Cluster,
    locations: list[rbd_location.Location],
    open_session: ceph_session.Open,
) -> inventory.KnownCluster:
    with open_session(cluster) as session:
        return read_cluster(session, locations)


@answers.in_known_form
def read_cluster(
    session: ceph_session.Session,
    locations: collections.abc.Iterable[rbd_location.Location],
) -> inventory.KnownCluster:
    """Read the objects of a cluster that concern Cinder.

    :param session: session with the cluster.
    :param locations: places of the volumes of backends, in any cluster.
    :raises errors.TiersError: Ceph does not answer or refuses.
    """
    fsid = session.command('mon dump')['fsid'].lower()
    own = [one for one in locations if one.fsid == fsid]
    pools = observed_pool.read_pools(
        session,
        with_rbd_options={one.pool for one in own},
        needs_io=False,
    )
    rules = observed_crush.read_rules(session)
    osds = observed_osds.read_osds(session)
    heads = [pools[one.pool] for one in own if one.pool in pools]
    classes = {
        rules[pool.crush_rule].device_class
        for head in heads
        for pool in (head, pools.get(head.rbd_default_data_pool or ''))
        # A rule may be gone since the pools were read.
        if pool and pool.crush_rule in rules
    } & {osd.device_class for osd in osds}
    of_masks = ceph_osds.configured_options(session)
    configured = {
        name: options
        for name, options in _of_kind(of_masks, osd_options.CLASS).items()
        if name in classes
    }
    configured_hosts = _of_kind(of_masks, osd_options.HOST)
    schemas = ceph_osds.schemas_of(
        session, set().union(*configured.values(), *configured_hosts.values())
    )
    users = {f'client.{one.user}' for one in own}
    return inventory.KnownCluster(
        cluster=session.cluster,
        fsid=fsid,
        configured=configured,
        configured_hosts=configured_hosts,
        configured_elsewhere={
            mask: options
            for mask, options in of_masks.items()
            # What one OSD has, such as what it measured, is its own.
            if ':' in mask and not osd_masks.is_declarable(mask)
        },
        ceph=ceph_state.CephState(
            crush_rules=rules,
            pools=pools,
            osds=osds,
            erasure_code_profiles=observed_crush.read_profiles(
                session,
                {
                    pool.erasure_code_profile
                    for pool in pools.values()
                    if pool.erasure_code_profile
                },
            ),
            users={
                name: user
                for name in sorted(users)
                if (user := observed_user.read(session, name))
            },
            option_schemas=schemas,
            class_options=_used(
                session, osd_options.CLASS, configured, schemas
            ),
            host_options=_used(
                session,
                osd_options.HOST,
                {
                    host: configured_hosts[host]
                    for host in configured_hosts.keys()
                    & {osd.location.get('host') for osd in osds}
                },
                schemas,
            ),
            cache_tiers=ceph_cache.of_all_pools(session),
            cephadm_tunes_memory=ceph_owner.cephadm_tunes_one_of(
                session, (*configured.values(), *configured_hosts.values())
            ),
        ),
    )


def _of_kind(configured: _Configured, mask: str) -> _Configured:
    """{device class or host: {option: value}} of masks of one kind.

    :param configured: {mask: {option: value}}
    :param mask: class or host.
    """
    return {
        name.removeprefix(f'{mask}:'): options
        for name, options in configured.items()
        if osd_masks.is_declarable(name) and name.startswith(f'{mask}:')
    }


def _used(
    session: ceph_session.Session,
    mask: str,
    configured: _Configured,
    schemas: dict[str, ceph_state.OptionSchema],
) -> dict[str, ceph_state.OsdOptions]:
    """The values that OSDs use of those that the monitors have for them.

    :param schemas: {option: schema} of those that the cluster knows.
    """
    return {
        name: ceph_osds.in_effect(
            session,
            mask,
            name,
            {
                option: schemas[option]
                for option in options
                if option in schemas
            },
        )
        for name, options in configured.items()
    }
