# SPDX-License-Identifier: Apache-2.0

"""The watch of tiers on a cluster in memory, with real threads and files."""

import contextlib
import dataclasses
import os
import pathlib
import stat
import tempfile
import threading

import testtools

from cinder_tiers.domain import errors
from cinder_tiers.loop.watch import files
from cinder_tiers.loop.watch import judgement
from cinder_tiers.loop.watch import pace
from cinder_tiers.loop.watch import series
from cinder_tiers.loop.watch import use_case as watch
from tests.unit.domain import catalogs as given
from tests.worlds import ceph_bindings

#: As Ceph 16.2.15 answers, cut short.
ANSWERS = {
    'status': {
        'health': {'status': 'HEALTH_WARN', 'checks': {'OSD_DOWN': {}}},
        'osdmap': {'epoch': 12},
        'pgmap': {
            'pgs_by_state': [
                {'state_name': 'active+clean', 'count': 90},
                {'state_name': 'active+clean+scrubbing+deep', 'count': 2},
                {'state_name': 'active+remapped+backfilling', 'count': 5},
            ]
        },
    },
    'osd dump': {
        'osds': [{'osd': 0, 'up': 1}, {'osd': 1, 'up': 0}],
        'pools': [
            {
                'pool_name': 'tier-database',
                'size': 3,
                'options': {'compression_mode': 'none'},
            },
            {'pool_name': 'other', 'size': 2},
        ],
    },
    'osd perf': {
        'osdstats': {
            'osd_perf_infos': [
                {
                    'id': 0,
                    'perf_stats': {
                        'commit_latency_ms': 4,
                        'apply_latency_ms': 4,
                    },
                }
            ]
        }
    },
    'osd pool stats': [
        {
            'pool_name': 'tier-database',
            'client_io_rate': {'read_op_per_sec': 150, 'write_op_per_sec': 51},
        },
        {'pool_name': 'other', 'client_io_rate': {'read_op_per_sec': 999}},
    ],
    'rbd perf image stats': {
        'stat_descriptors': [
            *('write_ops', 'read_ops', 'write_bytes', 'read_bytes'),
            *('write_latency', 'read_latency'),
        ],
        'pool_descriptors': {'0': 'tier-database'},
        'stats': [
            {'0/volume-1': [1.0, 2.0, 0, 0, 0, 0]},
            {'0/volume-2': [40.0, 2.0, 0, 0, 0, 0]},
        ],
    },
    'config log': [
        {
            'version': 7,
            'changes': [
                {
                    'name': 'osd/class:ssd/osd_max_scrubs',
                    'previous_value': '1',
                    'new_value': '2',
                }
            ],
        }
    ],
}


class WatchCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.ceph = ceph_bindings.Cluster(['tier-database'])
        self.addCleanup(self.ceph.serves.set)
        self.session = ceph_bindings.Session(self.ceph, dict(ANSWERS))
        database, *_ = given.tiers_of_all_kinds()
        elsewhere = given.other_tier('elsewhere', backend_name='other')
        self.catalog = given.of(
            dataclasses.replace(database, fallback=True), elsewhere
        )
        self.folder = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory())
        )
        self.kept = files.SeriesFiles(str(self.folder / 'state'))
        self.stop = threading.Event()

    def watch(self, windows=1, window_s=0.3, **options):
        return watch.watch(
            catalog=self.catalog,
            tiers=self.catalog.tiers,
            kept=self.kept,
            windows=windows,
            window_s=window_s,
            stop=self.stop,
            report=options.pop('report', lambda found: None),
            complain=options.pop('complain', lambda failure: None),
            open_session=lambda cluster: contextlib.nullcontext(self.session),
            **options,
        )


