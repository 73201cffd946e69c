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

"""Latency distributions as fio counts them, merged without loss.

A percentile of a fleet cannot be had from the percentiles of its guests, but
it can be had from their counters: fio sorts every completion into a fixed set
of buckets, the same in every fio, and with ``--output-format=json+`` prints
the counters as ``bins``.  Adding the counters of several guests gives exactly
the counters that one fio would have had that saw all their I/Os.

Buckets and their error, from fio 3.33 ``stat.h`` lines 39-121 (comment
"Aggregate latency samples"): a sample is kept with its 6 bits after the most
significant one, and a bucket is printed as the mean of its range, so that a
value is off by at most 1/2^(6+1) = 0.78 %; above 2^34 ns (17.2 s) all samples
fall into the last group.

This module must not know where a histogram came from.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, kw_only=True)
class LatencyHistogram:
    """Counters of completions by latency.

    :ivar bins: ((bucket value in ns (mean of its range), completions), ...)
        in ascending order of latency, no bucket twice, no empty bucket
    """

    bins: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        """Check the invariants.

        :raises ValueError: a bucket or counter is not what ``bins`` promises
        """
        previous_ns = -1
        for latency_ns, count in self.bins:
            if latency_ns <= previous_ns:
                raise ValueError(
                    f"bucket {latency_ns} ns after {previous_ns} ns: expected"
                    f" non-negative buckets in ascending order, each once")
            if count < 1:
                raise ValueError(
                    f"bucket {latency_ns} ns holds {count} completions:"
                    f" expected at least 1")
            previous_ns = latency_ns

    @property
    def count(self) -> int:
        """Number of completions; 0 for the empty histogram."""
        return sum(count for _latency_ns, count in self.bins)

    def percentile_ns(self, percent: float) -> int:
        """Latency that ``percent`` % of the completions did not exceed.

        Defined as fio does (``stat.c`` calc_clat_percentiles): the value of
        the first bucket up to which at least percent/100 x N completions
        lie.  Exact in the counters; the value has the bucket's error of at
        most 0.78 %.

        >>> h = LatencyHistogram(bins=((100, 98), (5000, 2)))
        >>> h.percentile_ns(98), h.percentile_ns(99)
        (100, 5000)

        :param percent: greater than 0, at most 100
        :returns: ns
        :raises ValueError: ``percent`` is out of range or the histogram empty
        """
        if not 0 < percent <= 100:
            raise ValueError(
                f"percentile {percent} asked for: expected 0 < p <= 100")
        if not self.bins:
            raise ValueError("an empty histogram has no percentiles")
        # Rationals, since 0.999 * N in floating point can fall on the wrong
        # side of an integer; fio uses long double for the same reason.
        wanted = Fraction(percent) / 100 * self.count
        seen = 0
        for latency_ns, count in self.bins:
            seen += count
            if seen >= wanted:
                return latency_ns
        raise AssertionError("percent <= 100 is always reached")


def from_counts(counts: Mapping[int, int]) -> LatencyHistogram:
    """Make a histogram of {bucket value in ns: completions}.

    :param counts: buckets in any order; empty ones are left out
    :raises ValueError: a negative bucket or counter
    """
    return LatencyHistogram(bins=tuple(sorted(
        (latency_ns, count) for latency_ns, count in counts.items()
        if count != 0)))


def merge(histograms: Iterable[LatencyHistogram]) -> LatencyHistogram:
    """Add up the counters, bucket by bucket.

    Associative and commutative; no completion is lost or made up.

    :param histograms: any number; none gives the empty histogram
    """
    counts: dict[int, int] = {}
    for histogram in histograms:
        for latency_ns, count in histogram.bins:
            counts[latency_ns] = counts.get(latency_ns, 0) + count
    return from_counts(counts)
