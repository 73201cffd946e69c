# SPDX-License-Identifier: Apache-2.0

"""The names of patterns that `tier validate` knows are those that run."""

import pathlib
import re

import testtools

from cinder_tiers.domain.catalog import fio_patterns
from rally_scenarios.plugins import profiles

TASKS = pathlib.Path(profiles.__file__).parents[1] / 'tasks'


class PatternNamesTestCase(testtools.TestCase):
    def test_they_are_those_of_the_profiles(self):
        found = {
            pattern.name
            for name in profiles.names()
            for pattern in profiles.named(name).patterns
        }
        self.assertEqual(found, fio_patterns.NAMES)

    def test_the_task_files_have_no_others(self):
        # Task files are templates, and no YAML before Rally has read them.
        found = {
            name
            for file in TASKS.glob('*.yaml')
            for name in re.findall(
                r'- \{?name: ([a-z0-9.-]+)', file.read_text('utf-8')
            )
        }
        self.assertNotEqual(set(), found)
        self.assertEqual(set(), found - fio_patterns.NAMES)
