# SPDX-License-Identifier: Apache-2.0

"""The profiles that come with the project, and the choice of a task."""

import pathlib
import re
import shutil
import subprocess

import ddt
import fixtures
from rally.common import validation
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.profile import profile as named_profile
from rally_scenarios.plugins.fleet import run_plan
from rally_scenarios.plugins.fleet import scenario
from rally_scenarios.plugins import profiles

KEYS = {
    'meyer2016',
    'ornl2013',
    'poat2016',
    'lin2013',
    'idcf2014',
    'etcd',
    'postgresql',
    'chen2010',
}
JOB_FILE = '[mine]\nrw=randread\ndirect=1\ntime_based\nsize=64m\nruntime=20\n'
FLEETS = [{'tier': 'a', 'image': 'a'}]
PATTERN = {'name': 'x', 'rw': 'read', 'bs': '4k', 'iodepth': 1}


@ddt.ddt
class ProfilesTest(testtools.TestCase):
    def test_every_paper_has_a_profile(self):
        found = [profiles.named(name) for name in profiles.names()]
        self.assertEqual(KEYS, {each.source.paper for each in found})
        self.assertEqual(list(profiles.names()), [each.name for each in found])

    @ddt.data(*profiles.names())
    def test_each_can_be_ordered_at_each_size(self, name):
        """fio checks its options with --parse-only."""
        if shutil.which('fio') is None:
            self.skipTest('fio is not installed (bindep.txt)')
        for size in named_profile.ProfileSize:
            found = named_profile.at_size(profiles.named(name), size)
            words = []
            for pattern in found.patterns:
                # All in one run: what comes before --name is for all jobs.
                job = sorted(
                    fio_pattern.measure_argv(pattern, found.method),
                    key=lambda word: not word.startswith('--name'),
                )
                words += [
                    word
                    for word in job
                    if not word.startswith('--output-format')
                ]
            done = subprocess.run(
                ['fio', '--parse-only', '--filename=f', *words],
                capture_output=True,
                text=True,
            )
            self.assertEqual((0, ''), (done.returncode, done.stderr))

    @ddt.data(*profiles.names())
    def test_smoke_is_short(self, name):
        smoke = named_profile.at_size(
            profiles.named(name), named_profile.ProfileSize.SMOKE
        )
        self.assertLessEqual(len(smoke.patterns), 8)
        self.assertLessEqual(smoke.method.region_mib, 256)

    def test_meyer2016_has_the_numbers_of_the_paper(self):
        found = profiles.named('meyer2016')
        self.assertEqual(
            {
                f'{rw}-{bs}'
                for rw in ('read', 'write', 'randread', 'randwrite')
                for bs in ('4k', '128k', '1m', '32m')
            },
            {f'{each.rw}-{each.bs}' for each in found.patterns},
        )
        self.assertEqual(
            (
                16,
                9,
                (12,),
                fio_pattern.Profile(
                    region_mib=10 * 1024,
                    ramp_seconds=15,
                    runtime_seconds=300,
                    ioengine='sync',
                ),
            ),
            (len(found.patterns), found.repeats, found.guests, found.method),
        )
        self.assertEqual(
            {15}, {each.startdelay_seconds for each in found.patterns}
        )

    def test_lin2013_has_the_numbers_of_the_paper(self):
        for part in ('iodepth', 'block-size', 'parallel', 'stability'):
            found = profiles.named(f'lin2013-{part}')
            self.assertEqual(
                ('libaio', 120),
                (found.method.ioengine, found.method.runtime_seconds),
            )
        self.assertEqual(
            {'4m'},
            {each.bs for each in profiles.named('lin2013-iodepth').patterns},
        )
        self.assertEqual(
            {1},
            {
                each.iodepth
                for each in profiles.named('lin2013-block-size').patterns
            },
        )

    def test_idcf2014_has_the_five_patterns_of_the_paper(self):
        self.assertEqual(
            [
                ('read', '256k', None),
                ('write', '256k', None),
                ('randread', '4k', None),
                ('randwrite', '4k', None),
                ('randrw', '16k', 10),
            ],
            [
                (each.rw, each.bs, each.rwmixread_percent)
                for each in profiles.named('idcf2014').patterns
            ],
        )

    def test_what_stands_for_another_tool_says_so(self):
        for name in profiles.names():
            source = profiles.named(name).source
            if source.paper in ('ornl2013', 'poat2016'):
                self.assertRegex(source.stands_for, 'IOR|RADOS|Iozone|writ')

    def test_all_are_in_the_documentation(self):
        page = (
            pathlib.Path(__file__).parents[3]
            / 'doc'
            / 'source'
            / 'user'
            / 'measure-reference.rst'
        ).read_text()
        section = re.search(
            r'^Profiles\n-+\n(.*?)^Each file', page, re.MULTILINE | re.DOTALL
        )
        self.assertEqual(
            set(profiles.names()),
            set(
                re.findall(
                    r'^``([a-z0-9-]+)``\n {3}\S', section[1], re.MULTILINE
                )
            ),
        )


