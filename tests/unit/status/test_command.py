# SPDX-License-Identifier: Apache-2.0

"""`cinder-tiers-status`, in a process of its own, with Cinder's database."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import testtools

from tests.unit.status import test_checks

TOP = pathlib.Path(__file__).resolve().parents[3]
PREPARE = """
import sys
from cinder import context
from cinder import objects
objects.register_all()
from cinder.common import config
from cinder.db import migration
from cinder.volume import volume_types
config.CONF(['--config-file', sys.argv[1]], project='cinder')
migration.db_sync()
admin = context.get_admin_context()
for name, specs in {
        'general': {'tiers:name': 'general', 'tiers:fallback': '<is> True',
                    'volume_backend_name': 'hdd'},
        'database': {'tiers:name': 'database', 'tiers:tags': 'database',
                     'tiers:priority': '5', 'tiers:overflow': 'general',
                     'volume_backend_name': '<or> ssd <or> hdd'},
        'image-tier': {'tiers:follow_image': '<is> True'}}.items():
    volume_types.create(admin, name, specs)
default = volume_types.get_volume_type_by_name(admin, '__DEFAULT__')
volume_types.update(
    admin, default['id'], default['name'], None, is_public=False)
"""
DEFAULT = """[DEFAULT]
state_path = {folder}
default_volume_type = image-tier
scheduler_default_filters = CapabilitiesFilter,TierFilter
scheduler_default_weighers = CapacityWeigher,TierWeigher
[database]
connection = sqlite:///{folder}/cinder.sqlite
"""


class CommandTestCase(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.conf = cls.folder / 'cinder.conf'
        cls.conf.write_text(DEFAULT.format(folder=folder.name))
        cls.python('-c', PREPARE, str(cls.conf)).check_returncode()

    def setUp(self):
        super().setUp()
        self.conf.write_text(DEFAULT.format(folder=self.folder))
        (self.folder / 'api-paste.ini').write_text(test_checks.OPEN)

    @classmethod
    def python(cls, *arguments):
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=TOP,
            text=True,
            capture_output=True,
            timeout=110,
            env={
                'PATH': os.environ['PATH'],
                'HOME': str(cls.folder),
                'OS_CINDER_DISABLE_EVENTLET_PATCHING': '1',
            },
        )

    def check(self, *arguments, conf=None, options=()):
        return self.python(
            '-m',
            'cinder_tiers.status.command',
            '--config-file',
            str(conf or self.conf),
            *options,
            'upgrade',
            'check',
            *arguments,
        )

    def codes(self, done):
        """{check: its code}, and all details in one text."""
        self.assertNotEqual('', done.stdout, done.stderr)
        found = json.loads(done.stdout)['checks']
        return (
            {one['check']: one['result'] for one in found},
            ' '.join(one['details'] or '' for one in found),
        )

    def test_all_is_well(self):
        done = self.check('--json')
        codes, details = self.codes(done)
        self.assertEqual(
            (
                0,
                {
                    'Options': 0,
                    'Applied tiers': 0,
                    'Scheduler filter': 0,
                    'API middleware': 0,
                    'Default volume type': 0,
                    'Other volume types': 0,
                },
            ),
            (done.returncode, codes),
            details,
        )
        self.assertIn('tiers: 2', details)

    def test_files_of_a_folder_are_those_that_cinder_reads(self):
        folder = self.folder / 'cinder.conf.d'
        folder.mkdir()
        for name in ('.old.conf', 'new.conf'):
            (folder / name).write_text(
                f'[cinder_tiers]\n{name.strip(".")[:3]}_option = 1\n'
            )
        _, details = self.codes(
            self.check('--json', options=('--config-dir', str(folder)))
        )
        self.assertIn('new_option', details)
        self.assertNotIn('old_option', details)

    def test_closed_doors_are_warnings(self):
        self.conf.write_text(
            self.conf.read_text()
            .replace(',TierFilter', '')
            .replace(',TierWeigher', '')
        )
        (self.folder / 'api-paste.ini').write_text(test_checks.STOCK_PASTE)
        done = self.check('--json')
        codes, details = self.codes(done)
        self.assertEqual(
            (
                1,
                {
                    'Options': 0,
                    'Applied tiers': 0,
                    'Scheduler filter': 1,
                    'API middleware': 1,
                    'Default volume type': 0,
                    'Other volume types': 0,
                },
            ),
            (done.returncode, codes),
            details,
        )

    def test_wrong_and_unknown_options(self):
        with self.conf.open('a') as stream:
            stream.write(
                '[cinder_tiers]\non_error = perhaps\n'
                'notfy = true\nglance_timeout = x\n'
            )
        done = self.check()
        self.assertEqual(2, done.returncode, done.stderr)
        for text in (
            'on_error cannot be read',
            "'perhaps'",
            'notfy',
            'glance_timeout cannot be read',
            'Failure',
        ):
            self.assertIn(text, done.stdout)
        self.assertNotIn('Traceback', done.stdout + done.stderr)

    def test_a_database_that_is_not_there(self):
        self.conf.write_text(
            self.conf.read_text().replace(
                'cinder.sqlite', 'nowhere/cinder.sqlite'
            )
        )
        done = self.check('--json')
        codes, details = self.codes(done)
        self.assertEqual(
            (
                1,
                {
                    'Options': 0,
                    'Applied tiers': 1,
                    'Scheduler filter': 1,
                    'API middleware': 1,
                    'Default volume type': 1,
                    'Other volume types': 1,
                },
            ),
            (done.returncode, codes),
            details,
        )
        self.assertIn('unable to open database file', details)

    def test_what_is_wrong_in_cinder_conf_is_said_without_its_password(self):
        self.conf.write_text(
            self.conf.read_text()
            .replace('sqlite://', 'mysql+pymysql://cinder:secret@host:33o6')
            .replace('state_path', 'api_rate_limit = perhaps\nstate_path')
        )
        done = self.check('--json')
        codes, details = self.codes(done)
        self.assertEqual(
            (2, 1, 2),
            (
                done.returncode,
                codes['Applied tiers'],
                codes['API middleware'],
            ),
            details,
        )
        self.assertIn('connection is not a URL of a database', details)
        self.assertIn('api_rate_limit', details)
        self.assertNotIn('Traceback', done.stdout + done.stderr)
        self.assertNotIn('secret', done.stdout + done.stderr)

    def test_a_configuration_that_cannot_be_read(self):
        folder = self.conf.parent
        (folder / 'binary.conf').write_bytes(b'\xff\xfe[DEFAULT]')
        for conf in (
            folder / 'nowhere' / 'cinder.conf',
            self.conf / 'cinder.conf',
            folder,
            folder / 'binary.conf',
        ):
            done = self.check(conf=conf)
            self.assertEqual(1, done.returncode, done.stderr)
            self.assertIn('ERROR: ', done.stderr)
            self.assertIn(
                'Name readable configuration files of Cinder', done.stderr
            )
            self.assertNotIn('Traceback', done.stderr)


class WithoutCinderTestCase(testtools.TestCase):
    def test_it_says_where_to_run_it(self):
        ran = subprocess.run(
            [
                sys.executable,
                '-c',
                'import sys\n'
                'sys.modules["cinder"] = None\n'
                'from cinder_tiers.status import program\n'
                'sys.exit(program.main())\n',
                'upgrade',
                'check',
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=TOP,
        )
        self.assertEqual((1, ''), (ran.returncode, ran.stdout))
        self.assertNotIn('Traceback', ran.stderr)
        self.assertIn('Python module cinder was not found', ran.stderr)
        self.assertIn('on a host of cinder-api', ran.stderr)
