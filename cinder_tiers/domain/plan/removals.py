# SPDX-License-Identifier: Apache-2.0

"""Deletions of a plan, which follow all actions that create.

Another object may replace the deleted one: another tier the fallback, or a
tag, or the type that a project uses. Pure.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.resources import registry
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import cinder as cinder_state


def removed_by(action: actions.Action) -> str:
    """Describe what an action removes; '' if it removes nothing.

    >>> from cinder_tiers.domain.state import cinder
    >>> removed_by(
    ...     actions.Action(
    ...         key=actions.Key(kind=actions.Kind.VOLUME_TYPE, name='gold'),
    ...         before=cinder.VolumeType(
    ...             name='gold', extra_specs={'tiers:fallback': '<is> True'}
    ...         ),
    ...         after=cinder.VolumeType(name='gold', extra_specs={}),
    ...         why='',
    ...     )
    ... )
    'extra spec tiers:fallback of volume type gold'
    """
    if action.before is None:
        return ''
    if action.after is None:
        return str(action.key)
    found = list(
        registry.BY_KIND[action.key.kind].taken_away(
            action.before, action.after
        )
    )
    return f'{spelling.listed(found)} of {action.key}' if found else ''


def _begins_choice(action: actions.Action) -> bool:
    """Return whether it creates a volume type that follows the image."""
    return (
        action.before is None
        and isinstance(action.after, cinder_state.VolumeType)
        and cinder_state.FOLLOW_IMAGE in action.after.extra_specs
    )


def last(
    planned: collections.abc.Iterable[actions.Action],
) -> tuple[actions.Action, ...]:
    """Return actions in an order in which they can be carried out.

    Actions that remove nothing come first, then updates that do, then
    deletions. An action comes after those that it needs, the closing of a
    volume type to a project after the action that unsets it as the default of
    that project, and the last object created is deleted first.

    :param planned: actions, each after those of its kind that it needs.
    """
    place = {kind: turn for turn, kind in enumerate(registry.BY_KIND)}
    made: list[actions.Action] = []
    deleted: list[actions.Action] = []
    # A type that follows the image comes after the tiers that it can choose.
    last_of_type = place[actions.Kind.PROJECT_DEFAULTS] - 0.5
    for action in sorted(
        planned,
        key=lambda one: (
            last_of_type if _begins_choice(one) else place[one.key.kind]
        ),
    ):
        (deleted if action.after is None else made).append(action)
    late: set[actions.Key] = set()
    # A closed type is not in use yet, and other actions may wait for it to be
    # opened.
    closed = {
        one.key
        for one in made
        if isinstance(one.meanwhile, cinder_state.VolumeType)
        and one.meanwhile.is_half_made
    }
    for action in made:
        takes = closed.isdisjoint({action.key, action.completes}) and (
            removed_by(action)
        )
        if takes or not late.isdisjoint(action.needs):
            late.add(action.key)
    deleted.sort(key=lambda one: -place[one.key.kind])
    return (
        *(one for one in made if one.key not in late),
        *_one_by_one(
            sorted(
                (one for one in made if one.key in late),
                key=lambda one: (
                    one.key.kind is not actions.Kind.PROJECT_DEFAULTS
                ),
            )
        ),
        *deleted,
    )


def _one_by_one(
    several: collections.abc.Iterable[actions.Action],
) -> collections.abc.Iterator[actions.Action]:
    """Yield each action when no action that must precede it is left.

    If actions wait for each other, as when two projects swap tiers, a project
    has no default type of its own until it may use the next one.
    """
    left = list(several)
    while left:
        one = next(
            (one for one in left if not _waits(one, left)),
            None,
        ) or next(
            _unset_first(one, left)
            for one in left
            if any(_leaves(one, other) for other in left)
        )
        left = [other for other in left if other.key != one.key]
        yield one


def _waits(
    action: actions.Action, left: collections.abc.Iterable[actions.Action]
) -> bool:
    return any(
        other.key in action.needs or _leaves(other, action)
        for other in left
        if other.key != action.key
    )


def _leaves(one: actions.Action, other: actions.Action) -> frozenset[str]:
    """Return projects whose default type one unsets and the other closes."""
    old, new = one.before, one.after
    if (
        not isinstance(old, cinder_state.ProjectDefaults)
        or not isinstance(new, cinder_state.ProjectDefaults)
        or not isinstance(other.after, cinder_state.VolumeType)
        or one.key.name != other.key.name
        or other.after.is_public
    ):
        return frozenset()
    return old.default_for - new.default_for - other.after.projects


def _unset_first(
    action: actions.Action, left: collections.abc.Iterable[actions.Action]
) -> actions.Action:
    """Return the action, changed to unset before it waits for others."""
    old, new = action.before, action.after
    if not isinstance(old, cinder_state.ProjectDefaults) or not isinstance(
        new, cinder_state.ProjectDefaults
    ):
        return action
    keys = {one.key for one in left}
    return dataclasses.replace(
        action,
        meanwhile=dataclasses.replace(
            new,
            default_for=old.default_for
            - frozenset().union(*(_leaves(action, other) for other in left)),
            replaced_by={
                project: name
                for project, name in new.replaced_by.items()
                if actions.Key(kind=actions.Kind.VOLUME_TYPE, name=name)
                not in keys
            },
        ),
    )
