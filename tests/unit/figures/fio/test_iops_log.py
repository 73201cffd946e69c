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

from cinder_tiers.figures.fio import iops_log

# Of fio 3.33: two processes that read and write, one after the other.
TWO_PROCESSES = b"""1795293186574, 301, 0
1795293186574, 300, 1
1795293187575, 301, 0
1795293187575, 301, 1
1795293186574, 300, 0
1795293186574, 301, 1
1795293187575, 300, 0
1795293187575, 300, 1
"""


def parse(log, runtime_ms=0):
    return iops_log.parse(log, runtime_ms=runtime_ms)


@ddt.ddt
class ParseTest(testtools.TestCase):
    def test_directions_and_processes_are_added_up(self):
        found = parse(TWO_PROCESSES)
        self.assertEqual(
            [1795293185574, 1795293186574], [at_ms for at_ms, _iops in found]
        )
        self.assertAlmostEqual(1202, found[0][1], delta=0.1)
        self.assertAlmostEqual(1202, found[1][1], delta=2)

    def test_series_are_no_more_than_processes_can_make(self):
        """Each line of the same time claims one more process."""
        log = b'1795293187575, 1, 0\n'
        self.assertEqual(1, len(parse(log * 512)))
        self.assertIn(
            'more than 1000 series',
            str(self.assertRaises(iops_log.LogError, parse, log * 200_000)),
        )

    def test_a_second_without_a_line_is_one_in_which_nothing_was_done(self):
        self.assertEqual(
            ((0, 5), (1000, 0), (2000, 7)), parse(b'1000, 5, 0\n3000, 7, 0\n')
        )

    def test_nothing_done_at_the_end_is_told_by_the_runtime(self):
        """fio need not tell its last second, but all others."""
        self.assertEqual(
            ((0, 5), (1000, 0), (2000, 0)),
            parse(b'1000, 5, 0\n', runtime_ms=4001),
        )

    def test_nothing_done_at_the_beginning_is_told_by_the_end(self):
        """As of fio 3.33, writing 32 MiB at 5 MiB/s: two I/Os in 12.8 s."""
        found = iops_log.parse(
            b'1795309320027, 1, 1\n', runtime_ms=12801, end_ms=1795309325843
        )
        self.assertEqual(
            (1795309314027, 1795309324027), (found[0][0], found[-1][0])
        )
        self.assertEqual(
            [(1795309319027, 1)], [value for value in found if value[1]]
        )

    def test_a_last_second_that_not_all_processes_tell_is_left_out(self):
        found = parse(b'1000, 5, 0\n2000, 5, 0\n1001, 5, 0\n', runtime_ms=2000)
        self.assertEqual([0], [at_ms for at_ms, _iops in found])

    def test_no_lines_are_no_values(self):
        self.assertEqual((), parse(b''))
        self.assertEqual((), parse(b'\n\n'))

    @ddt.data(
        b'1000, 5',
        b'1000, -5, 0',
        b'x',
        b'1000, 5, 0, 4096, 7',
        b'1e3, 5, 0',
        b'1000, 5, 9',
        b'1' * 400 + b', 5, 0',
    )
    def test_what_is_no_line_of_fio_is_refused(self, line):
        self.assertRaises(iops_log.LogError, parse, line)

    def test_times_that_would_take_all_memory_are_refused(self):
        for log in (
            b'1000, 5, 0\n999999999999999, 5, 0',
            b'9000000, 1, 0\n1000, 1, 0\n' * 1000,
        ):
            self.assertRaises(iops_log.LogError, parse, log)

    def test_a_payload_without_a_log_is_fios_output(self):
        none = {'iops': b'', 'bandwidth': b'', 'latencies': b''}
        self.assertEqual(
            iops_log.Sent(output=b'{}', **none), iops_log.split(b'{}')
        )
        # As guests of an older version send it.
        self.assertEqual(
            iops_log.Sent(
                **none | {'output': b'{\n}', 'iops': b'1000, 5, 0\n'}
            ),
            iops_log.split(b'{\n}\n@series\n1000, 5, 0\n'),
        )

    def test_logs_are_told_apart(self):
        self.assertEqual(
            iops_log.Sent(
                output=b'{\n}',
                iops=b'1000, 5, 0\n',
                bandwidth=b'1000, 20, 0\n',
                latencies=b'1000\n1000 7:5\n',
            ),
            iops_log.split(
                b'{\n}\n@series\n1000, 5, 0\n\n@bandwidth\n1000, 20, 0\n'
                b'\n@latencies\n1000\n1000 7:5\n'
            ),
        )

    @given(
        strategies.binary(max_size=200)
        | strategies.lists(
            strategies.tuples(
                strategies.integers(0, 10**6),
                strategies.integers(0, 10**6),
                strategies.integers(0, 3),
            ),
            max_size=20,
        ).map(
            lambda rows: '\n'.join(
                ', '.join(map(str, row)) for row in rows
            ).encode()
        )
    )
    def test_no_text_breaks_it(self, log):
        with contextlib.suppress(iops_log.LogError):
            values = parse(log)
            self.assertEqual([], [v for _ms, v in values if v < 0])


