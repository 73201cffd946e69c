# SPDX-License-Identifier: Apache-2.0

"""Writes the namespace that the tags of tiers are published in to Glance."""

import collections.abc

import openstack.connection

from cinder_tiers.clients import metadefs
from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import glance as glance_state
from cinder_tiers.execute.cinder import progress

_SERVICE = 'Glance'
_PATH = metadefs.path_of(glance_state.NAMESPACE)


class TagNamespaces:
    """Creates, changes and deletes the namespace."""

    def __init__(self, connection: openstack.connection.Connection) -> None:
        # Not asked for before it is needed: a cloud may be without Glance.
        self._connection = connection

    def write(
        self,
        wanted: glance_state.TagNamespace | None,
        *,
        key: actions.Key,
        current: glance_state.TagNamespace | None,
        consented: bool = False,
    ) -> None:
        """Create, change or delete the namespace, in as few calls as possible.

        :param consented: whether the operator allows replacing a namespace
            without the ownership marker, and deleting content of others.
        :raises errors.ActionFailed: Glance refuses; or the namespace lost the
            marker, or got content of others, since the plan was made.
        """
        if current is not None and not consented:
            _check_ours(current, wanted, key)
        done: list[str] = []
        try:
            for what in self._written(wanted, current):
                done.append(what)
        except openstack_client.API_ERRORS as error:
            raise progress.failure(
                key, error, done, service=_SERVICE
            ) from error

    def _request(self, method: str, path: str, **arguments: object) -> dict:
        answer = openstack_client.request(
            self._connection.image, method, path, **arguments
        )
        return answer.json() if answer.content else {}

    def _written(
        self,
        wanted: glance_state.TagNamespace | None,
        current: glance_state.TagNamespace | None,
    ) -> collections.abc.Iterator[str]:
        """Yields what was changed, after each call."""
        if wanted is None:
            if current is not None:
                self._request('DELETE', _PATH)
                yield 'all'
            return
        if current is None:
            self._request(
                'POST',
                metadefs.NAMESPACES,
                json={
                    'namespace': wanted.name,
                    **_texts(wanted),
                    'resource_type_associations': [{'name': metadefs.IMAGE}],
                    'tags': _tags(wanted),
                },
            )
            yield 'all'
            return
        if _texts(current) != _texts(wanted):
            # What a request leaves out, Glance sets to its default.
            kept = self._request('GET', _PATH)
            self._request(
                'PUT',
                _PATH,
                json={
                    'namespace': wanted.name,
                    **_texts(wanted),
                    'owner': kept['owner'],
                    'protected': bool(kept.get('protected')),
                },
            )
            yield 'texts'
        if not current.is_for_images:
            self._request(
                'POST',
                f'{_PATH}/resource_types',
                json={'name': metadefs.IMAGE},
            )
            yield 'is_for_images'
        if current.tags != wanted.tags:
            path = f'{_PATH}/tags'
            if wanted.tags:
                # In place of all others, in one transaction.
                self._request('POST', path, json={'tags': _tags(wanted)})
            else:
                # Glance takes an empty list for nothing to do.
                self._request('DELETE', path)
            yield 'tags'


def _check_ours(
    current: glance_state.TagNamespace,
    wanted: glance_state.TagNamespace | None,
    key: actions.Key,
) -> None:
    if not current.is_ours:
        raise errors.ActionFailed(
            f'{key} is without the ownership marker; no part of it was '
            'changed; run "openstack tier plan" again'
        )
    if wanted is None and current.others:
        raise errors.ActionFailed(
            f'{key} has properties or objects of others; it was not deleted; '
            'run "openstack tier plan" again'
        )


def _texts(one: glance_state.TagNamespace) -> dict[str, object]:
    return {
        'display_name': one.display_name,
        'description': one.description,
        'visibility': 'public' if one.is_public else 'private',
    }


def _tags(one: glance_state.TagNamespace) -> list[dict[str, str]]:
    return [{'name': tag} for tag in sorted(one.tags)]
