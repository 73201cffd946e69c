# SPDX-License-Identifier: Apache-2.0

"""Writes default volume types of projects to Cinder."""

import openstack.connection

from cinder_tiers.clients import default_types
from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.clients import volume_types
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.execute.cinder import progress


class ProjectDefaults:
    """Sets and unsets default types of projects, one by one."""

    def __init__(self, connection: openstack.connection.Connection) -> None:
        self._block_storage = connection.block_storage

    def write(
        self,
        wanted: cinder_state.ProjectDefaults,
        *,
        key: actions.Key,
        current: cinder_state.ProjectDefaults | None,
        consented: bool = False,
    ) -> None:
        """Make the type the default type of these projects and no others.

        :param consented: whether the operator allows replacing the default
            types without our mark that the plan showed, and taking the type
            from projects that the file does not mention.
        :raises errors.ActionFailed: Cinder refuses, or consent is missing.
        """
        has = current.default_for if current else frozenset()
        if not consented and has & wanted.kept_unless_allowed:
            raise errors.ActionFailed(
                f'refusing to unset {key}: not permitted by --allow; run '
                '"openstack tier plan" for details'
            )
        if current is None and not wanted.default_for:
            raise _gone(key.name)
        done: list[str] = []
        try:
            gained = sorted(wanted.default_for - has)
            if gained:
                self._check_replaced(key, wanted, gained, consented)
                type_id = self._id_of(key.name)
            for project in gained:
                default_types.set_type(self._block_storage, project, type_id)
                done.append(f'default type of project {project}')
            lost = sorted(has - wanted.default_for)
            next_ids = {
                name: self._id_of(name)
                for name in {
                    wanted.replaced_by[project]
                    for project in lost
                    if project in wanted.replaced_by
                }
            }
            for project in lost:
                # In one call, so that it is not without one meanwhile.
                if project in wanted.replaced_by:
                    default_types.set_type(
                        self._block_storage,
                        project,
                        next_ids[wanted.replaced_by[project]],
                    )
                else:
                    default_types.unset(self._block_storage, project)
                done.append(f'default type of project {project}')
        except openstack_client.API_ERRORS as error:
            raise progress.failure(key, error, done) from error

    def _check_replaced(
        self,
        key: actions.Key,
        wanted: cinder_state.ProjectDefaults,
        gained: list[str],
        consented: bool,
    ) -> None:
        """No default type of others is replaced that the plan did not show.

        :raises errors.ActionFailed: one was set since the plan was made.
        """
        current = default_types.list_all(self._block_storage)
        types = {
            one.id: one for one in volume_types.list_all(self._block_storage)
        }
        for project in gained:
            found = types.get(current.get(project, ''))
            if (
                found is None
                or cinder_state.has_mark(found.extra_specs)
                or (consented and wanted.replaces.get(project) == found.name)
            ):
                continue
            raise errors.ActionFailed(
                f'refusing to change {key}: the default type of project '
                f'{project} is "{found.name}", without the ownership marker, '
                'which --allow does not permit to replace; no part of it was '
                'changed; run "openstack tier plan" again'
            )

    def _id_of(self, name: str) -> str:
        """Returns the id of a managed volume type.

        :raises errors.ActionFailed: it does not exist, or another one has its
            name.
        """
        found = volume_types.find(self._block_storage, name, is_sure=True)
        if found is None or not cinder_state.has_mark(found.extra_specs):
            raise _gone(name)
        return found.id


def _gone(name: str) -> errors.ActionFailed:
    return errors.ActionFailed(
        f'volume type {name} was deleted or replaced since the plan was made; '
        'run "openstack tier plan" again'
    )
