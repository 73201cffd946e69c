# SPDX-License-Identifier: Apache-2.0

"""The table of `openstack tier usage`."""

import collections.abc
import fractions
import typing

from cliff import columns

from cinder_tiers.cli.render import cells
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.catalog import prices
from cinder_tiers.loop.usage import usage

if typing.TYPE_CHECKING:
    from cinder_tiers.loop.headroom import headroom_rows

_PRICES = ('Price a Month', 'Price of GiB-hours')
_CURVE = 'Sold of Curve'
_COLUMNS = (
    'Tier',
    'Volume Type',
    'Project',
    'Volumes',
    'GiB',
    'GiB-hours',
    'IOPS',
    _CURVE,
    *_PRICES,
    'Remark',
)
#: Of what programs are shown, which must not lose a small price.
_DECIMALS = 6


class GibHoursCell(columns.FormattableColumn):
    """GiB-hours, from at least to at most."""

    def human_readable(self) -> str:
        """Return both bounds, or one number if they are equal when rounded."""
        low, high = (
            f'{float(each):.1f}'
            for each in (self._value.at_least, self._value.at_most)
        )
        return low if low == high else f'{low} to {high}'

    def machine_readable(self) -> dict[str, float]:
        """{at_least, at_most}"""
        return {
            'at_least': round(float(self._value.at_least), 3),
            'at_most': round(float(self._value.at_most), 3),
        }


class Price(columns.FormattableColumn):
    """(price, currency); both None: there is none, or it is not known."""

    def human_readable(self) -> str:
        """Such as 12.50 EUR."""
        price, currency = self._value
        if price is None:
            return '-'
        return f'{prices.text(price)} {cells.printable(currency)}'

    def machine_readable(self) -> dict[str, str] | None:
        """{amount, currency}; texts, so that no digit is lost."""
        price, currency = self._value
        if price is None:
            return None
        return {
            'amount': prices.text(price, decimals=_DECIMALS),
            'currency': cells.printable(currency),
        }


class PriceRange(columns.FormattableColumn):
    """(at least, at most, currency); all None: there is none."""

    def human_readable(self) -> str:
        """Return both prices, or one if they are equal when rounded."""
        low, high, currency = self._value
        if currency is None:
            return '-'
        low, high = prices.text(low), prices.text(high)
        text = low if low == high else f'{low} to {high}'
        return f'{text} {cells.printable(currency)}'

    def machine_readable(self) -> dict[str, str] | None:
        """{at_least, at_most, currency}; texts, so that no digit is lost."""
        low, high, currency = self._value
        if currency is None:
            return None
        return {
            'at_least': prices.text(low, decimals=_DECIMALS),
            'at_most': prices.text(high, decimals=_DECIMALS),
            'currency': cells.printable(currency),
        }


class UsageColumns:
    """Columns that a row shows in addition to the usage itself.

    :param all_found: usage of all projects; the load sold on a tier is its
        sum.
    :param projects: {id: name}, without unknown ones.
    :param declared: catalog with the prices; None: there are none.
    :param sellable: loads that tiers carry; empty: not shown.
    """

    def __init__(
        self,
        *,
        all_found: collections.abc.Sequence[usage.Usage],
        projects: collections.abc.Mapping[str, str],
        declared: catalogs.Catalog | None,
        sellable: 'collections.abc.Sequence[headroom_rows.Sellable]' = (),
    ) -> None:
        self._all_found = all_found
        self._projects = projects
        self._declared = declared
        self._sellable = sellable
        without: set[str] = set()
        if declared is None or not any(one.cost for one in declared.tiers):
            without.update(_PRICES)
        if not sellable:
            without.add(_CURVE)
        #: Titles of the cells of `row`.
        self.columns = tuple(
            title for title in _COLUMNS if title not in without
        )

    def name_of(self, project: str) -> str:
        """The name of a project, or its id where it is not known."""
        return cells.printable(self._projects.get(project, project))

    def cost_of(self, one: usage.Usage) -> catalogs.TierCost | None:
        """Return the cost of the tier or volume type; None without a price."""
        if self._declared is None:
            return None
        tier = (
            self._declared.tier(one.tier)
            if one.tier
            else self._declared.tier_of_type(one.volume_type)
        )
        return tier.cost if tier else None

    def month_price(self, one: usage.Usage) -> fractions.Fraction | None:
        """The price of what there is now, for a month; None: not known."""
        cost = self.cost_of(one)
        if cost is None:
            return None
        return prices.of_month(
            cost, size_gib=one.size_gib, iops=one.iops[None]
        )

    def row(self, one: usage.Usage) -> cells.Row:
        """The cells of a project's usage of a tier, under `columns`."""
        cost = self.cost_of(one)
        month = self.month_price(one)
        values: dict[str, object] = {
            'Tier': cells.Optional(one.tier),
            'Volume Type': cells.Optional(one.volume_type),
            'Project': self.name_of(one.project),
            'Volumes': one.volumes,
            'GiB': one.size_gib,
            'GiB-hours': GibHoursCell(one.gib_hours),
            'IOPS': cells.Optional(one.iops[None]),
            _CURVE: cells.Lines(list(self._sold(one))),
            'Price a Month': Price((month, cost and cost.currency)),
            'Price of GiB-hours': PriceRange(
                (
                    prices.of_gib_hours(cost, one.gib_hours.at_least),
                    prices.of_gib_hours(cost, one.gib_hours.at_most),
                    cost.currency,
                )
                if cost
                else (None, None, None)
            ),
            'Remark': self._remark(one, cost, month),
        }
        return tuple(values[title] for title in self.columns)

    @staticmethod
    def _remark(
        one: usage.Usage,
        cost: catalogs.TierCost | None,
        month: fractions.Fraction | None,
    ) -> str:
        remarks = []
        if one.unlimited:
            remarks.append(
                f'{one.unlimited} of {one.volumes} without an IOPS limit'
            )
        if cost and month is None:
            remarks.append(
                'no price a month: IOPS have one, and their sum is not known'
            )
        return '; '.join(remarks)

    def _sold(
        self, one: usage.Usage
    ) -> collections.abc.Iterator[tuple[str, dict[str, object]]]:
        """Yield the load that projects bought of each curve of the tier."""
        for each in self._sellable:
            if each.tier != one.tier:
                continue
            sold = usage.iops_of_tier(
                self._all_found, each.tier, each.direction
            )
            bound = each.bound
            iops = bound.within.iops
            share = (
                None
                if sold is None or iops is None or iops.mean <= 0
                else 100 * sold / iops.mean
            )
            yield (
                f'{bound.curve.name} until {bound.until}: '
                f'{"not known" if sold is None else sold} of '
                + (
                    f'{iops.mean:.4g} IOPS'
                    if iops is not None
                    else f'unknown IOPS ({bound.within.reason})'
                )
                + ('' if share is None else f', {share:.0f} %'),
                {
                    'curve': bound.curve.name,
                    'until': bound.until,
                    'direction': each.direction,
                    'sold_iops': sold,
                    'load_iops': iops and iops.mean,
                    'low_iops': iops and iops.low,
                    'high_iops': iops and iops.high,
                    'reason': bound.within.reason,
                },
            )
