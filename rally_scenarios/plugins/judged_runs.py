# SPDX-License-Identifier: Apache-2.0

"""Base of SLAs that judge result files: one verdict for each run.

Each kind of SLA gives the verdict on a result; this module finds the results,
and joins the verdicts in one text.
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
    """Verdict on one iteration."""

    passed: bool
    #: what it is called
    name: str
    #: what was found; of a bad run, what is bad in it
    texts: tuple[str, ...]


class JudgedRunsSLA(sla.SLA):
    """An SLA that judges the result file of each run."""

    def __init__(self, criterion_value: Mapping[str, Any]) -> None:
        """Create the SLA; nothing is judged yet.

        :param criterion_value: configuration in the task
        """
        super().__init__(criterion_value)
        self._judged: list[JudgedRun] = []

    @abc.abstractmethod
    def judge(self, result: run_result.RunResult) -> JudgedRun:
        """The verdict on one run."""

    def add_iteration(self, iteration: Mapping[str, Any]) -> bool:
        """Judge one run.

        :param iteration: iteration from Rally's runner
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
        """Describe the verdict on each run, bad runs first."""
        ranked = sorted(self._judged, key=lambda each: each.passed)
        return harmless.cleaned(
            ' | '.join(
                f'{each.name}: {" | ".join(each.texts)}' for each in ranked
            )
            or 'no run was judged'
        )
