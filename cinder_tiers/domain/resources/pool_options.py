# SPDX-License-Identifier: Apache-2.0

"""Options, flags and quotas of a Ceph pool.

They are text on both sides, in one form for each meaning, so a difference is a
plain comparison. Names are those of `ceph osd pool set` and `set-quota`
(src/mon/MonCommands.h, src/osd/osd_types.cc, v16.2.15; pg_num_max and bulk
came with 17, and distributions added them to 16.2.x). Pure. Must not know the
options of a pool.
"""

import collections.abc
import math
import types

from cinder_tiers.domain.catalog import limits
from cinder_tiers.domain.catalog import model as catalogs

#: Value of a setting that was never set: the OSDs' configuration decides.
UNSET = 'unset'
#: Value of a quota that was never set.
NO_QUOTA = '0'


FLAGS = frozenset(
    {
        'bulk',
        'nodeep-scrub',
        'nodelete',
        'nopgchange',
        'noscrub',
        'nosizechange',
        'write_fadvise_dontneed',
    }
)
#: Fast erasure coding, which Ceph never disables again.
EC_OPTIMIZATIONS = 'allow_ec_optimizations'
BOOLEANS = FLAGS | {'fast_read', EC_OPTIMIZATIONS}
#: Options of erasure coded pools.
OF_ERASURE_CODE = ('fast_read', EC_OPTIMIZATIONS)
#: {setting: the major release of Ceph that brought it}
SINCE: collections.abc.Mapping[str, int] = types.MappingProxyType(
    {EC_OPTIMIZATIONS: 20}
)
QUOTAS = frozenset({'quota_max_bytes', 'quota_max_objects'})
#: Options that new pools of a cluster may have from the start
#: (osd_pool_default_*).
OF_THE_CLUSTER = frozenset(
    {
        'bulk',
        'fast_read',
        'nodelete',
        'nopgchange',
        'nosizechange',
        EC_OPTIMIZATIONS,
    }
)
#: Number that may be negative.
RECOVERY_PRIORITY = 'recovery_priority'
NUMBERS = frozenset(
    {
        'compression_max_blob_size',
        'compression_min_blob_size',
        'compression_required_ratio',
        'csum_max_block',
        'csum_min_block',
        'deep_scrub_interval',
        'pg_autoscale_bias',
        'pg_num_max',
        'pg_num_min',
        'recovery_op_priority',
        RECOVERY_PRIORITY,
        'scrub_max_interval',
        'scrub_min_interval',
        'scrub_priority',
        'target_size_bytes',
        'target_size_ratio',
    }
)
#: Numbers of which Ceph accepts no fraction (src/osd/osd_types.cc,
#: pool_opts_t).
_INTEGERS = NUMBERS - {
    'compression_required_ratio',
    'deep_scrub_interval',
    'pg_autoscale_bias',
    'scrub_max_interval',
    'scrub_min_interval',
    'target_size_ratio',
}
#: Quotas and numbers that are sizes.
IN_BYTES = frozenset(
    {
        'compression_max_blob_size',
        'compression_min_blob_size',
        'csum_max_block',
        'csum_min_block',
        'quota_max_bytes',
        'target_size_bytes',
    }
)
RECOVERY_PRIORITY_EXPECTED = (
    f'an integer from {limits.RECOVERY_PRIORITY.least} to '
    f'{limits.RECOVERY_PRIORITY.most}, or {UNSET}'
)
#: {name: its words}
WORDS: collections.abc.Mapping[str, tuple[str, ...]] = types.MappingProxyType(
    {
        'compression_algorithm': ('lz4', 'snappy', 'zlib', 'zstd'),
        'compression_mode': ('aggressive', 'force', 'none', 'passive'),
        'csum_type': (
            'crc32c',
            'crc32c_16',
            'crc32c_8',
            'none',
            'xxhash32',
            'xxhash64',
        ),
    }
)
KNOWN = BOOLEANS | QUOTAS | NUMBERS | WORDS.keys()

#: Options that make the autoscaler choose another pg_num, which moves data.
STEERS_AUTOSCALER = frozenset(
    {
        'bulk',
        'pg_autoscale_bias',
        'pg_num_max',
        'pg_num_min',
        'target_size_bytes',
        'target_size_ratio',
    }
)

