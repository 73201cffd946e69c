# SPDX-License-Identifier: Apache-2.0

"""Charts as SVG, drawn by Vega-Lite in this process, without a browser.

Altair describes a chart and vl-convert renders it, with its own JavaScript
engine and nothing from a network.  What comes out is a static picture, drawn
for a light page; its style has the colours of a dark one.

Labels come from guests and clouds: what XML cannot have is escaped before it
gets here (``_safe``).
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
import math
import re
import unicodedata
from xml.etree import ElementTree

import altair
from altair.utils import schemapi
import vl_convert

from cinder_tiers.domain import errors
from cinder_tiers.domain import text as escaping
from cinder_tiers.loop.report import figure

_SVG = 'http://www.w3.org/2000/svg'
# Colours that can be told apart with any kind of colour vision (M. Okabe and
# K. Ito, "Color Universal Design"), each with one for a dark page.
PALETTE = (
    ('#0072b2', '#56b4e9'),
    ('#d55e00', '#e69f00'),
    ('#009e73', '#1fc196'),
    ('#cc79a7', '#cc79a8'),
    ('#e69f00', '#f0e442'),
    ('#56b4e9', '#4a90d9'),
    ('#000000', '#ffffff'),
    ('#7f7f7f', '#9a9a9a'),
    # Of claims: BETTER and WORSE, unlike any tier.
    ('#220088', '#9570ff'),
    ('#880022', '#ff4d4d'),
)
#: Of points, one for each colour.
SHAPES = (
    *('circle', 'square', 'triangle-up', 'diamond'),
    *('triangle-down', 'cross', 'triangle-right', 'triangle-left'),
)
_TEXT = ('#1b1f24', '#e6e8eb')
_AXIS = ('#8a8f98', '#7d8590')
_GRID = ('#e3e6ea', '#30363d')
# What charts are on.
_PANEL = ('#f6f8fa', '#1c2025')
_DARK = dict((*PALETTE, _TEXT, _AXIS, _GRID, _PANEL))
# Of the fields of a heat map, whatever the page is; a sign says the same to
# those who do not see colours.
_PAINTS = {'better': '#c5b8ff', 'worse': '#ffb0b5', '': 'transparent'}
_SIGNS = {'better': ' +', 'worse': ' -', '': ''}
_ON_PAINT = '#010101'
_WIDTH = 300
_ROW = 26
# Beside an axis of which each whole number has its own.
_MOST_NUMBERS = 12
# Of an axis, in characters: what is longer is cut, the table has all of it.
# Vega-Lite would cut by UTF-16 units, and fails at half a character.
_LABEL = 22
_LABEL_WIDTH = 140
# Of a heat map, with names in a line; those of more are turned.
_MOST_COLUMNS = 6
# Attributes that are for tools and readers of inline SVG.
_DEFAULTS = {'opacity': '1', 'stroke-width': '1', 'font-weight': 'normal'}
_INHERITED = (
    *('fill', 'stroke', 'font-family', 'font-size', 'text-anchor'),
    *('stroke-width', 'stroke-dasharray'),
)
# A tenth of a pixel is enough.
_LONG_NUMBER = re.compile(r'(\.\d)\d+')
_NEEDLESS = ('class', 'role', 'aria-', 'pointer-events')


class DrawingError(errors.LinesError, ValueError):
    """A chart that could not be drawn; names it."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A drawn chart."""

    #: SVG, for a light page and for a dark one
    svg: str
    #: in pixels of CSS
    width: int
    #: in pixels of CSS
    height: int


