# SPDX-License-Identifier: Apache-2.0

"""Reads CRUSH rules and erasure code profiles of a Ceph cluster."""

import collections.abc
import dataclasses
import errno

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import crush
from cinder_tiers.domain.resources import pool_dump
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain import units
from cinder_tiers.observe.ceph import answers

#: Type of a rule for an erasure coded pool where OSDs share failure domains
#: (CRUSH_RULE_TYPE_MSR_INDEP in src/crush/crush.h).
_MSR_INDEP = 5


@answers.in_known_form
def read_rules(
    session: ceph_session.Session,
) -> dict[str, ceph_state.CrushRule]:
    """{name: CRUSH rule} of all that exist."""
    dumped = session.command('osd crush rule dump')
    return {rule['rule_name']: parse_rule(rule) for rule in dumped}


def observe_rules(
    session: ceph_session.Session,
    catalog: catalogs.Catalog,
    found: ceph_state.CephState,
) -> dict[str, object]:
    """The CRUSH rules; a reader of `observe/registry.py`."""
    return {'crush_rules': read_rules(session)}


def read_rule(
    session: ceph_session.Session, name: str
) -> ceph_state.CrushRule | None:
    """A CRUSH rule; None when it does not exist."""
    return read_rules(session).get(name)


@answers.in_known_form
def observe_profiles(
    session: ceph_session.Session,
    catalog: catalogs.Catalog,
    found: ceph_state.CephState,
) -> dict[str, object]:
    """Read the erasure code profiles that pools of the catalog may use.

    :param found: state with the CRUSH rules and pools.
    """
    profiles: dict[str, ceph_state.ErasureCodeProfile] = {}
    asked: set[str] = set()
    # Twice: the name to use depends on what has the first one.
    for _ in range(2):
        found = dataclasses.replace(found, erasure_code_profiles=profiles)
        names = {
            name
            for tier in catalog.tiers_of(session.cluster.name)
            for name in crush.profiles_to_read(tier.rbd, found)
        } - asked
        profiles |= read_profiles(session, names)
        asked |= names
    fields: dict[str, object] = {'erasure_code_profiles': profiles}
    if any(
        isinstance(tier.rbd.protection, catalogs.ErasureCoded)
        and tier.rbd.protection.osds_per_failure_domain
        for tier in catalog.tiers_of(session.cluster.name)
    ):
        fields['min_compat_client'] = session.command('osd dump')[
            'require_min_compat_client'
        ]
    return fields


@answers.in_known_form
def read_profiles(
    session: ceph_session.Session,
    names: collections.abc.Iterable[str],
) -> dict[str, ceph_state.ErasureCodeProfile]:
    """{name: profile} of those names that exist."""
    return {
        name: profile
        for name in sorted(names)
        if (profile := read_profile(session, name))
    }


@answers.in_known_form
def read_profile(
    session: ceph_session.Session,
    name: str,
) -> ceph_state.ErasureCodeProfile | None:
    """An erasure code profile; None when it does not exist."""
    try:
        dumped = session.command('osd erasure-code-profile get', name=name)
    except ceph_session.CephRefused as error:
        if error.errno == errno.ENOENT:
            return None
        raise
    return parse_profile(name, dumped)


def parse_rule(dumped: dict) -> ceph_state.CrushRule:
    """A CRUSH rule of `osd crush rule dump`."""
    steps = [
        step for step in dumped['steps'] if not step['op'].startswith('set_')
    ]
    name = dumped['rule_name']
    known = _hybrid_rule(dumped, steps) or _two_level_rule(dumped, steps)
    if known:
        return known
    ops = [step['op'].partition('_')[0] for step in steps]
    if dumped['type'] == _MSR_INDEP:
        kind = 'erasure'
        # Ceph's own choose buckets, then OSDs in them.
        simple = (
            ops == ['take', 'choosemsr', 'choosemsr', 'emit']
            and steps[2]['type'] == 'osd'
            and all(step['num'] > 0 for step in steps[1:3])
        )
    else:
        kind = pool_dump.KINDS.get(dumped['type'], str(dumped['type']))
        simple = (
            ops in (['take', 'choose', 'emit'], ['take', 'chooseleaf', 'emit'])
            and steps[1]['num'] >= 0
        )
    if not simple:
        return ceph_state.CrushRule(
            name=name,
            kind=kind,
            root=None,
            device_class=None,
            failure_domain=None,
            other_form=_other_form(steps),
        )
    # A class is taken through a shadow tree named root~class.
    root, _, device_class = steps[0]['item_name'].partition('~')
    is_msr = steps[2]['op'] == 'choosemsr'
    return ceph_state.CrushRule(
        name=name,
        kind=kind,
        root=root,
        device_class=device_class or None,
        failure_domain=steps[1]['type'],
        num_failure_domains=steps[1]['num'] if is_msr else None,
        osds_per_failure_domain=steps[2]['num'] if is_msr else None,
        number=None if is_msr else steps[1]['num'] or None,
    )


