# SPDX-License-Identifier: Apache-2.0

"""Reads whether a Ceph cluster can bear a fault. Writes nothing.

The commands and keys are those that Ceph 16 to 20 have in common. The monitors
pass `pg ...`, `osd df` and `osd ok-to-stop` on to the manager.
"""

import collections
import collections.abc
import errno
import typing

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.resources import pool_dump
from cinder_tiers.loop.fault import facts as cluster_facts
from cinder_tiers.observe.ceph import answers
from cinder_tiers.observe.ceph import crush
from cinder_tiers.observe.ceph.osd import osds as observed_osds
from cinder_tiers.observe.ceph import usage

#: Of placement groups that serve, and lack nothing.
_CLEAN = frozenset({'active', 'clean'})
_CLEAN_TOO = _CLEAN | {'scrubbing', 'deep', 'snaptrim', 'snaptrim_wait'}
#: Stands for no OSD (CRUSH_ITEM_NONE in src/crush/crush.h).
_NONE = 0x7FFFFFFF


_Value = typing.TypeVar('_Value')


class Reader:
    """Reads one cluster.

    Each method raises errors.TiersError if Ceph does not answer, refuses, or
    answers in an unknown form.

    :param session: session with the cluster.
    """

    def __init__(self, session: ceph_session.Session) -> None:
        self._session = session

    def facts(
        self,
        pool: str,
        osd_ids: collections.abc.Callable[
            [frozenset[int]], collections.abc.Iterable[int]
        ],
    ) -> cluster_facts.ClusterFacts:
        """Read the facts of the cluster that a fault needs.

        :param pool: pool that holds the data of the tier.
        :param osd_ids: takes the OSDs that hold the tier, and returns those
            that faults strike.
        """
        return self._known(lambda session: _observe(session, pool, osd_ids))

    def health(self) -> cluster_facts.Health:
        """Return the health of the cluster."""
        return self._known(
            lambda session: parse_status(session.command('status'))
        )

    def osds(self) -> dict[int, cluster_facts.OsdStatus]:
        """{id: OSD} at the moment."""
        return self._known(
            lambda session: parse_osds(session.command('osd dump'))
        )

    def deep_scrubs(self, pool: str) -> dict[str, str]:
        """{placement group: when it was deep-scrubbed, as Ceph writes it}."""
        return self._known(
            lambda session: {
                one['pgid']: str(one['last_deep_scrub_stamp'])
                for one in session.command('pg ls-by-pool', poolstr=pool)[
                    'pg_stats'
                ]
            }
        )

    def _known(
        self, read: collections.abc.Callable[[ceph_session.Session], _Value]
    ) -> _Value:
        return answers.in_known_form(read)(self._session)


def _observe(
    session: ceph_session.Session,
    pool: str,
    osd_ids: collections.abc.Callable[
        [frozenset[int]], collections.abc.Iterable[int]
    ],
) -> cluster_facts.ClusterFacts:
    dump = session.command('osd dump')
    holders = holders_of(session.command('pg ls-by-pool', poolstr=pool))
    struck = [
        one
        for one in dict.fromkeys(osd_ids(holders))
        if one in {each['osd'] for each in dump['osds']}
    ]
    rules = {
        rule['rule_id']: rule
        for rule in session.command('osd crush rule dump')
    }
    return cluster_facts.ClusterFacts(
        fsid=str(dump['fsid']),
        health=parse_status(session.command('status')),
        flags=frozenset(filter(None, dump['flags'].split(','))),
        osds=parse_osds(dump),
        places=observed_osds.read_osds(session),
        usage=usage.attempt(session),
        pool_flags={
            one['pool_name']: frozenset(one['flags_names'].split(','))
            for one in dump['pools']
        },
        holders=holders,
        pools_on={
            osd_id: _pools_on(session, osd_id, dump, rules)
            for osd_id in struck
        },
        upmapped=frozenset(
            mapping['to']
            for one in dump.get('pg_upmap_items', ())
            for mapping in one['mappings']
        )
        | {
            osd_id
            for one in dump.get('pg_upmap', ())
            for osd_id in one['osds']
        },
        not_to_stop={
            osd_id: said
            for osd_id in struck
            if (said := _not_to_stop(session, osd_id))
        },
    )


def parse_status(
    status: collections.abc.Mapping,
) -> cluster_facts.Health:
    """The health in `status`."""
    unclean: collections.Counter[str] = collections.Counter()
    for one in status['pgmap'].get('pgs_by_state', ()):
        states = set(one['state_name'].split('+'))
        if not _CLEAN <= states <= _CLEAN_TOO:
            unclean[one['state_name']] += one['count']
    return cluster_facts.Health(
        status=str(status['health']['status']),
        checks=tuple(sorted(status['health'].get('checks', ()))),
        unclean=dict(sorted(unclean.items())),
    )


def parse_osds(
    dump: collections.abc.Mapping,
) -> dict[int, cluster_facts.OsdStatus]:
    """{id: OSD} of `osd dump`."""
    return {
        one['osd']: cluster_facts.OsdStatus(
            is_up=bool(one['up']),
            weight=float(one['weight']),
            flags=cluster_facts.KEEPING & set(one['state']),
        )
        for one in dump['osds']
    }


def holders_of(listed: collections.abc.Mapping) -> frozenset[int]:
    """The OSDs of the placement groups of `pg ls-by-pool`."""
    return frozenset(
        osd_id
        for one in listed['pg_stats']
        for osd_id in (*one['up'], *one['acting'])
        if osd_id != _NONE
    )


def _pools_on(
    session: ceph_session.Session,
    osd_id: int,
    dump: collections.abc.Mapping,
    rules: collections.abc.Mapping[int, dict],
) -> tuple[cluster_facts.OsdPool, ...]:
    listed = session.command('pg ls-by-osd', osd=osd_id)['pg_stats']
    ids = {int(one['pgid'].partition('.')[0]) for one in listed}
    return tuple(
        cluster_facts.OsdPool(
            name=one['pool_name'],
            size=one['size'],
            min_size=one['min_size'],
            least=_least(session, one),
            rule=(
                crush.parse_rule(rules[one['crush_rule']])
                if one['crush_rule'] in rules
                else None
            ),
        )
        for one in dump['pools']
        if one['pool'] in ids
    )


def _least(
    session: ceph_session.Session, pool: collections.abc.Mapping
) -> int:
    """Return the fewest copies or chunks from which a pool can be read."""
    if pool_dump.KINDS.get(pool['type']) == 'replicated':
        return 1
    profile = session.command(
        'osd erasure-code-profile get', name=pool['erasure_code_profile']
    )
    # A plugin may have no k: then none can be spared.
    return int(profile.get('k', pool['size']))


def _not_to_stop(session: ceph_session.Session, osd_id: int) -> str:
    """Return Ceph's objection to stopping an OSD; '' if there is none."""
    try:
        answer = session.command('osd ok-to-stop', ids=[str(osd_id)])
    except ceph_session.CephRefused as error:
        if error.errno == errno.EBUSY:
            return str(error)
        raise
    if isinstance(answer, dict) and not answer.get('ok_to_stop', True):
        return 'it is not'
    return ''
