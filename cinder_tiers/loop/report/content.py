# SPDX-License-Identifier: Apache-2.0

"""Content of a report, of one result or several.

Computes nothing that a result has, or that a comparison of results finds; see
``cinder_tiers.figures``.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from dataclasses import dataclass

from cinder_tiers.figures.profile import profile as named_profile
from cinder_tiers.figures.result import cost as result_cost
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.fault import of_run
from cinder_tiers.loop.report import answers
from cinder_tiers.loop.report import claims
from cinder_tiers.loop.report import curves
from cinder_tiers.loop.report import differences
from cinder_tiers.loop.report import directions
from cinder_tiers.loop.report import effects_chart as effect_figures
from cinder_tiers.loop.report import environment
from cinder_tiers.loop.report import faults_chart
from cinder_tiers.loop.report import figure
from cinder_tiers.loop.report import guests
from cinder_tiers.loop.report import intervals
from cinder_tiers.loop.report import latencies
from cinder_tiers.loop.report import over_time
from cinder_tiers.loop.report import rows as report_rows
from cinder_tiers.loop.report import tuning_chart as tuning_figures
from cinder_tiers.loop.sweep import effects
from cinder_tiers.loop.tune import tuning as tunings


#: Charts of results side by side; of more, each result has its own.
_MOST_SIDE_BY_SIDE = 12


@dataclass(frozen=True, kw_only=True)
class Part:
    """Content on one result."""

    #: by which the user knows it
    name: str
    #: what it is, as (what, its value)
    summary: tuple[tuple[str, str], ...]
    #: why figures should be read with care; empty: all is known, and good
    caveats: tuple[run_result.Caveat, ...]
    #: in the order of the page
    figures: tuple[figure.ReportFigure, ...]
    #: what it was measured on
    environment: figure.Table
    #: of its tiers
    tiers: figure.Table
    #: titles of figures that the page has no room for
    left_out: tuple[str, ...] = ()
    #: when, by what and how often it was measured, and the patterns; None of
    #: several runs
    measured: tuple[str, figure.Table] | None = None

    @property
    def caveats_by_kind(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The texts of each kind, in the order of the first of them."""
        found: dict[str, list[str]] = {}
        for caveat in self.caveats:
            found.setdefault(caveat.about, []).append(caveat.text)
        return tuple((about, tuple(texts)) for about, texts in found.items())


@dataclass(frozen=True, kw_only=True)
class Report:
    """A whole report."""

    parts: tuple[Part, ...]
    #: what can be claimed of tiers or results side by side; None of a single
    #: tier
    claims: claims.Claims | None
    #: what was found, in sentences; empty if there is none to begin with
    answers: tuple[str, ...] = ()
    #: the differences that claims are about
    differences: tuple[figure.ReportFigure, ...] = ()

    @property
    def kinds_of_caveats(self) -> tuple[str, ...]:
        """Return the kinds of caveats of all parts, each once."""
        return tuple(
            dict.fromkeys(
                caveat.about for part in self.parts for caveat in part.caveats
            )
        )


def _time(cost: run_result.Cost | None) -> Iterator[tuple[str, str]]:
    """Yield the estimated and the actual duration of a run."""
    if cost is None:
        return
    parts = result_cost.parts(cost)
    yield (
        'Expected and actual time',
        '; '.join(
            f'{each.name} {each.told:.0f} s, '
            + ('not known' if each.taken is None else f'{each.taken:.0f} s')
            for each in (*parts, result_cost.together(parts))
        )
        + f' (expected from {result_cost.source(cost.told)})',
    )


def _profile(used: named_profile.ProfileUsed) -> str:
    """Name, size and source; patterns that a task lists have no size."""
    if used.source == named_profile.LISTED_BY_TASK:
        return 'none; the task lists its patterns'
    return (
        f'{used.name}, size {used.size.value}, of {used.source.paper}'
        f' ({used.source.where})'
    )


