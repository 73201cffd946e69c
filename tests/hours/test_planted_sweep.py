# SPDX-License-Identifier: Apache-2.0

"""A sweep of the lab finds the one option that does something, or none.

Sixteen options do nothing to what is measured, and one treatment makes the
disks twice as fast behind the back of the sweep. Each slot is a run of fio on
an image in the pool of the tier. ``CINDER_TIERS_TEST_BLOCKS`` says how many
blocks the sweep without that treatment has: 30 are a night.
"""

import json
import os
import pathlib
import sys

import fixtures
from testtools import content as details
import yaml

from tests.functional import disk_iops
from tests.functional import lab
from tests.functional import rbd_load
from tests.functional import tier_objects

FAST_IOPS = 320
SECONDS = 8
#: Four: with three, a doubled load is not enough for some sixty claims.
BLOCKS = 4
BLOCKS_OF_DUMMIES = int(os.environ.get('CINDER_TIERS_TEST_BLOCKS', '30'))
#: A slot takes 25 s at least, and half a minute on a busy machine.
SLOT_SECONDS_AT_MOST = 90
SEED = 20261124
#: What OSDs do when they scrub, recover or trim snapshots, and they do none.
DUMMIES = {
    'osd_max_scrubs': 2,
    'osd_scrub_load_threshold': 0.75,
    'osd_scrub_chunk_max': 20,
    'osd_scrub_chunk_min': 4,
    'osd_scrub_sleep': 0.01,
    'osd_deep_scrub_stride': 262144,
    'osd_recovery_sleep_hdd': 0.2,
    'osd_recovery_max_single_start': 2,
    'osd_recovery_max_chunk': 4194304,
    'osd_snap_trim_sleep_hdd': 6,
    'osd_pg_max_concurrent_snap_trims': 3,
    'osd_delete_sleep_hdd': 6,
    'osd_max_backfills': 2,
    'osd_backfill_retry_interval': 40,
}
#: Its name says nothing; the script below knows it.
PLANTED = 'osd-backend-hint'
COMMAND = """
import json, os, pathlib, subprocess, sys
from tests.functional import disk_iops
guest = json.loads(os.environ['CINDER_TIERS_SWEEP_GUEST'])
held = disk_iops.DiskIops(pathlib.Path(os.environ['CINDER_TIERS_LAB']))
held.set({fast} if guest.get('hint') == 'on' else {slow})
try:
    done = subprocess.run(
        [sys.executable, '-m', 'tests.functional.rbd_load', *sys.argv[1:]]
    )
finally:
    held.set({slow})
sys.exit(done.returncode)
"""


class SweepOfAnImage(tier_objects.TierObjectsTestCase):
    """Runs fio on an image of its own, in the pool of the tier."""

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.useFixture(disk_iops.DiskIops(self.root))
        image = self.unique_name('swept')
        self.place = f'tier-general/{image}'
        rbd_load.make_image(self.run_command, 'tier-general', image)
        self.addCleanup(self.run_command, 'rbd', 'rm', self.place)

    def sweep(self, treatments, blocks):
        """What "tier effects" says of a sweep that left nothing behind.

        :param treatments: {name: treatment} beside the sixteen that do nothing
        """
        file = self.folder / 'sweep.yaml'
        file.write_text(
            yaml.safe_dump(
                {
                    'version': 1,
                    'tier': 'general',
                    'blocks': blocks,
                    'seed': SEED,
                    'treatments': {
                        **{
                            name: {'osd_options': {name: value}}
                            for name, value in DUMMIES.items()
                        },
                        'readahead': {
                            'rbd_options': {'rbd_readahead_max_bytes': 4096}
                        },
                        'nothing': {'guest': {'hint': 'off'}},
                        **treatments,
                    },
                }
            )
        )
        before = self.world()
        out = self.folder / 'out'
        # All blocks of the image are there before the first slot.
        rbd_load.measure(self.place, 20, environment=self.environment)
        command = self.folder / 'command.py'
        command.write_text(
            COMMAND.format(
                fast=FAST_IOPS, slow=disk_iops.topology.HDD_SPEED.iops
            )
        )
        slots = blocks * (len(DUMMIES) + 3 + len(treatments))
        _output, said = self.run_command(
            *('openstack', 'tier', 'sweep', str(file)),
            *('--state', str(self.folder / 'state'), '--out', str(out)),
            # Of the tests, not of the lab.
            *('--yes', '--', 'env', f'PYTHONPATH={lab.REPOSITORY}'),
            *(sys.executable, str(command), self.place, str(SECONDS)),
            timeout_s=slots * SLOT_SECONDS_AT_MOST,
        )
        self.addDetail('sweep', details.text_content(said))
        swept = json.loads((out / 'sweep.json').read_text())
        self.assertEqual(
            [], [one for one in swept['slots'] if not one['is_sound']]
        )
        self.assertTrue(swept['is_brought_back'])
        self.assertEqual({}, tier_objects.changes(before, self.world()))
        self.run_command('openstack', 'tier', 'plan')
        rows = self.ask(
            'openstack', 'tier', 'effects', str(out / 'sweep.json')
        )
        self.addDetail('effects', details.text_content(json.dumps(rows)))
        return rows

    def assert_claims(self, expected, rows):
        """Assert which treatments have an effect, as far as is claimed.

        :param expected: {(treatment, finding)}
        """
        claimed = [
            row for row in rows if row['Finding'] in ('better', 'worse')
        ]
        self.assertEqual(
            expected,
            {(row['Treatment'], row['Finding']) for row in claimed},
            json.dumps(claimed),
        )


class PlantedSweepTest(SweepOfAnImage):
    def test_it_is_the_only_effect(self):
        rows = self.sweep({PLANTED: {'guest': {'hint': 'on'}}}, BLOCKS)
        self.assert_claims({(PLANTED, 'better')}, rows)
        (iops,) = [
            row
            for row in rows
            if (row['Treatment'], row['Quantity']) == (PLANTED, 'iops')
        ]
        self.assertEqual('better', iops['Finding'])


class SweepOfDummiesTest(SweepOfAnImage):
    def test_no_effect_is_claimed(self):
        rows = self.sweep({}, BLOCKS_OF_DUMMIES)
        self.assertEqual(
            {*DUMMIES, 'readahead', 'nothing'},
            {row['Treatment'] for row in rows},
        )
        self.assert_claims(set(), rows)
