# SPDX-License-Identifier: Apache-2.0

"""A plan as text for people: what changes, by tier, and a last line.

Each action begins with a line that fits the terminal; below it is what a
person decides by: the data that it moves, why it is refused, and how to allow
it, which are never cut. Pure. Must not know how wide a terminal is, nor where
the text goes.
"""

import collections.abc
import textwrap

from cinder_tiers.cli.render import cells
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import effects
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.resources import registry
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import difference
from cinder_tiers.domain import units

#: Narrower text is not readable; a terminal may say that it has 0 columns.
LEAST_WIDTH = 40
#: {verb: sign of an action}
MARKS = {'create': '+', 'update': '~', 'delete': '-'}
_SHOWN_TIERS = 3
_LONGEST_VALUE = 40
_CUT = '...'
_INDENT = ' ' * 6

_Effects = collections.abc.Mapping[actions.Key, effects.Effect]


def lines(
    plan: plans.Plan,
    *,
    catalog: catalogs.Catalog,
    found: _Effects,
    width: int,
) -> collections.abc.Iterator[str]:
    """A plan, grouped by tier, and what it comes to.

    :param plan: of the catalog; nothing is shown of an empty one.
    :param found: the effect of each action.
    :param width: columns of the terminal.
    :returns: lines of at most so many columns, but for single words that are
        longer, such as names.
    """
    width = max(width, LEAST_WIDTH)
    for title, group in groups(plan, catalog).items():
        yield cells.printable(title)
        for action in group:
            yield from action_lines(action, found[action.key], width=width)
        yield ''
    if plan.actions:
        yield from textwrap.wrap(summary(plan, found), width)


def action_lines(
    action: actions.Action, effect: effects.Effect, *, width: int
) -> collections.abc.Iterator[str]:
    """One action: a line, and what a person decides by.

    :param effect: of the action.
    :param width: columns of the terminal.
    """
    yield _first_line(action, width)
    details = list(effect.lines)
    if action.after is None:
        details.insert(0, action.why)
    if action.refusal:
        details.append(f'refused: {action.refusal.reason}')
        details.append(f'instead: {action.refusal.remedy}')
        details.append(
            f'to allow it: {action.consent_argument}'
            if action.refusal.yields_to_consent
            else 'to allow it: --allow has no effect on this'
        )
    elif action.consented:
        details.append(f'allowed, although {action.consented.reason}')
    for detail in details:
        yield from textwrap.wrap(
            cells.printable(detail),
            width,
            initial_indent=_INDENT,
            subsequent_indent=f'{_INDENT}  ',
            # A command is copied from here.
            break_long_words=False,
            break_on_hyphens=False,
        )


def summary(plan: plans.Plan, found: _Effects) -> str:
    """The last line: how much is done, moved and refused.

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
    """{title: actions}, tiers in the order of the file, then the rest."""
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


def _first_line(action: actions.Action, width: int) -> str:
    line = cells.printable(f'  {MARKS[action.verb]} {action.key}')
    if not (action.before and action.after):
        return line
    return f'{line}: {changes_text(action, width - len(line) - len(": "))}'


def changes_text(action: actions.Action, width: int) -> str:
    """What an action changes, in one line; what does not fit is counted.

    :param action: of an object that exists and stays.
    :param width: characters of the line, but for the count alone.
    """
    line = ''
    changes = [
        cells.printable(
            f'{one.field} {_value(one.before)} -> {_value(one.after)}'
        )
        for one in difference.differences(action.before, action.after)
    ]
    shown = 0
    while shown < len(changes):
        text = f'{line}{", " if shown else ""}{changes[shown]}'
        left = len(changes) - shown - 1
        if len(text) + (len(_more(left, shown + 1)) if left else 0) > width:
            break
        line = text
        shown += 1
    left = len(changes) - shown
    return line + _more(left, shown) if left else line


def _more(left: int, shown: int) -> str:
    fields = 'field' if left == 1 else 'fields'
    return f' and {left} more' if shown else f'{left} {fields}'


def _value(value: object) -> str:
    text = cells.value_text(value)
    if len(text) <= _LONGEST_VALUE:
        return text
    return text[: _LONGEST_VALUE - len(_CUT)] + _CUT
