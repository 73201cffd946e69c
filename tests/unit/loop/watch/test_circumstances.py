# SPDX-License-Identifier: Apache-2.0

"""What else changed in a cluster when the latency of a tier did."""

import dataclasses

import ddt
import testtools

from cinder_tiers.loop.watch import circumstances
from cinder_tiers.loop.watch import judgement
from tests.unit.loop.watch import test_series


@ddt.ddt
class CircumstancesTestCase(testtools.TestCase):
    @ddt.data(
        (
            {'config_version': 8, 'config_names': ('osd/class:ssd/x',)},
            'the configuration was changed to version 8: osd/class:ssd/x',
        ),
        (
            {'pool_options': {'tier-database size': '2'}},
            'tier-database size was changed from 3 to 2',
        ),
        ({'osds_up': ('0', '2')}, 'osd.1 went down'),
        ({'recovering': 12}, 'recovery of placement groups began (12)'),
        ({'scrubbing': 3}, 'scrubbing of placement groups began (3)'),
        (
            {'osd_ms': {'0': 1.0, '1': 80.0, '2': 1.0}},
            'osd.1 became slow: 80 ms to commit, the median of all is 1 ms',
        ),
        (
            {'osd_ms': {'1': 80.0}, 'osd_median_ms': 1.0},
            'osd.1 became slow: 80 ms to commit, the median of all is 1 ms',
        ),
        (
            {'image_iops': {'volume-1': 90.0, 'volume-2': 400.0}},
            'image volume-2 went from 0 to 400 IOPS',
        ),
        (
            {'client_iops': 250.0},
            'the load of the tier went from 100 to 250 IOPS',
        ),
        ({'checks': ('SLOW_OPS',)}, 'health check SLOW_OPS appeared'),
    )
    @ddt.unpack
    def test_each_fact_that_changes_is_named(self, changed, text):
        other = dataclasses.replace(test_series.QUIET, **changed)
        windows = [
            test_series.window(n, status=test_series.QUIET if n < 3 else other)
            for n in range(6)
        ]
        self.assertEqual(
            (f'{circumstances.time_text(windows[3].began_at)} {text}',),
            circumstances.around(windows, windows[3].began_at),
        )
        # What was not read is not said to have changed.
        (name,) = list(changed)[:1]
        unread = dataclasses.replace(test_series.QUIET, **{name: None})
        self.assertEqual(
            (),
            circumstances.around(
                [test_series.window(0), test_series.window(1, status=unread)],
                windows[0].began_at,
            ),
        )

    def test_an_image_that_was_not_among_the_busiest(self):
        busiest = {f'volume-{number}': 100.0 + number for number in range(10)}
        windows = [
            test_series.window(
                0,
                status=dataclasses.replace(
                    test_series.QUIET, image_iops=busiest
                ),
            ),
            test_series.window(
                1,
                status=dataclasses.replace(
                    test_series.QUIET,
                    # They did at most what the least of the ten did.
                    image_iops={**busiest, 'steady': 101.0, 'new': 400.0},
                ),
            ),
        ]
        self.assertEqual(
            [
                f'{circumstances.time_text(windows[1].began_at)} image new'
                ' went from 100 or less to 400 IOPS'
            ],
            list(circumstances.around(windows, windows[1].began_at)),
        )

    def test_the_nearest_is_first_and_the_far_is_not_named(self):
        near = dataclasses.replace(test_series.QUIET, scrubbing=1)
        both = dataclasses.replace(near, osds_up=('0-1',))
        windows = [
            test_series.window(
                n,
                status=test_series.QUIET
                if n < 15
                else near
                if n < 18
                else both,
            )
            for n in range(40)
        ]
        found = circumstances.around(windows, windows[19].began_at)
        self.assertEqual(2, len(found))
        self.assertIn('osd.2 went down', found[0])
        self.assertEqual(
            (), circumstances.around(windows, windows[39].began_at)
        )

    def test_a_doubled_latency_is_named_with_what_changed_then(self):
        throttled = dataclasses.replace(
            test_series.QUIET,
            config_version=8,
            config_names=('osd.1/osd_mclock',),
        )
        windows = [
            test_series.window(n, write_ms=5 + n % 3 / 10) for n in range(40)
        ]
        windows += [
            test_series.window(n, write_ms=10 + n % 3 / 10, status=throttled)
            for n in range(40, 55)
        ]
        kept, verdict = test_series.watched(windows)
        self.assertEqual(judgement.TierState.SLOWER, verdict.state)
        self.assertEqual(windows[40].began_at, verdict.since)
        self.assertEqual(
            ('the median latency of a write went from 5.12 to 10.1 ms',),
            verdict.reasons,
        )
        self.assertIn('osd.1/osd_mclock', verdict.circumstances[0])
        self.assertEqual(1, len(kept.changes))
        # As soon as it is as before, nothing is wrong.
        for n in range(55, 75):
            kept, verdict = judgement.added(
                kept, test_series.window(n, write_ms=5 + n % 3 / 10), {}
            )
        self.assertEqual(judgement.TierState.SOUND, verdict.state)
