# SPDX-License-Identifier: Apache-2.0

import contextlib
import itertools
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

from cinder_tiers.figures.fio import histogram
from cinder_tiers.figures.fio import iops_log
from cinder_tiers.figures.fio import latency_log
from cinder_tiers.figures.fio import output
from rally_scenarios.guest import orders

BEGINS_MS = 1795536575000
#: Of four buckets together, half of the width.
OFF = 1 / 31
#: Two processes that read and write, one after the other.
TWO_PROCESSES = b"""1795536580000,0 100:3 101:1
1795536580000,1 200:4
1795536587000,0 100:2

1795536580003,0 100:1
1795536580003,1 200:1
"""


def parse(lines, *, step_ms=1000, total_ios=900_000):
    """Windows of what a guest sent."""
    found = latency_log.parse(
        b'%d\n' % step_ms + lines,
        begins_ms=BEGINS_MS,
        runtime_ms=60_000,
        total_ios=total_ios,
    )
    return found.windows if found else ()


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
    def test_each_window_begins_where_the_one_before_it_ended(self):
        self.assertEqual(
            [
                ('read', 0, 5000, 4),
                ('write', 0, 5000, 4),
                ('read', 5000, 12000, 2),
                ('read', 0, 5003, 1),
                ('write', 0, 5003, 1),
            ],
            [
                (
                    each.direction,
                    each.begin_ms - BEGINS_MS,
                    each.end_ms - BEGINS_MS,
                    each.clat.count,
                )
                for each in parse(TWO_PROCESSES)
            ],
        )

    def test_a_bucket_is_four_of_fios(self):
        """fio's buckets 64 to 67 are 64 to 67 ns, 128 to 131 130 to 137."""
        values = latency_log.buckets_ns()
        self.assertEqual((1, 65, 132), (values[0], values[16], values[32]))
        self.assertEqual(sorted(set(values)), list(values))

    def test_a_line_without_a_completion_is_a_window(self):
        (found,) = parse(b'1795536580000,0\n')
        self.assertEqual(0, found.clat.count)

    def test_lines_of_one_ms_are_one_window(self):
        """As fio 3.33 writes them after a pause of three seconds."""
        found = parse(
            b'1795536580146,1 175:1 176:3\n'
            b'1795536580146,1 175:2\n'
            b'1795536580147,1 232:1\n'
            b'1795536580147,0 9:1\n'
            b'1795536580147,1 9:1\n'
        )
        self.assertEqual(
            [
                ('write', 0, 5146, 6),
                ('write', 5146, 5147, 2),
                ('read', 0, 5147, 1),
            ],
            [
                (
                    each.direction,
                    each.begin_ms - BEGINS_MS,
                    each.end_ms - BEGINS_MS,
                    each.clat.count,
                )
                for each in found
            ],
        )
        self.assertEqual([3, 3], [count for _, count in found[0].clat.bins])

    def test_some_ios_that_were_in_flight_may_be_in_no_sum(self):
        """As of fio 3.33 over ten minutes: 383785, where it says 383784."""
        (found,) = parse(b'1795536580000,1 9:383785', total_ios=383784)
        self.assertEqual(383785, found.clat.count)

    def test_no_lines_are_no_windows(self):
        self.assertEqual((), parse(b''))
        self.assertEqual((), parse(b'\n'))
        self.assertIsNone(
            latency_log.parse(
                b'', begins_ms=BEGINS_MS, runtime_ms=1000, total_ios=1
            )
        )

    @ddt.data(0, 999, 10**8)
    def test_a_length_that_no_time_has_is_refused(self, step_ms):
        self.assertRaises(
            iops_log.LogError,
            parse,
            b'1795536580000,0 1:1',
            step_ms=step_ms,
        )

    def test_short_times_claim_no_more_than_fio_ran(self):
        log = b'%d,0 1:1' % (BEGINS_MS + 90_000)
        for step_ms in (1, 1000):
            self.assertRaises(iops_log.LogError, parse, log, step_ms=step_ms)

    def test_lines_are_no_more_than_the_times_of_all_processes(self):
        """Each takes the host 30 us, and thousands fit into one frame."""
        for count in (5_000, 200_000):
            error = self.assertRaises(
                iops_log.LogError,
                latency_log.parse,
                b'1000\n' + b'%d,0 1:1\n' % (BEGINS_MS + 1000) * count,
                begins_ms=BEGINS_MS,
                runtime_ms=1000,
                total_ios=1,
            )
            self.assertEqual(
                count > 6000, 'lines: expected at most 6000' in str(error)
            )

    @ddt.data(
        b'x',
        b'1795536580000',
        b'1795536580000,3 1:1',
        b'1795536580000,0 1:0',
        b'1795536580000,0 2:1 1:1',
        b'1795536580000,0 1:1 1:1',
        b'1795536580000,0 999:1',
        b'1795536580000,0 1:1 ',
        b'1795536580000,0 1:-1',
        b'1795536575000,0 1:1',
        b'1795536580000,0 1:1\n1795536579999,0 1:1',
        b'1' * 400 + b',0 1:1',
        b'1795536580000,0 1:1001025',
        b'1795536580000,0 1:999999\n1795536580000,1 1:1026',
    )
    def test_what_cannot_be_of_a_guest_is_refused(self, log):
        self.assertRaises(iops_log.LogError, parse, log)

    @given(
        strategies.binary(max_size=200)
        | strategies.lists(
            strategies.tuples(
                strategies.integers(BEGINS_MS - 5, BEGINS_MS + 10**6),
                strategies.integers(0, 3),
                strategies.integers(0, 1000),
                strategies.integers(0, 10**6),
            ),
            max_size=20,
        ).map(
            lambda rows: '\n'.join(
                f'{at},{direction} {bucket}:{ios}'
                for at, direction, bucket, ios in rows
            ).encode()
        )
    )
    def test_no_text_breaks_it(self, log):
        with contextlib.suppress(iops_log.LogError):
            for each in parse(log):
                self.assertLess(each.begin_ms, each.end_ms)


