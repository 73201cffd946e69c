# SPDX-License-Identifier: Apache-2.0

"""Lists every text of the product that an operator or a tenant can read.

Run from the root of the source tree::

    python3 doc/tools/public_messages.py cinder_tiers > after.txt

Each line is `FILE:LINE: KIND: TEXT`. A value that is known only at run time
appears as its expression in braces. Two lists, made before and after a change
of wording, compare with `diff`; `--no-lines` leaves the line numbers out.

The source files are parsed, not imported, so that the list needs no OpenStack
package. Descriptions in JSON schemas are listed as well: an invalid file is
reported with them.
"""

import argparse
import ast
import collections.abc
import dataclasses
import json
import pathlib
import re
import sys

#: Methods of a logger, and what cliff's application logs with.
LOG_METHODS = frozenset(
    {'critical', 'debug', 'error', 'exception', 'info', 'log', 'warning'}
)
#: Keyword arguments whose text is shown to the user, and their kinds.
KEYWORDS = {
    'deprecated_reason': 'option help',
    'description': 'help',
    'epilog': 'epilog',
    'help': 'help',
    'metavar': 'metavar',
    'usage': 'help',
}
#: Keyword arguments that say themselves which part of a message they are.
NAMED = frozenset(
    {
        'expected',
        'found',
        'note',
        'reason',
        'remedy',
        'summary',
        'text',
        'why',
    }
)
#: Kinds of which a single word is a message.
SHORT = frozenset({'enum', 'metavar', 'table heading'})
#: Names of variables that hold the headings of a table.
HEADINGS = re.compile(r'(^|_)(columns|headers|headings|fields)$', re.I)
#: A line of a JSON schema that has a text, and the text with its quotes.
SCHEMA_TEXT = re.compile(r'\s*"(?:description|title)": (".*"),?\s*')
#: A value that is known only at run time.
HOLE = re.compile(r'\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}')
#: What a message has besides values. A text of one word is none: it is a key,
#: a command or an option.
WORD = re.compile(r'[A-Za-z]{2,}')


@dataclasses.dataclass(frozen=True, order=True)
class Message:
    """One text, where it is and how it reaches the reader."""

    #: Relative to the current folder.
    file: str
    line: int
    kind: str
    text: str


def is_prose(text: str) -> bool:
    """Whether a text has words, and is more than one of them.

    >>> is_prose('correct {name}'), is_prose('{name} -> {value}')
    (True, False)
    """
    return ' ' in text.strip() and bool(WORD.search(HOLE.sub('', text)))


def hole(node: ast.expr) -> str:
    """What stands for a value that is known only at run time."""
    if isinstance(node, ast.FormattedValue):
        # "{name!r}", as f-strings write it.
        return ast.unparse(ast.JoinedStr([node]))[1:].strip('\'"')
    return '{' + ast.unparse(node) + '}'


def text_of(node: ast.AST) -> str | None:
    """The text of an expression, or None if it is not a text.

    Joined parts are put together; each other part is its expression in braces.
    """
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return ''.join(
                part.value if isinstance(part, ast.Constant) else hole(part)
                for part in parts
            )
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            texts = text_of(left), text_of(right)
            if texts == (None, None):
                return None
            return ''.join(
                hole(part) if text is None else text
                for part, text in zip((left, right), texts, strict=True)
            )
        case ast.BinOp(op=ast.Mod(), left=left):
            return text_of(left)
        case ast.Call(
            func=ast.Attribute(value=value, attr='format' | 'strip')
        ):
            return text_of(value)
    return None


def values_in(node: ast.AST) -> collections.abc.Iterator[ast.AST]:
    """The expressions in a text that are not text themselves."""
    match node:
        case ast.JoinedStr(values=parts):
            for part in parts:
                if isinstance(part, ast.FormattedValue):
                    yield part.value
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            for side in (left, right):
                if text_of(side) is None:
                    yield side
                else:
                    yield from values_in(side)
        case ast.BinOp(left=left, right=right):
            yield from values_in(left)
            yield right
        case ast.Call(func=ast.Attribute(value=value), args=arguments):
            yield from values_in(value)
            yield from arguments


