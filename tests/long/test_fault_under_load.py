# SPDX-License-Identifier: Apache-2.0

"""An OSD is out and back while guests measure, again and again."""

import json
import pathlib

import fixtures
from testtools import content as details
import yaml

from tests.functional import lab
from tests.functional import tier_objects

#: How often in a row.
BLOCKS = 10
#: From the start of the load.
OUT_AT_S, OUT_FOR_S, AFTER_S = 40, 30, 50
TASK = lab.REPOSITORY / 'rally_scenarios' / 'tasks' / 'fault-idcf2014.yaml'
ARGUMENTS = {
    'size': 'smoke',
    'guests_per_tier': 1,
    'runtime_seconds': OUT_AT_S + OUT_FOR_S + AFTER_S,
    'iodepth': 16,
    'late_after_ms': 4000,
}
FAULTS = {
    'version': 1,
    'tier': 'general',
    'blocks': BLOCKS,
    'seed': 2014,
    'counts_from': 'announcement',
    'recovery_minutes': 10,
    'faults': {
        'out': {
            'kind': 'osd_out',
            'at_seconds': OUT_AT_S,
            'for_seconds': OUT_FOR_S,
        }
    },
}
#: As in doc/source/admin/sweeps.rst.
MEASURE = """
set -e
folder=$(mktemp -d)
arguments=$(echo "$2" | jq -c --arg to "$folder" '. + {result_folder: $to}')
rally task start "$1" --task-args "$arguments"
mv "$folder"/*.json "$CINDER_TIERS_SWEEP_RESULT"
rmdir "$folder"
"""


class FaultUnderLoadTest(tier_objects.TierObjectsTestCase):
    blocks = BLOCKS

    def health(self):
        return self.run_command('ceph', 'health')[0].strip()

    def test_an_osd_out_and_back_ten_times_in_a_row(self):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        file = folder / 'fault.yaml'
        file.write_text(yaml.safe_dump({**FAULTS, 'blocks': self.blocks}))
        before = self.world()
        out = folder / 'out'
        fsid = self.run_command('ceph', 'fsid')[0].strip()
        _output, said = self.run_command(
            *('openstack', 'tier', 'fault', str(file), '--allow', fsid),
            *('--state', str(folder / 'state'), '--out', str(out)),
            *('--yes', '-f', 'json', '--', 'sh', '-c', MEASURE, 'measure'),
            *(str(TASK), json.dumps(ARGUMENTS)),
            timeout_s=900 * self.blocks,
        )
        self.addDetail('fault', details.text_content(said))
        self.assertEqual('HEALTH_OK', self.health())
        rows = json.loads(
            self.run_command(
                *('openstack', 'tier', 'response', str(out / 'sweep.json')),
                *('-f', 'json', '--bound', '30'),
                expect=None,
            )[0]
        )
        self.addDetail('response', details.text_content(json.dumps(rows)))
        swept = json.loads((out / 'sweep.json').read_text())
        self.assertEqual(self.blocks, len(swept['slots']))
        for slot in swept['slots']:
            self.assertTrue(slot['is_sound'], slot)
            (fault,) = slot['faults']
            self.assertLessEqual(fault['ended'], fault['healthy'])
        self.assertTrue(swept['is_brought_back'])
        together = [row for row in rows if row['Direction'] == 'all']
        self.assertEqual(self.blocks, len(together), rows)
        for row in together:
            # But for moments, of which it may be known that they did not come.
            for name in (
                *('IOPS before', 'IOPS during', 'IOPS after'),
                *('p99 ms before', 'p99 ms during', 'p99 ms after'),
                *('Longest stall s', 'Healthy after s'),
            ):
                self.assertIsNotNone(row[name], (name, row))
        self.assertEqual(
            {'read', 'write'},
            {row['Direction'] for row in rows} - {'all'},
        )
        self.assertEqual({}, tier_objects.changes(before, self.world()))
        self.run_command('openstack', 'tier', 'plan')
