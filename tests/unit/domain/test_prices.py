# SPDX-License-Identifier: Apache-2.0

"""What tiers cost, in decimals."""

import decimal
import fractions

import ddt
import hypothesis
from hypothesis import strategies
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.catalog import prices
import tests

PRICES = strategies.decimals(
    min_value=0, max_value=10**6, places=9, allow_nan=False
)


def cost(per_gib='0.1', per_1000_iops=None):
    return catalogs.TierCost(
        currency='EUR',
        per_gib_month=decimal.Decimal(per_gib),
        per_1000_iops_month=None
        if per_1000_iops is None
        else decimal.Decimal(per_1000_iops),
    )


@ddt.ddt
class PricesTestCase(testtools.TestCase):
    @ddt.data(
        (cost(), 3, None, '0.30'),
        (cost(), 3, 10**6, '0.30'),
        (cost('0.1', '0.3'), 1, 500, '0.25'),
        (cost('0', '1'), 100, 1, '0.00'),
        # An IOPS price of 0 says that there is one.
        (cost('0.1', '0'), 3, None, None),
    )
    @ddt.unpack
    def test_a_month(self, given, size_gib, iops, expected):
        found = prices.of_month(given, size_gib=size_gib, iops=iops)
        self.assertEqual(expected, found and prices.text(found))

    def test_a_month_has_730_hours(self):
        self.assertEqual(
            prices.of_month(cost('0.07'), size_gib=13, iops=None),
            prices.of_gib_hours(
                cost('0.07'), fractions.Fraction(13 * catalogs.HOURS_OF_MONTH)
            ),
        )

    @hypothesis.given(
        PRICES,
        PRICES,
        strategies.lists(
            strategies.tuples(
                strategies.integers(0, 10**6), strategies.integers(0, 10**6)
            )
        ),
    )
    @tests.examples(100)
    def test_those_of_projects_are_that_of_all(self, gib, iops, projects):
        given = cost(gib, iops)
        self.assertEqual(
            prices.of_month(
                given,
                size_gib=sum(size for size, _ in projects),
                iops=sum(most for _, most in projects),
            ),
            sum(
                prices.of_month(given, size_gib=size, iops=most)
                for size, most in projects
            ),
        )
