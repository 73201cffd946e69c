# SPDX-License-Identifier: Apache-2.0

"""A plan as the comment of a merge request, in Markdown.

GitHub, GitLab and Gitea render it: tables and some HTML. Names come from other
people, so each is in `<code>`, where forges look neither for users to notify
nor for issues to link; and each character with a meaning in Markdown, HTML or
a forge is a numeric reference. Omitted parts are counted. Pure. Must not know
where the text goes.
"""

import collections.abc
import string

from cinder_tiers.cli.render import cells
from cinder_tiers.cli.render import plan_fields
from cinder_tiers.cli.render import plan_text
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import effects
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain import units

#: Characters of a comment; GitHub accepts no more, other forges do.
MAX_CHARS = 65_536
#: Characters for the sentence on omitted parts.
_RESERVED_CHARS = 300
#: Characters of one text of an action, before they become references.
_SHOWN_CHARS = 1000
#: Characters of the values of one action; omitted ones are counted.
_CELL_CHARS = 12_000
_PLAIN = frozenset(f'{string.ascii_letters}{string.digits} (),/+=-')
_COLUMNS = '| | Object | Change | Moves | Risk |\n|---|---|---|---|---|\n'


def text(
    plan: plans.Plan,
    *,
    catalog: catalogs.Catalog,
    found: collections.abc.Mapping[actions.Key, effects.Effect],
    caveats: collections.abc.Iterable[str] = (),
    projects: plan_fields.Projects = plan_fields.NO_NAMES,
) -> str:
    """Return the comment: summary, refused changes, and all changes.

    :param found: effect of each action.
    :param caveats: warnings to show with the changes.
    :param projects: {id: name} of known projects.
    :returns: ASCII, at most MAX_CHARS.
    """
    said = ''.join(f'\n- **caveat:** {code(one)}\n' for one in caveats)
    if not plan.actions:
        return f'**No changes: Cinder and Ceph match the tiers file.**\n{said}'
    refused = [
        _refused(action, action.refusal, projects)
        for action in plan.refused
        if action.refusal
    ]
    changes = list(_changes(plan, catalog, found, projects))
    shown = f'**{plan_text.summary(plan, found)}**\n{said}'
    if refused:
        refused[0] = f'\n#### Refused\n\n{refused[0]}'
    left = MAX_CHARS - _RESERVED_CHARS - len(shown)
    kept: list[str] = []
    for part in (*refused, *changes):
        left -= len(part)
        if left < 0:
            break
        kept.append(part)
    cut = len(refused) + len(changes) - len(kept)
    shown += ''.join(kept)
    if cut:
        cut_refused = max(len(refused) - len(kept), 0)
        shown += (
            f'\n**Not shown: {cut - cut_refused} of {len(changes)} changes, '
            f'and why {cut_refused} of {len(refused)} are refused. A comment '
            f'has at most {MAX_CHARS:,} characters; "openstack tier plan" '
            'shows all.**\n'
        )
    return shown


def code(of_others: str) -> str:
    """Return text that means nothing to Markdown, HTML or a forge.

    >>> code('@all <b>')
    '<code>&#64;all &#60;b&#62;</code>'
    """
    clipped = cells.printable(of_others)
    if len(clipped) > _SHOWN_CHARS:
        clipped = f'{clipped[:_SHOWN_CHARS]}...'
    return f'<code>{_references(clipped)}</code>'


def _references(printable: str) -> str:
    return ''.join(
        char if char in _PLAIN else f'&#{ord(char)};' for char in printable
    )


def _refused(
    action: actions.Action,
    refusal: actions.Refusal,
    projects: plan_fields.Projects,
) -> str:
    # People copy it, so it is never cut.
    argument = _references(cells.printable(action.consent_argument))
    allow = (
        f'to allow it: <code>{argument}</code>'
        if refusal.yields_to_consent
        else actions.NOT_ALLOWABLE
    )
    return (
        f'- {action.verb} {code(str(action.key))}\n'
        f'  - refused: {code(plan_fields.named(refusal.reason, projects))}\n'
        f'  - instead: {code(refusal.remedy)}\n'
        f'  - {allow}\n'
    )


def _changes(
    plan: plans.Plan,
    catalog: catalogs.Catalog,
    found: collections.abc.Mapping[actions.Key, effects.Effect],
    projects: plan_fields.Projects,
) -> collections.abc.Iterator[str]:
    """Yield a row for each action; the first of a table has its head."""
    for title, group in plan_text.groups(plan, catalog).items():
        head = f'\n#### {code(title)}\n\n{_COLUMNS}'
        for action in group:
            yield head + _row(action, found[action.key], title, projects)
            head = ''


def _row(
    action: actions.Action,
    effect: effects.Effect,
    title: str,
    projects: plan_fields.Projects,
) -> str:
    size_bytes = effect.bytes_to_move
    risks = [
        *(f'**problem:** {code(one)}' for one in effect.problems),
        *map(code, effect.statements),
        *(
            f'note: {code(one)}'
            for one in plan_fields.remarks(action, title, projects)
        ),
    ]
    if action.consented:
        reason = plan_fields.named(action.consented.reason, projects)
        risks.append(f'allowed, although {code(reason)}')
    columns = (
        f'{plan_text.MARKS[action.verb]} {action.verb}'
        f'{", **refused**" if action.refusal else ""}',
        code(str(action.key)),
        _fields(plan_fields.of_action(action, projects)),
        'unknown'
        if size_bytes is None
        else units.size_text(size_bytes)
        if size_bytes
        else '',
        '<br>'.join(risks),
    )
    return f'| {" | ".join(columns)} |\n'


def _fields(lines: collections.abc.Sequence[plan_fields.Line]) -> str:
    """Return the cell with all values; those that do not fit are counted."""
    shown: list[str] = []
    left = _CELL_CHARS
    for one in lines:
        text = code(str(one))
        left -= len(text)
        if left < 0 and shown:
            shown.append(f'and {len(lines) - len(shown)} more fields')
            break
        shown.append(text)
    return '<br>'.join(shown)
