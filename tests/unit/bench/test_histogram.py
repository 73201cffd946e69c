# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

import json

from hypothesis import given
from hypothesis import strategies
import testtools

from rally_scenarios.bench import histogram
from tests.unit.bench import recorded

COUNTS = strategies.dictionaries(
    strategies.integers(0, 2 ** 34), strategies.integers(1, 10 ** 6),
    max_size=40)


def recorded_clat(name, direction):
    job = json.loads(recorded.text(name))["jobs"][0]
    return job[direction]["clat_ns"]


def of_clat(clat):
    return histogram.from_counts(
        {int(ns): count for ns, count in clat["bins"].items()})


class PercentileTest(testtools.TestCase):

    def test_every_percentile_that_fio_printed_is_found_from_its_bins(self):
        checked = 0
        for name, direction in (("randwrite-4k", "write"),
                                ("write-1m", "write"),
                                ("randrw-4k-unified", "read"),
                                ("randrw-4k-unified", "write")):
            clat = recorded_clat(name, direction)
            bins = of_clat(clat)
            for percent, latency_ns in clat["percentile"].items():
                self.assertEqual(latency_ns,
                                 bins.percentile_ns(float(percent)),
                                 f"{name} {direction} p{percent}")
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
        self.assertRaises(
            ValueError, histogram.merge([]).percentile_ns, 50)


class MergeTest(testtools.TestCase):

    def test_merging_reads_and_writes_gives_what_fio_pooled_itself(self):
        merged = histogram.merge([
            of_clat(recorded_clat("randrw-4k-unified", "read")),
            of_clat(recorded_clat("randrw-4k-unified", "write"))])
        pooled = recorded_clat("randrw-4k-unified", "mixed")
        self.assertEqual(of_clat(pooled), merged)
        self.assertEqual(
            pooled["percentile"],
            {p: merged.percentile_ns(float(p))
             for p in pooled["percentile"]})

    def test_the_merged_percentile_is_not_the_mean_of_the_two(self):
        """What this project must never do, as a number."""
        fast = histogram.from_counts({100: 1000})
        slow = histogram.from_counts({100: 900, 9000: 100})
        merged = histogram.merge([fast, slow])
        self.assertEqual(9000, merged.percentile_ns(99))
        self.assertEqual((100, 9000), (fast.percentile_ns(99),
                                       slow.percentile_ns(99)))

    @given(COUNTS, COUNTS, COUNTS)
    def test_merge_is_associative_commutative_and_keeps_counts(self, a, b, c):
        a, b, c = (histogram.from_counts(counts) for counts in (a, b, c))
        merged = histogram.merge([a, b, c])
        self.assertEqual(merged, histogram.merge([c, b, a]))
        self.assertEqual(
            merged, histogram.merge([a, histogram.merge([b, c])]))
        self.assertEqual(a.count + b.count + c.count, merged.count)


class InvariantTest(testtools.TestCase):

    def test_unsorted_double_negative_and_empty_buckets_are_refused(self):
        for bins in (((5, 1), (4, 1)), ((5, 1), (5, 1)), ((-1, 1),),
                     ((5, 0),), ((5, -3),)):
            self.assertRaises(ValueError, histogram.LatencyHistogram,
                              bins=bins)
