# SPDX-License-Identifier: Apache-2.0

import dataclasses

import testtools

from cinder_tiers.figures.fio import output as fio_output
from cinder_tiers.figures.fleet import merge
from tests.unit.figures import recorded

RESULT = fio_output.parse(
    recorded.text('randwrite-4k'), jobname='randwrite-4k'
)


def guest(name, started_ms, ended_ms, result=RESULT, error_ms=None):
    return merge.GuestSlot(
        guest=name,
        planned_ms=1000,
        started_ms=started_ms,
        ended_ms=ended_ms,
        result=result,
        clock_error_ms=error_ms,
    )


class MergeTest(testtools.TestCase):
    def test_rates_add_up_and_the_window_is_what_all_share(self):
        """
        g0  |1000------------8000|
        g1      |1040-----------8200|
        g2    |1010--------7900|
        """
        merged = merge.merge(
            [
                guest('g0', 1000, 8000),
                guest('g1', 1040, 8200),
                guest('g2', 1010, 7900),
            ]
        )
        self.assertEqual(
            (3, 40, 6860),
            (merged.guests, merged.start_skew_ms, merged.window_ms),
        )
        self.assertAlmostEqual(3 * 1001 / 2.001, merged.iops)
        self.assertEqual(3 * 2049023, merged.bw_bytes)
        self.assertEqual(3 * 1001, merged.clat.count)
        self.assertEqual(
            RESULT.clat.percentile_ns(99), merged.clat.percentile_ns(99)
        )

    def test_a_skew_may_be_longer_by_what_the_clocks_may_be_wrong(self):
        """
        g0 1000 +- 5
        g1 1020 +- 30
        g2 1040 +- 2
        """
        merged = merge.merge(
            [
                guest('g0', 1000, 8000, error_ms=5),
                guest('g1', 1020, 8000, error_ms=30),
                guest('g2', 1040, 8000, error_ms=2),
            ]
        )
        # At worst g1 began first, at 990, or last, at 1050; g0 at 995.
        self.assertEqual(
            (40, 20), (merged.start_skew_ms, merged.start_skew_error_ms)
        )
        self.assertEqual(
            'started within 40 ms, but with clock error it may be 60 ms, 3.0 %'
            ' of the time measured',
            merge.start_remark(40, 20, 2000),
        )

    def test_what_the_clocks_leave_open_is_judged_by_the_time_measured(self):
        for skew_ms, error_ms, measured_ms, is_remarked in (
            # 2.5 % of it
            (3, 147, 6000, False),
            (3, 148, 6000, True),
            (0, 1500, 60000, False),
            # never less than 50 ms
            (10, 40, 500, False),
            (10, 41, 500, True),
            (10, 41, 0, True),
            # what was seen is not what the clocks leave open
            (51, 0, 60000, True),
        ):
            remark = merge.start_remark(skew_ms, error_ms, measured_ms)
            self.assertEqual(is_remarked, bool(remark), remark)

    def test_starts_that_are_apart_add_no_more_than_that_to_the_sum(self):
        """The bound of the share, with guests that share 300 IOPS."""
        measured_ms, skew_ms, guests, capacity = 6000, 150, 3, 300.0
        starts = [0, 0, skew_ms]
        # Without a ramp, which only makes it less.
        ios = [0.0] * guests
        for now in range(measured_ms + skew_ms):
            running = [
                number
                for number, start in enumerate(starts)
                if start <= now < start + measured_ms
            ]
            for number in running:
                ios[number] += capacity / 1000 / len(running)
        rate = sum(ios) * 1000 / measured_ms
        self.assertGreater(rate, capacity)
        self.assertLessEqual(
            rate / capacity - 1, merge.START_SKEW_LIMIT_SHARE + 1e-9
        )

    def test_a_common_start_needs_a_remark_only_if_it_is_in_doubt(self):
        for starts_ms, error_ms, expected in (
            ((1000, 1030), 10, ''),
            ((1000,), None, ''),
            ((1000, 1051), 0, 'started within 51 ms, expected 50'),
            (
                (1000, 1030),
                None,
                'started within 30 ms, with unknown clock error',
            ),
        ):
            merged = merge.merge(
                [
                    guest(f'g{number}', start_ms, 8000, error_ms=error_ms)
                    for number, start_ms in enumerate(starts_ms)
                ]
            )
            self.assertEqual(
                expected,
                merge.start_remark(
                    merged.start_skew_ms,
                    merged.start_skew_error_ms,
                    merged.window_ms,
                ),
            )

    def test_guests_that_never_ran_side_by_side_share_no_window(self):
        merged = merge.merge(
            [guest('g0', 1000, 2000), guest('g1', 3000, 4000)]
        )
        self.assertEqual(0, merged.window_ms)

    def test_what_cannot_be_merged_is_refused(self):
        other = dataclasses.replace(RESULT, jobname='write-1m')
        for slots, message in (
            ([], 'no guest'),
            ([guest('g0', 1, 2), guest('g0', 1, 2)], 'twice'),
            (
                [guest('g0', 1, 2), guest('g1', 1, 2, other)],
                'randwrite-4k, write-1m',
            ),
        ):
            error = self.assertRaises(ValueError, merge.merge, slots)
            self.assertIn(message, str(error))

    def test_a_late_start_is_a_positive_error(self):
        self.assertEqual(40, guest('g0', 1040, 2000).start_error_ms)


class DirectionsTest(testtools.TestCase):
    def test_guests_are_merged_by_direction(self):
        mixed = fio_output.parse(
            recorded.text('randrw-4k-unified'), jobname='randrw-4k'
        )
        slower = dataclasses.replace(
            mixed,
            directions=tuple(
                dataclasses.replace(
                    each,
                    lat=fio_output.LatencyMoments(
                        count=800, mean_ns=10**6, max_ns=9 * 10**9
                    ),
                    slat=None,
                )
                for each in mixed.directions
            ),
        )
        found = merge.merge(
            [guest('g0', 0, 1, mixed), guest('g1', 0, 1, slower)]
        )
        self.assertEqual(['read', 'write'], list(found.directions))
        read = found.directions['read']
        first = mixed.directions[0]
        self.assertEqual(2 * first.iops, read.iops)
        self.assertEqual(2 * 1600, read.clat.count)
        # Weighted by how many I/Os each is of; nothing is averaged otherwise.
        self.assertAlmostEqual(
            (1600 * first.lat.mean_ns + 800 * 10**6) / 2400, read.lat.mean_ns
        )
        self.assertEqual(9 * 10**9, read.lat.max_ns)
        # One of them does not know it.
        self.assertIsNone(read.slat)
        self.assertEqual(
            found.iops, sum(each.iops for each in found.directions.values())
        )

    def test_what_nobody_wrote_is_not_there(self):
        found = merge.merge([guest('g0', 0, 1)])
        self.assertEqual(['write'], list(found.directions))
        self.assertEqual(found.clat, found.directions['write'].clat)
