# SPDX-License-Identifier: Apache-2.0

"""Reads YAML text as plain values, with the line of each.

Accepts the plain part of YAML that a catalog needs. Anchors, aliases and tags
are refused (with aliases, a small file becomes a huge value), as are big and
deep files, so hostile text costs little. Must not know what the values mean.
"""

import collections.abc
import dataclasses
import itertools
import re
import typing

import yaml

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.validation import rules

#: An export of 5,000 volume types; 1,000 of them take 3 s with libyaml.
MAX_SIZE_BYTES = 2 * 2**20
#: A sound catalog has 5 levels.
MAX_DEPTH = 16
#: Mappings, lists, keys and values: 5,000 tiers with 40 of them each.
MAX_NODES = 200_000
#: Longer than anything that Cinder or Ceph would store. Some numbers and
#: combining characters cost the square of their length.
MAX_SCALAR_CHARS = 1024

#: Marks of the C and Python loaders agree; the C one is 10 times faster.
LOADER = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
_SCALARS = frozenset(
    f'tag:yaml.org,2002:{name}' for name in ('bool', 'float', 'int', 'null')
)

_INT, _FLOAT = 'tag:yaml.org,2002:int', 'tag:yaml.org,2002:float'
_DECIMAL = re.compile('[-+]?(0|[1-9][0-9]*)')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Document:
    """Content of a YAML text."""

    #: dict, list, str, int, float, bool or None; keys of a dict are str.
    value: typing.Any
    source: catalogs.CatalogSource
    #: Problems that did not stop reading.
    problems: tuple[errors.Problem, ...]
    #: Number of mappings, lists, keys and values.
    nodes: int = 0


def read(text: str, *, file: str, max_nodes: int = MAX_NODES) -> Document:
    """Read one YAML document.

    :param file: name of the file in messages.
    :param max_nodes: maximum number of mappings, lists, keys and values.
    :raises errors.ProblemsFound: the text is not a single plain document.
    """
    size_bytes = len(text.encode('utf-8', 'surrogatepass'))
    if size_bytes > MAX_SIZE_BYTES:
        raise errors.ProblemsFound(
            [
                errors.Problem(
                    rule=rules.YAML,
                    where=file,
                    found=f'{size_bytes} bytes',
                    expected=f'at most {MAX_SIZE_BYTES}',
                    remedy='check that this is the right file',
                )
            ]
        )
    refused: list[errors.Problem] = []
    try:
        ends = False
        for problem, is_fatal in _refusals(text, file, max_nodes):
            refused.append(problem)
            ends |= is_fatal
        if ends:
            raise errors.ProblemsFound(refused)
        node = yaml.compose(text, Loader=LOADER)
    # A lone surrogate, which a JSON file may hold, has no UTF-8 for libyaml.
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        raise errors.ProblemsFound(
            [*refused, _syntax(error, text, file)]
        ) from error
    reading = _YamlReading(file=file)
    value = None if node is None else reading.value(node, ())
    return Document(
        value=value,
        problems=(*refused, *reading.problems),
        nodes=reading.nodes,
        source=catalogs.CatalogSource(file=file, lines=reading.lines),
    )


def _refusals(
    text: str,
    file: str,
    max_nodes: int,
) -> collections.abc.Iterator[tuple[errors.Problem, bool]]:
    """Yield problems of YAML events, before anything is built.

    :returns: each problem, and whether reading must stop.
    """
    depth = documents = nodes = 0
    for event in yaml.parse(text, Loader=LOADER):
        where = f'{file}:{event.start_mark.line + 1}'
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
        nodes += isinstance(event, yaml.NodeEvent)
        found = _refused(event)
        if found:
            yield (
                errors.Problem(
                    rule=rules.YAML,
                    where=where,
                    found=found,
                    expected='plain YAML',
                    remedy='write out the value where it is needed',
                ),
                # An anchor or a tag alone makes no value larger.
                isinstance(event, yaml.AliasEvent),
            )
        length = len(getattr(event, 'value', ''))
        if length > MAX_SCALAR_CHARS:
            yield (
                errors.Problem(
                    rule=rules.YAML,
                    where=where,
                    found=f'a value of {length} characters',
                    expected=f'at most {MAX_SCALAR_CHARS}',
                    remedy='shorten it, or look for a missing quote',
                ),
                True,
            )
        too_much = (
            'a second document'
            if documents > 1
            else f'more than {MAX_DEPTH} levels'
            if depth > MAX_DEPTH
            else f'more than {MAX_NODES} keys and values'
            if nodes > max_nodes
            else ''
        )
        if too_much:
            yield (
                errors.Problem(
                    rule=rules.YAML,
                    where=where,
                    found=too_much,
                    expected='one document of a few levels and at most '
                    f'{MAX_NODES} keys and values, with all that is included',
                    remedy='remove the excess',
                ),
                True,
            )
            return


