# SPDX-License-Identifier: Apache-2.0

"""Progress of a repair, as lines for people."""

import collections.abc

from cinder_tiers.domain import units
from cinder_tiers.loop.repair import carry_out
from cinder_tiers.loop.repair import repair
from cinder_tiers.loop.repair import repair_rows


class Progress:
    """Progress of a repair, without its refused steps.

    :param clock: seconds on a clock that never goes back.
    """

    def __init__(
        self,
        steps: collections.abc.Iterable[repair.RepairStep],
        clock: collections.abc.Callable[[], float],
    ) -> None:
        to_do = [one for one in steps if not one.refusal]
        self._total = len(to_do)
        self._ended = 0
        self._left_gib = sum(one.moved_gib for one in to_do)
        self._ended_gib = 0
        self._clock = clock
        self._begun_s = clock()

    def of_result(self, result: carry_out.StepResult) -> str:
        """A line for a result."""
        step = result.step
        where = ''
        if not step.refusal:
            self._ended += 1
            self._ended_gib += step.moved_gib
            self._left_gib -= step.moved_gib
            where = f'{self._ended} of {self._total}{self._time_left()}: '
        return (
            f'{where}volume {step.volume.volume_id}: '
            f'{repair_rows.text(step)}: {result.outcome.value}'
            + (f': {result.reason}' if result.reason else '')
        )

    def _time_left(self) -> str:
        """Words for the time that what is left takes, at the pace so far."""
        if not self._ended_gib:
            return ''
        minutes = (self._clock() - self._begun_s) / 60
        left = minutes * self._left_gib / self._ended_gib
        return f', about {units.duration_text(left)} left' if left >= 1 else ''
