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

"""Writes to Ceph what tiers are made of.

One executor for each kind of object; each makes the object what is wanted,
from whatever it is now, so that a repetition finishes what was cut off.
Never deletes, and never changes what moves data.
"""

import collections.abc
import dataclasses
import typing

from cinder_tiers.domain import actions
from cinder_tiers.domain import errors
from cinder_tiers.domain import pool_options
from cinder_tiers.domain import state

#: Fields of a pool that are set with `osd pool set`: {field: Ceph's name}.
_POOL_VARIABLES = {'min_size': 'min_size',
                   'pg_autoscale_mode': 'pg_autoscale_mode',
                   'ec_overwrites': 'allow_ec_overwrites'}


class Session(typing.Protocol):
    """The part of a session with a cluster that writing needs."""

    def command(self, prefix: str, **arguments: object) -> object:
        """Runs a monitor command (src/mon/MonCommands.h)."""

    def set_rbd_option(self, pool: str, option: str,
                       value: str | None) -> None:
        """Sets an RBD client option of a pool; None removes it."""


#: {name of the cluster in the catalog: session}.
Sessions = collections.abc.Mapping[str, Session]


class ErasureCodeProfiles:
    """Creates erasure code profiles."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def write(self, wanted: state.ErasureCodeProfile, *, key: actions.Key,
              current: state.ErasureCodeProfile | None) -> None:
        """Creates the profile; Ceph refuses to change one."""
        if current is None:
            self._sessions[key.cluster].command(
                'osd erasure-code-profile set', name=wanted.name,
                profile=[f'k={wanted.k}', f'm={wanted.m}',
                         f'crush-root={wanted.root}',
                         f'crush-device-class={wanted.device_class}',
                         f'crush-failure-domain={wanted.failure_domain}'])


class CrushRules:
    """Creates CRUSH rules."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def write(self, wanted: state.CrushRule, *, key: actions.Key,
              current: state.CrushRule | None) -> None:
        """Creates the rule.

        One for erasure code takes root, class and failure domain from the
        profile of its name.
        """
        session = self._sessions[key.cluster]
        if current is not None:
            return
        if wanted.kind == 'erasure':
            session.command('osd crush rule create-erasure',
                            name=wanted.name, profile=wanted.name)
        else:
            session.command('osd crush rule create-replicated',
                            name=wanted.name, root=wanted.root,
                            type=wanted.failure_domain,
                            class_=wanted.device_class)


class Pools:
    """Creates pools, and changes what moves no data."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def write(self, wanted: state.Pool, *, key: actions.Key,
              current: state.Pool | None) -> None:
        """Creates the pool unless it exists, then sets what differs.

        :raises errors.ActionFailed: when what differs would move data.
        """
        session = self._sessions[key.cluster]
        if current is None:
            self._create(session, wanted)
            current = _as_created(wanted)
        for difference in actions.differences(current, wanted):
            self._set(session, current, wanted, difference)

    def _create(self, session: Session, pool: state.Pool) -> None:
        arguments: dict[str, object] = {
            'pool': pool.name, 'pool_type': pool.kind,
            'rule': pool.crush_rule}
        if pool.pg_num is not None:
            arguments.update(pg_num=pool.pg_num, pgp_num=pool.pg_num,
                             autoscale_mode=pool.pg_autoscale_mode)
        if pool.erasure_code_profile:
            arguments['erasure_code_profile'] = pool.erasure_code_profile
        else:
            arguments['size'] = pool.size
        session.command('osd pool create', **arguments)

    def _set(self, session: Session, current: state.Pool,
             wanted: state.Pool, difference: actions.Difference) -> None:
        if difference.field in _POOL_VARIABLES:
            session.command('osd pool set', pool=wanted.name,
                            var=_POOL_VARIABLES[difference.field],
                            val=str(difference.after).lower())
        elif difference.field.startswith('options.'):
            name = difference.field.removeprefix('options.')
            prefix, arguments = pool_options.command_of(
                wanted.name, name, wanted.options[name])
            session.command(prefix, **arguments)
        elif difference.field.startswith('rbd_options.'):
            name = difference.field.removeprefix('rbd_options.')
            session.set_rbd_option(wanted.name, name,
                                   wanted.rbd_options[name])
        elif difference.field == 'applications':
            for name in sorted(wanted.applications - current.applications):
                session.command('osd pool application enable',
                                pool=wanted.name, app=name)
        elif difference.field == 'rbd_default_data_pool':
            session.set_rbd_option(wanted.name, difference.field,
                                   wanted.rbd_default_data_pool)
        else:
            raise errors.ActionFailed(
                f'pool {wanted.name} has {difference.field} '
                f'{difference.before} instead of {difference.after}; it is '
                f'not changed, since that moves data')


def _as_created(wanted: state.Pool) -> state.Pool:
    """A new pool before anything was set; its min_size is Ceph's choice."""
    return dataclasses.replace(
        wanted, min_size=0, applications=frozenset(), ec_overwrites=False,
        rbd_default_data_pool=None, options={}, rbd_options={})


class OsdOptions:
    """Sets options of the OSDs of a device class."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def write(self, wanted: state.OsdOptions, *, key: actions.Key,
              current: state.OsdOptions | None) -> None:
        """Tells the monitors each value, for OSDs to come as well."""
        for name, value in wanted.values.items():
            self._sessions[key.cluster].command(
                'config set', who=f'osd/class:{wanted.name}', name=name,
                value=value)


class CephxUsers:
    """Creates cephx users and adds capabilities. Sees no key."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def write(self, wanted: state.CephxUser, *, key: actions.Key,
              current: state.CephxUser | None) -> None:
        """Creates the user, or replaces its capabilities.

        Those that are wanted hold those that the plan saw.
        """
        caps = [text for pair in sorted(wanted.caps.items()) for text in pair]
        self._sessions[key.cluster].command(
            'auth caps' if current else 'auth get-or-create',
            entity=wanted.name, caps=caps)
