# SPDX-License-Identifier: Apache-2.0

"""Writes the encryption of volume types to Cinder."""

import openstack.connection

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.clients import volume_types
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.execute.cinder import progress


class TypeEncryptions:
    """Sets and changes encryptions; never takes one away."""

    def __init__(self, connection: openstack.connection.Connection) -> None:
        self._block_storage = connection.block_storage

    def write(
        self,
        wanted: cinder_state.TypeEncryption,
        *,
        key: actions.Key,
        current: cinder_state.TypeEncryption | None,
        consented: bool = False,
    ) -> None:
        """Set the encryption of the type in one call.

        :param consented: whether the operator allows changing an unmanaged
            type.
        :raises errors.ActionFailed: Cinder refuses, as it does once a volume
            has the type; the type is gone; or it lost the ownership marker
            since the plan was made, and consent is missing.
        """
        try:
            self._write(wanted, key, current, consented)
        except openstack_client.API_ERRORS as error:
            raise progress.failure(key, error, []) from error

    def _write(
        self,
        wanted: cinder_state.TypeEncryption,
        key: actions.Key,
        current: cinder_state.TypeEncryption | None,
        consented: bool,
    ) -> None:
        resource = volume_types.find(self._block_storage, wanted.name)
        if resource is None:
            raise errors.ActionFailed(
                f'volume type {wanted.name} was deleted since the plan was '
                'made; run "openstack tier plan" again'
            )
        if not consented and cinder_state.MARKS.isdisjoint(
            resource.extra_specs
        ):
            raise errors.ActionFailed(
                f'{key} belongs to a volume type without the ownership '
                'marker; no part of it was changed; run "openstack tier '
                'plan" again'
            )
        path = '/types/{}/encryption'
        values = {
            'provider': wanted.provider,
            'control_location': wanted.control_location,
            'cipher': wanted.cipher,
            'key_size': wanted.key_size_bits,
        }
        body = {
            'encryption': {
                name: value
                for name, value in values.items()
                if value is not None
            }
        }
        if current is None:
            openstack_client.request(
                self._block_storage, 'POST', path, resource.id, json=body
            )
            return
        ident = openstack_client.request(
            self._block_storage, 'GET', path, resource.id
        ).json()['encryption_id']
        openstack_client.request(
            self._block_storage,
            'PUT',
            '/types/{}/encryption/{}',
            resource.id,
            ident,
            json=body,
        )
