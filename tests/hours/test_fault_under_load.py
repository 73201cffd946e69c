# SPDX-License-Identifier: Apache-2.0

"""An OSD is out and back under load, ten times in a row."""

import json
import pathlib
import sys
import time

import fixtures
from testtools import content as details
import yaml

from tests.functional import lab
from tests.functional import rbd_load

#: How often in a row.
TIMES = 10
#: From the start of the load, each of them, and from one to the next.
OUT_AT_S, OUT_FOR_S, EVERY_S = 40, 20, 60
FIGURES = (
    *('IOPS before', 'IOPS during', 'IOPS after'),
    *('p99 ms before', 'p99 ms during', 'p99 ms after'),
    *('Longest stall s', 'Healthy after s'),
)


class FaultUnderLoadTest(lab.LabTestCase):
    """The load is that of a client of librbd in the pool of the tier."""

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        # The lab's images have two copies, on the same OSDs: none to spare.
        # Of hard disks, it has an erasure-coded pool without one.
        for name, wanted, before in (
            ('size', '3', '2'),
            ('min_size', '2', '1'),
        ):
            self.addCleanup(self.set_of_images, name, before)
            self.set_of_images(name, wanted)
        image = self.unique_name('faulty')
        self.place = f'tier-database/{image}'
        rbd_load.make_image(self.run_command, 'tier-database', image)
        self.addCleanup(
            self.run_command, 'rbd', 'rm', '--no-progress', self.place
        )
        # All of its blocks are there before.
        rbd_load.measure(self.place, 20, environment=self.environment)
        deadline = time.monotonic() + 300
        while self.health() != 'HEALTH_OK' or self.is_moving():
            self.assertLess(time.monotonic(), deadline, self.health())
            time.sleep(2)

    def set_of_images(self, name, value):
        self.run_command(
            *('ceph', 'osd', 'pool', 'set', 'images', name, value)
        )

    def health(self):
        return self.run_command('ceph', 'health')[0].strip()

    def is_moving(self):
        status = json.loads(
            self.run_command('ceph', 'pg', 'stat', '-f', 'json')[0]
        )
        return any(
            each['name'] != 'active+clean'
            for each in status['pg_summary']['num_pg_by_state']
        )

    def cloud(self):
        """The options of the cluster and the state of its OSDs, as texts."""
        osds = json.loads(
            self.run_command('ceph', 'osd', 'dump', '-f', 'json')[0]
        )
        return (
            self.run_command('ceph', 'config', 'dump', '-f', 'json')[0],
            [
                {name: osd[name] for name in ('osd', 'up', 'in', 'weight')}
                for osd in osds['osds']
            ],
            (osds['flags'], osds['crush_node_flags']),
        )

    def faults(self):
        return {
            'version': 1,
            'tier': 'database',
            'blocks': 1,
            'seed': 2014,
            'counts_from': 'announcement',
            'recovery_minutes': 10,
            'faults': {
                f'out-{number}': {
                    'kind': 'osd_out',
                    'at_seconds': OUT_AT_S + number * EVERY_S,
                    'for_seconds': OUT_FOR_S,
                }
                for number in range(TIMES)
            },
        }

    def test_an_osd_out_and_back_ten_times_in_a_row(self):
        file = self.folder / 'fault.yaml'
        file.write_text(yaml.safe_dump(self.faults()))
        before = self.cloud()
        out = self.folder / 'out'
        fsid = self.run_command('ceph', 'fsid')[0].strip()
        _output, said = self.run_command(
            *('openstack', 'tier', 'fault', str(file), '--allow', fsid),
            *('--state', str(self.folder / 'state'), '--out', str(out)),
            *('--yes', '-f', 'json', '--', 'env'),
            # Of the tests, not of the lab.
            *(f'PYTHONPATH={lab.REPOSITORY}', sys.executable, '-m'),
            *('tests.functional.rbd_load', self.place),
            *(str(OUT_AT_S + TIMES * EVERY_S), '--mix'),
            timeout_s=7200,
        )
        self.addDetail('fault', details.text_content(said))
        self.assertEqual('HEALTH_OK', self.health())
        self.assertEqual(before, self.cloud())
        self.run_command('openstack', 'tier', 'plan')
        rows = json.loads(
            self.run_command(
                *('openstack', 'tier', 'response', str(out / 'sweep.json')),
                *('-f', 'json', '--bound', '50'),
                expect=None,
            )[0]
        )
        self.addDetail('response', details.text_content(json.dumps(rows)))
        swept = json.loads((out / 'sweep.json').read_text())
        (slot,) = swept['slots']
        self.assertTrue(slot['is_sound'], slot)
        self.assertTrue(swept['is_brought_back'])
        self.assertEqual(TIMES, len(slot['faults']))
        for fault in slot['faults']:
            self.assertEqual('', fault['problem'])
            self.assertLessEqual(fault['ended'], fault['healthy'])
        self.assertEqual(
            {'all': TIMES, 'read': TIMES, 'write': TIMES},
            {
                name: len([row for row in rows if row['Direction'] == name])
                for name in ('all', 'read', 'write')
            },
        )
        for row in rows:
            for name in FIGURES:
                self.assertIsNotNone(row[name], (name, row))
        page = self.folder / 'faults.html'
        self.run_command(
            *('openstack', 'tier', 'report', str(out / 'sweep.json')),
            *('-o', str(page)),
        )
        self.assertIn('p99', page.read_text())
