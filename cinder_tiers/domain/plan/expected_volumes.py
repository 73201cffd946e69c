# SPDX-License-Identifier: Apache-2.0

"""Existing volumes that a plan would leave without their pool.

A tiers file declares where the volumes of a tier should be; backends report
where they are, and Cinder how many there are. If these contradict the file, or
the pool is gone, the plan would create an empty pool in which volumes are
expected, or change another cluster. Such actions are refused. Nothing is
refused for a tier that has neither backends nor volumes yet; without reports
of backends, nothing contradicts the file. Pure.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.placement import backends as backends_of_cinder
from cinder_tiers.domain.plan import backend_pools
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state

#: Objects of a cluster, not of one tier; rules and profiles alone have no
#: effect.
_OF_CLUSTER = frozenset(
    {
        actions.Kind.OSD_OPTIONS,
        actions.Kind.HOST_OSD_OPTIONS,
        actions.Kind.PRIMARY_AFFINITY,
        actions.Kind.CEPHX_USER,
    }
)
_OF_POOL = frozenset({actions.Kind.POOL, actions.Kind.CACHE_TIER})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Doubt:
    """A tier whose volumes may be elsewhere than the file declares."""

    tier: catalogs.CephTier
    #: Pools that backends of the tier report instead of its own; empty if one
    #: of them serves its pool.
    elsewhere: collections.abc.Mapping[
        tuple[str, str], collections.abc.Sequence[str]
    ]
    #: Whether they report only another cluster.
    is_other_cluster: bool
    #: Missing pools with data of volumes.
    lost: frozenset[str]
    #: Names of the volume types whose volumes are in question.
    volume_types: tuple[str, ...]


class Doubts:
    """The doubtful tiers of a catalog.

    :param actual: existing state.
    :param backends: all backends that report to Cinder's scheduler; empty if
        unknown.
    """

    def __init__(
        self,
        catalog: catalogs.Catalog,
        actual: actual_state.ActualState,
        backends: collections.abc.Iterable[backends_of_cinder.Backend],
    ) -> None:
        self._actual = actual
        self._by_pool: dict[tuple[str, str], list[Doubt]] = {}
        others: dict[str, list[Doubt]] = {}
        confirmed: set[str] = set()
        types = _types_by_backend(actual.cinder)
        fsids = {
            name: one.fsid for name, one in actual.ceph.items() if one.fsid
        }
        for served in backend_pools.served_pools(catalog, backends, fsids):
            tier = served.tier
            cluster = tier.rbd.cluster
            if cluster not in actual.ceph:
                continue
            if served.is_here:
                confirmed.add(cluster)
            doubt = Doubt(
                tier=tier,
                elsewhere={} if served.is_here else served.elsewhere,
                is_other_cluster=bool(served.elsewhere)
                and not served.is_here
                and fsids.get(cluster) not in (None, *_fsids(served)),
                lost=_lost(tier.rbd, actual.ceph[cluster]),
                volume_types=types.get(tier.backend, ()),
            )
            if not (doubt.elsewhere or doubt.lost):
                continue
            for pool in tier.rbd.pools:
                self._by_pool.setdefault((cluster, pool), []).append(doubt)
            if doubt.is_other_cluster:
                others.setdefault(cluster, []).append(doubt)
        self._wrong_clusters = {
            name: several
            for name, several in others.items()
            if name not in confirmed
        }

    @property
    def volume_types(self) -> frozenset[str]:
        """Names of the volume types whose volumes must be counted."""
        return frozenset(
            name
            for several in self._by_pool.values()
            for doubt in several
            for name in doubt.volume_types
        )

    def checked(self, action: actions.Action) -> actions.Action:
        """Return the action, refused if it would strand volumes."""
        where = action.key.cluster
        if where is None:
            return action
        refusals: list[actions.Refusal | None] = []
        if action.key.kind in _OF_CLUSTER and where in self._wrong_clusters:
            refusals = [self._other_cluster(where)]
        elif action.key.kind in _OF_POOL:
            refusals = [
                self._refusal(doubt, action)
                for doubt in self._by_pool.get((where, action.key.name), ())
            ]
        refusal = actions.joined(
            one for one in (action.refusal, *refusals) if one is not None
        )
        return dataclasses.replace(action, refusal=refusal)

    def _refusal(
        self, doubt: Doubt, action: actions.Action
    ) -> actions.Refusal | None:
        cluster, pool = action.key.of_cluster, action.key.name
        count = self._count(doubt)
        is_lost = action.before is None and pool in doubt.lost
        if doubt.elsewhere and (count or doubt.is_other_cluster):
            return actions.Refusal(
                reason=f'{self._report(doubt)}, while the tiers file says '
                f'pool {doubt.tier.rbd.pool} of cluster {cluster} '
                f'({self._fsid(cluster)}); {self._expected(doubt)}',
                remedy=_fix(doubt.tier)
                + '; or, to move the tier, set rbd_pool and rbd_ceph_conf of '
                'its backends afterwards, and retype its volumes',
                yields_to_consent=True,
            )
        if is_lost and count:
            return actions.Refusal(
                reason=f'pool {pool} does not exist in cluster {cluster} '
                f'({self._fsid(cluster)}), and {self._expected(doubt)}: the '
                'new pool would be empty',
                remedy=_fix(doubt.tier)
                + '; or find out who renamed or deleted the pool, and '
                'bring it back',
                yields_to_consent=True,
            )
        return None

    def _other_cluster(self, cluster: str) -> actions.Refusal:
        doubts = self._wrong_clusters[cluster]
        fsids = {fsid for one in doubts for fsid, _ in one.elsewhere}
        count = sum(map(self._count, doubts))
        return actions.Refusal(
            reason=f'cluster {cluster} of the tiers file is '
            f'{self._fsid(cluster)}, and the backends of '
            f'{spelling.listed(f"tier {one.tier.name}" for one in doubts)} '
            f'store volumes in the Ceph cluster {spelling.listed(fsids)}, '
            f'{count} at present',
            remedy=_fix(doubts[0].tier),
            yields_to_consent=True,
        )

    def _report(self, doubt: Doubt) -> str:
        return 'backends of tier {} store volumes in {}'.format(
            doubt.tier.name,
            ' and '.join(
                f'pool {pool} of the Ceph cluster {fsid} '
                f'({spelling.listed(names)})'
                for (fsid, pool), names in doubt.elsewhere.items()
            ),
        )

    def _expected(self, doubt: Doubt) -> str:
        count = self._count(doubt)
        names = spelling.listed(doubt.volume_types)
        return (
            f'{count} {"volume" if count == 1 else "volumes"} of '
            f'{names} {"is" if count == 1 else "are"} expected there'
            if count
            else 'no volume is expected there yet'
        )

    def _count(self, doubt: Doubt) -> int:
        types = self._actual.cinder.volume_types
        return sum(types[name].volumes or 0 for name in doubt.volume_types)

    def _fsid(self, cluster: str) -> str:
        return self._actual.ceph[cluster].fsid or 'of an unknown fsid'


def _fix(tier: catalogs.CephTier) -> str:
    return (
        f'fix conf of cluster {tier.rbd.cluster}, or rbd.cluster and rbd.pool '
        f'of tier {tier.name}, in the tiers file'
    )


def _fsids(served: backend_pools.Served) -> tuple[str, ...]:
    return tuple(fsid for fsid, _ in served.elsewhere)


def _types_by_backend(
    cinder: cinder_state.CinderState,
) -> dict[str, tuple[str, ...]]:
    """Return {volume_backend_name: names of types with volumes there}.

    A retired type has the backend of its tier, and an unmanaged type may have
    it as well. For a type that overflows, only the first backend counts.
    """
    found: dict[str, list[str]] = {}
    for name, one in sorted(cinder.volume_types.items()):
        names = backends_of_cinder.alternatives(
            one.extra_specs.get(cinder_state.BACKEND)
        )
        if names:
            found.setdefault(names[0], []).append(name)
    return {name: tuple(several) for name, several in found.items()}


def _lost(rbd: catalogs.RbdPool, ceph: ceph_state.CephState) -> frozenset[str]:
    """Return the missing pools that held the data of any volumes.

    A cache pool holds none. Nor does a data pool that the tier does not use
    yet: the change of the pool that would use it is refused.
    """
    pools = {rbd.pool}
    head = ceph.pools.get(rbd.pool)
    if head is None or head.rbd_default_data_pool == rbd.data_pool:
        pools.add(rbd.data_pool)
    return frozenset(pools - ceph.pools.keys())
