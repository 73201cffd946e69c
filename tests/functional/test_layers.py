# SPDX-License-Identifier: Apache-2.0

"""Which disks the task of layers may overwrite: in the lab, one."""

import json
import os
import pathlib

import fixtures

from tests.functional import lab

#: Tries to claim each device; prints why not, or that it did.
CLAIM = """
import os, sys
from cinder_tiers.figures.layers import host_file as layers_host
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


class LayersCase(lab.LabTestCase):
    """Knows what the host of the lab offers to the task of layers."""

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


class RawDiskTest(LayersCase):
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
