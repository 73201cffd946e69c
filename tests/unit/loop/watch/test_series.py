# SPDX-License-Identifier: Apache-2.0

"""What is said of a tier that is watched, of windows that are made up."""

import dataclasses
import json
import random
import re

import ddt
import testtools

from cinder_tiers.loop.watch import circumstances
from cinder_tiers.loop.watch import expectation
from cinder_tiers.loop.watch import judgement
from cinder_tiers.loop.watch import series

BEGAN = 1_700_000_000.0
QUIET = series.Status(
    checks=(),
    recovering=0,
    scrubbing=0,
    osds_up=('0-2',),
    osd_ms={'0': 1.0, '1': 2.0, '2': 1.0},
    client_iops=100.0,
    image_iops={'volume-1': 90.0},
    config_version=7,
    config_names=('osd/osd_max_backfills',),
    pool_options={'tier-database size': '3'},
)

AN_HOUR = {
    'direction': 'write',
    'number': 472_000,
    'highest_ms': 3.0,
    'lasting_ms': 2.0,
    'lowest_ms': 1.0,
}


def near(ms):
    """Ten latencies that differ by a thousandth each."""
    if isinstance(ms, tuple):
        return ms
    return tuple(ms * (1 + number / 1000) for number in range(10))


def window(number, *, write_ms=5.0, read_ms=2.0, **fields):
    """A window; a latency stands for ten near it."""
    return series.TierWindow(
        **{
            'began_at': BEGAN + number * series.WINDOW_S,
            'write_ms': near(write_ms),
            'read_ms': near(read_ms),
            'status': QUIET,
            **fields,
        }
    )


def watched(windows, expect=None):
    """A tier after these windows, one by one: (series, last verdict)."""
    kept = series.Series(tier='database', pools=('tier-database',))
    for each in windows:
        kept, verdict = judgement.added(kept, each, expect or {})
    return kept, verdict


class ExpectationTestCase(testtools.TestCase):
    EXPECT = {'randwrite-4k': {'p99_ms_max': 10, 'iops_min': 500}}

    def test_a_tier_that_meets_it(self):
        _, verdict = watched(map(window, range(30)), self.EXPECT)
        self.assertEqual(judgement.TierState.SOUND, verdict.state)
        (found,) = verdict.findings
        self.assertEqual('randwrite-4k.p99_ms_max', found.name)
        self.assertEqual('0 of 300 took longer; limit 10 ms', found.text)

    def test_a_tier_that_breaks_it_and_since_when(self):
        windows = [*map(window, range(30))]
        windows += [window(30, write_ms=11.0), window(31, write_ms=11.0)]
        kept, verdict = watched(windows, self.EXPECT)
        self.assertEqual(judgement.TierState.BROKEN, verdict.state)
        self.assertEqual(windows[30].began_at, verdict.since)
        self.assertEqual(
            ('randwrite-4k.p99_ms_max: 20 of 300 took longer; limit 10 ms',),
            verdict.reasons,
        )
        # It stays since then, as long as it is broken.
        for number in range(32, 80):
            kept, verdict = judgement.added(
                kept, window(number, write_ms=11.0), self.EXPECT
            )
        self.assertEqual(judgement.TierState.BROKEN, verdict.state)
        self.assertEqual(windows[30].began_at, verdict.since)

    def test_one_slow_write_in_a_hundred_is_within_p99(self):
        windows = [
            window(n, write_ms=(5.0,) * 9 + (11.0 if n % 10 == 0 else 5.0,))
            for n in range(40)
        ]
        _, verdict = watched(windows, self.EXPECT)
        self.assertEqual(judgement.TierState.SOUND, verdict.state)

    def test_a_tier_that_just_meets_it_is_seldom_called_broken(self):
        draw = random.Random(1)
        windows = [
            window(
                n,
                write_ms=tuple(
                    11.0 if draw.random() < 0.01 else 5.0 for _ in range(10)
                ),
            )
            for n in range(1000)
        ]
        broken = sum(
            expectation.judge(self.EXPECT, windows[:seen][-30:])[0].outcome
            is expectation.LimitOutcome.BROKEN
            for seen in range(30, len(windows) + 1)
        )
        self.assertLessEqual(broken, 0.01 * len(windows))

    def test_too_few_ios_tell_nothing(self):
        _, verdict = watched(map(window, range(20)), self.EXPECT)
        self.assertEqual(judgement.TierState.UNKNOWN, verdict.state)
        self.assertIn('expected at least 300 I/Os', verdict.reasons[0])

    def test_a_probe_pattern_takes_the_place_of_those_of_fleets(self):
        self.assertEqual(
            {'probe.p99_ms_max': 5.0},
            expectation.limits({**self.EXPECT, 'probe': {'p99_ms_max': 5}}),
        )
        self.assertEqual(
            {
                'probe.read_p99_ms_max': 5.0,
                'randwrite-4k.p99_ms_max': 10.0,
            },
            expectation.limits(
                {**self.EXPECT, 'probe': {'read_p99_ms_max': 5}}
            ),
        )

    def test_a_mean_above_its_limit(self):
        expect = {'probe': {'write_mean_ms_max': 4.9}}
        _, verdict = watched(map(window, range(30)), expect)
        self.assertEqual(judgement.TierState.BROKEN, verdict.state)
        _, verdict = watched(
            map(window, range(30)), {'probe': {'write_mean_ms_max': 5.1}}
        )
        self.assertEqual(judgement.TierState.SOUND, verdict.state)

    def test_a_write_that_hangs_is_slow_and_said_to_hang(self):
        windows = [*map(window, range(30))]
        windows.append(
            window(30, write_ms=(), read_ms=(), pending='write', pending_s=19)
        )
        _, verdict = watched(windows, {'probe': {'lat_longest_ms_max': 1000}})
        self.assertEqual(judgement.TierState.HANGS, verdict.state)
        self.assertEqual(windows[-1].began_at + 1, verdict.since)
        self.assertEqual(
            'a write has no completion for 19 s', verdict.reasons[0]
        )
        self.assertIn('the longest took 1.9e+04 ms', verdict.reasons[1])

    def test_an_io_that_hangs_for_several_windows_is_one_io(self):
        expect = {'probe': {'write_p99_ms_max': 1000}}
        windows = [*map(window, range(30))]

        def hanging(number, seconds):
            return window(
                number, write_ms=(), pending='write', pending_s=seconds
            )

        windows += [hanging(30, 19), hanging(31, 39), hanging(32, 59)]
        for end, (slow, ios) in (
            ([], (1, 301)),
            # It completes,
            ([window(33, write_ms=(59500.0, *near(5.0)))], (1, 301)),
            # fails,
            ([window(33, failed=1)], (1, 301)),
            # or is never heard of, as the watch was started again.
            ([window(33), hanging(34, 12), hanging(35, 32)], (2, 302)),
        ):
            kept, verdict = watched([*windows, *end], expect)
            (found,) = verdict.findings
            self.assertIs(expectation.LimitOutcome.MET, found.outcome)
            self.assertEqual(
                f'{slow} of {ios} took longer; limit 1000 ms', found.text
            )
        # Broken since the first of its windows.
        _, verdict = watched(
            [*windows, window(33, write_ms=(59500.0, *near(5.0)))],
            {'probe': {'write_lat_longest_ms_max': 1000}},
        )
        (found,) = verdict.findings
        self.assertEqual(windows[30].began_at, found.since)


