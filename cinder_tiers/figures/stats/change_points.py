# SPDX-License-Identifier: Apache-2.0

"""Detection of level changes in a series of measurements.

The values between two places are compared with all others, for every two
places; a change that stays is one whose second place is the end. The place
where both differ most, by the squares that this explains, is a cut if chance
rarely gives as much: by a permutation test, as every order of the values is as
likely if nothing changed. Each part is then treated in the same way. That is
circular binary segmentation (Olshen et al., Biostatistics 5, 2004, 557-572); a
single place at a time would not see a level that goes and comes back. At the
end each place is tested again between its neighbours, so that one of two
places that belonged together is not kept for the other's sake.

Not every order is as likely if values wander, each like the one before.
``outlast_wandering`` keeps the changes that are more than that.

Change points of benchmarks by permutation are from Daly et al., "The Use of
Change Point Detection to Identify Software Performance Regressions in a
Continuous Integration System" (ICPE 2020), which Apache Otava implements. It
is not used because it requires numpy 2.2.0 and the clients of BigQuery and
Slack, which conflict with OpenStack's constraints.

Must not know what the values are of.
"""

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
import functools
import itertools
import math

import numpy

from cinder_tiers.figures.stats import distributions

#: Orders that are tried, at least; more for a small probability.
PERMUTATIONS = 1999
#: Orders that may explain as much, at most, in a cut that is one. So many are
#: tried, as of a fixed number no small probability could ever be found.
_MAY_EXPLAIN = 10
#: Orders that are tried at a time; more do not fit into the caches.
_AT_ONCE = 500
#: Values in a part, at least: one alone is an outlier as well as a change.
LEAST_VALUES = 2
# Of the correlation of values with the next ones, the upper limit with this
# confidence is assumed, and no more than the second.
_CONFIDENCE = 0.95
_MOST_CORRELATED = 0.95
# Of numbers of values: the orders that are tried may by chance be kind to one.
_IN_A_ROW = 3
# Fixed, so that the same series always gives the same answer.
_SEED = 20140301


@dataclass(frozen=True, kw_only=True)
class ChangePoint:
    """A place at which the level changed."""

    #: index of the first value that is on the new level
    index: int
    #: probability of a cut that explains as much if nothing changed there
    probability: float


def _explained(orders: numpy.ndarray, end: int) -> numpy.ndarray:
    """Return the squares explained by splitting orders after some values.

    This is the squared distance of the means of both parts, weighted by their
    numbers: the decrease of the sum of squares.

    :param orders: a column for each order, with the mean 0
    """
    return _gain(orders[:end].sum(axis=0), end, len(orders))


def _gain(total: numpy.ndarray, inside: int, count: int) -> numpy.ndarray:
    """Return the squares explained by parts with these sums; the mean is 0."""
    return total**2 * (count / (inside * (count - inside)))


def _places(inside: int, count: int) -> list[slice]:
    """Return the places where parts of a length may begin.

    A part before or after it, if there is one, must have LEAST_VALUES or more.
    """
    rest = count - inside
    if not rest:
        return []
    inner = slice(LEAST_VALUES, rest - LEAST_VALUES + 1)
    return [
        slice(0, 1),
        *([inner] if inner.start < inner.stop else []),
        slice(rest, rest + 1),
    ]


def _best(orders: numpy.ndarray) -> tuple[numpy.ndarray, tuple[int, int]]:
    """(most that is explained in each order, where it is in the first one).

    :param orders: a column for each, with the mean 0
    """
    count = len(orders)
    sums = numpy.zeros((count + 1, orders.shape[1]))
    numpy.cumsum(orders, axis=0, out=sums[1:])
    most = numpy.zeros(orders.shape[1])
    where = (0, count)
    for inside in range(LEAST_VALUES, count - LEAST_VALUES + 1):
        for begins in _places(inside, count):
            parts = numpy.abs(
                sums[begins.start + inside : begins.stop + inside]
                - sums[begins]
            )
            gains = _gain(parts.max(axis=0), inside, count)
            if gains[0] > most[0] * (1 + 1e-9):
                begin = begins.start + int(parts[:, 0].argmax())
                where = (begin, begin + inside)
            numpy.maximum(most, gains, out=most)
    return most, where


def _probability(
    values: numpy.ndarray,
    explained: Callable[[numpy.ndarray], numpy.ndarray],
    least: float,
) -> float:
    """Estimate how often chance explains as much.

    Ends as soon as it is known not to be less than the least probability,
    which is soon if nothing changed.

    :param values: values with the mean 0
    :param explained: computes the explained squares of each column
    """
    found = explained(values[:, None])[0]
    if not found > 0:
        return 1.0
    draw = numpy.random.default_rng(_SEED)
    number = max(PERMUTATIONS + 1, math.ceil(_MAY_EXPLAIN / least))
    # The true order is one of them.
    tried = as_much = 1
    while tried < number and as_much < least * number:
        some = min(_AT_ONCE, number - tried)
        orders = draw.permuted(numpy.tile(values, (some, 1)), axis=1)
        # As much is as good: equal values may come in another order.
        as_much += int(
            (
                explained(numpy.ascontiguousarray(orders.T))
                >= found * (1 - 1e-9)
            ).sum()
        )
        tried += some
    return as_much / tried


