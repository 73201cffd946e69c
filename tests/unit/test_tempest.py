# SPDX-License-Identifier: Apache-2.0

"""The passes of Tempest with and without the doors are compared by test."""

import configparser
import os
import pathlib
import re
import subprocess
import sys

import fixtures
from oslo_config import cfg
import testtools
import yaml

from tests import tempest_conf

TOP = pathlib.Path(__file__).resolve().parents[2]
COMPARE = TOP / 'tests' / 'tempest_compare.py'

PASSES = 'pass'
FAILS = "raise OSError('no space')"
SKIPPED = "self.skipTest('no')"
SAMPLE = """
import unittest


class SampleTestCase(unittest.TestCase):

    def id(self):
        return super().id() + '[id-2f3a,smoke]'

"""
NAME = 'test_sample.SampleTestCase.test_'


class CompareTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.known = self.folder / 'known.yaml'
        self.known.write_text('{}')

    def have(self, doors, **tests):
        """Run tests; their results are in a folder of this name."""
        folder = self.folder / doors
        folder.mkdir()
        folder.joinpath('.stestr.conf').write_text('[DEFAULT]\ntest_path=./\n')
        folder.joinpath('test_sample.py').write_text(
            SAMPLE
            + ''.join(
                f'    def test_{name}(self):\n        {body}\n'
                for name, body in tests.items()
            )
        )
        subprocess.run(
            [sys.executable, '-m', 'stestr', 'run', '--serial'],
            cwd=folder,
            capture_output=True,
        )

    def compare(self, *doors, option='--known'):
        """Compare; return the exit status and the lines."""
        done = subprocess.run(
            [sys.executable, str(COMPARE), option, str(self.known), *doors],
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        self.assertEqual('', done.stderr)
        return done.returncode, [
            line for line in done.stdout.splitlines() if line
        ]

    def test_a_known_failure_of_both_passes_is_listed_and_not_worse(self):
        self.have('off', a=PASSES, b=FAILS, c=SKIPPED)
        self.have('on', a=PASSES, b=FAILS, c=SKIPPED)
        self.known.write_text(f'{NAME}b: some cause')
        status, lines = self.compare('off', 'on')
        self.assertEqual(0, status)
        self.assertEqual(
            [
                'doors     passed  failed skipped',
                'off            1       1       1',
                'on             1       1       1',
            ],
            lines[:3],
        )
        self.assertEqual(
            [
                f'failed, doors off and on: {NAME}b',
                '  known: some cause',
                '  off: OSError: no space',
                '  on: OSError: no space',
            ],
            lines[3:7],
        )
        self.assertEqual('1 passed, 0 failed, 2 skipped', lines[-1])

    def test_a_failure_of_both_passes_must_be_a_known_one(self):
        self.have('off', a=PASSES, b=FAILS)
        self.have('on', a=PASSES, b=FAILS)
        status, lines = self.compare('off', 'on')
        self.assertEqual(1, status)
        self.assertEqual(
            [
                f'failed, and is no known failure: {NAME}b',
                '1 passed, 1 failed, 0 skipped',
            ],
            lines[-2:],
        )

    def test_what_fails_or_does_not_run_only_with_the_doors_is_worse(self):
        self.have('off', a=PASSES, b=PASSES, c=PASSES, d=PASSES)
        self.have('on', a="self.fail('ours')", c=SKIPPED, d=PASSES)
        status, lines = self.compare('off', 'on')
        self.assertEqual(1, status)
        self.assertEqual(
            [
                f'worse, doors on: {NAME}a: failed',
                f'worse, doors on: {NAME}b: did not run',
                f'worse, doors on: {NAME}c: skipped',
                '1 passed, 3 failed, 0 skipped',
            ],
            lines[-4:],
        )

    def test_one_pass_may_have_known_failures_and_names_their_cause(self):
        self.have('on', a=PASSES, b=FAILS)
        self.assertEqual(1, self.compare('on')[0])
        self.known.write_text(f'{NAME}b: some cause')
        status, lines = self.compare('on')
        self.assertEqual(0, status)
        self.assertIn('  known: some cause', lines)

    def test_known_failures_may_be_in_several_files(self):
        self.have('on', a=PASSES, b=FAILS, c=FAILS)
        self.known.write_text(f'{NAME}b: some cause')
        more = self.folder / 'more.yaml'
        more.write_text(f'{NAME}c: another cause')
        self.assertEqual(1, self.compare('on')[0])
        status, lines = self.compare('--known', str(more), 'on')
        self.assertEqual(0, status)
        self.assertIn('  known: some cause', lines)
        self.assertIn('  known: another cause', lines)

    def test_a_pass_in_which_nothing_passed_proves_nothing(self):
        self.have('off', a=FAILS)
        self.have('on', a=FAILS)
        status, lines = self.compare('off', 'on')
        self.assertEqual(1, status)
        self.assertEqual('no test passed, doors off and on', lines[-1])
        self.folder.joinpath('empty').mkdir()
        self.assertEqual(1, self.compare('empty')[0])

    def test_what_passes_without_the_doors_must_be_listed(self):
        self.have('off', a=PASSES, b=FAILS, c=SKIPPED)
        status, lines = self.compare('off', option='--without-doors')
        self.assertEqual(1, status)
        self.assertEqual(f'passed without the doors: {NAME}a', lines[0])
        self.assertEqual('1 passed, 1 failed, 1 skipped', lines[-1])
        self.known.write_text(f'{NAME}a: it needs no door')
        status, lines = self.compare('off', option='--without-doors')
        self.assertEqual(0, status)
        self.assertEqual('  it needs no door', lines[1])
        self.assertEqual('1 passed, 0 failed, 2 skipped', lines[-1])

    def test_a_class_that_cannot_begin_proves_nothing_of_its_tests(self):
        self.have('off', a=FAILS, b='os.kill(os.getpid(), signal.SIGKILL)')
        sample = self.folder / 'off' / 'test_sample.py'
        text = sample.read_text()
        sample.write_text(
            f'import os\nimport signal\n{text}\n'
            'class BrokenTestCase(SampleTestCase):\n\n'
            '    @classmethod\n'
            '    def setUpClass(cls):\n'
            '        raise OSError(401)\n'
        )
        subprocess.run(
            [sys.executable, '-m', 'stestr', 'run', '--serial'],
            cwd=self.folder / 'off',
            capture_output=True,
        )
        status, lines = self.compare('off', option='--without-doors')
        self.assertEqual(1, status)
        self.assertEqual('1 passed, 2 failed, 0 skipped', lines[-1], lines)

    def test_if_none_fails_without_the_doors_they_were_not_closed(self):
        self.have('off', a=PASSES)
        self.known.write_text(f'{NAME}a: it needs no door')
        self.assertEqual(1, self.compare('off', option='--without-doors')[0])


class KnownFailuresTestCase(testtools.TestCase):
    """Which files tests/tempest.sh has compared, with a lab that is none."""

    def setUp(self):
        super().setUp()
        self.tree = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.overrides = self.tree / 'lab' / 'etc' / 'cinder.d'
        self.overrides.mkdir(parents=True)
        for name in ('tempest.sh', 'processes.sh', 'doors.sh'):
            self.add(f'tests/{name}', TOP.joinpath('tests', name).read_text())
        tempest, plugin = re.findall(
            r"(?m)^readonly (?:TEMPEST|CINDER_PLUGIN)='(.*)'$",
            TOP.joinpath('tests', 'tempest.sh').read_text(),
        )
        self.add(
            '.tox/tempest/installed',
            f'-c devstack/lab/constraints.txt {tempest} {plugin} -e .',
        )
        for name in ('.tox/tempest', 'lab/venv'):
            self.add(f'{name}/bin/python', '#!/bin/sh\necho "$@"\n')
        self.add('devstack/lab.sh', '#!/bin/sh\n')
        self.add('lab/tempest/tempest.conf', '')

    def add(self, name, text):
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def known(self):
        done = subprocess.run(
            [self.tree / 'tests' / 'tempest.sh', '--doors', 'on'],
            env={**os.environ, 'CINDER_TIERS_LAB': str(self.tree / 'lab')},
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return re.findall(r'--known (\S+)', done.stdout)

    def test_pools_of_one_backend_have_failures_of_their_own(self):
        every = 'tests/tempest_known_failures.yaml'
        self.assertEqual([every], self.known())
        self.overrides.joinpath('tiered.conf').write_text(
            '[tiers-ceph]\n'
            'volume_driver = cinder_tiers.driver.rbd.TieredRBDDriver\n'
        )
        tiered = 'tests/tempest_known_failures_tiered.yaml'
        self.assertEqual([every, tiered], self.known())
        lists = [
            set(yaml.safe_load(TOP.joinpath(name).read_text()))
            for name in (every, tiered)
        ]
        self.assertEqual(set(), lists[0] & lists[1])


class ConfTestCase(testtools.TestCase):
    def test_only_the_owner_can_read_the_configuration(self):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        path = folder / 'tempest.conf'
        path.write_text('of an earlier run, which anyone could read')
        path.chmod(0o644)
        tempest_conf.write_private(
            path,
            tempest_conf.configuration({'auth': {'admin_password': '%(x)s%'}}),
        )
        self.assertEqual(0o600, path.stat().st_mode & 0o777)
        found = configparser.ConfigParser(interpolation=None)
        found.read(path)
        self.assertEqual('%(x)s%', found['auth']['admin_password'])

    def test_tempest_reads_what_was_meant(self):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        path = folder / 'tempest.conf'
        password = '$x %(x)s ${y} $$'
        written = {
            'auth': {'admin_password': password},
            'validation': tempest_conf.validation(),
        }
        tempest_conf.write_private(path, tempest_conf.configuration(written))
        read = cfg.ConfigOpts()
        read.register_opt(cfg.StrOpt('admin_password'), group='auth')
        read.register_opt(cfg.StrOpt('ssh_shell_prologue'), group='validation')
        read(['--config-file', str(path)], default_config_files=[])
        self.assertEqual(password, read.auth.admin_password)
        self.assertEqual(
            tempest_conf.validation()['ssh_shell_prologue'],
            read.validation.ssh_shell_prologue,
        )
