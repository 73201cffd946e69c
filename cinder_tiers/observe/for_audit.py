# SPDX-License-Identifier: Apache-2.0

"""Reads all that an audit compares with, as far as it can be read.

Where `world` stops at the first service that does not answer, this goes on
and says which did not. Writes nothing.
"""

import collections.abc
import contextlib
import dataclasses
import functools
import typing

import openstack.connection

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import glance as glance_state
from cinder_tiers.observe.ceph import cluster as ceph
from cinder_tiers.observe.ceph.osd import osd_metadata
from cinder_tiers.observe.ceph import practice
from cinder_tiers.observe import for_plan as world
from cinder_tiers.observe.glance import tag_namespace
from cinder_tiers.observe import keystone
from cinder_tiers.observe import visible_cloud

_Value = typing.TypeVar('_Value')

#: {name of a cluster: session, or why there is none}
Sessions = dict[str, ceph_session.Session | audit.Unread]


def attempt(
    read: collections.abc.Callable[[], _Value],
) -> _Value | audit.Unread:
    """Call a reader, and return its result or the reason of its failure.

    :param read: reads a value, or raises an errors.TiersError.
    """
    try:
        return read()
    except errors.TiersError as error:
        return audit.Unread(reason=str(error), error=error)


@contextlib.contextmanager
def sessions(
    catalog: catalogs.Catalog,
    names: collections.abc.Container[str],
    *,
    open_session: ceph_session.Open = ceph_session.session,
) -> collections.abc.Iterator[Sessions]:
    """Open sessions with the reachable clusters in use.

    :param names: names of the clusters to reach; the others are not contacted.
    :param open_session: opens a session with a cluster.
    :returns: a context; its value has an entry for each cluster in use.
    """
    with contextlib.ExitStack() as stack:

        def opened(cluster: catalogs.Cluster) -> ceph_session.Session:
            return stack.enter_context(open_session(cluster))

        yield {
            cluster.name: attempt(functools.partial(opened, cluster))
            if cluster.name in names
            else audit.Unread(reason='it was not requested')
            for cluster in catalog.clusters_in_use
        }


def observe(
    *,
    catalog: catalogs.Catalog,
    connection: openstack.connection.Connection,
    clusters: Sessions,
) -> audit.Observed:
    """The state of Cinder, of the catalog's projects and of each cluster.

    :param clusters: {name of the cluster: session, or why there is none}.
    """
    ceph_states = {
        name: one
        if isinstance(one, audit.Unread)
        else attempt(functools.partial(ceph.observe, one, catalog))
        for name, one in clusters.items()
    }
    return audit.Observed(
        cinder=attempt(
            lambda: world.observe_cinder(
                connection,
                # Where Glance does not answer, Cinder may.
                dataclasses.replace(catalog, publish_tags=None),
                # Who reaches the backends of private tiers.
                access_of=lambda unused: any(
                    not tier.is_public for tier in catalog.ours
                ),
            )
        ),
        tag_namespace=None
        if catalog.publish_tags is None
        else attempt(
            lambda: tag_namespace.read(connection, glance_state.NAMESPACE)
        ),
        projects=attempt(
            lambda: keystone.observe(connection, catalog.projects)
        ),
        ceph=ceph_states,
        backends=attempt(lambda: visible_cloud.list_backends(connection))
        if catalog.ours
        else None,
        practice_facts={
            name: practice.observe(one, catalog, state)
            for name, one in clusters.items()
            for state in [ceph_states[name]]
            if not isinstance(one, audit.Unread)
            and not isinstance(state, audit.Unread)
        },
        osds={
            name: one
            if isinstance(one, audit.Unread)
            else attempt(
                functools.partial(
                    osd_metadata.observe,
                    one,
                    rocksdb_of=_with_rocksdb(catalog, name),
                )
            )
            for name, one in clusters.items()
            if any(
                tier.rbd.osd_requirements for tier in catalog.tiers_of(name)
            )
        },
    )


def _with_rocksdb(catalog: catalogs.Catalog, cluster: str) -> set[str | None]:
    """Device classes of which a tier requires how the database compresses."""
    return {
        tier.rbd.device_class
        for tier in catalog.tiers_of(cluster)
        if tier.rbd.osd_requirements
        and tier.rbd.osd_requirements.rocksdb_compression
    }