def _cut(values: numpy.ndarray, least: float) -> list[int]:
    """Places of the best cut, if chance does not explain it."""
    if len(values) < 2 * LEAST_VALUES:
        return []
    values = values - values.mean()
    if _probability(values, lambda orders: _best(orders)[0], least) >= least:
        return []
    _most, where = _best(values[:, None])
    return [place for place in where if 0 < place < len(values)]


def _confirmed(
    series: numpy.ndarray, places: Sequence[int], least: float
) -> list[ChangePoint]:
    """Return the places that are changes between their neighbours."""
    kept = sorted(places)
    while True:
        found = []
        for number, place in enumerate(kept):
            begin = kept[number - 1] if number else 0
            end = kept[number + 1] if number + 1 < len(kept) else len(series)
            part = series[begin:end]
            found.append(
                ChangePoint(
                    index=place,
                    probability=_probability(
                        part - part.mean(),
                        functools.partial(_explained, end=place - begin),
                        least,
                    ),
                )
            )
        worst = max(found, key=lambda each: each.probability, default=None)
        if worst is None or worst.probability < least:
            return found
        kept.remove(worst.index)


def find(
    values: Sequence[float], *, least_probability: float
) -> list[ChangePoint]:
    """Return the change points of a series, in order of time.

    :param values: finite values in order of time
    :param least_probability: a cut that chance makes as often is dropped
    :returns: empty for a series of fewer than four values
    :raises ValueError: a value is not finite
    """
    series = numpy.asarray(values, dtype=float)
    if not numpy.isfinite(series).all():
        raise ValueError('a value is not finite')
    places: list[int] = []
    parts = [(0, len(series))]
    while parts:
        begin, end = parts.pop()
        inner = _cut(series[begin:end], least_probability)
        if not inner:
            continue
        ends = [0, *inner, end - begin]
        places += [begin + place for place in inner]
        parts += [
            (begin + one, begin + other)
            for one, other in itertools.pairwise(ends)
        ]
    return _confirmed(series, places, least_probability)


def outlast_wandering(
    values: Sequence[float],
    changes: Sequence[ChangePoint],
    *,
    least_probability: float,
) -> list[ChangePoint]:
    """Keep the changes that wandering values rarely make by themselves.

    Values that each resemble the one before count as fewer (Bartlett, Journal
    of the Royal Statistical Society 98, 1935, 536-543); by how much is
    estimated from their deviations from the level of their part. The least
    change is dropped until all are clear.

    :param values: finite values in order of time
    :param changes: change points of ``find``
    :param least_probability: see ``find``
    """
    series = numpy.asarray(values, dtype=float)
    kept = list(changes)
    while kept:
        ends = [0, *(each.index for each in kept), len(series)]
        parts = [series[one:other] for one, other in itertools.pairwise(ends)]
        apart = numpy.concatenate([part - part.mean() for part in parts])
        squares = float((apart**2).sum())
        freedom = len(series) - len(parts)
        worth = _worth_of_one(apart, squares, len(parts))
        # A mean deviates by the number of its values; and of the places where
        # a change may be found, as many differ as there are values.
        least = -math.sqrt(
            squares / freedom * worth
        ) * distributions.student_quantile(
            freedom, least_probability / 2 * worth / len(series)
        )
        clear = [
            abs(after.mean() - before.mean())
            / math.sqrt(1 / len(before) + 1 / len(after))
            for before, after in itertools.pairwise(parts)
        ]
        smallest = min(clear)
        if smallest >= least:
            break
        del kept[clear.index(smallest)]
    return kept


def _worth_of_one(apart: numpy.ndarray, squares: float, parts: int) -> float:
    """Number of correlated values that tell as much as one, at most.

    :param apart: differences of the values from the mean of their part
    :param squares: sum of the squares of these differences
    :param parts: number of parts
    """
    if not squares:
        return 1.0
    count = len(apart)
    found = max(0.0, float((apart[1:] * apart[:-1]).sum()) / squares)
    # What a mean takes from each part (Marriott and Pope, Biometrika 41,
    # 1954, 390-402), and what chance may.
    found += parts * (1 + 3 * found) / count
    # Student's t of infinite freedom is the normal distribution.
    found += distributions.student_quantile(math.inf, _CONFIDENCE) / math.sqrt(
        count
    )
    most = min(found, _MOST_CORRELATED)
    return (1 + most) / (1 - most)


def least_values(*, least_probability: float) -> int:
    """Return the length from which a series can show a change.

    Computed for two levels without any noise, with as many values on each. How
    few orders of the values explain as much depends on their number alone, so
    that no change, however large, is found in a shorter series.

    :param least_probability: see ``find``; more than 0
    """
    count, in_a_row = 2 * LEAST_VALUES - 1, 0
    while in_a_row < _IN_A_ROW:
        count += 1
        clearest = [0.0] * (count // 2) + [1.0] * (count - count // 2)
        found = find(clearest, least_probability=least_probability)
        in_a_row = in_a_row + 1 if found else 0
    return count - _IN_A_ROW + 1
