# SPDX-License-Identifier: Apache-2.0

"""A tuning in a file: what was searched, what was measured, what it says.

The file may come from anywhere: it is checked when it is read.  Pure.
"""

from dataclasses import dataclass

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain import record
from cinder_tiers.loop.tune import decision
from cinder_tiers.loop.tune import history as histories

VERSION = 1
KIND = 'tuning'
#: In the folder of results.
NAME = 'tune.json'
MAX_SIZE_BYTES = 16 * 2**20


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option with the values that are tried."""

    #: as in the tiers file, below the tier
    name: str
    #: in the tiers file; empty: it is not there
    default: str
    #: others, in their order
    values: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """A tuning, as far as it has come."""

    #: of this tuning; one that begins anew has another
    identity: str
    tier: str
    #: the quantity that is to be better
    goal: str
    #: seconds for all slots
    budget_s: float
    seed: int
    options: tuple[Option, ...]
    history: histories.History

    def words(self, candidate: decision.Candidate) -> str:
        """Describe the changes of a candidate, such as osd_max_backfills=4.

        An option is named by its last key, unless another one has the same.
        """
        short = [each.name.rpartition('.')[2] for each in self.options]
        return ' '.join(
            f'{name if short.count(name) == 1 else each.name}='
            f'{each.values[number - 1]}'
            for name, each, number in zip(
                short, self.options, candidate, strict=True
            )
            if number
        )


def write(tuning: Tuning) -> str:
    """The text of the file."""
    return record.dumps(tuning, indent=1, version=VERSION, kind=KIND)


def read(text: str | bytes) -> Tuning:
    """Reads the text of the file.

    :raises ValueError: it is not of a tuning, or contradicts itself; all
        that is wrong
    """
    found = record.loads(Tuning, text, version=VERSION, kind=KIND)
    found.history.check([len(each.values) + 1 for each in found.options])
    if expectations.find_quantity(found.goal) is None:
        raise ValueError(
            f'goal {found.goal[:80]!r}: expected one of '
            f'{expectations.QUANTITIES_EXPECTED}'
        )
    return found
