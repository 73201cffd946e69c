# SPDX-License-Identifier: Apache-2.0

"""The tree as a whole: licence headers, and what no file may name."""

import ast
import os
import pathlib
import re

import testtools

TOP = pathlib.Path(__file__).resolve().parents[2]

# What tools make inside a checkout; none of it is in git.
GENERATED_DIRECTORIES = {
    '.eggs',
    '.git',
    '.hypothesis',
    '.ruff_cache',
    '.stestr',
    '.tox',
    '.venv',
    '__pycache__',
    'build',
    'cover',
    'dist',
}
GENERATED_FILES = {'.coverage', 'AUTHORS', 'ChangeLog'}

LICENCE = b'\n# SPDX-License-Identifier: Apache-2.0\n'

# Assembled, so that this file does not contain what it looks for.
REGISTRY_HOSTS = [
    name.encode()
    for name in (
        'pypi' + '.org',
        'python' + 'hosted.org',
        'npm' + 'js.org',
        'registry' + '.npmjs',
        'crates' + '.io',
        'proxy.golang' + '.org',
        'ruby' + 'gems.org',
        'docker' + '.io',
        'quay' + '.io',
    )
]


def files(top, suffixes=None):
    """All files below a folder that are not made by tools.

    :param top: where to look
    :param suffixes: endings to keep; None: all files
    :returns: sorted list of paths
    """
    found = []
    for folder, folders, names in os.walk(top):
        folders[:] = [
            name
            for name in folders
            if name not in GENERATED_DIRECTORIES
            and not name.endswith('.egg-info')
        ]
        found += [
            pathlib.Path(folder, name)
            for name in names
            if name not in GENERATED_FILES
            and not name.startswith('.coverage.')
        ]
    return sorted(
        path for path in found if suffixes is None or path.suffix in suffixes
    )


def naming(needles):
    """Places that name a needle, as 'file:line: needle'."""
    return [
        f'{path.relative_to(TOP)}:{number}: {needle.decode()}'
        for path in files(TOP)
        for number, line in enumerate(path.read_bytes().splitlines(), 1)
        for needle in needles
        if needle in line
    ]


# A test of cinder_tiers/loop/sweep/kept.py is looked for in
# tests/unit/loop/sweep/test_kept.py, or in tests of a folder .../sweep/kept;
# what only a real service tells, at the same path in tests/contract. What has
# no test there is tested through its callers. The share may grow, not fall.
LEAST_MIRRORED_PERCENT = 70

# A module in which none of these is has no rule of its own, such as a table.
DECISIONS = (
    ast.BoolOp,
    ast.Compare,
    ast.For,
    ast.If,
    ast.IfExp,
    ast.Match,
    ast.Raise,
    ast.Try,
    ast.While,
    ast.comprehension,
)


def mirrored(module):
    """Whether tests of a module are where its path says."""
    package, *path = module.relative_to(TOP).with_suffix('').parts
    if package == 'rally_scenarios' and path[0] == 'plugins':
        path[0] = 'rally'
    *folders, name = path
    places = [
        TOP.joinpath('tests', part, *folders) for part in ('unit', 'contract')
    ]
    if folders[:1] == ['horizon']:
        places.append(TOP.joinpath('tests', *folders))
    return any(
        (place / f'test_{name.lstrip("_")}.py').exists()
        or any((place / name).glob('**/test_*.py'))
        for place in places
    )


def product_modules():
    """All modules that have a rule, but for tests that Tempest runs."""
    return [
        path
        for package in ('cinder_tiers', 'rally_scenarios')
        for path in files(TOP / package, {'.py'})
        if 'tests' not in path.parts[len(TOP.parts) :]
        and any(
            isinstance(node, DECISIONS)
            for node in ast.walk(ast.parse(path.read_bytes()))
        )
    ]


class TreeTestCase(testtools.TestCase):
    def test_every_source_file_has_the_licence_header(self):
        without = []
        for path in files(TOP):
            text = path.read_bytes()
            is_source = path.suffix in ('.py', '.sh') or text.startswith(b'#!')
            if (
                is_source
                and text.strip()
                and (LICENCE not in b'\n' + text[:400])
            ):
                without.append(str(path.relative_to(TOP)))
        self.assertEqual([], without)

    def test_no_file_names_a_package_registry(self):
        self.assertEqual([], naming(REGISTRY_HOSTS))

    def test_what_the_guide_for_contributors_names_is_there(self):
        named = re.findall(
            r'(?<![\w./])(?:[a-z_]+/)+[\w.-]*',
            TOP.joinpath('CONTRIBUTING.rst').read_text('utf-8'),
        )
        self.assertIn('tests/run.sh', named)
        self.assertEqual(
            [], [name for name in named if not (TOP / name).exists()]
        )

    def test_no_fewer_tests_are_where_the_path_of_their_module_says(self):
        modules = product_modules()
        without = [each for each in modules if not mirrored(each)]
        self.assertLessEqual(
            LEAST_MIRRORED_PERCENT,
            100 * (len(modules) - len(without)) / len(modules),
            'a test or a module was moved: move the other one, too; without '
            'a test at their path are '
            + ', '.join(str(each.relative_to(TOP)) for each in without),
        )