class Reader(ast.NodeVisitor):
    """Collects the messages of one module.

    :param file: what the messages name as their place.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._kinds: list[str] = []
        self.messages: list[Message] = []

    def _within(
        self, kind: str, nodes: collections.abc.Iterable[ast.AST]
    ) -> None:
        """Visits nodes whose texts are of one kind."""
        self._kinds.append(kind)
        for node in nodes:
            self.visit(node)
        self._kinds.pop()

    def _add(self, node: ast.expr, kind: str, text: str) -> None:
        self.messages.append(
            Message(self._file, node.lineno, kind, ' '.join(text.split()))
        )

    def visit(self, node: ast.AST) -> None:
        """Takes a text as a whole, and looks into everything else."""
        text = text_of(node)
        if text is None:
            super().visit(node)
            return
        kind = self._kinds[-1] if self._kinds else 'text'
        if is_prose(text) or kind in SHORT:
            self._add(node, kind, text)
        for value in values_in(node):
            self.visit(value)

    def _documented(
        self, node: ast.Module | ast.ClassDef | ast.FunctionDef
    ) -> list[ast.stmt]:
        """The statements without the docstring, which is for maintainers."""
        if ast.get_docstring(node) is None:
            return node.body
        return node.body[1:]

    def visit_Module(self, node: ast.Module) -> None:
        """Leaves the docstring out."""
        for part in self._documented(node):
            self.visit(part)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """The docstring of a command is its help."""
        methods = {
            part.name
            for part in node.body
            if isinstance(part, ast.FunctionDef)
        }
        documented = ast.get_docstring(node)
        if documented and {'take_action', 'get_parser'} & methods:
            self._add(node.body[0].value, 'command help', documented)
        bases = {ast.unparse(base).rpartition('.')[2] for base in node.bases}
        if {'Enum', 'StrEnum'} & bases:
            self._within('enum', self._documented(node))
        else:
            for part in self._documented(node):
                self.visit(part)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Leaves the docstring and the annotations out."""
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        for part in self._documented(node):
            self.visit(part)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Leaves out a text that stands alone, such as a doctest."""
        if not isinstance(node.value, ast.Constant):
            self.visit(node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Leaves the annotation out."""
        if node.value is not None:
            self._assigned([node.target], node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Knows epilogs and the headings of tables by their names."""
        self._assigned(node.targets, node.value)

    def _assigned(
        self, targets: collections.abc.Sequence[ast.expr], value: ast.expr
    ) -> None:
        names = [ast.unparse(target) for target in targets]
        if any(name.endswith('epilog') for name in names):
            self._within('epilog', [value])
        elif any(HEADINGS.search(name) for name in names):
            self._within('table heading', [value])
        else:
            self.visit(value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Texts of exceptions."""
        self._within('exception', filter(None, (node.exc, node.cause)))

    def visit_Return(self, node: ast.Return) -> None:
        """The first part of what a cliff command returns are headings."""
        match node.value:
            case ast.Tuple(elts=[ast.Tuple() as headings, *others]):
                self._within('table heading', [headings])
                for other in others:
                    self.visit(other)
            case None:
                pass
            case value:
                self.visit(value)

    def visit_Call(self, node: ast.Call) -> None:
        """Knows log messages, option help and named texts."""
        name = ast.unparse(node.func)
        owner, _, method = name.rpartition('.')
        if method in LOG_METHODS and re.search(r'log', owner, re.I):
            self._within('log ' + method, node.args)
        elif method.endswith(('Error', 'Exception', 'Failed', 'Problem')):
            self._within('exception', node.args)
        else:
            self.visit(node.func)
            for argument in node.args:
                self.visit(argument)
        option = method.endswith('Opt')
        for keyword in node.keywords:
            kind = KEYWORDS.get(keyword.arg or '')
            if kind and option:
                kind = 'option help'
            if kind:
                self._within(kind, [keyword.value])
            elif keyword.arg in NAMED:
                self._within(keyword.arg, [keyword.value])
            else:
                self.visit(keyword.value)


def read(path: pathlib.Path) -> list[Message]:
    """The messages of one file, by line.

    :raises SyntaxError: it is not Python.
    :raises OSError: it cannot be read.
    """
    text = path.read_text(encoding='utf-8')
    if path.suffix == '.json':
        return [
            Message(str(path), number, 'schema', json.loads(found[1]))
            for number, line in enumerate(text.splitlines(), start=1)
            if (found := SCHEMA_TEXT.fullmatch(line))
        ]
    reader = Reader(str(path))
    reader.visit(ast.parse(text))
    return sorted(reader.messages)


def files_in(path: pathlib.Path) -> list[pathlib.Path]:
    """The Python files and JSON schemas below a folder, or the file itself."""
    if not path.is_dir():
        return [path]
    return sorted((*path.rglob('*.py'), *path.rglob('*.schema.json')))


def main(arguments: collections.abc.Sequence[str] | None = None) -> int:
    """Prints the list.

    :returns: the exit status.
    """
    parser = argparse.ArgumentParser(
        description='List every public message of the product.'
    )
    parser.add_argument(
        'paths',
        nargs='+',
        type=pathlib.Path,
        metavar='<path>',
        help='a file, or a folder with all Python files and schemas below it',
    )
    parser.add_argument(
        '--no-lines',
        action='store_true',
        help='leave the line numbers out, so that two lists compare well',
    )
    chosen = parser.parse_args(arguments)
    for path in chosen.paths:
        for message in (one for file in files_in(path) for one in read(file)):
            place = message.file
            if not chosen.no_lines:
                place += f':{message.line}'
            sys.stdout.write(f'{place}: {message.kind}: {message.text}\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
