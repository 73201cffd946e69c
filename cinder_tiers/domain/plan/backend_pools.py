# SPDX-License-Identifier: Apache-2.0

"""Backends of a tier that keep volumes in another pool than declared.

A volume type names backends, and cinder.conf defines their pools; a pool in
the tiers file changes neither. Pure.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.placement import backends as backends_of_cinder
from cinder_tiers.domain.placement import rbd_location
from cinder_tiers.domain.placement import tier_specs as extra_specs
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import cinder as cinder_state

#: {name of a cluster in the catalog: its fsid}, as far as it is known.
Fsids = collections.abc.Mapping[str, str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Elsewhere:
    """Backends of a tier that keep volumes in another pool."""

    tier: str
    #: {field: value reported by the backends} of differences.
    current: collections.abc.Mapping[str, object]
    #: Pool that the tier declares.
    rbd: catalogs.RbdPool
    #: {field: declared value} of differences.
    expected: collections.abc.Mapping[str, object]
    reason: str
    remedy: str


def find_elsewhere(
    catalog: catalogs.Catalog,
    backends: collections.abc.Iterable[backends_of_cinder.Backend],
    fsids: Fsids,
) -> collections.abc.Iterator[Elsewhere]:
    """Yield each pool that backends of a tier serve instead of its own.

    Backends that are not of Cinder's RBD driver, or do not report where they
    keep volumes, are skipped.

    :param backends: all backends that report to Cinder's scheduler.
    :returns: findings in the order of the file.
    """
    for served in served_pools(catalog, backends, fsids):
        # The zone of a backend is unknown: if a type is restricted to zones,
        # backends with another pool may be in other zones.
        if (
            extra_specs.zones(served.tier.extra_specs) is None
            or not served.is_here
        ):
            yield from _elsewhere(served, fsids)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Served:
    """Pools in which the backends of a tier keep volumes."""

    tier: catalogs.CephTier
    #: Whether a backend keeps volumes in the declared pool.
    is_here: bool
    #: {(fsid, pool): names of backends}, sorted, for pools that no tier with
    #: these backends declares.
    elsewhere: collections.abc.Mapping[
        tuple[str, str], collections.abc.Sequence[str]
    ]


def served_pools(
    catalog: catalogs.Catalog,
    backends: collections.abc.Iterable[backends_of_cinder.Backend],
    fsids: Fsids,
) -> collections.abc.Iterator[Served]:
    """Yield the pools with the volumes of each managed tier with a pool.

    :param backends: all backends that report to Cinder's scheduler.
    :returns: pools in the order of the file.
    """
    located: dict[
        object, list[tuple[backends_of_cinder.Backend, rbd_location.Location]]
    ] = {}
    for one in backends:
        location = rbd_location.location_of(one)
        if location is not None:
            name = one.capabilities.get(cinder_state.BACKEND)
            located.setdefault(name, []).append((one, location))
    sharing: dict[str | None, list[catalogs.RbdPool]] = {}
    for tier in catalog.ceph_tiers:
        sharing.setdefault(tier.backend, []).append(tier.rbd)
    for tier in catalog.ceph_tiers:
        if not tier.take_over:
            continue
        serving = [
            (backend, location)
            for backend, location in located.get(tier.backend, ())
            if not backends_of_cinder.find_mismatch(backend, tier.extra_specs)
        ]
        elsewhere: dict[tuple[str, str], list[str]] = {}
        for backend, location in serving:
            if all(
                _differs(location, rbd, fsids) for rbd in sharing[tier.backend]
            ):
                elsewhere.setdefault(
                    (location.fsid, location.pool), []
                ).append(backend.name)
        yield Served(
            tier=tier,
            is_here=any(
                not _differs(location, tier.rbd, fsids)
                for _, location in serving
            ),
            elsewhere=dict(sorted(elsewhere.items())),
        )


def _differs(
    location: rbd_location.Location, rbd: catalogs.RbdPool, fsids: Fsids
) -> bool:
    fsid = fsids.get(rbd.cluster, location.fsid)
    return (location.fsid, location.pool) != (fsid, rbd.pool)


def _elsewhere(
    served: Served, fsids: Fsids
) -> collections.abc.Iterator[Elsewhere]:
    tier = served.tier
    for (fsid, pool), several in served.elsewhere.items():
        sides = {
            'pool': (pool, tier.rbd.pool),
            'fsid': (fsid, fsids.get(tier.rbd.cluster, fsid)),
        }
        differing = {
            name: one for name, one in sides.items() if len({*one}) > 1
        }
        yield Elsewhere(
            tier=tier.name,
            rbd=tier.rbd,
            current={name: one for name, (one, _) in differing.items()},
            expected={name: one for name, (_, one) in differing.items()},
            reason=f'volumes of the tier are stored in pool {pool} of the '
            f'Ceph cluster {fsid}, as these backends report: '
            f'{spelling.listed(several)}',
            remedy='declare what the backends use; or, if no volume is stored '
            'there, set rbd_pool and rbd_ceph_conf of their sections as '
            '"openstack tier backend-config" shows, and restart '
            'cinder-volume; or declare another tier for the other pool and '
            'retype the volumes',
        )
