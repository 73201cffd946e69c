# SPDX-License-Identifier: Apache-2.0

"""Reads from Glance the namespace that the tags of tiers are published in."""

import collections.abc

import openstack.connection
import openstack.exceptions

from cinder_tiers.clients import metadefs
from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import glance as glance_state
from cinder_tiers.observe.cinder import scope as scopes

#: Rules of Glance's policy by which it is shown.
POLICIES = (
    'get_metadef_namespace',
    'list_metadef_resource_types',
    'get_metadef_objects',
    'get_metadef_properties',
    'get_metadef_tags',
)


def observe(
    connection: openstack.connection.Connection,
    scope: scopes.Scope,
    found: cinder_state.CinderState,
) -> dict[str, object]:
    """The namespace, in one call, where a catalog has to do with it."""
    one = (
        read(connection, glance_state.NAMESPACE)
        if scope.tag_namespace
        else None
    )
    return {'tag_namespaces': {one.name: one} if one else {}}


def read(
    connection: openstack.connection.Connection, name: str
) -> glance_state.TagNamespace | None:
    """Read the namespace.

    :param connection: connection of any user.
    :param name: name of the namespace; there is only one.
    :returns: None if it does not exist, or if Glance has no such namespaces.
    :raises errors.Unreachable: Glance does not answer, or its policy hides
        namespaces from the user.
    """
    # The name is ours, and no text of a user.
    path = metadefs.path_of(name)
    with openstack_client.asking(
        f'Glance did not show the metadata definition namespace {name}',
        remedy=f'the policy of Glance must allow {", ".join(POLICIES)}; '
        'a cloud that does not leaves publish_tags out of the tiers file',
    ):
        try:
            found = openstack_client.request(
                connection.image, 'GET', path
            ).json()
        except openstack.exceptions.NotFoundException:
            return None
        return parse(found)


def parse(found: collections.abc.Mapping) -> glance_state.TagNamespace:
    """Parse Glance's answer.

    :param found: the answer, which lacks empty fields.
    :raises TypeError: the answer has an unknown form.
    """
    return glance_state.TagNamespace(
        display_name=openstack_client.text(found.get('display_name') or ''),
        description=openstack_client.text(found.get('description') or ''),
        is_public=found['visibility'] == 'public',
        is_for_images=any(
            one['name'] == metadefs.IMAGE
            for one in found.get('resource_type_associations') or ()
        ),
        tags=frozenset(
            openstack_client.text(one['name'])
            for one in found.get('tags') or ()
        ),
        others=frozenset(
            (
                *(found.get('properties') or {}),
                *(
                    openstack_client.text(one['name'])
                    for one in found.get('objects') or ()
                ),
            )
        ),
    )
