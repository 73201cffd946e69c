# SPDX-License-Identifier: Apache-2.0

"""Prices of a tier, by `cost` of the tiers file.

Prices are computed as fractions and rounded once, where they are shown, so
that those of projects sum up to that of all. Pure.
"""

import fractions

from cinder_tiers.domain.catalog import model as catalogs

_SHOWN_DECIMALS = 2


def of_month(
    cost: catalogs.TierCost, *, size_gib: int, iops: int | None
) -> fractions.Fraction | None:
    """Price of volumes for a month of `catalogs.HOURS_OF_MONTH`.

    :param size_gib: size of all volumes together.
    :param iops: limits of all volumes together; None: not known, or without
        a limit.
    :returns: in the currency of the cost; None when IOPS have a price, and
        `iops` is None.
    """
    price = size_gib * fractions.Fraction(cost.per_gib_month)
    if cost.per_1000_iops_month is None:
        return price
    if iops is None:
        return None
    return price + iops * fractions.Fraction(cost.per_1000_iops_month) / 1000


def of_gib_hours(
    cost: catalogs.TierCost, gib_hours: fractions.Fraction
) -> fractions.Fraction:
    """Price of GiB-hours, without that of IOPS, in the currency of the cost.

    :param gib_hours: sizes of volumes in GiB times hours.
    """
    return (
        gib_hours
        * fractions.Fraction(cost.per_gib_month)
        / catalogs.HOURS_OF_MONTH
    )


def text(price: fractions.Fraction, *, decimals: int = _SHOWN_DECIMALS) -> str:
    """A price in decimal digits, without its currency; half goes to even.

    >>> text(fractions.Fraction(1, 8)), text(fractions.Fraction(10))
    ('0.12', '10.00')

    :param price: 0 or more.
    :param decimals: digits after the point.
    """
    units, rest = divmod(round(price * 10**decimals), 10**decimals)
    return f'{units}.{rest:0{decimals}}'
