# SPDX-License-Identifier: Apache-2.0

"""Whether runs that have a pattern of one name did the same."""

import dataclasses

from cinder_tiers.loop.compare import comparison
from tests.unit.figures import results
from tests.unit.loop.compare import test_comparison


class SamePatternTestCase(test_comparison.RunsCase):
    def test_another_pattern_of_the_same_name_is_not_compared(self):
        other = test_comparison.one_tier(1, 1)
        changed = dataclasses.replace(other.profile.patterns[0], iodepth=32)
        other = dataclasses.replace(
            other,
            run='f' * 16,
            profile=dataclasses.replace(other.profile, patterns=(changed,)),
        )
        (claim,) = self.compare(test_comparison.one_tier(1, 1), other).claims
        self.assertEqual(
            comparison.DifferenceFinding.NOT_COMPARED, claim.finding
        )
        self.assertIn('iodepth 1 in run 0123', claim.reason)

    def test_a_pattern_that_one_run_lacks_is_not_compared(self):
        both = results.run(
            {
                'general': {
                    'x': test_comparison.slots(1, 1),
                    'y': test_comparison.slots(1),
                }
            }
        )
        (x,) = both.profile.patterns
        both = dataclasses.replace(
            both,
            profile=dataclasses.replace(
                both.profile, patterns=(x, dataclasses.replace(x, name='y'))
            ),
        )
        found = self.compare(both, test_comparison.one_tier(1, 1))
        self.assertEqual(
            {'x': 'cannot tell', 'y': 'not compared'},
            {each.pattern: each.finding.value for each in found.claims},
        )

    def test_a_pattern_that_its_own_profile_lacks_is_not_compared(self):
        run = results.run({'general': {'z.g1': test_comparison.slots(1, 1)}})
        (claim,) = self.compare(run, run).claims
        self.assertEqual(
            comparison.DifferenceFinding.NOT_COMPARED, claim.finding
        )
        self.assertIn('not in the profile', claim.reason)