class RealFioTest(testtools.TestCase):
    def test_seconds_add_up_to_what_fio_reports(self):
        if shutil.which('fio') is None:
            self.skipTest('fio is not installed (bindep.txt)')
        folder = tempfile.mkdtemp(prefix='ctiers-', dir='/var/tmp')
        self.addCleanup(shutil.rmtree, folder)
        subprocess.run(
            [
                'fio',
                '--filename=f',
                '--output=out',
                '--name=x',
                '--output-format=json+',
                '--rw=randrw',
                '--bs=4k',
                '--size=4m',
                '--numjobs=2',
                '--group_reporting',
                '--ioengine=psync',
                '--time_based',
                '--ramp_time=1',
                '--runtime=3',
                '--rate_iops=200',
                '--write_iops_log=series',
                '--log_avg_msec=1000',
                '--log_unix_epoch=1',
                '--per_job_logs=0',
            ],
            check=True,
            capture_output=True,
            cwd=folder,
        )
        document = json.loads((pathlib.Path(folder) / 'out').read_bytes())
        lines = (pathlib.Path(folder) / 'series_iops.log').read_bytes()
        job = document['jobs'][0]
        found = parse(
            b'\n'.join(
                b','.join(line.split(b',')[:3]) for line in lines.splitlines()
            ),
            runtime_ms=job['read']['runtime'],
        )
        iops = job['read']['iops'] + job['write']['iops']
        self.assertIn(len(found), (2, 3))
        self.assertAlmostEqual(
            1,
            sum(value for _ms, value in found) / len(found) / iops,
            delta=0.05,
        )
        end_ms = found[-1][0] + iops_log.STEP_MS
        self.assertTrue(
            0 <= document['timestamp_ms'] - end_ms < 3000,
            document['timestamp_ms'] - end_ms,
        )


class SecondsTest(testtools.TestCase):
    def test_they_are_pairs(self):
        pairs = ((5000, 1.5), (6000, 0.0), (7000, 2.25))
        found = iops_log.Seconds(5000, (value for _ms, value in pairs))
        self.assertEqual(pairs, tuple(found))
        self.assertEqual(pairs, found)
        self.assertEqual(found, pairs)
        self.assertEqual(hash(pairs), hash(found))
        self.assertEqual(
            (pairs[0], pairs[-1], pairs[1:]), (found[0], found[-1], found[1:])
        )
        self.assertRaises(IndexError, lambda: found[3])
        self.assertNotEqual(found, iops_log.Seconds(6000, [1.5, 0, 2.25]))
        self.assertEqual(3, len(found))
        self.assertFalse(iops_log.Seconds(0, ()))