class WatchTestCase(WatchCase):
    def test_latencies_and_facts_of_a_window(self):
        self.ceph.latency_s = {'write': 0.02, 'read': 0.01}
        (found,) = self.watch()
        self.assertEqual('database', found.kept.tier)
        self.assertLess(20, found.last.median_ms('write'))
        self.assertLess(10, found.last.median_ms('read'))
        self.assertEqual(
            series.Status(
                checks=('OSD_DOWN',),
                recovering=5,
                scrubbing=2,
                osds_up=('0',),
                osd_ms={'0': 4.0},
                osd_median_ms=4.0,
                client_iops=201.0,
                image_iops={'volume-2': 42.0, 'volume-1': 3.0},
                config_version=7,
                config_names=('osd/class:ssd/osd_max_scrubs',),
                pool_options=found.last.status.pool_options,
            ),
            found.last.status,
        )
        self.assertEqual(
            {
                'tier-database size': '3',
                'tier-database compression_mode': 'none',
            },
            {
                name: value
                for name, value in found.last.status.pool_options.items()
                if value != 'None'
            },
        )

    def test_its_load_follows_that_of_the_tier(self):
        first, second = self.watch(), self.watch(windows=2)
        self.assertEqual(
            [pace.LEAST_IOPS], [each.probe_iops for each in first]
        )
        # 1 % of 201 IOPS without the one that is the probe's own.
        self.assertEqual([2.0], [each.probe_iops for each in second])

    def test_a_series_is_carried_on(self):
        self.watch(windows=2, window_s=0.05)
        (found,) = self.watch(window_s=0.05)
        self.assertEqual(3, len(found.kept.windows))
        path = pathlib.Path(self.kept.path('database'))
        self.assertEqual(0o600, stat.S_IMODE(path.stat().st_mode))
        self.assertEqual(0o700, stat.S_IMODE(path.parent.stat().st_mode))
        self.assertEqual(
            found.kept, self.kept.read('database', found.kept.pools)
        )

    def test_a_cluster_of_thousands_of_osds_is_carried_on(self):
        count = 5000
        perf = {'commit_latency_ms': 4, 'apply_latency_ms': 4}
        dump = {
            **ANSWERS['osd dump'],
            'osds': [{'osd': one, 'up': one != 7} for one in range(count)],
        }
        self.session.answers.update(
            {
                'osd dump': dump,
                'osd perf': {
                    'osd_perf_infos': [
                        {'id': one, 'perf_stats': perf} for one in range(count)
                    ]
                },
            }
        )
        (found,) = self.watch(window_s=0.05)
        self.assertEqual(('0-6', '8-4999'), found.last.status.osds_up)
        self.assertEqual(4.0, found.last.status.osd_median_ms)
        size = os.path.getsize(self.kept.path('database'))
        # Eight hours of it are written every 20 s.
        self.assertLess(size, 5000)
        (found,) = self.watch(window_s=0.05)
        self.assertEqual(2, len(found.kept.windows))

    def test_a_cluster_that_hangs_does_not_hang_the_watch(self):
        self.watch(window_s=0.05)
        self.ceph.serves.clear()
        (found,) = self.watch(window_s=0.2)
        self.assertEqual('write', found.last.pending)
        self.assertLess(0.1, found.last.pending_s)
        self.assertEqual((), found.last.write_ms)

    def test_a_stop_leaves_the_window_out(self):
        self.watch(window_s=0.05)
        self.stop.set()
        self.assertEqual([], self.watch(windows=None, window_s=30))
        self.assertEqual(
            1,
            len(
                self.kept.read(
                    'database', self.catalog.tiers[0].rbd.pools
                ).windows
            ),
        )

    def test_an_unknown_tier_is_named(self):
        refused = self.assertRaises(
            errors.ProblemsFound, self.catalog.chosen, ['nothing']
        )
        self.assertIn("tier 'nothing' does not exist", str(refused))

    def test_too_few_windows_say_that_they_are(self):
        (found,) = self.watch(window_s=0.05)
        self.assertEqual(judgement.TierState.UNKNOWN, found.verdict.state)