# Ceph reports a checksum type as a number (src/common/Checksummer.h).
_CSUM_TYPES = types.MappingProxyType(
    {
        1: 'none',
        2: 'xxhash32',
        3: 'xxhash64',
        4: 'crc32c',
        5: 'crc32c_16',
        6: 'crc32c_8',
    }
)


def normal(name: str, value: catalogs.Value) -> str:
    """Return a value in the form in which it is compared.

    >>> normal('target_size_ratio', 0.10), normal('bulk', True)
    ('0.1', 'true')
    >>> normal('recovery_priority', 0)
    'unset'

    :param name: one of `KNOWN`.
    :param value: declared value.
    :raises ValueError: the setting cannot have the value; the text has the
        expected one.
    """
    if name in BOOLEANS:
        if not isinstance(value, bool):
            raise ValueError('true or false')
        return str(value).lower()
    if value == UNSET and name not in QUOTAS:
        return UNSET
    if name in WORDS:
        if value not in WORDS[name]:
            raise ValueError(f'one of {", ".join(WORDS[name])}, or {UNSET}')
        return str(value)
    if name == RECOVERY_PRIORITY:
        return _priority(value)
    if isinstance(value, bool | str) or value < 0 or not math.isfinite(value):
        raise ValueError(
            'a number of 0 or more, in bytes or seconds where '
            'Ceph uses them' + ('' if name in QUOTAS else f', or {UNSET}')
        )
    if name in QUOTAS:
        if value != int(value) or value not in limits.INTEGER:
            raise ValueError(
                f'an integer from 0 to {limits.INTEGER.most}; 0 for no quota'
            )
        return str(int(value))
    if name in _INTEGERS and value != int(value):
        raise ValueError(f'an integer of 0 or more, or {UNSET}')
    return _number(value)


def _priority(value: catalogs.Value) -> str:
    """Return the priority of the recovery of a pool, relative to others."""
    if (
        isinstance(value, bool | str)
        or value not in limits.RECOVERY_PRIORITY
        or value != int(value)
    ):
        raise ValueError(RECOVERY_PRIORITY_EXPECTED)
    return _number(value)


def _number(value: float) -> str:
    # Ceph removes a number that is set to 0 (OSDMonitor, "pool set").
    if not value:
        return UNSET
    if not math.isfinite(value):
        return str(value)
    # Ceph reports 0.7 as 0.69999999999999996.
    return str(int(value)) if value == int(value) else format(value, '.15g')


def of_new_pool(name: str) -> str:
    """Return the value of a new pool, in the form of `normal`.

    >>> of_new_pool('noscrub'), of_new_pool('csum_type')
    ('false', 'unset')

    :param name: one of `KNOWN`.
    """
    if name in BOOLEANS:
        return 'false'
    return NO_QUOTA if name in QUOTAS else UNSET


def command_of(
    pool: str,
    name: str,
    value: str,
) -> tuple[str, dict[str, str]]:
    """Return the monitor command that sets an option.

    :param pool: name of the pool.
    :param name: one of `KNOWN`.
    :param value: value in the form of `normal`.
    :returns: prefix and arguments of the command (src/mon/MonCommands.h).
    """
    if name in QUOTAS:
        return 'osd pool set-quota', {
            'pool': pool,
            'field': name.removeprefix('quota_'),
            'val': value,
        }
    if value == UNSET and name in NUMBERS:
        value = '0'
    return 'osd pool set', {'pool': pool, 'var': name, 'val': value}


def observed(dumped: dict) -> dict[str, str]:
    """Return all known settings of a pool.

    :param dumped: pool of `osd pool ls detail`.
    :returns: {name: value}, including settings that were never set.
    """
    flags = set(dumped['flags_names'].split(','))
    found = {name: str(name in flags).lower() for name in FLAGS}
    found[EC_OPTIMIZATIONS] = str('ec_optimizations' in flags).lower()
    found['fast_read'] = str(bool(dumped['fast_read'])).lower()
    found.update({name: str(dumped[name]) for name in QUOTAS})
    options = dumped.get('options', {})
    for name in NUMBERS:
        value = options.get(name, 0)
        # Options that may not be declared can still have a value.
        found[name] = (
            _number(value) if isinstance(value, int | float) else str(value)
        )
    for name in WORDS:
        value = options.get(name, UNSET)
        found[name] = _CSUM_TYPES.get(value, str(value))
    return found
