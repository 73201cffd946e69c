# SPDX-License-Identifier: Apache-2.0

"""Reads from a Ceph cluster what tiers are made of. Writes nothing.

Ceph's JSON becomes domain values here, defaults normalised, by functions
that take only that JSON. Keys of cephx users are dropped at once.
"""

import collections.abc
import errno
import types

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import crush
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.resources import primary_affinity
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph import cache_tier as ceph_cache
from cinder_tiers.observe.ceph import osd_options as ceph_osds

#: Pool types in `osd pool ls detail` and rules (src/osd/osd_types.h).
_DATA_POOL = 'rbd_default_data_pool'
_KINDS = types.MappingProxyType({1: 'replicated', 3: 'erasure'})


def observe(
    session: ceph_session.Session, catalog: catalogs.Catalog
) -> ceph_state.CephState:
    """All state of a cluster that the catalog may compare with.

    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    rules = crush_rules(session)
    heads = {
        tier.rbd.pool
        for tier in catalog.tiers_of(session.cluster.name)
        if tier.rbd
    }
    name = f'client.{session.cluster.cinder_user}'
    user = cephx_user(session, name)
    profiles: dict[str, ceph_state.ErasureCodeProfile] = {}
    found = ceph_state.CephState(
        crush_rules=rules,
        erasure_code_profiles=profiles,
        pools=pools(session, with_rbd_options=heads),
        users={name: user} if user else {},
        osds=parse_osds(session.command('osd tree')),
        **ceph_osds.observe(session, catalog),
        **ceph_cache.observe(session, catalog),
    )
    asked: set[str] = set()
    # Twice: the name to use depends on what has the first one.
    for _ in range(2):
        names = {
            name
            for tier in catalog.tiers_of(session.cluster.name)
            if tier.rbd
            for name in crush.profiles_to_read(tier.rbd, found)
        } - asked
        profiles.update(erasure_code_profiles(session, names))
        asked |= names
    return found


def read(
    session: ceph_session.Session, key: actions.Key
) -> actions.Resource | None:
    """One object; None when it does not exist.

    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    match key.kind:
        case actions.Kind.ERASURE_CODE_PROFILE:
            return erasure_code_profile(session, key.name)
        case actions.Kind.CRUSH_RULE:
            return crush_rules(session).get(key.name)
        case actions.Kind.POOL:
            return pools(session, with_rbd_options={key.name}).get(key.name)
        case actions.Kind.OSD_OPTIONS:
            return ceph_osds.told(session, osd_options.CLASS, key.name)
        case actions.Kind.HOST_OSD_OPTIONS:
            return ceph_osds.told(session, osd_options.HOST, key.name)
        case actions.Kind.PRIMARY_AFFINITY:
            return primary_affinity.observed(
                parse_osds(session.command('osd tree')), key.name
            )
        case actions.Kind.CACHE_TIER:
            return ceph_cache.of_all_pools(session).get(key.name)
        case actions.Kind.CEPHX_USER:
            return cephx_user(session, key.name)
    raise ValueError(f'{key} is not in Ceph')


def crush_rules(
    session: ceph_session.Session,
) -> dict[str, ceph_state.CrushRule]:
    """{name: CRUSH rule} of all that exist."""
    dumped = session.command('osd crush rule dump')
    return {rule['rule_name']: parse_rule(rule) for rule in dumped}


def erasure_code_profiles(
    session: ceph_session.Session,
    names: collections.abc.Iterable[str],
) -> dict[str, ceph_state.ErasureCodeProfile]:
    """{name: profile} of those names that exist."""
    return {
        name: profile
        for name in sorted(names)
        if (profile := erasure_code_profile(session, name))
    }


def erasure_code_profile(
    session: ceph_session.Session,
    name: str,
) -> ceph_state.ErasureCodeProfile | None:
    """An erasure code profile; None when it does not exist."""
    try:
        dumped = session.command('osd erasure-code-profile get', name=name)
    except ceph_session.CommandFailed as error:
        if error.errno == errno.ENOENT:
            return None
        raise
    return parse_profile(name, dumped)


