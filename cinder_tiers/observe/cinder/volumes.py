# SPDX-License-Identifier: Apache-2.0

"""Reads all volumes and all images by pages, and clones by images.

The number of calls grows with pages and images, never with volumes; volumes
are handed on as they come, so that no more than a page of them is held.
Writes nothing. Must not know what is looked for in them.
"""

import collections.abc
import functools

import openstack.connection

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.clients import qos_specs
from cinder_tiers.clients import side_by_side
from cinder_tiers.clients import volume_types
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.audit import volume_limits
from cinder_tiers.domain.audit import volumes as audit_volumes
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.placement import rbd_location
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.observe import for_audit as survey
from cinder_tiers.observe import visible_cloud as placement

#: Entries of a page: the most that Cinder (osapi_max_limit) and Glance
#: (api_limit_max) give by default. They may give fewer.
PAGE = 1000
#: How Cinder's RBD driver names images (volume_name_template's default).
_RBD_PREFIX = 'volume-'
#: Status of an attachment in use, and what its connection has of limits.
_ATTACHED, _QOS = 'attached', 'qos_specs'
_LIMITS = frozenset(volume_limits.OPTIONS.values())


def volumes(
    connection: openstack.connection.Connection,
    known: facts.VisibleCloud,
    *,
    page: int = PAGE,
) -> collections.abc.Iterator[facts.KnownVolume]:
    """Yield the volumes of all projects, newest first.

    :param connection: connection of an administrator; Cinder shows others only
        their own volumes.
    :param known: facts with the volume types.
    :param page: number of volumes per call.
    :raises errors.Unreachable: Cinder does not answer, or the last volume of a
        page was deleted before the next was read.
    """
    with openstack_client.asking(
        'Cinder did not list all volumes; run the command again if a '
        'volume was deleted meanwhile'
    ):
        for found in placement.list_volumes(
            connection, all_tenants='True', limit=page
        ):
            yield placement.parse_volume(found, known)


class ListedImages:
    """The images of all projects, listed when the first one is looked up.

    :param page: number of images per call.
    """

    def __init__(
        self, connection: openstack.connection.Connection, *, page: int = PAGE
    ) -> None:
        self._connection = connection
        self._page = page
        self._found: dict[str, facts.KnownImage] | audit.Unread | None = None

    def find(self, image_id: str) -> facts.KnownImage | None:
        """An image; None when it is gone.

        :param image_id: its id.
        :raises errors.Unreachable: Glance did not list the images; it is not
            asked a second time.
        """
        if self._found is None:
            self._found = survey.attempt(self._list)
        if isinstance(self._found, audit.Unread):
            raise errors.Unreachable(self._found.reason)
        return self._found.get(image_id)

    def _list(self) -> dict[str, facts.KnownImage]:
        with openstack_client.asking('Glance did not list images'):
            return {
                one['id']: placement.parse_image(one)
                for one in placement.list_images(
                    self._connection, visibility='all', limit=self._page
                )
            }


def residency(
    catalog: catalogs.Catalog,
    clusters: survey.Sessions,
) -> audit_volumes.Residency:
    """Find the volumes that are copy-on-write clones of images.

    :param catalog: catalog with the tiers and their clusters' pools of images.
    :param clusters: {name of the cluster: session, or the reason without one}.
    """
    clones: dict[str, str] = {}
    of_cluster: dict[str, str] = {}
    for cluster in catalog.clusters_in_use:
        if not cluster.images_pool:
            continue
        session = clusters[cluster.name]
        found = (
            session
            if isinstance(session, audit.Unread)
            else survey.attempt(
                functools.partial(_clones, session, cluster.images_pool)
            )
        )
        if isinstance(found, audit.Unread):
            of_cluster[cluster.name] = found.reason
        else:
            of_cluster[cluster.name] = ''
            clones |= found
    return audit_volumes.Residency(
        clones=clones,
        unread={
            tier.name: of_cluster[tier.rbd.cluster]
            for tier in catalog.ceph_tiers
            if tier.rbd.cluster in of_cluster
        },
        pools={tier.name: tier.rbd.pool for tier in catalog.ceph_tiers},
    )


def limits(
    connection: openstack.connection.Connection,
    catalog: catalogs.Catalog,
    clusters: survey.Sessions,
) -> volume_limits.VolumeLimits:
    """Read the limits of RBD images, and those of the volume types.

    Reads the pools of tiers, and those that their backends serve; the number
    of calls grows with the images in them.

    :param catalog: catalog with the tiers and their clusters.
    :param clusters: {name of the cluster: session, or the reason without one}.
    :raises errors.TiersError: Cinder does not show QoS specs or backends.
    """
    with openstack_client.asking_as_admin('list QoS specs and volume types'):
        specs = {
            one.id: volume_limits.Spec(consumer=one.consumer, specs=one.specs)
            for one in qos_specs.list_all(connection.block_storage)
        }
        types = volume_types.list_all(connection.block_storage)
    if not all(one.shows_qos_specs for one in types):
        raise errors.NotVisible(
            'Cinder does not show which QoS spec a volume type has; the '
            'policy volume_extension:access_types_qos_specs_id must allow it'
        )
    of_backends = places(connection, catalog, clusters)
    return volume_limits.VolumeLimits(
        places=of_backends,
        images={
            place: _limits_in(clusters[place.cluster], place.pool)
            for place in dict.fromkeys(of_backends.values())
        },
        types={
            one.id: specs.get(one.qos_specs_id or '', volume_limits.Spec())
            for one in types
        },
    )


