# SPDX-License-Identifier: Apache-2.0

"""Reads how full a Ceph cluster is. Writes nothing.

The commands and keys are those that Ceph 16 to 20 have in common
(PGMap::dump_object_stat_sum and print_osd_utilization in src/mon/PGMap.cc and
src/osd/OSDMap.cc, OSDMap::dump). The monitors pass `osd df` on to the manager.
"""

import collections.abc
import time

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import usage
from cinder_tiers.observe.ceph import answers

#: Digits of a ratio; Ceph shows 0.85 as 0.85000002384185791.
_DIGITS = 4
#: The manager reports the statistics of a pool some seconds after it was made
#: (mgr_stats_period, 5); a cluster without a manager never does.
WAIT_S = 10.0
_LOOK_EVERY_S = 0.5


def attempt(
    session: ceph_session.Session,
) -> usage.ClusterUsage | usage.Unknown:
    """Read the usage of a cluster, or the reason why it is unknown.

    A cluster without a manager can be planned for, only without estimates.
    """
    try:
        return observe(session)
    except errors.TiersError as error:
        return usage.Unknown(reason=str(error))


@answers.in_known_form
def observe(session: ceph_session.Session) -> usage.ClusterUsage:
    """Read the usage of the pools and the OSDs of a cluster.

    :raises errors.TiersError: Ceph does not answer or refuses.
    """
    osd_dump = session.command('osd dump')
    return parse(
        df=df(
            session,
            {pool['pool_name'] for pool in osd_dump.get('pools', ())},
            detail='detail',
        ),
        osd_df=session.command('osd df'),
        osd_dump=osd_dump,
    )


@answers.in_known_form
def df(
    session: ceph_session.Session,
    pools: collections.abc.Set[str],
    *,
    wait_s: float | None = None,
    **arguments: object,
) -> dict:
    """Read `df`, including pools that were just created.

    Without them, a quota of such a pool would be refused, as its usage is not
    known, and a pool with objects would be taken for an empty one.

    :param pools: names of the existing pools.
    :param wait_s: seconds to wait for pools without statistics, `WAIT_S` by
        default; those still without are missing in the result.
    """
    until = time.monotonic() + (WAIT_S if wait_s is None else wait_s)
    while True:
        found = session.command('df', **arguments)
        if (
            pools <= {one['name'] for one in found['pools']}
            or time.monotonic() >= until
        ):
            return found
        time.sleep(_LOOK_EVERY_S)


def parse(
    *,
    df: collections.abc.Mapping,
    osd_df: collections.abc.Mapping,
    osd_dump: collections.abc.Mapping,
) -> usage.ClusterUsage:
    """Parse the answers of three commands into one value.

    :param df: answer to `df detail`.
    :param osd_df: answer to `osd df`, with sizes in KiB.
    :param osd_dump: answer to `osd dump`.
    """
    return usage.ClusterUsage(
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
