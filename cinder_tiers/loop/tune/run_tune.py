# SPDX-License-Identifier: Apache-2.0

"""Searches better options of a tier, block by block, and proposes them."""

import argparse
import collections.abc
import dataclasses
import datetime
import hashlib
import json
import os
import time
import typing


from cinder_tiers.cli import base
from cinder_tiers.cli import exit_status
from cinder_tiers.cli import interruption
from cinder_tiers.cli import lock
from cinder_tiers.cli.render import cells
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain import units
from cinder_tiers.files.tiers import edit
from cinder_tiers.files.tiers import reader
from cinder_tiers.files.tiers import writer
from cinder_tiers.files import write_atomic
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import file_reader as sweep_reader
from cinder_tiers.loop.sweep import file_results as sweep_files
from cinder_tiers.loop.sweep import preparation
from cinder_tiers.loop.sweep import record
from cinder_tiers.loop.sweep import results_argument
from cinder_tiers.loop.sweep import run_measure
from cinder_tiers.loop.sweep import sweep_command
from cinder_tiers.loop.sweep import use_cases
from cinder_tiers.loop.tune import budget as budgets
from cinder_tiers.loop.tune import decision
from cinder_tiers.loop.tune import history as histories
from cinder_tiers.loop.tune import judged as judgements
from cinder_tiers.loop.tune import measured
from cinder_tiers.loop.tune import tuning as tunings
from cinder_tiers.loop.tune import tuning_argument
from cinder_tiers.observe import cloud_id

if typing.TYPE_CHECKING:
    from cinder_tiers.loop.tune import study as studies