def _safe(value: object) -> object:
    if isinstance(value, str):
        return escaping.printable(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _cells(text: str) -> int:
    """Return the width of a text; characters of East Asia count twice."""
    return sum(1 + (unicodedata.east_asian_width(c) in 'WF') for c in text)


def _cut(text: str) -> str:
    r"""A label, without its middle if it is long.

    >>> _cut('a tier with a name that is long\n')
    'a tier with… is long\\n'
    """
    text = escaping.printable(text)
    head, tail = _LABEL // 2, _LABEL // 2 - 1
    while _cells(text) > _LABEL and head > 2:
        if _cells(short := f'{text[:head]}…{text[-tail:]}') <= _LABEL:
            return short
        head, tail = head - 1, max(1, tail - 1)
    return text


def _labels(texts: Iterable[str]) -> dict[str, str]:
    """{text: its label}; no two texts have the same."""
    found: dict[str, str] = {}
    for text in texts:
        if text in found:
            continue
        label = _cut(text)
        alike = sum(each.startswith(label) for each in found.values())
        taken = label in found.values()
        found[text] = f'{label} ({alike + 1})' if taken else label
    return found


def _rows(*rows: Mapping[str, object]) -> altair.InlineData:
    return altair.InlineData(
        # Not a list, of which Altair would make a copy with each of its calls.
        values=tuple(
            {name: _safe(value) for name, value in row.items()} for row in rows
        )
    )


def _colour() -> altair.Color:
    """The colour of a style, which rows have as ``style``."""
    return altair.Color(
        'style:O',
        legend=None,
        scale=altair.Scale(
            domain=list(range(len(PALETTE))),
            range=[light for light, _dark in PALETTE],
        ),
    )


def _number_format(unit: str, digits: int, least: float = 1.0) -> str:
    """Return the format of numbers of a unit, for D3.

    Large IOPS have prefixes; for milliseconds, and for less than one of them,
    those would turn 0.85 into 850m, and a second into 1.2k.

    :param least: lowest of the numbers that are not 0
    """
    if unit.startswith('IOPS') and least >= 1:
        return f'.{digits}~s'
    return f',.{digits}~r'


def _beyond(longest: float) -> float:
    """Return the end of an axis with room for a number after a bar."""
    end = 1.22 * longest
    return end if 0 < end < math.inf else max(1.0, longest)


def _bars(drawing: figure.Bars) -> altair.LayerChart:
    labels = _labels(bar.label for bar in drawing.bars)
    whiskers = [
        {
            'label': labels[bar.label],
            # The axis begins at 0; the table has what is below.
            'low': max(0.0, bar.low),
            'high': max(0.0, bar.high),
        }
        for bar in drawing.bars
        if bar.low is not None and bar.high is not None
    ]
    references = [] if drawing.reference is None else [drawing.reference]
    longest = max(
        [
            *references,
            *(max(bar.value, bar.high or 0.0) for bar in drawing.bars),
        ]
    )
    y = altair.Y('label:N', title=None, sort=None)
    bars = altair.Chart(
        _rows(
            *(
                {
                    'label': labels[bar.label],
                    'style': bar.style,
                    'value': bar.value,
                    'end': max(bar.value, bar.high or 0.0),
                }
                for bar in drawing.bars
            )
        )
    )
    number_format = _number_format(
        drawing.unit,
        4,
        min((b.value for b in drawing.bars if b.value), default=1),
    )
    return altair.layer(
        bars.mark_bar(height={'band': 0.7}).encode(
            y=y,
            x=altair.X(
                'value:Q',
                title=drawing.unit,
                axis=altair.Axis(format=number_format),
                stack=None,
                # Room for the number behind the longest bar.
                scale=altair.Scale(domain=[0, _beyond(longest)]),
            ),
            color=_colour(),
        ),
        altair.Chart(_rows(*({'reference': each} for each in references)))
        .mark_rule(strokeDash=[4, 3], color=_AXIS[0])
        .encode(x=altair.X('reference:Q')),
        # With an edge, to be seen on a bar of any colour.
        *(
            altair.Chart(_rows(*whiskers))
            .mark_rule(strokeWidth=width, color=colour)
            .encode(y=y, x=altair.X('low:Q'), x2=altair.X2('high:Q'))
            for width, colour in ((4, _PANEL[0]), (2, _TEXT[0]))
        ),
        bars.mark_text(align='left', dx=6, color=_TEXT[0]).encode(
            y=y,
            x=altair.X('end:Q'),
            text=altair.Text('value:Q', format=number_format),
        ),
        width=_WIDTH,
        height=_ROW * len(drawing.bars) + 50,
    )


def _heat_map(drawing: figure.HeatMap) -> altair.LayerChart:
    rows = _labels(shade.row for shade in drawing.shades)
    columns = _labels(shade.column for shade in drawing.shades)
    is_narrow = len(columns) > _MOST_COLUMNS
    base = altair.Chart(
        _rows(
            *(
                {
                    'row': rows[shade.row],
                    'column': columns[shade.column],
                    'value': shade.value,
                    'finding': shade.finding,
                    'sign': _SIGNS[shade.finding],
                }
                for shade in drawing.shades
            )
        )
    ).encode(
        x=altair.X(
            'column:N',
            title=None,
            sort=None,
            axis=altair.Axis(
                orient='top',
                labelAngle=-50 if is_narrow else 0,
                labelAlign='left' if is_narrow else 'center',
            ),
        ),
        y=altair.Y('row:N', title=None, sort=None),
    )
    return altair.layer(
        base.mark_rect().encode(
            color=altair.Color(
                'finding:N',
                legend=None,
                scale=altair.Scale(
                    domain=list(_PAINTS), range=list(_PAINTS.values())
                ),
            )
        ),
        base.transform_calculate(
            text=f"format(datum.value, '{_number_format(drawing.unit, 3)}')"
            ' + datum.sign'
        )
        .mark_text()
        .encode(
            text=altair.Text('text:N'),
            color=altair.ColorValue(
                _TEXT[0],
                condition={'test': "datum.finding != ''", 'value': _ON_PAINT},
            ),
        ),
        width=max(
            _WIDTH, (48 if is_narrow else 110) * len(columns) + _LABEL_WIDTH
        ),
        height=_ROW * len(rows) + (_LABEL_WIDTH if is_narrow else 40),
    )


def _is_drawn(drawing: figure.LineChart, x: float, y: float) -> bool:
    return (
        math.isfinite(x)
        and math.isfinite(y)
        and (x > 0 or not drawing.x_is_log)
        and (y > 0 or not drawing.y_is_log)
    )


def _ticks(values: Sequence[float]) -> list[float] | None:
    """Return few and round numbers for a logarithmic axis.

    Vega's own are all nine of each decade, most of the text of a picture.

    :param values: all above 0
    :returns: None to leave it to Vega
    """
    if not values:
        return None
    low, high = min(values), max(values)
    decades = range(
        max(-12, math.floor(math.log10(low))),
        min(15, math.ceil(math.log10(high))) + 1,
    )
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 7, 8)):
        found = [
            float(f'{step * 10.0**decade:.2g}')
            for decade in decades
            for step in steps
        ]
        found = [each for each in found if low <= each <= high]
        if len(found) >= 3:
            return found
    return None


