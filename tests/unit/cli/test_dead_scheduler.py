# SPDX-License-Identifier: Apache-2.0

"""Commands that ask Cinder's scheduler when none runs, with a real Cinder."""

import pathlib
import tempfile

import testtools

from tests.unit.cli import shell
from tests.worlds import cinder_api

TIERS = """version: 1
tiers:
  general:
    fallback: true
    backend: lvm
"""
DOWN = 'no cinder-scheduler is up ({})'


class DeadSchedulerTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.api = cinder_api.CinderApi()
        self.addCleanup(self.api.stop)
        self.path = str(
            pathlib.Path(
                self.enterContext(tempfile.TemporaryDirectory()), 'tiers.yaml'
            )
        )
        pathlib.Path(self.path).write_text(TIERS, 'utf-8')

    def say(self, status, *arguments, role='admin'):
        """What a command writes to standard error; it ends as expected."""
        ran = shell.openstack(*self.api.arguments_of(role), 'tier', *arguments)
        self.assertEqual(status, ran.status, ran.stderr)
        return ran.stderr

    def test_a_plan_is_made_and_says_so(self):
        def plan():
            return self.say(4, 'plan', '--catalog', self.path)

        self.assertIn(DOWN.format('none ever reported'), plan())
        self.api.add_dead_scheduler('control')
        self.assertIn(
            DOWN.format('control last reported at 2026-01-02T03:04:05.000000'),
            plan(),
        )
        self.api.add_backend('lvm')
        self.assertNotIn('scheduler', plan())

    def test_what_needs_it_ends_with_the_reason(self):
        self.api.add_dead_scheduler('control')
        self.assertIn(
            DOWN.format('control last re')[:-1], self.say(6, 'export')
        )

    def test_who_may_not_list_services_is_not_told_of_them(self):
        self.assertNotIn(
            'is up', self.say(3, 'explain', '--blank', role='member')
        )
