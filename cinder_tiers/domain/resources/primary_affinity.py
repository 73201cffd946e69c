# SPDX-License-Identifier: Apache-2.0

"""Primary affinity of the OSDs of a device class.

The primary of a placement group serves its reads and coordinates its writes.
The affinity belongs to each OSD and so to all tiers on it; tiers declare it
for their device class. Pure. Must not know how OSDs are asked.
"""

import collections.abc

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import kind as kinds
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import difference

#: Ceph keeps it as a 16.16 fixed-point number, rounded down
#: (CEPH_OSD_MAX_PRIMARY_AFFINITY, src/osd/osd_types.h and OSDMonitor.cc,
#: v16.2.15), so more decimals would be lost.
DECIMALS = 4
#: Remedy if the read balancer must not choose primaries.
LEAVE_PRIMARIES = (
    'run "ceph balancer mode upmap", and "ceph osd rm-pg-upmap-primary" for '
    'each placement group that "ceph osd dump" lists with pg_upmap_primary'
)
REMEDY = (
    'remove primary_affinity from the tiers file and leave reads to the read '
    f'balancer; or {LEAVE_PRIMARIES}'
)


def normal(value: float) -> str:
    """Return a value in the form in which it is compared.

    >>> normal(0.7), normal(0.6999969482421875), normal(1)
    ('0.7', '0.7', '1')

    :param value: declared or reported value, from 0 to 1.
    """
    return format(round(value, DECIMALS), 'g')


def observed(
    osds: collections.abc.Iterable[ceph_state.Osd], device_class: str
) -> ceph_state.PrimaryAffinity | None:
    """Return the affinity of the OSDs of a device class; None without OSDs."""
    by_osd = {
        osd.osd_id: normal(osd.primary_affinity)
        for osd in osds
        if osd.device_class == device_class
    }
    if not by_osd:
        return None
    return ceph_state.PrimaryAffinity(
        name=device_class, value=osd_options.shown(by_osd), by_osd=by_osd
    )


def check(
    catalog: catalogs.Catalog,
) -> collections.abc.Iterator[errors.Problem]:
    """Yield values that Ceph cannot keep, and contradicting ones."""
    seen: dict[tuple[str, str], tuple[str, float]] = {}
    for tier in catalog.ceph_tiers:
        rbd = tier.rbd
        if rbd.primary_affinity is None:
            continue
        value = rbd.primary_affinity
        where = catalog.source.where(
            ('tiers', tier.name, 'rbd', 'primary_affinity')
        )
        if round(value, DECIMALS) != value:
            yield errors.Problem(
                where=where,
                found=f'primary_affinity {value} of tier {tier.name!r}',
                expected=(
                    f'a number with at most {DECIMALS} decimals; Ceph stores '
                    'it as a multiple of 1/65536'
                ),
                remedy=f'use {normal(value)}',
            )
        if rbd.device_class is None:
            continue
        other, wanted = seen.setdefault(
            (rbd.cluster, rbd.device_class), (tier.name, value)
        )
        if wanted != value:
            yield errors.Problem(
                where=where,
                found=(
                    f'tier {tier.name!r} declares primary_affinity {value}, '
                    f'and tier {other!r} declares {wanted}'
                ),
                expected=f'one value for the {rbd.device_class} OSDs of '
                f'cluster {rbd.cluster!r}, which serve both',
                remedy=(
                    'use one value for both, or give some of the OSDs a '
                    'different device class'
                ),
            )


def conflict(ceph: ceph_state.CephState, device_class: str, value: str) -> str:
    """Return why primary affinity and the read balancer conflict.

    The primaries that the read balancer chooses come first in their placement
    groups; primary affinity is applied afterwards and may skip them
    (OSDMap::_apply_upmap and _apply_primary_affinity, in the order of
    _pg_to_up_acting_osds).

    :param value: affinity, in the form of `normal`.
    :returns: a clause; '' without a conflict, as with an affinity of 1, which
        skips no OSD.
    """
    balancer = ceph.read_balancer
    if balancer is None or value == normal(1):
        return ''
    chosen = sum(
        balancer.primaries.get(osd.osd_id, 0)
        for osd in ceph.osds
        if osd.device_class == device_class
    )
    what = []
    if balancer.mode:
        what.append(f'the balancer has the mode {balancer.mode}')
    if chosen:
        what.append(
            f'{device_class} OSDs were made the primaries of {chosen} '
            'placement groups (pg-upmap-primary)'
        )
    if not what:
        return ''
    return (
        f'{" and ".join(what)}, and Ceph applies primary affinity after '
        'that: reads would be spread neither as the read balancer nor as the '
        'tiers file declares'
    )


def plan(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> collections.abc.Iterator[actions.Action]:
    """Yield an action for each device class with an OSD that differs."""
    wanted: dict[str, tuple[str, list[str]]] = {}
    for tier in catalog.tiers_of(cluster.name):
        rbd = tier.rbd
        if rbd.device_class is not None and rbd.primary_affinity is not None:
            _, names = wanted.setdefault(
                rbd.device_class, (normal(rbd.primary_affinity), [])
            )
            names.append(tier.name)
    for name, (value, tiers) in sorted(wanted.items()):
        before = observed(ceph.osds, name)
        after = ceph_state.PrimaryAffinity(name=name, value=value)
        if before is None or difference.differences(before, after):
            yield actions.Action(
                key=actions.Key(
                    kind=actions.Kind.PRIMARY_AFFINITY,
                    cluster=cluster.name,
                    name=name,
                ),
                before=before,
                after=after,
                why=f'tier {", ".join(tiers)}',
                notes=('other OSDs become primaries, no data moves',),
                refusal=_refusal(conflict(ceph, name, value)),
            )


def _refusal(reason: str) -> actions.Refusal | None:
    if not reason:
        return None
    return actions.Refusal(
        reason=reason, remedy=REMEDY, yields_to_consent=True
    )


def _tiers_affected(
    catalog: catalogs.Catalog, action: actions.Action
) -> tuple[str, ...]:
    return tuple(
        tier.name
        for tier in catalog.tiers_of(action.key.of_cluster)
        if tier.rbd.primary_affinity is not None
        and tier.rbd.device_class == action.key.name
    )


PRIMARY_AFFINITY = kinds.ResourceKind(
    kind=actions.Kind.PRIMARY_AFFINITY,
    resource=ceph_state.PrimaryAffinity,
    state_field='osds',
    plan=kinds.for_each_cluster(plan),
    tiers_affected=_tiers_affected,
    check=check,
)
