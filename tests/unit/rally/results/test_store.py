# SPDX-License-Identifier: Apache-2.0

"""Where the result file of a run is written, and whether it can be."""

import pathlib
import resource

from rally import plugins

plugins.load()  # rally_openstack cannot be imported before

from rally_scenarios.plugins.results import store
from rally_scenarios.plugins import servers
from tests.unit.rally.fleet import test_run


class StoreTest(test_run.FleetFioCase):
    def test_a_result_that_cannot_be_written_leaves_nothing(self):
        self.run_scenario()
        result = self.result()
        folder = pathlib.Path(self.other())
        folder.mkdir()
        limit, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.addCleanup(
            resource.setrlimit, resource.RLIMIT_FSIZE, (limit, hard)
        )
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        error = self.assertRaises(
            servers.FleetError, store.write, folder, result
        )
        self.assertIn('cannot be written: File too large', str(error))
        self.assertEqual([], list(folder.iterdir()))

    def test_the_result_file_says_what_the_report_says(self):
        self.run_scenario(repeats=2)
        found = self.result()
        self.assertEqual(
            [
                ('database', 'randwrite-4k', 1000.5, 2),
                ('database', 'write-1m', 200.9, 2),
                ('general', 'randwrite-4k', 1000.5, 2),
                ('general', 'write-1m', 200.9, 2),
            ],
            [
                (
                    tier.tier,
                    pattern.pattern,
                    round(pattern.iops.mean, 1),
                    pattern.complete_repeats,
                )
                for tier in found.tiers
                for pattern in tier.patterns
            ],
        )
        self.assertEqual(
            (['complete'] * 4, ['6.1.0'] * 4, 'fio-3.33', 'db (image-db)'),
            (
                [guest.verdict for guest in found.guests],
                [guest.kernel for guest in found.guests],
                found.environment['fio'].value,
                found.tiers[0].image.value,
            ),
        )
        self.assertEqual(
            ('patterns', 2, 2),
            (found.profile.name, found.profile.repeats, found.guests_per_tier),
        )

    def test_a_folder_that_cannot_be_written_to_is_found_at_once(self):
        self.results.write_text('a file')
        self.assertIn('cannot write there', self.failure())
        self.assertEqual([], self.cloud.everything_made)