def _refused(event: yaml.Event) -> str:
    if isinstance(event, yaml.AliasEvent):
        return f'the alias *{event.anchor}'
    if getattr(event, 'anchor', None):
        return f'the anchor &{event.anchor}'
    tag = getattr(event, 'tag', None)
    return f'the YAML tag {tag}' if tag else ''


def _unprintable(
    error: yaml.reader.ReaderError | UnicodeEncodeError,
    text: str,
    file: str,
) -> errors.Problem:
    """Return the problem of a character that YAML does not allow.

    The position in the error counts bytes for one loader, and characters for
    the other.
    """
    character = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if character is None:
        return errors.Problem(
            rule=rules.YAML,
            where=file,
            found=' '.join(str(error).split()),
            expected='YAML',
            remedy='remove the character',
        )
    # The rest of a line makes it a line, even where it is empty.
    line = len(f'{text[: character.start()]}x'.splitlines())
    return errors.Problem(
        rule=rules.YAML,
        where=f'{file}:{line}',
        found=f'the character U+{ord(character[0]):04X}',
        expected='text that can be printed',
        remedy='remove the character',
    )


def _syntax(
    error: yaml.YAMLError | UnicodeEncodeError, text: str, file: str
) -> errors.Problem:
    mark = getattr(error, 'problem_mark', None) or getattr(
        error, 'context_mark', None
    )
    if isinstance(error, yaml.reader.ReaderError | UnicodeEncodeError):
        return _unprintable(error, text, file)
    said = [
        getattr(error, name, None) for name in ('context', 'problem', 'reason')
    ]
    found = ', '.join(filter(None, said)) or ' '.join(str(error).split())
    return errors.Problem(
        rule=rules.YAML,
        where=f'{file}:{mark.line + 1}' if mark else file,
        found=found,
        expected='YAML',
        remedy=(
            'check the indentation, colons and quotes there and on the line '
            'above'
        ),
    )


def _is_odd(node: yaml.ScalarNode) -> bool:
    """Return whether YAML reads a number in an unexpected way.

    These are octal numbers (010), those of base 60 (1:30), those with
    underscores, and .nan, which no range check would reject.
    """
    if node.tag == _INT:
        return _DECIMAL.fullmatch(node.value) is None
    return node.tag == _FLOAT and (
        not {':', '_'}.isdisjoint(node.value) or node.value.lower() == '.nan'
    )


class _YamlReading:
    """Builds values from YAML nodes and keeps the lines."""

    def __init__(self, file: str) -> None:
        self.lines: dict[catalogs.Path, int] = {}
        self.problems: list[errors.Problem] = []
        self.nodes = 0
        self._file = file
        self._loader = yaml.SafeLoader('')

    def value(self, node: yaml.Node, path: catalogs.Path) -> object:
        """Return the value of a node; keep its line unless a key had one."""
        self.lines.setdefault(path, node.start_mark.line + 1)
        self.nodes += 1
        if isinstance(node, yaml.MappingNode):
            self.nodes += len(node.value)
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [
                self.value(item, (*path, index))
                for item, index in zip(node.value, itertools.count())
            ]
        return self._scalar(node, path)

    def _mapping(
        self, node: yaml.MappingNode, path: catalogs.Path
    ) -> dict[str, object]:
        result: dict[str, object] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self._problem(
                    line,
                    'a key that is not text',
                    'a plain key',
                    'check the brackets and braces there',
                    rule=rules.KEY,
                )
                continue
            key = key_node.value
            if key in result:
                first = self.lines[(*path, key)]
                self._problem(
                    line,
                    f'key {key!r} is repeated, first on line {first}',
                    'each key once',
                    'remove or rename one of them',
                    rule=rules.KEY,
                )
                continue
            self.lines[(*path, key)] = line
            result[key] = self.value(value_node, (*path, key))
        return result

    def _scalar(self, node: yaml.ScalarNode, path: catalogs.Path) -> object:
        # Dates and the like stay text.
        if node.tag not in _SCALARS:
            return node.value
        try:
            value = self._loader.construct_object(node)
            if _is_odd(node):
                self._problem(
                    node.start_mark.line + 1,
                    f'the number {node.value}, which YAML 1.1 reads as '
                    f'{value}',
                    'a decimal number',
                    'write it in decimal digits, or in quotes if it is text',
                    rule=rules.NUMBER,
                )
                return None
            return value
        # Python and PyYAML refuse some numbers, such as 5000 digits, and
        # PyYAML fails on a text with the tag of a number or boolean.
        except (IndexError, KeyError, ValueError):
            self._problem(
                node.start_mark.line + 1,
                'an unreadable number or boolean',
                'a number, true, false or text',
                f'fix {".".join(map(str, path))}',
                rule=rules.NUMBER,
            )
            return None

    def _problem(
        self, line: int, found: str, expected: str, remedy: str, *, rule: str
    ) -> None:
        self.problems.append(
            errors.Problem(
                rule=rule,
                where=f'{self._file}:{line}',
                found=found,
                expected=expected,
                remedy=remedy,
            )
        )
