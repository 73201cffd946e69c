# SPDX-License-Identifier: Apache-2.0

"""What validators of a task share: Rally's interface, and what is refused."""

from collections.abc import Iterator
from collections.abc import Mapping
import math
from typing import Any

from rally.common import validation

from cinder_tiers.domain import errors


class TaskValidator(validation.Validator):
    """A validator that is told by an exception what is wrong with a task."""

    #: What ``check`` raises when the task is wrong; others are our mistakes.
    WRONG: tuple[type[Exception], ...] = (errors.ProblemsFound, ValueError)

    def check(self, workload: Mapping[str, Any], plugin_cfg: object) -> None:
        """Look at a workload, or at what configures the plugin.

        :param workload: configuration of the workload; empty where Rally
            gives none, as to the validators of SLAs
        :param plugin_cfg: what the task asks of the plugin
        :raises Exception: one of ``WRONG``; its text becomes Rally's message
        """
        raise NotImplementedError

    def validate(
        self,
        context: object,
        config: Mapping[str, Any] | None,
        plugin_cls: object,
        plugin_cfg: object,
    ) -> None:
        """Have Rally refuse the task if ``check`` raises.

        :param context: not used
        :param config: configuration of the workload, or None
        :param plugin_cls: not used
        :param plugin_cfg: what the task asks of the plugin
        :raises validation.ValidationError: the task is wrong
        """
        wrong = [
            *_not_finite((config or {}).get('args'), 'args'),
            *_not_finite(plugin_cfg, ''),
        ]
        if wrong:
            self.fail('\n'.join(wrong))
        try:
            self.check(config or {}, plugin_cfg)
        except self.WRONG as error:
            self.fail(str(error))


def _not_finite(value: object, place: str) -> Iterator[str]:
    """Say which numbers of a task are .nan or .inf.

    No bound of a schema refuses .nan, so that a limit of it would hold.

    :param value: of YAML: a scalar, or a mapping or list of values
    :param place: names of the mappings around it, with a dot between them
    """
    if isinstance(value, float) and not math.isfinite(value):
        yield f'{place}: found {value}, expected a finite number'
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _not_finite(each, f'{place}.{name}'.lstrip('.'))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _not_finite(each, f'{place}[{number}]')


class ArgumentsValidator(TaskValidator):
    """A validator of the arguments of a scenario, which may be anything."""

    WRONG = (
        errors.ProblemsFound,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
    )
