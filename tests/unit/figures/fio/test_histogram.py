# SPDX-License-Identifier: Apache-2.0

import bisect
import collections
import json
import pathlib
import shutil
import subprocess
import tempfile

from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.figures.fio import histogram
from tests.unit.figures import recorded

COUNTS = strategies.dictionaries(
    strategies.integers(0, 2**34), strategies.integers(1, 10**6), max_size=40
)


def recorded_clat(name, direction):
    job = json.loads(recorded.text(name))['jobs'][0]
    return job[direction]['clat_ns']


def of_clat(clat):
    return histogram.from_counts(
        {int(ns): count for ns, count in clat['bins'].items()}
    )


class PercentileTest(testtools.TestCase):
    def test_every_percentile_that_fio_printed_is_found_from_its_bins(self):
        checked = 0
        for name, direction in (
            ('randwrite-4k', 'write'),
            ('write-1m', 'write'),
            ('randrw-4k-unified', 'read'),
            ('randrw-4k-unified', 'write'),
        ):
            clat = recorded_clat(name, direction)
            bins = of_clat(clat)
            for percent, latency_ns in clat['percentile'].items():
                self.assertEqual(
                    latency_ns,
                    bins.percentile_ns(float(percent)),
                    f'{name} {direction} p{percent}',
                )
                checked += 1
        self.assertEqual(4 * 17, checked)

    def test_a_percentile_on_the_edge_of_a_bucket_stays_in_it(self):
        """98 of 100 completions are 98 %, whatever floating point says."""
        bins = histogram.from_counts({100: 98, 5000: 2})
        self.assertEqual(100, bins.percentile_ns(98))
        self.assertEqual(5000, bins.percentile_ns(98.001))
        self.assertEqual(5000, bins.percentile_ns(100))

    def test_an_empty_histogram_and_a_senseless_percentile_are_refused(self):
        bins = histogram.from_counts({100: 1})
        for percent in (0, -1, 100.1):
            self.assertRaises(ValueError, bins.percentile_ns, percent)
        self.assertRaises(ValueError, histogram.merge([]).percentile_ns, 50)


class MergeTest(testtools.TestCase):
    def test_merging_reads_and_writes_gives_what_fio_pooled_itself(self):
        merged = histogram.merge(
            [
                of_clat(recorded_clat('randrw-4k-unified', 'read')),
                of_clat(recorded_clat('randrw-4k-unified', 'write')),
            ]
        )
        pooled = recorded_clat('randrw-4k-unified', 'mixed')
        self.assertEqual(of_clat(pooled), merged)
        self.assertEqual(
            pooled['percentile'],
            {p: merged.percentile_ns(float(p)) for p in pooled['percentile']},
        )

    def test_the_merged_percentile_is_not_the_mean_of_the_two(self):
        """What this project must never do, as a number."""
        fast = histogram.from_counts({100: 1000})
        slow = histogram.from_counts({100: 900, 9000: 100})
        merged = histogram.merge([fast, slow])
        self.assertEqual(9000, merged.percentile_ns(99))
        self.assertEqual(
            (100, 9000), (fast.percentile_ns(99), slow.percentile_ns(99))
        )

    @given(COUNTS, COUNTS, COUNTS)
    def test_merge_is_associative_commutative_and_keeps_counts(self, a, b, c):
        a, b, c = (histogram.from_counts(counts) for counts in (a, b, c))
        merged = histogram.merge([a, b, c])
        self.assertEqual(merged, histogram.merge([c, b, a]))
        self.assertEqual(merged, histogram.merge([a, histogram.merge([b, c])]))
        self.assertEqual(a.count + b.count + c.count, merged.count)


