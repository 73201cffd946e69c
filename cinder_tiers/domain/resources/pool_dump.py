# SPDX-License-Identifier: Apache-2.0

"""A pool as the monitors report it. Pure."""

import collections.abc
import types

from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.state import ceph as ceph_state

#: {number of a kind of pool or CRUSH rule: its name} (src/osd/osd_types.h).
KINDS: collections.abc.Mapping[int, str] = types.MappingProxyType(
    {1: 'replicated', 3: 'erasure'}
)
_DATA_POOL = 'rbd_default_data_pool'


def parse(
    dumped: dict,
    *,
    rule_names: collections.abc.Mapping[int, str],
    rbd_options: collections.abc.Mapping[str, str],
) -> ceph_state.Pool:
    """Return a pool of `osd pool ls detail`.

    :param rule_names: {rule id: rule name}.
    :param rbd_options: {librbd option: value} set for the pool.
    """
    return ceph_state.Pool(
        name=dumped['pool_name'],
        kind=KINDS.get(dumped['type'], str(dumped['type'])),
        size=dumped['size'],
        min_size=dumped['min_size'],
        pg_num=dumped.get('pg_num_target', dumped['pg_num']),
        pg_autoscale_mode=dumped['pg_autoscale_mode'],
        crush_rule=rule_names[dumped['crush_rule']],
        erasure_code_profile=dumped['erasure_code_profile'] or None,
        stripe_width_bytes=dumped['stripe_width'],
        applications=frozenset(dumped['application_metadata']),
        managed=(
            dumped['application_metadata']
            .get('rbd', {})
            .get(ceph_state.OWNERSHIP_KEY)
            == ceph_state.OWNERSHIP_VALUE
        ),
        ec_overwrites='ec_overwrites' in dumped['flags_names'].split(','),
        rbd_default_data_pool=rbd_options.get(_DATA_POOL),
        options=pool_options.observed(dumped),
        rbd_options={
            name: value
            for name, value in rbd_options.items()
            if name != _DATA_POOL
        },
    )
