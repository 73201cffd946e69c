# SPDX-License-Identifier: Apache-2.0

"""The plan: the actions that make the cloud match the catalog.

Pure: the same catalog and state give the same plan. It is empty if they match,
so it also detects drift. Must not know how actions are carried out or shown.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.placement import backends as backends_of_cinder
from cinder_tiers.domain.plan import expected_volumes
from cinder_tiers.domain.plan import owners
from cinder_tiers.domain.plan import removals
from cinder_tiers.domain.resources import registry
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.validation import clusters as cluster_rules
from cinder_tiers.domain.validation import projects as project_rules


_Actions = tuple[actions.Action, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """Actions in an order in which they can be carried out."""

    actions: _Actions

    @property
    def projects(self) -> frozenset[str]:
        """Ids of the projects that its actions name."""
        return frozenset().union(*(action.projects for action in self.actions))

    @property
    def refused(self) -> _Actions:
        """Actions that only an operator may allow.

        While there is one, no action of the plan is carried out.
        """
        return tuple(
            action for action in self.actions if action.refusal is not None
        )


def make(
    *,
    catalog: catalogs.Catalog,
    actual: actual_state.ActualState,
    backends: collections.abc.Iterable[backends_of_cinder.Backend] = (),
) -> Plan:
    """Compare the catalog with the existing state.

    :param backends: all backends that report to Cinder's scheduler; empty if
        unknown.
    :returns: a plan, which is empty if nothing must be done.
    :raises errors.ProblemsFound: a cluster cannot hold a tier, or a project is
        unknown.
    """
    problems = (
        *cluster_rules.check(catalog, actual.ceph),
        *project_rules.check(catalog, actual.projects),
    )
    if problems:
        raise errors.ProblemsFound(problems)
    doubts = expected_volumes.Doubts(catalog, actual, backends)
    found = [
        doubts.checked(owners.left_to_owner(action, actual.ceph))
        for one in registry.RESOURCES
        for action in one.plan(catalog, actual)
    ]
    return Plan(actions=removals.last(_completed(found)))


def _completed(
    found: collections.abc.Sequence[actions.Action],
) -> collections.abc.Iterator[actions.Action]:
    """Make actions that need an object wait until it is complete.

    An object that nothing completes is created as a whole.
    """
    by_object: dict[actions.Key, set[actions.Key]] = {}
    for action in found:
        if action.completes is not None:
            by_object.setdefault(action.completes, set()).add(action.key)
    held = {
        action.key: by_object[action.key]
        for action in found
        if action.meanwhile is not None and action.key in by_object
    }
    for action in found:
        yield dataclasses.replace(
            action,
            meanwhile=action.meanwhile if action.key in held else None,
            needs=action.needs.union(
                *(
                    held[key]
                    for key in action.needs & held.keys()
                    if key != action.completes
                )
            ),
        )
