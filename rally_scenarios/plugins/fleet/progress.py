# SPDX-License-Identifier: Apache-2.0

"""Progress of a run, in log lines for people.

The collector logs the guests' own words at the level DEBUG.
"""

from collections.abc import Collection

from oslo_log import log as logging

from cinder_tiers.figures.fleet import duration
from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.protocol import frames

LOG = logging.getLogger(__name__)

# Of events that every guest has once: what they mean.
_PHASES = {
    'BOOT': 'have booted',
    'PREPARED': 'have prepared their disks',
}


def part_done(what: str, number: int, of: int) -> None:
    """Log how many of many things are done, ten times in all.

    :param what: action that is repeated
    :param number: number of the last one that is done, from 0
    :param of: number of all
    """
    if 10 * (number + 1) // of > 10 * number // of:
        LOG.info('%s: %d of %d', what, number + 1, of)


class RunProgress:
    """Logs when all guests reached a phase, and the current turn."""

    def __init__(
        self, plan: schedule.Schedule, guests: Collection[str]
    ) -> None:
        """Create the progress before guests have reported anything.

        :param plan: schedule of the maximum number of repeats
        :param guests: names of all guests of the fleet
        """
        self._plan = plan
        self._slots = {slot.number: slot for slot in plan.slots}
        self._guests = frozenset(guests)
        self._reached: dict[str, set[str]] = {name: set() for name in _PHASES}
        self._last_slot = -1

    def hear(self, guest: str, event: frames.Event) -> None:
        """Take in what a guest has said."""
        if event.name in _PHASES:
            self._reach(event.name, guest)
        elif event.name == 'START':
            self._begin(event.integer('slot'))

    def _reach(self, phase: str, guest: str) -> None:
        reached = self._reached[phase]
        if guest in reached or guest not in self._guests:
            return
        reached.add(guest)
        if len(reached) == len(self._guests):
            LOG.info('All %d guests %s', len(reached), _PHASES[phase])

    def _begin(self, number: int | None) -> None:
        # Guests are read one after another: a turn is news only once.
        if number not in self._slots or number <= self._last_slot:
            return
        self._last_slot = number
        slot = self._slots[number]
        LOG.info(
            'Turn %d of %d: %s on %s%s; about %s left',
            number + 1,
            len(self._slots),
            slot.pattern.name,
            slot.tier,
            f', repeat {slot.repeat} of {self._plan.repeats}'
            if self._plan.repeats > 1
            else '',
            duration.in_words(self._plan.seconds - slot.begin_seconds),
        )