def _summary(result: run_result.RunResult) -> tuple[tuple[str, str], ...]:
    used = result.profile
    return (
        ('Run', result.run),
        ('Ended', result.ended_at),
        ('Profile', _profile(used)),
        ('Guests of a tier', str(result.guests_per_tier)),
        ('Repeats', str(used.repeats)),
        (
            'Each pattern',
            f'{used.method.runtime_seconds} s after'
            f' {used.method.ramp_seconds} s of ramp, on'
            f' {used.method.region_mib} MiB',
        ),
        *(
            (title, '; '.join(texts))
            for title, texts in (
                ('Changed by the task', used.changed),
                ('Assumed', used.assumptions),
                ('Left out by the size', used.left_out),
            )
            if texts
        ),
        *_time(result.cost),
    )


def _figures(
    result: run_result.RunResult,
    expected: Mapping[str, float],
    of_tiers: claims.Claims | None,
) -> Iterator[figure.ReportFigure]:
    rows = report_rows.rows(result)
    # Of a curve, no bar says what the load does.
    curve = curves.curves(result, expected)
    if curve is not None:
        yield curve
    yield intervals.figures(rows, trust.why_dashes(result))
    heat_map = intervals.heat_map(rows, of_tiers.found if of_tiers else ())
    if heat_map is not None:
        yield heat_map
    yield latencies.distributions(rows)
    yield latencies.against_iops(rows)
    for found in (
        over_time.seconds(rows),
        over_time.bandwidth(rows),
        over_time.latency(rows),
        over_time.repeats(rows),
        guests.guests(rows),
        guests.over_time(rows),
        directions.directions(rows),
    ):
        if found is not None:
            yield found


def _part(
    name: str,
    result: run_result.RunResult,
    expected: Mapping[str, float],
    of_tiers: claims.Claims | None,
) -> Part:
    return Part(
        name=name,
        summary=_summary(result),
        caveats=trust.caveats(result),
        figures=tuple(_figures(result, expected, of_tiers)),
        environment=environment.facts(result),
        tiers=environment.tiers(result),
        measured=answers.measured(result),
    )


def _of_tiers(
    result: run_result.RunResult, question: comparison.Question
) -> claims.Claims | None:
    """The claims of a run's tiers; None of a single tier."""
    if len(result.tiers) < 2:
        return None
    return claims.of_tiers(result, question)


def of_sweep(
    name: str,
    swept: effects.Swept,
    found: effects.Effects | None,
    *,
    summary: tuple[tuple[str, str], ...],
    faulty: Sequence[of_run.FaultySlot] = (),
) -> Report:
    """Return the report of a sweep, or of a run with faults.

    :param name: name that the user knows
    :param swept: the sweep, with a sound slot of the default
    :param found: its effects; None: it has no treatments
    :param summary: its facts, as (name, value)
    :param faulty: slots with faults
    :raises ValueError: see ``faults.figures``
    """
    measured = [
        (slot, slot.run) for slot in swept.slots if slot.run is not None
    ]
    default = next(
        run for slot, run in measured if slot.treatment == swept.default
    )
    return Report(
        parts=(
            Part(
                name=name,
                # Neither its name nor its time is that of the sweep.
                summary=(
                    *summary,
                    *_summary(dataclasses.replace(default, cost=None))[2:],
                ),
                caveats=_caveats(
                    [(str(slot.number), run) for slot, run in measured],
                    len({slot.block for slot, _run in measured}),
                ),
                figures=(
                    *faults_chart.figures(faulty),
                    *(
                        effect_figures.figures(found, swept.default)
                        if found
                        else ()
                    ),
                ),
                environment=environment.facts(default),
                tiers=environment.tiers(default),
            ),
        ),
        claims=claims.of_effects(found, swept.default) if found else None,
        answers=answers.first_of(
            (
                *faults_chart.answers(faulty),
                *answers.of_effects(
                    default,
                    found.comparison.claims if found else (),
                    swept.default,
                ),
            )
        ),
    )


