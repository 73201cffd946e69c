# SPDX-License-Identifier: Apache-2.0

"""The task of layers against the lab's Ceph, its scratch disk and a guest."""

import json
import os
import pathlib

import fixtures

from tests.functional import lab
from tests.functional import test_measurement

TASK = str(lab.REPOSITORY / 'rally_scenarios' / 'tasks' / 'layers.yaml')
POOL = 'tier-general'
#: What a run is called that was killed.
CUT_OFF = 'cinder-tiers-layers-functional'
#: Tries to claim each device; prints why not, or that it did.
CLAIM = """
import os, sys
from rally_scenarios.bench.layers import host_file as layers_host
from rally_scenarios.plugins.layers import process as host_process
from rally_scenarios.plugins.layers import raw_disk as raw_device
for device in sys.argv[1:]:
    disk = layers_host.RawDisk(device_class="hdd", device=device,
                               may_be_overwritten=True)
    try:
        with raw_device.claimed(disk):
            try:
                os.open(device, os.O_RDONLY | os.O_EXCL)
                print(device, "can be taken by others")
            except OSError:
                print(device, "claimed")
    except host_process.LayerError as error:
        print(error)
"""


class LayersTest(lab.LabTestCase):
    def setUp(self):
        super().setUp()
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.environment['HOME'] = str(self.home)
        self.host = json.loads(
            pathlib.Path(
                self.environment['CINDER_TIERS_LAYERS_HOST']
            ).read_text()
        )
        self.scratch = self.host['raw'][0]['device']

    leftovers = test_measurement.MeasurementTest.leftovers
    outputs = test_measurement.MeasurementTest.outputs

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

    def test_only_the_scratch_disk_can_be_overwritten(self):
        """Disks of OSDs are in use, and known by their label when not."""
        osds = [
            line.split(':')[0]
            for line in self.run_command(
                'losetup',
                '--list',
                '--noheadings',
                '--output',
                'NAME,BACK-FILE',
            )[0]
            .replace(' ', ':')
            .splitlines()
            if '.block' in line and str(self.root) in line
        ]
        self.assertGreater(len(osds), 3)
        told = self.run_command(
            str(self.root / 'venv' / 'bin' / 'python'),
            '-c',
            CLAIM,
            self.scratch,
            *osds,
            PYTHONPATH=str(lab.REPOSITORY),
        )[0]
        self.assertEqual(
            [
                f'{self.scratch} claimed',
                *(
                    f'{device}: is in use; it is not overwritten'
                    for device in osds
                ),
            ],
            told.splitlines(),
        )

    def test_data_on_a_disk_speaks_against_it(self):
        self.addCleanup(self.run_command, 'wipefs', '--all', self.scratch)
        for make in (
            ['mkfs.ext4', '-q', self.scratch, '1024'],
            ['bash', '-c', 'echo "label: gpt" | sfdisk -q "$0"', self.scratch],
        ):
            self.run_command('wipefs', '--all', self.scratch)
            self.run_command(*make)
            told = self.run_command(
                str(self.root / 'venv' / 'bin' / 'python'),
                '-c',
                CLAIM,
                self.scratch,
                PYTHONPATH=str(lab.REPOSITORY),
            )[0]
            self.assertIn('holds data: ', told)
            self.assertIn('it is not overwritten', told)

    def test_the_scratch_disk_is_as_slow_as_those_of_osds(self):
        number = os.stat(self.scratch).st_rdev
        number = f'{os.major(number)}:{os.minor(number)}'
        self.lab_sh('scratch-disk', 'up')
        limits = [
            line
            for file in pathlib.Path(self.host['raw'][0]['cgroup']).glob(
                'blkio.throttle.*_iops_device'
            )
            for line in file.read_text().splitlines()
        ]
        if limits:  # cgroup v1
            self.assertEqual(2, limits.count(f'{number} 160'))
            # Those of OSDs stayed, for reads and writes.
            self.assertEqual(8, len(limits), limits)