class EqualTimesTest(testtools.TestCase):
    def test_directions_and_processes_are_added_up(self):
        found = latency_log.in_equal_times(
            latency_log.GuestLatencies(
                step_ms=5000, windows=parse(TWO_PROCESSES, step_ms=5000)
            )
        )
        self.assertEqual((BEGINS_MS, 5000), (found.begin_ms, found.step_ms))
        self.assertEqual([10, 2], counts(found))

    def test_a_time_without_a_completion_is_empty(self):
        windows = parse(
            b'%d,0 20:3\n%d,0 20:1\n' % (BEGINS_MS + 2000, BEGINS_MS + 8000)
        )
        found = latency_log.in_equal_times(
            latency_log.GuestLatencies(step_ms=2000, windows=windows)
        )
        self.assertEqual([3, 0, 0, 1], counts(found))

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
    """Of fio, through the lines of the guest's script that print it."""

    def measure(self, *options, lasts_ms):
        """(fio's folder, what it reports, the windows that a guest prints)

        :param lasts_ms: how long it runs, and a bit
        """
        if shutil.which('fio') is None:
            self.skipTest('fio is not installed (bindep.txt)')
        folder = pathlib.Path(
            tempfile.mkdtemp(prefix='ctiers-', dir='/var/tmp')
        )
        self.addCleanup(shutil.rmtree, folder)
        subprocess.run(
            [
                *('fio', '--filename=f', '--output=out', '--name=x'),
                *('--output-format=json+', '--bs=4k', '--size=4m'),
                *('--ioengine=psync', '--time_based', '--per_job_logs=1'),
                *('--write_hist_log=series', '--log_hist_msec=1000'),
                '--log_unix_epoch=1',
                f'--log_hist_coarseness={latency_log.COARSENESS}',
                *options,
            ],
            check=True,
            cwd=folder,
            capture_output=True,
        )
        script = orders.script_file('fleet.sh')
        begin = script.index('print_latencies() {')
        function = script[begin : script.index('\n}\n', begin) + 3]
        printed = subprocess.run(
            ['busybox', 'sh', '-c', f'{function}\nprint_latencies'],
            check=True,
            env={'CT_WORK': str(folder), 'CT_LATENCY_MS': '1000'},
            capture_output=True,
        ).stdout
        text = (folder / 'out').read_bytes()
        result = output.parse(text[text.index(b'{') :], jobname='x')
        ended_ms = json.loads(text[text.index(b'{') :])['timestamp_ms']
        found = latency_log.parse(
            iops_log.split(printed).latencies,
            begins_ms=ended_ms - lasts_ms,
            runtime_ms=result.runtime_ms,
            total_ios=result.total_ios,
        )
        return folder, result, found.windows

    def test_after_a_pause_all_is_read(self):
        """Two I/Os of one ms are in two lines then, if all goes well."""
        _, result, found = self.measure(
            *('--rw=randwrite', '--runtime=7', '--thinktime=3s'),
            '--thinktime_blocks=16',
            lasts_ms=8000,
        )
        for one, other in itertools.pairwise(found):
            self.assertEqual(one.end_ms, other.begin_ms)
            self.assertLess(other.begin_ms, other.end_ms)
        ios = sum(each.clat.count for each in found)
        self.assertTrue(0 < ios <= result.total_ios, (ios, result.total_ios))

    def test_windows_have_what_fio_logged_of_each_process(self):
        """But for what completed after the last line of a process."""
        folder, result, found = self.measure(
            *('--rw=randrw', '--numjobs=2', '--group_reporting'),
            *('--ramp_time=1', '--runtime=4', '--rate_iops=200'),
            *('--write_lat_log=each', '--log_avg_msec=0'),
            lasts_ms=4100,
        )
        # They are in the order of processes: a time that the last one has
        # already is of the next one.
        processes = []
        for one in found:
            if not processes or one.direction in {
                other.direction
                for other in processes[-1]
                if one.begin_ms < other.end_ms
            }:
                processes.append([])
            processes[-1].append(one)
        self.assertEqual(2, len(processes))
        same_ns = []
        for number, windows in enumerate(processes, 1):
            logged = [
                [int(value) for value in line.split(',')[:3]]
                for line in (folder / f'each_clat.{number}.log')
                .read_text()
                .splitlines()
            ]
            for code, direction in enumerate(('read', 'write')):
                own = [each for each in windows if each.direction == direction]
                ios = sum(each.clat.count for each in own)
                self.assertGreater(ios, 0)
                times = [each[:2] for each in logged if each[2] == code]
                same_ns += [latency_ns for _, latency_ns in times[:ios]]
                for at_ms, _ in times[ios:]:
                    # A line is due in one ms and written in another.
                    self.assertGreaterEqual(at_ms, own[-1].end_ms - 1)
        merged = histogram.merge(each.clat for each in found)
        self.assertEqual(len(same_ns), merged.count)
        self.assertLessEqual(len(same_ns), result.total_ios)
        same_ns.sort()
        for percent in (50, 90, 99):
            expected = same_ns[math.ceil(percent / 100 * len(same_ns)) - 1]
            self.assertAlmostEqual(
                1, merged.percentile_ns(percent) / expected, delta=OFF + 0.01
            )

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
        begins_ms = None
        for line in (folder / 'times_clat_hist.log').read_text().splitlines():
            end, _direction, _bs, *columns = map(int, line.split(','))
            begins_ms = end - 1000 if begins_ms is None else begins_ms
            log += b'%d,0' % end + b''.join(
                b' %d:%d' % (at, count)
                for at, count in enumerate(columns)
                if count
            )
            log += b'\n'
        job = json.loads((folder / 'out').read_bytes())['jobs'][0]['read']
        found = latency_log.in_equal_times(
            latency_log.parse(
                log,
                begins_ms=begins_ms,
                runtime_ms=job['runtime'],
                total_ios=job['total_ios'],
            )
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
