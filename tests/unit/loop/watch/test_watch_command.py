# SPDX-License-Identifier: Apache-2.0

"""`openstack tier watch`, run by the real shell where no Ceph is needed."""

import json
import pathlib
import sys
import tempfile
from unittest import mock

import ddt
import testtools

from cinder_tiers.cli import exit_status
from cinder_tiers.loop.watch import judgement
from cinder_tiers.loop.watch import series
from cinder_tiers.loop.watch import use_case as watch
from cinder_tiers.loop.watch import watch_command as command
from tests.contract import rbd_in_memory
from tests.unit.cli import shell
from tests.unit.loop.watch import test_use_case

ON_CEPH = """
version: 1
clusters:
  ceph: {conf: /nothing/ceph.conf}
tiers:
  general:
    fallback: true
    expect: {probe: {lat_longest_ms_max: 30}}
    rbd:
      cluster: ceph
      pool: tier-general
      device_class: hdd
      failure_domain: host
      pg_num: 8
      replicated: {size: 3, min_size: 2}
"""
TIERS = """
version: 1
tiers:
  general: {fallback: true, backend: lvm}
"""


@ddt.ddt
class WatchTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = pathlib.Path(self.folder) / 'tiers.yaml'
        self.path.write_text(TIERS)

    def watch(self, *arguments):
        return shell.openstack(
            'tier',
            'watch',
            '--catalog',
            str(self.path),
            '--state',
            self.folder,
            *map(str, arguments),
        )

    def test_a_tier_that_is_not_on_ceph_is_not_watched(self):
        ran = self.watch('--once', '-f', 'json')
        self.assertEqual(exit_status.UNKNOWN, ran.status, ran.stderr)
        (row,) = json.loads(ran.stdout)
        self.assertEqual(
            ('general', 'not watched'), (row['Tier'], row['State'])
        )
        self.assertIn('no rbd in the tiers file', row['Reason'][0])

    def test_a_tier_that_breaks_what_is_expected_of_it(self):
        rbd = rbd_in_memory.Rbd()
        rbd.latency_s = {'write': 0.05, 'read': 0.01}
        bindings = {
            'rbd': rbd,
            'rados': rbd_in_memory.Rados(test_use_case.ANSWERS),
        }
        self.path.write_text(ON_CEPH)
        metrics = pathlib.Path(self.folder) / 'watch.prom'
        with mock.patch.dict(sys.modules, bindings):
            ran = self.watch('--once', '-f', 'json', '--metrics', metrics)
            self.assertEqual(exit_status.DIFFERENT, ran.status, ran.stderr)
            (row,) = json.loads(ran.stdout)
            self.assertEqual(
                ('general', 'expectation broken'), (row['Tier'], row['State'])
            )
            self.assertIn('probe.lat_longest_ms_max', row['Reason'][0])
            self.assertRegex(row['Since'], '^20..-..-..T..:..:..Z$')
            self.assertLess(50, row['Write ms'])
            self.assertEqual(1.0, row['Probe IOPS'])
            self.assertIn('tier general: expectation broken since', ran.stderr)
            self.assertIn(
                'state="broken",tier="general"} 1.0', metrics.read_text()
            )
            self.assertEqual(1, len(rbd.images))
            ran = self.watch('--remove', '-f', 'json')
        self.assertEqual(exit_status.OK, ran.status, ran.stderr)
        self.assertEqual(
            [{'Tier': 'general', 'Image removed': True}],
            json.loads(ran.stdout),
        )
        self.assertEqual({}, rbd.images)

    def test_an_unknown_tier_is_an_error(self):
        ran = self.watch('--once', '--tier', 'fast')
        self.assertEqual(exit_status.ERROR, ran.status)
        self.assertIn("tier 'fast' does not exist", ran.stderr)

    @ddt.data('10', '0s', '1d', '-1s', '9' * 9 + 's')
    def test_what_is_no_duration_is_refused(self, text):
        self.assertEqual(exit_status.USAGE, self.watch(f'--for={text}').status)

    def test_a_least_change_of_nothing_is_refused(self):
        ran = self.watch('--once', '--least-change', '0')
        self.assertEqual(exit_status.USAGE, ran.status)
        self.assertIn("'0': expected a number of more than 0", ran.stderr)

    @ddt.data(
        ((), exit_status.UNKNOWN),
        (('SOUND',), exit_status.OK),
        (('SOUND', 'UNKNOWN'), exit_status.UNKNOWN),
        (('UNKNOWN', 'SLOWER'), exit_status.DIFFERENT),
        (('SOUND', 'BROKEN'), exit_status.DIFFERENT),
        (('HANGS',), exit_status.DIFFERENT),
        (('FAILS',), exit_status.DIFFERENT),
    )
    @ddt.unpack
    def test_exit_statuses(self, states, status):
        kept = series.Series(tier='x', pools=('x',))
        self.assertEqual(
            status,
            command.status_of(
                [
                    watch.Watched(
                        kept=kept,
                        verdict=judgement.TierVerdict(
                            state=judgement.TierState[state]
                        ),
                        probe_iops=1.0,
                    )
                    for state in states
                ]
            ),
        )
