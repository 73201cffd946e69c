# SPDX-License-Identifier: Apache-2.0

"""Prices of volumes, by `cost` of a tier in the tiers file.

They are computed as fractions and rounded once, for display, so the prices of
projects add up to the total. Pure.
"""

import fractions

from cinder_tiers.domain.catalog import model as catalogs

_SHOWN_DECIMALS = 2


def of_month(
    cost: catalogs.TierCost, *, size_gib: int, iops: int | None
) -> fractions.Fraction | None:
    """Return the price of volumes for `catalogs.HOURS_OF_MONTH` hours.

    :param size_gib: total size of the volumes, in GiB.
    :param iops: total IOPS limit of the volumes; None if unknown or unlimited.
    :returns: price in the currency of the cost; None if IOPS have a price and
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
    """Return the price of GiB-hours in the currency of the cost.

    It does not include the price of IOPS.

    :param gib_hours: sum of size in GiB times hours.
    """
    return (
        gib_hours
        * fractions.Fraction(cost.per_gib_month)
        / catalogs.HOURS_OF_MONTH
    )


def text(price: fractions.Fraction, *, decimals: int = _SHOWN_DECIMALS) -> str:
    """Return a price in decimal digits, without currency; half to even.

    >>> text(fractions.Fraction(1, 8)), text(fractions.Fraction(10))
    ('0.12', '10.00')

    :param price: 0 or more.
    :param decimals: digits after the point.
    """
    units, rest = divmod(round(price * 10**decimals), 10**decimals)
    return f'{units}.{rest:0{decimals}}'
