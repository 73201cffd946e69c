# SPDX-License-Identifier: Apache-2.0

"""Reads how full a Ceph cluster is. Writes nothing.

The commands and keys are those that Ceph 16 to 20 have in common
(PGMap::dump_object_stat_sum and print_osd_utilization in src/mon/PGMap.cc and
src/osd/OSDMap.cc, OSDMap::dump). The monitors pass `osd df` on to the manager.
"""

import collections.abc

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import usage

#: Digits of a ratio; Ceph shows 0.85 as 0.85000002384185791.
_DIGITS = 4


def attempt(session: ceph_session.Session) -> usage.Usage | usage.Unknown:
    """How full a cluster is, or why that could not be determined.

    A cluster without a manager can be planned for, only without estimates.
    """
    try:
        return observe(session)
    except errors.TiersError as error:
        return usage.Unknown(reason=str(error))


def observe(session: ceph_session.Session) -> usage.Usage:
    """How full the pools and the OSDs of a cluster are.

    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    return parse(
        df=session.command('df', detail='detail'),
        osd_df=session.command('osd df'),
        osd_dump=session.command('osd dump'),
    )


def parse(
    *,
    df: collections.abc.Mapping,
    osd_df: collections.abc.Mapping,
    osd_dump: collections.abc.Mapping,
) -> usage.Usage:
    """The answers of three commands as one value.

    :param df: of `df detail`.
    :param osd_df: of `osd df`, whose sizes are in KiB.
    :param osd_dump: of `osd dump`.
    """
    return usage.Usage(
        pools={
            pool['name']: usage.PoolUsage(
                stored_bytes=pool['stats']['stored'],
                objects=pool['stats']['objects'],
                used_bytes=pool['stats']['bytes_used'],
                max_avail_bytes=pool['stats']['max_avail'],
            )
            for pool in df['pools']
        },
        osds={
            node['id']: usage.OsdUsage(
                total_bytes=node['kb'] * 1024,
                used_bytes=node['kb_used'] * 1024,
            )
            for node in (*osd_df['nodes'], *osd_df['stray'])
            if node['type'] == 'osd'
        },
        nearfull_ratio=round(osd_dump['nearfull_ratio'], _DIGITS),
        backfillfull_ratio=round(osd_dump['backfillfull_ratio'], _DIGITS),
        full_ratio=round(osd_dump['full_ratio'], _DIGITS),
    )
