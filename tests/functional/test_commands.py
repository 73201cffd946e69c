# SPDX-License-Identifier: Apache-2.0

"""A forked `openstack` command is as one that was started."""

import os
import pathlib
import subprocess
import tempfile

import ddt

from tests.functional import commands
from tests.functional import lab


@ddt.ddt
class ForkedCommandTest(lab.LabTestCase):
    @ddt.data(
        ('tier', 'plan', '-f', 'json'),
        ('tier', 'explain', '--help'),
        ('tier', 'no-such-verb'),
        ('volume', 'show', 'no-such-volume'),
    )
    def test_it_writes_and_ends_as_the_program_does(self, words):
        started = subprocess.run(
            ['openstack', *words],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env=self.environment,
        )
        forked = commands.run(
            ['openstack', *words], environment=self.environment
        )
        self.assertEqual(
            (started.returncode, started.stdout, started.stderr),
            (forked.returncode, forked.stdout, forked.stderr),
        )

    def test_it_has_its_own_environment_and_this_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path.cwd()
            os.chdir(folder)
            try:
                pathlib.Path('tiers.yaml').write_text('version: 17\n')
                done = commands.run(
                    ['openstack', 'tier', 'validate', 'tiers.yaml'],
                    environment=self.environment,
                )
            finally:
                os.chdir(here)
        self.assertEqual(1, done.returncode)
        self.assertIn('17', done.stdout + done.stderr)
        refused = commands.run(
            ['openstack', 'volume', 'list'],
            environment={**self.environment, 'OS_CLOUD': 'no-such-cloud'},
        )
        self.assertEqual(1, refused.returncode)
        self.assertIn('no-such-cloud', refused.stderr)

    def test_one_that_takes_too_long_is_not_waited_for(self):
        self.assertRaises(
            subprocess.TimeoutExpired,
            commands.run,
            ['openstack', 'tier', 'plan'],
            environment=self.environment,
            timeout_s=0.01,
        )
        self.run_command('openstack', 'tier', 'plan')
