# SPDX-License-Identifier: Apache-2.0

"""The tree as a whole: licence headers, and what no file may name."""

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
