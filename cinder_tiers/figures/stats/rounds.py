# SPDX-License-Identifier: Apache-2.0

"""Rule that decides whether rounds of writing have become steady.

The Solid State Storage Performance Test Specification of the SNIA (version
2.0, definition of Steady State): of the last five rounds, the highest and the
lowest are together within 20 % of their average, and the least squares line
through them rises or falls by at most 10 % of it from end to end.  A round is
one value here, as it is there, so noise is not taken off (``steadiness`` does
that for the seconds of a run).

The guest stops by the same rule, see guest/precondition.sh; its limits are in
its orders.

Must not know what the values are of.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cinder_tiers.figures.stats import steadiness

WINDOW = steadiness.ROUNDS
EXCURSION_PERCENT = round(100 * steadiness.EXCURSION_LIMIT)
SLOPE_PERCENT = round(100 * steadiness.SLOPE_LIMIT)


@dataclass(frozen=True, kw_only=True)
class RoundsVerdict:
    """Verdict of the rule on the last rounds."""

    #: whether both limits are kept
    is_steady: bool
    #: as a sentence, with the figures
    reason: str


def judge(values: Sequence[float]) -> RoundsVerdict:
    """Apply the rule to the last rounds.

    :param values: all rounds in order of time, none negative
    """
    if len(values) < WINDOW:
        return RoundsVerdict(
            is_steady=False,
            reason=f'{len(values)} rounds, expected at least {WINDOW}',
        )
    last = np.asarray(values[-WINDOW:], dtype=float)
    average = float(last.mean())
    if not average > 0:
        return RoundsVerdict(
            is_steady=False,
            reason=f'nothing was written in the last {WINDOW} rounds',
        )
    x = np.arange(WINDOW) - (WINDOW - 1) / 2
    rise = float((x * last).sum() / (x * x).sum()) * (WINDOW - 1)
    excursion = 100 * float(last.max() - last.min()) / average
    slope = 100 * rise / average
    return RoundsVerdict(
        is_steady=excursion <= EXCURSION_PERCENT
        and abs(slope) <= SLOPE_PERCENT,
        reason=f'last {WINDOW} of {len(values)} rounds: excursion'
        f' {excursion:.1f} % (limit {EXCURSION_PERCENT} %), slope'
        f' {slope:+.1f} % (limit {SLOPE_PERCENT} %)',
    )
