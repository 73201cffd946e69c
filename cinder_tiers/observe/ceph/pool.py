# SPDX-License-Identifier: Apache-2.0

"""Reads the pools of a Ceph cluster."""

import collections.abc
import dataclasses

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.clients import side_by_side
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import pool_dump
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph import answers


@answers.in_known_form
def observe(
    session: ceph_session.Session,
    catalog: catalogs.Catalog,
    found: ceph_state.CephState,
) -> dict[str, object]:
    """The pools, with the RBD options of those that Cinder names.

    And what the monitors say of the whole cluster. A pool that serves no I/O
    is one whose RBD options are not known.
    """
    heads = {tier.rbd.pool for tier in catalog.tiers_of(session.cluster.name)}
    dump = session.command('mon dump')
    limit = session.command('config get', who='mon', key='mon_max_pg_per_osd')
    return {
        'pools': read_pools(session, with_rbd_options=heads, needs_io=False),
        'max_pg_per_osd': int(limit),
        'release': dump.get('min_mon_release'),
        'fsid': dump['fsid'].lower(),
    }


def read(session: ceph_session.Session, name: str) -> ceph_state.Pool | None:
    """A pool; None when it does not exist."""
    return read_pools(session, with_rbd_options={name}).get(name)


@answers.in_known_form
def read_pools(
    session: ceph_session.Session,
    *,
    with_rbd_options: collections.abc.Set[str],
    needs_io: bool = True,
) -> dict[str, ceph_state.Pool]:
    """Return {name: pool} of all existing pools.

    :param with_rbd_options: names of the pools whose RBD options are read as
        well, which takes I/O on the pool.
    :param needs_io: whether such a pool without I/O is an error; otherwise its
        RBD options are unknown.
    :raises errors.Unreachable: pools and rules disappeared while they were
        read, or a pool serves no I/O although `needs_io`.
    :raises errors.TiersError: Ceph refuses.
    """
    pools, names = _pools_and_rules(session)
    if any(pool['crush_rule'] not in names for pool in pools):
        # A pool and then its rule were deleted between the two.
        pools, names = _pools_and_rules(session)
    for pool in pools:
        if not isinstance(pool['crush_rule'], int):
            raise TypeError(f'crush_rule of pool {pool["pool_name"]}')
        if pool['crush_rule'] not in names:
            raise errors.Unreachable(
                f'Ceph lists pool {pool["pool_name"]} with the CRUSH rule '
                f'{pool["crush_rule"]}, and no rule of that id: the cluster '
                'changed while it was read; try again'
            )
    asked = [
        dumped['pool_name']
        for dumped in pools
        if dumped['pool_name'] in with_rbd_options
        # A cache answers for the pool behind it.
        and dumped['tier_of'] < 0
    ]

    def rbd_options(name: str) -> dict[str, str] | errors.Unreachable:
        try:
            return session.rbd_options(name)
        except errors.NotVisible:
            raise
        except errors.Unreachable as error:
            if needs_io:
                raise
            return error

    # Side by side, as each that serves no I/O is waited for.
    options = dict(
        zip(
            asked,
            side_by_side.each(
                rbd_options, asked, at_once=side_by_side.CEPH_AT_ONCE
            ),
            strict=True,
        )
    )
    result = {}
    for dumped in pools:
        name = dumped['pool_name']
        found = options.get(name, {})
        is_read = not isinstance(found, errors.Unreachable)
        result[name] = dataclasses.replace(
            pool_dump.parse(
                dumped,
                rule_names=names,
                rbd_options=found if is_read else {},
            ),
            rbd_options_unread='' if is_read else str(found),
        )
    return result


@answers.in_known_form
def _pools_and_rules(
    session: ceph_session.Session,
) -> tuple[list[dict], dict[int, str]]:
    """Return all pools as Ceph dumps them, and {rule id: rule name}."""
    pools = session.command('osd pool ls', detail='detail')
    # After the pools: another apply may make a rule, and then its pool.
    return pools, {
        rule['rule_id']: rule['rule_name']
        for rule in session.command('osd crush rule dump')
    }
