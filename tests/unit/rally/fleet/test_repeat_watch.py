# SPDX-License-Identifier: Apache-2.0

"""Repeats end when intervals are narrow enough, and not before."""

from rally import plugins

plugins.load()  # rally_openstack cannot be imported before

from tests.unit.rally.fleet import test_run


class RepeatWatchTest(test_run.FleetFioCase):
    def test_repeats_end_when_intervals_are_narrow(self):
        self.run_scenario(stop_when={'interval_percent': 5})
        found = self.result()
        # Recordings: all repeats are alike.
        self.assertEqual(
            (True, 4, 1, 5),
            (
                found.stopping.is_narrow,
                found.stopping.repeats,
                found.stopping.looks,
                found.stopping.most_looks,
            ),
        )
        self.assertEqual(4, found.profile.repeats)
        self.assertEqual(
            {4},
            {
                len(pattern.slots)
                for tier in found.tiers
                for pattern in tier.patterns
            },
        )
        self.assertIn('97.5 %', found.tiers[0].patterns[0].iops.method)
        self.assertIn('in 4 to 12 repeats', self.log.output)
        self.assert_nothing_is_left()

    def test_a_result_that_is_not_whole_does_not_end_repeats(self):
        self.cloud.guests_do['g001'] = lambda lines: [
            line for line in lines if ' data 4 ' not in line
        ]
        self.failure(stop_when={'interval_percent': 5, 'most_repeats': 6})
        found = self.result().stopping
        self.assertEqual(
            (6, 1, 2), (found.repeats, found.looks, found.most_looks)
        )

    def test_repeats_and_a_rule_for_them_are_refused(self):
        error = self.assertRaises(
            ValueError,
            self.run_scenario,
            repeats=3,
            stop_when={'interval_percent': 5},
        )
        self.assertIn('repeats 3 with stop_when', str(error))
