# SPDX-License-Identifier: Apache-2.0

"""The search of a tuning, which can be ended at any point and goes on.

Optuna proposes candidates; here is which of them share a block, which are
measured again, when the search ends and what is confirmed.  All of it is in
Optuna's journal, one file, and each proposal depends on nothing else: so a
search that was ended goes on as if it had not been.

A block is the default and some candidates.  It has two parts: first candidates
are searched, then those that look best are confirmed on fresh blocks.  Must
not know what is measured.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from dataclasses import dataclass
import enum
import fcntl
import os
import random
import statistics
import warnings

import optuna
from optuna.storages import journal

from rally_scenarios.bench.tune import decision

#: Of one block of the search, beside the default.
CANDIDATES = 3
#: Of one candidate in the search, at most: so often the one that leads is
#: measured before it is believed.
_MEASUREMENTS = 3
# Candidates by chance, before there is anything to learn from.
_STARTUP = 8
# Proposals for a block; if all are known, the space is, too.
_MOST_ASKED = 50
_BLOCKS, _BROKEN, _ABOUT = 'blocks', 'broken', 'about'
_FINALISTS, _PLANNED = 'finalists', 'planned'

#: Makes a sampler of Optuna out of a seed.
MakeSampler = Callable[[int], optuna.samplers.BaseSampler]


class StudyError(ValueError):
    """A file that is not of this tuning; the message says why."""


class Part(enum.Enum):
    """What a block is for."""

    SEARCH = 'search'
    CONFIRM = 'confirm'


@dataclass(frozen=True, kw_only=True)
class Block:
    """The default and some candidates, measured close together in time."""

    #: from 1
    number: int
    part: Part
    #: without the default
    candidates: tuple[decision.Candidate, ...]

    @property
    def slots(self) -> int:
        """Of its measurements."""
        return len(self.candidates) + 1


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a candidate in a block."""

    #: natural logarithm; None: it has no sound figure beside the default
    gain: float | None
    #: constraints that it breaks, in words
    broken: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A block that is over."""

    number: int
    part: Part
    #: of its candidates
    outcomes: Mapping[decision.Candidate, Outcome]
    #: that it took
    seconds: float

    @property
    def slots(self) -> int:
        """Of its measurements, with that of the default."""
        return len(self.outcomes) + 1


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a tuning is held to."""

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


class _KernelLock:
    """A lock that a process that was killed does not leave behind."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._handle = -1

    def acquire(self) -> bool:
        self._handle = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        fcntl.flock(self._handle, fcntl.LOCK_EX)
        return True

    def release(self) -> None:
        os.close(self._handle)


def _storage(path: str) -> optuna.storages.BaseStorage:
    """The journal, readable by its owner only, without a torn last line."""
    handle = os.open(
        path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
    )
    with open(handle, 'r+b') as stream:
        content = stream.read()
        whole = content.rfind(b'\n') + 1
        if whole < len(content):
            # A process was killed, or the host, while it wrote.
            stream.truncate(whole)
    return optuna.storages.JournalStorage(
        journal.JournalFileBackend(path, lock_obj=_KernelLock(path))
    )


def tpe(seed: int) -> optuna.samplers.BaseSampler:
    """Optuna's sampler that learns, and knows of constraints."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', optuna.exceptions.ExperimentalWarning)
        return optuna.samplers.TPESampler(
            seed=seed,
            n_startup_trials=_STARTUP,
            # Those of the same block must not all be the same.
            constant_liar=True,
        )


def by_chance(seed: int) -> optuna.samplers.BaseSampler:
    """The sampler to compare with: it does not learn."""
    return optuna.samplers.RandomSampler(seed=seed)


def _latin(terms: Terms) -> tuple[decision.Candidate, ...]:
    """So few candidates that each value of each option is in one of them.

    Without them, a value may not be tried at all while the budget lasts.
    """
    # Not for secrets: it must be the same at each start.
    draw = random.Random(f'latin {terms.seed}')  # noqa: S311
    columns = []
    for count in terms.space.values():
        values = list(range(1, count))
        draw.shuffle(values)
        columns.append(values)
    most = max(map(len, columns))
    return tuple(
        tuple(values[row % len(values)] for values in columns)
        for row in range(most)
    )


