# SPDX-License-Identifier: Apache-2.0

"""The rows of figures: one for each pattern of each tier, in groups.

A group is a chart.  Of several tiers, each pattern is one, and its rows are
the tiers.  Of one tier, patterns of one kind (fio's ``rw``) are compared with
each other; of one tier with more and more guests, the steps of a pattern.
"""

from collections.abc import Callable
from collections.abc import Iterable
import dataclasses
from dataclasses import dataclass
from typing import TypeVar

from cinder_tiers.figures.result import caveats
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust
from cinder_tiers.figures.stats import intervals
from cinder_tiers.loop.report import figure


#: Beside a chart; all of them are at the top.
_MOST_CAVEATS = 3
_Amount = TypeVar('_Amount', float, None, float | None)
#: The first columns of the table of a figure.
NAMES = ('Tier', 'Pattern')


@dataclass(frozen=True, kw_only=True)
class Row:
    """A pattern of a tier."""

    tier: str
    #: its name in the result, with its step
    pattern: str
    #: which chart it is in
    group: str
    #: what tells it from others of its group
    label: str
    #: number of its colour
    style: int
    #: how many guests should have run it
    guests: int
    found: run_result.PatternResult
    #: why its figures, and not all others, should be read with care
    caveats: tuple[run_result.Caveat, ...]
    #: the kinds of all caveats that hold of it
    kinds: tuple[str, ...]
    #: see ``intervals.confidence``
    looks: int

    def estimate(self, quantity: str) -> intervals.Estimate | None:
        """The mean over its repeats, see ``trust.estimate``."""
        return trust.estimate(self.found.slots, quantity, looks=self.looks)

    def percentile_ms(
        self, percent: float, direction: str | None = None
    ) -> float | None:
        """The mean of its repeats, which is what claims are about.

        :param percent: such as 99
        :param direction: read or write; None: both together
        """
        name = f'p{percent:g}_ms'
        found = self.estimate(f'{direction}_{name}' if direction else name)
        return None if found is None else found.mean


def _of_profile(
    result: run_result.RunResult, found: run_result.PatternResult
) -> tuple[str, str]:
    """(name without a step, fio's ``rw``) of a pattern.

    Those of a file written by hand may not be in its profile.
    """
    try:
        pattern = result.pattern_of(found)
    except ValueError:
        return found.pattern, found.pattern
    return pattern.name, pattern.rw


def of_guests(count: int) -> str:
    """Write a number of guests: 1 guest, 2 guests."""
    return '1 guest' if count == 1 else f'{count} guests'


def rows(result: run_result.RunResult) -> tuple[Row, ...]:
    """Return the rows of a run, tier by tier, in the order of the profile."""
    steps = result.has_guest_steps
    known = trust.caveats(result)
    several = len(result.tiers) > 1
    styles: dict[tuple[str, str], int] = {}
    words: tuple[str, ...]
    made = []
    for tier in result.tiers:
        for found in tier.patterns:
            name, kind = _of_profile(result, found)
            guests = max((len(slot.guests) for slot in found.slots), default=0)
            step = of_guests(guests) if steps else ''
            if several:
                group, words = name, (tier.tier, step)
                colour = ('', tier.tier)
            elif steps:
                group, words, colour = name, (step,), (name, step)
            else:
                group, words, colour = kind, (name,), (kind, name)
            places = [each for each in styles if each[0] == colour[0]]
            style = styles.setdefault(colour, len(places) % figure.STYLES)
            made.append(
                Row(
                    tier=tier.tier,
                    pattern=found.pattern,
                    group=group,
                    label=', '.join(filter(None, words)),
                    style=style,
                    guests=guests,
                    found=found,
                    caveats=caveats.of_pattern(
                        known, tier.tier, found.pattern
                    ),
                    kinds=trust.kinds(known, result, tier.tier, found.pattern),
                    looks=result.looks,
                )
            )
    return tuple(made)


def groups(found: Iterable[Row]) -> dict[str, tuple[Row, ...]]:
    """{chart: its rows}, both in the order in which they come."""
    grouped: dict[str, list[Row]] = {}
    for row in found:
        grouped.setdefault(row.group, []).append(row)
    return {name: tuple(members) for name, members in grouped.items()}


def charts(
    found: Iterable[Row],
    chart: Callable[[str, tuple[Row, ...]], figure.Chart],
) -> tuple[figure.Chart, ...]:
    """A chart of each group.

    :param chart: makes one of the group's name and its rows
    """
    return tuple(chart(name, group) for name, group in groups(found).items())


def line_charts(
    found: Iterable[Row],
    chart: Callable[[str, tuple[Row, ...]], figure.Chart],
) -> tuple[figure.Chart, ...]:
    """Make charts in which a row has a colour instead of a label.

    With several tiers a colour stands for a tier, so there is a chart for each
    number of guests.
    """
    found = tuple(found)
    of_figure = keys(found)
    made = []
    for name, group in groups(found).items():
        if not of_figure:
            made.append(
                dataclasses.replace(
                    chart(name, group), keys=keys_of_chart(group)
                )
            )
        elif len({row.tier for row in group}) == len(group):
            made.append(chart(name, group))
        else:
            steps: dict[int, list[Row]] = {}
            for row in group:
                steps.setdefault(row.guests, []).append(row)
            made += [
                chart(f'{name}, {of_guests(guests)}', tuple(members))
                for guests, members in steps.items()
            ]
    return tuple(made)


def keys_of_chart(group: Iterable[Row]) -> tuple[figure.ColourKey, ...]:
    """Return the colours of a chart of one tier."""
    return tuple(
        figure.ColourKey(name=row.label, style=row.style) for row in group
    )


def keys(found: Iterable[Row]) -> tuple[figure.ColourKey, ...]:
    """Return the colours if they are the same in all charts.

    :returns: empty if colours differ between charts
    """
    tiers = {row.tier: row.style for row in found}
    if len(tiers) < 2:
        return ()
    return tuple(
        figure.ColourKey(name=tier, style=style)
        for tier, style in tiers.items()
    )


def caveats_of(
    group: Iterable[Row], kinds: frozenset[str] | None = None
) -> tuple[str, ...]:
    """Return the caveats of a chart.

    :param kinds: kinds to include; None: all
    """
    found = [
        f'{caveat.about}: {caveat.text}'
        for row in group
        for caveat in row.caveats
        if kinds is None or caveat.about in kinds
    ]
    if len(found) > _MOST_CAVEATS:
        left = len(found) - _MOST_CAVEATS
        found[_MOST_CAVEATS:] = [f'{left} more, see "Read with care"']
    return tuple(found)


def ends(
    found: intervals.Estimate | None,
) -> tuple[float | None, float | None, float | None]:
    """The mean and both ends of its interval, as cells of a table."""
    if found is None:
        return None, None, None
    return found.mean, found.low, found.high


def ms(nanoseconds: _Amount) -> _Amount:
    """Nanoseconds as they are shown; None stays None.

    Whole numbers of a file have any size: what no float can be is infinite.
    """
    if nanoseconds is None:
        return None
    try:
        return nanoseconds / 1e6
    except OverflowError:
        return float('inf')


def mib(size_bytes: _Amount) -> _Amount:
    """Bytes as they are shown; None stays None."""
    if size_bytes is None:
        return None
    try:
        return size_bytes / 1024**2
    except OverflowError:
        return float('inf')


def number(value: float | None) -> str:
    """A number within a sentence, to four digits; a dash is none."""
    if value is None:
        return '-'
    return f'{value:.4g}' if abs(value) < 1e4 else f'{value:,.0f}'
