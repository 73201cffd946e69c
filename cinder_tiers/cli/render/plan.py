# SPDX-License-Identifier: Apache-2.0

"""Plans and results as rows of a table.

Pure. Must not know where its arguments came from, nor how cliff prints.
"""

from cliff import columns

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
#: Besides, for programs: why an action is refused, and what allows it.
REFUSAL_COLUMNS = ('Refused', 'Reason', 'Allow')
RESULT_COLUMNS = ('Action', 'Object', 'Before', 'After', 'Result')


def plan_row(
    action: actions.Action, effect: effects.Effect = effects.NONE
) -> cells.Row:
    """An action and its effect under PLAN_COLUMNS."""
    return (
        Verb((action.verb, action.refusal is not None)),
        cells.printable(str(action.key)),
        *_before_after(action),
        action.explanation,
        '\n'.join(map(cells.printable, effect.lines)),
        cells.Size(effect.bytes_to_move),
    )


def refusal_row(action: actions.Action) -> cells.Row:
    """An action under REFUSAL_COLUMNS."""
    refusal = action.refusal
    return (
        cells.YesNo(refusal is not None),
        cells.Optional(refusal and refusal.reason),
        cells.Optional(
            str(action.key) if refusal and refusal.yields_to_consent else None
        ),
    )


class Verb(columns.FormattableColumn):
    """What an action does; for people also whether it is refused.

    The value is (verb, whether it is refused).
    """

    def human_readable(self) -> str:
        """Such as `refused: update`."""
        verb, is_refused = self._value
        return f'refused: {verb}' if is_refused else verb

    def machine_readable(self) -> str:
        """`create`, `update` or `delete`."""
        return self._value[0]


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
