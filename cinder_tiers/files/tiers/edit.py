# SPDX-License-Identifier: Apache-2.0

"""Changes of values in a tiers file, as a patch.

Comments, order and layout stay: only the text of a value is replaced, or a
line is added. The result is read again, and must have the wanted values and no
other change, so an unusual file is refused and never damaged.
"""

import collections.abc
import copy
import difflib
import os
import re
import typing

import yaml

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.files import read_bounded
from cinder_tiers.files.tiers import includes
from cinder_tiers.files.tiers import writer
from cinder_tiers.files.tiers import yaml_document

_STEP = '  '
# Names that "patch" and "git apply" accept without quotes.
_NAME = re.compile(r'[A-Za-z0-9_.+@,=/-]+')
_NO_NEWLINE = '\\ No newline at end of file\n'

#: {place in the tiers file: value}; places are keys of mappings only.
Changes = collections.abc.Mapping[catalogs.Path, catalogs.Value]


class EditError(ValueError):
    """A file cannot be changed in place; the message has the reason."""


def patch(path: str, whole: includes.Whole, changes: Changes) -> str:
    """Return the diff that changes values of a tiers file.

    A value is changed in the file that contains it, which may be included.

    :param whole: content of the tiers file.
    :returns: a unified diff for "patch -p1" or "git apply" in the folder of
        the tiers file.
    :raises EditError: a file cannot be changed in place, or cannot be named in
        a patch.
    """
    if not os.path.isfile(path):
        raise EditError(f'{path} is not a regular file')
    folder = os.path.dirname(os.path.realpath(path))
    by_file: dict[str, dict[catalogs.Path, catalogs.Value]] = {}
    for place, value in changes.items():
        by_file.setdefault(_file_of(whole, place), {})[place] = value
    found: list[str] = []
    for file, changed in by_file.items():
        name = os.path.relpath(os.path.realpath(file), folder)
        if name.startswith('..') or not _NAME.fullmatch(name):
            raise EditError(
                f'{file} cannot be named in a patch: expected a file below '
                f'{folder}, with a name of letters, digits and any of '
                '"_.+@,=/-"'
            )
        text = whole.text if file == whole.source.file else _text_of(file)
        found += difference(text, with_values(text, changed), name)
    return ''.join(found)


def _file_of(whole: includes.Whole, place: catalogs.Path) -> str:
    """Return the file of a value, or of the closest mapping around it."""
    source = whole.source
    for length in range(len(place), 0, -1):
        if place[:length] in source.lines:
            return source.files.get(place[:length], source.file)
    return source.file


def _text_of(file: str) -> str:
    try:
        return read_bounded.read(
            file, max_bytes=yaml_document.MAX_SIZE_BYTES
        ).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise EditError(f'{file} cannot be read: {error}') from error


def difference(
    before: str, after: str, name: str
) -> collections.abc.Iterator[str]:
    """Yield the lines of a unified diff.

    :param name: name of the file for the diff.
    """
    # splitlines would also split at some characters within a line.
    old, new = (
        re.findall(r'[^\n]*\n|[^\n]+', text) for text in (before, after)
    )
    for line in difflib.unified_diff(
        old, new, fromfile=f'a/{name}', tofile=f'b/{name}'
    ):
        yield line if line.endswith('\n') else f'{line}\n{_NO_NEWLINE}'


def with_values(text: str, changes: Changes) -> str:
    """Return the text of a tiers file, or part of one, with other values.

    :raises EditError: the layout does not allow a change in place.
    """
    changed = text
    wanted = copy.deepcopy(_value_of(text))
    for place, value in changes.items():
        changed = _with_value(changed, place, value)
        holder = wanted
        for key in place[:-1]:
            holder = holder.setdefault(key, {})
        holder[place[-1]] = value
    if _value_of(changed) != wanted:
        raise EditError('the layout of the file is too unusual')
    return changed


def _value_of(text: str) -> typing.Any:
    try:
        found = yaml_document.read(text, file='')
    except errors.ProblemsFound as error:
        raise EditError('the layout of the file is too unusual') from error
    if found.problems:
        raise EditError('the layout of the file is too unusual')
    return found.value


def _with_value(text: str, place: catalogs.Path, value: catalogs.Value) -> str:
    holder = yaml.compose(text, Loader=yaml_document.LOADER)
    for depth, key in enumerate(place):
        if not isinstance(holder, yaml.MappingNode):
            raise EditError(
                f'{".".join(map(str, place[:depth]))} is not a mapping'
            )
        found = next(
            (node for name, node in holder.value if name.value == key), None
        )
        if found is None:
            return _with_entry(text, holder, place[depth:], value)
        holder = found
    if not isinstance(holder, yaml.ScalarNode) or holder.style in ('|', '>'):
        raise EditError(f'{".".join(map(str, place))} is not a plain value')
    return (
        text[: holder.start_mark.index]
        + writer.scalar(value)
        + text[holder.end_mark.index :]
    )


def _with_entry(
    text: str,
    holder: yaml.MappingNode,
    keys: catalogs.Path,
    value: catalogs.Value,
) -> str:
    """Return the text with one more entry at the end of a mapping.

    :param keys: key of the entry, after the keys of mappings to create for it.
    """
    if holder.flow_style:
        entry: dict | catalogs.Value = value
        for key in reversed(keys):
            entry = {key: entry}
        inside = writer.flow(entry)[1:-1]
        if not holder.value:
            place = holder.start_mark.index + 1
            return text[:place] + inside + text[place:]
        place = _end(holder.value[-1][1])
        return f'{text[:place]}, {inside}{text[place:]}'
    newline = '\r\n' if '\r\n' in text else '\n'
    place = _end(holder)
    if text[place - 1] != '\n':
        # After the rest of the line, such as a comment.
        place = text.find('\n', place) + 1 or len(text)
    before = text[:place]
    if not before.endswith('\n'):
        before += newline
    indent = ' ' * holder.value[0][0].start_mark.column
    lines = [
        f'{indent}{_STEP * depth}{writer.scalar(key)}:'
        for depth, key in enumerate(keys)
    ]
    lines[-1] += f' {writer.scalar(value)}'
    return (
        before + ''.join(f'{line}{newline}' for line in lines) + text[place:]
    )


def _end(node: yaml.Node) -> int:
    """Return the end of a node's text; a block ends where the next begins."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style:
        last = node.value[-1]
        node = last[1] if isinstance(node, yaml.MappingNode) else last
    return node.end_mark.index