class Study:
    """One tuning, from its file on.

    :param path: of the journal; None: in memory only
    :param covers: whether the first candidates have each value once, a Latin
        hypercube; else they are of the sampler, too
    :raises StudyError: the file is of another tuning, or of none
    """

    def __init__(
        self,
        path: str | None,
        terms: Terms,
        *,
        make_sampler: MakeSampler = tpe,
        covers: bool = True,
    ) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._terms = terms
        self._make_sampler = make_sampler
        self._distributions = {
            option: optuna.distributions.CategoricalDistribution(range(count))
            for option, count in terms.space.items()
        }
        self._first = _latin(terms) if covers else ()
        about = repr(dataclasses.astuple(terms))
        try:
            self._study = optuna.create_study(
                storage=_storage(path) if path else None,
                study_name='tune',
                direction='maximize',
                load_if_exists=True,
            )
            found = self._study.user_attrs.get(_ABOUT)
        except (
            *(ValueError, KeyError, TypeError),
            *(AttributeError, AssertionError),
        ) as error:
            raise StudyError(f'{path} cannot be read: {error}') from error
        if found not in (None, about):
            raise StudyError(
                f'{path} is of a tuning with other options, values, goal or '
                f'seed'
            )
        if found is None:
            self._study.set_user_attr(_ABOUT, about)
        if not self._study.get_trials(deepcopy=False):
            # The default is trial 0: its gain is 0 by definition.
            self._study.add_trial(
                optuna.trial.create_trial(
                    params=dict.fromkeys(self._distributions, 0),
                    distributions=self._distributions,
                    value=0.0,
                )
            )

        self._settle()

    @property
    def blocks(self) -> tuple[Taken, ...]:
        """Those that are over, in their order."""
        return tuple(
            Taken(
                number=number,
                part=Part(each['part']),
                seconds=each['seconds'],
                outcomes={
                    tuple(candidate): Outcome(gain=gain, broken=tuple(broken))
                    for candidate, gain, broken in each['outcomes']
                },
            )
            for number, each in enumerate(self._taken, 1)
        )

    @property
    def _taken(self) -> list[dict]:
        return self._study.user_attrs.get(_BLOCKS, [])

    @property
    def seconds(self) -> float:
        """Spent on blocks so far."""
        return float(sum(each['seconds'] for each in self._taken))

    def _gains(self, part: Part) -> tuple[decision.Gain, ...]:
        return tuple(
            decision.Gain(candidate=candidate, gain=outcome.gain)
            for block in self.blocks
            if block.part is part
            for candidate, outcome in block.outcomes.items()
            if outcome.gain is not None
        )

    @property
    def gains(self) -> tuple[decision.Gain, ...]:
        """Of all measurements of the search, in their order."""
        return self._gains(Part.SEARCH)

    @property
    def broken(self) -> dict[decision.Candidate, tuple[str, ...]]:
        """{candidate that breaks a constraint: which, in words}."""
        return {
            candidate: outcome.broken
            for block in self.blocks
            for candidate, outcome in block.outcomes.items()
            if outcome.broken
        }

    @property
    def finalists(self) -> tuple[decision.Candidate, ...] | None:
        """Candidates to be confirmed; None: the search is not over."""
        found = self._study.user_attrs.get(_FINALISTS)
        return None if found is None else tuple(map(tuple, found))

    @property
    def confirmed(self) -> dict[decision.Candidate, list[float]]:
        """{candidate to be confirmed: its gains in fresh blocks}."""
        gains = decision.by_candidate(self._gains(Part.CONFIRM))
        return {each: gains.get(each, []) for each in self.finalists or ()}

    @property
    def confirmations(self) -> tuple[decision.Confirmation, ...]:
        """What fresh blocks say of the candidates."""
        return decision.confirm(
            {
                candidate: gains
                for candidate, gains in self.confirmed.items()
                if candidate not in self.broken
            },
            least_percent=self._terms.least_percent,
        )

    def next_block(self, slots_left: float) -> Block | None:
        """What is to be measured next; None: it is over.

        Asked again without an answer, or by another process after a kill, it
        is the same.

        :param slots_left: how many slots the budget still has
        """
        number = len(self.blocks) + 1
        pending = []
        for trial in self._trials(optuna.trial.TrialState.RUNNING):
            if self._is_whole(trial):
                pending.append(trial)
            else:  # a process was killed while it was asked for
                self._study.tell(
                    trial.number, state=optuna.trial.TrialState.FAIL
                )
        if self.finalists is None:
            if pending or slots_left >= CANDIDATES + 1 + self._reserve():
                candidates = tuple(self._search(pending))
                if candidates:
                    return Block(
                        number=number,
                        part=Part.SEARCH,
                        candidates=candidates,
                    )
            if not self.gains:
                return None  # with more time, it may begin
            self._end_search(slots_left)
        left = self._study.user_attrs[_PLANNED] - sum(
            each.part is Part.CONFIRM for each in self.blocks
        )
        candidates = tuple(
            each for each in self.finalists if each not in self.broken
        )
        if not candidates or left <= 0:
            return None
        return Block(number=number, part=Part.CONFIRM, candidates=candidates)

    def take(
        self,
        block: Block,
        outcomes: Mapping[decision.Candidate, Outcome],
        *,
        seconds: float,
    ) -> None:
        """Takes what became of a block.

        :param outcomes: of each candidate of the block
        :param seconds: that it took
        """
        # One line of the journal: it is taken, or it is not.
        self._study.set_user_attr(
            _BLOCKS,
            [
                *self._taken,
                {
                    'part': block.part.value,
                    'seconds': seconds,
                    'trials': [
                        trial.number
                        for trial in self._trials(
                            optuna.trial.TrialState.RUNNING
                        )
                    ],
                    'outcomes': [
                        (candidate, each.gain, each.broken)
                        for candidate, each in outcomes.items()
                    ],
                },
            ],
        )
        self._settle()

    def _settle(self) -> None:
        """Tells the sampler of the last block, if it was not told."""
        if not self._taken:
            return
        outcomes = self.blocks[-1].outcomes
        for trial in self._trials(optuna.trial.TrialState.RUNNING):
            if trial.number in self._taken[-1]['trials']:
                self._tell(trial, outcomes[self._candidate(trial)])

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

    def _reserve(self) -> int:
        """Slots that are kept for the confirmation."""
        return self._blocks_to_confirm(decision.MOST_FINALISTS) * (
            decision.MOST_FINALISTS + 1
        )

    def _blocks_to_confirm(self, candidates: int) -> int:
        return decision.blocks_to_confirm(
            self.gains,
            candidates=max(1, candidates),
            wanted_percent=self._terms.wanted_percent,
            least_percent=self._terms.least_percent,
        )

    def _end_search(self, slots_left: float) -> None:
        chosen = decision.finalists(self.gains, broken=self.broken)
        planned = min(
            self._blocks_to_confirm(len(chosen)),
            int(slots_left / (len(chosen) + 1)),
        )
        # In this order: one that was ended between is asked again.
        self._study.set_user_attr(_PLANNED, planned)
        self._study.set_user_attr(_FINALISTS, chosen)

    def _search(
        self, pending: Sequence[optuna.trial.FrozenTrial]
    ) -> list[decision.Candidate]:
        if not pending:
            self._enqueue_leader()
        waiting = list(pending)
        found: list[decision.Candidate] = []
        measured = decision.by_candidate(self.gains)
        for _ in range(_MOST_ASKED):
            if len(found) >= CANDIDATES:
                break
            trial = waiting.pop(0) if waiting else self._ask()
            candidate = self._candidate(trial)
            gains = measured.get(candidate, ())
            if decision.is_default(candidate):
                self._study.tell(trial.number, 0.0)
            elif len(gains) >= _MEASUREMENTS and candidate not in self.broken:
                # The sampler learns it once more; it takes no time.
                self._study.tell(trial.number, statistics.fmean(gains))
            elif candidate in self.broken or candidate in found:
                self._study.tell(
                    trial.number, state=optuna.trial.TrialState.FAIL
                )
            else:
                found.append(candidate)
        return found

    def _enqueue_leader(self) -> None:
        """Has the candidate that leads measured again, if it was rarely."""
        lead = decision.leader(self.gains, broken=self.broken)
        measured = decision.by_candidate(self.gains).get(lead, ())
        if (
            lead is not None
            and len(measured) < _MEASUREMENTS
            and not self._trials(optuna.trial.TrialState.WAITING)
        ):
            self._study.enqueue_trial(self._params(lead))

    def _ask(self) -> optuna.Trial:
        if not self._trials(optuna.trial.TrialState.WAITING):
            asked = {
                self._candidate(trial)
                for trial in self._study.get_trials(deepcopy=False)
                if self._is_whole(trial)
            }
            for candidate in self._first:
                if candidate not in asked:
                    self._study.enqueue_trial(self._params(candidate))
                    break
        number = sum(
            map(self._is_whole, self._study.get_trials(deepcopy=False))
        )
        # Of the seed and the number alone, so that it is the same again.
        self._study.sampler = self._make_sampler(
            (self._terms.seed * 1_000_003 + number) % 2**32
        )
        with warnings.catch_warnings():
            warnings.simplefilter(
                'ignore', optuna.exceptions.ExperimentalWarning
            )
            return self._study.ask(self._distributions)

    def _tell(self, trial: optuna.trial.FrozenTrial, outcome: Outcome) -> None:
        if outcome.broken:
            live = optuna.trial.Trial(self._study, trial._trial_id)
            live.set_constraint(_BROKEN, 1.0)
        if outcome.gain is None:
            self._study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(trial.number, outcome.gain)
