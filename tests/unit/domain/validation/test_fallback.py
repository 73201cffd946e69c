# SPDX-License-Identifier: Apache-2.0

"""Which tiers may be the fallback side by side, and that one must be."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.validation import fallback
from tests.unit.domain import catalogs as given
from tests.unit.domain.validation import test_catalog


@ddt.ddt
class FallbackTestCase(testtools.TestCase):
    def test_one_tier_must_be_the_fall_back(self):
        self.assertEqual(
            ['no tier has fallback: true'], test_catalog.found(given.tier())
        )

    def test_a_fall_back_is_needed_by_tiers_that_are_ours(self):
        theirs = given.tier('theirs', take_over=False)
        self.assertEqual([], test_catalog.found())
        self.assertEqual([], test_catalog.found(theirs))
        self.assertEqual(
            ['no tier has fallback: true'],
            test_catalog.found(theirs, given.tier()),
        )
        self.assertEqual(
            [],
            test_catalog.found(
                given.tier(), dataclasses.replace(theirs, fallback=True)
            ),
        )
        self.assertEqual(
            [], test_catalog.found(given.tier(), without_fallback=True)
        )
        self.assertEqual(
            ["fallback: none, but tier 'database' has fallback: true"],
            test_catalog.found(
                given.tier(fallback=True), without_fallback=True
            ),
        )

    def test_default_type_has_the_name_of_the_volume_type(self):
        tier = given.tier(fallback=True, volume_type_name='fast')
        catalog = dataclasses.replace(given.of(tier), follow_image_types=())
        self.assertEqual('fast', fallback.default_type(catalog))

    def test_two_fall_backs_are_one_too_many(self):
        self.assertEqual(
            [
                (
                    "tier 'b' is a second fallback besides 'a', and neither "
                    'is restricted to availability zones'
                )
            ],
            test_catalog.found(
                given.tier('a', fallback=True), given.tier('b', fallback=True)
            ),
        )

    @ddt.data(
        {'a': 'north', 'b': 'south'},
        {'a': 'north, west', 'b': 'south,east'},
        # It serves the zones that the others do not.
        {'a': 'north', 'b': None},
        {'a': None, 'b': 'north'},
        {'a': 'north', 'b': None, 'c': 'south'},
        {'a': 'north'},
    )
    def test_each_zone_may_have_a_fallback(self, zones):
        self.assertEqual([], self.fallbacks(**zones))

    @ddt.data(
        (
            {'a': 'north,south', 'b': 'west, south ', 'c': 'west'},
            [
                "tiers 'a' and 'b' are both the fallback in availability zone "
                'south'
            ],
        ),
        (
            {'a': None, 'b': 'north', 'c': None},
            [
                (
                    "tier 'c' is a second fallback besides 'a', and neither "
                    'is restricted to availability zones'
                )
            ],
        ),
        (
            {'a': ' ,'},
            [
                (
                    "fallback tier 'a' is restricted to availability zones, "
                    'but names none (RESKEY:availability_zones is empty)'
                )
            ],
        ),
    )
    @ddt.unpack
    def test_a_zone_has_one_fallback(self, zones, expected):
        self.assertEqual(expected, self.fallbacks(**zones))

    def fallbacks(self, **zones):
        """Problems of fallback tiers restricted to zones."""
        return test_catalog.found(
            *(
                given.other_tier(
                    name,
                    fallback=True,
                    extra_specs={}
                    if text is None
                    else {'RESKEY:availability_zones': text},
                )
                for name, text in zones.items()
            )
        )
