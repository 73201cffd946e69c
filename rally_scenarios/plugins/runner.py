# SPDX-License-Identifier: Apache-2.0

"""Refuses runners that would measure several fleets against each other.

A run has the tiers to itself, one after another: that is what its figures are
of.  With two iterations at once each fleet measures the other one, too, and
nothing in either result says so.  Any runner but serial has processes of its
own, which from Python 3.14 on do not have Rally's plugins: no iteration runs.
"""

from collections.abc import Mapping
from typing import Any

from rally.common import validation

from rally_scenarios.plugins import task_validator

NAME = 'cinder_tiers_runner'


@validation.configure(name=NAME)
class RunnerValidator(task_validator.TaskValidator):
    """Refuses a workload of another runner than serial."""

    def check(self, workload: Mapping[str, Any], plugin_cfg: object) -> None:
        """Look at the runner.

        :param workload: configuration of the workload
        :param plugin_cfg: not used
        :raises ValueError: it is not serial
        """
        kind = workload.get('runner_type') or 'serial'
        if kind != 'serial':
            raise ValueError(
                f'runner {kind}: expected serial: fleets at the same time'
                ' would disturb the measurements of each other; for more'
                ' guests at a time, set guests_per_tier'
            )
