# SPDX-License-Identifier: Apache-2.0

"""Limits by size: which backends set them, and what is said of others."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import limits_by_size
from cinder_tiers.domain.plan import unheeded_limits
from cinder_tiers.domain.plan import unserved
from cinder_tiers.domain.validation import rules
from cinder_tiers.domain.validation import warnings
from tests.unit.domain import catalogs as given
from tests.unit.domain import inventories

BY_SIZE = {'total_iops_sec_per_gb': '3', 'total_iops_sec_max': '900'}


def limited(**qos):
    return given.tier('a', qos=catalogs.Qos(**qos))


def backend(**capabilities):
    made = inventories.rbd_backend('tier-a', 'volumes')
    return dataclasses.replace(
        made, capabilities={**made.capabilities, **capabilities}
    )


def rules_of(tier):
    return [one.rule for one in warnings.check(given.of(tier))]


@ddt.ddt
class LimitsBySizeTestCase(testtools.TestCase):
    def found(self, tier, *backends):
        return list(unheeded_limits.find(given.of(tier), backends))

    def test_a_backend_that_does_not_set_them_is_named(self):
        tier = limited(back_end=BY_SIZE)
        (one,) = self.found(tier, backend(), backend(qos_per_gb_support=True))
        self.assertEqual('a', one.tier)
        self.assertIn('node@tier-a#tier-a does not report', one.reason)
        self.assertIn('total_iops_sec_per_gb', one.reason)
        self.assertIn('--driver tiered', one.remedy)

    @ddt.data(
        limited(back_end={'total_iops_sec': '3'}),
        # Nova has them.
        limited(front_end=BY_SIZE),
        limited(front_end=BY_SIZE, back_end=BY_SIZE),
        given.other_tier('a', qos=catalogs.Qos(back_end=BY_SIZE)),
    )
    def test_other_limits_are_not(self, tier):
        self.assertEqual([], self.found(tier, backend()))
        self.assertNotIn(rules.LIMIT_BY_SIZE, rules_of(tier))

    def test_where_they_are_set_nothing_is_said(self):
        tier = limited(back_end=BY_SIZE)
        self.assertEqual(
            [], self.found(tier, backend(qos_per_gb_support=True))
        )
        # Of no backend nothing is known.
        self.assertEqual([], self.found(tier))

    def test_a_file_says_that_no_other_backend_will_do(self):
        tier = limited(back_end=BY_SIZE)
        (warning,) = [
            one
            for one in warnings.check(given.of(tier))
            if one.rule == rules.LIMIT_BY_SIZE
        ]
        self.assertIn('total_iops_sec_per_gb', warning.found)
        self.assertIn("qos_per_gb_support: '<is> True'", warning.remedy)
        sure = dataclasses.replace(
            tier, extra_specs={limits_by_size.CAPABILITY: '<is> True'}
        )
        self.assertNotIn(rules.LIMIT_BY_SIZE, rules_of(sure))
        # Then Cinder places no volume on others, and the plan says so.
        self.assertEqual([], self.found(sure, backend()))
        for backends, expected in (
            ([backend()], ['a']),
            ([backend(qos_per_gb_support=True)], []),
        ):
            self.assertEqual(
                expected,
                [
                    one.tier
                    for one in unserved.find(given.of(sure), {}, backends)
                ],
            )
