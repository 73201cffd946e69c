# SPDX-License-Identifier: Apache-2.0

"""The examples in docstrings give what they say."""

import doctest
import importlib
import pathlib

import testtools

TOP = pathlib.Path(__file__).resolve().parents[2]
#: Tempest reads its options at import; its examples run beside its tests.
ELSEWHERE = pathlib.Path('cinder_tiers/tempest')


def with_examples():
    """Names of the modules that have examples."""
    for package in ('cinder_tiers', 'rally_scenarios'):
        for path in sorted((TOP / package).rglob('*.py')):
            name = path.relative_to(TOP)
            if '>>> ' in path.read_text() and ELSEWHERE not in name.parents:
                parts = name.with_suffix('').parts
                yield '.'.join(
                    parts[:-1] if parts[-1] == '__init__' else parts
                )


class DocstringExamplesTestCase(testtools.TestCase):
    def test_they_give_what_they_say(self):
        names = list(with_examples())
        self.assertTrue(names)
        for name in names:
            with self.subTest(name):
                module = importlib.import_module(name)
                said = []
                runner = doctest.DocTestRunner(verbose=False)
                for examples in doctest.DocTestFinder().find(module, name):
                    runner.run(examples, out=said.append)
                self.assertEqual('', ''.join(said))
