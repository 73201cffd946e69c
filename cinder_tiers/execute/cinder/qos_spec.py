# SPDX-License-Identifier: Apache-2.0


"""Writes QoS specs to Cinder."""

import dataclasses

import openstack.connection
import openstack.exceptions
import requests

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.clients import qos_specs
from cinder_tiers.clients import volume_types
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import difference
from cinder_tiers.execute.cinder import progress
from cinder_tiers.execute.cinder import spelled_keys


class QosSpecs:
    """Creates QoS specs, changes managed ones, and associates volume types.

    Deletes them with consent, and never those of others.

    Requests are written out, since openstacksdk takes keys such as `id` and
    `specs` for fields of its own.
    """

    def __init__(self, connection: openstack.connection.Connection) -> None:
        self._block_storage = connection.block_storage

    def write(
        self,
        wanted: cinder_state.QosSpec | None,
        *,
        key: actions.Key,
        current: cinder_state.QosSpec | None,
        consented: bool = False,
    ) -> None:
        """Create, update or delete the QoS spec, and associate it.

        :param consented: whether the operator allows deleting the spec, and
            taking volume types from the QoS specs that `wanted` replaces.
        :raises errors.ActionFailed: Cinder refuses, another volume type was
            associated since the plan was made, or consent is missing.
        """
        if wanted is None:
            self._delete(key, consented)
            return
        if current is not None and current.volume_types - wanted.volume_types:
            raise errors.ActionFailed(
                f'other volume types have {key} since the plan was made; '
                'run "openstack tier plan" again'
            )
        if not consented and _is_of_others(current, wanted):
            raise errors.ActionFailed(
                f'{key} or that of its volume type was changed since the '
                'plan was made and may belong to someone else; run '
                '"openstack tier plan" again'
            )
        replaced = cinder_state.ReplacingQosSpec.names_in(wanted)
        done: list[str] = []
        try:
            ident = (
                self._create(wanted, done)
                if current is None
                else self._update(current, wanted, done)
            )
            for name in sorted(
                wanted.volume_types
                - (current.volume_types if current else frozenset())
            ):
                one = volume_types.find(self._block_storage, name)
                if one is None:
                    continue
                if consented:
                    self._take(one, replaced, done)
                self._call(
                    'GET',
                    '/qos-specs/{}/associate',
                    ident,
                    params={'vol_type_id': one.id},
                )
                done.append(f'association with {name}')
        except openstack_client.API_ERRORS as error:
            raise progress.failure(key, error, done) from error

    def _take(
        self,
        volume_type: volume_types.VolumeType,
        names: frozenset[str],
        done: list[str],
    ) -> None:
        """Takes a volume type from the QoS specs of these names."""
        for spec in qos_specs.list_all(self._block_storage):
            if spec.name in names and any(
                row.id == volume_type.id
                for row in self._block_storage.qos_spec_associations(spec.id)
            ):
                self._call(
                    'GET',
                    '/qos-specs/{}/disassociate',
                    spec.id,
                    params={'vol_type_id': volume_type.id},
                )
                done.append(
                    f'association of {volume_type.name} with {spec.name}'
                )

    def _delete(self, key: actions.Key, consented: bool) -> None:
        if not consented:
            raise errors.ActionFailed(
                f'refusing to delete {key}: not permitted by --allow; run '
                '"openstack tier plan" for details'
            )
        try:
            found = qos_specs.find(self._block_storage, key.name)
            if found:
                # With its associations in one call: without them nothing
                # would show the next apply that it is managed.
                self._call(
                    'DELETE',
                    '/qos-specs/{}',
                    found.id,
                    params={'force': 'True'},
                )
        except openstack_client.API_ERRORS as error:
            raise progress.failure(
                key,
                error,
                [],
                refused=f'Cinder refused to delete {key}: {error}',
            ) from error

    def _create(self, wanted: cinder_state.QosSpec, done: list[str]) -> str:
        # In one call, so that what a killed apply leaves is whole.
        answer = self._call(
            'POST',
            '/qos-specs',
            json={
                'qos_specs': {
                    'name': wanted.name,
                    'consumer': wanted.consumer,
                    **wanted.specs,
                }
            },
        )
        done.append('its creation')
        ident = answer.json()['qos_specs']['id']
        qos_specs.created(self._block_storage, wanted.name, ident)
        return ident

    def _update(
        self,
        current: cinder_state.QosSpec,
        wanted: cinder_state.QosSpec,
        done: list[str],
    ) -> str:
        found = qos_specs.find(self._block_storage, wanted.name)
        if found is None:
            raise errors.ActionFailed(
                f'QoS spec {wanted.name} was deleted since the plan was '
                'made; run "openstack tier plan" again'
            )
        changed = {
            key: value
            for key, value in wanted.specs.items()
            if current.specs.get(key) != value
        }
        if current.consumer != wanted.consumer:
            changed['consumer'] = wanted.consumer
        if changed:
            self._call(
                'PUT', '/qos-specs/{}', found.id, json={'qos_specs': changed}
            )
            done.extend(sorted(changed))
        for key in sorted(current.specs.keys() - wanted.specs.keys()):
            spelled_keys.remove(
                key, wanted.specs, _Limits(self._block_storage, found.id)
            )
            done.append(key)
        return found.id

    def _call(
        self, method: str, path: str, *ids: str, **arguments: object
    ) -> requests.Response:
        return openstack_client.request(
            self._block_storage, method, path, *ids, **arguments
        )


@dataclasses.dataclass(frozen=True)
class _Limits:
    """Keys and values of a QoS spec."""

    block_storage: qos_specs.BlockStorage
    #: Of the QoS spec.
    ident: str

    def read(self) -> dict[str, str]:
        answer = openstack_client.request(
            self.block_storage, 'GET', '/qos-specs/{}', self.ident
        )
        return answer.json()['qos_specs'].get('specs') or {}

    def write(self, key: str, value: str) -> None:
        openstack_client.request(
            self.block_storage,
            'PUT',
            '/qos-specs/{}',
            self.ident,
            json={'qos_specs': {key: value}},
        )

    def delete(self, key: str) -> None:
        openstack_client.request(
            self.block_storage,
            'PUT',
            '/qos-specs/{}/delete_keys',
            self.ident,
            json={'keys': [key]},
        )


def _is_of_others(
    current: cinder_state.QosSpec | None, wanted: cinder_state.QosSpec
) -> bool:
    """Return whether a write would touch what a plan treats as unmanaged."""
    if cinder_state.ReplacingQosSpec.names_in(wanted):
        return True
    return (
        current is not None
        and not current.volume_types
        and any(
            one.field != 'volume_types'
            for one in difference.differences(current, wanted)
        )
    )
