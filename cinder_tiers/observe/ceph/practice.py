# SPDX-License-Identifier: Apache-2.0

"""Reads what only known bad practice is looked for in. Writes nothing.

Nothing here is needed to hold a tier against its tiers file, so that what
cannot be read is a text and never an error.
"""

import collections.abc
import heapq
import math

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.audit import pool_osds
from cinder_tiers.domain.audit import practice
from cinder_tiers.domain.catalog import limits
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import mclock
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import usage as usages
from cinder_tiers.observe.ceph import answers
from cinder_tiers.observe.ceph.osd import osd_options
from cinder_tiers.observe.ceph import usage as ceph_usage

#: OSDs that are asked for their queue, for each pool, until one answers.
MOST_ASKED = 3


def observe(
    session: ceph_session.Session,
    catalog: catalogs.Catalog,
    ceph: ceph_state.CephState,
) -> practice.PracticeFacts:
    """Read facts of a cluster that only the audit's advice needs.

    :param ceph: state of the same cluster.
    """
    pg_targets, unread = {}, ''
    try:
        pg_targets = _pg_targets(session)
    except errors.TiersError as error:
        unread = str(error)
    return practice.PracticeFacts(
        pg_targets=pg_targets,
        pg_targets_unread=unread,
        op_queues=_op_queues(session, catalog, ceph),
        read_balance=_read_balance(session),
        usage=_usage(session, catalog, ceph),
        osd_options=_osd_options(session, ceph),
    )


@answers.in_known_form
def _pg_targets(session: ceph_session.Session) -> dict[str, practice.PgTarget]:
    return parse_pg_targets(session.command('osd pool autoscale-status'))


def _usage(
    session: ceph_session.Session,
    catalog: catalogs.Catalog,
    ceph: ceph_state.CephState,
) -> usages.ClusterUsage | None:
    """Read the usage of pools, if a pool of a tier has a quota."""
    has_quota = any(
        ceph.pools[name].options.get(quota, pool_options.NO_QUOTA)
        != pool_options.NO_QUOTA
        for tier in catalog.tiers_of(session.cluster.name)
        for name in tier.rbd.pools
        if name in ceph.pools
        for quota in pool_options.QUOTAS
    )
    found = ceph_usage.attempt(session) if has_quota else None
    return None if isinstance(found, usages.Unknown) else found


def _osd_options(
    session: ceph_session.Session, ceph: ceph_state.CephState
) -> dict[int, dict[str, str]]:
    """{OSD id: {option: value}}; empty when it could not be read."""
    try:
        return _configured(session, ceph.osds)
    except errors.TiersError:
        return {}


@answers.in_known_form
def _configured(
    session: ceph_session.Session,
    osds: collections.abc.Iterable[ceph_state.Osd],
) -> dict[int, dict[str, str]]:
    return parse_osd_options(session.command('config dump'), osds)


def parse_osd_options(
    dumped: collections.abc.Iterable[collections.abc.Mapping],
    osds: collections.abc.Iterable[ceph_state.Osd],
) -> dict[int, dict[str, str]]:
    """{OSD id: {option: value}} of `config dump`, as Ceph gives it to OSDs.

    Of the sections global, osd and osd.N the last one wins, and in each of
    them the narrowest mask (ConfigMap::generate_entity_map); that of a device
    class is wider than any place in the CRUSH tree (get_precision).
    """
    by_section: dict[str, list[collections.abc.Mapping]] = {}
    for one in dumped:
        if limits.OSD_OPTION.fits(one['name']):
            by_section.setdefault(one['section'], []).append(one)
    found = {}
    for osd in osds:
        values: dict[str, str] = {}
        for section in ('global', 'osd', f'osd.{osd.osd_id}'):
            fitting = [
                (rank, one['name'], one['value'])
                for one in by_section.get(section, ())
                if (rank := _rank(one['mask'], osd)) is not None
            ]
            values |= {name: value for _, name, value in sorted(fitting)}
        if values:
            found[osd.osd_id] = values
    return found


#: Kinds of places in the CRUSH tree, the widest first (default types).
_PLACES = (
    '', 'class', 'root', 'region', 'zone', 'datacenter', 'room', 'pod', 'pdu',
    'row', 'rack', 'chassis', 'host',
)  # fmt: skip