class SeldomTestCase(testtools.TestCase):
    """Windows that do not follow one another at once."""

    def test_a_slower_tier_is_reported_however_seldom_it_is_measured(self):
        for gap_s in (20, 900, 3600, 86400):
            kept, said = (
                series.Series(tier='database', pools=('tier-database',)),
                [],
            )
            for number in range(60):
                kept, verdict = judgement.added(
                    kept,
                    window(
                        number,
                        began_at=BEGAN + gap_s * number,
                        write_ms=5.0 if number < 30 else 50.0,
                    ),
                    {},
                )
                said.append(verdict.state)
            # It is found in the tenth window.
            self.assertEqual(
                [judgement.TierState.SLOWER] * 10, said[40:50], gap_s
            )
            # In the end, it is what the tier has.
            self.assertEqual(
                judgement.TierState.SLOWER
                if gap_s == 20
                else judgement.TierState.SOUND,
                said[-1],
                gap_s,
            )

    def test_the_day_before_a_pause_is_not_judged(self):
        expect = {'probe': {'p99_ms_max': 20.0}}
        day = 86400 / series.WINDOW_S
        yesterday = [window(number, write_ms=50.0) for number in range(40)]
        today = [window(day + number, write_ms=1.0) for number in range(40)]
        for count in range(30, 41):
            _kept, verdict = watched(
                [*yesterday, *today[:count]], expect=expect
            )
            self.assertNotEqual(
                judgement.TierState.BROKEN, verdict.state, verdict.reasons
            )