_PREVIEW_COLUMNS = ('Option', 'Value', 'Changes')
_COLUMNS = ('Candidate', 'Blocks', 'Gain', 'Finding', 'Reason')
#: What is proposed, in the folder of --out: the options alone, and what makes
#: the tiers file have them.
PROPOSAL, PATCH = 'proposal.yaml', 'proposal.patch'
# Blocks in a row without any figure: the command that measures is at fault.
_MOST_IN_VAIN = 3
_Candidate = tuple[int, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Space:
    """Options with the values that are tried; 0 is the tiers file's."""

    #: {place in the tiers file: values, without that of the tiers file}
    values: collections.abc.Mapping[catalogs.Path, tuple[catalogs.Value, ...]]
    #: how long the command takes for a slot
    slot_minutes: float

    def changes(
        self, candidate: _Candidate
    ) -> dict[catalogs.Path, catalogs.Value]:
        """Return the changes of a candidate."""
        return {
            place: values[number - 1]
            for (place, values), number in zip(
                self.values.items(), candidate, strict=True
            )
            if number
        }

    def groups(self, candidate: _Candidate) -> dict[str, object]:
        """Return the changes of a candidate in the form of sweep files."""
        found: dict[str, object] = {}
        for place, value in self.changes(candidate).items():
            holder: dict = found
            for key in place[2:-1]:
                if key != 'rbd':
                    holder = holder.setdefault(key, {})
            holder[place[-1]] = value
        return found


class TuningRun:
    """A run of the command."""

    def __init__(
        self,
        command: sweep_command.SweepingLister,
        parsed_args: argparse.Namespace,
    ) -> None:
        self._command = command
        self._args = parsed_args
        self._tiers = reader.read(
            parsed_args.catalog, include_root=parsed_args.include_root
        )
        self._file = sweep_reader.read_file(parsed_args.file, self._tiers)
        self._space = _space_of(self._file, parsed_args)
        # The same at each start, also of a file without a seed.
        self._seed = int(
            hashlib.sha256(self._file.text.encode()).hexdigest()[:7], 16
        )
        self._out = parsed_args.out or f'tune-{parsed_args.tier}'
        self._connection = base.connect(command)
        self._expected = {
            one.name: one.expect
            for one in self._tiers.catalog.tiers
            if one.expect
        }

    def check_command(self) -> None:
        """Refuses to begin without a command.

        :raises errors.WrongArguments: there is none.
        """
        if not self._args.command:
            raise errors.WrongArguments(
                '<command>: no measuring command; expected one after '
                '"--"; see "openstack tier tune --help"'
            )

    def preview(self) -> cells.Shown:
        """Return the search that would be made; changes nothing."""
        prepared = use_cases.prepare(
            connection=self._connection, file=self._file
        )
        outlook = self._outlook()
        self._command.announce(prepared, length=self._length(outlook))
        if not outlook.blocks:
            self._command.exit_status = exit_status.UNKNOWN
            self._command.log.warning(
                'the budget is too small: a search needs at least %d slots, '
                '%s',
                outlook.least_slots,
                units.duration_text(
                    outlook.least_slots * self._space.slot_minutes
                ),
            )
        rows = []
        for one in self._file.sweep.treatments:
            ((place, value),) = one.changes.items()
            rows.append(
                (
                    cells.printable(_option(place)),
                    cells.printable(design.text(value)),
                    cells.Words(
                        preparation.differing(prepared.plans[one.name])
                    ),
                )
            )
        return _PREVIEW_COLUMNS, rows

    @property
    def _least_percent(self) -> float:
        """A smaller gain is none."""
        return measured.least_gain_percent(
            self._args.goal, self._args.least_difference
        )

    def _outlook(self) -> budgets.Outlook:
        return budgets.outlook(
            self._args.budget / (60 * self._space.slot_minutes),
            [len(values) + 1 for values in self._space.values.values()],
            wanted_percent=self._args.wanted_difference,
            least_percent=self._least_percent,
        )

    def _length(self, outlook: budgets.Outlook) -> str:
        """Describe what the budget suffices for."""
        minutes = self._space.slot_minutes
        slots = int(self._args.budget / 60 / minutes)
        return (
            f'options: {len(self._space.values)}, combinations of their '
            f'values: {outlook.combinations}; {slots} slots of {minutes:g} '
            f'min, {units.duration_text(self._args.budget / 60)} in all: '
            'up to '
            f'{outlook.candidates} candidates in {outlook.blocks} blocks of '
            f'the search, and {outlook.reserve} slots to confirm the best\n'
        )

    def journal(self) -> str:
        """Path of the search's own journal, beside that of the sweep."""
        digest = hashlib.sha256(
            cloud_id.identity_of(self._connection).encode()
        ).hexdigest()
        try:
            write_atomic.make_folder(self._args.state)
        except OSError as error:
            raise errors.TiersError(
                f'{self._args.state} cannot be made: {error.strerror}; name '
                'another folder with --state'
            ) from error
        return os.path.join(
            self._args.state, f'tune-{digest[:16]}-{self._args.tier}.log'
        )

    def terms(self, studies: typing.Any) -> 'studies.TuningTerms':
        """Return the terms under which the search may be continued."""
        return studies.TuningTerms(
            space={
                _option(place): len(values) + 1
                for place, values in self._space.values.items()
            },
            seed=self._seed,
            least_percent=self._least_percent,
            wanted_percent=self._args.wanted_difference,
            about=json.dumps(
                [
                    self._args.goal,
                    self._tiers.text,
                    list(map(list, self._space.values.values())),
                ]
            ),
        )

    def claim_folder(self, study: 'studies.Study') -> None:
        """Makes the folder of --out, or goes on in it.

        :raises errors.TiersError: it cannot be made, or is of another tuning.
        """
        path = os.path.join(self._out, tunings.NAME)
        try:
            os.makedirs(self._out, mode=0o700, exist_ok=True)
        except OSError as error:
            raise errors.TiersError(
                f'{self._out} cannot be made: {error.strerror}; name another '
                'folder with --out'
            ) from error
        if (
            os.path.lexists(path)
            and tuning_argument.read(path).identity != study.identity
        ):
            raise errors.TiersError(
                f'Nothing was changed because {path} is of another tuning; '
                'name another folder with --out'
            )
        self._check_blocks(path, len(study.history.blocks) + 1)
        self._keep(study)

    def _check_blocks(self, path: str, number: int) -> None:
        """Refuse existing blocks that cannot be shown to be of this search.

        Those of another search with the same file would count as measured: a
        search that was started again would be over at once, with old figures.

        :param path: path of the file of the tuning.
        :param number: number of the next block.
        :raises errors.TiersError: there is such a block.
        """
        if os.path.lexists(path):
            return
        for folder in tuning_argument.block_folders(self._out, number):
            if os.path.lexists(os.path.join(folder, sweep_files.NAME)):
                raise errors.TiersError(
                    f'Nothing was changed because {folder} has results of a '
                    f'tuning, and there is no {path} that says of which; name '
                    'another folder with --out'
                )

    def _tuning(self, study: 'studies.Study') -> tunings.Tuning:
        declared = self._tiers.whole.value
        return tunings.Tuning(
            identity=study.identity,
            tier=self._args.tier,
            goal=self._args.goal,
            budget_s=float(self._args.budget),
            seed=self._seed,
            options=tuple(
                tunings.Option(
                    name=_option(place),
                    default=_declared(declared, place),
                    values=tuple(map(design.text, values)),
                )
                for place, values in self._space.values.items()
            ),
            history=study.history,
        )

    def _keep(self, study: 'studies.Study') -> None:
        """Writes what is known so far, for reports."""
        write_atomic.write(
            os.path.join(self._out, tunings.NAME),
            tunings.write(self._tuning(study)),
            replace=True,
            follows=False,
        )

    def carry_on(
        self, study: 'studies.Study', interrupt: interruption.Interrupt
    ) -> int:
        """Measures blocks until the search is over; the exit status."""
        block = study.next_block(self._slots_left(study))
        if block is not None:
            use_cases.check_closed(
                connection=self._connection, state=self._args.state
            )
            self._command.agree(
                use_cases.prepare(
                    connection=self._connection, file=self._file
                ),
                self._args,
                length=self._length(self._outlook()),
            )
        while block is not None:
            self._say_block(study, block)
            outcomes, seconds, back = self._measure(block, interrupt)
            if back is not None:
                self._command.report_back(back)
                if not back.is_complete:
                    return exit_status.DIFFERENT
            if interrupt.came:
                return exit_status.INTERRUPTED
            study.take(block, outcomes, seconds=seconds)
            self._keep(study)
            in_vain = study.history.in_vain
            if in_vain >= _MOST_IN_VAIN:
                raise errors.ActionFailed(
                    f'{in_vain} blocks in a row have no sound figure of '
                    f'{self._args.goal} beside that of the default: see '
                    f'{self._out}'
                )
            block = study.next_block(self._slots_left(study))
        return (
            exit_status.OK
            if study.history.end.is_over
            else exit_status.UNKNOWN
        )

    def _slots_left(self, study: 'studies.Study') -> float:
        history = study.history
        slots = sum(each.slots for each in history.blocks)
        slot_s = (
            history.seconds / slots
            if slots and history.seconds
            else 60 * self._space.slot_minutes
        )
        return (self._args.budget - history.seconds) / slot_s

    def _say_block(
        self, study: 'studies.Study', block: 'studies.Block'
    ) -> None:
        if self._command.app.options.verbose_level:
            words = '; '.join(map(self._tuning(study).words, block.candidates))
            self._command.app.stderr.write(
                f'block {block.number}, {block.part.value}: '
                f'{cells.printable(words)}\n'
            )

    def _measure(
        self, block: 'studies.Block', interrupt: interruption.Interrupt
    ) -> tuple[
        'list[histories.CandidateOutcome]', float, use_cases.BroughtBack | None
    ]:
        """(outcomes, seconds, what was brought back) of a block."""
        names = {_name(each): each for each in block.candidates}
        outcomes: list[histories.CandidateOutcome] = []
        before = self._measured_before(block.number, names)
        if before is not None:
            return *before, None
        began = time.monotonic()
        try:
            found, back = self._run(block.number, names, interrupt)
        except (errors.ProblemsFound, errors.Refused):
            # Nothing was changed. Each value alone can be, or the command
            # would not have begun.
            refused = self._refused(block)
            if not refused:
                raise
            for candidate, reason in refused.items():
                outcomes.append(
                    histories.CandidateOutcome(
                        candidate=candidate, gain=None, broken=(reason,)
                    )
                )
                del names[_name(candidate)]
            if not names:
                return outcomes, 0.0, None
            found, back = self._run(block.number, names, interrupt)
        return [*outcomes, *found], time.monotonic() - began, back

    def _measured_before(
        self, number: int, names: dict[str, _Candidate]
    ) -> 'tuple[list[histories.CandidateOutcome], float] | None':
        """(outcomes, seconds) of a block that is in its folder already.

        It is there if a process was ended between the last slot and its own
        journal. None: it is to be measured.
        """
        wanted, _ = self._sweep_file(number, names)
        for folder in tuning_argument.block_folders(self._out, number):
            path = os.path.join(folder, sweep_files.NAME)
            try:
                results = sweep_files.read(path)
            except errors.ProblemsFound:
                # It was ended before its first slot, or changed by hand: it
                # is measured again, in another folder.
                continue
            if (
                dataclasses.replace(wanted.sweep, slot_minutes=None)
                == results.sweep
                and len(results.records) == len(results.sweep.slots)
                and not any(
                    one.measured and one.measured.exit_status
                    for one in results.records
                )
            ):
                return self._outcomes(path, names), _seconds_of(
                    results.records
                )
        return None

    def _run(
        self,
        number: int,
        names: dict[str, _Candidate],
        interrupt: interruption.Interrupt,
    ) -> tuple['list[histories.CandidateOutcome]', use_cases.BroughtBack]:
        """Sweeps one block."""
        folder = tuning_argument.block_folder(
            self._out,
            number,
            again=len(tuning_argument.block_folders(self._out, number)) + 1,
        )
        file, text = self._sweep_file(number, names)
        _, back = use_cases.run(
            connection=self._connection,
            file=file,
            files=use_cases.Files(
                sweep_file=os.path.join(folder, 'sweep.yaml'),
                catalog_file=self._args.catalog,
                catalog_text=self._tiers.text,
                state=self._args.state,
                results=folder,
            ),
            lock=lock.of(self._args),
            agree=lambda prepared: None,
            measure=run_measure.Command(
                self._args.command,
                folder=folder,
                tier=self._args.tier,
                is_to_stop=lambda: interrupt.came,
                limit_minutes=self._file.slot_limit_minutes,
            ),
            report=self._command.report_slot,
            is_to_stop=lambda: interrupt.came,
        )
        # So that "tier sweep" can measure the block again.
        write_atomic.write(
            os.path.join(folder, 'sweep.yaml'),
            text,
            replace=True,
            follows=False,
        )
        path = os.path.join(folder, sweep_files.NAME)
        return self._outcomes(path, names), back

    def _outcomes(
        self, path: str, names: dict[str, _Candidate]
    ) -> 'list[histories.CandidateOutcome]':
        _, swept = results_argument.read(path)
        default = swept.runs(design.DEFAULT).get(1)
        found = []
        for name, candidate in names.items():
            run = swept.runs(name).get(1)
            if default is None or run is None:
                found.append(
                    histories.CandidateOutcome(candidate=candidate, gain=None)
                )
                continue
            found.append(
                histories.CandidateOutcome(
                    candidate=candidate,
                    gain=measured.gain(
                        default,
                        run,
                        tier=self._args.tier,
                        goal=self._args.goal,
                    ),
                    broken=measured.broken(default, run, self._expected),
                )
            )
        return found

    def _refused(self, block: 'studies.Block') -> dict[_Candidate, str]:
        """Combinations that cannot be, although each value alone can."""
        found = {}
        for each in block.candidates:
            try:
                file, _ = self._sweep_file(block.number, {_name(each): each})
                use_cases.prepare(connection=self._connection, file=file)
            except (errors.ProblemsFound, errors.Refused) as error:
                found[each] = f'refused: {error}'
        return found

    def _sweep_file(
        self, number: int, names: dict[str, _Candidate]
    ) -> tuple[sweep_reader.SweepFile, str]:
        """Return a block as a sweep, and its text."""
        text = json.dumps(
            {
                'version': sweep_reader.VERSION,
                'tier': self._args.tier,
                'blocks': 1,
                'seed': self._seed + number,
                'slot_minutes': self._space.slot_minutes,
                'treatments': {
                    name: self._space.groups(candidate)
                    for name, candidate in names.items()
                },
            },
            indent=2,
        )
        return sweep_reader.read_text(
            text, file=f'block {number}', tiers=self._tiers
        ), text

    def conclude(self, study: 'studies.Study') -> cells.Shown:
        """Writes what is proposed, and says so; a row of each candidate."""
        self._keep(study)
        tuning = self._tuning(study)
        proposed = tuning.history.proposed
        if proposed and tuning.history.end is histories.End.BETTER:
            self._propose(tuning, proposed)
        elif tuning.history.end.is_over:
            self._command.log.warning('%s', tuning.history.end.value)
        else:
            self._command.log.warning(
                '%s: start the command again, with more time if its budget '
                'is spent',
                tuning.history.end.value,
            )
        return _COLUMNS, [
            (
                cells.printable(one.words),
                one.blocks,
                cells.Optional(_gain(one)),
                one.finding.value,
                cells.printable(one.reason),
            )
            for one in judgements.candidates(tuning)
        ]

    def _propose(
        self, tuning: tunings.Tuning, proposed: decision.Confirmation
    ) -> None:
        path = os.path.join(self._out, PROPOSAL)
        changes = self._space.changes(proposed.candidate)
        tiers: dict[str, object] = {}
        for place, value in changes.items():
            holder: dict = tiers
            for key in place[:-1]:
                holder = holder.setdefault(key, {})
            holder[place[-1]] = value
        write_atomic.write(
            path,
            writer.lay_out(tiers, comments={}, project_names={}),
            replace=True,
            follows=False,
        )
        self._command.log.warning(
            '%s',
            cells.printable(
                f'{tuning.history.end.value}: '
                f'{tuning.words(proposed.candidate)}; {path} has it in the '
                'structure of the tiers file'
            ),
        )
        patch = os.path.join(self._out, PATCH)
        try:
            text = edit.patch(self._args.catalog, self._tiers.whole, changes)
        except edit.EditError as error:
            self._command.log.warning(
                'there is no patch, for %s', cells.printable(str(error))
            )
            return
        write_atomic.write(patch, text, replace=True, follows=False)
        if self._command.app.options.verbose_level:
            self._command.app.stderr.write(
                cells.printable(
                    f'{patch} changes the tiers file: "patch -p1" or "git '
                    'apply" in its folder, then "openstack tier plan"'
                )
                + '\n'
            )


def _space_of(
    file: sweep_reader.SweepFile, parsed_args: argparse.Namespace
) -> _Space:
    """Options and values out of the treatments, each of one value.

    :raises errors.ProblemsFound: the file is no space, or of another tier.
    """
    problems = []
    sweep = file.sweep

    def problem(found: str, expected: str, remedy: str) -> None:
        problems.append(
            errors.Problem(
                where=parsed_args.file,
                found=found,
                expected=expected,
                remedy=remedy,
            )
        )

    if sweep.tier != parsed_args.tier:
        problem(
            f'a sweep of tier {sweep.tier!r}',
            f'one of {parsed_args.tier!r}',
            'name that tier, or another file',
        )
    if sweep.slot_minutes is None:
        problem(
            'no slot_minutes',
            'how long the command takes, to divide the budget',
            'add it',
        )
    values: dict[catalogs.Path, list[catalogs.Value]] = {}
    for one in sweep.treatments:
        if one.guest or len(one.changes) != 1:
            problem(
                f'treatment {one.name}',
                'factors with vary: one_at_a_time, and no guest: the load '
                'stays what it is',
                'write the options and values as factors',
            )
            continue
        ((place, value),) = one.changes.items()
        if file.catalogs[one.name] == file.catalogs[design.DEFAULT]:
            problem(
                f'{_option(place)} {design.text(value)}, which the tiers file '
                'has',
                'other values: the one of the tiers file is tried anyway',
                'remove it',
            )
        values.setdefault(place, []).append(value)
    if problems or sweep.slot_minutes is None:
        raise errors.ProblemsFound(problems)
    return _Space(
        values={place: tuple(each) for place, each in values.items()},
        slot_minutes=sweep.slot_minutes,
    )


def _name(candidate: _Candidate) -> str:
    return 'candidate-' + '-'.join(map(str, candidate))


def _gain(found: judgements.Judged) -> str | None:
    """A gain for people; None: there is none."""
    values = (
        (found.gain_percent,)
        if found.low_percent is None
        else (found.low_percent, found.high_percent)
    )
    if None in values:
        return None
    return ' to '.join(f'{each:+.1f} %' for each in values)


def _option(place: catalogs.Path) -> str:
    """The name of an option, as it stands below the tier."""
    return '.'.join(map(str, place[2:]))


def _declared(value: typing.Any, place: catalogs.Path) -> str:
    """A value of the tiers file as text; empty: it is not there."""
    for key in place:
        value = value.get(key) if isinstance(value, dict) else None
    return '' if value is None else design.text(value)


def _seconds_of(
    records: collections.abc.Sequence[record.SlotRecord],
) -> float:
    """Return the seconds from the first slot's start to the last one's end."""
    first, last = (
        datetime.datetime.fromisoformat(each)
        for each in (records[0].started, records[-1].ended)
    )
    return max(0.0, (last - first).total_seconds())
