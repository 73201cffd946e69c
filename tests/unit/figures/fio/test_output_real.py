# SPDX-License-Identifier: Apache-2.0

"""From a pattern to its result, by a real fio on a file."""

import contextlib
import dataclasses
import json
import pathlib
import shutil
import subprocess
import tempfile

import ddt
import numpy as np
import testtools

from cinder_tiers.figures.fio import output as fio_output
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.profile import job_options
from cinder_tiers.figures.profile import profile as named_profile

PROFILE = fio_pattern.Profile(
    region_mib=8, ramp_seconds=1, runtime_seconds=2, ioengine='psync'
)


@ddt.ddt
class RealFioTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        if shutil.which('fio') is None:
            self.skipTest('fio is not installed (bindep.txt)')
        # Not /tmp: it may be a tmpfs, which refuses O_DIRECT.
        folder = tempfile.mkdtemp(prefix='ctiers-', dir='/var/tmp')
        self.addCleanup(shutil.rmtree, folder)
        self.file = pathlib.Path(folder) / 'f'

    def fio(self, argv):
        return subprocess.run(
            ['fio', f'--filename={self.file}', *argv],
            check=True,
            capture_output=True,
            cwd=self.file.parent,
        ).stdout

    def measure(self, **options):
        pattern = fio_pattern.Pattern(name='x', **options)
        return fio_output.parse(
            self.fio(fio_pattern.measure_argv(pattern, PROFILE)),
            jobname='x',
            ordered=pattern,
        )

    @ddt.data(
        {'rw': 'randrw', 'bs': '16k', 'rwmixread_percent': 10, 'numjobs': 3},
        {
            'rw': 'randwrite',
            'bssplit': '4k/60:64k/40',
            'ioengine': 'libaio',
            'iodepth': 8,
            'numjobs': 2,
        },
        {'rw': 'randread', 'bsrange': '4k-64k', 'startdelay_seconds': 1},
        {'rw': 'write', 'bs': '1m', 'numjobs': 8},
        {'rw': 'write', 'bs': '4k', 'numjobs': 2, 'end_fsync': True},
        {'rw': 'write', 'bs': '2300', 'direct': False, 'fdatasync': 1},
        {'rw': 'write', 'bs': '8k', 'sync': 'dsync'},
        {
            'rw': 'randwrite',
            'bs': '8k',
            'random_distribution': 'zipf:1.1',
            'thinktime_us': 500,
        },
    )
    def test_what_is_ordered_is_read(self, options):
        found = self.measure(**options)
        self.assertGreater(found.total_ios, 0)
        # fio pools what its processes counted.
        self.assertAlmostEqual(2000, found.runtime_ms, delta=500)
        self.assertAlmostEqual(
            1, found.clat.count / found.total_ios, delta=0.1
        )

    @ddt.data(*job_options.ENGINES)
    def test_every_engine_and_depth_that_a_pattern_may_name_is_read(
        self, engine
    ):
        for depth in (1, 24):
            pattern = fio_pattern.Pattern(
                name='x',
                rw='randread',
                bs='4k',
                iodepth=depth,
                ioengine=engine,
            )
            try:
                named_profile.check_engine(pattern, PROFILE)
            except ValueError:
                continue
            profile = dataclasses.replace(
                PROFILE, ramp_seconds=0, runtime_seconds=1
            )
            found = fio_output.parse(
                self.fio(fio_pattern.measure_argv(pattern, profile)),
                jobname='x',
                ordered=pattern,
            )
            self.assertGreater(found.total_ios, 0)

    def test_a_paced_job_measures_once_it_is_longer_than_its_ramp(self):
        """And not before, which is why `ramp_problems` names it."""
        pattern = fio_pattern.Pattern(
            name='x', rw='write', bs='4k', rate_iops=20
        )
        latencies = []
        for runtime_seconds in (1, 3):
            profile = dataclasses.replace(
                PROFILE, ramp_seconds=2, runtime_seconds=runtime_seconds
            )
            answer = json.loads(
                self.fio(fio_pattern.measure_argv(pattern, profile))
            )
            latencies.append(answer['jobs'][0]['write']['clat_ns']['N'])
            self.assertEqual(
                latencies[-1] == 0,
                bool(list(fio_pattern.ramp_problems([pattern], profile))),
                latencies,
            )

    def test_a_rate_is_for_each_process_and_direction(self):
        # A busy machine is slower, but not by half: of all processes, or of
        # both directions, the rate would be 20 or 10.
        found = self.measure(rw='randrw', bs='4k', numjobs=2, rate_iops=10)
        self.assertTrue(22 < found.iops < 48, found.iops)
        found = self.measure(rw='write', bs='4k', rate_kib=40)
        self.assertTrue(22 * 1024 < found.bw_bytes < 48 * 1024, found.bw_bytes)

    @ddt.data(
        ['--ioengine=null', '--rw=randread', '--rate_iops=8000'],
        ['--ioengine=psync', '--rw=randwrite', '--rate_iops=1000'],
    )
    def test_percentiles_are_those_of_every_latency_that_fio_logged(
        self, words
    ):
        """The reference knows no buckets: numpy, and fio's own log."""
        text = self.fio(
            [
                *words,
                '--name=x',
                '--size=8m',
                '--bs=4k',
                '--time_based',
                '--runtime=2',
                '--norandommap',
                '--output-format=json+',
                '--write_lat_log=log',
                '--log_avg_msec=0',
            ]
        )
        clat = fio_output.parse(text, jobname='x').clat
        logged = [
            int(line.split(',')[1])
            for path in self.file.parent.glob('log_clat*.log')
            for line in path.read_text().splitlines()
        ]
        self.assertEqual(len(logged), clat.count)
        for percent in (1, 25, 50, 75, 90, 95, 99, 99.5, 99.9):
            exact = np.percentile(logged, percent, method='inverted_cdf')
            self.assertLessEqual(
                abs(clat.percentile_ns(percent) - exact) * 128,
                exact,
                f'p{percent}: {clat.percentile_ns(percent)}, exactly {exact}',
            )

    @ddt.data(
        {'rw': 'write', 'bs': '2300', 'direct': False, 'fdatasync': 1},
        {'rw': 'randrw', 'bs': '8k', 'fsync': 3, 'numjobs': 2},
        {
            'rw': 'write',
            'bs': '4k',
            'fdatasync': 1,
            'ioengine': 'io_uring',
            'iodepth': 7,
        },
    )
    def test_syncs_have_the_percentiles_that_fio_prints_of_them(self, options):
        pattern = fio_pattern.Pattern(name='x', **options)
        text = self.fio(fio_pattern.measure_argv(pattern, PROFILE))
        found = fio_output.parse(text, jobname='x', ordered=pattern).syncs
        theirs = json.loads(text)['jobs'][0]['sync']['lat_ns']
        self.assertEqual(theirs['N'], found.lat.count)
        self.assertEqual(
            {
                percent: ns
                for percent, ns in theirs['percentile'].items()
                if float(percent) < 100
            },
            {
                percent: found.lat.percentile_ns(float(percent))
                for percent in theirs['percentile']
                if float(percent) < 100
            },
        )
        self.assertEqual(theirs['max'], found.moments.max_ns)

    def test_syncs_of_jobs_are_merged_and_each_is_needed(self):
        pattern = fio_pattern.Pattern(
            name='x', rw='write', bs='4k', fdatasync=1
        )
        argv = fio_pattern.measure_argv(pattern, PROFILE)
        both = fio_output.parse_each(
            self.fio([*argv, '--numjobs=2']), jobname='x', jobs=2
        )
        found = fio_output.together(both).syncs
        self.assertEqual(
            sum(each.syncs.lat.count for each in both), found.lat.count
        )
        percentiles = sorted(each.syncs.lat.percentile_ns(99) for each in both)
        self.assertTrue(
            percentiles[0] <= found.lat.percentile_ns(99) <= percentiles[1]
        )
        without = dataclasses.replace(both[1], syncs=None)
        self.assertIsNone(fio_output.together([both[0], without]).syncs)

    def test_syncs_that_were_not_ordered_or_not_called_are_refused(self):
        pattern = fio_pattern.Pattern(
            name='x', rw='write', bs='4k', fdatasync=1
        )
        text = self.fio(fio_pattern.measure_argv(pattern, PROFILE))
        with testtools.ExpectedException(
            fio_output.ResultError, '.*calls with .* writes, expected none'
        ):
            fio_output.parse(
                text,
                jobname='x',
                ordered=dataclasses.replace(pattern, fdatasync=None),
            )
        document = json.loads(text)
        for share, is_read in ((0.005, True), (0.05, False)):
            odd = json.loads(text)
            lat = odd['jobs'][0]['sync']['lat_ns']
            longest = max(lat['bins'], key=int)
            more = int(share * lat['N']) + 4
            lat['N'] += more
            lat['mean'] += more * (int(longest) - lat['mean']) / lat['N']
            lat['bins'][longest] += more
            with (
                contextlib.nullcontext()
                if is_read
                else testtools.ExpectedException(
                    fio_output.ResultError, '.*one after 1 writes'
                )
            ):
                fio_output.parse(
                    json.dumps(odd).encode(), jobname='x', ordered=pattern
                )
        document['jobs'][0]['sync']['lat_ns'] = {'N': 0, 'mean': 0.0, 'max': 0}
        with testtools.ExpectedException(
            fio_output.ResultError, '.*0 calls with .* one after 1 writes'
        ):
            fio_output.parse(
                json.dumps(document).encode(), jobname='x', ordered=pattern
            )

    def test_the_region_is_filled_and_not_left(self):
        """Filled twice; a pattern of several processes stays inside."""
        self.fio(
            fio_pattern.fill_argv(
                fio_pattern.Profile(
                    region_mib=8,
                    ramp_seconds=0,
                    runtime_seconds=1,
                    ioengine='psync',
                    fill_passes=2,
                )
            )
        )
        self.assertEqual(8 * 1024**2, self.file.stat().st_size)
        self.assertGreaterEqual(512 * self.file.stat().st_blocks, 8 * 1024**2)
        self.measure(rw='randwrite', bs='64k', numjobs=3)
        self.assertEqual(8 * 1024**2, self.file.stat().st_size)
