# SPDX-License-Identifier: Apache-2.0

"""A kind of resource, as a row of the table of kinds.

One file describes one kind: its settings, the rules between them, the wanted
objects, the plan and its refusals. `registry` lists the kinds; this module
defines a row. Pure. Must not know any kind.
"""

import collections.abc
import dataclasses
import typing

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state

_CEPH_FIELDS = {
    field.name for field in dataclasses.fields(ceph_state.CephState)
}
#: The state of one object of a kind.
R = typing.TypeVar('R', bound=actions.Resource)

Actions = collections.abc.Iterator[actions.Action]
Problems = collections.abc.Iterator[errors.Problem]

#: Plans objects of Cinder.
Plan = collections.abc.Callable[
    [catalogs.Catalog, actual_state.ActualState], Actions
]
#: Plans objects of one Ceph cluster.
ClusterPlan = collections.abc.Callable[
    [catalogs.Catalog, catalogs.Cluster, ceph_state.CephState], Actions
]


def no_problems(*unused: object) -> Problems:
    """Return no problem: the kind has no rules of its own."""
    return iter(())


def no_types(*unused: object) -> frozenset[str]:
    """Return no types: the plan does not depend on the use of types."""
    return frozenset()


def nothing(*unused: object) -> collections.abc.Iterator[str]:
    """Yield nothing: updates of the kind take nothing away."""
    return iter(())


def tiers_of_that_name(
    catalog: catalogs.Catalog, action: actions.Action
) -> tuple[str, ...]:
    """Return the tier of an action on an object with the type's name."""
    return tuple(
        tier.name
        for tier in catalog.tiers
        if tier.type_name == action.key.name
    )


def for_each_cluster(plan: ClusterPlan) -> Plan:
    """Return a plan of all clusters in use, from one of a single cluster.

    :param plan: plan of one cluster.
    """

    def plan_all(
        catalog: catalogs.Catalog, actual: actual_state.ActualState
    ) -> Actions:
        for cluster in catalog.clusters_in_use:
            yield from plan(catalog, cluster, actual.ceph[cluster.name])

    return plan_all


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResourceKind(typing.Generic[R]):
    """Properties that all objects of a kind share."""

    #: Its value is public: users write it after --allow, and the audit shows
    #: it.
    kind: actions.Kind
    #: The state of one object.
    resource: type[R]
    #: Field of `CephState` or `CinderState` with its objects.
    state_field: str
    #: Returns the actions that make existing objects match the catalog.
    plan: Plan
    #: Names of the tiers that an action on such an object is for, in the order
    #: of the file; empty if it is for no tier, or for a whole cluster.
    tiers_affected: collections.abc.Callable[
        [catalogs.Catalog, actions.Action], tuple[str, ...]
    ]
    #: Problems between the settings of a catalog; total, see
    #: `validation/catalog`.
    check: collections.abc.Callable[[catalogs.Catalog], Problems] = no_problems
    #: Problems of a cluster that lacks something.
    check_cluster: collections.abc.Callable[
        [catalogs.Catalog, catalogs.Cluster, ceph_state.CephState],
        collections.abc.Iterable[errors.Problem],
    ] = no_problems
    #: Names of the volume types whose use by volumes affects the plan; Cinder
    #: has to be asked for each.
    types_whose_usage_matters: collections.abc.Callable[
        [catalogs.Catalog, cinder_state.CinderState], frozenset[str]
    ] = no_types
    #: Descriptions of what an update removes, such as `tag database`, which
    #: another object may be about to replace.
    taken_away: collections.abc.Callable[
        [R, R], collections.abc.Iterator[str]
    ] = nothing

    @property
    def is_in_ceph(self) -> bool:
        """Return whether Ceph has its objects, and not Cinder or Glance."""
        return self.state_field in _CEPH_FIELDS
