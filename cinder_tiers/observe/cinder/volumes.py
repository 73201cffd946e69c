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
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.audit import volumes as audit_volumes
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.observe import for_audit as survey
from cinder_tiers.observe import visible_cloud as placement

#: Entries of a page: the most that Cinder (osapi_max_limit) and Glance
#: (api_limit_max) give by default. They may give fewer.
PAGE = 1000
#: How Cinder's RBD driver names images (volume_name_template's default).
_RBD_PREFIX = 'volume-'


def volumes(
    connection: openstack.connection.Connection,
    known: facts.Facts,
    *,
    page: int = PAGE,
) -> collections.abc.Iterator[facts.KnownVolume]:
    """The volumes of all projects, newest first.

    :param connection: of an administrator; Cinder shows others their own.
    :param known: for the volume types.
    :param page: how many to ask for at a time.
    :raises errors.Unreachable: Cinder does not answer, or the last volume of
        a page was deleted before the next was asked for.
    """
    with openstack_client.asking(
        'Cinder did not list all volumes; run the command again if a '
        'volume was deleted meanwhile'
    ):
        for found in placement.list_volumes(
            connection, all_tenants='True', limit=page
        ):
            yield placement.parse_volume(found, known)


class Images:
    """The images of all projects, listed when one is first asked for.

    :param connection: of an administrator.
    :param page: how many to ask for at a time.
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
    """Which volumes are copy-on-write clones of images.

    :param catalog: for the tiers and their clusters' pool of images.
    :param clusters: {name of the cluster: session, or why there is none}.
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


def _clones(session: ceph_session.Session, pool: str) -> dict[str, str]:
    return {
        clone.removeprefix(_RBD_PREFIX): f'{pool}/{image}'
        for image, clone in session.clones(pool)
    }