def attached(
    connection: openstack.connection.Connection, *, page: int = PAGE
) -> dict[str, tuple[volume_limits.Attached, ...]] | str:
    """Read the servers of attached volumes, with the limits that Nova keeps.

    Nova reads the attachments of Cinder at each hard reboot, and Cinder writes
    the limits there once, when a server gets a volume. The number of calls
    grows with the pages of attachments.

    :param page: number of attachments per call.
    :returns: {id of a volume: its servers}, or the reason why they are
        unknown.
    """
    found = survey.attempt(lambda: _read_attached(connection, page))
    return found.reason if isinstance(found, audit.Unread) else found


def _read_attached(
    connection: openstack.connection.Connection, page: int
) -> dict[str, tuple[volume_limits.Attached, ...]]:
    found: dict[str, tuple[volume_limits.Attached, ...]] = {}
    with openstack_client.asking_as_admin('list attachments of volumes'):
        for one in openstack_client.rows(
            connection.block_storage,
            '/attachments/detail',
            key='attachments',
            links=None,
            params={'all_tenants': 'True', 'limit': page},
            microversion=placement.VOLUME_MICROVERSION,
        ):
            # Without a server, such as a volume that Glance stores in.
            if one['status'] != _ATTACHED or not one.get('instance'):
                continue
            known = (one.get('connection_info') or {}).get(_QOS, ...)
            found[one['volume_id']] = (
                *found.get(one['volume_id'], ()),
                volume_limits.Attached(
                    server=one['instance'],
                    has=None
                    if known is ...
                    else volume_limits.known_to_servers(known or {}),
                ),
            )
    return found


def places(
    connection: openstack.connection.Connection,
    catalog: catalogs.Catalog,
    clusters: survey.Sessions,
) -> dict[str, volume_limits.ClusterPool]:
    """Return {backend: pool of its images} for backends that may serve tiers.

    :param catalog: catalog with the tiers and their clusters.
    :param clusters: {name of the cluster: session, or the reason without one}.
    :raises errors.TiersError: Cinder does not show its backends.
    """
    names = {tier.backend for tier in catalog.ceph_tiers}
    fsids = {
        name: survey.attempt(functools.partial(_fsid, session))
        for name, session in clusters.items()
        if not isinstance(session, audit.Unread)
    }
    found: dict[str, volume_limits.ClusterPool] = {}
    for backend in placement.list_backends(connection):
        location = rbd_location.location_of(backend)
        if location is None:
            continue
        name = backend.capabilities.get(cinder_state.BACKEND)
        for tier in catalog.ceph_tiers:
            fsid = fsids.get(tier.rbd.cluster)
            if (
                location.fsid == fsid
                and (name in names or location.pool == tier.rbd.pool)
            ) or (
                # Of a cluster that does not answer, the limits are unknown.
                not isinstance(fsid, str) and name == tier.backend
            ):
                found[backend.name] = volume_limits.ClusterPool(
                    cluster=tier.rbd.cluster, pool=location.pool
                )
    return found


def _fsid(session: ceph_session.Session) -> str:
    return session.command('mon dump')['fsid'].lower()


def _limits_in(
    session: ceph_session.Session | audit.Unread, pool: str
) -> dict[str, dict[str, str]] | str:
    """{id of a volume: its limits}, or why they could not be read."""
    if isinstance(session, audit.Unread):
        return session.reason
    found = survey.attempt(functools.partial(_read_limits, session, pool))
    return found.reason if isinstance(found, audit.Unread) else found


def _read_limits(
    session: ceph_session.Session, pool: str
) -> dict[str, dict[str, str]]:
    names = [one for one in session.images(pool) if is_of_volume(one)]
    found = side_by_side.each(
        functools.partial(session.image_options, pool),
        names,
        at_once=side_by_side.CEPH_AT_ONCE,
    )
    return {
        name.removeprefix(_RBD_PREFIX): limits_among(options)
        for name, options in zip(names, found, strict=True)
        # Deleted since the images were listed.
        if options is not None
    }


def limits_among(
    options: collections.abc.Mapping[str, str],
) -> dict[str, str]:
    """The limits among the options of an image.

    :param options: {option: value}
    """
    return {
        option: value for option, value in options.items() if option in _LIMITS
    }


def is_of_volume(image: str) -> bool:
    """Return whether an RBD image has the name of one of Cinder's volumes."""
    return image.startswith(_RBD_PREFIX)


def image_of(volume: facts.KnownVolume) -> str:
    """Name of the RBD image of a volume."""
    return image_named(volume.stored_id or volume.volume_id)


def image_named(stored_id: str) -> str:
    """Name of the RBD image of the volume that is stored with an id."""
    return f'{_RBD_PREFIX}{stored_id}'


def _clones(session: ceph_session.Session, pool: str) -> dict[str, str]:
    return {
        clone.removeprefix(_RBD_PREFIX): f'{pool}/{image}'
        for image, clone in session.clones(pool)
    }
