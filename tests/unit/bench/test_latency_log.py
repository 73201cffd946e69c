# SPDX-License-Identifier: Apache-2.0

import contextlib
import json
import math
import pathlib
import shutil
import subprocess
import tempfile

import ddt
from hypothesis import given
from hypothesis import strategies
import numpy as np
import testtools

from rally_scenarios.bench.fio import histogram
from rally_scenarios.bench.fio import iops_log
from rally_scenarios.bench.fio import latency_log

#: Of four buckets together, half of the width.
OFF = 1 / 31


def parse(log, *, runtime_ms=10_000, ios=10**6):
    return latency_log.parse(log, runtime_ms=runtime_ms, ios=ios)


def counted(begin_ms, *counts, step_ms=1000):
    return latency_log.Counted(
        begin_ms=begin_ms,
        step_ms=step_ms,
        times=tuple(
            histogram.from_counts({100: count} if count else {})
            for count in counts
        ),
    )


def counts(found):
    return [each.count for each in found.times]


@ddt.ddt
class ParseTest(testtools.TestCase):
    def test_directions_and_processes_are_added_up(self):
        found = parse(
            b'1000\n5000 20:3 40:1\n5003 20:2\n6001 20:4\n4998 41:1\n'
        )
        self.assertEqual((3998, 1000), (found.begin_ms, found.step_ms))
        self.assertEqual([7, 4], counts(found))

    def test_a_time_without_a_completion_is_empty(self):
        found = parse(b'2000\n4000 20:3\n10000 20:1\n', runtime_ms=20_000)
        self.assertEqual([3, 0, 0, 1], counts(found))

    def test_buckets_are_those_of_fio_four_together(self):
        """The middle of each is within 3.3 % of all that it has."""
        buckets = sorted(histogram.fio_buckets().values())
        for at in (3, 63, 64, 300, 900, 1855):
            (of_one,) = parse(b'1000\n1000 %d:1\n' % (at // 4)).times
            ((middle_ns, _count),) = of_one.bins
            self.assertLessEqual(
                abs(middle_ns - buckets[at]), 2 + OFF * buckets[at]
            )

    def test_nothing_sent_is_none(self):
        self.assertIsNone(parse(b''))
        self.assertIsNone(parse(b'1000\n'))

    @ddt.data(
        b'0\n1000 3:1\n',
        b'x\n1000 3:1\n',
        b'1000\n1000 3:-1\n',
        b'1000\n1000 3\n',
        b'1000\n3:1\n',
        b'1000\n1000 9999:1\n',
        # Completions that the result does not have.
        b'1000\n1000 3:900000000\n',
        # Longer than fio ran.
        b'1000\n1000 3:1\n90000 3:1\n',
        b'1\n1000 3:1\n9000 3:1\n',
    )
    def test_what_no_guest_writes_is_refused(self, log):
        self.assertRaises(iops_log.LogError, parse, log)

    @given(
        strategies.binary(max_size=200)
        | strategies.lists(
            strategies.from_regex(
                rb'[0-9]{1,6}( [0-9]{1,3}:[0-9]{1,6}){0,3}', fullmatch=True
            ),
            max_size=10,
        ).map(lambda lines: b'1000\n' + b'\n'.join(lines))
    )
    def test_no_text_breaks_it(self, log):
        with contextlib.suppress(iops_log.LogError):
            found = parse(log)
            self.assertTrue(found is None or len(found.times) <= 15)

    def test_a_long_run_has_as_many_times_as_a_short_one(self):
        for runtime, processes, expected in (
            (6, 1, 1),
            (60, 1, 1),
            (61, 1, 2),
            (3600, 1, 60),
            (60, 4, 2),
            (60, 16, 9),
            (5, 1000, 5),
        ):
            self.assertEqual(
                expected, latency_log.step_seconds(runtime, processes)
            )


class TogetherTest(testtools.TestCase):
    def test_a_time_counts_for_the_one_it_has_most_in_common_with(self):
        found = latency_log.together(
            [counted(1000, 1, 2, 3), counted(1400, 10, 20, 30)]
        )
        self.assertEqual(1400, found.begin_ms)
        self.assertEqual([11, 22, 33], counts(found))
        found = latency_log.together(
            [counted(1000, 1, 2, 3), counted(1600, 10, 20, 30)]
        )
        self.assertEqual([12, 23], counts(found))

    def test_guests_that_never_ran_side_by_side_have_no_time(self):
        found = latency_log.together([counted(0, 1), counted(9000, 1)])
        self.assertEqual((), found.times)

    def test_times_of_different_lengths_are_not_merged(self):
        self.assertRaises(
            ValueError,
            latency_log.together,
            [counted(0, 1), counted(0, 1, step_ms=2000)],
        )


class RealFioTest(testtools.TestCase):
    def test_p99_of_each_second_is_that_of_every_latency_that_fio_logged(
        self,
    ):
        if shutil.which('fio') is None:
            self.skipTest('fio is not installed (bindep.txt)')
        folder = pathlib.Path(tempfile.mkdtemp(prefix='ctiers-'))
        self.addCleanup(shutil.rmtree, folder)
        subprocess.run(
            [
                'fio',
                '--output=out',
                '--name=x',
                '--output-format=json+',
                '--ioengine=null',
                '--rw=randread',
                '--bs=4k',
                '--size=64m',
                '--time_based',
                '--runtime=5',
                '--rate_iops=4000',
                '--write_lat_log=each',
                '--write_hist_log=times',
                '--log_avg_msec=0',
                '--log_hist_msec=1000',
                f'--log_hist_coarseness={latency_log.COARSENESS}',
                '--per_job_logs=0',
            ],
            check=True,
            capture_output=True,
            cwd=folder,
        )
        log = b'1000\n'
        for line in (folder / 'times_clat_hist.log').read_text().splitlines():
            end, _direction, _bs, *columns = map(int, line.split(','))
            log += b'%d' % end + b''.join(
                b' %d:%d' % (at, count)
                for at, count in enumerate(columns)
                if count
            )
            log += b'\n'
        job = json.loads((folder / 'out').read_bytes())['jobs'][0]['read']
        found = latency_log.parse(
            log, runtime_ms=job['runtime'], ios=job['total_ios']
        )
        self.assertGreaterEqual(len(found.times), 4)
        each = np.array(
            [
                [int(value) for value in line.split(',')[:2]]
                for line in (folder / 'each_clat.log').read_text().splitlines()
            ]
        )
        # What fio counts until the end of a time may be of the next ms.
        ends = np.cumsum([time.count for time in found.times])
        begin = 0
        for time, end in zip(found.times, ends, strict=True):
            exact = np.sort(each[begin:end, 1])
            begin = end
            expected = exact[math.ceil(0.99 * len(exact)) - 1]
            self.assertAlmostEqual(
                1, time.percentile_ns(99) / expected, delta=OFF + 0.01
            )
