# SPDX-License-Identifier: Apache-2.0

"""Limits of a volume that depend on its size.

The keys and the rule are those of Cinder for the consumer front-end
(cinder/volume/manager.py, _parse_connection_options, the same in 26 to 29).
Driver, audit and repair compute the limits of RBD images by them. Pure.
"""

import collections.abc
import re

#: Limits per second.
LIMITS = tuple(
    f'{direction}_{what}_sec'
    for direction in ('total', 'read', 'write')
    for what in ('bytes', 'iops')
)
#: Suffixes of keys: a value for each GiB, and its minimum.
OF_GIB, AT_LEAST = '_per_gb', '_per_gb_min'
#: Keys of limits by size.
KEYS = tuple(
    f'{limit}{form}' for limit in LIMITS for form in (OF_GIB, AT_LEAST)
)
#: Capability of backends that set them; Cinder's RBD driver does not report
#: it.
CAPABILITY = 'qos_per_gb_support'
# int() takes signs, blanks, underscores and digits of other scripts, too.
_DIGITS = re.compile('[0-9]{1,1000}')


def are_in(specs: collections.abc.Iterable[str]) -> bool:
    """Return whether a QoS spec with these keys has a limit for each GiB."""
    return any(key.endswith(OF_GIB) and key in KEYS for key in specs)


def of_size(
    specs: collections.abc.Mapping[str, str], size_gib: int
) -> dict[str, str]:
    """Return the limits of a volume of a given size.

    >>> of_size({'total_iops_sec_per_gb': '3'}, 100)
    {'total_iops_sec': '300'}
    >>> of_size({'read_iops_sec_per_gb': '3', 'read_iops_sec_max': '200',
    ...          'write_iops_sec': '50'}, 100)
    {'write_iops_sec': '50', 'read_iops_sec': '200'}

    :param specs: {key: value} of a QoS spec.
    :param size_gib: size of the volume in GiB, from 0.
    :returns: the specs, in which a plain limit replaces each limit for each
        GiB, any plain limit of the same name, its minimum and its maximum. A
        minimum without a limit for each GiB stays, and has no effect.
    :raises ValueError: a value is not an integer; the text names its key.
    """
    found = dict(specs)
    for limit in LIMITS:
        of_gib = f'{limit}{OF_GIB}'
        if of_gib not in found:
            continue
        least, most = f'{limit}{AT_LEAST}', f'{limit}_max'
        value = max(_integer(specs, of_gib) * size_gib, _integer(specs, least))
        if most in specs:
            value = min(value, _integer(specs, most))
        for key in (of_gib, least, most):
            found.pop(key, None)
        found[limit] = str(value)
    return found


def _integer(specs: collections.abc.Mapping[str, str], key: str) -> int:
    value = specs.get(key, '0')
    # Cinder accepts null as a value.
    if value is None or not _DIGITS.fullmatch(value):
        raise ValueError(f'{key} {value!r}, expected an integer')
    return int(value)
