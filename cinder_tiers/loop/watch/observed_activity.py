# SPDX-License-Identifier: Apache-2.0

"""Reads what a Ceph cluster does at the moment. Writes nothing.

The commands and keys are those that Ceph 16 to 20 have in common. Each fact is
read on its own, and what cannot be read is left out: whoever watches a tier
goes on while the manager is away, or its module rbd_support is off.
"""

import collections.abc
import math
import statistics
import time
import typing

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain import errors
from cinder_tiers.loop.watch import series
from cinder_tiers.observe.ceph import client_io

#: Images that are named, the busiest first.
MOST_IMAGES = 10
#: After so many seconds the manager no longer counts I/Os of images.
_QUERY_EXPIRES_S = 60.0
#: OSDs of which the latency is kept, the slowest: of thousands, the others
#: would be most of what is kept of a tier.
MOST_OSDS = 100
_RECOVERS = frozenset({'recovering', 'backfilling', 'backfill_wait'})
_SCRUBS = frozenset({'scrubbing', 'deep'})
# Of a pool, in `osd dump`, what apply changes or is changed by hand.
_POOL_FIELDS = (
    'size',
    'min_size',
    'crush_rule',
    'pg_num',
    'pg_placement_num',
    'flags_names',
    'read_tier',
    'write_tier',
)


class ActivityReader:
    """Reads the activity of a cluster, for one tier after the other.

    :param session: session with the cluster.
    """

    def __init__(self, session: ceph_session.Session) -> None:
        self._session = session
        # What `osd dump` says of an epoch never changes, and with thousands
        # of OSDs it is long.
        self._epoch: int | None = None
        self._dump: dict = {}
        #: {pool: when, by the monotonic clock}
        self._asked_for_images: dict[str, float] = {}

    def read(self, pools: collections.abc.Sequence[str]) -> series.Status:
        """Read the activity of a tier's pools and their cluster.

        :param pools: pools of the tier, the one that Cinder names first.
        """
        session = self._session
        found: dict[str, typing.Any] = {}
        for read_facts in (
            self._status,
            lambda: parse_osd_dump(self._dump, pools),
            lambda: parse_osd_perf(session.command('osd perf')),
            lambda: {
                'client_iops': float(
                    client_io.parse(
                        session.command('osd pool stats'), pools
                    ).iops(None)
                )
            },
            lambda: parse_config_log(session.command('config log', num=1)),
            # The last: a manager that is away is waited for.
            lambda: {'image_iops': self._image_iops(pools[0])},
        ):
            try:
                found |= read_facts()
            except (errors.NotVisible, ceph_session.CephRefused):
                continue
            except errors.Unreachable:
                # Each of the others would be waited for as long.
                break
            except (AttributeError, LookupError, TypeError, ValueError):
                # A release that says it in another way.
                continue
        return series.Status(**found)

    def _image_iops(self, pool: str) -> dict[str, float] | None:
        """I/Os in a second of the busiest images; None: not known yet.

        The first answer after a while is empty: the manager begins to ask the
        OSDs then, and stops a minute after the last request for them
        (src/pybind/mgr/rbd_support/perf.py, get_perf_data and
        QUERY_EXPIRE_INTERVAL).
        """
        now = time.monotonic()
        before = self._asked_for_images.get(pool, -math.inf)
        found = parse_image_stats(
            self._session.ask_manager('rbd perf image stats', pool_spec=pool)
        )
        self._asked_for_images[pool] = now
        is_first = now - before >= _QUERY_EXPIRES_S
        return None if is_first and not found else found

    def _status(self) -> dict[str, object]:
        status = self._session.command('status')
        epoch = status['osdmap']['epoch']
        if epoch != self._epoch:
            self._dump = self._session.command('osd dump')
            self._epoch = epoch
        return parse_status(status)


def parse_status(status: collections.abc.Mapping) -> dict[str, object]:
    """Facts of `status`."""
    states = [
        (set(each['state_name'].split('+')), each['count'])
        for each in status['pgmap'].get('pgs_by_state', ())
    ]
    return {
        'checks': tuple(sorted(status['health'].get('checks', ()))),
        'recovering': sum(
            count for state, count in states if state & _RECOVERS
        ),
        'scrubbing': sum(count for state, count in states if state & _SCRUBS),
    }


def parse_osd_dump(
    dump: collections.abc.Mapping, pools: collections.abc.Sequence[str]
) -> dict[str, object]:
    """Parse `osd dump`.

    :param pools: names of the pools whose options are read.
    """
    return {
        'osds_up': series.ranges(
            each['osd'] for each in dump['osds'] if each['up']
        ),
        'pool_options': {
            f'{pool["pool_name"]} {name}': str(value)
            for pool in dump['pools']
            if pool['pool_name'] in pools
            for name, value in (
                *((name, pool.get(name)) for name in _POOL_FIELDS),
                *pool.get('options', {}).items(),
            )
        },
    }


def parse_osd_perf(perf: collections.abc.Mapping) -> dict[str, object]:
    """Facts of `osd perf`: how long the slowest OSDs take to commit."""
    found = {
        str(each['id']): float(each['perf_stats']['commit_latency_ms'])
        for each in perf.get('osdstats', perf)['osd_perf_infos']
    }
    slowest = sorted(found, key=found.__getitem__, reverse=True)[:MOST_OSDS]
    return {
        'osd_ms': {name: found[name] for name in slowest},
        'osd_median_ms': statistics.median(found.values()) if found else None,
    }


def parse_image_stats(report: collections.abc.Mapping) -> dict[str, float]:
    """{image: I/Os in a second} of `rbd perf image stats`, the busiest."""
    counters = report['stat_descriptors']
    places = [counters.index(name) for name in ('write_ops', 'read_ops')]
    found = {
        # Pool and image: 0/volume-1, where 0 stands for the name of the pool.
        name.partition('/')[2]: float(sum(values[place] for place in places))
        for each in report['stats']
        for name, values in each.items()
    }
    busiest = sorted(found, key=found.__getitem__, reverse=True)
    return {name: found[name] for name in busiest[:MOST_IMAGES]}


def parse_config_log(
    log: collections.abc.Sequence[collections.abc.Mapping],
) -> dict[str, object]:
    """Facts of `config log`, whose first entry is the latest."""
    if not log:
        return {'config_version': 0, 'config_names': ()}
    return {
        'config_version': int(log[0]['version']),
        'config_names': tuple(each['name'] for each in log[0]['changes']),
    }