@ddt.ddt
class CameBackTestCase(testtools.TestCase):
    """A tier is slower as long as it is, for an hour at most."""

    def verdicts(self, *levels):
        """Of each window: (state, first reason).

        :param levels: (windows, median of writes in ms), one after another
        """
        draw = random.Random(5)
        kept = series.Series(tier='database', pools=('tier-database',))
        found = []
        values = [ms for count, ms in levels for _ in range(count)]
        for number, ms in enumerate(values):
            kept, verdict = judgement.added(
                kept,
                window(
                    number,
                    write_ms=tuple(
                        ms * draw.lognormvariate(0, 0.1) for _ in range(10)
                    ),
                ),
                {},
            )
            found.append((verdict.state, ''.join(verdict.reasons[:1])))
        return found

    @ddt.data(11, 12, 15, 30)
    def test_what_came_back_is_not_slower(self, slow):
        found = self.verdicts((60, 10), (slow, 30), (100, 10))
        states = [state for state, _ in found]
        self.assertIn(judgement.TierState.SLOWER, states[60 : 60 + slow])
        # As many windows say that it has come back as said that it rose.
        self.assertNotIn(judgement.TierState.SLOWER, states[60 + slow + 5 :])

    def test_what_came_back_in_part_is_still_slower(self):
        found = self.verdicts((60, 10), (20, 40), (80, 20))
        state, reason = found[-1]
        self.assertEqual(judgement.TierState.SLOWER, state)
        self.assertRegex(
            reason,
            r'^the median latency of a write went from (9|10)\S* to '
            r'(19|20|21)\S* ms$',
        )
        self.assertEqual(
            {judgement.TierState.SLOWER}, {state for state, _ in found[71:]}
        )

    def test_of_two_rises_the_latest_that_is_left_is_said(self):
        found = self.verdicts((60, 10), (40, 20), (30, 45), (30, 20))
        said = [
            [round(float(ms)) for ms in re.findall(r'[\d.]+', reason)]
            for _, reason in (found[90], found[125], found[-1])
        ]
        for expected, actual in zip(
            ((10, 20), (20, 45), (10, 20)), said, strict=True
        ):
            for one, other in zip(expected, actual, strict=True):
                self.assertAlmostEqual(one, other, delta=2)

    def test_a_rise_after_it_came_back_is_a_rise_of_its_own(self):
        found = self.verdicts((60, 10), (20, 40), (40, 10), (20, 40))
        self.assertNotIn(
            judgement.TierState.SLOWER, {state for state, _ in found[85:118]}
        )
        self.assertEqual(judgement.TierState.SLOWER, found[-1][0])


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
        other = dataclasses.replace(QUIET, **changed)
        windows = [
            window(n, status=QUIET if n < 3 else other) for n in range(6)
        ]
        self.assertEqual(
            (f'{circumstances.time_text(windows[3].began_at)} {text}',),
            circumstances.around(windows, windows[3].began_at),
        )
        # What was not read is not said to have changed.
        (name,) = list(changed)[:1]
        unread = dataclasses.replace(QUIET, **{name: None})
        self.assertEqual(
            (),
            circumstances.around(
                [window(0), window(1, status=unread)], windows[0].began_at
            ),
        )

    def test_an_image_that_was_not_among_the_busiest(self):
        busiest = {f'volume-{number}': 100.0 + number for number in range(10)}
        windows = [
            window(0, status=dataclasses.replace(QUIET, image_iops=busiest)),
            window(
                1,
                status=dataclasses.replace(
                    QUIET,
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
        near = dataclasses.replace(QUIET, scrubbing=1)
        both = dataclasses.replace(near, osds_up=('0-1',))
        windows = [
            window(n, status=QUIET if n < 15 else near if n < 18 else both)
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
            QUIET, config_version=8, config_names=('osd.1/osd_mclock',)
        )
        windows = [window(n, write_ms=5 + n % 3 / 10) for n in range(40)]
        windows += [
            window(n, write_ms=10 + n % 3 / 10, status=throttled)
            for n in range(40, 50)
        ]
        kept, verdict = watched(windows)
        self.assertEqual(judgement.TierState.SLOWER, verdict.state)
        self.assertEqual(windows[40].began_at, verdict.since)
        self.assertEqual(
            ('the median latency of a write went from 5.12 to 10.1 ms',),
            verdict.reasons,
        )
        self.assertIn('osd.1/osd_mclock', verdict.circumstances[0])
        self.assertEqual(1, len(kept.changes))
        # As soon as it is as before, nothing is wrong.
        for n in range(50, 70):
            kept, verdict = judgement.added(
                kept, window(n, write_ms=5 + n % 3 / 10), {}
            )
        self.assertEqual(judgement.TierState.SOUND, verdict.state)


class SetClockTestCase(testtools.TestCase):
    """The clock was ahead, and is set back by 200 windows."""

    EXPECT = {'probe': {'write_p99_ms_max': 8.0}}
    AHEAD = [
        *map(window, range(300, 390)),
        *[window(number, write_ms=10.0) for number in range(390, 410)],
    ]
    RIGHT = [*map(window, range(210, 270))]

    def test_nothing_is_since_a_time_to_come(self):
        _, ahead = watched(self.AHEAD, self.EXPECT)
        self.assertEqual(judgement.TierState.BROKEN, ahead.state)
        kept, verdict = watched(self.AHEAD + self.RIGHT, self.EXPECT)
        self.assertEqual(judgement.TierState.SOUND, verdict.state)
        self.assertEqual(tuple(self.RIGHT), kept.windows)
        self.assertEqual(((), {}), (kept.changes, dict(kept.broken_since)))

    def test_a_change_is_found_at_once(self):
        slow = [window(number, write_ms=12.0) for number in range(270, 290)]
        _, verdict = watched(self.AHEAD + self.RIGHT + slow)
        self.assertEqual(
            (judgement.TierState.SLOWER, slow[0].began_at),
            (verdict.state, verdict.since),
        )

    def test_a_second_leaves_all_windows_that_were_before(self):
        late = dataclasses.replace(
            window(20), began_at=window(20).began_at - 1.0
        )
        kept, _ = watched([*map(window, range(20)), late])
        self.assertEqual(21, len(kept.windows))


@ddt.ddt
class SeriesTestCase(testtools.TestCase):
    def kept(self):
        kept, _ = watched(map(window, range(30)), {'probe': {'p99_ms_max': 1}})
        change = series.LevelChange(
            direction='read',
            since=BEGAN,
            before_ms=1.0,
            after_ms=2.0,
            circumstances=('x',),
        )
        return dataclasses.replace(kept, changes=(change,))

    def test_what_is_written_is_read(self):
        kept = self.kept()
        self.assertEqual(['probe.p99_ms_max'], list(kept.broken_since))
        self.assertEqual(kept, series.read(series.write(kept)))

    def test_a_series_of_earlier_releases_is_read(self):
        document = json.loads(series.write(self.kept()))
        del document['hours']
        found = series.read(json.dumps(document))
        self.assertIsNone(found.hours)
        kept, _ = judgement.added(found, window(30), {})
        self.assertEqual(self.kept().windows, kept.windows[:-1])
        self.assertEqual(kept, series.read(series.write(kept)))

    def test_an_hour_is_read(self):
        document = json.loads(series.write(self.kept()))
        document['hours'] = [AN_HOUR]
        found = series.read(json.dumps(document))
        self.assertEqual((series.Hour(**AN_HOUR),), found.hours)

    def test_osds_are_ranges_in_their_order(self):
        document = json.loads(series.write(self.kept()))
        status = document['windows'][0]['status'] = {
            one.name: None for one in dataclasses.fields(series.Status)
        }
        status['osds_up'] = ['0-2', '5']
        found = series.read(json.dumps(document)).windows[0].status
        self.assertEqual(('0-2', '5'), found.osds_up)
        for wrong in (['5', '0-2'], ['2-0'], ['0-9999999'], ['0', 1], ['-1']):
            status['osds_up'] = wrong
            self.assertRaises(ValueError, series.read, json.dumps(document))

    def test_it_does_not_grow_for_ever(self):
        kept = self.kept()
        many = dataclasses.replace(
            kept,
            windows=kept.windows * 100,
            changes=kept.changes * 200,
            hours=kept.hours * 400,
        )
        found = series.read(series.write(many))
        self.assertEqual(series.MOST_WINDOWS, len(found.windows))
        self.assertEqual(series.MOST_CHANGES, len(found.changes))
        self.assertEqual(series.MOST_HOURS, len(found.hours))

    @ddt.data(
        {'version': 2},
        {'tier': 1},
        {'pools': 'x'},
        {'windows': [3]},
        {'windows': [{}] * 2000},
        {'changes': [{'direction': 'up'}]},
        {'hours': [{'direction': 'write', 'number': 1}]},
        {'hours': [{**AN_HOUR, 'direction': 'up'}]},
        {'hours': [{**AN_HOUR, 'highest_ms': -1}]},
        {'hours': [AN_HOUR] * 1000},
        {'broken_since': {'x': 'y'}},
        {'broken_since': {'x': -1}},
        {'broken_since': {str(one): 1 for one in range(1001)}},
    )
    def test_what_is_no_series_is_refused(self, wrong):
        document = {**json.loads(series.write(self.kept())), **wrong}
        self.assertRaises(ValueError, series.read, json.dumps(document))

    @ddt.data('', '[]', '{', '[' * 10**5, 'null')
    def test_what_is_no_object_is_refused(self, text):
        self.assertRaises(ValueError, series.read, text)

    @ddt.data('began_at', 'write_ms', 'pending', 'failed', 'status')
    def test_each_field_of_a_window_is_checked(self, name):
        document = json.loads(series.write(self.kept()))
        document['windows'][0][name] = {'x': float('nan')}
        if name == 'status':
            document['windows'][0][name] = dataclasses.asdict(
                series.Status()
            ) | {'osd_ms': {'0': 'x'}}
        self.assertRaises(ValueError, series.read, json.dumps(document))
