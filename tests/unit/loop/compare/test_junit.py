# SPDX-License-Identifier: Apache-2.0

"""A comparison as JUnit XML."""

from xml.etree import ElementTree

import testtools

from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.compare import junit
from tests.unit.figures import results
from tests.unit.loop.compare import test_comparison


class JUnitTestCase(testtools.TestCase):
    def test_worse_fails_and_what_xml_cannot_hold_is_replaced(self):
        hostile = 'g\x00\x1b[2J<script>&"\ud800\ufffe'
        found = comparison.runs(
            3
            * [
                results.run(
                    {hostile: {'x': test_comparison.slots(100, 101, 99)}}
                )
            ],
            {
                '': 3
                * [
                    results.run(
                        {hostile: {'x': test_comparison.slots(50, 51, 49)}}
                    )
                ]
            },
            comparison.Question(),
        )
        suite = ElementTree.fromstring(
            junit.write(found).encode().split(b'\n', 1)[1]
        )
        self.assertEqual(
            ('2', '1', '0', '1'),
            tuple(
                suite.get(name)
                for name in ('tests', 'failures', 'errors', 'skipped')
            ),
        )
        (failure,) = suite.iter('failure')
        self.assertIn('-50.0 %', failure.get('message'))
        self.assertIn('<script>&"', suite[0].get('classname'))
