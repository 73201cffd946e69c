# SPDX-License-Identifier: Apache-2.0

"""Options of a job file mean to fio what they mean here."""

import pathlib
import re
import shutil
import subprocess
import tempfile

import ddt
import testtools

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.profile import job_file
from cinder_tiers.figures.profile import job_options
from tests.unit.figures.profile import test_job_file


@ddt.ddt
class FioReadsTheSameTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        if shutil.which('fio') is None:
            self.skipTest('fio is not installed (bindep.txt)')

    def fio(self, text, *words):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / 'my.fio').write_text(text)
            done = subprocess.run(
                ['fio', *words, 'my.fio'],
                cwd=folder,
                capture_output=True,
                text=True,
            )
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        return done.stdout

    def test_the_options_of_each_job_are_those_that_fio_finds(self):
        """--showcmd puts the options of [global] before each --name."""
        line = (
            self.fio(test_job_file.FILE, '--showcmd')
            .removeprefix('fio ')
            .strip()
        )
        theirs = {}
        # Each job begins where [global] is told again.
        for job in line.split('--ioengine=libaio ')[1:]:
            words = [word[2:].partition('=') for word in job.split()]
            options = {option: value for option, _equals, value in words}
            name = options.pop('name')
            theirs[name] = {'ioengine': 'libaio', **options}
        ours = {
            name: {
                option: setting.value for option, setting in settings.items()
            }
            for _line, name, settings in job_file._Lines(
                test_job_file.FILE, 'my.fio'
            ).jobs
        }
        self.assertEqual(theirs, ours)

    @ddt.data(
        ('size', '64m', 1024**2),
        ('size', '64M', 1024**2),
        ('size', '64mb', 1024**2),
        ('size', '1g', 1024**2),
        ('size', '2gb', 1024**2),
        ('runtime', '90', 10**6),
        ('runtime', '90s', 10**6),
        ('runtime', '5m', 10**6),
        ('runtime', '1H', 10**6),
        ('runtime', '1d', 10**6),
        ('startdelay', '7', 10**6),
        ('iodepth', '16', 1),
    )
    @ddt.unpack
    def test_a_number_has_the_value_that_fio_reads(self, option, value, unit):
        output = self.fio(
            f'[a]\nrw=read\n{option}={value}\n',
            '--parse-only',
            '--debug=parse',
        )
        (theirs,) = re.findall(
            rf'__handle_option={option}, .*\n.* out=(\d+)', output
        )
        self.assertEqual(int(theirs), job_options.read(option, value) * unit)

    def test_it_accepts_what_comes_of_the_file(self):
        found = test_job_file.read(test_job_file.FILE)
        for pattern in found.patterns:
            done = subprocess.run(
                [
                    'fio',
                    '--parse-only',
                    '--filename=f',
                    *fio_pattern.measure_argv(pattern, found.method),
                ],
                capture_output=True,
                text=True,
            )
            self.assertEqual((0, ''), (done.returncode, done.stderr))
