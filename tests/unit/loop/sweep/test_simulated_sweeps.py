# SPDX-License-Identifier: Apache-2.0

"""Sweeps of which the truth is known; ``benchmarks.sweep_effects`` has more.

Seeds are fixed, so these never fail by chance.
"""

import testtools

from benchmarks import sweep_effects


class SimulatedSweepsTestCase(testtools.TestCase):
    def test_of_sixteen_options_without_effect_none_is_claimed(self):
        found = sweep_effects.counted(sweeps=16, options=16, blocks=4)
        # Without the correction for all claims, 11 of 16 claim one.
        self.assertLessEqual(found['false'], 2)

    def test_the_option_that_doubles_is_the_only_effect(self):
        found = sweep_effects.counted(
            sweeps=8, options=16, blocks=4, planted='option-5'
        )
        self.assertEqual((0, 0), (found['false'], found['missed']))
