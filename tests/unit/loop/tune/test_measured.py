# SPDX-License-Identifier: Apache-2.0

"""Whether a run breaks what a tier promises."""

import testtools

from cinder_tiers.loop.tune import measured
from tests.unit.figures import results


class BrokenTestCase(testtools.TestCase):
    """What a candidate breaks that the default of its block keeps."""

    EXPECTED = {
        'a': {'rand': {'iops_min': 50.0}},
        'b': {'rand': {'iops_min': 50.0}, 'seq': {'iops_min': 50.0}},
    }
    FAST, SLOW = [results.slot([100])], [results.slot([10])]

    def broken(self, default, treated):
        return measured.broken(
            results.run(default), results.run(treated), self.EXPECTED
        )

    def test_a_limit_that_the_default_keeps(self):
        fast = {'a': {'rand': self.FAST}, 'b': {'rand': self.FAST}}
        slow = {'a': {'rand': self.FAST}, 'b': {'rand': self.SLOW}}
        (found,) = self.broken(fast, slow)
        self.assertIn('b rand: all guests 10 IOPS', found)
        self.assertEqual((), self.broken(slow, slow))
        self.assertEqual((), self.broken(slow, fast))
        self.assertEqual((), self.broken(fast, fast))

    def test_what_has_no_figure_any_more_is_not_kept(self):
        default = {'b': {'rand': self.FAST}}
        # No guest of the tier has come so far.
        for treated in (
            {'a': {'rand': self.FAST}},
            {'b': {'seq': self.FAST}},
            {'b': {'rand': [results.slot([100], without=1)]}},
        ):
            (found,) = self.broken(default, treated)
            self.assertIn('b rand', found)
            self.assertEqual((), self.broken(treated, treated))

    def test_a_gain_of_a_percentile_is_more_than_a_bucket_of_fio(self):
        for goal, asked, least in (
            ('p99_ms', 1.0, 100 / 64),
            ('p99_ms', 5.0, 5.0),
            ('iops', 1.0, 1.0),
            ('lat_mean_ms', 1.0, 1.0),
        ):
            self.assertEqual(least, measured.least_gain_percent(goal, asked))

    def test_what_the_default_may_break_itself_says_nothing(self):
        """The default: from 38 to 58 ms in its repeats, 45 ms in the mean."""
        default, treated = (
            results.run(
                {
                    'b': {
                        'rand': [
                            results.slot([1], clat_ms=[ms] * 2000)
                            for ms in repeats
                        ]
                    }
                }
            )
            for repeats in ((38, 45, 58), (60, 60.1, 60.2))
        )
        expected = {'b': {'rand': {'p99_ms_max': 50.0}}}
        self.assertEqual((), measured.broken(default, treated, expected))

    def test_what_is_too_slow_for_a_figure_is_not_kept(self):
        default, treated = (
            results.run(
                {'b': {'rand': [results.slot([1], clat_ms=[1] * ios)]}}
            )
            for ios in (2000, 20)
        )
        expected = {'b': {'rand': {'p99_ms_max': 5.0}}}
        (found,) = measured.broken(default, treated, expected)
        self.assertIn('b rand', found)
        self.assertIn('20 I/Os', found)
        # It was no better before, or there is noise alone.
        self.assertEqual((), measured.broken(treated, treated, expected))
        self.assertEqual((), measured.broken(default, default, expected))
