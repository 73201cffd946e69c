# SPDX-License-Identifier: Apache-2.0

"""Each distribution is that of scipy.stats, which takes long to import."""

import itertools
import math

from scipy import stats
import testtools

from cinder_tiers.figures.stats import distributions

FREEDOMS = (1, 1.5, 2, 3, 7.3, 30, 200, 1998)
SHARES = (1e-9, 1e-4, 0.025, 0.2, 0.5, 0.8, 0.975, 0.9999)
VALUES = (-40.0, -3.0, -0.5, 0.0, 0.5, 3.0, 40.0)
DISTANCES = (0.0, 0.1, 1.0, 3.0, 10.0, 30.0)


class DistributionTestCase(testtools.TestCase):
    def assert_as(self, expected, found, *at):
        self.assertTrue(
            math.isclose(expected, found, rel_tol=1e-9, abs_tol=1e-300),
            f'{found} at {at}: expected {expected}',
        )

    def test_student(self):
        for freedom in (*FREEDOMS, math.inf):
            for share in SHARES:
                self.assert_as(
                    stats.t.ppf(share, freedom),
                    distributions.student_quantile(freedom, share),
                    freedom,
                    share,
                )
            for value in VALUES:
                self.assert_as(
                    stats.t.sf(value, freedom),
                    distributions.student_above(freedom, value),
                    freedom,
                    value,
                )

    def test_noncentral(self):
        for freedom, distance, share in itertools.product(
            (1, 2, 5, 30, 200, 1998), DISTANCES, (0.95, 0.975, 0.9999)
        ):
            value = stats.t.ppf(share, freedom)
            at = (freedom, distance, value)
            self.assert_as(
                stats.nct.cdf(value, freedom, distance),
                distributions.noncentral_below(*at),
                *at,
            )
            self.assert_as(
                stats.nct.sf(value, freedom, distance),
                distributions.noncentral_above(*at),
                *at,
            )

    def test_chi_squared(self):
        for freedom, share in itertools.product(FREEDOMS, SHARES):
            self.assert_as(
                stats.chi2.ppf(share, freedom),
                distributions.chi_squared_quantile(freedom, share),
                freedom,
                share,
            )

    def test_lower_bound_of_a_chance(self):
        for tries in (1, 10, 300):
            for successes in {1, (tries + 1) // 2, tries}:
                self.assert_as(
                    stats.binomtest(successes, tries, alternative='greater')
                    .proportion_ci(0.95, 'exact')
                    .low,
                    distributions.binomial_chance_above(
                        successes, tries, 0.05
                    ),
                    successes,
                    tries,
                )

    def test_binomial(self):
        for least, tries, chance in itertools.product(
            (0, 1, 4, 50), (50, 1000, 100000), (0.0001, 0.01, 0.5)
        ):
            self.assert_as(
                stats.binom.sf(least - 1, tries, chance),
                distributions.binomial_at_least(least, tries, chance),
                least,
                tries,
                chance,
            )

    def test_range_of_five(self):
        for freedom in (*range(2, 21), *range(30, 201, 10)):
            found = distributions.range_of_five(freedom)
            for above, end in ((-1e-9, 1), (1e-9, -1)):
                beside = stats.studentized_range.cdf(
                    found * (1 + above), 5, freedom
                )
                self.assertGreater(end * (0.99 - beside), 0, freedom)

    def test_range_of_five_of_freedom_between(self):
        self.assertEqual(
            [distributions.range_of_five(one) for one in (2, 20, 30, 200)],
            [
                distributions.range_of_five(one)
                for one in (2.9, 29.9, 31.5, 1e6)
            ],
        )
