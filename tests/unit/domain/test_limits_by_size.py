# SPDX-License-Identifier: Apache-2.0

"""Limits by size of one volume: what a tiers file is warned of."""

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.validation import rules
from cinder_tiers.domain.validation import warnings
from tests.unit.domain import catalogs as given
from tests.unit.domain.plan import test_unheeded_limits


@ddt.ddt
class FrontEndTestCase(testtools.TestCase):
    @ddt.data(
        ({'front_end': test_unheeded_limits.BY_SIZE}, 1),
        (
            {
                'front_end': test_unheeded_limits.BY_SIZE,
                'back_end': test_unheeded_limits.BY_SIZE,
            },
            1,
        ),
        ({'back_end': {'total_iops_sec': '3'}}, 0),
    )
    @ddt.unpack
    def test_a_tier_is_warned_of_once(self, qos, expected):
        for tier in (
            test_unheeded_limits.limited(**qos),
            given.other_tier('a', qos=catalogs.Qos(**qos)),
        ):
            self.assertEqual(
                expected,
                test_unheeded_limits.rules_of(tier).count(rules.FRONT_END),
            )

    def test_what_they_cost_is_said(self):
        (warning,) = [
            one
            for one in warnings.check(
                given.of(
                    test_unheeded_limits.limited(
                        front_end=test_unheeded_limits.BY_SIZE
                    )
                )
            )
            if one.rule == rules.FRONT_END
        ]
        self.assertIn("tier 'a'", warning.found)
        for cost in ('attached', 'tier repair', 'type'):
            self.assertIn(cost, warning.found)
        self.assertEqual('move them to back_end', warning.remedy)
