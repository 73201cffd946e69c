# SPDX-License-Identifier: Apache-2.0

"""Refuses runners that would measure several fleets against each other.

A run has the tiers to itself, one after another: that is what its figures are
of.  With two iterations at once each fleet measures the other one, too, and
nothing in either result says so.
"""

from collections.abc import Mapping
from typing import Any

from rally.common import validation

# That run one iteration after another by default.
_ONE_BY_ONE = ('serial', 'constant', 'constant_for_duration')
NAME = 'cinder_tiers_runner'


@validation.configure(name=NAME)
class RunnerValidator(validation.Validator):
    """Refuses a workload whose iterations run at the same time."""

    def validate(
        self,
        context: object,
        config: Mapping[str, Any] | None,
        plugin_cls: object,
        plugin_cfg: object,
    ) -> None:
        """Look at the runner.

        :param context: not used
        :param config: configuration of the workload
        :param plugin_cls: not used
        :param plugin_cfg: not used
        """
        kind = (config or {}).get('runner_type') or 'serial'
        runner = (config or {}).get('runner') or {}
        if kind not in _ONE_BY_ONE:
            self.fail(
                f'runner {kind}: its iterations may run at the same time, and'
                ' their fleets would measure each other: expected'
                f' {", ".join(_ONE_BY_ONE)}'
            )
        concurrency = runner.get('concurrency', 1)
        if concurrency != 1:
            self.fail(
                f'runner {kind} with concurrency {concurrency}: so many fleets'
                ' would be measured against each other: expected concurrency'
                ' 1; for more guests at a time, set guests_per_tier'
            )
