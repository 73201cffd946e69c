# SPDX-License-Identifier: Apache-2.0

"""Where a series of measurements changed its level, and whether it did.

The values between two places are set against all others, for each two places;
a change that stays is one whose second place is the end. Where both differ
most, by the squares that this explains, is a cut if chance rarely gives as
much: by a permutation test, as every order of the values is as likely if
nothing changed. Each part is then looked at in the same way. That is circular
binary segmentation (Olshen et al., Biostatistics 5, 2004, 557-572); a single
place at a time would not see a level that goes and comes back. At the end each
place is tested again between its neighbours, so that one of two places that
belonged together is not kept for the other's sake.

Change points of benchmarks by permutation are from Daly et al., "The Use of
Change Point Detection to Identify Software Performance Regressions in a
Continuous Integration System" (ICPE 2020), which Apache Otava implements. It
is not used because it requires numpy 2.2.0 and the clients of BigQuery and
Slack, which cannot be installed beside what OpenStack's constraints have.

Must not know what the values are of.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import itertools

import numpy

#: Orders that are tried; the least probability that can be found is 1 of them.
PERMUTATIONS = 1999
#: Values in a part, at least: one alone is an outlier as well as a change.
LEAST_VALUES = 2
# Fixed, so that the same series always gives the same answer.
_SEED = 20140301


@dataclass(frozen=True, kw_only=True)
class ChangePoint:
    """A place at which the level changed."""

    #: index of the first value that is on the new level
    index: int
    #: probability of a cut that explains as much if nothing changed there
    probability: float


def _explained(rows: numpy.ndarray, begin: int, end: int) -> numpy.ndarray:
    """What setting some values against the others of a row explains.

    The squared distance of the means of both, weighted by their numbers: what
    the sum of squares shrinks by.
    """
    count = rows.shape[1]
    inside = end - begin
    sums = rows[:, begin:end].sum(axis=1)
    others = rows.sum(axis=1) - sums
    distance = sums / inside - others / (count - inside)
    return inside * (count - inside) / count * distance**2


def _best(rows: numpy.ndarray) -> tuple[numpy.ndarray, tuple[int, int]]:
    """(most that is explained in each row, where it is in the first one)."""
    count = rows.shape[1]
    sums = numpy.cumsum(rows, axis=1)
    sums = numpy.concatenate([numpy.zeros((len(rows), 1)), sums], axis=1)
    total = sums[:, -1:]
    most = numpy.zeros(len(rows))
    where = (0, count)
    for inside in range(LEAST_VALUES, count - LEAST_VALUES + 1):
        begins = numpy.arange(count - inside + 1)
        rest = count - inside - begins
        # A part in front or behind that is there must not be one value.
        begins = begins[
            ((begins == 0) | (begins >= LEAST_VALUES))
            & ((rest == 0) | (rest >= LEAST_VALUES))
        ]
        parts = sums[:, begins + inside] - sums[:, begins]
        distance = parts / inside - (total - parts) / (count - inside)
        gains = inside * (count - inside) / count * distance**2
        if gains.shape[1] and gains[0].max() > most[0] * (1 + 1e-9):
            begin = int(begins[gains[0].argmax()])
            where = (begin, begin + inside)
        if gains.shape[1]:
            most = numpy.maximum(most, gains.max(axis=1))
    return most, where


def _shuffled(values: numpy.ndarray) -> numpy.ndarray:
    """The values in the first row, and in many other orders below."""
    draw = numpy.random.default_rng(_SEED)
    orders = draw.permuted(numpy.tile(values, (PERMUTATIONS, 1)), axis=1)
    return numpy.concatenate([values[None, :], orders])


def _probability(found: numpy.ndarray) -> float:
    """How often as much is found by chance.

    :param found: of the true order first, then of others
    """
    if not found[0] > 0:
        return 1.0
    # As much is as good: equal values may come in another order.
    return float((found >= found[0] * (1 - 1e-9)).mean())


def _cut(values: numpy.ndarray) -> tuple[list[int], float]:
    """(places of the best cut, its probability); no place if it is short."""
    if len(values) < 2 * LEAST_VALUES:
        return [], 1.0
    most, where = _best(_shuffled(values))
    return [place for place in where if 0 < place < len(values)], _probability(
        most
    )


def _confirmed(
    series: numpy.ndarray, places: Sequence[int], least: float
) -> list[ChangePoint]:
    """Those places that are changes between their neighbours."""
    kept = sorted(places)
    while True:
        found = []
        for number, place in enumerate(kept):
            begin = kept[number - 1] if number else 0
            end = kept[number + 1] if number + 1 < len(kept) else len(series)
            rows = _shuffled(series[begin:end])
            found.append(
                ChangePoint(
                    index=place,
                    probability=_probability(
                        _explained(rows, 0, place - begin)
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
    """All change points of a series, in order of time.

    :param values: in order of time; finite
    :param least_probability: a cut that chance makes as often is none
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
        inner, probability = _cut(series[begin:end])
        if not inner or probability >= least_probability:
            continue
        ends = [0, *inner, end - begin]
        places += [begin + place for place in inner]
        parts += [
            (begin + one, begin + other)
            for one, other in itertools.pairwise(ends)
        ]
    return _confirmed(series, places, least_probability)
