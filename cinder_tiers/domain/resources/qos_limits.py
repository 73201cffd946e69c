# SPDX-License-Identifier: Apache-2.0

"""Limits of volumes that the hypervisor or the driver accepts.

Cinder stores any text as a limit, and a volume with an invalid limit can be
created, but not attached. Pure. Must not know how a QoS spec is planned.
"""

import collections.abc
import dataclasses
import re

from cinder_tiers.domain import limits_by_size

_DIRECTIONS = ('total', 'read', 'write')
#: {limited quantity per second: its unit}
_UNITS = {'bytes': 'bytes', 'iops': 'operations'}
_LIMITS = limits_by_size.LIMITS
_SIZE = 'size_iops_sec'
#: Limits of the consumer front-end that Nova passes to libvirt
#: (nova/virt/libvirt/volume/volume.py).
OF_SERVERS = (
    *(f'{limit}{form}' for limit in _LIMITS for form in ('', '_max')),
    _SIZE,
)
#: These limits, and the limits by size from which Cinder computes them.
LIBVIRT = (*OF_SERVERS, *limits_by_size.KEYS)
#: Limits of the consumer back-end that Cinder's RBD driver passes to librbd
#: (QOS_KEY_MAP, cinder/volume/drivers/rbd.py).
RBD = tuple(f'{limit}{form}' for limit in _LIMITS for form in ('', '_max'))
#: These limits, and the limits by size from which TieredRBDDriver computes
#: them.
RBD_BY_SIZE = (*RBD, *limits_by_size.KEYS)
#: Maximum of QEMU (THROTTLE_VALUE_MAX, include/qemu/throttle.h) and of libvirt
#: (QEMU_BLOCK_IOTUNE_MAX).
MOST = 10**15
#: Up to this value, a volume of 100,000 GiB has a limit that QEMU accepts.
_MOST_OF_GIB = 10**10
_MOST_OF_LIBRBD = 2**63 - 1

# Python refuses to read more than 4,300 digits.
_DIGITS = re.compile('[0-9]{1,1000}')


@dataclasses.dataclass(frozen=True, kw_only=True)
class LimitFault:
    """A limit that cannot be enforced."""

    key: str
    found: str
    #: Completes "expected ..." of a message.
    expected: str
    #: Remedy as an imperative.
    remedy: str


_Specs = collections.abc.Mapping[str, str]
_Faults = collections.abc.Iterator[LimitFault]


def faults_of_hypervisor(specs: _Specs) -> _Faults:
    """Yield limits that libvirt, QEMU or Cinder would refuse.

    The rules of QEMU are in throttle_is_valid (util/throttle.c).

    :param specs: {key: value} of a QoS spec; other keys are ignored.
    """
    numbers: dict[str, int] = {}
    yield from _not_numbers(specs, LIBVIRT, numbers)
    for limit in _LIMITS:
        yield from _faults_of_size(limit, specs, numbers)
        yield from _faults_of_burst(limit, specs, numbers)
    for what in _UNITS:
        yield from _faults_of_totals(what, specs, numbers)
    if numbers.get(_SIZE) and not any(
        _is_limited(f'{direction}_iops_sec', specs, numbers)
        for direction in _DIRECTIONS
    ):
        yield LimitFault(
            key=_SIZE,
            found=f'{_SIZE} without a limit of operations',
            expected='total_iops_sec, read_iops_sec or write_iops_sec as '
            'well (QEMU refuses it otherwise)',
            remedy=f'declare one of them, or remove {_SIZE}',
        )


def faults_of_rbd(specs: _Specs) -> _Faults:
    """Yield limits that librbd would not accept from either RBD driver.

    librbd logs them, and goes on without a limit.

    :param specs: {key: value} of a QoS spec; other keys are ignored.
    """
    numbers: dict[str, int] = {}
    yield from _not_numbers(specs, RBD_BY_SIZE, numbers)
    for limit in _LIMITS:
        yield from _faults_of_size(limit, specs, numbers)
        yield from _faults_of_burst(limit, specs, numbers)
    # QOS_KEY_MAP of Cinder 29 has rbd_qos_bps_burst for both.
    key, taken_for = 'total_iops_sec_max', 'total_bytes_sec'
    if numbers.get(key) and numbers.get(taken_for):
        yield LimitFault(
            key=key,
            found=f'{key} together with {taken_for}',
            expected="one of them under back_end: Cinder's RBD driver takes "
            f'{key} for the burst of {taken_for}',
            remedy=f'remove {key}',
        )


def faults_by_size(specs: _Specs) -> _Faults:
    """Yield limits by size from which no limit of an image can be computed.

    librbd rejects an invalid plain limit, but never sees limits by size: the
    code that computes limits from them must reject them, or volumes have none.

    >>> [one.found for one in faults_by_size({
    ...     'total_iops_sec_per_gb': '-3', 'read_iops_sec': '3K'})]
    ["total_iops_sec_per_gb '-3'"]

    :param specs: {key: value} of a QoS spec; other keys are ignored.
    """
    for limit in _LIMITS:
        by_size, most = f'{limit}_per_gb', f'{limit}_max'
        least = f'{by_size}_min'
        if by_size not in specs:
            if least in specs and limit not in specs:
                yield LimitFault(
                    key=least,
                    found=f'{least} without {by_size}',
                    expected=f'{by_size} as well; nothing is limited',
                    remedy=f'declare {by_size}, or {limit} in place of it',
                )
            continue
        given = {
            key: specs[key] for key in (by_size, least, most) if key in specs
        }
        wrong = [
            key
            for key, each in given.items()
            if not _is_number(each) or int(each) > _MOST_OF_LIBRBD
        ]
        for key in wrong:
            yield LimitFault(
                key=key,
                found=f'{key} {given[key]!r}',
                expected=f'an integer from 0 to {_MOST_OF_LIBRBD}: '
                + _unit(key),
                remedy='write an integer, without a unit',
            )
        if not wrong and int(given.get(most, 1)) == 0:
            yield LimitFault(
                key=most,
                found=f'{most} 0',
                expected='more than 0; nothing is limited',
                remedy=f'raise {most}, or remove it',
            )


