# SPDX-License-Identifier: Apache-2.0

"""The search of a tuning, which can be ended at any point and goes on.

Here is which candidates are proposed and share a block, which are measured
again, when the search ends and what is confirmed.  All of it is in Optuna's
journal, one file, and each proposal depends on nothing else: so a search that
was ended goes on as if it had not been.

A block is the default and some candidates.  It has two parts: first candidates
are searched, then those that look best are confirmed on fresh blocks.  Must
not know what is measured.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
from dataclasses import dataclass
import fcntl
import itertools
import math
import os
import random
import secrets
import stat
import statistics

import optuna
from optuna.storages import journal

from cinder_tiers.domain import errors
from cinder_tiers.domain import record
from cinder_tiers.loop.tune import budget
from cinder_tiers.loop.tune import decision
from cinder_tiers.loop.tune import expected
from cinder_tiers.loop.tune import history as histories

# Proposals for a block, and those by what is expected, before chance looks for
# what is left; if all are known, the space is, too.
_MOST_ASKED, _MOST_EXPECTED = 50, 20
# The gain that stands for a broken constraint: half as good as the default.
_GAIN_OF_BROKEN = -math.log(2)
# Names within the journal. Each block has an attribute of its own: all of
# them in one would be written again with each block.
_BLOCK, _ABOUT, _ID = 'block {}', 'about', 'id'
_FINALISTS, _PLANNED = 'finalists', 'planned'
#: More than a tuning of weeks writes.
MAX_SIZE_BYTES = 64 * 2**20
# What a file of another kind, or one that was changed by hand, leads to.
_NOT_OURS = (
    *(ValueError, LookupError, TypeError, AttributeError, AssertionError),
    *(ArithmeticError, RecursionError),
)

#: Makes a sampler of Optuna out of a seed.
MakeSampler = Callable[[int], optuna.samplers.BaseSampler]


class StudyError(errors.LinesError, ValueError):
    """A journal that is not of this tuning; the message says why."""


class StudyInUseError(StudyError):
    """Another process has the journal."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """The default and some candidates, measured close together in time."""

    #: from 1
    number: int
    part: histories.BlockPurpose
    #: without the default
    candidates: tuple[decision.Candidate, ...]

    @property
    def slots(self) -> int:
        """Number of its measurements."""
        return len(self.candidates) + 1


@dataclass(frozen=True, kw_only=True)
class TuningTerms:
    """Terms of a tuning, which stay fixed."""

    #: {option: number of its values, with that of the tiers file}
    space: Mapping[str, int]
    seed: int
    #: a smaller gain is none
    least_percent: float = 0.0
    #: the gain that is to be seen
    wanted_percent: float = 10.0
    #: what else it is about, such as goal and values; a file of another
    #: tuning is refused by it
    about: str = ''


class _HeldAlready:
    """The lock that Optuna asks for: `opened` has a better one."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


@contextlib.contextmanager
def opened(path: str) -> Iterator[optuna.storages.BaseStorage]:
    """Open the journal of a tuning, for this process alone.

    Only its owner can read it. A torn last line, of a process that was killed
    while it wrote, is removed.

    :param path: path of the file, which is created if necessary
    :raises StudyInUseError: another process uses it
    :raises StudyError: it is not such a journal
    :raises OSError: it cannot be opened
    """
    handle = os.open(
        path,
        os.O_RDWR
        | os.O_CREAT
        | os.O_CLOEXEC
        | os.O_NOFOLLOW
        # Not to wait for the other end of a pipe.
        | os.O_NONBLOCK,
        0o600,
    )
    with open(handle, 'r+b', buffering=0) as stream:
        try:
            # The kernel releases it, also after a kill.
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StudyInUseError('another process has locked it') from error
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise StudyError('is not a regular file')
        if found.st_size > MAX_SIZE_BYTES:
            raise StudyError(
                f'has {found.st_size} bytes, and at most {MAX_SIZE_BYTES} '
                'were expected'
            )
        content = stream.read()
        whole = content.rfind(b'\n') + 1
        if whole < len(content):
            stream.truncate(whole)
        try:
            storage = optuna.storages.JournalStorage(
                journal.JournalFileBackend(path, lock_obj=_HeldAlready())
            )
        except _NOT_OURS as error:
            raise StudyError(f'cannot be read: {error}') from error
        yield storage