class BucketTest(testtools.TestCase):
    def test_the_buckets_of_recordings_are_among_those_of_fio(self):
        for name, direction in (
            ('randread-4k-fast', 'read'),
            ('randwrite-4k-fast', 'write'),
            ('randwrite-4k', 'write'),
        ):
            self.assertEqual(
                set(),
                set(recorded_clat(name, direction)['bins'])
                - set(histogram.fio_buckets()),
            )

    def test_a_bucket_has_the_value_that_fio_prints(self):
        self.assertEqual(
            [],
            [
                (text, value)
                for text, value in histogram.fio_buckets().items()
                if int(text) != value
            ],
        )

    @given(strategies.integers(0, 2**63))
    def test_every_latency_has_a_bucket_within_the_error(self, latency_ns):
        buckets = list(histogram.fio_buckets().values())
        at = bisect.bisect(buckets, latency_ns)
        near = min(
            buckets[max(0, at - 1) : at + 1],
            key=lambda bucket: abs(bucket - latency_ns),
        )
        self.assertLessEqual(abs(near - latency_ns) * 128, latency_ns)


class SeveralProcessesTest(testtools.TestCase):
    """One run of a real fio, counted by itself and from its raw latencies."""

    def run_fio(self, folder, *words):
        subprocess.run(
            [
                'fio',
                f'--filename={folder}/f',
                '--output-format=json+',
                f'--output={folder}/out',
                '--name=x',
                '--rw=randrw',
                '--bs=4k',
                '--ioengine=psync',
                '--size=4m',
                '--numjobs=4',
                '--number_ios=2000',
                f'--write_lat_log={folder}/log',
                *words,
            ],
            check=True,
            capture_output=True,
            cwd=folder,
        )
        jobs = json.loads((folder / 'out').read_bytes())['jobs']
        return [
            [job[side]['clat_ns'] for side in ('read', 'write')]
            for job in jobs
        ]

    def of_logs(self, folder):
        """[(reads, writes) of each process]: every I/O has a line."""
        found = []
        for number in range(1, 5):
            sides = (collections.Counter(), collections.Counter())
            for line in (folder / f'log_clat.{number}.log').open():
                _ms, latency_ns, side, *_rest = map(int, line.split(','))
                # Seven bits are kept, then the middle of the rest.
                lost = max(0, latency_ns.bit_length() - 7)
                sides[side][
                    (latency_ns >> lost << lost) + (1 << lost) // 2
                ] += 1
            found.append([histogram.from_counts(side) for side in sides])
        return found

    def setUp(self):
        super().setUp()
        if shutil.which('fio') is None:
            self.skipTest('fio is not installed (bindep.txt)')
        folder = tempfile.mkdtemp(prefix='ctiers-', dir='/var/tmp')
        self.addCleanup(shutil.rmtree, folder)
        self.folder = pathlib.Path(folder)

    def test_each_process_is_counted_as_fio_counts_it(self):
        theirs = self.run_fio(self.folder)
        # Not assertEqual, which would print thousands of buckets.
        self.assertIs(
            True,
            self.of_logs(self.folder)
            == [[of_clat(side) for side in job] for job in theirs],
        )

    def test_merged_processes_are_what_fio_pools_itself(self):
        ((reads, writes),) = self.run_fio(self.folder, '--group_reporting')
        processes = self.of_logs(self.folder)
        for side, pooled in enumerate((reads, writes)):
            merged = histogram.merge(each[side] for each in processes)
            self.assertIs(True, of_clat(pooled) == merged)
            self.assertEqual(
                pooled['percentile'],
                {
                    p: merged.percentile_ns(float(p))
                    for p in pooled['percentile']
                },
            )


class InvariantTest(testtools.TestCase):
    def test_unsorted_double_negative_and_empty_buckets_are_refused(self):
        for bins in (
            ((5, 1), (4, 1)),
            ((5, 1), (5, 1)),
            ((-1, 1),),
            ((5, 0),),
            ((5, -3),),
            ((5, 2**64),),
        ):
            self.assertRaises(
                ValueError, histogram.LatencyHistogram, bins=bins
            )