def _whole_numbers(values: Sequence[float]) -> list[float] | None:
    """Numbers beside an axis of a few repeats: each of them, none between.

    :returns: None: leave it to Vega
    """
    if not values or not all(float(value).is_integer() for value in values):
        return None
    low, high = min(values), max(values)
    if high - low > _MOST_NUMBERS:
        return None
    return [low + at for at in range(round(high - low) + 1)]


def _axes(
    title: str, values: Sequence[float], *, is_log: bool, is_x: bool
) -> dict[str, object]:
    """Title, scale and numbers of an axis."""
    ticks = _ticks(values) if is_log else None
    if is_x and not is_log:
        ticks = _whole_numbers(values)
    return {
        'title': title,
        'scale': altair.Scale(type='log', nice=False, padding=8)
        if is_log
        else altair.Scale(zero=not is_x, nice=not is_x),
        'axis': altair.Axis(
            # Not g, which makes 2e+1 of 20.
            format='~s' if title.startswith('IOPS') else '~r',
            tickMinStep=1 if is_x else altair.Undefined,
            values=ticks or altair.Undefined,
        ),
    }


def _lines(drawing: figure.LineChart) -> altair.LayerChart:
    points = [
        point
        for line in drawing.lines
        for point in line.points
        if _is_drawn(drawing, *point)
    ]
    base = altair.Chart(
        _rows(
            *(
                {
                    'line': number,
                    'style': line.style,
                    'dashed': line.is_dashed,
                    'place': place,
                    # To as many digits as a picture can show.
                    'x': float(f'{x:.5g}'),
                    'y': float(f'{y:.5g}'),
                }
                for number, line in enumerate(drawing.lines)
                for place, (x, y) in enumerate(line.points)
                if _is_drawn(drawing, x, y)
            )
        )
    ).encode(
        x=altair.X(
            'x:Q',
            **_axes(
                drawing.x_title,
                [x for x, _y in points],
                is_log=drawing.x_is_log,
                is_x=True,
            ),
        ),
        y=altair.Y(
            'y:Q',
            **_axes(
                drawing.y_title,
                [y for _x, y in points],
                is_log=drawing.y_is_log,
                is_x=False,
            ),
        ),
        color=_colour(),
    )
    layers = []
    if drawing.spans:
        layers.append(
            altair.Chart(
                _rows(
                    *(
                        {'begin': span.begin, 'end': span.end}
                        for span in drawing.spans
                    )
                )
            )
            .mark_rect(color=_AXIS[0], opacity=0.25)
            .encode(x=altair.X('begin:Q'), x2=altair.X2('end:Q'))
        )
    if drawing.is_connected:
        layers.append(
            base.mark_line(strokeWidth=1.5).encode(
                detail=altair.Detail('line:N'),
                # Not by x: steps are connected in their order.
                order=altair.Order('place:Q'),
                # What altair.condition() returns is looked for in the whole
                # schema, which takes longer than all else here.
                strokeDash=altair.StrokeDashValue(
                    [1, 0],
                    condition={'test': 'datum.dashed', 'value': [4, 3]},
                ),
            )
        )
    if drawing.has_marks:
        layers.append(
            # What is dashed is a bound, of which nothing was measured.
            base.transform_filter('!datum.dashed')
            .mark_point(filled=True, size=40, opacity=0.85)
            .encode(shape=_shape())
        )
    return altair.layer(*layers, width=_WIDTH, height=190)


