# SPDX-License-Identifier: Apache-2.0
"""A reviewed plan in a file, which is applied as a whole or not at all.

The file holds the text of the catalog, every action with its values, and the
consents of an operator. Before it is applied, the cloud is observed anew and
planned again; the plan is carried out only if it is equal. JSON; keys are
described in doc/source/admin/tiers.rst.
"""

import collections.abc
import dataclasses
import os
import typing

from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain import record
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import difference
from cinder_tiers.domain import text as escaping
from cinder_tiers.files import file_problems
from cinder_tiers.files import read_bounded
from cinder_tiers.files import write_atomic

VERSION = 1
MAX_SIZE_BYTES = 16 * 2**20


@dataclasses.dataclass(frozen=True, kw_only=True)
class SavedAction:
    """An action as plain values."""

    #: Create, update or delete.
    action: str
    object: str
    #: {field: (before, after)} of all differences.
    fields: collections.abc.Mapping[str, tuple[typing.Any, typing.Any]]
    #: Reason of the refusal that was allowed.
    although: str | None = record.omitted()
    #: Reason of the refusal.
    refused: str | None = record.omitted()


@dataclasses.dataclass(frozen=True, kw_only=True)
class SavedPlan:
    """A plan at the time when it was saved."""

    #: Identifies the cloud.
    cloud: str
    #: Name of the tiers file, for messages.
    catalog_file: str
    #: Text of the tiers file.
    catalog: str
    #: Objects to which consent was given, as the plan names them.
    allowed: tuple[str, ...]
    #: In the order of the plan.
    actions: tuple[SavedAction, ...]


def plain(plan: plans.Plan) -> tuple[SavedAction, ...]:
    """Return the actions of a plan as JSON values."""
    return tuple(
        SavedAction(
            action=action.verb,
            object=str(action.key),
            fields={
                name: (record.plain(before), record.plain(after))
                for name, before, after in _fields(action)
            },
            although=action.consented.reason if action.consented else None,
            refused=action.refusal.reason if action.refusal else None,
        )
        for action in plan.actions
    )


def _fields(
    action: actions.Action,
) -> collections.abc.Iterator[tuple[str, object, object]]:
    if action.before and action.after:
        for one in difference.differences(action.before, action.after):
            yield one.field, one.before, one.after
        return
    resource = action.after or action.before
    if resource is None:
        return
    for name, value in difference.fields_of(resource).items():
        yield (name, None, value) if action.after else (name, value, None)


def write(
    path: str, *, catalog_file: str, catalog: str, cloud: str, plan: plans.Plan
) -> None:
    """Save a plan atomically.

    :param path: path of the file, or of a symbolic link to it. An older plan
        is replaced, but no other file.
    :param catalog_file: name of the tiers file.
    :param catalog: text of the tiers file.
    :param cloud: identifier of the cloud; the same text on every host.
    :param plan: reviewed plan, with its refused actions.
    :raises errors.TiersError: the file cannot be written, or is not a saved
        plan.
    """
    _check_replaceable(path)
    text = record.dumps(
        SavedPlan(
            cloud=cloud,
            catalog_file=catalog_file,
            catalog=catalog,
            allowed=tuple(consent.names_of(plan)),
            actions=plain(plan),
        ),
        indent=2,
        version=VERSION,
    )
    write_atomic.write(path, text, replace=True)


def _check_replaceable(path: str) -> None:
    """Refuse to replace a file that is not a plan, such as the tiers file."""
    if not os.path.isfile(path) or not os.path.getsize(path):
        return
    try:
        read(path)
    except errors.ProblemsFound as error:
        raise errors.ProblemsFound(
            [
                errors.Problem(
                    where=path,
                    found='a file that is not a saved plan and would be '
                    'overwritten',
                    expected='a new file, or an older plan, which is replaced',
                    remedy='name another file, or remove this one',
                )
            ]
        ) from error


def read(path: str) -> SavedPlan:
    """Read a saved plan.

    :raises errors.ProblemsFound: the file is not a plan of this version.
    """
    with file_problems.told(
        path,
        expected=f'a saved plan, version {VERSION}',
        remedy='make one with "openstack tier plan --out"',
    ):
        return record.loads(
            SavedPlan,
            read_bounded.read(path, max_bytes=MAX_SIZE_BYTES),
            version=VERSION,
        )


def check_cloud(saved: SavedPlan, cloud: str) -> None:
    """Check that a plan was made for this cloud.

    Similar clouds, such as one for tests, need the same actions, and apply
    does not ask for confirmation of a saved plan.

    :param saved: reviewed plan.
    :param cloud: identifier of the current cloud.
    :raises errors.ActionFailed: the plan was made for another cloud.
    """
    if saved.cloud != cloud:
        raise errors.ActionFailed(
            'Nothing was changed because the plan was made for another '
            'cloud (block storage and region: '
            f'{escaping.clipped(saved.cloud)}; here: {cloud}); check OS_CLOUD '
            'and the other credentials, or make a plan for this cloud with '
            '"openstack tier plan --out"'
        )


def check_same(saved: SavedPlan, plan: plans.Plan) -> None:
    """Check that the cloud still needs exactly the saved actions.

    :param saved: reviewed plan.
    :param plan: current plan of the same catalog.
    :raises errors.ActionFailed: the plans differ; the text names each action
        that is new, gone or different.
    """
    now = plain(plan)
    if now == saved.actions:
        return
    old = {one.object: one for one in saved.actions}
    new = {one.object: one for one in now}
    lines = []
    for name in dict.fromkeys((*old, *new)):
        if name not in new:
            lines.append(f'{old[name].action} {name}: no longer needed')
        elif name not in old:
            lines.append(f'{new[name].action} {name}: needed now')
        elif old[name] != new[name]:
            lines.append(
                f'{new[name].action} {name}: '
                + _difference(old[name], new[name])
            )
    more = len(lines) - errors.MOST_PROBLEMS
    raise errors.ActionFailed(
        'Nothing was changed because the cloud, or cinder-tiers, has changed '
        'since the plan was saved:',
        # An edited plan may hold any number of actions, with any names.
        *map(escaping.clipped, lines[: errors.MOST_PROBLEMS]),
        *([f'and {more} more'] if more > 0 else ()),
        *(() if lines else ['the order of the actions']),
        'Run "openstack tier plan" again.',
    )


def _difference(old: SavedAction, new: SavedAction) -> str:
    """Describe how an action differs from the saved one, as a clause."""
    for name, outcome in (('although', 'allowed'), ('refused', 'refused')):
        before, now = getattr(old, name), getattr(new, name)
        if before and now and dataclasses.replace(old, **{name: now}) == new:
            return (
                f'the reason why it is {outcome} was "{before}" when the '
                f'plan was saved, and is "{now}" now'
            )
    return 'the current values are different'
