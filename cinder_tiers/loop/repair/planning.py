# SPDX-License-Identifier: Apache-2.0

"""Observes volumes, and makes a plan of what was asked for. Writes nothing."""

import collections.abc
import dataclasses

import openstack.connection

from cinder_tiers.domain.audit import volumes as audit_volumes
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.placement import decision
from cinder_tiers.loop.repair import circumstances
from cinder_tiers.loop.repair import order
from cinder_tiers.loop.repair import repair
from cinder_tiers.loop.repair import servers
from cinder_tiers.loop.repair import undo
from cinder_tiers.observe.cinder import volumes
from cinder_tiers.observe import for_audit
from cinder_tiers import workflow


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
    """Request for a repair."""

    kinds: frozenset[repair.RepairKind]
    #: Names of the tiers whose volumes are repaired; None: all.
    tiers: tuple[str, ...] | None
    #: Ids of the volumes that are repaired; empty: all.
    volumes: frozenset[str]
    #: The only steps that are done; None: all that are needed.
    orders: order.Orders | None
    #: Whether the orders are to be taken back.
    is_undo: bool
    #: Whether servers are shelved while their volumes change.
    shelves: bool


def plan(
    asked: Asked,
    *,
    connection: openstack.connection.Connection,
    policy: decision.Policy,
    catalog: catalogs.Catalog,
    sessions: for_audit.Sessions,
) -> repair.RepairPlan:
    """Plan the repair of volumes as they are now.

    :param asked: request for the repair.
    :param catalog: catalog with the tiers and their clusters.
    :param sessions: sessions with the clusters, if limits are repaired.
    :raises errors.TiersError: Cinder does not answer or refuses, or lacks one
        of the volumes.
    """
    # Before the images, so that a new volume is not missed among them.
    listed = list(workflow.list_volumes(connection, policy=policy))
    missing = asked.volumes - {one.volume.volume_id for one in listed}
    if missing:
        raise errors.NotVisible(
            f'Cinder has no volume {", ".join(sorted(missing))}; see '
            '"openstack volume list --all-projects"'
        )
    flattens = repair.RepairKind.RESIDENCY in asked.kinds and not asked.is_undo
    around = circumstances.observe(
        connection,
        volumes.limits(connection, catalog, sessions)
        if repair.RepairKind.LIMITS in asked.kinds
        else None,
        residency=volumes.residency(catalog, sessions) if flattens else None,
        places=volumes.places(connection, catalog, sessions)
        if flattens
        else None,
    )
    made = _made(asked, listed, around)
    if any(one.retype_to for one in made.steps):
        # Only now are the types known whose encryption matters, and it only
        # adds refusals to these steps.
        around = circumstances.with_encryptions(connection, around, made.steps)
        made = _made(asked, listed, around)
    if asked.shelves:
        around = dataclasses.replace(
            around,
            servers=servers.of_volumes(
                connection, repair.attached(made.steps)
            ),
        )
        made = _made(asked, listed, around)
    return dataclasses.replace(made, left=_left(asked, connection))


def _left(
    asked: Asked, connection: openstack.connection.Connection
) -> tuple[repair.Server, ...]:
    try:
        return servers.left(connection)
    except errors.TiersError:
        # A cloud may have no Nova, and who shelved there can ask it.
        if asked.shelves:
            raise
        return ()


def _made(
    asked: Asked,
    listed: collections.abc.Sequence[audit_volumes.ListedVolume],
    around: repair.Circumstances,
) -> repair.RepairPlan:
    chosen = asked.volumes or None
    if asked.orders and asked.is_undo:
        return repair.RepairPlan(
            steps=tuple(
                undo.plan(
                    asked.orders,
                    listed,
                    circumstances=around,
                    tiers=asked.tiers,
                    volumes=chosen,
                )
            ),
            unknown={},
        )
    ids = {
        one.volume.stored_id or one.volume.volume_id: one.volume.volume_id
        for one in listed
    }
    made = repair.plan(
        listed,
        circumstances=around,
        kinds=asked.kinds,
        tiers=asked.tiers,
        volumes=chosen,
        wishes=order.wishes(asked.orders, ids) if asked.orders else None,
    )
    if asked.orders is None:
        return made
    return dataclasses.replace(
        made, steps=tuple(order.agreed(asked.orders, made.steps, ids))
    )
