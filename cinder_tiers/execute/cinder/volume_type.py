# SPDX-License-Identifier: Apache-2.0

"""Writes volume types to Cinder."""

import dataclasses
import functools

import openstack.connection
import openstack.exceptions

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.clients import volume_types
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import type_opening
from cinder_tiers.domain.state import type_succession
from cinder_tiers.execute.cinder import progress
from cinder_tiers.execute.cinder import spelled_keys
from cinder_tiers.execute.cinder import type_succession as cinder_succession

#: Cinder's answers when a type has volumes (cinder/api/contrib/
#: types_extra_specs.py and types_manage.py, 29.0.0; no option changes them).
_IN_USE = 'Volume Type is currently in use'
_STILL_IN_USE = 'Target volume type is still in use'


class VolumeTypes:
    """Creates volume types, changes and deletes managed ones."""

    def __init__(self, connection: openstack.connection.Connection) -> None:
        self._block_storage = connection.block_storage

    def write(
        self,
        wanted: cinder_state.VolumeType | None,
        *,
        key: actions.Key,
        current: cinder_state.VolumeType | None,
        consented: bool = False,
    ) -> None:
        """Create, update or delete the type.

        :param consented: whether the operator allows deleting the type, taking
            over a type without our mark, and removing access.
        :raises errors.ActionFailed: Cinder refuses, or consent is missing.
        """
        if current is not None and not consented:
            _check_harmless(key, current, wanted)
        if (
            current is not None
            and wanted is not None
            and wanted.is_half_made
            and (current.is_public or current.projects - wanted.projects)
        ):
            raise errors.ActionFailed(
                f'{key} was opened since the plan was made; run "openstack '
                'tier plan" again'
            )
        done: list[str] = []
        try:
            if wanted is None:
                self._delete(key)
            elif current is None:
                self._create(wanted, done)
            else:
                self._update(current, wanted, done, consented)
        except openstack_client.API_ERRORS as error:
            raise progress.failure(
                key, error, done, refused=_refused(key, error)
            ) from error

    def _create(
        self, wanted: cinder_state.VolumeType, done: list[str]
    ) -> None:
        standby = self._find(type_succession.standby_name(wanted.name))
        if standby is None or not type_succession.is_ready(
            self._state_of(standby), wanted
        ):
            created = self._create_type(wanted, wanted.name, done)
            self._give_access(created, frozenset(), wanted, done)
            return
        # Of an apply that was interrupted between its last two renames.
        self._make_like(standby, self._state_of(standby), wanted, done)
        self._block_storage.update_type(standby.id, name=wanted.name)
        done.append('its name')

    def _create_type(
        self, wanted: cinder_state.VolumeType, name: str, done: list[str]
    ) -> volume_types.VolumeType:
        # In one call, so that no type without the ownership marker is left.
        resource = volume_types.create(
            self._block_storage,
            name=name,
            is_public=wanted.is_public,
            description=wanted.description,
            extra_specs=dict(wanted.extra_specs),
        )
        done.append(f'creation of {name}')
        return resource

    def _update(
        self,
        current: cinder_state.VolumeType,
        wanted: cinder_state.VolumeType,
        done: list[str],
        consented: bool,
    ) -> None:
        resource = self._find(wanted.name)
        if resource is None:
            raise errors.ActionFailed(
                f'volume type {wanted.name} was deleted since the plan '
                'was made; run "openstack tier plan" again'
            )
        if not (
            consented
            and isinstance(wanted, cinder_state.SuccessorType)
            and current.extra_specs != wanted.extra_specs
        ):
            self._make_like(resource, current, wanted, done)
            return
        name = type_succession.standby_name(wanted.name)
        # A type of someone else is reported, not run into.
        standby = volume_types.find(self._block_storage, name, is_sure=True)
        if standby is None:
            standby = self._create_type(
                type_opening.held_back(None, wanted) or wanted, name, done
            )
        elif not type_succession.is_ready(self._state_of(standby), wanted):
            raise errors.ActionFailed(
                f'volume type {wanted.name} cannot be retired: its '
                f'successor would be called {name}, but a volume type '
                'with that name and without the ownership marker exists; '
                'rename that type'
            )
        found = self._state_of(standby)
        closed = type_opening.held_back(found, wanted) or wanted
        self._make_like(standby, found, closed, done)
        cinder_succession.complete(
            self._block_storage, old=resource, standby=standby, done=done
        )
        self._make_like(standby, closed, wanted, done)
        narrow = functools.partial(
            self._make_like,
            resource,
            current,
            type_succession.narrowed(current, wanted),
            done,
        )
        # Cinder gives no project access to a type while it is public, so that
        # one that is closed is away from all for a moment. Those that may use
        # the tier need not notice if the new type has the name by then; cut
        # off before that, it is closed by the next plan, if it is managed.
        is_closed_last = current.is_public and current.is_ours
        if not is_closed_last:
            narrow()
        cinder_succession.hand_over(
            self._block_storage, old=resource, standby=standby, done=done
        )
        if is_closed_last:
            narrow()

    def _state_of(
        self, resource: volume_types.VolumeType
    ) -> cinder_state.VolumeType:
        projects = (
            frozenset()
            if resource.is_public
            else frozenset(
                row['project_id']
                for row in self._block_storage.get_type_access(resource.id)
            )
        )
        return cinder_state.VolumeType(
            name=resource.name,
            description=resource.description,
            is_public=resource.is_public,
            projects=projects,
            extra_specs=dict(resource.extra_specs),
        )

    def _make_like(
        self,
        resource: volume_types.VolumeType,
        current: cinder_state.VolumeType,
        wanted: cinder_state.VolumeType,
        done: list[str],
    ) -> None:
        """Makes all changes but that of the name, one by one.

        It is closed before, and opened after its extra specs change, so that
        nobody reaches by it what only the other state may.

        :param done: gets the name of each change that was made.
        """
        if not wanted.is_public:
            if current.is_public:
                self._set(resource, {'is_public': False}, done)
                # Cinder keeps the list from when it was private before.
                current = dataclasses.replace(
                    current,
                    is_public=False,
                    projects=frozenset(
                        row['project_id']
                        for row in self._block_storage.get_type_access(
                            resource.id
                        )
                    ),
                )
            for project in sorted(current.projects - wanted.projects):
                self._block_storage.remove_type_access(resource.id, project)
                done.append(f'access of project {project}')
        changed = {
            key: value
            for key, value in wanted.extra_specs.items()
            if current.extra_specs.get(key) != value
        }
        if changed:
            self._block_storage.update_type_extra_specs(resource.id, **changed)
            done.extend(f'extra spec {name}' for name in sorted(changed))
        # The ownership marker goes last: an interrupted removal stays managed.
        for name in sorted(
            current.extra_specs.keys() - wanted.extra_specs.keys(),
            key=lambda name: (name in cinder_state.MARKS, name),
        ):
            spelled_keys.remove(
                name,
                wanted.extra_specs,
                _ExtraSpecs(self._block_storage, resource.id),
            )
            done.append(f'extra spec {name}')
        # In one call, for the description says whether it was opened.
        fields: dict[str, str | bool] = {}
        if current.description != wanted.description:
            fields['description'] = wanted.description
        if wanted.is_public and not current.is_public:
            fields['is_public'] = True
        if fields:
            self._set(resource, fields, done)
        self._give_access(resource, current.projects, wanted, done)

    def _set(
        self,
        resource: volume_types.VolumeType,
        changed: dict[str, str | bool],
        done: list[str],
    ) -> None:
        # openstacksdk 4.22 sends is_public under a name that Cinder refuses.
        openstack_client.request(
            self._block_storage,
            'PUT',
            '/types/{}',
            resource.id,
            json={'volume_type': changed},
        )
        done.extend(changed)

    def _give_access(
        self,
        resource: volume_types.VolumeType,
        projects: frozenset[str],
        wanted: cinder_state.VolumeType,
        done: list[str],
    ) -> None:
        """Gives access to a private type.

        :param projects: ids of those that have it.
        """
        if wanted.is_public:
            return
        for project in sorted(wanted.projects - projects):
            self._block_storage.add_type_access(resource.id, project)
            done.append(f'access of project {project}')

    def _delete(self, key: actions.Key) -> None:
        resource = self._find(key.name)
        if resource is not None:
            self._block_storage.delete_type(resource.id)

    def _find(self, name: str) -> volume_types.VolumeType | None:
        return volume_types.find(self._block_storage, name)


