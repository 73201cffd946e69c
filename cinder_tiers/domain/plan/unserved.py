# SPDX-License-Identifier: Apache-2.0

"""Tiers without a backend that can take a volume, and the reasons.

Such a tier is as declared, but each new volume of it ends in error, or goes to
the tier of its overflow. Pure. Must not know how backends are listed.
"""

import collections.abc
import dataclasses
import itertools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.placement import backends as backends_of_cinder
from cinder_tiers.domain.plan import backend_pools
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.resources import volume_type as volume_type_kind
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state

#: Suggestions at most: each takes a millisecond.
_SUGGESTIONS = 100
_Backends = collections.abc.Sequence[backends_of_cinder.Backend]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unserved:
    """A tier without a backend that may take a volume."""

    tier: str
    #: Requirements for backends, and their values instead.
    reason: str
    #: Consequence for volumes of the tier.
    effect: str
    remedy: str


def find(
    catalog: catalogs.Catalog,
    volume_types: collections.abc.Mapping[str, cinder_state.VolumeType],
    backends: _Backends,
) -> collections.abc.Iterator[Unserved]:
    """Yield each tier without a backend of its own, in file order.

    Zones and free space are not considered: the scheduler does not report
    zones, and a backend that is full today may be empty tomorrow.

    :param volume_types: {name: volume type} of all existing types, for extra
        specs that the catalog does not have and leaves alone.
    :param backends: all backends that report to Cinder's scheduler.
    """
    by_name: dict[object, list[backends_of_cinder.Backend]] = {}
    for one in backends:
        name = one.capabilities.get(cinder_state.BACKEND)
        by_name.setdefault(name, []).append(one)
    words = sorted(name for name in by_name if isinstance(name, str))
    suggested = itertools.count()

    def suggestion(name: str) -> str:
        if next(suggested) >= _SUGGESTIONS:
            return ''
        return spelling.did_you_mean(name, words)

    for tier in catalog.ours:
        specs = dict(
            volume_type_kind.extra_specs_of(
                catalog, tier, volume_types.get(tier.type_name)
            )
        )
        # In the type, it also names the backends of the overflow.
        specs.pop(cinder_state.BACKEND, None)
        reason = _why_not(tier, specs, backends, by_name)
        if reason is None:
            continue
        other = catalog.tier(tier.overflow)
        yield Unserved(
            tier=tier.name,
            reason=reason,
            effect=f'all volumes go to backends of tier {other.name}, to '
            'which it overflows'
            if other is not None
            and _why_not(other, specs, backends, by_name) is None
            else 'Cinder cannot place new volumes, which end in status error',
            remedy=_remedy(tier, by_name, suggestion),
        )


def find_elsewhere(
    catalog: catalogs.Catalog,
    plan: plans.Plan,
    backends: _Backends,
    ceph: collections.abc.Mapping[str, ceph_state.CephState],
) -> collections.abc.Iterator[Unserved]:
    """Yield each tier whose backends keep volumes in another pool.

    :param plan: plan whose refused pools are not reported again.
    :param backends: all backends that report to Cinder's scheduler.
    :param ceph: {name of the cluster in the catalog: its state}.
    :returns: findings in the order of the file.
    """
    refused = {
        (action.key.cluster, action.key.name)
        for action in plan.refused
        if action.key.kind is actions.Kind.POOL
    }
    for one in backend_pools.find_elsewhere(
        catalog,
        backends,
        {name: state.fsid for name, state in ceph.items() if state.fsid},
    ):
        rbd = one.rbd
        if refused.isdisjoint((rbd.cluster, pool) for pool in rbd.pools):
            yield Unserved(
                tier=one.tier,
                reason=f'pool {rbd.pool} is declared, and {one.reason}',
                effect='new volumes are stored there, too',
                remedy=one.remedy,
            )


def _why_not(
    tier: catalogs.Tier,
    specs: collections.abc.Mapping[str, str],
    backends: _Backends,
    by_name: collections.abc.Mapping[object, _Backends],
) -> str | None:
    """Return why no backend of a tier meets extra specs; None if one does."""
    named = backends if tier.backend is None else by_name.get(tier.backend, ())
    if not backends:
        return "no backend reports to Cinder's scheduler"
    if not named:
        return (
            "no backend that reports to Cinder's scheduler has "
            f'{cinder_state.BACKEND} {tier.backend}'
        )
    mismatches = []
    for one in named:
        mismatch = backends_of_cinder.find_mismatch(one, specs)
        if mismatch is None:
            return None
        mismatches.append((one.name, str(mismatch)))
    name, why = min(mismatches)
    return f'no backend meets its extra specs; on {name}, {why}'


def _remedy(
    tier: catalogs.Tier,
    names: collections.abc.Container[object],
    suggestion: collections.abc.Callable[[str], str],
) -> str:
    """Return advice for the operator.

    :param names: each reported `volume_backend_name`.
    :param suggestion: returns `did you mean ...? ` for a name, or ''.
    """
    if tier.backend is None or tier.backend in names:
        return (
            'fix extra_specs; or remove the extra spec from the volume '
            'type, if the tiers file does not have it; or make a backend '
            'report the required capability'
        )
    if tier.rbd is not None and tier.backend_name is None:
        return (
            'add what "openstack tier backend-config" prints to cinder.conf, '
            'and restart cinder-volume; "openstack volume service list" shows '
            'whether it is up'
        )
    return (
        f'{suggestion(tier.backend)}fix backend in the tiers file; or '
        'start the cinder-volume that serves it: "openstack volume '
        'service list" shows whether it is up'
    )
