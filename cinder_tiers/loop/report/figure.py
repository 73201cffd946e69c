# SPDX-License-Identifier: Apache-2.0

"""Content of a report as values: figures with their charts and tables.

A figure answers one question of a reader: its charts, side by side with one
for each group of rows, their caveats, and the same numbers as a table. This
module must not know how charts are drawn or where numbers are from.
"""

from dataclasses import dataclass

#: How many colours there are; more lines than that share them.
STYLES = 8
#: Numbers of the colours of what is claimed, which nothing else has.
BETTER, WORSE = STYLES, STYLES + 1
#: Why a chart of merged figures has nothing to draw.
NONE_COMPLETE = 'no repeat in which all guests are complete'
#: Likewise, of percentiles.
TOO_FEW_IOS = 'each repeat has too few I/Os for the percentile'


@dataclass(frozen=True, kw_only=True)
class ColourKey:
    """Meaning of a colour."""

    name: str
    #: number of its colour and mark, less than STYLES, or that of a claim
    style: int


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A value and the interval in which it lies."""

    label: str
    style: int
    value: float
    #: None without an interval
    low: float | None = None
    #: None without an interval
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Bars from 0, one below the other, each with its interval."""

    unit: str
    bars: tuple[Bar, ...]
    #: value with a line through all bars; None: there is none
    reference: float | None = None

    @property
    def marks(self) -> int:
        """Return the number of bars."""
        return len(self.bars)


@dataclass(frozen=True, kw_only=True)
class Shade:
    """A field of a heat map."""

    row: str
    column: str
    value: float
    #: better or worse, as it is claimed; empty: it is not painted
    finding: str = ''


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """Values by row and column, painted by what can be claimed of them."""

    unit: str
    shades: tuple[Shade, ...]

    @property
    def marks(self) -> int:
        """Return the number of fields."""
        return len(self.shades)


@dataclass(frozen=True, kw_only=True)
class ChartLine:
    """Points that belong together."""

    label: str
    style: int
    #: (x, y); on a logarithmic axis, what is not above 0 is not drawn
    points: tuple[tuple[float, float], ...]
    is_dashed: bool = False


@dataclass(frozen=True, kw_only=True)
class AxisSpan:
    """A part of the x axis that is set off from the rest."""

    label: str
    begin: float
    end: float


@dataclass(frozen=True, kw_only=True)
class LineChart:
    """Lines over two axes."""

    x_title: str
    y_title: str
    lines: tuple[ChartLine, ...]
    x_is_log: bool = False
    y_is_log: bool = False
    #: whether each point has a mark
    has_marks: bool = False
    #: whether points are connected
    is_connected: bool = True
    #: behind the lines
    spans: tuple[AxisSpan, ...] = ()

    @property
    def marks(self) -> int:
        """Return the number of points."""
        return sum(len(line.points) for line in self.lines)


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A value of a row that has several."""

    label: str
    style: int
    value: float


@dataclass(frozen=True, kw_only=True)
class Dots:
    """Values as points, a row for each label."""

    unit: str
    dots: tuple[Dot, ...]

    @property
    def marks(self) -> int:
        """Return the number of points."""
        return len(self.dots)


Drawing = Bars | HeatMap | LineChart | Dots


@dataclass(frozen=True, kw_only=True)
class Column:
    """Column of a table."""

    title: str
    #: decimal places of its numbers; None: it has texts
    digits: int | None = None


def columns(*titles: str | tuple[str, int]) -> tuple[Column, ...]:
    """Columns of texts by their titles; of numbers as (title, digits)."""
    return tuple(
        Column(title=each)
        if isinstance(each, str)
        else Column(title=each[0], digits=each[1])
        for each in titles
    )


@dataclass(frozen=True, kw_only=True)
class Table:
    """The numbers of a figure."""

    columns: tuple[Column, ...]
    #: texts and numbers; None: there is none
    rows: tuple[tuple[str | float | None, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A picture with its texts."""

    title: str
    drawing: Drawing
    #: in words what the picture shows, for those who do not see it
    alternative: str
    #: why it should be read with care
    caveats: tuple[str, ...] = ()
    #: what its colours stand for, if those of its figure do not say it
    keys: tuple[ColourKey, ...] = ()
    #: shown in place of a chart without marks: why it has none
    undrawn: str = NONE_COMPLETE


@dataclass(frozen=True, kw_only=True)
class ReportFigure:
    """Charts of one kind, and their table."""

    title: str
    #: a page that is too large loses the figures with the highest first
    dispensable: int
    #: how to read it
    caption: str
    charts: tuple[Chart, ...]
    table: Table
    #: what colours stand for in all charts; empty: each chart says it itself
    keys: tuple[ColourKey, ...] = ()
    #: whether its charts are as wide as the page, and not side by side
    is_wide: bool = False
    #: whether it is for the page alone, and not on paper
    is_detail: bool = False
