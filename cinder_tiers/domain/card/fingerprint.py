# SPDX-License-Identifier: Apache-2.0

"""Fingerprint of everything that determines the figures of a tier.

Pure. It does not cover descriptions, tags, access, quotas or promises, which
affect no figure. Must not know where a fingerprint is kept.
"""

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import hashlib
import json

from cinder_tiers.domain.card import card as cards
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.state import ceph as ceph_state

_DIGITS = 6


def _plain(value: object) -> object:
    """Return a value for JSON; records without fields at their default.

    So a setting that a later release adds changes no fingerprint.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _plain(found)
            for field in dataclasses.fields(value)
            if (found := getattr(value, field.name)) != _default(field)
        }
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    if isinstance(value, float) and value == int(value):
        return int(value)
    return value if isinstance(value, int | float | None) else str(value)


def _default(field: dataclasses.Field) -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _digits(value: object) -> str:
    text = json.dumps(_plain(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def osds_of(
    pools: Collection[str], state: ceph_state.CephState
) -> frozenset[int]:
    """Return the ids of the OSDs on which pools may lie, by CRUSH rules.

    OSDs that are out are included: most come back, and a failed disk does not
    invalidate a card.

    :param pools: names of pools; one that does not exist has no OSD.
    """
    rules = [
        state.crush_rules.get(state.pools[name].crush_rule)
        for name in pools
        if name in state.pools
    ]
    return frozenset(
        osd.osd_id
        for rule in rules
        if rule is not None
        for osd in state.osds
        if rule.takes(dataclasses.replace(osd, no_data=''))
    )


def of_tier(
    catalog: catalogs.Catalog,
    tier: catalogs.Tier,
    state: ceph_state.CephState | None,
) -> str:
    """Return the fingerprint of a tier.

    :param state: state of its cluster; None without a cluster.
    """
    found = [
        _digits(
            [tier.backend, tier.extra_specs, tier.qos and _limits(tier.qos)]
            + ([tier.encryption] if tier.encryption else [])
        )
    ]
    if tier.rbd is not None and state is not None:
        cluster = catalog.clusters[tier.rbd.cluster]
        # Requirements are only checked and change nothing.
        pool = dataclasses.replace(tier.rbd, osd_requirements=None)
        found.append(_digits([pool, cluster.host_osd_options]))
        found.append(_digits(sorted(osds_of(tier.rbd.pools, state))))
    return '-'.join(found)


def _limits(qos: catalogs.Qos) -> catalogs.Qos:
    """Return a QoS spec without its name."""
    return dataclasses.replace(qos, name=None)


def changes(
    measured: cards.Measured,
    catalog: catalogs.Catalog,
    tier: catalogs.Tier,
    state: ceph_state.CephState | None,
) -> tuple[str, ...]:
    """Return what changed since a tier was measured, each as a clause.

    :param state: state of its cluster; None without a cluster or if unknown:
        facts of Ceph are then not compared.
    """
    return tuple(_changes(measured, catalog, tier, state))


def _changes(
    measured: cards.Measured,
    catalog: catalogs.Catalog,
    tier: catalogs.Tier,
    state: ceph_state.CephState | None,
) -> Iterator[str]:
    before = measured.fingerprint.split('-')
    now = of_tier(catalog, tier, state).split('-')
    if before[0] != now[0]:
        yield 'QoS, encryption, backend or extra specs of the tier changed'
    if tier.rbd is not None and state is None:
        return
    if len(before) != len(now):
        yield (
            'the tier has no pool of its own any more'
            if len(before) > len(now)
            else 'the tier has a pool of its own now'
        )
        return
    for place, what in enumerate(
        (
            'pool, CRUSH rule or options of the tier changed',
            'other OSDs serve the pools of the tier',
        ),
        start=1,
    ):
        if before[place:] and before[place] != now[place]:
            yield what
    if (
        state is not None
        and None not in (measured.ceph_release, state.release)
        and measured.ceph_release != state.release
    ):
        yield (
            f'Ceph has release {state.release}, and had '
            f'{measured.ceph_release}'
        )
