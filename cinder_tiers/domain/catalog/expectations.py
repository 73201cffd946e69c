# SPDX-License-Identifier: Apache-2.0

"""The expectations of a tier: limits of what fio measures in guests.

Each fio pattern has limits by name: `iops_min: 500`. Pure. Must not know who
measures, nor where expectations are written.
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
#: Part of a mixed load that a limit may be about, before its name and `_`.
DIRECTIONS = ('read', 'write')
#: In place of a direction: the calls that make writes durable.
SYNC = 'sync'


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Metric:
    """A figure that can be limited."""

    #: Unit of the values; empty for a plain number.
    unit: str
    #: `min` for a least value, `max` for a greatest value.
    bounds: tuple[str, ...] = ('max',)
    #: Whether there is also a figure of reads and one of writes.
    has_directions: bool = True
    #: Whether it is one figure of all guests, by which tiers can be compared.
    is_compared: bool = True


#: Figures of all guests of the tier together, unless noted. Percentiles, which
#: are not listed, are those of completion latencies.
_METRICS = {
    'iops': _Metric(unit='IOPS', bounds=('min', 'max')),
    'mib_per_s': _Metric(unit='MiB/s', bounds=('min', 'max')),
    # Of the guest with the lowest (min), or the highest (max) value.
    'guest_iops': _Metric(
        unit='IOPS',
        bounds=('min', 'max'),
        has_directions=False,
        is_compared=False,
    ),
    # From the submission of an I/O to its completion (fio's clat).
    'mean_ms': _Metric(unit='ms'),
    # From the time when an I/O is due to its completion (fio's lat).
    'lat_mean_ms': _Metric(unit='ms'),
    'lat_longest_ms': _Metric(unit='ms'),
    # Jain's index of the guests' IOPS, 1 if all got the same.
    'fairness': _Metric(
        unit='', bounds=('min',), has_directions=False, is_compared=False
    ),
}
_PERCENTILE = _Metric(unit='ms')
_PERCENT = r'([1-9][0-9]?(?:\.[0-9]{1,3})?)'
_PERCENTILE_METRIC = f'p{_PERCENT}_ms'
# Reached or exceeded in so many percent of the seconds, all guests together:
# clouds promise 90 % of the IOPS that are sold for 99 % of the time.
_OF_TIME = _Metric(
    unit='IOPS', bounds=('min',), has_directions=False, is_compared=False
)
_OF_TIME_METRIC = f'iops_{_PERCENT}_percent_of_time'

#: Names of limits, without those of percentiles and of one direction.
NAMES = tuple(
    f'{name}_{bound}'
    for name, metric in _METRICS.items()
    for bound in metric.bounds
)
_DIRECTED = tuple(
    f'{name}_{bound}'
    for name, metric in _METRICS.items()
    if metric.has_directions
    for bound in metric.bounds
)
#: All names of limits.
NAME = re.compile(
    f'(?:(?:{"|".join(DIRECTIONS)})_)?'
    f'(?:{"|".join(_DIRECTED)}|{_PERCENTILE_METRIC}_max)'
    f'|{SYNC}_(?:mean_ms|{_PERCENTILE_METRIC})_max'
    f'|{"|".join(name for name in NAMES if name not in _DIRECTED)}'
    f'|{_OF_TIME_METRIC}_min',
    re.ASCII,
)
_METRIC_OF_PERCENTILE = re.compile(_PERCENTILE_METRIC, re.ASCII)
_METRIC_OF_TIME = re.compile(_OF_TIME_METRIC, re.ASCII)
#: Description of names of limits, for messages.
NAMES_EXPECTED = (
    f'{", ".join(NAMES)}, a percentile such as p99_ms_max or '
    'p99.9_ms_max, or IOPS in so many percent of the seconds such as '
    'iops_99_percent_of_time_min; those of latency, iops and mib_per_s also '
    'of one direction, such as write_p99_ms_max; percentiles and mean_ms_max '
    'also of fdatasync and fsync, such as sync_p99_ms_max'
)
#: Description of names of compared quantities, for messages. Documentation
#: reads the help text as RST, so no name may end with `_`.
QUANTITIES_EXPECTED = (
    ', '.join(name for name, metric in _METRICS.items() if metric.is_compared)
    + ', or a percentile such as p99_ms; of reads or writes alone such as '
    'read_iops or write_p99_ms, or of syncs such as sync_p99_ms'
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limit:
    """A limit, parsed from its name."""

    #: Limited figure: `iops`, `p99_ms` and the like.
    metric: str
    #: `IOPS`, `MiB/s` or `ms`; empty for a plain number.
    unit: str
    #: Whether the value is a minimum, else a maximum.
    is_least: bool
    #: Percentile, from 1 to less than 100, or None.
    percent: float | None = None
    #: `read`, `write`, `sync`, or None for reads and writes together.
    direction: str | None = None
    #: From 1 to less than 100 if the value holds for this percentage of the
    #: seconds; None for the whole run.
    time_percent: float | None = None

    @property
    def quantity(self) -> str:
        """The limit's name without its bound: `p99_ms`, `write_iops`."""
        return (
            f'{self.direction}_{self.metric}'
            if self.direction
            else (self.metric)
        )


