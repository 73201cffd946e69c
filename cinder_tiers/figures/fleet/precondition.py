# SPDX-License-Identifier: Apache-2.0

"""Writing in rounds until it is steady, before anything is measured.

New flash, and flash that was idle, takes writes faster than it can in the long
run: what is measured first is then not what a tier gives.  Each guest writes
rounds before it says that it is ready, and stops when its last ones are steady
(``stats.rounds``) or when it has written the most of them.

Pure.  What guests say of it is read with suspicion.
"""

from dataclasses import dataclass

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.protocol import frames
from cinder_tiers.figures.stats import rounds

MOST_ROUNDS = 100
# fio's own start and end, in each round; under emulation 1 to 2 s.
_SECONDS_AROUND = 2


@dataclass(frozen=True, kw_only=True)
class Precondition:
    """Writes of guests before the first turn."""

    #: what fio does in a round; it writes
    pattern: fio_pattern.Pattern
    #: length of a round
    round_seconds: int
    #: rounds, at most
    most_rounds: int

    def __post_init__(self) -> None:
        """Check all fields.

        :raises ValueError: names every wrong field
        """
        wrong = []
        if self.pattern.rw not in ('write', 'randwrite'):
            wrong.append(
                f'rw {self.pattern.rw!r}: expected write or randwrite'
            )
        if self.round_seconds < 1:
            wrong.append(
                f'round_seconds {self.round_seconds}: expected at least 1'
            )
        if not rounds.WINDOW <= self.most_rounds <= MOST_ROUNDS:
            wrong.append(
                f'most_rounds {self.most_rounds}: expected {rounds.WINDOW},'
                f' which are judged, to {MOST_ROUNDS}'
            )
        if wrong:
            raise ValueError(f'precondition: {"; ".join(wrong)}')

    @property
    def seconds(self) -> int:
        """Return the maximum duration of all rounds."""
        return self.most_rounds * (self.round_seconds + _SECONDS_AROUND)

    @property
    def least_seconds(self) -> int:
        """Return the duration of the fewest rounds that can be steady."""
        return rounds.WINDOW * (self.round_seconds + _SECONDS_AROUND)


@dataclass(frozen=True, kw_only=True)
class Preconditioned:
    """Writes of one guest before the first turn."""

    #: KiB of each round, in order of time
    rounds_kib: tuple[int, ...]
    #: whether the last rounds were steady
    is_steady: bool
    #: as a sentence, with the figures
    reason: str


def told(console: frames.GuestConsole) -> Preconditioned | None:
    """Parse a guest's report of its rounds.

    Whether they were steady is judged here, regardless of the guest's report.

    :param console: text heard from the guest
    :returns: None without rounds
    """
    found: dict[int, int] = {}
    for event in console.events:
        number, kib = event.integer('round'), event.integer('kib')
        if (
            event.name == 'ROUND'
            and number is not None
            and kib is not None
            and 1 <= number <= MOST_ROUNDS
            and kib >= 0
        ):
            found.setdefault(number, kib)
    if not found:
        return None
    values = tuple(found[number] for number in sorted(found))
    if sorted(found) != list(range(1, len(found) + 1)):
        return Preconditioned(
            rounds_kib=values,
            is_steady=False,
            reason=f'{len(found)} rounds up to round {max(found)} arrived',
        )
    verdict = rounds.judge(values)
    return Preconditioned(
        rounds_kib=values,
        is_steady=verdict.is_steady,
        reason=verdict.reason,
    )
