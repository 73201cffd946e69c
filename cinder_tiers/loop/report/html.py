# SPDX-License-Identifier: Apache-2.0

"""A report as one HTML file that needs nothing else, and runs nothing.

There is no script in the page.  Charts are pictures (``<img>``), in which a
browser neither runs a script nor loads anything; the page's Content Security
Policy forbids both once more.  Jinja2 escapes every text; what is not
printable is shown by its escape.
"""

import base64
import dataclasses
import functools
import hashlib
import math

import jinja2
import markupsafe

from cinder_tiers.domain import text as escaping
from cinder_tiers.loop.report import content as report_content
from cinder_tiers.loop.report import drawing
from cinder_tiers.loop.report import figure

#: What a page may have at most.
MOST_BYTES = 2 * 10**6


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Drawn:
    """A chart of the page; without a picture if it has no marks."""

    chart: figure.Chart
    picture: drawing.Picture | None


def _data(svg: str) -> str:
    encoded = base64.b64encode(svg.encode()).decode('ascii')
    return f'data:image/svg+xml;base64,{encoded}'


def _finalize(value: object) -> object:
    """A value on its way into the page, before it is escaped."""
    if isinstance(value, str) and not isinstance(value, markupsafe.Markup):
        return escaping.printable(value)
    return value


def _cell(value: str | float | None, column: figure.Column) -> str:
    """A cell of a table as text."""
    if value is None:
        return '-'
    if isinstance(value, str) or column.digits is None:
        return str(value)
    if not math.isfinite(value) or abs(value) >= 1e12:
        return f'{value:.6g}'
    return f'{value:,.{column.digits}f}'


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader('cinder_tiers.loop.report', 'templates'),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters['cell'] = _cell
    environment.filters['data'] = _data
    return environment


def _style() -> str:
    """The page's style, with the colours of the charts."""
    return (
        _environment()
        .get_template('page.css')
        .render(
            palette=drawing.PALETTE, better=figure.BETTER, worse=figure.WORSE
        )
        .strip()
    )


def _drawn(chart: figure.Chart) -> _Drawn:
    return _Drawn(
        chart=chart,
        picture=drawing.draw(chart.drawing) if chart.drawing.marks else None,
    )


def _fewer(
    parts: tuple[report_content.Part, ...],
) -> tuple[report_content.Part, ...] | None:
    """The same without its most dispensable figure; None: there is none."""
    ranked = [
        (found.dispensable, at, found)
        for at, part in enumerate(parts)
        for found in part.figures
        if found.dispensable
    ]
    if not ranked:
        return None
    _rank, at, last = max(ranked, key=lambda each: each[:2])
    part = parts[at]
    changed = dataclasses.replace(
        part,
        figures=tuple(each for each in part.figures if each is not last),
        left_out=(*part.left_out, last.title),
    )
    return (*parts[:at], changed, *parts[at + 1 :])


def page(
    report: report_content.Report, *, most_bytes: int = MOST_BYTES
) -> str:
    """Return the HTML of a report.

    :param report: report of results
    :param most_bytes: maximum size of the page; figures are left out, and
        named, until it fits, or until only IOPS are left
    :raises drawing.DrawingError: a chart could not be drawn
    """
    style = _style()
    checksum = base64.b64encode(hashlib.sha256(style.encode()).digest())
    charts = {
        id(chart): _drawn(chart)
        for found in (
            *report.differences,
            *(each for part in report.parts for each in part.figures),
        )
        for chart in found.charts
    }
    parts: tuple[report_content.Part, ...] | None = report.parts
    while parts is not None:
        text = (
            _environment()
            .get_template('page.html')
            .render(
                report=dataclasses.replace(report, parts=parts),
                # Not from outside: our own file with our own colours.
                style=markupsafe.Markup(style),  # noqa: S704
                checksum=checksum.decode('ascii'),
                charts=charts,
                id=id,
            )
        )
        if len(text.encode()) <= most_bytes:
            break
        parts = _fewer(parts)
    return text
