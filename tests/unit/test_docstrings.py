# SPDX-License-Identifier: Apache-2.0

"""Docstrings name only what exists, and every module says why it exists.

A docstring that documents a parameter or an exception that is gone is worse
than none. Sources are read with ast, nothing is imported.
"""

import ast
import builtins
import pathlib
import re

import testtools

TOP = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ('cinder_tiers', 'rally_scenarios')

PARAMETER = re.compile(r'^\s*:param(?:\s+[^\s:]+)*?\s+\*{0,2}(\w+)\s*:', re.M)
RAISES = re.compile(r'^\s*:raises?\s+([^:\n]+):', re.M)


def sources():
    """All our sources: {path relative to the top: text}."""
    return {
        path.relative_to(TOP): path.read_text('utf-8')
        for package in PACKAGES
        for path in sorted((TOP / package).rglob('*.py'))
    }


def defined_classes(texts):
    """Names of all classes in source texts."""
    return {
        node.name
        for text in texts
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
    }


def parameters(node):
    """Names that the docstring of a function or class may document.

    :param node: ast node of a function, or of a class: its fields and the
        parameters of its ``__init__`` count
    :returns: set of names
    """
    if isinstance(node, ast.ClassDef):
        names = {
            item.target.id
            for item in node.body
            if isinstance(item, ast.AnnAssign)
            and isinstance(item.target, ast.Name)
        }
        for item in node.body:
            if isinstance(item, ast.FunctionDef) and item.name == '__init__':
                names |= parameters(item)
        return names
    arguments = node.args
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    found += [extra for extra in (arguments.vararg, arguments.kwarg) if extra]
    return {argument.arg for argument in found}


def imported_names(tree):
    """Names that the imports of a module bind in it."""
    return {
        (alias.asname or alias.name).split('.')[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def is_exception(name, imported, ours):
    """Whether a documented exception exists.

    :param name: as in the docstring: ``KeyError``, ``errors.CatalogError``
    :param imported: names that the module imports
    :param ours: names of all classes of the project
    """
    root, _, last = name.partition('.')
    if last and root in imported:
        # Of another project's module only the import can be checked.
        return True
    last = name.rpartition('.')[2]
    builtin = getattr(builtins, name, None)
    return (
        last in ours
        or name in imported
        or (isinstance(builtin, type) and issubclass(builtin, BaseException))
    )


def problems(path, text, ours):
    """What the docstrings of one source name in vain.

    :param path: only for the message
    :param text: the source
    :param ours: names of all classes of the project
    :returns: list of sentences
    """
    tree = ast.parse(text)
    imported = imported_names(tree)
    found = []
    if tree.body and ast.get_docstring(tree) is None:
        found.append(
            f'{path}: no module docstring: why does it exist, and '
            'what must it not know?'
        )
    for node in ast.walk(tree):
        if not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        ):
            continue
        where = f'{path}:{node.lineno} {node.name}'
        docstring = ast.get_docstring(node) or ''
        names = parameters(node)
        found += [
            f'{where}: documents parameter {name}, has {sorted(names)}'
            for name in PARAMETER.findall(docstring)
            if name not in names
        ]
        found += [
            f'{where}: documents exception {name}, which nothing here '
            'defines or imports'
            for documented in RAISES.findall(docstring)
            for name in re.split(r',\s*|\s+or\s+', documented.strip())
            if not is_exception(name, imported, ours)
        ]
    for node in tree.body:
        if (
            isinstance(node, ast.FunctionDef | ast.ClassDef)
            and not node.name.startswith('_')
            and ast.get_docstring(node) is None
        ):
            found.append(
                f'{path}:{node.lineno} {node.name}: public, without '
                'a docstring'
            )
    return found


class TreeTestCase(testtools.TestCase):
    def test_docstrings_name_what_exists(self):
        texts = sources()
        ours = defined_classes(texts.values())
        self.assertEqual(
            [],
            [
                problem
                for path, text in texts.items()
                for problem in problems(path, text, ours)
            ],
        )
