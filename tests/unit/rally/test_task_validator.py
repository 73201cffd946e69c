# SPDX-License-Identifier: Apache-2.0

"""What is wrong with a task, all of it at once."""

import pathlib

import ddt
import fixtures
from rally import exceptions
from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from tests.unit.rally import test_tasks


@ddt.ddt
class WrongTaskTest(testtools.TestCase):
    """What Rally says of a task with wrong arguments."""

    def problems(self, **args):
        config = test_tasks.render()
        test_tasks.workload(config)['scenario'][
            'CinderTiers.fleet_fio'
        ].update(args)
        return str(
            self.assertRaises(
                exceptions.InvalidTaskConfig, test_tasks.check, config
            )
        )

    def test_unknown_fields_are_named_all_at_once(self):
        text = self.problems(
            volume_size=20,
            runtime=60,
            patterns=[
                {'name': 'a', 'rw': 'randrw', 'bs': '8k', 'rwmixread': 70},
                {'name': 'b', 'rw': 'read', 'bs': '8k', 'depth': 7},
            ],
            timeouts_seconds={'boots': 7},
        )
        for expected in (
            "args: unknown fields 'volume_size' (did you mean "
            "'volume_size_gib'?), 'runtime' (did you mean 'runtime_seconds'?)",
            "args.patterns[0]: unknown field 'rwmixread' (did you mean "
            "'rwmixread_percent'?); fields: name, rw, bs",
            "args.patterns[1]: unknown field 'depth' (did you mean 'iodepth'",
            "args.timeouts_seconds: unknown field 'boots' (did you mean "
            "'boot'?)",
        ):
            self.assertIn(expected, text)
        self.assertNotIn('__init__', text)

    def test_missing_fields_and_other_kinds_are_named(self):
        text = self.problems(
            patterns=[{'rw': 'read', 'bs': '4k'}, 3],
            fleets=[{'tier': 'a'}],
            transport=7,
        )
        for expected in (
            "args.patterns[0]: the field 'name' is missing",
            "args.patterns[1]: found '3', expected a mapping",
            "args.fleets[0]: the field 'image' is missing",
            "args.transport: found '7', expected a mapping",
        ):
            self.assertIn(expected, text)
        self.assertNotIn('__init__', text)

    def test_a_fault_in_a_job_file_is_printed_once(self):
        folder = self.useFixture(fixtures.TempDir()).path
        file = pathlib.Path(folder, 'mine.fio')
        file.write_text('[a]\nrw=read\nzonesize=4k\n')
        text = self.problems(patterns=None, job_file=str(file))
        self.assertEqual(1, text.count('zonesize is not supported'))
