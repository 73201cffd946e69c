# SPDX-License-Identifier: Apache-2.0

"""`tier sweep`, killed at any moment, is brought back by `--restore`."""

import pathlib
import random
import signal
import subprocess
import time

import fixtures
from testtools import content as details
import yaml

from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.files.tiers import reader
from cinder_tiers.observe import for_plan as world
from tests.functional import commands
from tests.functional import tier_objects

#: How often a sweep is killed; tests/hours does it more often.
KILLS = 2
#: Longest part of a sweep before which it is killed at a random moment.
_LONGEST_S = 300


class KilledSweepTest(tier_objects.TierObjectsTestCase):
    kills = KILLS

    def setUp(self):
        super().setUp()
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.catalog_path = str(folder / 'tiers.yaml')
        self.sweep_path = str(folder / 'sweep.yaml')
        self.state = str(folder / 'state')
        self.results = folder / 'results'
        self.tier = f'{self.mark}-swept'
        declared = yaml.safe_load(
            pathlib.Path(self.environment['CINDER_TIERS_CATALOG']).read_text()
        )
        declared['tiers'][self.tier] = {
            'tags': [self.tier],
            'priority': 98,
            'qos': {'front_end': {'total_iops_sec': 500}},
            'rbd': {
                'cluster': 'ceph',
                'pool': self.tier,
                'device_class': 'hdd',
                'pg_num': 4,
                'replicated': {'size': 2, 'min_size': 2},
                'pool_options': {'compression_mode': 'passive'},
                'osd_options': {'osd_max_scrubs': 2},
            },
        }
        pathlib.Path(self.catalog_path).write_text(yaml.safe_dump(declared))
        self.catalog = reader.read_file(self.catalog_path)
        pathlib.Path(self.sweep_path).write_text(
            yaml.safe_dump(
                {
                    'version': 1,
                    'tier': self.tier,
                    'blocks': 1,
                    'factors': {
                        'osd_options': {
                            # One that is declared, and one that is not.
                            'osd_max_scrubs': [3],
                            'osd_scrub_load_threshold': [0.25],
                        },
                        'pool_options': {'compression_mode': ['aggressive']},
                        'rbd_options': {'rbd_readahead_max_bytes': [4096]},
                        'qos': {'front_end': {'total_iops_sec': ['250']}},
                    },
                }
            )
        )
        self.assertEqual(0, self.run_it('apply', '--yes').returncode)
        self.settle()

    def run_it(self, *arguments):
        done = commands.run(
            ('openstack', 'tier', *arguments, '--catalog', self.catalog_path),
            environment=self.environment,
        )
        self.addDetail(
            ' '.join(arguments[:2]),
            details.text_content(done.stdout + done.stderr),
        )
        return done

    def sweep(self, kill_after_s=_LONGEST_S):
        """Its exit status and how long it lasted."""
        began = time.monotonic()
        try:
            done = commands.run(
                (
                    'openstack',
                    'tier',
                    'sweep',
                    self.sweep_path,
                    '--catalog',
                    self.catalog_path,
                    '--state',
                    self.state,
                    '--out',
                    str(self.results / str(time.time_ns())),
                    '--yes',
                    '--',
                    'sh',
                    '-c',
                    'echo "{}" > "$CINDER_TIERS_SWEEP_RESULT"',
                ),
                environment=self.environment,
                timeout_s=kill_after_s,
            )
        except subprocess.TimeoutExpired:
            return -signal.SIGKILL, kill_after_s
        self.addDetail('sweep', details.text_content(done.stderr))
        return done.returncode, time.monotonic() - began

    def plan(self):
        with world.sessions(self.catalog) as clusters:
            return plans.make(
                catalog=self.catalog,
                actual=world.observe(
                    catalog=self.catalog,
                    clusters=clusters,
                    connection=self.connection,
                ),
            ).actions

    def settle(self):
        """Wait until the OSDs know what the monitors told them."""
        deadline = time.monotonic() + 120
        while self.plan():
            self.assertLess(time.monotonic(), deadline, self.plan())
            time.sleep(0.2)

    def changes_since(self, before):
        """What of the world is not as it was."""
        return tier_objects.changes(before, self.world())

    def test_restore_brings_each_value_back_at_any_moment(self):
        before = self.world()
        status, lasted_s = self.sweep()
        self.assertEqual(0, status)
        self.assertEqual({}, self.changes_since(before))
        seed = random.randrange(10**6)
        self.addDetail('seed', details.text_content(str(seed)))
        chosen, killed, left_changed = random.Random(seed), 0, 0
        for _ in range(self.kills):
            # The first run was the slowest, as the machine was not warm yet.
            moment_s = chosen.uniform(0, 0.75 * lasted_s)
            status, _lasted_s = self.sweep(moment_s)
            self.assertIn(status, (0, -9))
            killed += status == -9
            left_changed += bool(self.changes_since(before))
            restored = self.run_it('sweep', '--restore', '--state', self.state)
            self.assertEqual(0, restored.returncode, restored.stderr)
            self.settle()
            self.assertEqual({}, self.changes_since(before))
        self.addDetail(
            'kills',
            details.text_content(
                f'{killed} of {self.kills} were killed, and {left_changed} of '
                'them left another value behind'
            ),
        )
        self.assertLessEqual(self.kills / 2, killed)
