# SPDX-License-Identifier: Apache-2.0

import json

import ddt
from hypothesis import given
from hypothesis import strategies
import testtools

from rally_scenarios.bench.fio import output as fio_output
from tests.unit.bench import recorded


def changed(name, *path, to):
    """A recording with one value replaced, or removed with ``to`` None."""
    document = json.loads(recorded.text(name))
    place = document
    for key in path[:-1]:
        place = place[key]
    if to is None:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return json.dumps(document).encode()


WRITE = ('jobs', 0, 'write')


@ddt.ddt
class ParseTest(testtools.TestCase):
    def test_a_recording_gives_its_own_numbers(self):
        found = fio_output.parse(
            recorded.text('randwrite-4k'), jobname='randwrite-4k'
        )
        self.assertEqual(
            ('fio-3.33', 1000, 1001, 2049023, 2001, 499.750125),
            (
                found.fio_version,
                found.total_ios,
                found.clat.count,
                found.bw_bytes,
                found.runtime_ms,
                found.iops,
            ),
        )

    def test_reads_and_writes_of_a_mix_are_taken_together(self):
        found = fio_output.parse(
            recorded.text('randrw-4k-unified'), jobname='randrw-4k'
        )
        self.assertEqual(
            (3200, 3200, 6550324),
            (found.total_ios, found.clat.count, found.bw_bytes),
        )
        self.assertAlmostEqual(1599.2004, found.iops, 4)

    @ddt.data(
        ('another job', ('jobs', 0, 'jobname'), 'prep', "expected 'randwr"),
        ('a failed job', ('jobs', 0, 'error'), 5, 'ended with error 5'),
        ('no jobs', ('jobs',), [], '0 jobs, expected 1'),
        ('jobs of a wrong type', ('jobs',), {'0': 1}, 'expected list'),
        (
            'a lost bin',
            (*WRITE, 'clat_ns', 'bins'),
            {'10': 1000},
            'add up to 1000, expected the 1001',
        ),
        (
            'a bin that is no number',
            (*WRITE, 'clat_ns', 'bins'),
            {'1e9': 1},
            'expected whole nanoseconds',
        ),
        (
            'a negative count',
            (*WRITE, 'clat_ns', 'bins'),
            {'10': -5},
            'at least 0',
        ),
        ('bins left out', (*WRITE, 'clat_ns', 'bins'), None, 'bins'),
        (
            'more I/Os than latencies',
            (*WRITE, 'total_ios'),
            1500,
            'difference of at most 16',
        ),
        (
            'a rate that does not fit',
            (*WRITE, 'iops'),
            99999.0,
            'but total_ios is 1000',
        ),
        ('a negative rate', (*WRITE, 'iops'), -1, 'at least 0'),
        ('a rate in words', (*WRITE, 'iops'), 'many', 'expected int or fl'),
        ('a truth value', (*WRITE, 'iops'), True, 'expected int or float'),
        ('a rate that is no number', (*WRITE, 'iops'), float('nan'), 'finite'),
        ('no direction', WRITE, None, 'write'),
        ('no I/O', WRITE, {'total_ios': 0, 'clat_ns': {'N': 0}}, 'did no I/O'),
        (
            'an I/O without a latency',
            WRITE,
            {
                'total_ios': 1,
                'clat_ns': {'N': 0, 'bins': {}},
                'runtime': 1,
                'iops': 1.0,
                'bw_bytes': 1,
            },
            'no latency',
        ),
        (
            'a hostile iodepth',
            ('jobs', 0, 'job options', 'iodepth'),
            '9' * 4000,
            'iodepth',
        ),
    )
    @ddt.unpack
    def test_what_contradicts_itself_is_refused(
        self, _what, path, to, message
    ):
        error = self.assertRaises(
            fio_output.ResultError,
            fio_output.parse,
            changed('randwrite-4k', *path, to=to),
            jobname='randwrite-4k',
        )
        self.assertIn(message, str(error))

    @ddt.data(
        b'',
        b'fio: engine libaio not loadable',
        b'[1, 2',
        b'null',
        b'\xff\xfe{}',
        b'[' * 100000,
        b'"x"',
        b'{}',
        b' ' * (4 * 1024**2 + 1),
    )
    def test_what_is_no_fio_output_is_refused(self, text):
        self.assertRaises(
            fio_output.ResultError,
            fio_output.parse,
            text,
            jobname='randwrite-4k',
        )

    def test_several_processes_have_more_in_flight(self):
        text = changed('randwrite-4k', *WRITE, 'total_ios', to=1030)
        document = json.loads(text)
        write = document['jobs'][0]['write']
        write['iops'] = 1030 / write['runtime'] * 1000
        options = document['jobs'][0]['job options']
        self.assertRaises(
            fio_output.ResultError,
            fio_output.parse,
            json.dumps(document).encode(),
            jobname='randwrite-4k',
        )
        options['numjobs'] = '2'
        self.assertEqual(
            1030,
            fio_output.parse(
                json.dumps(document).encode(), jobname='randwrite-4k'
            ).total_ios,
        )

    @given(strategies.data())
    def test_a_damaged_recording_is_refused_or_gives_the_same_result(
        self, data
    ):
        """Cut anywhere, or with one byte changed: never a crash."""
        text = recorded.text('write-1m')
        whole = fio_output.parse(text, jobname='write-1m')
        at = data.draw(strategies.integers(0, len(text) - 2))
        cut = text[:at].rstrip()
        self.assertRaises(
            fio_output.ResultError, fio_output.parse, cut, jobname='write-1m'
        )
        byte = data.draw(strategies.integers(0, 255))
        other = text[:at] + bytes([byte]) + text[at + 1 :]
        try:
            found = fio_output.parse(other, jobname='write-1m')
        except fio_output.ResultError:
            return
        # Bin values and rates may change unseen here: the line digests of
        # guest/frames.py are there for that.  Counts may not.
        self.assertEqual(whole.clat.count, found.clat.count)
