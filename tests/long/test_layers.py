# SPDX-License-Identifier: Apache-2.0

"""The task of layers against the lab's Ceph, its scratch disk and a guest."""

import json

from tests.functional import lab
from tests.functional import test_layers
from tests.functional import test_measurement

TASK = str(lab.REPOSITORY / 'rally_scenarios' / 'tasks' / 'layers.yaml')
POOL = 'tier-general'
#: What a run is called that was killed.
CUT_OFF = 'cinder-tiers-layers-functional'


class LayersTest(test_layers.LayersCase):
    leftovers = test_measurement.MeasurementCase.leftovers
    outputs = test_measurement.MeasurementCase.outputs

    def rados(self, *words):
        return self.run_command('rados', '--pool', POOL, *words)[0]

    def in_pool(self):
        """All objects of all namespaces, but those of RBD itself."""
        return sorted(
            line
            for line in self.rados('--all', 'ls').splitlines()
            if 'rbd_' not in line
        )

    def leave_what_a_killed_run_leaves(self, folder):
        self.rados(
            '--namespace',
            CUT_OFF,
            'bench',
            '1',
            'write',
            '-b',
            '4096',
            '-t',
            '1',
            '--run-name',
            'x',
            '--no-cleanup',
        )
        self.run_command('rbd', 'create', f'{POOL}/{CUT_OFF}', '--size', '4M')
        folder.mkdir(parents=True)
        note = folder / 'layers-unfinished-functional.json'
        note.write_text(
            json.dumps(
                {
                    'ceph': self.host['ceph'],
                    'pool': POOL,
                    'image_pool': POOL,
                    'name': CUT_OFF,
                }
            )
        )
        return note

    def test_each_layer_is_measured_and_nothing_is_left(self):
        """Nor of an earlier run that was killed."""
        before, objects = self.leftovers(), self.in_pool()
        folder = self.home / '.rally' / 'cinder-tiers'
        note = self.leave_what_a_killed_run_leaves(folder)
        self.run_command(
            'rally',
            'task',
            'start',
            TASK,
            '--task-args',
            json.dumps(
                {
                    'size': 'smoke',
                    'runtime_seconds': 3,
                    'ramp_seconds': 2,
                    'settle_seconds': 0,
                    'region_mib': 16,
                }
            ),
        )
        self.assertEqual((before, objects), (self.leftovers(), self.in_pool()))
        self.assertFalse(note.exists())
        table = self.outputs()['CinderTiers: figures of each layer']
        rows = {
            (row[0], row[1]): dict(zip(table['cols'], row, strict=True))
            for row in table['rows']
        }
        self.assertEqual(
            {
                (layer, pattern)
                for pattern in ('randwrite-4k', 'write-4m')
                for layer in ('raw', 'osd', 'rados', 'librbd', 'guest')
            },
            set(rows),
        )
        for row in rows.values():
            self.assertGreater(row['IOPS'], 0)
        # The lab holds its disks to 160 requests, or 60 MB, a second.
        self.assertLess(rows['raw', 'randwrite-4k']['IOPS'], 176)
        self.assertLess(rows['raw', 'write-4m']['MiB/s'], 63)
        self.assertEqual(33.3, rows['rados', 'randwrite-4k']['% it allows'])
        (file,) = folder.glob('layers-*.json')
        self.assertEqual(10, len(json.loads(file.read_text())['layers']))