def pools(
    session: ceph_session.Session,
    *,
    with_rbd_options: collections.abc.Set[str],
) -> dict[str, ceph_state.Pool]:
    """{name: pool} of all that exist.

    :param with_rbd_options: names of the pools of which the RBD options are
        read as well, which takes I/O on the pool.
    """
    names = {
        rule['rule_id']: rule['rule_name']
        for rule in session.command('osd crush rule dump')
    }
    result = {}
    for dumped in session.command('osd pool ls', detail='detail'):
        name = dumped['pool_name']
        result[name] = parse_pool(
            dumped,
            rule_names=names,
            rbd_options=(
                session.rbd_options(name)
                if name in with_rbd_options
                # A cache answers for the pool behind it.
                and dumped['tier_of'] < 0
                else {}
            ),
        )
    return result


def cephx_user(
    session: ceph_session.Session, name: str
) -> ceph_state.CephxUser | None:
    """A cephx user with its capabilities; None when it does not exist."""
    try:
        dumped = session.command('auth get', entity=name)
    except ceph_session.CommandFailed as error:
        if error.errno == errno.ENOENT:
            return None
        raise
    return ceph_state.CephxUser(name=name, caps=dict(dumped[0]['caps']))


def parse_rule(dumped: dict) -> ceph_state.CrushRule:
    """A CRUSH rule of `osd crush rule dump`."""
    steps = [
        step for step in dumped['steps'] if not step['op'].startswith('set_')
    ]
    kind = _KINDS.get(dumped['type'], str(dumped['type']))
    simple = [step['op'].partition('_')[0] for step in steps] in (
        ['take', 'choose', 'emit'],
        ['take', 'chooseleaf', 'emit'],
    ) and steps[1]['num'] == 0
    if not simple:
        return ceph_state.CrushRule(
            name=dumped['rule_name'],
            kind=kind,
            root=None,
            device_class=None,
            failure_domain=None,
        )
    # A class is taken through a shadow tree named root~class.
    root, _, device_class = steps[0]['item_name'].partition('~')
    return ceph_state.CrushRule(
        name=dumped['rule_name'],
        kind=kind,
        root=root,
        device_class=device_class or None,
        failure_domain=steps[1]['type'],
    )


def parse_profile(name: str, dumped: dict) -> ceph_state.ErasureCodeProfile:
    """A profile of `osd erasure-code-profile get`.

    Some plugins have no k or m; such a profile equals none of ours.
    """
    return ceph_state.ErasureCodeProfile(
        name=name,
        k=int(dumped.get('k', 0)),
        m=int(dumped.get('m', 0)),
        root=dumped.get('crush-root', 'default'),
        device_class=dumped.get('crush-device-class') or None,
        failure_domain=dumped.get('crush-failure-domain', 'host'),
    )


def parse_pool(
    dumped: dict,
    *,
    rule_names: collections.abc.Mapping[int, str],
    rbd_options: collections.abc.Mapping[str, str],
) -> ceph_state.Pool:
    """A pool of `osd pool ls detail`.

    :param rule_names: {rule id: rule name}.
    :param rbd_options: {librbd option: value} that the pool sets.
    """
    return ceph_state.Pool(
        name=dumped['pool_name'],
        kind=_KINDS.get(dumped['type'], str(dumped['type'])),
        size=dumped['size'],
        min_size=dumped['min_size'],
        pg_num=dumped.get('pg_num_target', dumped['pg_num']),
        pg_autoscale_mode=dumped['pg_autoscale_mode'],
        crush_rule=rule_names[dumped['crush_rule']],
        erasure_code_profile=dumped['erasure_code_profile'] or None,
        applications=frozenset(dumped['application_metadata']),
        ec_overwrites='ec_overwrites' in dumped['flags_names'].split(','),
        rbd_default_data_pool=rbd_options.get(_DATA_POOL),
        options=pool_options.observed(dumped),
        rbd_options={
            name: value
            for name, value in rbd_options.items()
            if name != _DATA_POOL
        },
    )


def parse_osds(tree: dict) -> tuple[ceph_state.Osd, ...]:
    """The OSDs of `osd tree`, by id; those outside the tree have no place."""
    nodes = {node['id']: node for node in tree['nodes']}
    parents = {
        child: node
        for node in tree['nodes']
        for child in node.get('children', ())
    }
    osds = []
    for node in (*nodes.values(), *tree.get('stray', ())):
        if node['type'] != 'osd':
            continue
        location, here = {}, node
        while here is not None:
            location[here['type']] = here['name']
            here = parents.get(here['id'])
        osds.append(
            ceph_state.Osd(
                osd_id=node['id'],
                location=location,
                device_class=node.get('device_class'),
                primary_affinity=node['primary_affinity'],
            )
        )
    return tuple(sorted(osds, key=lambda osd: osd.osd_id))
