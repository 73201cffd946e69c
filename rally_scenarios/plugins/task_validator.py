# SPDX-License-Identifier: Apache-2.0

"""Base of validators of a task: Rally's interface, and common refusals."""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import inspect
import math
import types
from typing import Any
from typing import get_args
from typing import get_origin

import jsonschema
from rally.common import validation
import typing_extensions

from cinder_tiers.domain import errors
from cinder_tiers.domain import spelling

_MOST_UNKNOWN = 20


class TaskValidator(validation.Validator):
    """A validator that is told by an exception what is wrong with a task."""

    #: What ``check`` raises when the task is wrong; others are our mistakes.
    WRONG: tuple[type[Exception], ...] = (errors.ProblemsFound, ValueError)

    def check(self, workload: Mapping[str, Any], plugin_cfg: object) -> None:
        """Check a workload, or the configuration of the plugin.

        :param workload: configuration of the workload; empty if Rally gives
            none, as for the validators of SLAs
        :param plugin_cfg: configuration of the plugin in the task
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
        :param plugin_cfg: configuration of the plugin in the task
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


def fits(schema: Mapping[str, Any], config: object) -> bool:
    """Return whether a configuration is valid; Rally reports a wrong one."""
    return jsonschema.Draft7Validator(schema).is_valid(config)


def _not_finite(value: object, place: str) -> Iterator[str]:
    """Yield the numbers of a task that are .nan or .inf.

    No bound of a schema refuses .nan, so that a limit of .nan would hold.

    :param value: value from YAML: a scalar, or a mapping or list of values
    :param place: path to the value, with a dot between names
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

    def validate(
        self,
        context: object,
        config: Mapping[str, Any] | None,
        plugin_cls: type,
        plugin_cfg: object,
    ) -> None:
        """Have Rally refuse the task if an argument cannot be read.

        :param plugin_cls: the scenario, whose ``run`` has the arguments
        :raises validation.ValidationError: the task is wrong
        """
        wrong = list(_wrong_arguments((config or {}).get('args'), plugin_cls))
        if wrong:
            self.fail('\n'.join(wrong))
        super().validate(context, config, plugin_cls, plugin_cfg)


def _wrong_arguments(args: object, scenario: type) -> Iterator[str]:
    """Yield arguments or fields that are unknown, missing or of another kind.

    :param scenario: scenario whose ``run`` has type hints
    """
    parameters = inspect.signature(scenario.run).parameters.values()
    hints = typing_extensions.get_type_hints(scenario.run)
    yield from _wrong_fields(
        args or {},
        place='args',
        hints={
            each.name: hints.get(each.name, Any)
            for each in parameters
            if each.name != 'self'
        },
        required=[
            each.name
            for each in parameters
            if each.default is each.empty and each.name != 'self'
        ],
    )


def _wrong_fields(
    value: object,
    *,
    place: str,
    hints: Mapping[str, object],
    required: Collection[str],
) -> Iterator[str]:
    """Compare a mapping with the fields that it may have, and those below.

    :param place: names of the fields around it
    :param hints: {field: its type}
    """
    if not isinstance(value, Mapping):
        yield f'{place}: found {str(value)[:60]!r}, expected a mapping'
        return
    unknown = [str(name)[:60] for name in value if name not in hints]
    if unknown:
        words = ', '.join(
            f'{name!r} ({near.strip()})'
            if (near := spelling.did_you_mean(name, hints))
            else repr(name)
            for name in unknown[:_MOST_UNKNOWN]
        )
        more = len(unknown) - _MOST_UNKNOWN
        yield (
            f'{place}: unknown field{"s" if len(unknown) > 1 else ""} {words}'
            f'{f" and {more} more" if more > 0 else ""}; fields: '
            f'{", ".join(hints)}'
        )
    for name in required:
        if name not in value:
            yield f'{place}: the field {name!r} is missing'
    for name, hint in hints.items():
        if value.get(name) is not None:
            yield from _wrong_values(value[name], hint, f'{place}.{name}')


def _wrong_values(value: object, hint: object, place: str) -> Iterator[str]:
    """Compare a value with its type, as far as it holds fields."""
    options = [each for each in get_args(hint) if each is not types.NoneType]
    if isinstance(hint, types.UnionType) and len(options) == 1:
        yield from _wrong_values(value, options[0], place)
    elif get_origin(hint) is list:
        if not isinstance(value, list):
            yield f'{place}: found {str(value)[:60]!r}, expected a list'
            return
        for number, each in enumerate(value):
            yield from _wrong_values(each, options[0], f'{place}[{number}]')
    elif typing_extensions.is_typeddict(hint):
        yield from _wrong_fields(
            value,
            place=place,
            hints=typing_extensions.get_type_hints(hint),
            required=sorted(hint.__required_keys__),
        )
