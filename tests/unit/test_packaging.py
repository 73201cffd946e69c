# SPDX-License-Identifier: Apache-2.0

"""What packages bring along: programs, units, completion, a container file.

That a wheel and an sdist install is tested in tests/long/test_packages.py.
"""

import configparser
import importlib.metadata
import pathlib
import re
import shutil
import subprocess
import tomllib

import ddt
from packaging import requirements
from packaging import utils
from packaging import version
import testtools

TOP = pathlib.Path(__file__).resolve().parents[2]
UNITS = TOP / 'etc' / 'systemd'
#: Of 10; systemd calls that OK, and a unit without any setting has 9.6.
MOST_EXPOSURE = 3.0


def needed_by(name):
    """Names of all that a distribution needs, as it is installed here."""
    found = set()
    left = [name]
    while left:
        one = utils.canonicalize_name(left.pop())
        if one in found:
            continue
        found.add(one)
        try:
            wanted = importlib.metadata.requires(one) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        left += [
            requirement.name
            for requirement in map(requirements.Requirement, wanted)
            if requirement.marker is None
            or requirement.marker.evaluate({'extra': ''})
        ]
    return found


def read_requirements(path):
    """{name: requirement} of a file."""
    return {
        utils.canonicalize_name(one.name): one
        for text in path.read_text().splitlines()
        if (line := text.partition('#')[0].strip())
        for one in (requirements.Requirement(line),)
    }


class BaseInstallTestCase(testtools.TestCase):
    def test_it_needs_nothing_that_cinder_does_not_need(self):
        ours = set(read_requirements(TOP / 'requirements.txt'))
        self.assertTrue(ours)
        self.assertEqual(set(), ours - needed_by('cinder'))

    def test_no_version_is_promised_that_is_not_tested(self):
        cells = [
            read_requirements(path)
            for path in (TOP / 'tests/cinder_releases').glob('cinder-*.txt')
        ]
        self.assertTrue(cells)
        ours = read_requirements(TOP / 'requirements.txt')
        for name, requirement in ours.items():
            [least] = requirement.specifier
            self.assertEqual('>=', least.operator)
            pins = [
                version.Version(pin.version)
                for cell in cells
                for pin in cell[name].specifier
            ]
            self.assertEqual(
                str(min(pins)), least.version, f'{name}, tested with {pins}'
            )


@ddt.ddt
class UnitsTestCase(testtools.TestCase):
    def unit(self, name):
        parser = configparser.ConfigParser(
            interpolation=None, strict=False, delimiters=('=',)
        )
        parser.optionxform = str
        parser.read_string((UNITS / name).read_text())
        return parser

    def test_the_timer_starts_a_unit_whose_failure_is_told(self):
        service = self.unit('tiers-audit.service')
        self.assertTrue((UNITS / 'tiers-audit.timer').exists())
        self.assertTrue((UNITS / service['Unit']['OnFailure']).exists())

    def test_statuses_are_those_of_the_commands(self):
        from cinder_tiers.cli import exit_status

        service = self.unit('tiers-audit.service')['Service']
        self.assertEqual(
            str(exit_status.UNKNOWN), service['SuccessExitStatus']
        )
        self.assertEqual(
            [exit_status.ERROR, exit_status.USAGE, exit_status.DIFFERENT],
            [
                int(word)
                for word in service['RestartPreventExitStatus'].split()
            ],
        )

    def test_a_watch_that_is_stopped_did_not_fail(self):
        from cinder_tiers.cli import exit_status

        service = self.unit('tiers-watch.service')['Service']
        self.assertEqual(
            [exit_status.UNKNOWN, exit_status.DIFFERENT],
            [int(word) for word in service['SuccessExitStatus'].split()],
        )

    @ddt.data('tiers-audit.service', 'tiers-watch.service')
    def test_systemd_finds_it_confined(self, name):
        if shutil.which('systemd-analyze') is None:
            self.skipTest('systemd-analyze is not installed')
        done = subprocess.run(
            [
                'systemd-analyze',
                'security',
                '--offline=yes',
                '--no-pager',
                f'--threshold={MOST_EXPOSURE * 10:.0f}',
                UNITS / name,
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertNotIn('nknown', done.stderr)


class ContainerfileTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.text = (TOP / 'etc/container/Containerfile').read_text()

    def test_what_it_copies_and_installs_is_there(self):
        for path in re.findall(r'/src/([\w/.-]+)', self.text):
            self.assertTrue((TOP / path).exists(), path)
        self.assertIn('"/src[${EXTRAS}]"', self.text)
        found = re.findall(r'\bEXTRAS=([\w,]+)', self.text)
        self.assertEqual(['cli,rally', 'cli'], found)
        project = tomllib.loads((TOP / 'pyproject.toml').read_text())
        extras = project['project']['optional-dependencies']
        for extra in ','.join(found).split(','):
            self.assertIn(extra, extras)

    def test_it_does_not_run_as_root(self):
        self.assertEqual(
            ['cinder-tiers'], re.findall(r'(?m)^USER (\S+)$', self.text)
        )
        last_stage = self.text.rpartition('\nFROM ')[2]
        self.assertNotIn('git', last_stage)
        self.assertIn('\nUSER ', last_stage)
