# SPDX-License-Identifier: Apache-2.0

import contextlib
import json
import pathlib
import shutil
import subprocess
import tempfile

import ddt
from hypothesis import given
from hypothesis import strategies
import testtools

from rally_scenarios.bench.fio import latency_log
from rally_scenarios.bench.fio import output
from rally_scenarios.guest import orders

BEGINS_MS = 1795536575000
#: Two processes that read and write, one after the other.
TWO_PROCESSES = b"""1795536580000,0 100:3 101:1
1795536580000,1 200:4
1795536587000,0 100:2

1795536580003,0 100:1
1795536580003,1 200:1
"""


def parse(log, total_ios=10**6):
    return latency_log.parse(log, begins_ms=BEGINS_MS, total_ios=total_ios)


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

    def test_some_ios_that_were_in_flight_may_be_in_no_sum(self):
        """As of fio 3.33 over ten minutes: 383785, where it says 383784."""
        (found,) = parse(b'1795536580000,1 9:383785', total_ios=383784)
        self.assertEqual(383785, found.clat.count)

    def test_no_lines_are_no_windows(self):
        self.assertEqual((), parse(b''))
        self.assertEqual(
            (b'1000, 5, 0\n', b'1,0 1:1\n'),
            latency_log.split(b'1000, 5, 0\n\n@latencies\n1,0 1:1\n'),
        )
        self.assertEqual((b'x', b''), latency_log.split(b'x'))

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
        b'1795536580000,0 1:1\n1795536580000,0 1:1',
        b'1' * 400 + b',0 1:1',
        b'1795536580000,0 1:1001025',
        b'1795536580000,0 1:999999\n1795536580000,1 1:1026',
    )
    def test_what_cannot_be_of_a_guest_is_refused(self, log):
        self.assertRaises(latency_log.LogError, parse, log)

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
        with contextlib.suppress(latency_log.LogError):
            for each in parse(log):
                self.assertLess(each.begin_ms, each.end_ms)


class RealFioTest(testtools.TestCase):
    """Of fio, through the lines of the guest's script that print it."""

    def test_latencies_are_those_that_fio_reports(self):
        if shutil.which('fio') is None:
            self.skipTest('fio is not installed (bindep.txt)')
        folder = pathlib.Path(
            tempfile.mkdtemp(prefix='ctiers-', dir='/var/tmp')
        )
        self.addCleanup(shutil.rmtree, folder)
        subprocess.run(
            [
                *('fio', '--filename=f', '--output=out', '--name=x'),
                *('--output-format=json+', '--rw=randrw', '--bs=4k'),
                *('--size=4m', '--numjobs=2', '--group_reporting'),
                *('--ioengine=psync', '--time_based', '--ramp_time=1'),
                *('--runtime=4', '--rate_iops=200', '--per_job_logs=1'),
                *('--write_hist_log=series', '--log_hist_msec=1000'),
                '--log_unix_epoch=1',
                f'--log_hist_coarseness={latency_log.COARSENESS}',
            ],
            check=True,
            cwd=folder,
            capture_output=True,
        )
        script = orders._part('fleet.sh')
        begin = script.index('print_latencies() {')
        function = script[begin : script.index('\n}\n', begin) + 3]
        printed = subprocess.run(
            ['busybox', 'sh', '-c', f'{function}\nprint_latencies'],
            check=True,
            env={'CT_WORK': str(folder)},
            capture_output=True,
        ).stdout
        text = (folder / 'out').read_bytes()
        result = output.parse(text[text.index(b'{') :], jobname='x')
        begins_ms = json.loads(text[text.index(b'{') :])['timestamp_ms'] - 4100
        iops, log = latency_log.split(printed)
        self.assertEqual(b'', iops)
        found = latency_log.parse(
            log, begins_ms=begins_ms, total_ios=result.total_ios
        )
        self.assertEqual({'read', 'write'}, {each.direction for each in found})
        counted = sum(each.clat.count for each in found)
        # All but those since the last line of each process, of a second.
        self.assertGreater(counted, result.total_ios * 0.6)
        merged = latency_log.histogram.merge(each.clat for each in found)
        for percent in (50, 90):
            exact = result.clat.percentile_ns(percent)
            # Other I/Os, and buckets that are four times as wide.
            self.assertTrue(
                0.7 * exact < merged.percentile_ns(percent) < 1.5 * exact,
                (percent, exact, merged.percentile_ns(percent)),
            )
