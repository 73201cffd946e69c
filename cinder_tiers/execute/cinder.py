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

#: What openstacksdk raises when a service is absent or refuses.
API_ERRORS = (openstack.exceptions.SDKException,
              keystoneauth1.exceptions.ClientException)
#: Cinder's answer when a type has volumes (cinder/api/contrib/
#: types_extra_specs.py, 29.0.0; no option changes it there).
_IN_USE = 'Volume Type is currently in use'


class VolumeTypes:
    """Creates volume types and changes those with our mark."""

    def __init__(self, connection: openstack.connection.Connection) -> None:
        self._block_storage = connection.block_storage

    def write(self, wanted: state.VolumeType, *, key: actions.Key,
              current: state.VolumeType | None) -> None:
        """Creates or updates the type.

        :raises errors.ActionFailed: when Cinder refuses, when the type has
            lost our mark, or when somebody who has access would lose it.
        """
        if current is not None and not current.is_ours:
            raise errors.ActionFailed(
                f'{key} lost our mark since the plan was made; run tier plan '
                f'again')
        if current is not None and not wanted.is_public and (
                current.is_public or current.projects - wanted.projects):
            raise errors.ActionFailed(
                f'{key} is open to others than the catalog names, and access '
                f'is not taken away; run tier plan, which says how to do it')
        done: list[str] = []
        try:
            if current is None:
                # In one call, so that no type without our mark can be left.
                resource = self._block_storage.create_type(
                    name=wanted.name, is_public=wanted.is_public,
                    description=wanted.description,
                    extra_specs=dict(wanted.extra_specs))
                done.append('its creation')
                self._give_access(resource, wanted.projects, done)
            else:
                self._update(current, wanted, done)
        except API_ERRORS as error:
            raise errors.ActionFailed(
                f'{_refused(key, error)}; {said(done)}') from error

    def _update(self, current: state.VolumeType, wanted: state.VolumeType,
                done: list[str]) -> None:
        """Makes the changes one by one.

        Extra specs come first: they are what Cinder may refuse to change.

        :param done: gets the name of each change that was made.
        """
        # Listed, since a look-up by name would take a name for an id.
        resource = next(
            (one for one in self._block_storage.types(is_public='None')
             if one.name == wanted.name), None)
        if resource is None:
            raise errors.ActionFailed(
                f'volume type {wanted.name} was deleted meanwhile; run tier '
                f'plan again')
        changed = {key: value for key, value in wanted.extra_specs.items()
                   if current.extra_specs.get(key) != value}
        if changed:
            self._block_storage.update_type_extra_specs(resource, **changed)
            done.extend(f'extra spec {name}' for name in sorted(changed))
        for name in sorted(current.extra_specs.keys()
                           - wanted.extra_specs.keys()):
            self._block_storage.delete_type_extra_specs(resource, [name])
            done.append(f'extra spec {name}')
        if current.description != wanted.description:
            self._block_storage.update_type(
                resource, description=wanted.description)
            done.append('description')
        if wanted.is_public and not current.is_public:
            # openstacksdk 4.22 sends it under a name that Cinder refuses.
            openstack.exceptions.raise_from_response(self._block_storage.put(
                f'/types/{resource.id}',
                json={'volume_type': {'is_public': True}}))
            done.append('is_public')
        self._give_access(resource, wanted.projects - current.projects, done)

    def _give_access(self, resource: object, projects: frozenset[str],
                     done: list[str]) -> None:
        for project in sorted(projects):
            self._block_storage.add_type_access(resource, project)
            done.append(f'access of project {project}')


def _refused(key: actions.Key, error: Exception) -> str:
    """What Cinder said, and the way out where it has a known one."""
    if _IN_USE in str(error):
        return (f'{key} has volumes, and Cinder changes no extra spec of '
                f'such a volume type ("{_IN_USE}"); give the volumes another '
                f'type with "openstack volume set --type" (of the same '
                f'volume_backend_name, so that no data moves), run tier '
                f'apply, and give them this type again')
    return f'Cinder refused to change {key}: {error}'


def said(done: list[str]) -> str:
    """What was changed before a failure.

    :param done: names of the changes that were made.
    """
    if not done:
        return 'nothing of it was changed'
    return (f'changed before that: {", ".join(done)}; tier plan shows what '
            f'is left to do')
