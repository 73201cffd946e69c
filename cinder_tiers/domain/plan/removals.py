# SPDX-License-Identifier: Apache-2.0

"""What a plan takes away, which comes after all that it makes.

Something else may be about to replace it: a tier the fallback, a tag, or the
type that a project uses. Pure.
"""

import collections.abc

from cinder_tiers.domain.resources import registry
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import cinder as cinder_state


def removed_by(action: actions.Action) -> str:
    """Describes what an action removes; '' if it removes nothing.

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
    """Whether it makes a volume type that leaves the choice to the image."""
    return (
        action.before is None
        and isinstance(action.after, cinder_state.VolumeType)
        and cinder_state.FOLLOW_IMAGE in action.after.extra_specs
    )


def last(
    planned: collections.abc.Iterable[actions.Action],
) -> tuple[actions.Action, ...]:
    """Actions in an order in which they can be carried out.

    First all that takes nothing away, then updates that do, those that unset
    default types before all others, then deletions.
    What needs an action comes after it, and what was created last is deleted
    first.

    :param planned: in any order; of one kind, each after those it needs.
    """
    place = {kind: turn for turn, kind in enumerate(registry.BY_KIND)}
    made: list[actions.Action] = []
    deleted: list[actions.Action] = []
    # What leaves the choice to the image comes when there are tiers to choose.
    last_of_type = place[actions.Kind.PROJECT_DEFAULTS] - 0.5
    for action in sorted(
        planned,
        key=lambda one: (
            last_of_type if _begins_choice(one) else place[one.key.kind]
        ),
    ):
        (deleted if action.after is None else made).append(action)
    late: set[actions.Key] = set()
    # What is still closed has nothing that could be missed, and others may
    # wait for it to be opened.
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
        *sorted(
            (one for one in made if one.key in late),
            # A project whose default type is closed to it can create no
            # volume that names no type.
            key=lambda one: (
                one.key.kind is not actions.Kind.PROJECT_DEFAULTS
                or not late.isdisjoint(one.needs)
            ),
        ),
        *deleted,
    )
