# SPDX-License-Identifier: Apache-2.0

"""`openstack tier sweep`: measures a tier with other options, one by one."""

import argparse
import collections.abc
import datetime
import os
import typing

from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli import interruption
from cinder_tiers.cli import lock
from cinder_tiers.cli.render import cells
from cinder_tiers.cli import values
from cinder_tiers.domain import errors
from cinder_tiers.domain import text as escaping
from cinder_tiers.domain import units
from cinder_tiers.files.tiers import reader
from cinder_tiers.loop.sweep import cells as render
from cinder_tiers.loop.sweep import file_reader as sweep_reader
from cinder_tiers.loop.sweep import preparation
from cinder_tiers.loop.sweep import record
from cinder_tiers.loop.sweep import run_measure
from cinder_tiers.loop.sweep import use_cases

if typing.TYPE_CHECKING:
    import openstack.connection

STOPS = 'ending the measuring command; everything will be restored'
#: What is said of a second signal.
LEFT = ' and leave the rest to "openstack tier sweep --restore"'


class SweepingLister(base.CatalogLister):
    """A command that sweeps: says what is to come, and what came of it."""

    def announce(
        self, prepared: preparation.Prepared, *, length: str | None = None
    ) -> None:
        """Report the duration, and the changes that affect others.

        :param length: the duration, in a line; None: all slots of the sweep.
        """
        sweep = prepared.sweep
        minutes = sweep.minutes
        if self.app.options.verbose_level:
            took = (
                'of unknown length (slot_minutes is not set)'
                if minutes is None
                else f'of {sweep.slot_minutes:g} min, '
                f'{units.duration_text(minutes)} in all'
            )
            self.app.stderr.write(
                length
                or f'{len(sweep.slots)} slots {took}: {len(sweep.treatments)} '
                f'treatments and the default, blocks: {sweep.blocks}, seed: '
                f'{sweep.seed}\n'
            )
        others = sorted(
            {
                name
                for one in sweep.treatments
                for name in prepared.tiers_affected(one.name)
            }
        )
        if others:
            self.log.warning(
                'during the measurement, the OSD options of the '
                'treatments also apply to other tiers: %s',
                ', '.join(map(escaping.printable, others)),
            )
        for line in prepared.warnings:
            self.log.warning('%s', escaping.printable(line))
        for treatment in sweep.treatments:
            if (
                not prepared.plans[treatment.name].actions
                and treatment.changes
            ):
                self.log.warning(
                    'treatment %s is the same as the default',
                    escaping.printable(treatment.name),
                )

    def agree(
        self,
        prepared: preparation.Prepared,
        parsed_args: argparse.Namespace,
        *,
        length: str | None = None,
    ) -> None:
        """Announce the sweep, and ask a person for consent, if there is one.

        :param length: see `announce`.
        :raises errors.TiersError: the answer was not yes.
        """
        self.announce(prepared, length=length)
        stdin = self.app.stdin
        if not parsed_args.yes and stdin is not None and stdin.isatty():
            self.ask('Begin?')

    def report_slot(self, one: record.SlotRecord) -> None:
        """Write one line per slot on standard error, unless --quiet."""
        text = (
            f'slot {one.slot.number}, block {one.slot.block}, '
            f'{escaping.printable(one.slot.treatment)}: {one.verdict.value}'
        )
        if one.measured and one.measured.exit_status:
            self.log.error(
                '%s; the command ended with %d',
                text,
                one.measured.exit_status,
            )
        elif one.reason:
            self.log.error(
                '%s: %s', text, escaping.printable_lines(one.reason)
            )
        elif self.app.options.verbose_level:
            self.app.stderr.write(f'{text}\n')

    def report_back(self, back: use_cases.BroughtBack) -> None:
        """Log the values that were not restored."""
        for one in back.values:
            if one.is_back:
                continue
            if one.name in back.accepted:
                self.log.warning(
                    '%s is left at %s, because another user has set it',
                    escaping.printable(one.name),
                    render.value(one.found),
                )
                continue
            self.log.error(
                '%s is %s, and was %s before the sweep: %s',
                escaping.printable(one.name),
                render.value(one.found),
                render.value(one.before),
                escaping.printable_lines(one.reason)
                or 'another user has set it; run "openstack tier sweep '
                '--restore" with --allow and this name to restore it, '
                'or with --accept and this name to keep it',
            )
        if back.planned:
            self.log.warning(
                '"tier plan" is not empty: %s',
                escaping.printable('; '.join(back.planned)),
            )
        if back.unplanned:
            self.log.warning(
                'could not determine whether "tier plan" is empty: %s',
                escaping.printable_lines(back.unplanned),
            )


