# SPDX-License-Identifier: Apache-2.0

"""Fleets in steps, and disks below tiers, against a cloud in memory."""

import jsonschema
from rally.common.objects import task as task_objects
from rally import plugins

plugins.load()  # rally_openstack cannot be imported before

from cinder_tiers.figures.result import result as run_result
from rally_scenarios.plugins.report import disks
from rally_scenarios.plugins.report import tables
from rally_scenarios.plugins import servers as cloud_servers
from tests.unit.rally import fleet_fio_case

OUTPUT_SCHEMA = task_objects.TASK_SCHEMA['definitions']['output']
DISKS = {
    'disks': 3,
    'iops_per_disk': 160,
    'replicas': 3,
    'disk_writes_per_write': 1.5,
}
ARGS = {
    'fleets': [
        {'tier': 'database', 'image': 'db'},
        {'tier': 'general', 'image': 'plain', 'disks': DISKS},
    ],
    'patterns': fleet_fio_case.PATTERNS,
    'flavor': '1',
    'guest_steps': [1, 3],
    'repeats': 2,
    'listen_every_seconds': 0,
}
MEASURED = 1001 / 2.001  # of one guest of the recorded randwrite-4k


class MatrixTest(fleet_fio_case.FleetFioCase):
    args = ARGS

    def rows(self, title):
        return next(
            found['data']['rows']
            for found in self.scenario._output['complete']
            if found['title'] == title
        )

    def titles(self):
        return [found['title'] for found in self.scenario._output['complete']]

    def test_a_whole_matrix_runs_on_one_boot(self):
        self.run_scenario()
        servers = [
            each
            for each in self.cloud.everything_made
            if hasattr(each, 'boots_from')
        ]
        self.assertEqual(6, len(servers))
        self.assertEqual(
            [
                (tier, f'{name}.g{guests} ({repeat} of 2)', guests, 'complete')
                for repeat in (1, 2)
                for tier in ('database', 'general')
                for name in ('randwrite-4k', 'write-1m')
                for guests in (1, 3)
            ],
            [
                (*row[:3], row[-1])
                for row in self.rows(tables.TIER_TABLE_TITLE)
            ],
        )
        self.assertEqual(
            [2 * 2 * 2, 4, 4, 8, 4, 4],
            [
                len(
                    [
                        row
                        for row in self.rows(tables.GUEST_TABLE_TITLE)
                        if row[0] == f'g{number:03d}'
                    ]
                )
                for number in range(6)
            ],
        )
        self.assertEqual({}, self.cloud.servers_by_id)
        self.assertEqual({}, self.cloud.volumes_by_id)
        jsonschema.Draft4Validator(OUTPUT_SCHEMA).validate(
            self.scenario._output
        )

    def test_the_result_file_has_each_step_under_its_name(self):
        self.run_scenario()
        (file,) = self.results.iterdir()
        found = run_result.read(file.read_bytes())
        self.assertEqual(
            [
                ('randwrite-4k.g1', 1, 2),
                ('randwrite-4k.g3', 3, 2),
                ('write-1m.g1', 1, 2),
                ('write-1m.g3', 3, 2),
            ],
            [
                (
                    pattern.pattern,
                    len(pattern.slots[0].guests),
                    pattern.complete_repeats,
                )
                for pattern in found.tiers[1].patterns
            ],
        )
        self.assertEqual(3, found.guests_per_tier)

    def test_disks_are_set_against_random_patterns_of_their_tier(self):
        self.run_scenario()
        expected = 3 * 160 / 3 / 1.5
        self.assertEqual(
            [
                [
                    'general',
                    'randwrite-4k',
                    guests,
                    3,
                    160,
                    3,
                    1.5,
                    round(expected, 1),
                    round(guests * MEASURED, 1),
                    round(100 * guests * MEASURED / expected, 1),
                ]
                for guests in (1, 3)
            ],
            self.rows(disks.DISKS_TABLE_TITLE),
        )

    def test_without_disks_there_is_no_table_of_them(self):
        self.run_scenario(
            guest_steps=None,
            guests_per_tier=1,
            fleets=[{'tier': 'general', 'image': 'plain'}],
        )
        self.assertNotIn(disks.DISKS_TABLE_TITLE, self.titles())

    def test_a_step_that_lacks_a_guest_has_no_figure(self):
        self.cloud.guests_do['g004'] = lambda lines: [
            line for line in lines if ' data ' not in line
        ]
        self.assertRaises(cloud_servers.FleetError, self.run_scenario)
        self.assertEqual(
            ['-', '-'], self.rows(disks.DISKS_TABLE_TITLE)[1][-2:]
        )
        jsonschema.Draft4Validator(OUTPUT_SCHEMA).validate(
            self.scenario._output
        )

    def test_how_long_it_may_take_is_said_at_the_start(self):
        self.run_scenario()
        self.assertIn(
            '6 guests, 16 runs of fio one after another; expected to take'
            ' about 7 min: volumes 12 s, boot 60 s, prepare 20 s, measure'
            ' 258 s, delete 24 s',
            self.log.output,
        )
