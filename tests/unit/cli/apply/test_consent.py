# SPDX-License-Identifier: Apache-2.0
"""--allow, --yes and the question of apply, with a real Cinder."""

import json
import os
import pathlib
import tempfile

import testtools

from tests.unit.cli import shell
from tests.worlds import cinder_api

TIERS = """version: 1
tiers:
  database:
    tags: [database]
    backend: ssd
    access: [alpha]
  general:
    fallback: true
    backend: lvm
"""
NAME = 'volume type database'


class ConsentTestCase(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        cls.api.add_project('a' * 32, 'alpha')
        cls.empty = cls.api.keep()

    def setUp(self):
        super().setUp()
        self.addCleanup(self.api.return_to, self.empty)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, 'tiers.yaml')
        self.saved = os.path.join(folder.name, 'plan.json')
        self.write(TIERS)

    def write(self, text):
        pathlib.Path(self.path).write_text(text, 'utf-8')

    def run_tier(self, command, *arguments, **options):
        return shell.openstack(
            *self.api.arguments_of('admin'),
            'tier',
            command,
            '--catalog',
            self.path,
            *arguments,
            **options,
        )

    def assert_ran(self, status, ran, *fragments):
        self.assertEqual(status, ran.status, ran.stderr)
        for fragment in fragments:
            self.assertIn(fragment, ran.stderr)
        self.assertNotIn('Traceback', ran.stderr)

    def has_access(self):
        """Whether the only project of the catalog may use database."""
        self.write(TIERS)
        return self.run_tier('plan').status == 0

    def take_access(self):
        self.write(TIERS.replace('[alpha]', '[]'))

    def test_what_is_refused_is_done_when_it_is_named(self):
        self.assert_ran(0, self.run_tier('apply'))
        self.take_access()
        for command in ('plan', 'apply'):
            self.assert_ran(5, self.run_tier(command), f"--allow '{NAME}'")
            wrong = self.run_tier(command, '--allow', 'volume type databse')
            self.assert_ran(1, wrong, f"did you mean '{NAME}'?")
            self.assertEqual('', wrong.stdout)
        planned = self.run_tier('plan', '--allow', NAME, '-f', 'json')
        self.assert_ran(4, planned)
        (row,) = json.loads(planned.stdout)
        self.assertEqual('update', row['Action'])
        self.assertIn(
            'allowed, although it would take the volume type away from '
            'projects',
            row['Why'],
        )
        self.assertTrue(self.has_access())
        self.take_access()
        self.assert_ran(0, self.run_tier('apply', '--allow', NAME))
        self.assert_ran(
            0,
            self.run_tier('apply', '--allow', NAME),
            f"--allow '{NAME}' has no effect",
        )
        self.assertFalse(self.has_access())

    def test_a_saved_plan_keeps_what_was_allowed(self):
        self.assert_ran(0, self.run_tier('apply'))
        self.take_access()
        self.assert_ran(
            5,
            self.run_tier('plan', '--out', self.saved),
            'contains refused changes',
        )
        (action,) = json.loads(pathlib.Path(self.saved).read_text())['actions']
        self.assertIn('take the volume type away', action['refused'])
        self.assert_ran(5, self.run_tier('apply', self.saved))
        self.assertTrue(self.has_access())
        self.take_access()
        self.assert_ran(
            4, self.run_tier('plan', '--out', self.saved, '--allow', NAME)
        )
        for words in (
            (self.saved, '--allow', NAME),
            ('--allow', NAME, self.saved),
        ):
            self.assert_ran(
                2,
                self.run_tier('apply', *words),
                'not allowed with argument',
                'usage',
            )
        self.assertTrue(self.has_access())
        other = self.saved + '.other'
        pathlib.Path(other).write_text(
            json.dumps(
                {
                    **json.loads(pathlib.Path(self.saved).read_text('utf-8')),
                    'cloud': 'staging',
                }
            ),
            'utf-8',
        )
        self.assert_ran(
            1, self.run_tier('apply', other), 'made for another cloud'
        )
        self.assertTrue(self.has_access())
        # It was reviewed, so that nobody is asked.
        ran = self.run_tier('apply', self.saved, answer='')
        self.assert_ran(0, ran)
        self.assertNotIn('[y/N]', ran.stderr)
        self.assertFalse(self.has_access())

    def test_a_person_who_would_not_see_the_question_is_not_passed_over(self):
        ran = self.run_tier('apply', answer='yes\n', errors_to_file=True)
        self.assert_ran(1, ran, 'Nothing was changed', 'add --yes')
        self.assertFalse(self.has_access())
        ran = self.run_tier('apply', '-y', answer='', errors_to_file=True)
        self.assert_ran(0, ran)
        self.assertTrue(self.has_access())

    def test_at_a_terminal_apply_asks(self):
        for answer in ('', '\n', 'n\n', 'yeah\n'):
            ran = self.run_tier('apply', answer=answer)
            self.assert_ran(
                1,
                ran,
                'tier database\n  + volume type database\n'
                '      access                           private: alpha\n',
                '  + volume type general\n',
                'Plan: 2 to create, 0 to update, 0 to delete; no data moves.'
                '\nApply 2 changes? [y/N] ',
                'Nothing was changed',
            )
            self.assertEqual('', ran.stdout)
        self.assertFalse(self.has_access())
        self.assert_ran(0, self.run_tier('apply', answer=' Yes\n'))
        self.assertTrue(self.has_access())
        # Nothing to do, or nothing that will be done: nothing to ask.
        self.assertNotIn('?', self.run_tier('apply', answer='').stderr)
        self.take_access()
        self.assertNotIn('[y/N]', self.run_tier('apply', answer='').stderr)
        self.assert_ran(
            1,
            self.run_tier('apply', '--allow', NAME, answer='n\n'),
            f'tier database\n  ~ {NAME}\n'
            f'      access  private: alpha ({"a" * 32})\n'
            '           -> private: no project\n'
            '      allowed, although it would take',
            'Apply 1 change? [y/N] ',
        )
        self.assertTrue(self.has_access())
        self.take_access()
        ran = self.run_tier('apply', '--allow', NAME, '-y', answer='')
        self.assert_ran(0, ran)
        self.assertNotIn('[y/N]', ran.stderr)
