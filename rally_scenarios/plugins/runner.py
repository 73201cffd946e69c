# SPDX-License-Identifier: Apache-2.0

"""Refuses runners that would measure several fleets against each other.

A run has the tiers to itself, one after another: that is what its figures are
of.  With two iterations at once each fleet measures the other one, too, and
nothing in either result says so.  Any runner but serial has processes of its
own, which have Rally's plugins only where Python forks them by default, up to
3.13; elsewhere no iteration would run.
"""

from collections.abc import Mapping
import multiprocessing
from typing import Any

from rally.common import validation

from rally_scenarios.plugins import task_validator

# That run one iteration after another by default.
_ONE_BY_ONE = ('serial', 'constant', 'constant_for_duration')
NAME = 'cinder_tiers_runner'


@validation.configure(name=NAME)
class RunnerValidator(task_validator.TaskValidator):
    """Refuses a workload whose iterations run at the same time."""

    def check(self, workload: Mapping[str, Any], plugin_cfg: object) -> None:
        """Look at the runner.

        :param workload: configuration of the workload
        :param plugin_cfg: not used
        :raises ValueError: iterations could run at the same time, or not at
            all
        """
        kind = workload.get('runner_type') or 'serial'
        runner = workload.get('runner') or {}
        if kind not in _ONE_BY_ONE:
            raise ValueError(
                f'runner {kind}: its iterations may run at the same time, and'
                ' their fleets would measure each other: expected'
                f' {", ".join(_ONE_BY_ONE)}'
            )
        concurrency = runner.get('concurrency', 1)
        if concurrency != 1:
            raise ValueError(
                f'runner {kind} with concurrency {concurrency}: that many '
                'fleets would disturb the measurements of each other: '
                'expected concurrency 1; for more guests at a time, set '
                'guests_per_tier'
            )
        (by_default, *_) = multiprocessing.get_all_start_methods()
        if kind != 'serial' and by_default != 'fork':
            raise ValueError(
                f'runner {kind}: its processes would not have the plugins of'
                ' Rally with this Python, and no iteration would run: expected'
                ' serial'
            )
