# SPDX-License-Identifier: Apache-2.0
"""Writes a tiers file, the reverse of `reader`.

`codec` defines the values; this module lays them out as YAML, with comments.
Each text goes through PyYAML, so it is read back unchanged, regardless of its
content. Must not know where the catalog came from.
"""

import collections.abc
import textwrap
import typing

import yaml

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import text as escaping
from cinder_tiers.files.tiers import codec

_WIDTH = 79
_STEP = '  '

#: {place: lines of a comment, which stands before it}.
Comments = collections.abc.Mapping[
    catalogs.Path, collections.abc.Sequence[str]
]
_Value = dict | list | str | int | float | bool


def write(
    catalog: catalogs.Catalog,
    *,
    comments: Comments,
    project_names: collections.abc.Mapping[str, str],
) -> str:
    """Return the text of a catalog.

    :param catalog: sound catalog.
    :param comments: {place: comments}; characters that are not printable are
        escaped, and long lines are wrapped. Those of the place () come first,
        and those of a place that is not written are left out.
    :param project_names: {id of a project: its name}, which is written after
        the id.
    :returns: text that `reader` reads as the same catalog.
    """
    return lay_out(
        codec.write(catalog), comments=comments, project_names=project_names
    )


def lay_out(
    values: dict[str, typing.Any],
    *,
    comments: Comments,
    project_names: collections.abc.Mapping[str, str],
) -> str:
    """Return the text of the plain values of a tiers file.

    :param values: values of a sound file.
    :param comments: see `write`.
    :param project_names: see `write`.
    :returns: text that reads back as the same values.
    """
    writing = _Writing(comments, project_names)
    writing.comment((), '')
    for key, value in values.items():
        if writing.lines:
            writing.lines.append('')
        writing.entry(key, value, (key,), '')
    return '\n'.join(writing.lines) + '\n'


class _Writing:
    """Builds the lines of a file."""

    def __init__(
        self,
        comments: Comments,
        project_names: collections.abc.Mapping[str, str],
    ) -> None:
        self.lines: list[str] = []
        self._comments = comments
        self._noted = {
            place[:length]
            for place in comments
            for length in range(len(place))
        }
        self._project_names = project_names

    def comment(self, path: catalogs.Path, indent: str) -> None:
        """Add the comment of a place."""
        # Each of several remarks must be recognizable.
        hanging = _STEP if path else ''
        for text in self._comments.get(path, ()):
            self.lines.extend(
                textwrap.wrap(
                    escaping.printable(text),
                    width=_WIDTH,
                    initial_indent=f'{indent}# ',
                    subsequent_indent=f'{indent}# {hanging}',
                    break_long_words=False,
                    break_on_hyphens=False,
                )
                or [f'{indent}#']
            )

    def entry(
        self, key: str, value: _Value, path: catalogs.Path, indent: str
    ) -> None:
        """Add a key with its value."""
        if (
            path[0] == 'tiers'
            and len(path) == 2
            and (not self.lines[-1].endswith('tiers:'))
        ):
            self.lines.append('')
        self.comment(path, indent)
        start = f'{indent}{scalar(key)}:'
        is_section = len(path) <= 2 and value and isinstance(value, dict)
        line = (
            f'{start} {flow(value)}'
            if _is_flat(value) and not is_section
            else ''
        )
        if (
            line
            and not self._is_noted(path, value)
            and (len(line) <= _WIDTH or not isinstance(value, dict | list))
        ):
            self.lines.append(line)
            return
        self.lines.append(start)
        if isinstance(value, dict):
            for below, one in value.items():
                self.entry(below, one, (*path, below), indent + _STEP)
        elif isinstance(value, list):
            for one in value:
                note = (
                    self._project_names.get(one)
                    if _has_projects(path)
                    else None
                )
                self.lines.append(
                    f'{indent}- {scalar(one)}'
                    + (f'  # {escaping.printable(note)}' if note else '')
                )

    def _is_noted(self, path: catalogs.Path, value: _Value) -> bool:
        """Return whether a part of the value has a comment."""
        if _has_projects(path) and isinstance(value, list):
            return not self._project_names.keys().isdisjoint(value)
        return path in self._noted


def _has_projects(path: catalogs.Path) -> bool:
    return (
        len(path) == 3
        and path[0] == 'tiers'
        and path[2] in ('access', 'default_for')
    )


def _is_flat(value: _Value) -> bool:
    if isinstance(value, dict):
        return not any(
            isinstance(one, dict | list) and one for one in value.values()
        ) and (len(value) <= 4)
    return True


def flow(value: _Value) -> str:
    """Return a value in one line, with all its content.

    >>> flow({'size': 3, 'tags': ['a']})
    '{size: 3, tags: [a]}'
    """
    if isinstance(value, dict):
        return (
            '{'
            + ', '.join(
                f'{scalar(key)}: {flow(one)}' for key, one in value.items()
            )
            + '}'
        )
    if isinstance(value, list):
        return f'[{", ".join(map(scalar, value))}]'
    return scalar(value)


def scalar(value: catalogs.Value) -> str:
    r"""Return a scalar as YAML, in one line.

    >>> scalar('yes'), scalar('a\nb'), scalar(True)
    ("'yes'", '"a\\nb"', 'true')
    """
    plain = not isinstance(value, str) or value.isprintable()
    text = yaml.safe_dump(
        [value],
        default_flow_style=True,
        width=float('inf'),
        allow_unicode=plain,
        default_style=None if plain else '"',
    )
    return text.strip()[1:-1]
