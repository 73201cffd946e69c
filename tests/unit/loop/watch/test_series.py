# SPDX-License-Identifier: Apache-2.0

"""What is said of a tier that is watched, of windows that are made up."""

import dataclasses
import json

import ddt
import testtools

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
