# SPDX-License-Identifier: Apache-2.0

"""The expectations of a tier: limits of what fio measures in guests.

For each fio pattern, by name, limits by name: `iops_min: 500`. Pure. Must not
know who measures, nor where expectations are written.
"""

import collections.abc
import dataclasses
import math
import re

from cinder_tiers.domain import spelling

#: {name of a fio pattern: {name of a limit: its value}}.
Expectations = collections.abc.Mapping[
    str, collections.abc.Mapping[str, float]
]

#: Names of patterns, as fio profiles have them. They become words of a shell
#: script, file names and table cells.
PATTERN = re.compile(r'[a-z0-9][a-z0-9.-]{0,39}', re.ASCII)
#: Names of limits of percentiles.
PERCENTILE = re.compile(r'p([1-9][0-9]?(?:\.[0-9]{1,3})?)_ms_max', re.ASCII)

#: What can be limited, and its unit: of all guests of the tier together,
#: unless the name says otherwise.
_UNITS = {
    'iops': 'IOPS',
    'mib_per_s': 'MiB/s',
    # Of the guest that got least (min), or most (max).
    'guest_iops': 'IOPS',
    'mean_ms': 'ms',
    # Jain's index of the guests' IOPS, 1 if all got the same.
    'fairness': '',
}
#: Names of limits, without those of percentiles.
NAMES = (
    'iops_min',
    'iops_max',
    'mib_per_s_min',
    'mib_per_s_max',
    'guest_iops_min',
    'guest_iops_max',
    'mean_ms_max',
    'fairness_min',
)
#: What a percentile's name looks like, for messages.
PERCENTILE_EXAMPLE = 'p99_ms_max'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limit:
    """A limit by its name."""

    #: What is limited: a key of the units, or `p99_ms` and the like.
    quantity: str
    #: `IOPS`, `MiB/s` or `ms`; empty for a plain number.
    unit: str
    #: Whether the value is the least allowed, not the greatest.
    is_least: bool
    #: 1 or more, less than 100; None when it is not a percentile.
    percent: float | None = None


def find(name: str) -> Limit | None:
    """The limit of a name; None when there is none of that name.

    >>> find('p99.9_ms_max').percent, find('iops_min').is_least
    (99.9, True)
    """
    found = PERCENTILE.fullmatch(name)
    if found:
        return Limit(
            quantity=f'p{found[1]}_ms',
            unit='ms',
            is_least=False,
            percent=float(found[1]),
        )
    if name not in NAMES:
        return None
    quantity, _, side = name.rpartition('_')
    return Limit(
        quantity=quantity, unit=_UNITS[quantity], is_least=side == 'min'
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fault:
    """Something wrong with expectations."""

    #: Keys from the expectations on.
    path: tuple[str, ...]
    found: str
    expected: str
    remedy: str


def faults(expected: object) -> collections.abc.Iterator[Fault]:
    """All that is wrong with what should be expectations.

    :param expected: any plain value, as YAML or JSON has it.
    """
    if not isinstance(expected, collections.abc.Mapping):
        yield _no_mapping(expected, (), 'a mapping of fio patterns')
        return
    for pattern, limits in expected.items():
        path = (str(pattern),)
        if not isinstance(pattern, str) or not PATTERN.fullmatch(pattern):
            yield Fault(
                path=path,
                found=f'pattern {str(pattern)[:60]!r}',
                expected="up to 40 lower case letters, digits, '.' or '-', "
                'the first a letter or digit',
                remedy='rename it',
            )
        elif not isinstance(limits, collections.abc.Mapping):
            yield _no_mapping(limits, path, 'a mapping of limits')
        else:
            yield from _faults_of_limits(limits, path)


def _no_mapping(value: object, path: tuple[str, ...], expected: str) -> Fault:
    return Fault(
        path=path,
        found=f'found {str(value)[:60]!r}',
        expected=expected,
        remedy='fix it',
    )


def _faults_of_limits(
    limits: collections.abc.Mapping,
    path: tuple[str, ...],
) -> collections.abc.Iterator[Fault]:
    sound: dict[str, float] = {}
    for name, value in limits.items():
        at = (*path, str(name))
        limit = find(name) if isinstance(name, str) else None
        if limit is None:
            near = spelling.did_you_mean(str(name)[:60], NAMES)
            yield Fault(
                path=at,
                found=f'unknown limit {str(name)[:60]!r}',
                expected=f'one of {", ".join(NAMES)}, or a percentile such '
                f'as {PERCENTILE_EXAMPLE}',
                remedy=f'{near}fix or remove it',
            )
            continue
        most = 1 if limit.quantity == 'fairness' else math.inf
        if (
            not isinstance(value, int | float)
            or isinstance(value, bool)
            or not (0 < value <= most and math.isfinite(value))
        ):
            yield Fault(
                path=at,
                found=f'{name} is {str(value)[:60]}',
                expected='a number greater than 0'
                + (' and at most 1' if most == 1 else ''),
                remedy='fix it',
            )
            continue
        sound[name] = value
    for name, least in sound.items():
        most_name = name.removesuffix('_min') + '_max'
        if name != most_name and least > sound.get(most_name, math.inf):
            yield Fault(
                path=(*path, name),
                found=(
                    f'{name} {least} is greater '
                    f'than {most_name} {sound[most_name]}'
                ),
                expected='a value that is not greater',
                remedy='fix one of them',
            )
