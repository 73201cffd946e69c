# SPDX-License-Identifier: Apache-2.0

"""What SLAs that judge result files have in common: one verdict for each run.

An SLA of a kind gives the verdict on a result; where that is from, and how
many of them become one text, is here.
"""

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rally.task import sla

from cinder_tiers.figures.result import result as run_result
from rally_scenarios.plugins.report import harmless
from rally_scenarios.plugins.results import reference
from rally_scenarios.plugins import servers


@dataclass(frozen=True)
class JudgedRun:
    """One iteration."""

    passed: bool
    #: what it is called
    name: str
    #: what was found; of a bad run, what is bad in it
    texts: tuple[str, ...]


class JudgedRunsSLA(sla.SLA):
    """An SLA that judges the result file of each run."""

    def __init__(self, criterion_value: Mapping[str, Any]) -> None:
        """Nothing is judged yet.

        :param criterion_value: what the task says
        """
        super().__init__(criterion_value)
        self._judged: list[JudgedRun] = []

    @abc.abstractmethod
    def judge(self, result: run_result.RunResult) -> JudgedRun:
        """The verdict on one run."""

    def add_iteration(self, iteration: Mapping[str, Any]) -> bool:
        """Judge one run.

        :param iteration: as Rally's runner gives it
        :returns: whether all runs so far are good
        """
        try:
            judged = self.judge(
                reference.result(iteration['output']['complete'])
            )
        except servers.FleetError as error:
            why = ': '.join(map(str, iteration['error'][:2]))
            judged = JudgedRun(
                False,
                'a run without figures',
                (f'{error}; it failed with {why}' if why else str(error),),
            )
        return self._add([judged])

    def _add(self, judged: list[JudgedRun]) -> bool:
        self._judged += judged
        self.success = all(each.passed for each in self._judged)
        return self.success

    def merge(self, other: 'JudgedRunsSLA') -> bool:
        """Take over what another one judged.

        :returns: whether all runs so far are good
        """
        return self._add(other._judged)

    def details(self) -> str:
        """What was found in each run, bad runs first."""
        ranked = sorted(self._judged, key=lambda each: each.passed)
        return harmless.cleaned(
            ' | '.join(
                f'{each.name}: {" | ".join(each.texts)}' for each in ranked
            )
            or 'no run was judged'
        )
