# SPDX-License-Identifier: Apache-2.0

"""An audit as text for people: a summary, then a block per finding.

The worst findings come first; equal findings of several objects are one block.
Pure. A project can write any text as the image id of its volumes, so
characters that are not printable are escaped. Must not know how wide a
terminal is, nor where the text goes.
"""

import collections
import collections.abc

from cinder_tiers.cli.render import cells
from cinder_tiers.cli.render import plan_fields
from cinder_tiers.cli.render import plan_text
from cinder_tiers.domain.audit import tiers as audit

_INDENT = ' ' * 4
_TIER = 'tier '
#: Worst first; compliant objects are only named.
_IN_BLOCKS = (
    audit.State.NON_COMPLIANT,
    audit.State.OUT_OF_DATE,
    audit.State.UNKNOWN,
    audit.State.WARNING,
)
_NAMED = (audit.State.NOT_APPLICABLE, audit.State.COMPLIANT)

_Findings = collections.abc.Sequence[audit.Finding]


def lines(findings: _Findings, *, width: int) -> collections.abc.Iterator[str]:
    """Yield the findings of an audit as text.

    :param findings: findings in the order of the audit.
    :param width: columns of the terminal.
    :returns: lines of at most that width, except for longer single words.
    """
    width = max(width, plan_text.LEAST_WIDTH)
    yield from plan_text.wrapped(summary(findings), width, indent='')
    for state in _IN_BLOCKS:
        for alike in _alike(one for one in findings if one.state is state):
            yield ''
            yield from _block(alike, width)
    for state in _NAMED:
        named = _objects(one for one in findings if one.state is state)
        for reason, objects in named.items():
            yield ''
            yield from plan_text.wrapped(
                f'{state.value}: {_listed(objects)}'
                f'{f" ({reason})" if reason else ""}',
                width,
                indent='',
            )


def summary(findings: _Findings) -> str:
    """Return the first line: the number of findings of each state.

    >>> summary(())
    'Audit: nothing was found.'
    """
    counts = collections.Counter(one.state for one in findings)
    found = ', '.join(
        f'{counts[state]} {_plural(state, counts[state])}'
        for state in (*_IN_BLOCKS, *_NAMED)
        if counts[state]
    )
    return f'Audit: {found or "nothing was found"}.'


def _plural(state: audit.State, count: int) -> str:
    is_noun = state is audit.State.WARNING and count != 1
    return f'{state.value}s' if is_noun else state.value


def _alike(
    findings: collections.abc.Iterable[audit.Finding],
) -> collections.abc.Iterable[list[audit.Finding]]:
    """Group the findings that differ only in their objects."""
    found: dict[tuple[str, ...], list[audit.Finding]] = {}
    for one in findings:
        key = (
            one.aspect,
            repr(sorted(one.current.items())),
            repr(sorted(one.expected.items())),
            one.reason,
            one.remedy,
        )
        found.setdefault(key, []).append(one)
    return found.values()


def _objects(
    findings: collections.abc.Iterable[audit.Finding],
) -> dict[str, list[str]]:
    """Return {reason: objects}, each object with its aspect unless ALL."""
    found: dict[str, list[str]] = {}
    for one in findings:
        aspect = '' if one.aspect == audit.ALL else f': {one.aspect}'
        found.setdefault(one.reason, []).append(f'{one.object_name}{aspect}')
    return found


def _listed(objects: list[str]) -> str:
    """Return the names of objects; "tiers" precedes several tiers once.

    >>> _listed(['tier a', 'tier b']), _listed(['tier a'])
    ('tiers a, b', 'tier a')
    """
    tiers = [one.removeprefix(_TIER) for one in objects]
    if len(objects) > 1 and all(one.startswith(_TIER) for one in objects):
        return f'tiers {", ".join(tiers)}'
    return ', '.join(objects)


def _block(
    alike: list[audit.Finding], width: int
) -> collections.abc.Iterator[str]:
    """Yields the lines of findings that differ only in their object."""
    first = alike[0]
    title = f'{first.state.value}: '
    if not first.object_name.startswith(first.aspect):
        title += f'{first.aspect}: '
    title += _listed([one.object_name for one in alike])
    yield from plan_text.wrapped(title, width, indent='')
    yield from plan_text.field_lines(
        tuple(_sides(first)), width, indent=_INDENT
    )
    if first.reason:
        yield from plan_text.wrapped(first.reason, width, indent=_INDENT)
    if first.remedy:
        yield from plan_text.wrapped(
            f'to do: {first.remedy}', width, indent=_INDENT
        )


def _sides(
    finding: audit.Finding,
) -> collections.abc.Iterator[plan_fields.Line]:
    """Yield each field with its current and its expected value."""
    for name in dict.fromkeys((*finding.current, *finding.expected)):
        found, wanted = (
            cells.printable(cells.value_text(side[name]))
            if name in side
            else None
            for side in (finding.current, finding.expected)
        )
        yield plan_fields.Line(
            name=cells.printable(name),
            after='; '.join(
                (
                    *(() if found is None else (found,)),
                    *(() if wanted is None else (f'expected: {wanted}',)),
                )
            ),
        )
