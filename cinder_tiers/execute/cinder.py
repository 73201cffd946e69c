# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Writes volume types to Cinder."""

import keystoneauth1.exceptions
import openstack.connection
import openstack.exceptions

from cinder_tiers.domain import actions
from cinder_tiers.domain import errors
from cinder_tiers.domain import state


class VolumeTypes:
    """Creates volume types and changes those with our mark."""

    def __init__(self, connection: openstack.connection.Connection) -> None:
        self._block_storage = connection.block_storage

    def write(self, wanted: state.VolumeType, *, key: actions.Key,
              current: state.VolumeType | None) -> None:
        """Creates or updates the type.

        :raises errors.ActionFailed: when Cinder refuses, or when the type
            has lost our mark.
        """
        if current is not None and not current.is_ours:
            raise errors.ActionFailed(
                f'{key} lost our mark since the plan was made; run tier plan '
                f'again')
        try:
            if current is None:
                # In one call, so that no type without our mark can be left.
                self._block_storage.create_type(
                    name=wanted.name, is_public=wanted.is_public,
                    description=wanted.description,
                    extra_specs=dict(wanted.extra_specs))
            else:
                self._update(current, wanted)
        except (openstack.exceptions.SDKException,
                keystoneauth1.exceptions.ClientException) as error:
            raise errors.ActionFailed(
                f'Cinder refused to change {key}: {error}') from error

    def _update(self, current: state.VolumeType,
                wanted: state.VolumeType) -> None:
        # Listed, since a look-up by name would take a name for an id.
        resource = next(
            (one for one in self._block_storage.types(is_public='None')
             if one.name == wanted.name), None)
        if resource is None:
            raise errors.ActionFailed(
                f'volume type {wanted.name} was deleted meanwhile; run tier '
                f'plan again')
        if current.description != wanted.description:
            self._block_storage.update_type(
                resource, description=wanted.description)
        changed = {key: value for key, value in wanted.extra_specs.items()
                   if current.extra_specs.get(key) != value}
        if changed:
            self._block_storage.update_type_extra_specs(resource, **changed)
        self._block_storage.delete_type_extra_specs(
            resource,
            sorted(current.extra_specs.keys() - wanted.extra_specs.keys()))
