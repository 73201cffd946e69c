# SPDX-License-Identifier: Apache-2.0

"""A tiers file and the files that it includes, as one value.

Included files come first, in their order, and then the file itself. A later
file adds to the mappings of those before it; other values, also lists, replace
earlier ones, and null removes them. Each part keeps its file and line.

The names of included files may come from a merge request, while an
administrator runs the command: a file outside of the root folder is never
opened, even through a symbolic link, because messages quote file contents.
Must not know what the values mean.
"""

import collections.abc
import dataclasses
import os
import typing

from cinder_tiers.domain.catalog import limits
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.validation import rules
from cinder_tiers.files import read_bounded
from cinder_tiers.files.tiers import yaml_document

#: The key, which is at the top level only.
INCLUDE = 'include'
#: Maximum number of files of a tiers file, including itself.
MAX_FILES = 64
_VERSION = 'version'
_MAX_BYTES = yaml_document.MAX_SIZE_BYTES


@dataclasses.dataclass(frozen=True, kw_only=True)
class Whole:
    """Content of a tiers file and of all files that it includes."""

    #: Value as in `yaml_document.Document`, without the key `include`.
    value: typing.Any
    source: catalogs.CatalogSource
    problems: tuple[errors.Problem, ...]
    #: Names of the files for messages, in the order of precedence.
    files: tuple[str, ...]
    #: Text of the named file.
    text: str


def read(path: str, *, root: str | None = None) -> Whole:
    """Read a tiers file and the files that it includes.

    :param path: path of the tiers file. For a pipe, included files are
        searched in the working directory.
    :param root: folder that must contain all included files; None for that of
        the tiers file.
    :raises errors.ProblemsFound: a file cannot be read, or is not YAML.
    """
    reading = _IncludeReading(path, root)
    reading.read_named()
    if reading.broken:
        raise errors.ProblemsFound(reading.problems)
    return reading.whole()


@dataclasses.dataclass
class _Node:
    """A value, and the place where it or its key was written."""

    #: dict of text to nodes, list of nodes, or a single value.
    value: typing.Any
    file: str
    line: int


