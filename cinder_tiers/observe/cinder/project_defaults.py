# SPDX-License-Identifier: Apache-2.0

"""Reads from Cinder which volume types are default types of projects."""

import collections
import collections.abc

import openstack.connection

from cinder_tiers.clients import default_types
from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.clients import volume_types
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.observe.cinder import scope as scopes


def observe(
    connection: openstack.connection.Connection,
    scope: scopes.Scope,
    found: cinder_state.CinderState,
) -> dict[str, object]:
    """The default types of all projects, in one call.

    Without `default_for` they matter only where a managed type is private,
    since its projects alone may use it, or may be about to go: Cinder deletes
    no default type.
    """
    if not scope.project_defaults and not any(
        one.is_ours and (one.name not in scope.named or not one.is_public)
        for one in found.volume_types.values()
    ):
        return {'project_defaults': {}}
    return {
        'project_defaults': _read(
            connection,
            {
                one.type_id: one.name
                for one in found.volume_types.values()
                if one.type_id
            },
        )
    }


def read(
    connection: openstack.connection.Connection, name: str
) -> cinder_state.ProjectDefaults | None:
    """The projects of which a type is the default type.

    :returns: None when there is no such type.
    """
    with openstack_client.asking_as_admin(f'show volume type {name}'):
        found = volume_types.find(connection.block_storage, name)
    if found is None:
        return None
    return _read(connection, {found.id: name}).get(
        name,
        cinder_state.ProjectDefaults(name=name, default_for=frozenset()),
    )


def _read(
    connection: openstack.connection.Connection,
    names: collections.abc.Mapping[str, str],
) -> dict[str, cinder_state.ProjectDefaults]:
    """{name of a volume type: its projects}, of those that have one.

    :param names: {id of a volume type: its name}, of those that matter.
    """
    having: dict[str, set[str]] = collections.defaultdict(set)
    with openstack_client.asking_as_admin('list default types of projects'):
        for project, type_id in default_types.list_all(
            connection.block_storage
        ).items():
            if type_id in names:
                having[names[type_id]].add(project)
    return {
        name: cinder_state.ProjectDefaults(
            name=name, default_for=frozenset(projects)
        )
        for name, projects in sorted(having.items())
    }
