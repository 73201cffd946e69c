# SPDX-License-Identifier: Apache-2.0

"""Runs the command that measures a slot of a sweep.

The environment tells it which slot it is. Its standard output goes to
standard error, since the result of the sweep is on standard output. Must not
know what is measured.
"""

import collections.abc
import json
import os
import subprocess
import sys
import time
import typing

from cinder_tiers.domain import errors
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import record

#: Names of the variables begin with it.
PREFIX = 'CINDER_TIERS_SWEEP_'
_LOOK_EVERY_S = 0.5
# That a command which took too long may take to end.
_END_S = 60.0


class Command:
    """Measures each slot with a command.

    :param words: words of the command; no shell reads them.
    :param folder: folder of the results.
    :param tier: name of the measured tier.
    :param is_to_stop: called while the command runs; once True, the command
        gets SIGTERM, and its end is awaited.
    :param said: receives the output of the command; a file with a descriptor.
    :param limit_minutes: minutes after which the command counts as hung, as on
        a host that is gone; None: never.
    """

    def __init__(
        self,
        words: collections.abc.Sequence[str],
        *,
        folder: str,
        tier: str,
        is_to_stop: collections.abc.Callable[[], bool] = lambda: False,
        said: typing.IO | None = None,
        limit_minutes: float | None = None,
    ) -> None:
        self._words = tuple(words)
        self._folder = folder
        self._tier = tier
        self._is_to_stop = is_to_stop
        self._said = said
        self._limit_minutes = limit_minutes

    def announcement(self, slot: design.TreatmentSlot) -> str:
        """Path of the file in which the command may announce a moment."""
        return f'{self._stem(slot)}.begin'

    def _stem(self, slot: design.TreatmentSlot) -> str:
        return os.path.join(os.path.abspath(self._folder), slot.stem)

    def __call__(
        self,
        slot: design.TreatmentSlot,
        treatment: design.Treatment,
        while_running: collections.abc.Callable[[], None] = lambda: None,
    ) -> record.MeasuredSlot:
        """Measures one slot.

        :param while_running: is called twice in a second.
        :raises errors.TiersError: the command cannot be started, or takes
            longer than its limit.
        """
        result = f'{self._stem(slot)}.json'
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own command
                self._words,
                stdin=subprocess.DEVNULL,
                stdout=self._said or sys.__stderr__,
                env={
                    **os.environ,
                    **variables(self._tier, slot, treatment),
                    f'{PREFIX}RESULT': result,
                    f'{PREFIX}BEGIN': self.announcement(slot),
                },
            )
        except OSError as error:
            raise errors.ActionFailed(
                f'The command that measures, {self._words[0]!r}, cannot be '
                f'started: {error.strerror}'
            ) from error
        began = time.monotonic()
        with process:
            is_told = False
            while True:
                try:
                    status = process.wait(_LOOK_EVERY_S)
                    break
                except subprocess.TimeoutExpired:
                    while_running()
                    if self._is_to_stop() and not is_told:
                        is_told = True
                        process.terminate()
                    if self._is_late(time.monotonic() - began):
                        _end(process)
                        # What it has started may still load the tier.
                        raise errors.ActionFailed(
                            'The sweep was stopped because the command of '
                            f'slot {slot.number} did not end within '
                            f'{self._limit_minutes:g} min '
                            '(slot_limit_minutes); check that nothing that '
                            'it started still runs'
                        ) from None
        return record.MeasuredSlot(
            exit_status=status,
            result_file=result if os.path.exists(result) else None,
        )

    def _is_late(self, seconds: float) -> bool:
        return (
            self._limit_minutes is not None
            and seconds > 60 * self._limit_minutes
        )


def _end(process: subprocess.Popen) -> None:
    """Ends a command that took too long, whatever it does."""
    process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()


def variables(
    tier: str, slot: design.TreatmentSlot, treatment: design.Treatment
) -> dict[str, str]:
    """The variables that tell a command which slot it measures."""
    return {
        f'{PREFIX}TIER': tier,
        f'{PREFIX}SLOT': str(slot.number),
        f'{PREFIX}BLOCK': str(slot.block),
        f'{PREFIX}TREATMENT': slot.treatment,
        f'{PREFIX}GUEST': json.dumps(dict(treatment.guest)),
    }