class _IncludeReading:
    """Reads files, and keeps their common state."""

    def __init__(self, path: str, root: str | None) -> None:
        self.problems: list[errors.Problem] = []
        #: Set when a file is missing, so that values are missing.
        self.broken = False
        self._path = path
        self._folder = (
            os.path.dirname(os.path.realpath(path))
            if os.path.isfile(path)
            else os.path.realpath('.')
        )
        self._root = self._folder if root is None else os.path.realpath(root)
        self._text = ''
        #: The named file if it includes none.
        self._alone: yaml_document.Document | None = None
        #: Each file as a tree, in the order of precedence.
        self._files: list[_Node] = []
        #: {real path: name} of the files that are being read, from the top.
        self._open: dict[str, str] = {}
        #: {real path: where it was included}
        self._seen: dict[str, str] = {}
        self._left_files = MAX_FILES - 1
        self._left_bytes = _MAX_BYTES
        self._left_nodes = yaml_document.MAX_NODES

    def read_named(self) -> None:
        """Read the named file."""
        document = self._document(self._path, self._path, included_at=None)
        if document is None:
            return
        if isinstance(document.value, dict) and INCLUDE in document.value:
            self._add(
                document, os.path.realpath(self._path), folder=self._folder
            )
        else:
            self._alone = document

    def _document(
        self, path: str, name: str, *, included_at: str | None
    ) -> yaml_document.Document | None:
        """Read one file; return None if that is not possible.

        :param name: name of the file in messages.
        :param included_at: place of the include; None for the named file.
        """
        try:
            text = self._read_text(path, name, included_at)
            document = yaml_document.read(
                text, file=name, max_nodes=self._left_nodes
            )
        except errors.ProblemsFound as error:
            self.problems.extend(error.problems)
            self.broken = True
            return None
        self._left_nodes -= document.nodes
        self.problems.extend(document.problems)
        if included_at is None:
            self._text = text
        return document

    def _read_text(self, path: str, name: str, included_at: str | None) -> str:
        """Return the text of a file.

        :raises errors.ProblemsFound: the file cannot be read.
        """
        found = b''
        try:
            # One byte more than allowed shows that the file is too big.
            found = read_bounded.read(path, max_bytes=self._left_bytes + 1)
            is_too_big = len(found) > self._left_bytes
            self._left_bytes = max(0, self._left_bytes - len(found))
            if not is_too_big:
                return found.decode('utf-8')
            problem = errors.Problem(
                rule=rules.UNREADABLE,
                where=name,
                found='a file that is too big',
                expected=f'at most {_MAX_BYTES} bytes'
                + (' in all files together' if included_at else ''),
                remedy='check that this is the right file',
            )
        except UnicodeDecodeError as error:
            line = found.count(b'\n', 0, error.start) + 1
            problem = errors.Problem(
                rule=rules.UNREADABLE,
                where=f'{name}:{line}',
                found='bytes that are not UTF-8',
                expected='UTF-8 text',
                remedy='save the file as UTF-8',
            )
        except OSError as error:
            problem = errors.Problem(
                rule=rules.INCLUDE if included_at else rules.UNREADABLE,
                where=included_at or name,
                found=f'{f"{name} " if included_at else ""}cannot be read: '
                f'{error.strerror}',
                expected='a tiers file',
                remedy='fix include'
                if included_at
                else 'name one with --catalog or CINDER_TIERS_CATALOG',
            )
        raise errors.ProblemsFound([problem])

    def _add(
        self, document: yaml_document.Document, real: str, *, folder: str
    ) -> None:
        """Add a file, after those that it includes.

        :param real: path without symbolic links.
        :param folder: folder to which names of included files are relative.
        """
        node = _tree(document)
        self._open[real] = node.file
        included = node.value.pop(INCLUDE, None)
        if included is not None:
            for item in self._names(included):
                self._include(item, folder)
        del self._open[real]
        self._files.append(node)

    def _names(self, node: _Node) -> collections.abc.Iterator[_Node]:
        """Yield the names of an `include` that are text."""
        items = node.value
        if not isinstance(items, list) or not items:
            self._wrong(node, 'include is not a list of files')
            return
        for item in items:
            if _is_path(item.value):
                yield item
            else:
                shown = item.value
                self._wrong(
                    item,
                    f'include of {shown!r}'
                    if isinstance(shown, str)
                    else 'include that is not text',
                )

    def _wrong(self, node: _Node, found: str) -> None:
        self._problem(
            f'{node.file}:{node.line}',
            found,
            limits.INCLUDE.expected,
            'fix include',
        )

    def _include(self, item: _Node, folder: str) -> None:
        """Add a file that another one names."""
        where = f'{item.file}:{item.line}'
        if self._left_files <= 0:
            if self._left_files == 0:
                self._problem(
                    where,
                    f'more than {MAX_FILES} files',
                    f'at most {MAX_FILES}',
                    'join some of them',
                )
            self._left_files = -1
            return
        self._left_files -= 1
        real = os.path.realpath(os.path.join(folder, item.value))
        if os.path.commonpath([self._root, real]) != self._root:
            self._problem(
                where,
                f'{item.value!r} is outside of {self._root}',
                'files below that folder, also through symbolic links',
                'move the file there, or name a folder above both with '
                '--include-root',
            )
        elif real in self._open:
            names = list(self._open.values())
            names = names[list(self._open).index(real) :]
            self._problem(
                where,
                f'include loop: {" -> ".join((*names, names[0]))}',
                'include without a loop',
                'remove one of them',
            )
        elif real in self._seen:
            self._problem(
                where,
                f'{item.value!r} was included already at {self._seen[real]}',
                'each file once: a second include would undo what files '
                'after the first one changed',
                'remove one of them',
            )
        else:
            self._seen[real] = where
            self._add_included(real, where)

    def _add_included(self, real: str, where: str) -> None:
        name = (
            real
            if os.path.isabs(self._path)
            else os.path.relpath(real, os.path.realpath('.'))
        )
        document = self._document(real, name, included_at=where)
        if document is None:
            return
        if document.value is None:
            # The file has only comments.
            document = dataclasses.replace(document, value={})
        if isinstance(document.value, dict):
            self._add(document, real, folder=os.path.dirname(real))
        else:
            self._problem(
                f'{name}:1',
                'an included file that is not a mapping',
                'keys of a tiers file',
                'fix the file',
            )

    def whole(self) -> Whole:
        """Return all files as one value."""
        if self._alone is not None:
            return Whole(
                value=self._alone.value,
                source=self._alone.source,
                problems=tuple(self.problems),
                files=(self._path,),
                text=self._text,
            )
        merged, *others = self._files
        names = [one.file for one in self._files]
        for one in others:
            self._check_version(merged, one)
            self._merge(merged, one, ())
        lines: dict[catalogs.Path, int] = {}
        files: dict[catalogs.Path, str] = {}
        value = self._flatten(merged, (), lines, files)
        return Whole(
            value=value,
            source=catalogs.CatalogSource(
                file=self._path, files=files, lines=lines
            ),
            problems=tuple(self.problems),
            files=tuple(names),
            text=self._text,
        )

    def _check_version(self, below: _Node, above: _Node) -> None:
        """Report different versions, which a file must not override."""
        old, new = (one.value.get(_VERSION) for one in (below, above))
        if old is not None and new is not None and old.value != new.value:
            self._problem(
                f'{new.file}:{new.line}',
                f'another version than at {old.file}:{old.line}',
                'one version in all files',
                'fix one of them',
            )

    def _merge(self, below: _Node, above: _Node, path: catalogs.Path) -> None:
        """Change a mapping by one with precedence."""
        below.file, below.line = above.file, above.line
        for key, node in above.value.items():
            old = below.value.get(key)
            if node.value is None:
                if old is None:
                    self._problem(
                        f'{node.file}:{node.line}',
                        f'{".".join(map(str, (*path, key)))} is null, but '
                        'no earlier file has it',
                        'null only for a key of an included file, which '
                        'it removes',
                        'fix the key, or remove it',
                    )
                else:
                    del below.value[key]
            elif (
                old is not None
                and isinstance(old.value, dict)
                and isinstance(node.value, dict)
            ):
                self._merge(old, node, (*path, key))
            else:
                below.value[key] = node

    def _flatten(
        self,
        node: _Node,
        path: catalogs.Path,
        lines: dict[catalogs.Path, int],
        files: dict[catalogs.Path, str],
    ) -> object:
        lines[path] = node.line
        if node.file != self._path:
            files[path] = node.file
        if isinstance(node.value, dict):
            return {
                key: self._flatten(one, (*path, key), lines, files)
                for key, one in node.value.items()
            }
        if isinstance(node.value, list):
            return [
                self._flatten(one, (*path, index), lines, files)
                for index, one in enumerate(node.value)
            ]
        return node.value

    def _problem(
        self, where: str, found: str, expected: str, remedy: str
    ) -> None:
        self.broken = True
        self.problems.append(
            errors.Problem(
                rule=rules.INCLUDE,
                where=where,
                found=found,
                expected=expected,
                remedy=remedy,
            )
        )


def _tree(document: yaml_document.Document) -> _Node:
    source = document.source

    def node(value: object, path: catalogs.Path) -> _Node:
        line = source.lines.get(path, 1)
        if isinstance(value, dict):
            value = {
                key: node(one, (*path, key)) for key, one in value.items()
            }
        elif isinstance(value, list):
            value = [
                node(one, (*path, index)) for index, one in enumerate(value)
            ]
        return _Node(value=value, file=source.file, line=line)

    return node(document.value, ())


def _is_path(value: object) -> bool:
    """Return whether a value can be the name of a file on this system."""
    if not (
        isinstance(value, str)
        and value.isprintable()
        and limits.INCLUDE.fits(value)
    ):
        return False
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        return False
    return True
