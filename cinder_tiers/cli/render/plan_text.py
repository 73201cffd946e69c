# SPDX-License-Identifier: Apache-2.0

"""A plan as text for people: the changes of each tier, and a summary.

Below each action is a line for each value that it creates, changes or deletes,
then the data that it moves, why it is refused, and how to allow it. Nothing is
cut. Pure. Must not know how wide a terminal is, nor where the text goes.
"""

import collections.abc
import textwrap

from cinder_tiers.cli.render import cells
from cinder_tiers.cli.render import plan_fields
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import effects
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.resources import registry
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain import units

#: Narrower text is not readable; a terminal may say that it has 0 columns.
LEAST_WIDTH = 40
#: {verb: sign of an action}
MARKS = {'create': '+', 'update': '~', 'delete': '-'}
_SHOWN_TIERS = 3
_INDENT = ' ' * 6
#: Characters of the column with names of fields; a longer name is on a line of
#: its own.
_LONGEST_NAME = 32
_ARROW = '-> '

_Effects = collections.abc.Mapping[actions.Key, effects.Effect]


def lines(
    plan: plans.Plan,
    *,
    catalog: catalogs.Catalog,
    found: _Effects,
    width: int,
    projects: plan_fields.Projects = plan_fields.NO_NAMES,
) -> collections.abc.Iterator[str]:
    """Yield the actions of a plan, grouped by tier, and the summary.

    :param plan: plan of the catalog; an empty one yields nothing.
    :param found: effect of each action.
    :param width: columns of the terminal.
    :param projects: {id: name} of known projects.
    :returns: lines of at most that width, except for longer single words.
    """
    width = max(width, LEAST_WIDTH)
    for title, group in groups(plan, catalog).items():
        yield cells.printable(title)
        for action in group:
            yield from action_lines(
                action,
                found[action.key],
                title=title,
                width=width,
                projects=projects,
            )
        yield ''
    if plan.actions:
        yield from textwrap.wrap(summary(plan, found), width)


def action_lines(
    action: actions.Action,
    effect: effects.Effect,
    *,
    title: str,
    width: int,
    projects: plan_fields.Projects,
) -> collections.abc.Iterator[str]:
    """Yield an action: its name, its fields, its effect and its refusal.

    :param effect: effect of the action.
    :param width: columns of the terminal.
    """
    yield cells.printable(f'  {MARKS[action.verb]} {action.key}')
    yield from field_lines(plan_fields.of_action(action, projects), width)
    details = list(effect.lines)
    if action.refusal:
        details.append(f'refused: {action.refusal.reason}')
        details.append(f'instead: {action.refusal.remedy}')
        details.append(
            f'to allow it: {action.consent_argument}'
            if action.refusal.yields_to_consent
            else actions.NOT_ALLOWABLE
        )
    elif action.consented:
        details.append(f'allowed, although {action.consented.reason}')
    for detail in (
        *(
            f'note: {one}'
            for one in plan_fields.remarks(action, title, projects)
        ),
        *(plan_fields.named(one, projects) for one in details),
    ):
        yield from wrapped(detail, width, indent=_INDENT)


def field_lines(
    fields: collections.abc.Collection[plan_fields.Line],
    width: int,
    *,
    indent: str = _INDENT,
) -> collections.abc.Iterator[str]:
    """Yield names and values in two columns; long values are wrapped.

    :param width: columns of the terminal.
    """
    widest = min(_LONGEST_NAME, width // 2 - len(indent))
    column = min(max((len(one.name) for one in fields), default=0), widest)
    hanging = ' ' * (len(indent) + column + len('  '))
    for one in fields:
        start = f'{indent}{one.name.ljust(column)}  '
        if len(one.name) > column:
            yield start.rstrip()
            start = hanging
        if one.before is None:
            yield from _folded(one.after, width, start, hanging)
            continue
        line = f'{one.before} {_ARROW}{one.after}'
        if len(start) + len(line) <= width:
            yield from _folded(line, width, start, hanging)
            continue
        yield from _folded(one.before, width, start, hanging)
        yield from _folded(
            one.after,
            width,
            f'{hanging[: -len(_ARROW)]}{_ARROW}',
            hanging,
        )


def wrapped(
    text: str, width: int, *, indent: str
) -> collections.abc.Iterator[str]:
    """Yield the lines of a sentence; nothing is cut, for people copy commands.

    :param width: columns of the terminal.
    :param indent: blanks before the first line; the others have two more.
    """
    return _folded(cells.printable(text), width, indent, f'{indent}  ')


def _folded(
    text: str, width: int, start: str, hanging: str
) -> collections.abc.Iterator[str]:
    yield from textwrap.wrap(
        text,
        width,
        initial_indent=start,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [start.rstrip()]


def summary(plan: plans.Plan, found: _Effects) -> str:
    """Return the last line: the numbers of changes, and the data that moves.

    >>> summary(plans.Plan(actions=()), {})
    'Plan: 0 to create, 0 to update, 0 to delete; no data moves.'
    """
    carried_out = [one for one in plan.actions if not one.refusal]
    counts = ', '.join(
        f'{sum(one.verb == verb for one in carried_out)} to {verb}'
        for verb in MARKS
    )
    if plan.refused:
        counts += f', {len(plan.refused)} refused'
    sizes = [found[one.key].bytes_to_move for one in carried_out]
    known = sum(size for size in sizes if size)
    moves = 'no data moves'
    if None in sizes:
        moves = (
            f'at least {units.size_text(known)} move'
            if known
            else 'how much data moves is unknown'
        )
    elif known:
        moves = f'about {units.size_text(known)} move'
    return f'Plan: {counts}; {moves}.'


def groups(
    plan: plans.Plan, catalog: catalogs.Catalog
) -> dict[str, list[actions.Action]]:
    """Return {title: actions}: tiers in file order, then the rest."""
    order = {tier.name: place for place, tier in enumerate(catalog.tiers)}
    placed = [
        (registry.tiers_affected(catalog, action), action)
        for action in plan.actions
    ]
    placed.sort(
        key=lambda one: (
            len(one[0]) != 1,
            not one[0],
            [order[name] for name in one[0]],
        )
    )
    found: dict[str, list[actions.Action]] = {}
    for names, action in placed:
        found.setdefault(_title(names, action), []).append(action)
    return found


def _title(names: tuple[str, ...], action: actions.Action) -> str:
    if len(names) == 1:
        return f'tier {names[0]}'
    if names:
        more = len(names) - _SHOWN_TIERS
        return f'tiers {", ".join(names[:_SHOWN_TIERS])}' + (
            f' and {more} more' if more > 0 else ''
        )
    if action.key.cluster:
        return f'cluster {action.key.cluster}'
    return 'no tier of the file'