def _shape() -> altair.Shape:
    """The mark of a style, for those who cannot tell colours apart."""
    return altair.Shape(
        'style:O',
        legend=None,
        scale=altair.Scale(
            domain=list(range(figure.STYLES)), range=list(SHAPES)
        ),
    )


def _dots(drawing: figure.Dots) -> altair.LayerChart:
    labels = _labels(dot.label for dot in drawing.dots)
    chart = (
        altair.Chart(
            _rows(
                *(
                    {
                        'label': labels[dot.label],
                        'style': dot.style,
                        'value': dot.value,
                    }
                    for dot in drawing.dots
                )
            )
        )
        .mark_point(filled=True, size=45, opacity=0.6)
        .encode(
            x=altair.X(
                'value:Q',
                title=drawing.unit,
                axis=altair.Axis(format=_number_format(drawing.unit, 4)),
            ),
            y=altair.Y('label:N', title=None, sort=None),
            color=_colour(),
            shape=_shape(),
        )
    )
    return altair.layer(chart, width=_WIDTH, height=_ROW * len(labels) + 50)


_DRAW: Mapping[type, Callable[..., altair.LayerChart]] = {
    figure.Bars: _bars,
    figure.HeatMap: _heat_map,
    figure.LineChart: _lines,
    figure.Dots: _dots,
}