def _rank(mask: str, osd: ceph_state.Osd) -> int | None:
    """Return how narrow a mask is; None if it does not match the OSD."""
    rank = 0
    for part in filter(None, mask.split('/')):
        kind, _, name = part.partition(':')
        here = osd.device_class if kind == 'class' else osd.location.get(kind)
        if here != name:
            return None
        rank = max(rank, _PLACES.index(kind) if kind in _PLACES else 2)
    return rank


def _read_balance(session: ceph_session.Session) -> dict[str, float]:
    """{pool: score}; empty when it could not be read."""
    try:
        return _scores(session)
    except errors.TiersError:
        return {}


@answers.in_known_form
def _scores(session: ceph_session.Session) -> dict[str, float]:
    return parse_scores(session.command('osd pool ls', detail='detail'))


def parse_scores(
    pools: collections.abc.Iterable[collections.abc.Mapping],
) -> dict[str, float]:
    """{pool: score} of `osd pool ls detail`, of those that have one.

    A score that Ceph could not compute has the key error_message beside it,
    or is 0 or infinite (OSDMap::dump_read_balance_score).
    """
    found = {}
    for pool in pools:
        seen = pool.get('read_balance', {})
        score = seen.get('score_acting', 0)
        if 'error_message' not in seen and 0 < score < math.inf:
            found[pool['pool_name']] = score
    return found


def parse_pg_targets(
    status: collections.abc.Iterable[collections.abc.Mapping],
) -> dict[str, practice.PgTarget]:
    """{pool: what the autoscaler thinks of it}.

    The keys are those that Ceph 16 to 20 have in common
    (src/pybind/mgr/pg_autoscaler/module.py, _get_pool_pg_targets).
    """
    return {
        one['pool_name']: practice.PgTarget(
            mode=one['pg_autoscale_mode'],
            pg_num=one['pg_num_target'],
            wanted_pg_num=one['pg_num_final'],
            share=one['capacity_ratio'],
            has_target=bool(one['target_ratio'] or one['target_bytes']),
            # Early versions of Ceph 16 have no such flag.
            is_bulk=one.get('bulk', False),
            is_far_off=one['would_adjust'],
        )
        for one in status
    }


def _op_queues(
    session: ceph_session.Session,
    catalog: catalogs.Catalog,
    ceph: ceph_state.CephState,
) -> dict[str, practice.OpQueue]:
    """{erasure coded pool of a tier: queue of an OSD of it}.

    One OSD stands for all, since at ten thousand each of them would be a
    call; a pool of which none of the first few answers is left out.
    """
    lie_on = pool_osds.PoolOsds(ceph)
    known: dict[int, practice.OpQueue | None] = {}
    found = {}
    for tier in catalog.tiers_of(session.cluster.name):
        pool = tier.rbd.data_pool
        if not isinstance(tier.rbd.protection, catalogs.ErasureCoded):
            continue
        for osd_id in heapq.nsmallest(MOST_ASKED, lie_on.of([pool])):
            if osd_id not in known:
                known[osd_id] = _op_queue(session, osd_id, ceph.mclock)
            queue = known[osd_id]
            if queue is not None:
                found[pool] = queue
                break
    return found


def _op_queue(
    session: ceph_session.Session,
    osd_id: int,
    configured: ceph_state.Mclock | None,
) -> practice.OpQueue | None:
    """Read the queue of an OSD; None if it does not answer.

    :param configured: configuration of the monitors, used if the user may not
        ask the OSDs.
    """
    try:
        return _queue_of(session, osd_id, configured)
    except errors.TiersError:
        return None


@answers.in_known_form
def _queue_of(
    session: ceph_session.Session,
    osd_id: int,
    configured: ceph_state.Mclock | None,
) -> practice.OpQueue:
    try:
        queue = session.tell(osd_id, 'config get', var='osd_op_queue')[
            'osd_op_queue'
        ]
    except ceph_session.CephRefused as error:
        if error.errno not in osd_options.REFUSED or configured is None:
            raise
        queue = mclock.QUEUE if osd_id in configured.capacities else 'wpq'
    return practice.OpQueue(
        osd_id=osd_id,
        queue=queue,
        version=session.command('osd metadata', id=osd_id)[
            'ceph_version_short'
        ],
    )
