# SPDX-License-Identifier: Apache-2.0

import json

import ddt
from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.figures.fio import output as fio_output
from cinder_tiers.figures.fio import pattern as fio_pattern
from tests.unit.figures import recorded


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
            ('fio-3.33', 1001, 1001, 2049023, 2001, 1001 / 2.001),
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
            'a bin that is not a number',
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
        ('a rate, not a number', (*WRITE, 'iops'), float('nan'), 'finite'),
        ('no direction', WRITE, None, 'write'),
        ('a mean over the longest', (*WRITE, 'lat_ns', 'mean'), 1e9, 'mean'),
        ('no total latency', (*WRITE, 'lat_ns', 'N'), 0, 'lat_ns: of no I/O'),
        (
            'a longest that is in no bin',
            (*WRITE, 'clat_ns', 'max'),
            99 * 10**6,
            'but its bins have mean',
        ),
        (
            'a longest below the bins',
            (*WRITE, 'clat_ns', 'max'),
            10**6,
            'but its bins have mean',
        ),
        (
            'a mean of other bins',
            (*WRITE, 'clat_ns', 'mean'),
            200000.0,
            'but its bins have mean',
        ),
        ('no I/O', WRITE, {'total_ios': 0, 'clat_ns': {'N': 0}}, 'did no I/O'),
        (
            'a rate that is 2 % off',
            (*WRITE, 'iops'),
            509.7,
            'but total_ios is 1000',
        ),
        (
            'a bandwidth that does not fit',
            (*WRITE, 'bw_bytes'),
            10**14,
            'but io_bytes is 4100096',
        ),
        ('no time', (*WRITE, 'runtime'), 0, 'IOPS in 0 ms'),
        (
            'an I/O without a latency',
            WRITE,
            {
                'total_ios': 1,
                'clat_ns': {'N': 0, 'bins': {}},
                'runtime': 1,
                'iops': 1000.0,
                'bw_bytes': 1000,
                'io_bytes': 1,
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

    def lie(self, **figures):
        """A recording with other figures, in which all agree.

        It does not say of what size its blocks are.
        """
        document = json.loads(recorded.text('randwrite-4k'))
        del document['jobs'][0]['job options']['bs']
        side = document['jobs'][0]['write']
        side.update(figures)
        side['iops'] = side['total_ios'] * 1000 / side['runtime']
        side['bw_bytes'] = side['io_bytes'] * 1000 // side['runtime']
        return json.dumps(document).encode()

    def test_more_than_memory_gives_is_refused(self):
        count = 10**12
        error = self.assertRaises(
            fio_output.ResultError,
            fio_output.parse,
            self.lie(
                runtime=1,
                total_ios=count,
                clat_ns={'N': count, 'bins': {'10': count}},
            ),
            jobname='randwrite-4k',
        )
        self.assertIn('1e+15 IOPS, expected at most 1e+08', str(error))

    @ddt.data(
        ({'rw': 'randread', 'bs': '4k'}, 'expected none with rw randread'),
        ({'rw': 'randwrite', 'bs': '8k'}, 'expected blocks of 8192 to 8192'),
        (
            {'rw': 'randwrite', 'bsrange': '512-2k'},
            'expected blocks of 512 to 2048 bytes',
        ),
        (
            {'rw': 'randwrite', 'bs': '4k', 'rate_iops': 300},
            '500.2 IOPS, expected at most 300',
        ),
        (
            {'rw': 'randwrite', 'bs': '4k', 'rate_kib': 1000},
            'expected at most 1024000',
        ),
    )
    @ddt.unpack
    def test_what_was_not_ordered_is_refused(self, options, message):
        error = self.assertRaises(
            fio_output.ResultError,
            fio_output.parse,
            recorded.text('randwrite-4k'),
            jobname='randwrite-4k',
            ordered=fio_pattern.Pattern(
                name='randwrite-4k', iodepth=16, **options
            ),
        )
        self.assertIn(message, str(error))

    @ddt.data(
        {'bs': '4k'},
        {'bsrange': '512-64k'},
        {'bssplit': '4k/60:64k/40', 'rate_iops': 500},
    )
    def test_what_was_ordered_is_taken(self, options):
        found = fio_output.parse(
            recorded.text('randwrite-4k'),
            jobname='randwrite-4k',
            ordered=fio_pattern.Pattern(
                name='randwrite-4k', rw='randwrite', iodepth=16, **options
            ),
        )
        self.assertEqual(1001, found.total_ios)

    def test_latencies_cannot_add_up_to_more_than_was_in_flight(self):
        """1000 I/Os of 40 ms in 2 s: 20 in flight."""
        text = self.lie(
            total_ios=1000,
            clat_ns={
                'N': 1000,
                'mean': 40108032.0,
                'max': 40108032,
                'bins': {'40108032': 1000},
            },
        )

        def parse(iodepth):
            return fio_output.parse(
                text,
                jobname='randwrite-4k',
                ordered=fio_pattern.Pattern(
                    name='randwrite-4k',
                    rw='randwrite',
                    bs='4k',
                    iodepth=iodepth,
                ),
            )

        self.assertEqual(1000, parse(20).total_ios)
        error = self.assertRaises(fio_output.ResultError, parse, 16)
        self.assertIn('20.0 I/Os in flight, expected at most 16', str(error))

    def test_directions_are_told_apart_with_all_their_latencies(self):
        found = fio_output.parse(
            recorded.text('randrw-4k-unified'), jobname='randrw-4k'
        )
        read, write = found.directions
        self.assertEqual(('read', 'write'), (read.name, write.name))
        self.assertEqual(found.total_ios, read.total_ios + write.total_ios)
        self.assertEqual(1600, read.clat.count)
        for side, clat_max, slat_max, lat_max in (
            (read, 2254191, 487243, 2285658),
            (write, 3963805, 1110058, 3991235),
        ):
            self.assertEqual(
                (clat_max, slat_max, lat_max),
                tuple(
                    each.max_ns
                    for each in (side.clat_moments, side.slat, side.lat)
                ),
            )
            # An application waits for both.
            self.assertAlmostEqual(
                side.lat.mean_ns,
                side.slat.mean_ns + side.clat_moments.mean_ns,
                delta=1,
            )
        (only,) = fio_output.parse(
            recorded.text('randwrite-4k'), jobname='randwrite-4k'
        ).directions
        self.assertEqual('write', only.name)

    def test_what_is_longer_than_all_buckets_is_known_by_its_maximum(self):
        longest = 22 * 10**9
        last = 17112760320
        found = fio_output.parse(
            self.lie(
                total_ios=10,
                io_bytes=40960,
                clat_ns={
                    'N': 10,
                    'mean': 20.0 * 10**9,
                    'max': longest,
                    'bins': {str(last): 10},
                },
            ),
            jobname='randwrite-4k',
        )
        (side,) = found.directions
        self.assertEqual(longest, side.clat_moments.max_ns)

    def test_a_mix_ran_as_long_as_its_longer_side(self):
        document = json.loads(recorded.text('randrw-4k-unified'))
        side = document['jobs'][0]['read']
        side['runtime'] = 1500
        side['iops'] = side['total_ios'] / 1.5
        side['bw_bytes'] = round(side['io_bytes'] / 1.5)
        found = fio_output.parse(
            json.dumps(document).encode(), jobname='randrw-4k'
        )
        self.assertEqual(2001, found.runtime_ms)

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
        # fio submitted as many; what it completed is counted.
        self.assertEqual(
            1001,
            fio_output.parse(
                json.dumps(document).encode(), jobname='randwrite-4k'
            ).total_ios,
        )

    @ddt.data(
        ('randwrite-4k-qd16-100iops', 'randwrite-4k', 97.5, 100),
        ('randwrite-4k-qd64-100iops', 'randwrite-4k', 90.5, 100),
        ('randwrite-split-qd64-100iops', 'randwrite-split', 90.5, 100),
        ('randwrite-4k-paced-50iops', 'randwrite-paced', 49.5, 50),
    )
    @ddt.unpack
    def test_iops_are_of_completions_whatever_was_in_flight(
        self, name, jobname, of_submissions, truth
    ):
        """What fio calls iops misses those in flight at the ramp's end."""
        text = recorded.text(name)
        said = json.loads(text)['jobs'][0]['write']['iops']
        self.assertAlmostEqual(of_submissions, said, delta=0.1)
        found = fio_output.parse(text, jobname=jobname)
        # Two I/Os in 6 s.
        self.assertAlmostEqual(truth, found.iops, delta=0.34)

    @ddt.data(
        ('randwrite-4k-qd16-100iops', 'randwrite-4k', 4096),
        ('randwrite-4k-qd64-100iops', 'randwrite-4k', 4096),
        ('randwrite-4k-paced-50iops', 'randwrite-paced', 4096),
        ('randwrite-4k', 'randwrite-4k', 4096),
        ('randrw-4k-unified', 'randrw-4k', 4096),
        ('write-1m', 'write-1m', 1024**2),
    )
    @ddt.unpack
    def test_iops_of_one_block_size_are_the_bandwidth(
        self, name, jobname, block_bytes
    ):
        found = fio_output.parse(recorded.text(name), jobname=jobname)
        for side in (found, *found.directions):
            # fio prints whole bytes of each direction.
            self.assertAlmostEqual(
                side.bw_bytes, side.iops * block_bytes, delta=2
            )

    def test_bytes_of_other_blocks_than_those_of_the_latencies_are_refused(
        self,
    ):
        document = json.loads(recorded.text('randwrite-4k'))
        document['jobs'][0]['job options']['bs'] = '8k'
        error = self.assertRaises(
            fio_output.ResultError,
            fio_output.parse,
            json.dumps(document).encode(),
            jobname='randwrite-4k',
        )
        self.assertIn('expected blocks of 8192 bytes', str(error))

    def test_what_was_in_flight_at_the_end_of_a_ramp_breaks_no_rate(self):
        """A server that fell behind catches up with 64 I/Os in 6.6 s."""
        found = fio_output.parse(
            recorded.text('randwrite-4k-qd64-100iops'),
            jobname='randwrite-4k',
            ordered=fio_pattern.Pattern(
                name='randwrite-4k',
                rw='randwrite',
                bs='4k',
                iodepth=64,
                rate_iops=62,
            ),
        )
        self.assertEqual(664, found.total_ios)

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
