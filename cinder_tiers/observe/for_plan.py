# SPDX-License-Identifier: Apache-2.0

"""Reads all that a plan is compared with. Writes nothing."""

import collections.abc
import contextlib
import dataclasses

import openstack.connection

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.placement import backends as backends_of_cinder
from cinder_tiers.domain.plan import expected_volumes
from cinder_tiers.domain.resources import registry
from cinder_tiers.domain.resources import type_quota
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.observe.ceph import cluster as ceph
from cinder_tiers.observe.ceph import owner as ceph_owner
from cinder_tiers.observe.ceph import usage as ceph_usage
from cinder_tiers.observe.cinder import scope as scopes
from cinder_tiers.observe.cinder import state as cinder
from cinder_tiers.observe import keystone


@contextlib.contextmanager
def sessions(
    catalog: catalogs.Catalog,
) -> collections.abc.Iterator[dict[str, ceph_session.Session]]:
    """Opens sessions with the clusters that have a tier.

    :returns: a context; {name of the cluster: session}.
    :raises errors.Unreachable: when one of them is not reachable.
    """
    with contextlib.ExitStack() as stack:
        yield {
            cluster.name: stack.enter_context(ceph_session.session(cluster))
            for cluster in catalog.clusters_in_use
        }


def observe(
    *,
    catalog: catalogs.Catalog,
    connection: openstack.connection.Connection,
    clusters: dict[str, ceph_session.Session],
    backends: collections.abc.Iterable[backends_of_cinder.Backend] = (),
) -> actual_state.ActualState:
    """Read the state of Cinder, of the catalog's projects and each cluster.

    :param clusters: {name of the cluster: session}.
    :param backends: all backends that report to Cinder's scheduler.
    :raises errors.TiersError: a service does not answer or refuses.
    """
    found = actual_state.ActualState(
        cinder=observe_cinder(connection, catalog),
        projects=keystone.observe(connection, catalog.projects),
        ceph={
            name: observe_cluster(session, catalog)
            for name, session in clusters.items()
        },
    )
    doubts = expected_volumes.Doubts(catalog, found, backends)
    return dataclasses.replace(
        found,
        cinder=cinder.with_use(connection, found.cinder, doubts.volume_types),
    )


def observe_cluster(
    session: ceph_session.Session, catalog: catalogs.Catalog
) -> ceph_state.CephState:
    """The state of a cluster, with all that a plan looks at.

    :raises errors.Unreachable: Ceph does not answer, or a pool that is
        compared serves no I/O.
    :raises errors.TiersError: when Ceph refuses.
    """
    found = ceph.observe(session, catalog)
    unread = [
        pool.rbd_options_unread
        for pool in found.pools.values()
        if pool.rbd_options_unread
    ]
    if unread:
        raise errors.Unreachable('; '.join(unread))
    return dataclasses.replace(
        found,
        usage=ceph_usage.attempt(session),
        rook_namespace=ceph_owner.rook_namespace(session),
        cephadm_tunes_memory=ceph_owner.cephadm_tunes_memory(session, catalog),
    )


def observe_cinder(
    connection: openstack.connection.Connection,
    catalog: catalogs.Catalog,
    *,
    access_of: scopes.Choice = scopes.none,
) -> cinder_state.CinderState:
    """The state of Cinder, and whether types that would change have volumes.

    :param access_of: chooses private types of others of which the projects
        are read, too.
    :raises errors.Unreachable: when Cinder does not answer, or refuses.
    """
    encrypted = {tier.type_name for tier in catalog.ours if tier.encryption}
    found = cinder.observe(
        connection,
        scopes.Scope(
            named=catalog.volume_types,
            access_of=access_of,
            encryption_of=lambda one: one.name in encrypted,
            project_defaults=catalog.has_project_defaults
            or any(not tier.is_public for tier in catalog.ours),
            tag_namespace=catalog.publish_tags is not None,
        ),
    )
    return cinder.with_use(
        connection,
        found,
        frozenset().union(
            *(
                one.types_whose_usage_matters(catalog, found)
                for one in registry.RESOURCES
            )
        ),
        by_project=True,
        snapshots_of=type_quota.types_whose_usage_matters(catalog, found),
    )


def reader(
    *,
    connection: openstack.connection.Connection,
    clusters: dict[str, ceph_session.Session],
) -> collections.abc.Callable[[actions.Key], actions.Resource | None]:
    """A function that reads one object as it is in effect.

    :param clusters: {name of the cluster: session}.
    :returns: it takes a key, and returns None for what does not exist.
    """

    def read(key: actions.Key) -> actions.Resource | None:
        if key.cluster is None:
            return cinder.read(connection, key)
        return ceph.read(clusters[key.cluster], key)

    return read
