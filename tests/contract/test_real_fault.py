# SPDX-License-Identifier: Apache-2.0

"""Faults on a real cluster: made, mended, and mended after SIGKILL."""

import json
import pathlib
import time
import types

import testtools

from cinder_tiers.loop.fault import observed_facts
from tests.contract import real_ceph
from tests.contract import test_real_killed_apply as killed
from tests.contract import test_real_sweep

TIERS = test_real_sweep.TIERS.replace('size: 2, min_size: 2', '@')
SPARE, NONE_TO_SPARE = 'size: 3, min_size: 2', 'size: 3, min_size: 3'
FAULTS = """version: 1
tier: {name}
blocks: 1
seed: 4
recovery_minutes: 5
faults:
  scrub: {{kind: deep_scrub, at_seconds: 0, for_seconds: 35}}
  out: {{kind: osd_out, at_seconds: 2, for_seconds: 5}}
  file:
    kind: command
    at_seconds: 3
    for_seconds: 2
    begin: [touch, {{folder}}/begun]
    end: [touch, {{folder}}/ended]
  down: {{kind: osd_down, at_seconds: 30, for_seconds: 5}}
"""
#: Until Ceph has peered and recovered after a fault, in seconds.
HEALTHY_S = 180.0


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RealFaultTestCase(test_real_sweep.ProcessCase):
    files = types.MappingProxyType(
        {'tiers': TIERS.replace('@', SPARE), 'fault': FAULTS}
    )

    def setUp(self):
        super().setUp()
        path = self.folder / 'fault.yaml'
        path.write_text(
            path.read_text('utf-8').replace('{folder}', str(self.folder)),
            'utf-8',
        )
        self.reader = observed_facts.Reader(self.session)
        self.fsid = self.session.command('osd dump')['fsid']
        self.addCleanup(self.wait_for_health)

    def wait_for_health(self):
        until = time.monotonic() + HEALTHY_S
        while not (found := self.reader.health()).is_ok:
            self.assertLess(time.monotonic(), until, found)
            time.sleep(0.5)

    def apply(self):
        ran = self.tier('apply')
        self.assertEqual(0, ran.returncode, ran.stderr)
        # The manager hears of a new pool later than the monitors.
        until = time.monotonic() + HEALTHY_S
        while not self.reader.facts(self.name, lambda holders: ()).holders:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.5)
        self.wait_for_health()

    def fault(self, command, *arguments, out='out'):
        return self.tier(
            'fault',
            '--out',
            str(self.folder / out),
            *arguments,
            str(self.folder / 'fault.yaml'),
            '--',
            'sh',
            '-c',
            command,
        )

    def assert_mended(self, before):
        self.assertEqual(before, self.reader.osds())
        self.assertEqual([], list((self.folder / 'state').glob('*')))
        plan = self.tier('plan')
        self.assertEqual(0, plan.returncode, plan.stdout)

    def test_all_kinds_are_made_and_mended(self):
        self.apply()
        before = self.reader.osds()
        ran = self.fault('sleep 40', '--allow', self.fsid)
        self.assertEqual(0, ran.returncode, ran.stderr)
        rows = {row['Fault']: row for row in json.loads(ran.stdout)}
        self.assertEqual({'scrub', 'out', 'file', 'down'}, set(rows))
        for row in rows.values():
            self.assertEqual('', row['Problem'])
            self.assertIsNotNone(row['Healthy after s'])
        for name in ('begun', 'ended'):
            self.assertTrue((self.folder / name).exists())
        self.assert_mended(before)

    def test_whoever_does_not_name_the_cluster_changes_nothing(self):
        self.apply()
        before = self.reader.osds()
        for allowed in ((), ('--allow', 'ceph')):
            ran = self.fault('true', *allowed)
            self.assertEqual(5, ran.returncode, ran.stderr)
            self.assertIn(f'--allow {self.fsid}', ran.stderr)
        self.assert_mended(before)

    def test_after_a_kill_everything_is_mended(self):
        self.apply()
        before = self.reader.osds()
        # While it is out, and while it is down.
        for seconds in (4, 32):
            ran = self.fault(
                f'sleep {seconds}; kill -9 $PPID',
                '--allow',
                self.fsid,
                out=f'killed-{seconds}',
            )
            self.assertEqual(killed.KILLED, ran.returncode, ran.stderr)
            self.assertNotEqual(before, self.reader.osds())
            status = self.tier('fault', '--status')
            self.assertEqual(4, status.returncode, status.stderr)
            ran = self.tier('fault', '--restore')
            self.assertEqual(0, ran.returncode, ran.stderr)
            self.assert_mended(before)
            self.wait_for_health()
        again = self.tier('fault', '--restore')
        self.assertEqual('[]', again.stdout.strip())

    def test_a_pool_without_a_copy_to_spare(self):
        tiers = pathlib.Path(self.folder / 'tiers.yaml')
        tiers.write_text(
            tiers.read_text('utf-8').replace(SPARE, NONE_TO_SPARE), 'utf-8'
        )
        self.apply()
        before = self.reader.osds()
        ran = self.fault('true', '--allow', self.fsid)
        self.assertEqual(5, ran.returncode, ran.stderr)
        self.assertIn('expected at least 3', ran.stderr)
        self.assert_mended(before)