def _is_number(value: str | None) -> bool:
    # Cinder accepts null as a value.
    return value is not None and _DIGITS.fullmatch(value) is not None


def _not_numbers(
    specs: _Specs,
    keys: collections.abc.Container[str],
    numbers: dict[str, int],
) -> _Faults:
    """Yield limits that are not a number in range.

    :param keys: keys that must have a number.
    :param numbers: {key: number}, to which valid ones are added.
    """
    for key, value in specs.items():
        if key not in keys:
            continue
        if not _is_number(value) or int(value) > MOST:
            yield LimitFault(
                key=key,
                found=f'{key} {value!r}',
                expected=f'an integer from 0 to {MOST}: {_unit(key)}',
                remedy='write an integer, without a unit',
            )
        else:
            numbers[key] = int(value)


def _unit(key: str) -> str:
    if key == _SIZE:
        return 'bytes that count as one operation'
    unit = next(unit for what, unit in _UNITS.items() if what in key)
    return f'{unit} in a second' + (
        ' for each GiB' if key.endswith('_per_gb') else ''
    )


def _is_limited(
    limit: str, specs: _Specs, numbers: collections.abc.Mapping[str, int]
) -> bool:
    """Return whether volumes get a limit; 0 means unlimited."""
    by_size = f'{limit}_per_gb'
    if by_size in specs:
        return bool(numbers.get(by_size) or numbers.get(f'{by_size}_min'))
    return bool(numbers.get(limit))


def _faults_of_size(
    limit: str, specs: _Specs, numbers: collections.abc.Mapping[str, int]
) -> _Faults:
    """Yield faults of a limit that Cinder computes from the volume size."""
    by_size, most = f'{limit}_per_gb', f'{limit}_max'
    least = f'{by_size}_min'
    if by_size not in specs:
        if least in specs:
            yield LimitFault(
                key=least,
                found=f'{least} without {by_size}',
                expected=f'{by_size} as well (Cinder ignores the minimum '
                'otherwise, and nothing is limited)',
                remedy=f'declare {by_size}, or {limit} in place of {least}',
            )
        return
    if most not in specs and numbers.get(by_size, 0) > _MOST_OF_GIB:
        yield LimitFault(
            key=by_size,
            found=f'{by_size} {numbers[by_size]}',
            expected=f'at most {_MOST_OF_GIB}, or {most} as well: large '
            f'volumes would exceed {MOST}, the most of QEMU',
            remedy=f'lower {by_size}, or declare {most}',
        )
    for key in (by_size, least):
        if most in numbers and numbers[most] < numbers.get(key, 0):
            yield LimitFault(
                key=most,
                found=f'{most} {numbers[most]} below {key} {numbers[key]}',
                expected=f'{numbers[key]} or more: with {by_size} it is the '
                'most that a volume may do'
                + ('' if numbers[most] else ', and 0 means unlimited'),
                remedy=f'raise {most}, or lower {key}',
            )
            return


def _faults_of_burst(
    limit: str, specs: _Specs, numbers: collections.abc.Mapping[str, int]
) -> _Faults:
    """Yield faults of a burst without its limit, or below it."""
    burst = f'{limit}_max'
    if not numbers.get(burst) or f'{limit}_per_gb' in specs:
        return
    if limit not in specs or numbers.get(limit) == 0:
        yield LimitFault(
            key=burst,
            found=f'{burst} without {limit}',
            expected=f'{limit} as well, because this is its burst',
            remedy=f'declare {limit}, or remove {burst}',
        )
    elif numbers[burst] < numbers.get(limit, 0):
        yield LimitFault(
            key=burst,
            found=f'{burst} {numbers[burst]} below {limit} {numbers[limit]}',
            expected=f'{numbers[limit]} or more: a burst is not below its '
            'limit',
            remedy=f'raise {burst}, or remove it',
        )


def _faults_of_totals(
    what: str, specs: _Specs, numbers: collections.abc.Mapping[str, int]
) -> _Faults:
    """Yield a limit of reads and writes together with one of either."""
    total, *parts = (
        next(
            (
                key
                for key in (f'{limit}_per_gb', limit)
                if key in specs and _is_limited(limit, specs, numbers)
            ),
            None,
        )
        for limit in (f'{each}_{what}_sec' for each in _DIRECTIONS)
    )
    beside = ' and '.join(filter(None, parts))
    if total and beside:
        yield LimitFault(
            key=total,
            found=f'{total} together with {beside}',
            expected='a limit for the total, or for reads and writes '
            '(libvirt refuses both together)',
            remedy=f'remove {total}, or {beside}',
        )
