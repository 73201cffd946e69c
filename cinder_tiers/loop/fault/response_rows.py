# SPDX-License-Identifier: Apache-2.0

"""The rows of `openstack tier response`."""

import argparse
import collections.abc
import dataclasses

from osc_lib import exceptions

from cinder_tiers.cli.render import cells
from cinder_tiers.cli import results
from cinder_tiers.cli import results_command
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.fault import latencies
from cinder_tiers.loop.fault import of_run
from cinder_tiers.loop.fault import response
from cinder_tiers.loop.sweep import file_results as sweep_files
from cinder_tiers.loop.sweep import record
from cinder_tiers.loop.sweep import results_argument


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Line:
    """Content of a row: a slot, its fault, and the response of a load."""

    slot: record.SlotRecord
    fault: str
    target: str
    #: None: there is none, for a reason
    answer: of_run.Answer | None = None
    #: seconds from the end of the fault
    healthy_s: float | None = None
    reason: str = ''

    @property
    def run(self) -> run_result.PatternRun | None:
        """Run of the pattern that was measured."""
        return self.answer.run if self.answer else None

    @property
    def iops(self) -> response.Response | None:
        """Response of its IOPS."""
        return self.answer.iops if self.answer else None

    @property
    def p99(self) -> latencies.FaultLatencies | None:
        """Response of its latency."""
        return self.answer.p99 if self.answer else None

    @property
    def lasted_s(self) -> float | None:
        """Duration of the fault in seconds."""
        if self.answer is None:
            return None
        return self.answer.made.ended - self.answer.made.began

    @property
    def is_counted(self) -> bool:
        """Return whether the row counts for the exit status.

        One direction of a mix may be few I/Os, whose IOPS vary much.
        """
        return self.answer is None or self.answer.direction is None

    @property
    def has_not_recovered(self) -> bool:
        """Return whether it is known that the load is not as before."""
        return self.iops is not None and self.iops.recovered.is_not_yet

    @property
    def is_unknown(self) -> bool:
        """Return whether it is not known if the load is as before."""
        return self.iops is None or (
            self.iops.recovered.after_s is None and not self.has_not_recovered
        )


def _rounded(value: float | None) -> cells.Optional:
    return cells.Optional(cells.rounded(value))


_TABLE: results_command.Table = {
    'Slot': lambda line: line.slot.slot.number,
    'Treatment': lambda line: line.slot.slot.treatment,
    'Fault': lambda line: line.fault,
    'Target': lambda line: line.target,
    'Lasted s': lambda line: _rounded(line.lasted_s),
    'Tier': lambda line: cells.Optional(line.run and line.run.tier.tier),
    'Pattern': lambda line: cells.Optional(line.run and line.run.name),
    'Direction': lambda line: cells.Optional(
        line.run and (line.answer.direction or 'all')
    ),
    'IOPS before': lambda line: _rounded(line.iops and line.iops.before.mean),
    'IOPS during': lambda line: _rounded(line.iops and line.iops.during.mean),
    'IOPS after': lambda line: _rounded(line.iops and line.iops.after.mean),
    'p99 ms before': lambda line: _rounded(
        line.p99 and line.p99.before.percentile_ms
    ),
    'p99 ms during': lambda line: _rounded(
        line.p99 and line.p99.during.percentile_ms
    ),
    'p99 ms after': lambda line: _rounded(
        line.p99 and line.p99.after.percentile_ms
    ),
    'Longest stall s': lambda line: _rounded(
        line.iops and line.iops.longest_stall_s
    ),
    'Gets along after s': lambda line: cells.Optional(
        line.iops and line.iops.gets_along.after_s
    ),
    'Recovered after s': lambda line: cells.Optional(
        line.iops and line.iops.recovered.after_s
    ),
    'Healthy after s': lambda line: cells.Optional(line.healthy_s),
    'Reason': lambda line: '; '.join(filter(None, _reasons(line))),
}


def find(
    shown: results_command.ResultsCommand, parsed_args: argparse.Namespace
) -> results_command.Found:
    """Reads and analyses.

    :raises errors.ProblemsFound: the file of the sweep cannot be read.
    """
    rule = response.ResponseRule(
        window_s=parsed_args.window, bound_percent=parsed_args.bound
    )
    found = sweep_files.read(parsed_args.sweep)
    shown.warn(results_argument.warnings(found))
    lines = [
        line
        for one in found.records
        for line in _lines(parsed_args.sweep, one, rule)
    ]
    if not any(one.measured and one.measured.faults for one in found.records):
        shown.warn(['no slot of this sweep has faults'])
    counted = [line for line in lines if line.is_counted]
    return results_command.Found(
        table=_TABLE,
        items=lines,
        is_worse=any(line.has_not_recovered for line in counted),
        is_unknown=found.state != sweep_files.COMPLETE
        or any(line.is_unknown or not line.slot.is_sound for line in counted),
    )


def _lines(
    path: str, one: record.SlotRecord, rule: response.ResponseRule
) -> collections.abc.Iterator[_Line]:
    """Yield the lines of a slot."""
    if one.measured is None:
        # Whatever faults were planned for it.
        yield _Line(
            slot=one,
            fault='-',
            target='-',
            reason=_why_unsound(one) or 'it was not measured',
        )
        return
    for fault in one.measured.faults:
        if results_argument.times_of(fault) is None:
            yield _Line(
                slot=one,
                fault=fault.name,
                target=fault.target,
                reason=fault.problem,
            )
    made, healthy = results_argument.made_faults(one)
    for answer in _answers(path, one, made, rule) if made else ():
        yield _Line(
            slot=one,
            fault=answer.made.name,
            target=answer.made.target,
            answer=answer,
            healthy_s=healthy.get(answer.made.name),
        )


def _answers(
    path: str,
    one: record.SlotRecord,
    made: collections.abc.Sequence[of_run.Made],
    rule: response.ResponseRule,
) -> list[of_run.Answer]:
    reason = 'the command left no result'
    if one.measured and one.measured.result_file is not None:
        try:
            run = results.read(
                sweep_files.result_path(path, one.measured.result_file)
            )
            return list(of_run.answers(run, made, rule))
        except (exceptions.CommandError, ValueError) as error:
            reason = str(error)
    return [
        of_run.Answer(made=each, run=None, iops=None, reason=reason)
        for each in made
    ]


def _why_unsound(one: record.SlotRecord) -> str:
    """Explain why the result of a slot is not sound; empty if it is."""
    if one.is_sound:
        return ''
    status = one.measured.exit_status if one.measured else None
    return '; '.join(
        filter(
            None,
            (
                one.verdict.value
                if one.verdict is not record.TreatmentVerdict.IN_EFFECT
                else '',
                one.reason,
                f'the command ended with {status}' if status else '',
                *(
                    f'{fault.name}: {fault.problem}'
                    for fault in (one.measured.faults if one.measured else ())
                    if fault.problem
                ),
            ),
        )
    )


def _reasons(line: _Line) -> collections.abc.Iterator[str]:
    """Explain why figures are unknown, and why a result is not sound."""
    if line.answer is None:
        yield line.reason
        return
    yield line.answer.reason
    if line.iops is not None:
        for what, moment in (
            ('gets along', line.iops.gets_along),
            ('recovered', line.iops.recovered),
        ):
            if moment.reason:
                yield f'{what}: {moment.reason}'
    if line.p99 is not None:
        yield from line.p99.reasons()
    yield _why_unsound(line.slot)
