# SPDX-License-Identifier: Apache-2.0

"""Whether volumes got the type that their tier has."""

import testtools

from cinder_tiers.figures.fleet import verdict
from cinder_tiers.figures.fleet import volume_types
from tests.unit.figures.fleet import test_common_clock
from tests.unit.figures.fleet import test_verdict


V = verdict.GuestVerdict


class PlacingTest(testtools.TestCase):
    def found(self, *types, **expected):
        return [
            outcome.verdict
            for outcome in volume_types.reject_wrong_volume_types(
                test_common_clock.TRUE,
                {
                    guest: types if isinstance(types, tuple) else (types,)
                    for guest, types in zip(
                        ('g000', 'g001', 'g002'), types, strict=True
                    )
                },
                expected,
            )
        ]

    def test_a_volume_of_another_type_is_on_the_wrong_tier(self):
        wanted = [V.COMPLETE, V.WRONG_TIER, V.COMPLETE]
        types = ('fast', 'slow', 'fast')
        self.assertEqual(wanted, self.found(*types, database='fast'))
        # Unless it is said, most of them are right.
        self.assertEqual(wanted, self.found(*types))
        self.assertEqual(wanted, self.found(*types, general='slow'))
        self.assertEqual(
            [V.WRONG_TIER, V.COMPLETE, V.WRONG_TIER],
            self.found(*types, database='slow'),
        )

    def test_volumes_that_do_not_agree_are_all_wrong(self):
        self.assertEqual([V.WRONG_TIER] * 3, self.found('a', 'b', None))
        self.assertEqual(
            [V.WRONG_TIER] * 3, self.found('a', 'a', 'a', database='b')
        )

    def test_each_volume_of_a_guest_must_be_on_the_tier(self):
        good, bad = ('fast',) * 4, ('fast', 'fast', 'fast', 'slow')
        self.assertEqual(
            [V.COMPLETE, V.WRONG_TIER, V.COMPLETE],
            self.found(good, bad, good),
        )
        # Even where the same one of all guests is elsewhere.
        self.assertEqual([V.WRONG_TIER] * 3, self.found(bad, bad, bad))
        self.assertEqual(
            [V.WRONG_TIER] * 3, self.found(bad, bad, bad, database='fast')
        )

    def test_a_cloud_without_volume_types_has_no_wrong_tier(self):
        self.assertEqual([V.COMPLETE] * 3, self.found(None, None, None))

    def test_the_reason_names_both_types(self):
        found = volume_types.reject_wrong_volume_types(
            test_common_clock.TRUE[:1],
            {'g000': ['slow']},
            {'database': 'fast'},
        )
        self.assertEqual(
            ('its volume has the volume type slow, expected fast',),
            found[0].reasons,
        )

    def test_a_worse_verdict_is_kept(self):
        lost = test_verdict.outcome([])
        self.assertEqual(
            V.LOST,
            volume_types.reject_wrong_volume_types(
                [lost], {'g000': ['slow']}, {'database': 'fast'}
            )[0].verdict,
        )
