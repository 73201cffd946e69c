# SPDX-License-Identifier: Apache-2.0

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

from array import array
import bisect
from collections.abc import Iterable
from collections.abc import Mapping
from fractions import Fraction
import functools
import itertools
import math
import operator

_GROUP_BUCKETS = 64
# fio 3.33 has 29 groups (stat.h FIO_IO_U_PLAT_GROUP_NR); later versions may
# have more, and this is all that fits 64 bits.
_GROUPS = 59
#: What is longer is in the last bucket of a fio with 29 groups.
MOST_NS = 2**34
#: Value of that bucket, the mean of its range.
LAST_BUCKET_NS = MOST_NS - 2**26


@functools.cache
def fio_buckets() -> Mapping[str, int]:
    """Return {text: ns} of every bucket, with the text that fio prints.

    ``stat.c`` plat_idx_to_val: the buckets of the first two groups are 1 ns
    wide, those of each further group twice as wide as those of the one
    before.
    """
    found = {}
    for index in range(_GROUPS * _GROUP_BUCKETS):
        group, place = divmod(index, _GROUP_BUCKETS)
        width = 1 << max(0, group - 1)
        first = _GROUP_BUCKETS * width + place * width if group else place
        found[str(first + width // 2)] = first + width // 2
    return found


class LatencyHistogram:
    """Counters of completions by latency; a value, never changed.

    A run of a hundred guests has some millions of buckets; they take 16 bytes
    each here.
    """

    __slots__ = ('_counts', '_latencies_ns')

    def __init__(self, *, bins: Iterable[tuple[int, int]]) -> None:
        """Take in buckets.

        :param bins: (bucket value in ns (mean of its range), completions) in
            ascending order of latency, no bucket twice, no empty bucket
        :raises ValueError: they are not like this, or a count does not fit
            64 bits
        """
        pairs = list(bins)
        self._keep(
            [ns for ns, _count in pairs], [count for _ns, count in pairs]
        )

    def _keep(
        self, latencies_ns: Iterable[int], counts: Iterable[int]
    ) -> None:
        """Check and keep. A loop in Python would be most of a merge."""
        found = list(latencies_ns)
        if (
            sorted(found) != found
            or len(set(found)) != len(found)
            or (found and found[0] < 0)
        ):
            raise ValueError(
                'expected buckets of at least 0 ns in ascending'
                ' order, each once'
            )
        # The numbers of buckets are few and shared by all histograms (see
        # fio_buckets), those of completions are not.
        self._latencies_ns = tuple(found)
        try:
            self._counts = array('Q', counts)
        except OverflowError as error:
            raise ValueError(
                f'expected counts of at least 0 and less than 2^64: {error}'
            ) from error
        if found and not min(self._counts):
            raise ValueError(
                'a bucket holds 0 completions: expected at least 1'
            )

    @property
    def bins(self) -> tuple[tuple[int, int], ...]:
        """((bucket value in ns, completions), ...), ascending."""
        return tuple(zip(self._latencies_ns, self._counts, strict=True))

    def __eq__(self, other: object) -> bool:
        """Same buckets with the same counts."""
        if not isinstance(other, LatencyHistogram):
            return NotImplemented
        return (
            self._latencies_ns == other._latencies_ns
            and self._counts == other._counts
        )

    def __hash__(self) -> int:
        return hash(self.bins)

    def __repr__(self) -> str:
        return f'LatencyHistogram(bins={self.bins})'

    @property
    def count(self) -> int:
        """Number of completions; 0 for the empty histogram."""
        return sum(self._counts)

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
                f'percentile {percent} asked for: expected 0 < p <= 100'
            )
        if not self._counts:
            raise ValueError('an empty histogram has no percentiles')
        # Rationals, since 0.999 * N in floating point can fall on the wrong
        # side of an integer; fio uses long double for the same reason.
        wanted = math.ceil(Fraction(percent) / 100 * self.count)
        seen = tuple(itertools.accumulate(self._counts))
        return self._latencies_ns[bisect.bisect_left(seen, wanted)]


def from_columns(
    latencies_ns: Iterable[int], counts: Iterable[int]
) -> LatencyHistogram:
    """Make a histogram from buckets and their counts, in the same order.

    :param latencies_ns: values of the buckets, ascending, each once
    :param counts: at least 1
    :raises ValueError: the columns violate this, or a count does not fit 64
        bits
    """
    histogram = LatencyHistogram.__new__(LatencyHistogram)
    histogram._keep(latencies_ns, counts)
    return histogram


def from_counts(counts: Mapping[int, int]) -> LatencyHistogram:
    """Make a histogram of {bucket value in ns: completions}.

    :param counts: buckets in any order; empty ones are left out
    :raises ValueError: a negative bucket or counter
    """
    if 0 in counts.values():
        counts = {ns: count for ns, count in counts.items() if count}
    in_order = sorted(counts)
    return from_columns(in_order, map(counts.__getitem__, in_order))


def merge(histograms: Iterable[LatencyHistogram]) -> LatencyHistogram:
    """Add up the counters, bucket by bucket.

    Associative and commutative; no completion is lost or made up.

    :param histograms: any number; none gives the empty histogram
    """
    counts: dict[int, int] = {}
    for histogram in histograms:
        # No bucket is there twice, so that all of one histogram can be added
        # in one go; as a loop in Python this takes twice as long.
        so_far = map(counts.get, histogram._latencies_ns, itertools.repeat(0))
        counts.update(
            zip(
                histogram._latencies_ns,
                map(operator.add, so_far, histogram._counts),
                strict=True,
            )
        )
    return from_counts(counts)
