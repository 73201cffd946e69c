# SPDX-License-Identifier: Apache-2.0

"""Settings and modes of a cache tier, as Ceph keeps them on its pool.

They are text on both sides, in one form for each meaning, so that a
difference is a plain comparison. Names are those of `ceph osd pool set`,
which takes them only for a pool that is a tier (OSDMonitor.cc,
prepare_command_pool_set, v16.2.15). Pure. Must not know which pool has what.
"""

import collections.abc
import types

Value = str | int | float

#: Clients read and write the cache; Ceph's agent moves what is not used.
WRITEBACK = 'writeback'
#: Clients read the cache and write to the pool behind it; an object that is
#: in the cache is not refreshed.
READONLY = 'readonly'
#: What a pool has that was just made a tier.
NO_MODE = 'none'

#: {mode that is wanted: modes from which data stays right}. A cache that was
#: `NO_MODE` or `READONLY` may hold stale objects.
SAFE_MODES_BEFORE: collections.abc.Mapping[str, frozenset[str]] = (
    types.MappingProxyType(
        {
            WRITEBACK: frozenset({WRITEBACK, 'proxy', 'readproxy'}),
            READONLY: frozenset({READONLY}),
        }
    )
)

HIT_SET_TYPES = ('bloom', 'explicit_hash', 'explicit_object')
RATIOS = (
    'cache_target_dirty_ratio',
    'cache_target_dirty_high_ratio',
    'cache_target_full_ratio',
)
COUNTS = (
    'hit_set_count',
    'hit_set_period',
    'target_max_bytes',
    'target_max_objects',
    'cache_min_flush_age',
    'cache_min_evict_age',
    'min_read_recency_for_promote',
    'min_write_recency_for_promote',
)
KNOWN = frozenset({'hit_set_type', *RATIOS, *COUNTS})
#: What `ceph osd tier add-cache` chooses (osd_tier_default_cache_hit_set_*);
#: without hit sets Ceph neither promotes by use nor stops warning.
DEFAULTS: collections.abc.Mapping[str, Value] = types.MappingProxyType(
    {'hit_set_type': 'bloom', 'hit_set_count': 4, 'hit_set_period': 1200}
)

# Ceph keeps ratios in millionths.
_RATIO_DECIMALS = 6


def normal(name: str, value: Value) -> str:
    """A value as it is compared.

    >>> normal('cache_target_full_ratio', 0.80), normal('hit_set_count', 4)
    ('0.8', '4')

    :param name: one of `KNOWN`.
    :param value: as it was declared.
    """
    if name in RATIOS:
        return format(round(value, _RATIO_DECIMALS), '.15g')
    return str(value)


def observed(dumped: dict) -> dict[str, str]:
    """All settings of a pool of `osd pool ls detail`, as {name: value}."""
    return {
        'hit_set_type': dumped['hit_set_params']['type'],
        **{name: str(dumped[name]) for name in COUNTS},
        **{
            name: normal(name, dumped[f'{name}_micro'] / 1e6)
            for name in RATIOS
        },
    }