class SweepTier(SweepingLister):
    """Measure a tier with other options, and restore everything.

    For each slot of the sweep file, applies a treatment as "tier apply" does,
    checks that it is in effect, and runs the command that follows "--"; then
    restores the default. The command finds the slot in the environment:
    CINDER_TIERS_SWEEP_TREATMENT, _SLOT, _BLOCK, _TIER, _GUEST (options as
    JSON) and _RESULT (the file that it should write). The values to restore
    are saved to disk before the first change: after a kill or a crash,
    --restore restores them. What "tier apply" refuses stays refused, and
    --allow does not permit it. The cloud must match the tiers file, and the
    sweep holds the lock of "tier apply" until it ends.
    """

    _epilog = """Exit status: 0 every slot was measured and everything is as
before; 3 everything is as before, but some slots have no sound result; 4 a
value is not as before; with --status, a sweep is running or was interrupted; 1
an error occurred; 2 a wrong argument; 5 a treatment is refused, and nothing
was changed; 6 a service did not answer; 130 interrupted, and everything is as
before.

Example: openstack tier sweep sweep.yaml --catalog tiers.yaml --out results --
sh measure.sh
"""

    #: Whether the file has faults, which are made in each slot.
    has_faults = False
    name_of_file = 'sweep file'
    help_of_allow = (
        'with --restore: restore this value even though another user has '
        'changed it since; named as in the column Value (may be repeated)'
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        lock.add(parser)
        parser.add_argument(
            'file',
            metavar='<file>',
            type=base.not_empty,
            nargs='?',
            help=self.name_of_file,
        )
        base.add_measuring_command(parser)
        group = parser.add_mutually_exclusive_group()
        group.add_argument(
            '--dry-run',
            action='store_true',
            help=(
                'show the slots in their order, with what each changes, and '
                'how long all of them take; change nothing'
            ),
        )
        group.add_argument(
            '--restore',
            action='store_true',
            help=(
                'restore what an interrupted sweep left changed, then '
                'carry out <file>, if it is given'
            ),
        )
        group.add_argument(
            '--status',
            action='store_true',
            help='show what an interrupted sweep left changed; change nothing',
        )
        parser.add_argument(
            '--allow',
            metavar='<value>',
            action='append',
            default=[],
            help=self.help_of_allow,
        )
        parser.add_argument(
            '--accept',
            metavar='<value>',
            action='append',
            default=[],
            help=(
                'with --restore: keep this value as another user has '
                'changed it, and no longer restore it (may be repeated)'
            ),
        )
        parser.add_argument(
            '--blocks',
            metavar='<number>',
            type=values.whole_number(
                f'an integer from 1 to {sweep_reader.MOST_BLOCKS}',
                least=1,
                most=sweep_reader.MOST_BLOCKS,
            ),
            help=(
                'how often to measure each treatment; overrides "blocks" '
                f'in <file> (1 to {sweep_reader.MOST_BLOCKS})'
            ),
        )
        base.add_name(
            parser,
            '--out',
            '<folder>',
            'folder for sweep.json and the results of the slots (default: '
            'sweep-TIER-TIME in the working directory)',
        )
        base.add_state(
            parser, 'the journal, which must outlive a crash of the host'
        )
        base.add_yes(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> cells.Shown:
        """Sweeps, restores or looks.

        Expected failures end as CommandError of OSC.
        """
        with base.user_errors():
            _check(
                parsed_args,
                has_faults=self.has_faults,
                name_of_file=self.name_of_file,
            )
            if parsed_args.status:
                return self._look(parsed_args)
            if parsed_args.restore:
                shown, is_back = self._restore(parsed_args)
                if not (is_back and parsed_args.file):
                    return shown
            if parsed_args.dry_run:
                return self._prepare(parsed_args)
            return self._run(parsed_args)

    def _files(
        self, parsed_args: argparse.Namespace
    ) -> tuple[sweep_reader.SweepFile, use_cases.Files]:
        tiers = reader.read(
            parsed_args.catalog, include_root=parsed_args.include_root
        )
        file = sweep_reader.read_file(
            parsed_args.file,
            tiers,
            blocks=parsed_args.blocks,
            has_faults=self.has_faults,
        )
        now = datetime.datetime.now(datetime.UTC)
        return file, use_cases.Files(
            sweep_file=parsed_args.file,
            catalog_file=parsed_args.catalog,
            catalog_text=tiers.text,
            state=parsed_args.state,
            results=parsed_args.out
            or f'sweep-{file.sweep.tier}-{now:%Y%m%dT%H%M%SZ}',
        )

    def _prepare(self, parsed_args: argparse.Namespace) -> cells.Shown:
        file, _ = self._files(parsed_args)
        prepared = use_cases.prepare(connection=base.connect(self), file=file)
        self.announce(prepared)
        return self.planned(prepared)

    def _run(self, parsed_args: argparse.Namespace) -> cells.Shown:
        file, files = self._files(parsed_args)
        with interruption.Interrupt(
            STOPS, interruption.ENDING, left=LEFT
        ) as interrupt:
            results, back = use_cases.run(
                connection=base.connect(self),
                file=file,
                files=files,
                lock=lock.of(parsed_args),
                agree=lambda prepared: self.agree(prepared, parsed_args),
                measure=run_measure.Command(
                    parsed_args.command,
                    folder=files.results,
                    tier=file.sweep.tier,
                    is_to_stop=lambda: interrupt.came,
                    limit_minutes=file.slot_limit_minutes,
                ),
                report=self.report_slot,
                is_to_stop=lambda: interrupt.came,
                allowed=parsed_args.allow,
            )
        self._conclude(results.records, len(file.sweep.slots))
        self.report_back(back)
        if not back.is_complete:
            self.exit_status = exit_status.DIFFERENT
        elif interrupt.came:
            self.exit_status = exit_status.INTERRUPTED
        if self.app.options.verbose_level:
            self.app.stderr.write(
                f'results: {os.path.join(files.results, "sweep.json")}\n'
            )
        return self.found(results.records)

    def planned(self, prepared: preparation.Prepared) -> cells.Shown:
        """The table of what is to come."""
        return render.SLOT_COLUMNS, list(render.slot_rows(prepared))

    def found(
        self, records: collections.abc.Sequence[record.SlotRecord]
    ) -> cells.Shown:
        """The table of what came of it."""
        return render.RECORD_COLUMNS, list(map(render.record_row, records))

    def _conclude(
        self,
        records: collections.abc.Sequence[record.SlotRecord],
        wanted: int,
    ) -> None:
        sound = sum(one.is_sound for one in records)
        if sound < wanted:
            self.exit_status = exit_status.UNKNOWN
            self.log.error('%d of %d slots have a sound result', sound, wanted)

    def _connection(self) -> 'openstack.connection.Connection':
        """Return an administrator's connection, which may not answer."""
        try:
            return base.connect(self)
        except errors.Unreachable as error:
            return use_cases.without(error)

    def _restore(
        self, parsed_args: argparse.Namespace
    ) -> tuple[cells.Shown, bool]:
        """Brings back; also says whether everything is back."""
        back = use_cases.restore(
            connection=self._connection(),
            state=parsed_args.state,
            lock=lock.of(parsed_args),
            allowed=parsed_args.allow,
            accepted=parsed_args.accept,
        )
        if back is None:
            if self.app.options.verbose_level:
                self.app.stderr.write(
                    'Nothing to restore: no journal of this cloud in '
                    f'{escaping.printable(parsed_args.state)}.\n'
                )
            return (render.BACK_COLUMNS, []), True
        self.report_back(back)
        if self.app.options.verbose_level:
            self.app.stderr.write(
                f'Sweep of tier {escaping.printable(back.journal.tier)}, '
                f'started {back.journal.started}: '
                f'{sum(one.is_back for one in back.values)} of '
                f'{len(back.values)} values are as before.\n'
            )
        if not back.is_complete:
            self.exit_status = (
                exit_status.ERROR
                if any(one.reason for one in back.values)
                else exit_status.DIFFERENT
            )
        return (
            render.BACK_COLUMNS,
            [
                render.back_row(
                    one.name,
                    one.before,
                    one.found,
                    one.outcome.value,
                    one.reason,
                )
                for one in back.values
            ],
        ), back.is_complete

    def _look(self, parsed_args: argparse.Namespace) -> cells.Shown:
        found = use_cases.look(
            connection=self._connection(),
            state=parsed_args.state,
        )
        if found is None:
            if self.app.options.verbose_level:
                self.app.stderr.write(
                    'No sweep is running, and none has left values to '
                    'restore: no journal of this cloud in '
                    f'{escaping.printable(parsed_args.state)}.\n'
                )
            return render.OPEN_COLUMNS, []
        self.exit_status = exit_status.DIFFERENT
        journal = found.journal
        self.log.warning(
            '%s',
            escaping.printable(
                f'a sweep of tier {journal.tier}, started '
                f'{journal.started} by {journal.by}, is running or was '
                f'interrupted; its results: {journal.results}; its '
                f'journal: {found.path}'
            ),
        )
        return render.OPEN_COLUMNS, [
            render.open_row(*one) for one in found.values
        ]


def _check(
    parsed_args: argparse.Namespace, *, has_faults: bool, name_of_file: str
) -> None:
    """Check arguments that argparse cannot compare.

    :param has_faults: whether --allow may also name a cluster.
    :param name_of_file: kind of the file, for messages.
    :raises errors.WrongArguments: the arguments do not fit together.
    """
    problems = []

    def problem(where: str, found: str, expected: str) -> None:
        problems.append(
            errors.Problem(
                where=where,
                found=found,
                expected=expected,
                remedy='see "openstack tier '
                f'{"fault" if has_faults else "sweep"} --help"',
            )
        )

    is_run = not (parsed_args.dry_run or parsed_args.status)
    if not parsed_args.file and not (
        parsed_args.restore or parsed_args.status
    ):
        problem('<file>', f'no {name_of_file} is given', 'its path')
    if has_faults and parsed_args.file and parsed_args.restore:
        problem(
            '--restore',
            'given together with <file>',
            'only one of them, since --allow names values or clusters',
        )
    if parsed_args.file and is_run and not parsed_args.command:
        problem(
            '<command>',
            'no measuring command',
            'a command after "--", such as -- rally task start fleet.yaml; or '
            '--dry-run',
        )
    for name in ('accept',) if has_faults else ('allow', 'accept'):
        if getattr(parsed_args, name) and not parsed_args.restore:
            problem(f'--{name}', 'given without --restore', '--restore')
    if problems:
        raise errors.WrongArguments(*map(str, problems))
