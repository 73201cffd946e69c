# SPDX-License-Identifier: Apache-2.0

"""Options of librbd: limits of images, and hints on their content.

Ceph stores any text for them in a pool; a client that cannot use it logs that
and goes on without a limit. So all rules are checked before anything is stored
(src/common/options/rbd.yaml.in, TokenBucketThrottle::set_limit). Pure. Must
not know the options of a pool.
"""

import collections.abc
import itertools
import re
import types

from cinder_tiers.domain.catalog import limits
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import kind as kinds
from cinder_tiers.domain import spelling

#: Prefix of the options of QoS.
QOS = 'rbd_qos_'
#: Quantities with a limit: operations and bytes per second, of all I/O, of
#: reads and of writes.
_LIMITED = tuple(
    f'{QOS}{direction}{unit}'
    for direction, unit in itertools.product(
        ('', 'read_', 'write_'), ('iops', 'bps')
    )
)
_TICK = f'{QOS}schedule_tick_min'
_EXCLUDED = f'{QOS}exclude_ops'
#: All options of QoS in Ceph 16, 18 and 20.
NAMES = (
    *(
        f'{what}_{part}'
        for what in _LIMITED
        for part in ('limit', 'burst', 'burst_seconds')
    ),
    _TICK,
    _EXCLUDED,
)
#: {option: the major release of Ceph that brought it}
SINCE: collections.abc.Mapping[str, int] = types.MappingProxyType(
    {_EXCLUDED: 17}
)
_OPERATIONS = ('compare_and_write', 'discard', 'read', 'write', 'write_same')

HINT = 'rbd_compression_hint'
_COMPRESSIBLE, _INCOMPRESSIBLE = 'compressible', 'incompressible'
_HINTS = ('none', _COMPRESSIBLE, _INCOMPRESSIBLE)
#: {hint: the only compression_mode of a pool that follows it}
_HEEDED_BY = {_COMPRESSIBLE: 'passive', _INCOMPRESSIBLE: 'aggressive'}

# Digits that Ceph reads; Python also accepts digits of other scripts.
_DIGITS = re.compile('[0-9]{1,1000}')

#: (option, found, expected, remedy)
_Fault = tuple[str, str, str, str]


def faults(
    options: collections.abc.Mapping[str, catalogs.Value],
) -> collections.abc.Iterator[_Fault]:
    """Yield problems of QoS options and of the compression hint.

    :param options: {option: value} of one pool.
    """
    sound: dict[str, int] = {}
    for name, value in options.items():
        if name == HINT and value not in _HINTS:
            yield (
                name,
                repr(value),
                f'one of {", ".join(_HINTS)}',
                spelling.did_you_mean(str(value), _HINTS) + 'fix it',
            )
        if not name.startswith(QOS):
            continue
        if name not in NAMES:
            yield (
                name,
                f'librbd has no option {name!r}, and would ignore it',
                f'one of {QOS}[read_|write_](iops|bps)_(limit|burst|'
                f'burst_seconds), {_TICK}, {_EXCLUDED}',
                _meant(name) + 'fix it',
            )
        elif name == _EXCLUDED:
            yield from _faults_of_operations(value)
        else:
            # The same number as text is valid.
            if isinstance(value, str) and _DIGITS.fullmatch(value):
                value = int(value)
            least = 1 if name.endswith('_seconds') or name == _TICK else 0
            # Ceph reads 10M as 10 000 000; the author may mean 2 ** 20.
            if (
                isinstance(value, bool)
                or not isinstance(value, int)
                or value not in limits.Range(least, limits.INTEGER.most)
            ):
                yield (
                    name,
                    repr(value),
                    f'an integer of {least} or more'
                    + (
                        f', at most {limits.INTEGER.most}'
                        if isinstance(value, int) and value > least
                        else ''
                    )
                    + f': {_unit(name)}',
                    'fix it',
                )
            else:
                sound[name] = value
    yield from _faults_between(sound, options.keys())


def _meant(name: str) -> str:
    """Return the option with the same words in another order, or similar."""
    words = sorted(name.split('_'))
    same = [known for known in NAMES if sorted(known.split('_')) == words]
    return spelling.did_you_mean(name, same or NAMES)


def _unit(name: str) -> str:
    if name == _TICK:
        return 'milliseconds'
    if name.endswith('_seconds'):
        return 'seconds'
    return (
        'bytes in a second' if 'bps' in name else 'operations in a second'
    ) + ', 0 for no limit'


def _faults_of_operations(
    value: catalogs.Value,
) -> collections.abc.Iterator[_Fault]:
    for word in map(str.strip, str(value).split(',')):
        if word not in _OPERATIONS:
            yield (
                _EXCLUDED,
                repr(word),
                f'some of {", ".join(_OPERATIONS)}, separated by commas',
                spelling.did_you_mean(word, _OPERATIONS) + 'fix it',
            )


def _faults_between(
    sound: collections.abc.Mapping[str, int],
    given: collections.abc.Container[str],
) -> collections.abc.Iterator[_Fault]:
    for what in _LIMITED:
        limit, burst = f'{what}_limit', f'{what}_burst'
        seconds = f'{burst}_seconds'
        if sound.get(burst) and (
            limit not in given or not sound.get(limit, 1)
        ):
            yield (
                burst,
                f'{sound[burst]} without {limit}',
                f'{limit} as well; without a limit there is no burst',
                f'declare {limit}, or remove {burst}',
            )
        elif 0 < sound.get(burst, 0) < sound.get(limit, 0):
            yield (
                burst,
                f'{sound[burst]} below {limit} {sound[limit]}',
                f'{sound[limit]} or more; librbd ignores the burst otherwise',
                f'raise {burst}, or remove it',
            )
        if seconds in sound and (
            burst not in given or not sound.get(burst, 1)
        ):
            yield (
                seconds,
                f'{sound[seconds]} without {burst}',
                f'{burst} as well, because this is its duration',
                f'declare {burst}, or remove {seconds}',
            )


def unheeded_hint(
    options: collections.abc.Mapping[str, catalogs.Value], mode: str
) -> str | None:
    """Return the compression_mode that a hint needs, if it is another one.

    :param options: {option of librbd: value}.
    :param mode: `compression_mode` of the pool with the data.
    :returns: mode; None if the pool follows the hint, or there is none.
    """
    needed = _HEEDED_BY.get(str(options.get(HINT)))
    return None if mode == needed else needed


def unheeded_hints(catalog: catalogs.Catalog) -> kinds.Problems:
    """Yield compression hints without effect in the pool's mode.

    They are not problems of the file: nothing is lost. An audit checks pools
    whose mode the file does not declare.
    """
    for tier in catalog.ceph_tiers:
        if 'compression_mode' not in tier.rbd.options:
            continue
        mode = str(tier.rbd.options['compression_mode'])
        needed = unheeded_hint(tier.rbd.rbd_options, mode)
        if needed:
            yield errors.Problem(
                where=catalog.source.where(
                    ('tiers', tier.name, 'rbd', 'rbd_options', HINT)
                ),
                found=f'{HINT} {tier.rbd.rbd_options[HINT]} with '
                f'compression_mode {mode}, with which it has no '
                'effect',
                expected=f'compression_mode {needed}',
                remedy='change compression_mode, or remove the hint',
            )