@dataclasses.dataclass(frozen=True)
class _ExtraSpecs:
    """Extra specs of a volume type."""

    block_storage: volume_types.BlockStorage
    #: Of the type.
    ident: str

    def read(self) -> dict[str, str]:
        return openstack_client.request(
            self.block_storage, 'GET', '/types/{}/extra_specs', self.ident
        ).json()['extra_specs']

    def write(self, key: str, value: str) -> None:
        self.block_storage.update_type_extra_specs(self.ident, **{key: value})

    def delete(self, key: str) -> None:
        self.block_storage.delete_type_extra_specs(
            self.ident, [openstack_client.checked_key(key)]
        )


def _check_harmless(
    key: actions.Key,
    current: cinder_state.VolumeType,
    wanted: cinder_state.VolumeType | None,
) -> None:
    """Check that a change needs no consent of the operator.

    :raises errors.ActionFailed: something came up since the plan was made.
    """
    if not current.is_ours:
        raise errors.ActionFailed(
            f'{key} lost the ownership marker since the plan was made; '
            'run "openstack tier plan" again'
        )
    if wanted is None:
        raise errors.ActionFailed(
            f'refusing to delete {key}: not permitted by --allow; run '
            '"openstack tier plan" for details'
        )
    if not wanted.is_ours:
        raise errors.ActionFailed(
            f'refusing to remove the ownership marker from {key}: not '
            'permitted by --allow; run "openstack tier plan" for details'
        )
    if not wanted.is_public and (
        current.is_public or current.projects - wanted.projects
    ):
        raise errors.ActionFailed(
            f'{key} is accessible to projects that the tiers file does '
            'not list; refusing to take access away: not permitted by '
            '--allow; run "openstack tier plan" for details'
        )


def _refused(key: actions.Key, error: Exception) -> str:
    """Describe a refusal of Cinder, with the remedy if it is known."""
    if _IN_USE in str(error):
        return (
            f'{key} got its first volume since the plan was made, and '
            'Cinder does not change extra specs of a volume type that '
            f'has volumes ("{_IN_USE}"); run "openstack tier plan" again, '
            'which offers to replace the type'
        )
    if _STILL_IN_USE in str(error):
        return (
            f'Cinder does not delete {key}, which has volumes or is the '
            f'type of a group ("{_STILL_IN_USE}"); retype the volumes '
            'with "openstack volume set --type", or delete them, and '
            'rerun "openstack tier apply" with the same --allow'
        )
    return f'Cinder refused to change {key}: {error}'