def find(name: str) -> Limit | None:
    """Return the limit with a name, or None.

    >>> find('p99.9_ms_max').percent, find('iops_min').is_least
    (99.9, True)
    >>> find('iops_99_percent_of_time_min').time_percent
    99.0
    >>> find('write_lat_mean_ms_max').direction
    'write'
    """
    if not NAME.fullmatch(name):
        return None
    metric, _, bound = name.rpartition('_')
    direction, _, rest = metric.partition('_')
    is_directed = direction in (*DIRECTIONS, SYNC)
    if is_directed:
        metric = rest
    percentile = _METRIC_OF_PERCENTILE.fullmatch(metric)
    of_time = _METRIC_OF_TIME.fullmatch(metric)
    return Limit(
        metric=metric,
        unit=_metric(metric).unit,
        is_least=bound == 'min',
        percent=float(percentile[1]) if percentile else None,
        direction=direction if is_directed else None,
        time_percent=float(of_time[1]) if of_time else None,
    )


def limit(name: str) -> Limit:
    """Return the limit with a name.

    :param name: name of a limit, see `find`
    :raises ValueError: there is no limit with that name
    """
    found = find(name)
    if found is None:
        raise ValueError(f'limit {name[:60]!r}: expected {NAMES_EXPECTED}')
    return found


def _metric(name: str) -> _Metric:
    if _METRIC_OF_TIME.fullmatch(name):
        return _OF_TIME
    return _METRICS.get(name, _PERCENTILE)


def find_quantity(name: str) -> Limit | None:
    """Return a quantity by which tiers can be compared, as its limit.

    The limit has the unit; `is_least` says that more is better.

    :param name: name of a limit without its bound, such as `iops`,
        `read_p99_ms`
    :returns: limit; None if there is none, or if it is not one figure of all
        guests

    >>> find_quantity('write_iops').is_least, find_quantity('fairness')
    (True, None)
    """
    limit = find(f'{name}_min') or find(f'{name}_max')
    if limit is None or not _metric(limit.metric).is_compared:
        return None
    return limit


def quantity(name: str) -> Limit:
    """Return the quantity with a name, as its limit.

    :param name: name of a quantity, see `find_quantity`
    :raises ValueError: there is no quantity with that name
    """
    found = find_quantity(name)
    if found is None:
        raise ValueError(
            f'quantity {name[:60]!r}: expected {QUANTITIES_EXPECTED}'
        )
    return found


def of_directions(
    names: collections.abc.Iterable[str],
    directions: collections.abc.Collection[str],
) -> tuple[str, ...]:
    """Return names of quantities, restricted to each of some directions.

    :param names: names; one with a direction keeps it
    :param directions: some of `DIRECTIONS`; without any, names are unchanged

    >>> of_directions(['iops', 'read_p99_ms'], ['write'])
    ('write_iops', 'read_p99_ms')
    """
    found = []
    for name in names:
        own = name.partition('_')[0]
        if directions and own not in (*DIRECTIONS, SYNC):
            found += [f'{each}_{name}' for each in directions]
        else:
            found.append(name)
    return tuple(dict.fromkeys(found))


@dataclasses.dataclass(frozen=True, kw_only=True)
class WrongExpectation:
    """A problem of expectations."""

    #: Keys from the expectations on.
    path: tuple[str, ...]
    found: str
    expected: str
    remedy: str


def faults(expected: object) -> collections.abc.Iterator[WrongExpectation]:
    """Yield all problems of a value that should be expectations.

    :param expected: any plain value of YAML or JSON.
    """
    if not isinstance(expected, collections.abc.Mapping):
        yield _no_mapping(expected, (), 'a mapping of fio patterns')
        return
    for pattern, limits in expected.items():
        path = (str(pattern),)
        if not isinstance(pattern, str) or not PATTERN.fullmatch(pattern):
            yield WrongExpectation(
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


def _no_mapping(
    value: object, path: tuple[str, ...], expected: str
) -> WrongExpectation:
    return WrongExpectation(
        path=path,
        found=f'found {str(value)[:60]!r}',
        expected=expected,
        remedy='fix it',
    )


def _faults_of_limits(
    limits: collections.abc.Mapping,
    path: tuple[str, ...],
) -> collections.abc.Iterator[WrongExpectation]:
    sound: dict[str, float] = {}
    for name, value in limits.items():
        at = (*path, str(name))
        limit = find(name) if isinstance(name, str) else None
        if limit is None:
            near = spelling.did_you_mean(
                str(name)[:60],
                (
                    *NAMES,
                    *(
                        f'{direction}_{each}'
                        for direction in DIRECTIONS
                        for each in _DIRECTED
                    ),
                ),
            )
            yield WrongExpectation(
                path=at,
                found=f'unknown limit {str(name)[:60]!r}',
                expected=f'one of {NAMES_EXPECTED}',
                remedy=f'{near}fix or remove it',
            )
            continue
        most = 1 if limit.metric == 'fairness' else math.inf
        if (
            not isinstance(value, int | float)
            or isinstance(value, bool)
            or not (0 < value <= most and math.isfinite(value))
        ):
            yield WrongExpectation(
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
            yield WrongExpectation(
                path=(*path, name),
                found=(
                    f'{name} {least} is greater '
                    f'than {most_name} {sound[most_name]}'
                ),
                expected='a value that is not greater',
                remedy='fix one of them',
            )