#: Of each chart. Altair would copy the whole chart to add a part of it.
_FRAME: Mapping[str, object] = {
    # Letters of a browser may be wider than those known here.
    'padding': {'left': 16, 'right': 8, 'top': 5, 'bottom': 5},
    'background': 'transparent',
    'autosize': {'type': 'fit', 'contains': 'padding'},
    'config': {
        'font': 'sans-serif',
        'view': {'stroke': None},
        'axis': {
            'labelColor': _TEXT[0],
            'titleColor': _TEXT[0],
            'domainColor': _AXIS[0],
            'tickColor': _AXIS[0],
            'gridColor': _GRID[0],
            'labelLimit': 0,
            'titleFontWeight': 'normal',
            'labelFontSize': 11,
            'titleFontSize': 11,
        },
        'axisQuantitative': {
            'format': '~s',
            'tickCount': 4,
            # Not 0k.
            'labelExpr': 'datum.value ? datum.label : "0"',
        },
    },
}


def _slim(node: ElementTree.Element) -> None:
    """Take out what a picture does not need; it is most of the text."""
    for child in list(node):
        empty = child.tag == f'{{{_SVG}}}path' and (
            child.get('d', '') in ('', 'M0,0h0v0h0Z')
            or not (child.get('fill') or child.get('stroke'))
        )
        if empty or child.get('display') == 'none':
            node.remove(child)
            continue
        _slim(child)
        if child.tag == f'{{{_SVG}}}g' and not len(child):
            node.remove(child)
    for name, value in list(node.attrib.items()):
        if name.startswith(_NEEDLESS) or _DEFAULTS.get(name) == value:
            del node.attrib[name]
        elif name in ('d', 'transform'):
            node.set(name, _LONG_NUMBER.sub(r'\1', value))
    if node.tag == f'{{{_SVG}}}g' and len(node) > 1:
        for name in _INHERITED:
            values = {child.get(name) for child in node}
            common = values.pop()
            if common is not None and not values:
                node.set(name, common)
                for child in node:
                    del child.attrib[name]


def _dark_style(root: ElementTree.Element) -> str:
    """Rules for the colours that a picture has, on a dark screen.

    Not on paper, which is white whatever a reader prefers.
    """
    used = dict.fromkeys(
        (name, node.get(name, ''))
        for node in root.iter()
        for name in ('fill', 'stroke')
    )
    rules = ''.join(
        f'[{name}="{colour}"]{{{name}:{_DARK[colour]}}}'
        for name, colour in used
        if colour in _DARK
    )
    return f'@media screen and (prefers-color-scheme:dark){{{rules}}}'


def draw(drawing: figure.Drawing) -> Picture:
    """Draw a chart.

    :param drawing: a drawing with at least one mark
    :raises DrawingError: Vega-Lite refuses it
    """
    # Each chart of a kind has the same shape: to check it again against the
    # schema of Vega-Lite takes longer than to draw it.
    with schemapi.debug_mode(False):
        chart = _DRAW[type(drawing)](drawing)
        specification = {**chart.to_dict(validate=False), **_FRAME}
    try:
        svg = vl_convert.vegalite_to_svg(specification, allowed_base_urls=[])
    except ValueError as error:
        raise DrawingError(
            f'a chart could not be drawn: {" ".join(str(error).split())}'
        ) from error
    ElementTree.register_namespace('', _SVG)
    # Vega wrote it, here and now.
    root = ElementTree.fromstring(svg)  # noqa: S314
    width, height = (
        round(float(root.get(name, '0'))) for name in ('width', 'height')
    )
    _slim(root)
    style = ElementTree.Element(f'{{{_SVG}}}style')
    style.text = _dark_style(root)
    root.insert(0, style)
    return Picture(
        svg=ElementTree.tostring(root, encoding='unicode'),
        width=width,
        height=height,
    )
