# SPDX-License-Identifier: Apache-2.0

"""Plans and results as rows of a table.

Pure. Must not know where its arguments came from, nor how cliff prints.
"""

import collections.abc

from cliff import columns

from cinder_tiers.cli.render import cells
from cinder_tiers.cli.render import plan_fields
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
#: Further columns for programs: the reason of a refusal, the name for --allow,
#: notes, and names of the projects whose ids the action has.
REFUSAL_COLUMNS = ('Refused', 'Reason', 'Allow', 'Notes', 'Projects')
RESULT_COLUMNS = ('Action', 'Object', 'Before', 'After', 'Result', 'Notes')


def plan_row(
    action: actions.Action,
    effect: effects.Effect = effects.NONE,
    projects: plan_fields.Projects = plan_fields.NO_NAMES,
) -> cells.Row:
    """Return the cells of an action and its effect under PLAN_COLUMNS.

    :param projects: {id: name} to show for people; empty for programs, which
        compare ids.
    """
    return (
        Verb((action.verb, action.refusal is not None)),
        cells.printable(str(action.key)),
        *_before_after(action, projects),
        plan_fields.named(action.explanation, projects),
        '\n'.join(map(cells.printable, effect.lines)),
        cells.Size(effect.bytes_to_move),
    )


def refusal_row(
    action: actions.Action,
    names: collections.abc.Mapping[str, str | None] = plan_fields.NO_NAMES,
) -> cells.Row:
    """Return the cells of an action under REFUSAL_COLUMNS.

    :param names: {id of a project: its name; None if unknown}.
    """
    refusal = action.refusal
    return (
        cells.YesNo(refusal is not None),
        cells.Optional(refusal and refusal.reason),
        cells.Optional(
            str(action.key) if refusal and refusal.yields_to_consent else None
        ),
        cells.Words(action.notes),
        cells.Fields(
            {
                ident: names[ident]
                for ident in sorted(action.projects)
                if names.get(ident)
            }
        ),
    )


class Verb(columns.FormattableColumn):
    """The effect of an action; for people also whether it is refused.

    The value is (verb, whether it is refused).
    """

    def human_readable(self) -> str:
        """Return the verb, such as `refused: update`."""
        verb, is_refused = self._value
        return f'refused: {verb}' if is_refused else verb

    def machine_readable(self) -> str:
        """Return `create`, `update` or `delete`."""
        return self._value[0]


def result_row(result: actions.Result) -> cells.Row:
    """Return the cells of a result under RESULT_COLUMNS."""
    outcome = result.outcome.value
    if result.reason:
        outcome = f'{outcome}: {result.reason}'
    action = result.action
    return (
        action.verb,
        cells.printable(str(action.key)),
        *_before_after(action),
        cells.printable_lines(outcome),
        cells.printable(result_note(result)),
    )


def result_note(result: actions.Result) -> str:
    """Return notes on a completed action; '' for none."""
    if result.outcome is not actions.Outcome.DONE:
        return ''
    return plan_fields.result_note(result.action)


def _before_after(
    action: actions.Action,
    projects: plan_fields.Projects = plan_fields.NO_NAMES,
) -> tuple[cells.Fields, cells.Fields]:
    """Return the fields that differ; without a before or after, those set."""
    if action.before and action.after:
        changed = difference.differences(action.before, action.after)
        sides = (
            {one.field: one.before for one in changed},
            {one.field: one.after for one in changed},
        )
    else:
        sides = (
            difference.set_fields_of(action.before),
            difference.set_fields_of(action.after),
        )
    before, after = (
        cells.Fields(
            {
                name: frozenset(projects.get(one, one) for one in value)
                if isinstance(value, frozenset)
                else value
                for name, value in side.items()
            }
        )
        for side in sides
    )
    return before, after