def _other_form(steps: list[dict]) -> str:
    """Describe a rule that a catalog cannot declare."""
    places = [one['item_name'] for one in steps if one['op'] == 'take']
    chosen = [one for one in steps if one['op'].startswith('choose')]
    words = ', then '.join(_chosen(one) for one in chosen)
    if len(places) > 1:
        return f'takes from several places, {", ".join(places)}: {words}'
    if len(chosen) > 1:
        return f'chooses {len(chosen)} times: {words}'
    if len(chosen) == 1 and chosen[0]['num'] < 0:
        return f'chooses {words}'
    return f'has the steps {", ".join(one["op"] for one in steps) or "none"}'


def _chosen(step: dict) -> str:
    number, kind = step['num'], step['type']
    if number > 0:
        return f'{number} {kind}'
    fewer = f'{-number} fewer {kind} than' if number else f'as many {kind} as'
    return f'{fewer} the pool has copies or chunks'


def _hybrid_rule(
    dumped: dict, steps: list[dict]
) -> ceph_state.CrushRule | None:
    """A rule for one copy on a class and the others on another; or None."""
    ops = [step['op'] for step in steps]
    if (
        pool_dump.KINDS.get(dumped['type']) != 'replicated'
        or len(ops) != 6
        or ops[:3] != ops[3:]
        or (ops[0], ops[2]) != ('take', 'emit')
        or ops[1] not in ('choose_firstn', 'chooseleaf_firstn')
        or (steps[1]['num'], steps[4]['num']) != (1, -1)
        or steps[1]['type'] != steps[4]['type']
    ):
        return None
    (root, _, first), (other_root, _, others) = (
        steps[number]['item_name'].partition('~') for number in (0, 3)
    )
    if root != other_root or not first or not others or first == others:
        return None
    return ceph_state.CrushRule(
        name=dumped['rule_name'],
        kind='replicated',
        root=root,
        device_class=others,
        failure_domain=steps[1]['type'],
        primary_device_class=first,
    )


def _two_level_rule(
    dumped: dict, steps: list[dict]
) -> ceph_state.CrushRule | None:
    """A rule for several copies in each failure domain; or None.

    It chooses as many failure domains as the pool has copies, or all, and
    fills one after the other. With a fixed number of them it would not go on
    to another one where one has too few OSDs left.
    """
    ops = [step['op'] for step in steps]
    if (
        pool_dump.KINDS.get(dumped['type']) != 'replicated'
        or ops[:2] != ['take', 'choose_firstn']
        or ops[3:] != ['emit']
        or not (
            ops[2] == 'chooseleaf_firstn'
            or (ops[2], steps[2]['type']) == ('choose_firstn', 'osd')
        )
        or steps[1]['num'] != 0
        or steps[2]['num'] < 2
    ):
        return None
    root, _, device_class = steps[0]['item_name'].partition('~')
    return ceph_state.CrushRule(
        name=dumped['rule_name'],
        kind='replicated',
        root=root,
        device_class=device_class or None,
        failure_domain=steps[1]['type'],
        replicas_per_failure_domain=steps[2]['num'],
        sub_failure_domain=steps[2]['type'],
    )


def parse_profile(name: str, dumped: dict) -> ceph_state.ErasureCodeProfile:
    """A profile of `osd erasure-code-profile get`.

    Some plugins have no k or m; such a profile equals no managed one.
    """
    return ceph_state.ErasureCodeProfile(
        name=name,
        k=int(dumped.get('k', 0)),
        m=int(dumped.get('m', 0)),
        root=dumped.get('crush-root', 'default'),
        device_class=dumped.get('crush-device-class') or None,
        failure_domain=dumped.get('crush-failure-domain', 'host'),
        plugin=dumped.get('plugin'),
        technique=dumped.get('technique'),
        stripe_unit_bytes=_stripe_unit_bytes(dumped),
        num_failure_domains=_count(dumped, 'crush-num-failure-domains'),
        osds_per_failure_domain=_count(
            dumped, 'crush-osds-per-failure-domain'
        ),
    )


def _count(dumped: dict, name: str) -> int | None:
    """A number of a profile; Ceph 20 shows 0 for none."""
    return int(dumped.get(name, 0)) or None


def _stripe_unit_bytes(dumped: dict) -> int | None:
    try:
        return units.size_bytes(dumped.get('stripe_unit', ''))
    # None was named, or one that no version of the project would name.
    except ValueError:
        return None
