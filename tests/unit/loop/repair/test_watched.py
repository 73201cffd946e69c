# SPDX-License-Identifier: Apache-2.0

import pathlib
import tempfile

import testtools

from cinder_tiers.domain import errors
from cinder_tiers.files.tiers import reader
from cinder_tiers.loop.repair import watched
from cinder_tiers.loop.watch import files
from cinder_tiers.loop.watch import judgement
from cinder_tiers.loop.watch import series
from tests.unit.loop.watch import test_watch_command

BEGAN = 1_700_000_000.0
POOLS = ('tier-general',)
#: Ten writes of a window, around a median.
SPREAD = (0.9, 0.93, 0.95, 0.98, 1.0, 1.0, 1.02, 1.05, 1.07, 1.1)


class WatchedTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        path = pathlib.Path(self.folder) / 'tiers.yaml'
        path.write_text(
            test_watch_command.ON_CEPH.replace(
                '    expect: {probe: {lat_longest_ms_max: 30}}\n', ''
            )
        )
        self.catalog = reader.read_file(str(path))
        self.kept = series.Series(tier='general', pools=POOLS)
        self.now = BEGAN

    def window(self, median_ms, count=1):
        """Watch for some windows more, as `tier watch` does."""
        for _ in range(count):
            self.kept, _verdict = judgement.added(
                self.kept,
                series.TierWindow(
                    began_at=self.now,
                    write_ms=tuple(median_ms * each for each in SPREAD),
                ),
                {},
            )
            self.now += series.WINDOW_S
        files.SeriesFiles(self.folder).write(self.kept)

    def watched(self):
        return watched.WatchedTiers(
            self.folder, self.catalog, clock=lambda: self.now
        )

    def test_a_slower_tier_is_told_until_it_is_over(self):
        self.window(5, 60)
        found = self.watched()
        self.assertEqual(([], [], ''), self.say(found))
        self.window(25, 20)
        self.assertIn(
            'tier general: slower since 2023-11-14T22:33:20Z: the median '
            'latency of a write went from 5 to 25 ms',
            found.trouble(),
        )
        self.window(5, 20)
        self.assertEqual('', found.trouble())

    def say(self, found):
        return found.without, found.unknown(), found.trouble()

    def test_a_watch_that_has_ended_is_told(self):
        self.window(5, 60)
        found = self.watched()
        self.now += watched.STALE_S + 1
        self.assertIn(
            'tier general has not been watched since 2023-11-14T22:33:20Z',
            found.trouble(),
        )
        error = self.assertRaises(errors.ActionFailed, self.watched)
        self.assertIn('has not been watched since', str(error))
        self.assertIn('Start "openstack tier watch"', str(error))

    def test_nothing_is_known_at_first(self):
        error = self.assertRaises(errors.ActionFailed, self.watched)
        self.assertIn(f'{self.folder} has no series', str(error))
        self.window(5, 3)
        ((), (unknown,), trouble) = map(tuple, self.say(self.watched()))
        self.assertIn('tier general: 3 windows', unknown)
        self.assertEqual((), trouble)

    def test_a_series_that_cannot_be_read_is_a_trouble(self):
        self.window(5, 60)
        found = self.watched()
        path = pathlib.Path(files.SeriesFiles(self.folder).path('general'))
        path.write_text('{"version": 1}')
        self.assertIn('is not a series of "tier watch"', found.trouble())
        self.assertRaises(errors.TiersError, self.watched)
