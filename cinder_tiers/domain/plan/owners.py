# SPDX-License-Identifier: Apache-2.0

"""Objects that an operator of Kubernetes would reset. Pure.

Rook repeatedly resets each pool to its CephBlockPool, so two owners of a pool
would undo each other's changes. Ceph does not know whether a pool has such a
resource. cephadm owns no pool, but may set the memory of OSDs by host
(`_autotune_host_memory`, ceph src/pybind/mgr/cephadm/serve.py).
"""

import collections.abc
import dataclasses
import json

from cinder_tiers.domain.plan import owner_fragments
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state

#: The option that cephadm tunes.
MEMORY = 'osd_memory_target'
#: Fields of a pool that Rook does not set: RBD options and the ownership
#: marker.
_OURS = frozenset({'managed', 'rbd_default_data_pool'})


def left_to_owner(
    action: actions.Action,
    clusters: collections.abc.Mapping[str, ceph_state.CephState],
) -> actions.Action:
    """Return the action, refused if another owner would undo it.

    :param clusters: {name of the cluster: its state}.
    """
    refusal = None
    if isinstance(action.after, ceph_state.Pool):
        refusal = _of_rook(
            action, action.after, clusters[action.key.of_cluster]
        )
    elif isinstance(action.after, ceph_state.OsdOptions):
        refusal = _of_cephadm(action, clusters[action.key.of_cluster])
    if refusal is None:
        return action
    return dataclasses.replace(
        action,
        refusal=actions.joined(filter(None, (action.refusal, refusal))),
    )


def _of_cephadm(
    action: actions.Action, ceph: ceph_state.CephState
) -> actions.Refusal | None:
    if not ceph.cephadm_tunes_memory or not any(
        one.field == f'values.{MEMORY}' for one in action.changes
    ):
        return None
    return actions.Refusal(
        reason=f'cephadm sets {MEMORY} on each host according to its '
        'memory, and would overwrite this value',
        remedy=f'remove {MEMORY} from the tiers file, or stop the tuning: '
        f'"ceph config set osd {MEMORY}_autotune false"',
    )


def _of_rook(
    action: actions.Action, wanted: ceph_state.Pool, ceph: ceph_state.CephState
) -> actions.Refusal | None:
    if ceph.rook_namespace is None:
        return None
    theirs = _fields_of_rook(action)
    if action.before is not None and not theirs:
        return None
    return _refusal(action, wanted, ceph.rook_namespace, theirs)


def _fields_of_rook(action: actions.Action) -> tuple[str, ...]:
    return tuple(
        one.field
        for one in action.changes
        if one.field not in _OURS and not one.field.startswith('rbd_options.')
    )


def _refusal(
    action: actions.Action,
    wanted: ceph_state.Pool,
    namespace: str,
    fields: tuple[str, ...],
) -> actions.Refusal:
    name = action.key.name
    reason = (
        f'Rook, in the namespace {namespace}, manages the cluster, and '
        'would not know about the pool'
        if action.before is None
        else f'Rook, in the namespace {namespace}, manages the cluster, '
        'and resets a pool that has a CephBlockPool to the settings '
        'in it'
    )
    values = owner_fragments.rook_values(wanted)
    needed = [
        f'spec.{section}.{key}: {json.dumps(value)}'
        for section, key, value in (
            values[field] for field in fields if field in values
        )
    ]
    if action.before is None:
        remedy = (
            f'apply the CephBlockPool {name} that "openstack tier '
            'backend-config --for rook" prints'
        )
    elif len(needed) == len(fields):
        remedy = f'set in the CephBlockPool {name}: {", ".join(needed)}'
    else:
        remedy = (
            f'change the CephBlockPool {name} to what "openstack tier '
            'backend-config --for rook" prints'
        )
    return actions.Refusal(
        reason=reason,
        remedy=remedy,
        # A pool created by hand has no resource.
        yields_to_consent=True,
    )
