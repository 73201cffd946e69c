# SPDX-License-Identifier: Apache-2.0

"""The first thousand problems of a file that has more."""

import ddt
import testtools

from benchmarks import hostile_catalogs
from tests.unit.files.tiers import test_reader


@ddt.ddt
class ManyTiersTestCase(testtools.TestCase):
    def test_the_first_thousand_wrong_names_are_told(self):
        for name in ('wrong overflows', 'a chain of overflows'):
            found = test_reader.problems(hostile_catalogs.TEXTS[name])
            self.assertEqual(1001, len(found))
            self.assertIn('more than 1000 problems', found[-1])

    @ddt.data('many keys', 'more of them', 'tags that are numbers')
    def test_the_first_thousand_wrong_values_are_told(self, name):
        found = test_reader.problems(hostile_catalogs.TEXTS[name])
        self.assertEqual(1001, len(found))
        self.assertLess(len('\n'.join(found)), 500_000)
        self.assertIn('not listed', found[-1])

    def test_exactly_a_thousand_are_all_told(self):
        found = test_reader.problems(
            'version: 1\ntiers: {a: {fallback: true, backend: b}}\n'
            + '\n'.join(f'k{n}: 1' for n in range(1000))
        )
        self.assertEqual(1000, len(found))
        self.assertNotIn('not listed', found[-1])
