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
"""A plan in a file: what was reviewed is what is applied, or nothing is.

The file holds the text of the catalog and every action with its values. To
apply it the world is observed anew: only when the plan is then the very same
one, it is carried out. JSON; keys are described in doc/source/admin/tiers.rst.
"""

import collections.abc
import dataclasses
import json
import os
import pathlib
import tempfile

import jsonschema

from cinder_tiers.domain import actions
from cinder_tiers.domain import errors
from cinder_tiers.domain import plan as plans

VERSION = 1
MAX_SIZE_BYTES = 16 * 2 ** 20

_SCHEMA = {
    'type': 'object',
    'required': ['version', 'catalog_file', 'catalog', 'actions'],
    'properties': {
        'catalog_file': {'type': 'string'},
        'catalog': {'type': 'string'},
        'actions': {'type': 'array', 'items': {
            'type': 'object', 'required': ['action', 'object', 'fields'],
            'properties': {'action': {'type': 'string'},
                           'object': {'type': 'string'},
                           'fields': {'type': 'object'}}}}}}


@dataclasses.dataclass(frozen=True, kw_only=True)
class SavedPlan:
    """A plan as it was when somebody looked at it."""

    #: Name of the tiers file, for messages.
    catalog_file: str
    #: Text of the tiers file.
    catalog: str
    #: Each action in plain values, in the order of the plan.
    actions: tuple[dict[str, object], ...]


def plain(plan: plans.Plan) -> tuple[dict[str, object], ...]:
    """The actions of a plan in values that JSON has.

    :returns: for each action `action` (create, update, delete), `object`, and
        `fields`: {field: [before, after]} of all that differs.
    """
    return tuple(
        {'action': action.verb, 'object': str(action.key),
         'fields': {name: [_plain(before), _plain(after)]
                    for name, before, after in _fields(action)}}
        for action in plan.actions)


def _fields(action: actions.Action) -> collections.abc.Iterator[
        tuple[str, object, object]]:
    if action.before and action.after:
        for one in actions.differences(action.before, action.after):
            yield one.field, one.before, one.after
        return
    resource = action.after or action.before
    for name, value in actions.fields_of(resource).items():
        yield (name, None, value) if action.after else (name, value, None)


def _plain(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else value


def write(path: str, *, catalog_file: str, catalog: str,
          plan: plans.Plan) -> None:
    """Saves a plan; the file is whole or as it was.

    :param path: of the file, which is replaced.
    :param catalog_file: name of the tiers file.
    :param catalog: its text.
    :param plan: without refused actions.
    :raises errors.TiersError: when it cannot be written.
    """
    text = json.dumps({
        'version': VERSION, 'catalog_file': catalog_file, 'catalog': catalog,
        'actions': plain(plan)}, indent=2)
    target = pathlib.Path(path)
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f'.{target.name}.',
                                             dir=target.parent)
        with os.fdopen(handle, 'w', encoding='utf-8') as stream:
            stream.write(text + '\n')
        pathlib.Path(temporary).replace(target)
    except OSError as error:
        if temporary:
            pathlib.Path(temporary).unlink(missing_ok=True)
        raise errors.TiersError(f'{path}: the plan cannot be written: '
                                f'{error.strerror}') from error


def read(path: str) -> SavedPlan:
    """Reads a saved plan.

    :param path: of the file.
    :raises errors.ProblemsFound: when it is none, or of another version.
    """
    try:
        with pathlib.Path(path).open('rb') as stream:
            content = stream.read(MAX_SIZE_BYTES + 1)
        value = json.loads(content[:MAX_SIZE_BYTES])
        if isinstance(value, dict) and value.get('version') != VERSION:
            raise _problem(path, f'version {value.get("version")!r}',
                           f'version {VERSION}')
        jsonschema.validate(value, _SCHEMA)
    except OSError as error:
        raise _problem(path, f'it cannot be read: {error.strerror}',
                       'a saved plan') from error
    except (ValueError, RecursionError) as error:
        raise _problem(path, 'a file that is no JSON',
                       'a saved plan') from error
    except jsonschema.ValidationError as error:
        raise _problem(path, f'{error.message[:200]} at {error.json_path}',
                       'a saved plan') from error
    return SavedPlan(catalog_file=value['catalog_file'],
                     catalog=value['catalog'],
                     actions=tuple(value['actions']))


def _problem(path: str, found: str, expected: str) -> errors.ProblemsFound:
    return errors.ProblemsFound([errors.Problem(
        where=path, found=found, expected=expected,
        remedy='make one with "openstack tier plan --out"')])


def check_same(saved: SavedPlan, plan: plans.Plan) -> None:
    """Whether the world still needs what was saved, and nothing else.

    :param saved: what was looked at.
    :param plan: made now, of the same catalog.
    :raises errors.ActionFailed: it does not; the text names each action that
        is new, gone or another one.
    """
    now = plain(plan)
    if now == saved.actions:
        return
    old = {one['object']: one for one in saved.actions}
    new = {one['object']: one for one in now}
    lines = []
    for name in dict.fromkeys((*old, *new)):
        if name not in new:
            lines.append(f'{old[name]["action"]} {name}: no longer needed')
        elif name not in old:
            lines.append(f'{new[name]["action"]} {name}: needed now')
        elif old[name] != new[name]:
            lines.append(f'{new[name]["action"]} {name}: other values are '
                         'found now')
    raise errors.ActionFailed('\n'.join([
        'Nothing was changed, because the cloud is not as it was when the '
        'plan was saved:', *(lines or ['the order of the actions']),
        'Look at "openstack tier plan" again.']))
