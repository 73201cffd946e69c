# SPDX-License-Identifier: Apache-2.0

"""Student's t distribution, for intervals from few values.

In the standard library there is only the normal distribution, whose intervals
from three values are half as wide as they must be.  Method: regularized
incomplete beta function by its continued fraction (Abramowitz and Stegun,
26.5.8 and 26.7.1), inverted by halving.  Compared with scipy in the tests.
"""

import math

_TINY = 1e-300


def _continued_fraction(a: float, b: float, x: float) -> float:
    """The fraction of 26.5.8, evaluated by Lentz's method."""
    c, d = 1.0, 1 / max(1 - (a + b) * x / (a + 1), _TINY)
    value = d
    for m in range(1, 400):
        for factor in (
            m * (b - m) / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + factor * x * d
            d = 1 / (d if abs(d) > _TINY else _TINY)
            c = 1 + factor * x / c
            c = c if abs(c) > _TINY else _TINY
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularized, I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    log_front = (
        math.lgamma(a + b)
        - math.lgamma(a)
        - math.lgamma(b)
        + a * math.log(x)
        + b * math.log1p(-x)
    )
    return math.exp(log_front) * _continued_fraction(a, b, x) / a


def outside(t: float, degrees_of_freedom: float) -> float:
    """Probability of a value further from 0 than ``t``, on either side.

    >>> round(outside(12.7062, 1), 4)
    0.05

    :param t: any number
    :param degrees_of_freedom: greater than 0, need not be whole
    :raises ValueError: there are no degrees of freedom
    """
    if not degrees_of_freedom > 0:
        raise ValueError(
            f'{degrees_of_freedom} degrees of freedom: expected more than 0'
        )
    return _incomplete_beta(
        degrees_of_freedom / 2,
        0.5,
        degrees_of_freedom / (degrees_of_freedom + t * t),
    )


def half_width(confidence: float, degrees_of_freedom: float) -> float:
    """The t that values do not exceed, on either side, with a probability.

    >>> round(half_width(0.95, 8), 3)
    2.306

    :param confidence: greater than 0, less than 1
    :param degrees_of_freedom: at least 1, need not be whole
    :raises ValueError: an argument is out of range
    """
    if not 0 < confidence < 1 or not degrees_of_freedom >= 1:
        raise ValueError(
            f'confidence {confidence} with {degrees_of_freedom} degrees of'
            f' freedom: expected between 0 and 1, and at least 1'
        )
    low, high = 0.0, 1.0
    while outside(high, degrees_of_freedom) > 1 - confidence:
        low, high = high, 2 * high
    for _step in range(100):
        middle = (low + high) / 2
        if outside(middle, degrees_of_freedom) > 1 - confidence:
            low = middle
        else:
            high = middle
    return (low + high) / 2