def of_tuning(
    name: str,
    tuning: tunings.Tuning,
    slots: Sequence[tuple[str, run_result.RunResult]],
) -> Report:
    """Return the report of a tuning.

    :param name: name that the user knows
    :param slots: (block.slot, its sound result), of all blocks in order; at
        least one
    """
    first = slots[0][1]
    return Report(
        parts=(
            Part(
                name=name,
                summary=(
                    *tuning_figures.summary(tuning),
                    *_summary(dataclasses.replace(first, cost=None))[2:],
                ),
                caveats=_caveats(slots, len(tuning.history.blocks)),
                figures=tuple(tuning_figures.figures(tuning)),
                environment=environment.facts(first),
                tiers=environment.tiers(first),
            ),
        ),
        claims=None,
        answers=(tuning_figures.answer(tuning),),
    )


def _caveats(
    slots: Sequence[tuple[str, run_result.RunResult]], blocks: int
) -> tuple[run_result.Caveat, ...]:
    """Return the caveats of all slots, each once.

    :param slots: (name of the slot, its result)
    :param blocks: number of their blocks; several count as repeats
    """
    found: dict[run_result.Caveat, list[str]] = {}
    for slot, run in slots:
        for caveat in trust.caveats(run):
            if caveat.about != trust.ONE_REPEAT or blocks < 2:
                found.setdefault(caveat, []).append(slot)
    return tuple(
        dataclasses.replace(
            caveat,
            text=(
                f'all {len(slots)} slots'
                if 1 < len(known) == len(slots)
                else f'slot {", ".join(known)}'
            )
            + f': {caveat.text}',
        )
        for caveat, known in found.items()
    )


def _side_by_side(
    results: Mapping[str, run_result.RunResult],
) -> Iterator[figure.ReportFigure]:
    """Each pattern of a tier in all results, such as before and after.

    :returns: nothing of a single result, or of too many charts or results
    """
    rows = tuple(
        dataclasses.replace(
            row,
            tier=name,
            pattern=f'{row.pattern} on {row.tier}',
            group=f'{row.pattern} on {row.tier}',
            label=name,
            style=at % figure.STYLES,
            caveats=(),
        )
        for at, (name, result) in enumerate(results.items())
        for row in report_rows.rows(result)
    )
    if (
        not 1 < len(results) <= figure.STYLES
        or len({row.group for row in rows}) > _MOST_SIDE_BY_SIDE
    ):
        return
    for found in (intervals.figures(rows, ''), latencies.distributions(rows)):
        _tier, *columns = found.table.columns
        yield dataclasses.replace(
            found,
            title=f'{found.title}, side by side',
            caption=f'{found.caption} What differs between runs of the same'
            ' storage is not in these figures.',
            table=dataclasses.replace(
                found.table, columns=(figure.Column(title='Result'), *columns)
            ),
        )


def report(
    results: Mapping[str, run_result.RunResult],
    question: comparison.Question,
    expected: Mapping[str, float] | None = None,
) -> Report:
    """Return the report of some results.

    :param results: {name that the user knows: result}, at least one; the
        others are compared with the first
    :param question: parameters of the comparison
    :param expected: {limit of latency: its value in ms}, drawn in load curves
    """
    of_tiers = {
        name: _of_tiers(found, question) for name, found in results.items()
    }
    first, *others = results
    found_claims = (
        claims.of_results(results, question) if others else of_tiers[first]
    )
    return Report(
        parts=tuple(
            _part(name, found, expected or {}, of_tiers[name])
            for name, found in results.items()
        ),
        claims=found_claims,
        answers=answers.answers(
            results,
            found_claims.found if found_claims else (),
            question.quantities[0],
            of_curves=()
            if others
            else curves.answers(results[first], expected or {}),
        ),
        differences=(
            *differences.figures(found_claims.found if found_claims else ()),
            *_side_by_side(results),
        ),
    )
