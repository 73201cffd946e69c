# SPDX-License-Identifier: Apache-2.0

"""A fleet tells whoever started Rally when its load begins."""

import pathlib
import time

import fixtures

from cinder_tiers.loop.sweep import file_announcement as files
from cinder_tiers.loop.sweep import run_measure
from rally_scenarios.plugins.fleet import announcement
from tests.unit.rally import fleet_fio_case

CLOCK = {'by': 'clock', 'after_seconds': 77}


class AnnouncementTestCase(fleet_fio_case.FleetFioCase):
    def setUp(self):
        super().setUp()
        self.args = {
            'fleets': [{'tier': 'database', 'image': 'db'}],
            'guests_per_tier': 2,
            'flavor': '1',
            'patterns': fleet_fio_case.PATTERNS[:1],
            'listen_every_seconds': 0,
        }
        self.file = (
            pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'begin'
        )

    def name_file(self, path):
        self.useFixture(
            fixtures.EnvironmentVariable(announcement.VARIABLE, str(path))
        )

    def test_the_variable_is_that_of_sweeps(self):
        self.assertEqual(f'{run_measure.PREFIX}BEGIN', announcement.VARIABLE)

    def test_t0_is_announced_before_guests_are_booted(self):
        self.name_file(self.file)
        before = int(time.time())
        self.run_scenario(start=CLOCK)
        found = files.read(str(self.file))
        self.assertTrue(before + 77 <= found <= time.time() + 77)

    def test_the_first_fleet_counts(self):
        self.name_file(self.file)
        self.file.write_text('7\n', 'utf-8')
        self.run_scenario(start=CLOCK)
        self.assertEqual('7\n', self.file.read_text('utf-8'))

    def test_guests_that_start_by_a_volume_announce_nothing(self):
        self.name_file(self.file)
        self.run_scenario()
        self.assertFalse(self.file.exists())
        self.assertIn('start: {"by": "clock"}', self.log.output)

    def test_a_file_that_cannot_be_written_fails_nothing(self):
        self.name_file(self.file / 'not' / 'there')
        self.run_scenario(start=CLOCK)
        self.assertIn('cannot be written', self.log.output)

    def test_nobody_asked(self):
        self.run_scenario(start=CLOCK)
        self.assertFalse(self.file.exists())
