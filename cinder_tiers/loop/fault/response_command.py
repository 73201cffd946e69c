# SPDX-License-Identifier: Apache-2.0

"""`openstack tier response`: what faults did to the load of a tier."""

import argparse
import collections.abc
import typing

from osc_lib import exceptions

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli.render import cells
from cinder_tiers.cli import results
from cinder_tiers.cli import values
from cinder_tiers.loop.sweep import file_results as sweep_files
from cinder_tiers.loop.sweep import record
from cinder_tiers.loop.sweep import results_argument

if typing.TYPE_CHECKING:
    from cinder_tiers.loop.fault import of_run
    from cinder_tiers.loop.fault import response

_COLUMNS = (
    'Slot',
    'Treatment',
    'Fault',
    'Target',
    'Lasted s',
    'Tier',
    'Pattern',
    'Direction',
    'IOPS before',
    'IOPS during',
    'IOPS after',
    'p99 ms before',
    'p99 ms during',
    'p99 ms after',
    'Longest stall s',
    'Gets along after s',
    'Recovered after s',
    'Healthy after s',
    'Reason',
)


class ShowResponse(base.StatusLister):
    """Show how the load of a tier responded to faults.

    For each fault that "tier fault" made, and each pattern that was measured
    when it began: IOPS and p99 before, during and after it, the longest stall,
    and when the load was as before; of a mix also of reads and of writes by
    themselves. p99 needs the argument latency_seconds of the task. "Gets
    along" counts from the beginning of the
    fault and looks until it ends, "recovered" and "healthy" count from its
    end. As before is a rolling mean of --window seconds that is not worse than
    all of them before the first fault by more than --bound percent, and stays
    so. What cannot be determined has a reason and no figure. Reads only files
    and needs no credentials.
    """

    _epilog = """Exit status: 0 every load has recovered from every fault; 4
a load has not; 3 for a load that cannot be determined, a fault that was not
made, a slot that was not measured, or a run that is not complete; 1 an error
occurred; 2 a wrong argument. Separate rows of reads and of writes do not
count.

Example: openstack tier response results/sweep.json --bound 20
"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """The parser of the command's arguments."""
        parser = super().get_parser(prog_name)
        base.name_program(parser)
        parser.add_argument(
            'sweep',
            metavar='<sweep>',
            help=(
                'sweep.json in the folder of "tier fault --out"; the results '
                'of the slots are read from the same folder'
            ),
        )
        parser.add_argument(
            '--window',
            metavar='<seconds>',
            type=values.window_s,
            default=10,
            help='seconds of a rolling mean (default: 10)',
        )
        parser.add_argument(
            '--bound',
            metavar='<percent>',
            type=values.percent,
            default=10.0,
            help='how much worse than before a mean may be (default: 10)',
        )
        return parser

    def take_action(
        self,
        parsed_args: argparse.Namespace,
    ) -> tuple[tuple[str, ...], collections.abc.Iterable[cells.Row]]:
        """Reads, analyses and shows.

        :raises base.CommandFailed: a file cannot be read, or an argument
            is not possible.
        """
        try:
            from cinder_tiers.loop.fault import response
        except ImportError as error:
            raise base.CommandFailed(
                f'tier response needs the extra "rally" of cinder-tiers: '
                f'{error}; install cinder-tiers[rally]'
            ) from error
        try:
            rule = response.Rule(
                window_s=parsed_args.window, bound_percent=parsed_args.bound
            )
        except ValueError as error:
            raise base.CommandFailed(str(error)) from error
        with base.user_errors():
            found = sweep_files.read(parsed_args.sweep)
        self._statuses = {exit_status.OK}
        if found.state != sweep_files.COMPLETE:
            self._statuses.add(exit_status.UNKNOWN)
        for each in results_argument.warnings(found):
            self.log.warning('%s', cells.printable(each))
        rows = [
            row
            for one in found.records
            for row in self._rows(parsed_args.sweep, one, rule)
        ]
        if not any(
            one.measured and one.measured.faults for one in found.records
        ):
            self.log.warning('no slot of this sweep has faults')
        self.exit_status = max(self._statuses)
        return _COLUMNS, rows

    def _rows(
        self,
        path: str,
        one: record.SlotRecord,
        rule: 'response.Rule',
    ) -> collections.abc.Iterator[cells.Row]:
        """The rows of a slot."""
        if one.measured is None:
            # Whatever faults were planned for it.
            self._statuses.add(exit_status.UNKNOWN)
            yield _row(
                one,
                '-',
                '-',
                reason=_why_unsound(one) or 'it was not measured',
            )
            return
        for fault in one.measured.faults:
            if not results_argument.is_known(fault):
                self._statuses.add(exit_status.UNKNOWN)
                yield _row(one, fault.name, fault.target, reason=fault.problem)
        made, healthy = results_argument.made_faults(one)
        if not made:
            return
        if not one.is_sound:
            self._statuses.add(exit_status.UNKNOWN)
        unsound = _why_unsound(one)
        for answer in self._answers(path, one, made, rule):
            # One direction of a mix may be few I/Os, whose IOPS vary much.
            if answer.direction is None:
                self._statuses.add(_status(answer))
            yield _row(
                one,
                answer.made.name,
                answer.made.target,
                answer=answer,
                healthy_s=healthy.get(answer.made.name),
                reason=answer.reason,
                unsound=unsound,
            )

    @staticmethod
    def _answers(
        path: str,
        one: record.SlotRecord,
        made: 'collections.abc.Sequence[of_run.Made]',
        rule: 'response.Rule',
    ) -> 'collections.abc.Iterable[of_run.Answer]':
        from cinder_tiers.loop.fault import of_run

        reason = 'the command left no result'
        if one.measured.result_file is not None:
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
    """Why the result of a slot is not sound; empty if it is."""
    if one.is_sound:
        return ''
    status = one.measured.exit_status if one.measured else None
    return '; '.join(
        filter(
            None,
            (
                one.verdict.value
                if one.verdict is not record.Verdict.IN_EFFECT
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


def _status(answer: 'of_run.Answer') -> int:
    """The exit status that an answer alone would have."""
    if answer.iops is None:
        return exit_status.UNKNOWN
    moment = answer.iops.recovered
    if moment.after_s is not None:
        return exit_status.OK
    return exit_status.DIFFERENT if moment.is_not_yet else exit_status.UNKNOWN


def _row(
    one: record.SlotRecord,
    fault: str,
    target: str,
    *,
    answer: 'of_run.Answer | None' = None,
    healthy_s: float | None = None,
    reason: str = '',
    unsound: str = '',
) -> cells.Row:
    run = answer and answer.run
    iops = answer and answer.iops
    reasons = [reason]
    if iops is not None:
        reasons = [
            f'{what}: {moment.reason}'
            for what, moment in (
                ('gets along', iops.gets_along),
                ('recovered', iops.recovered),
            )
            if moment.reason
        ]
    p99 = answer and answer.p99
    if p99 is not None:
        reasons.extend(p99.reasons())
    reasons.append(unsound)
    return (
        one.slot.number,
        cells.printable(one.slot.treatment),
        cells.printable(fault),
        cells.printable(target),
        cells.Optional(
            answer and round(answer.made.ended - answer.made.began, 1)
        ),
        cells.Optional(run and run.tier.tier),
        cells.Optional(run and run.name),
        cells.Optional(run and (answer.direction or 'all')),
        *(
            cells.Optional(_rounded(part and part.mean))
            for part in (
                iops and iops.before,
                iops and iops.during,
                iops and iops.after,
            )
        ),
        *(
            cells.Optional(_rounded(part and part.percentile_ms))
            for part in (
                p99 and p99.before,
                p99 and p99.during,
                p99 and p99.after,
            )
        ),
        cells.Optional(_rounded(iops and iops.longest_stall_s)),
        cells.Optional(iops and iops.gets_along.after_s),
        cells.Optional(iops and iops.recovered.after_s),
        cells.Optional(healthy_s),
        cells.printable('; '.join(filter(None, reasons))),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