def _first(terms: TuningTerms) -> tuple[decision.Candidate, ...]:
    """Return the candidates with which a search begins.

    Each value is in one candidate of a Latin hypercube, or it might not be
    tried while the budget lasts.  Between these are as many candidates that
    change one option: they show what only helps alone, or is hidden by another
    value that harms.
    """
    # Not for secrets: it must be the same at each start.
    draw = random.Random(f'latin {terms.seed}')  # noqa: S311
    columns = []
    for count in terms.space.values():
        values = list(range(1, count))
        draw.shuffle(values)
        columns.append(values)
    most = max(map(len, columns))
    together = [
        tuple(values[row % len(values)] for values in columns)
        for row in range(most)
    ]
    alone = [
        tuple(value * (place == at) for at in range(len(columns)))
        for place, values in enumerate(columns)
        for value in values
    ]
    draw.shuffle(alone)
    return tuple(
        dict.fromkeys(
            itertools.chain.from_iterable(zip(together, alone, strict=False))
        )
    )


class Study:
    """A tuning, resumed from its journal.

    :param storage: result of `opened`; None: in memory only
    :param make_sampler: makes a sampler of Optuna that proposes all
        candidates, to compare searches; None proposes those that may be best
    :raises StudyError: the journal is of another tuning, or not of a tuning
    """

    def __init__(
        self,
        storage: optuna.storages.BaseStorage | None,
        terms: TuningTerms,
        *,
        make_sampler: MakeSampler | None = None,
    ) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._terms = terms
        self._make_sampler = make_sampler
        self._distributions = {
            option: optuna.distributions.CategoricalDistribution(range(count))
            for option, count in terms.space.items()
        }
        self._first = () if make_sampler else _first(terms)
        try:
            self._study = optuna.create_study(
                storage=storage,
                study_name='tune',
                direction='maximize',
                load_if_exists=True,
            )
            #: what the sampler is to be told of the last block
            self._untold: list[int] = []
            self._history = self._begun(repr(dataclasses.astuple(terms)))
            self._settle()
        except StudyError:
            raise
        except _NOT_OURS as error:
            raise StudyError(f'cannot be read: {error}') from error

    def _begun(self, about: str) -> histories.History:
        """Return the history in the journal.

        :raises StudyError: it is of another tuning
        """
        found = self._study.user_attrs
        if found.get(_ABOUT, about) != about:
            raise StudyError(
                'is of a tuning with other options, values, goal or seed'
            )
        if _ABOUT not in found:
            self._study.set_user_attr(_ABOUT, about)
        if _ID not in found:
            self._study.set_user_attr(_ID, secrets.token_hex(8))
        if not self._study.get_trials(deepcopy=False):
            # The default is trial 0: its gain is 0 by definition.
            self._study.add_trial(
                optuna.trial.create_trial(
                    params=dict.fromkeys(self._distributions, 0),
                    distributions=self._distributions,
                    value=0.0,
                )
            )
        blocks: list[histories.Taken] = []
        while (key := _BLOCK.format(len(blocks) + 1)) in found:
            blocks.append(record.read(histories.Taken, found[key]['taken']))
            self._untold = list(map(int, found[key]['trials']))
        read = record.read(
            histories.History,
            {
                'blocks': [],
                'finalists': found.get(_FINALISTS),
                'planned': found.get(_PLANNED, 0),
                'least_percent': self._terms.least_percent,
            },
        )
        read = dataclasses.replace(read, blocks=tuple(blocks))
        read.check(tuple(self._terms.space.values()))
        for trial in self._study.get_trials(deepcopy=False):
            if trial.distributions and not (
                trial.distributions.items() <= self._distributions.items()
            ):
                raise StudyError(
                    'has values that do not belong to this tuning'
                )
        return read

    @property
    def identity(self) -> str:
        """Identity of this tuning, unique even among equal tunings."""
        return str(self._study.user_attrs[_ID])

    @property
    def history(self) -> histories.History:
        """Measurements so far, and their findings."""
        return self._history

    def next_block(self, slots_left: float) -> Block | None:
        """Return the block to measure next; None if the tuning is over.

        Without an outcome in between, the next call returns the same block,
        also in another process after a kill.

        :param slots_left: slots that remain of the budget
        """
        number = len(self.history.blocks) + 1
        pending = []
        for trial in self._trials(optuna.trial.TrialState.RUNNING):
            if self._is_whole(trial):
                pending.append(trial)
            else:  # a process was killed while it was asked for
                self._study.tell(
                    trial.number, state=optuna.trial.TrialState.FAIL
                )
        if self.history.finalists is None:
            if pending or self._is_search_affordable(slots_left):
                candidates = tuple(self._search(pending))
                if candidates:
                    return Block(
                        number=number,
                        part=histories.BlockPurpose.SEARCH,
                        candidates=candidates,
                    )
            if not self.history.gains:
                return None  # with more time, it may begin
            self._end_search(slots_left)
        elif self.history.may_be_planned:
            self._plan(slots_left)
        candidates = self.history.to_confirm
        if not candidates or not self.history.blocks_left:
            return None
        return Block(
            number=number,
            part=histories.BlockPurpose.CONFIRM,
            candidates=candidates,
        )

    def take(
        self,
        block: Block,
        outcomes: Iterable[histories.CandidateOutcome],
        *,
        seconds: float,
    ) -> None:
        """Record the outcomes of a block.

        :param outcomes: outcome of each candidate of the block
        :param seconds: duration of the block
        """
        taken = histories.Taken(
            part=block.part, seconds=seconds, outcomes=tuple(outcomes)
        )
        running = [
            trial.number
            for trial in self._trials(optuna.trial.TrialState.RUNNING)
        ]
        # One line of the journal: it is taken, or it is not.
        self._study.set_user_attr(
            _BLOCK.format(len(self._history.blocks) + 1),
            {'taken': record.plain(taken), 'trials': running},
        )
        self._history = dataclasses.replace(
            self._history, blocks=(*self._history.blocks, taken)
        )
        self._untold = running
        self._settle()

    def _settle(self) -> None:
        """Pass the last block to the sampler, unless it was passed before."""
        if not self._untold:
            return
        outcomes = {
            each.candidate: each for each in self._history.blocks[-1].outcomes
        }
        for trial in self._trials(optuna.trial.TrialState.RUNNING):
            if trial.number in self._untold:
                self._tell(trial, outcomes[self._candidate(trial)])
        self._untold = []

    def _trials(
        self, state: optuna.trial.TrialState
    ) -> list[optuna.trial.FrozenTrial]:
        return self._study.get_trials(deepcopy=False, states=(state,))

    def _candidate(
        self, trial: optuna.trial.FrozenTrial | optuna.Trial
    ) -> decision.Candidate:
        return tuple(trial.params[option] for option in self._distributions)

    def _is_whole(self, trial: optuna.trial.FrozenTrial) -> bool:
        return trial.params.keys() == self._distributions.keys()

    def _params(self, candidate: decision.Candidate) -> dict[str, int]:
        return dict(zip(self._distributions, candidate, strict=True))

    def _is_search_affordable(self, slots_left: float) -> bool:
        return budget.is_search_affordable(
            slots_left,
            budget.reserve(
                self.history.gains,
                wanted_percent=self._terms.wanted_percent,
                least_percent=self._terms.least_percent,
            ),
        )

    def _blocks_to_confirm(self, candidates: int) -> int:
        return decision.blocks_to_confirm(
            self.history.gains,
            candidates=max(1, candidates),
            wanted_percent=self._terms.wanted_percent,
            least_percent=self._terms.least_percent,
        )

    def _end_search(self, slots_left: float) -> None:
        chosen = self._effects().best(broken=self.history.broken)
        self._study.set_user_attr(_FINALISTS, chosen)
        self._history = dataclasses.replace(self._history, finalists=chosen)
        self._plan(slots_left)

    def _plan(self, slots_left: float) -> None:
        """Decides how many blocks confirm, by the time that is left."""
        found = self.history
        done = sum(
            each.part is histories.BlockPurpose.CONFIRM
            for each in found.blocks
        )
        count = len(found.to_confirm)
        planned = min(
            self._blocks_to_confirm(count),
            done + max(0, int(slots_left / (count + 1))),
        )
        if planned != found.planned:
            self._study.set_user_attr(_PLANNED, planned)
            self._history = dataclasses.replace(found, planned=planned)

    def _search(
        self, pending: Sequence[optuna.trial.FrozenTrial]
    ) -> list[decision.Candidate]:
        waiting = list(pending)
        found: list[decision.Candidate] = []
        measured = decision.by_candidate(self.history.gains)
        # The same for all proposals of the block.
        effects = self._effects() if measured else None
        for asked in range(_MOST_ASKED):
            if len(found) >= budget.CANDIDATES:
                break
            trial = (
                waiting.pop(0)
                if waiting
                else self._ask(effects if asked < _MOST_EXPECTED else None)
            )
            candidate = self._candidate(trial)
            gains = measured.get(candidate, ())
            if decision.is_default(candidate):
                self._study.tell(trial.number, 0.0)
            elif (
                len(gains) >= budget.MEASUREMENTS
                and candidate not in self.history.broken
            ):
                # The sampler learns it once more; it takes no time.
                self._study.tell(trial.number, statistics.fmean(gains))
            elif candidate in self.history.broken or candidate in found:
                self._study.tell(
                    trial.number, state=optuna.trial.TrialState.FAIL
                )
            else:
                found.append(candidate)
        return found

    def _effects(self) -> expected.ExpectedEffects:
        found, broken = self.history.gains, self.history.broken
        return expected.effects(
            [
                *(each for each in found if each.candidate not in broken),
                *(
                    decision.Gain(
                        candidate=each, gain=_GAIN_OF_BROKEN, block=-number
                    )
                    for number, each in enumerate(broken, 1)
                ),
            ],
            tuple(self._terms.space.values()),
            variation_percent=decision.variation_percent(found),
        )

    def _ask(self, effects: expected.ExpectedEffects | None) -> optuna.Trial:
        """Propose a candidate.

        :param effects: effects by which it may be best; None: a random
            candidate
        """
        whole = [
            trial
            for trial in self._study.get_trials(deepcopy=False)
            if self._is_whole(trial)
        ]
        # Of the seed and the number alone, so that it is the same again.
        seed = (self._terms.seed * 1_000_003 + len(whole)) % 2**32
        if not self._make_sampler and not self._trials(
            optuna.trial.TrialState.WAITING
        ):
            asked = set(map(self._candidate, whole))
            # What was asked once stays asked.
            self._first = tuple(
                each for each in self._first if each not in asked
            )
            if self._first:
                self._study.enqueue_trial(self._params(self._first[0]))
            elif effects is not None:
                self._study.enqueue_trial(self._params(effects.drawn(seed)))
        self._study.sampler = (
            self._make_sampler or optuna.samplers.RandomSampler
        )(seed)
        return self._study.ask(self._distributions)

    def _tell(
        self,
        trial: optuna.trial.FrozenTrial,
        outcome: histories.CandidateOutcome,
    ) -> None:
        if outcome.gain is None:
            self._study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(trial.number, outcome.gain)
