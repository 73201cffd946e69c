# SPDX-License-Identifier: Apache-2.0

"""Plans and results as rows of a table.

Pure. Must not know where its arguments came from, nor how cliff prints.
"""

from cinder_tiers.cli.render import cells
from cinder_tiers.domain.plan import effects
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import difference

PLAN_COLUMNS = (
    'Action',
    'Object',
    'Before',
    'After',
    'Why',
    'Effect',
    'Bytes to move',
)
RESULT_COLUMNS = ('Action', 'Object', 'Before', 'After', 'Result')


def plan_row(
    action: actions.Action, effect: effects.Effect = effects.NONE
) -> cells.Row:
    """An action and its effect under PLAN_COLUMNS."""
    verb = f'refused: {action.verb}' if action.refusal else action.verb
    return (
        verb,
        cells.printable(str(action.key)),
        *_before_after(action),
        action.explanation,
        '\n'.join(map(cells.printable, effect.lines)),
        cells.Size(effect.bytes_to_move),
    )


def plan_line(action: actions.Action) -> str:
    """An action in one line, fit for a terminal."""
    text = f'{action.verb} {action.key}'
    if action.before and action.after:
        changes = ', '.join(
            f'{one.field} {cells.value_text(one.before)} -> '
            f'{cells.value_text(one.after)}'
            for one in difference.differences(action.before, action.after)
        )
        text += f': {changes}'
    if action.consented:
        text += f' (allowed, although {action.consented.reason})'
    return cells.printable(text)


def result_row(result: actions.Result) -> cells.Row:
    """A result under RESULT_COLUMNS."""
    outcome = result.outcome.value
    if result.reason:
        outcome = f'{outcome}: {result.reason}'
    action = result.action
    return (
        action.verb,
        cells.printable(str(action.key)),
        *_before_after(action),
        cells.printable_lines(outcome),
    )


def _before_after(action: actions.Action) -> tuple[cells.Fields, cells.Fields]:
    """Only what differs; what is set when there is one side."""
    if action.before and action.after:
        changed = difference.differences(action.before, action.after)
        return (
            cells.Fields({one.field: one.before for one in changed}),
            cells.Fields({one.field: one.after for one in changed}),
        )
    return _set_fields(action.before), _set_fields(action.after)


def _set_fields(resource: actions.Resource | None) -> cells.Fields:
    if resource is None:
        return cells.Fields({})
    return cells.Fields(
        {
            name: value
            for name, value in difference.fields_of(resource).items()
            if value not in (None, False, '', frozenset())
        }
    )
