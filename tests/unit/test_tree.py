# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The tree as a whole: sizes, licence headers, and what no file may name."""

import ast
import os
import pathlib

import testtools

TOP = pathlib.Path(__file__).resolve().parents[2]

FILE_LINES = 400
FUNCTION_LINES = 50

# What tools make inside a checkout; none of it is in git.
GENERATED_DIRECTORIES = {
    '.eggs', '.git', '.hypothesis', '.ruff_cache', '.stestr', '.tox',
    '.venv', '__pycache__', 'build', 'cover', 'dist',
}
GENERATED_FILES = {'.coverage', 'AUTHORS', 'ChangeLog'}

LICENCE = (b'Licensed under the Apache License, Version 2.0',
           b'http://www.apache.org/licenses/LICENSE-2.0')

# Assembled, so that this file does not contain what it looks for.
REGISTRY_HOSTS = [name.encode() for name in (
    'pypi' + '.org',
    'python' + 'hosted.org',
    'npm' + 'js.org',
    'registry' + '.npmjs',
    'crates' + '.io',
    'proxy.golang' + '.org',
    'ruby' + 'gems.org',
    'docker' + '.io',
    'quay' + '.io',
)]
# Paths that exist only on a machine where this was written.
FOREIGN_PATHS = [name.encode() for name in (
    'shared' + '/',
    '/work' + '/',
    '/tmp' + '/w/',
)]


def files(top, suffixes=None):
    """All files below a folder that are not made by tools.

    :param top: where to look
    :param suffixes: endings to keep; None: all files
    :returns: sorted list of paths
    """
    found = []
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders
                      if name not in GENERATED_DIRECTORIES
                      and not name.endswith('.egg-info')]
        found += [pathlib.Path(folder, name) for name in names
                  if name not in GENERATED_FILES
                  and not name.startswith('.coverage.')]
    return sorted(path for path in found
                  if suffixes is None or path.suffix in suffixes)


def sources(*folders):
    """Python and shell sources of the named folders; never empty."""
    found = [path for folder in folders
             for path in files(TOP / folder, ('.py', '.sh'))]
    if not found:
        raise ValueError(f'no sources in {folders} of {TOP}')
    return found


def naming(needles):
    """Places that name a needle, as 'file:line: needle'."""
    return [
        f'{path.relative_to(TOP)}:{number}: {needle.decode()}'
        for path in files(TOP)
        for number, line in enumerate(path.read_bytes().splitlines(), 1)
        for needle in needles
        if needle in line
    ]


def long_functions(name, text):
    """Functions above the limit, as 'file:line function: lines'.

    The docstring counts: a function that needs a page of text is too long.
    """
    return [
        f'{name}:{node.lineno} {node.name}: '
        f'{node.end_lineno - node.lineno + 1} lines'
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno >= FUNCTION_LINES
    ]


class TreeTestCase(testtools.TestCase):

    def test_no_source_file_is_longer_than_400_lines(self):
        long = {}
        for path in sources('cinder_tiers', 'rally_scenarios', 'devstack',
                            'tests', 'doc'):
            lines = len(path.read_bytes().splitlines())
            if lines > FILE_LINES:
                long[str(path.relative_to(TOP))] = lines
        self.assertEqual({}, long)

    def test_no_function_is_longer_than_50_lines(self):
        self.assertEqual([], [
            problem
            for path in sources('cinder_tiers', 'rally_scenarios', 'devstack')
            if path.suffix == '.py'
            for problem in long_functions(path.relative_to(TOP),
                                          path.read_text('utf-8'))
        ])

    def test_a_long_function_is_found(self):
        body = '    pass\n' * (FUNCTION_LINES - 1)
        self.assertEqual([], long_functions('x.py', f'def f():\n{body}'))
        self.assertEqual(
            ['x.py:1 f: 51 lines'],
            long_functions('x.py', f'def f():\n{body}    pass\n'))

    def test_every_source_file_has_the_licence_header(self):
        without = []
        for path in files(TOP):
            text = path.read_bytes()
            is_source = (path.suffix in ('.py', '.sh')
                         or text.startswith(b'#!'))
            if is_source and text.strip() and not all(
                    line in text[:800] for line in LICENCE):
                without.append(str(path.relative_to(TOP)))
        self.assertEqual([], without)

    def test_no_file_names_a_package_registry(self):
        self.assertEqual([], naming(REGISTRY_HOSTS))

    def test_no_file_names_a_path_of_somebody_s_machine(self):
        self.assertEqual([], naming(FOREIGN_PATHS))

    def test_what_is_named_is_found_with_file_and_line(self):
        line = 1 + TOP.joinpath('tox.ini').read_text().splitlines().index(
            '[testenv]')
        self.assertIn(f'tox.ini:{line}: [testenv]', naming([b'[testenv]']))
