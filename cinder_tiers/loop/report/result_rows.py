# SPDX-License-Identifier: Apache-2.0

"""The rows of `openstack tier result`."""

import argparse
import collections.abc

from cliff import columns

from cinder_tiers.cli import results
from cinder_tiers.cli import results_command
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust
from cinder_tiers.figures.sla import judgement
from cinder_tiers.figures.stats import intervals
from cinder_tiers.files.tiers import reader
from cinder_tiers.loop.compare import comparison
from cinder_tiers.loop.report import answers
from cinder_tiers.loop.report import rows as report_rows


class _Mean(columns.FormattableColumn):
    """A mean with its interval; None: there is none."""

    _value: intervals.Estimate | None

    def human_readable(self) -> str:
        """Such as 169.2 (143.8 to 199.1); of one repeat, the mean alone."""
        found = self._value
        if found is None:
            return '-'
        mean = report_rows.number(found.mean)
        if found.low is None or found.high is None:
            return mean
        return (
            f'{mean} ({report_rows.number(found.low)} to '
            f'{report_rows.number(found.high)})'
        )

    def machine_readable(self) -> dict[str, float | None] | None:
        """The mean and the ends of its interval."""
        found = self._value
        if found is None:
            return None
        return {'mean': found.mean, 'low': found.low, 'high': found.high}


def _sync_p99_ms(row: report_rows.Row) -> float | None:
    return report_rows.ends(row.estimate('sync_p99_ms'))[0]


class _Number(columns.FormattableColumn):
    """A number, to four digits for people; None: there is none."""

    _value: float | None

    def human_readable(self) -> str:
        """Such as 471.9; a dash when there is none."""
        return report_rows.number(self._value)

    def machine_readable(self) -> float | None:
        """The number."""
        return self._value


class _Caveats(columns.FormattableColumn):
    """The kinds of caveats that hold of a row."""

    _value: report_rows.Row

    def human_readable(self) -> str:
        """Return the caveats of the row, without those of the run."""
        return (
            ', '.join(
                dict.fromkeys(caveat.about for caveat in self._value.caveats)
            )
            or '-'
        )

    def machine_readable(self) -> list[str]:
        """Return the kinds of all caveats."""
        return list(self._value.kinds)


_SYNC_COLUMN = 'Sync p99 ms'
_TABLE: results_command.Table = {
    'Tier': lambda row: row.tier,
    'Pattern': lambda row: row.pattern,
    'Guests': lambda row: row.guests,
    'Repeats': lambda row: (
        f'{row.found.complete_repeats} of {len(row.found.slots)}'
    ),
    'IOPS': lambda row: _Mean(row.estimate('iops')),
    'MiB/s': lambda row: _Number(
        (found := row.estimate('mib_per_s')) and found.mean
    ),
    'p50 ms': lambda row: _Number(row.percentile_ms(50)),
    'p99 ms': lambda row: _Number(row.percentile_ms(99)),
    _SYNC_COLUMN: lambda row: _Number(_sync_p99_ms(row)),
    'Caveats of the row': _Caveats,
}


def _judged(
    parsed_args: argparse.Namespace, run: run_result.RunResult
) -> tuple[judgement.CriterionFinding, ...]:
    if parsed_args.catalog is None:
        return ()
    catalog = reader.read_file(
        parsed_args.catalog, include_root=parsed_args.include_root
    )
    return judgement.judge(
        run,
        judgement.Criteria(
            in_catalog={
                tier.name: tier.expect for tier in catalog.tiers if tier.expect
            }
        ),
    )


def _cares(
    run: run_result.RunResult, found: collections.abc.Iterable[str]
) -> collections.abc.Iterator[str]:
    """Yield the caveats of a run, each kind once.

    :param found: findings on the run
    """
    kinds: dict[str, list[str]] = {}
    for caveat in trust.caveats(run):
        kinds.setdefault(caveat.about, []).append(caveat.text)
    if any(comparison.MEASURED_ONCE in text for text in found):
        kinds.pop(trust.ONE_REPEAT, None)
    for about, (first, *others) in kinds.items():
        more = f'; {len(others)} more such, see tier report' if others else ''
        yield f'read with care, {about}: {first}{more}'
    if trust.TOO_FEW_IOS not in kinds:
        yield from filter(None, [trust.why_dashes(run)])


def find(
    shown: results_command.ResultsCommand, parsed_args: argparse.Namespace
) -> results_command.Found:
    """Reads a run, and holds it against its tiers file.

    :raises base.CommandFailed: a file cannot be read.
    :raises cinder_tiers.domain.errors.ProblemsFound: the tiers file is wrong.
    """
    run = results.read(parsed_args.result)
    judged = _judged(parsed_args, run)
    rows = report_rows.rows(run)
    found = answers.of_run(run)
    shown.warn(found)
    outcomes = {finding.outcome for finding in judged}
    return results_command.Found(
        table=_TABLE,
        items=rows,
        notes=(
            *(
                str(finding)
                for finding in judged
                if finding.outcome is not judgement.CriterionOutcome.NOT_RUN
            ),
            *_cares(run, found),
        ),
        without=()
        if any(_sync_p99_ms(row) is not None for row in rows)
        else (_SYNC_COLUMN,),
        is_worse=judgement.CriterionOutcome.BROKEN in outcomes,
        is_unknown=not rows
        or any(row.estimate('iops') is None for row in rows)
        or not outcomes
        <= {
            judgement.CriterionOutcome.HELD,
            judgement.CriterionOutcome.NOT_RUN,
        },
    )