@ddt.ddt
class ChosenTest(testtools.TestCase):
    def job_file(self, text):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (folder / 'My Load.fio').write_text(text)
        return str(folder / 'My Load.fio')

    def problems(self, **arguments):
        return str(
            self.assertRaises(
                errors.ProblemsFound, profiles.chosen, **arguments
            )
        )

    def test_patterns_have_the_defaults_of_the_scenario(self):
        found = profiles.chosen(
            patterns=[PATTERN], profile=None, runtime_seconds=3
        )
        self.assertEqual(
            (
                fio_pattern.Profile(
                    region_mib=32, ramp_seconds=5, runtime_seconds=3
                ),
                1,
            ),
            (found.method, found.repeats),
        )

    def test_a_profile_is_taken_at_a_size_and_may_be_changed(self):
        found = profiles.chosen(
            profile='idcf2014',
            repeats=5,
            profile_size='smoke',
            region_mib=16,
        )
        self.assertEqual(
            (5, 16, 5, ('region_mib 64 -> 16', 'repeats 2 -> 5')),
            (
                found.repeats,
                found.method.region_mib,
                len(found.patterns),
                found.changed,
            ),
        )

    @ddt.data(
        {'patterns': [{**PATTERN, 'rate_iops': 50}]},
        {'patterns': [{**PATTERN, 'rate_kib': 400}]},
        {'patterns': [PATTERN], 'load_steps': [50, 100]},
    )
    def test_a_paced_pattern_runs_longer_than_its_ramp(self, arguments):
        error = self.assertRaises(
            ValueError,
            profiles.chosen,
            **arguments,
            ramp_seconds=3,
            runtime_seconds=3,
        )
        self.assertIn('expected a runtime longer than the ramp', str(error))
        found = profiles.chosen(**arguments, ramp_seconds=3, runtime_seconds=4)
        self.assertEqual(4, found.method.runtime_seconds)

    def test_without_a_ramp_a_paced_pattern_may_be_short(self):
        profiles.chosen(
            patterns=[{**PATTERN, 'rate_iops': 50}],
            ramp_seconds=0,
            runtime_seconds=1,
        )

    def test_a_job_file_becomes_a_profile(self):
        path = self.job_file(JOB_FILE)
        found = profiles.chosen(job_file=path, profile_size='smoke')
        self.assertEqual(
            ('my-load', path, 8, 'psync'),
            (
                found.name,
                found.source.paper,
                found.method.runtime_seconds,
                found.patterns[0].ioengine,
            ),
        )

    def test_an_engine_of_the_task_is_that_of_each_job(self):
        path = self.job_file(JOB_FILE)
        found = profiles.chosen(job_file=path, ioengine='io_uring')
        self.assertEqual(
            {'io_uring'},
            {
                word.partition('=')[2]
                for pattern in found.patterns
                for word in fio_pattern.measure_argv(pattern, found.method)
                if word.startswith('--ioengine=')
            },
        )
        self.assertEqual(('ioengine psync -> io_uring',), found.changed)
        # An engine that the job file already has is not a change.
        self.assertEqual(
            (), profiles.chosen(job_file=path, ioengine='psync').changed
        )

    def test_a_region_of_the_task_leaves_the_sizes_of_jobs(self):
        path = self.job_file(JOB_FILE)
        before = profiles.chosen(job_file=path)
        found = profiles.chosen(
            job_file=path, region_mib=2 * before.method.region_mib
        )
        self.assertEqual(before.patterns, found.patterns)

    def test_a_job_file_that_is_absent_or_no_text_is_named(self):
        self.assertIn('cannot read it', self.problems(job_file='/no/such'))
        path = self.job_file('')
        pathlib.Path(path).write_bytes(b'\xff\xfe')
        self.assertIn('cannot read it', self.problems(job_file=path))

    @ddt.data(
        ({}, 'nothing given'),
        (
            {'patterns': [PATTERN], 'profile': 'idcf2014'},
            'patterns and profile given',
        ),
        ({'profile': 'idfc2014'}, "did you mean 'idcf2014'"),
        ({'profile': '../tasks/quick'}, 'there is none of that name'),
        ({'patterns': [PATTERN], 'profile_size': 'lab'}, 'remove it'),
    )
    @ddt.unpack
    def test_a_choice_that_cannot_be_had_is_refused(self, arguments, text):
        self.assertIn(text, self.problems(**arguments))

    @ddt.data(
        {},
        {'profile': 'x'},
        {'profile': 'meyer2016', 'region_mib': 8},
        {'patterns': [{**PATTERN, 'bs': '64m'}]},
        {'patterns': [{**PATTERN, 'bs': '1000'}]},
        {'patterns': [{**PATTERN, 'bs': None, 'bsrange': '512-5000'}]},
        {'patterns': [{**PATTERN, 'bs': None, 'bssplit': '100/50:4k/50'}]},
        {'patterns': [3]},
        {'patterns': [{**PATTERN, 'ioengine': 'sync', 'iodepth': 4}]},
    )
    def test_rally_refuses_it_before_anything_is_made(self, arguments):
        self.assertRaises(
            validation.ValidationError,
            run_plan.PlanValidator().validate,
            {},
            {'args': {'fleets': FLEETS, **arguments}},
            scenario.FleetFio,
            None,
        )
