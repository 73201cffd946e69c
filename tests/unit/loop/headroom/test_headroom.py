# SPDX-License-Identifier: Apache-2.0

"""How many volumes more: rounding, intervals, and what cannot be told."""

import dataclasses

import ddt
from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.figures.stats import intervals
from cinder_tiers.loop.headroom import headroom
from cinder_tiers.loop.headroom import load

IOPS = strategies.floats(1, 10**6)


def within(mean, low=None, high=None):
    return load.GuestsLoad(
        iops=intervals.Estimate(
            mean=mean,
            values=1 if low is None else 3,
            low=low,
            high=high,
            spread_percent=None,
            method='by hand',
        ),
        reason='' if low is not None else 'one repeat',
    )


@ddt.ddt
class HeadroomTest(testtools.TestCase):
    @ddt.data(
        # Load, in use; more, from, to; finding.
        ((140, 120, 160), 100, (4, 2, 6), 'room'),
        ((139.9, 120, 160), 100, (3, 2, 6), 'room'),
        ((140, 109.9, 160), 100, (4, 0, 6), 'cannot tell'),
        ((95, 90, 100), 100, (-1, -1, 0), 'none left'),
        ((95, 90, 109.9), 100, (-1, -1, 0), 'none left'),
        ((95, 90, 110), 100, (-1, -1, 1), 'cannot tell'),
        ((40, 40, 40), 100, (-6, -6, -6), 'none left'),
    )
    @ddt.unpack
    def test_what_is_left_is_shared_by_the_new_volumes(
        self, found, in_use, volumes, finding
    ):
        room = headroom.headroom(
            within(*found), in_use_iops=in_use, volume_iops=10
        )
        self.assertEqual(
            (*volumes, finding),
            (
                room.volumes,
                room.at_least,
                room.at_most,
                room.finding.value,
            ),
        )

    def test_what_is_contradicted_tells_nothing(self):
        for in_use in (100, 170):
            room = headroom.headroom(
                dataclasses.replace(
                    within(140, 120, 160), contradiction='broken before'
                ),
                in_use_iops=in_use,
                volume_iops=10,
            )
            self.assertEqual(
                ('cannot tell', 'broken before'),
                (room.finding.value, room.reason),
            )

    def test_one_repeat_gives_a_number_and_claims_nothing(self):
        room = headroom.headroom(within(140), in_use_iops=0, volume_iops=10)
        self.assertEqual(
            (14, None, 'cannot tell', 'one repeat'),
            (room.volumes, room.at_least, room.finding.value, room.reason),
        )

    @ddt.data(
        # Load at least, at most, in use; from, to; finding.
        ((120, None), 100, (2, None), 'room'),
        ((120, None), 111, (0, None), 'cannot tell'),
        ((120, None), 200, (-8, None), 'cannot tell'),
        ((None, 120), 100, (None, 2), 'cannot tell'),
        ((None, 120), 111, (None, 0), 'none left'),
        ((None, 120), 200, (None, -8), 'none left'),
    )
    @ddt.unpack
    def test_a_load_beyond_the_steps_is_one_end(
        self, ends, in_use, volumes, finding
    ):
        for repeats, said in ((2, finding), (1, 'cannot tell')):
            room = headroom.headroom(
                load.GuestsLoad(
                    at_least_iops=ends[0],
                    at_most_iops=ends[1],
                    repeats=repeats,
                    reason='add steps',
                ),
                in_use_iops=in_use,
                volume_iops=10,
            )
            self.assertEqual(
                (None, *volumes, said, 'add steps'),
                (
                    room.volumes,
                    room.at_least,
                    room.at_most,
                    room.finding.value,
                    room.reason,
                ),
            )

    @given(IOPS, IOPS, IOPS)
    def test_as_many_fit_and_no_more(self, most, in_use, of_volume):
        room = headroom.headroom(
            within(most, most, most), in_use_iops=in_use, volume_iops=of_volume
        )
        slack = 1e-6 * (most + in_use + of_volume)
        self.assertLessEqual(in_use + room.volumes * of_volume, most + slack)
        self.assertGreater(
            in_use + (room.volumes + 1) * of_volume, most - slack
        )
