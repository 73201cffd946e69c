# SPDX-License-Identifier: Apache-2.0

"""Measures a slot while its faults are made. Must not know Ceph."""

import collections.abc
import dataclasses
import typing

from cinder_tiers.domain import errors
from cinder_tiers.loop.fault import fault as faults
from cinder_tiers.loop.fault import timeline
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import record


class MeasuringCommand(typing.Protocol):
    """A command that measures, such as `measure.Command`."""

    def announcement(self, slot: design.TreatmentSlot) -> str:
        """Path of the file in which the command may announce a moment."""

    def __call__(
        self,
        slot: design.TreatmentSlot,
        treatment: design.Treatment,
        while_running: collections.abc.Callable[[], None],
    ) -> record.MeasuredSlot:
        """Measures one slot, and calls what is to be called meanwhile."""


class Measure:
    """Measures each slot with the same faults.

    :param command: command that measures.
    :param targets: targets of the faults.
    :param means: executes the faults.
    :param read_announcement: returns the moment announced in a file; None: not
        yet.
    :param is_to_stop: called while waiting for health; True ends the wait.
    """

    def __init__(
        self,
        command: MeasuringCommand,
        *,
        made: faults.Faults,
        targets: tuple[faults.Target, ...],
        means: timeline.FaultMeans,
        read_announcement: collections.abc.Callable[[str], float | None],
        is_to_stop: collections.abc.Callable[[], bool],
    ) -> None:
        self._command = command
        self._made = made
        self._targets = targets
        self._means = means
        self._read_announcement = read_announcement
        self._is_to_stop = is_to_stop

    def __call__(
        self, slot: design.TreatmentSlot, treatment: design.Treatment
    ) -> record.MeasuredSlot:
        """Measures one slot.

        :raises errors.ActionFailed: the cluster is not in order before it, or
            a fault cannot be undone.
        :raises errors.TiersError: the command cannot be started, or Ceph does
            not answer.
        """
        found = self._means.health()
        if not found.is_ok:
            raise errors.ActionFailed(
                f'The sweep was stopped because the cluster has {found}, '
                'so no fault can be injected; see "ceph health detail"'
            )
        line = timeline.Timeline(
            self._targets,
            means=self._means,
            counts_from=self._made.counts_from,
            announced=lambda: self._read_announcement(
                self._command.announcement(slot)
            ),
        )
        try:
            measured = self._command(slot, treatment, line.step)
        finally:
            line.finish()
        line.wait_for_health(
            60 * self._made.recovery_minutes, is_to_stop=self._is_to_stop
        )
        return dataclasses.replace(measured, faults=line.records)
