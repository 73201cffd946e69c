# SPDX-License-Identifier: Apache-2.0

"""Reads from a Ceph cluster what tiers are made of. Writes nothing.

Must not know any kind of resource.
"""

import collections.abc
import dataclasses
import typing

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph import answers
from cinder_tiers.observe import field_types
from cinder_tiers.observe import registry


def observe(
    session: ceph_session.Session, catalog: catalogs.Catalog
) -> ceph_state.CephState:
    """Read the state of a cluster that the catalog may be compared with.

    :raises errors.TiersError: Ceph does not answer, refuses, or answers in an
        unknown form.
    """
    found = ceph_state.CephState(
        crush_rules={}, erasure_code_profiles={}, pools={}, users={}, osds=()
    )
    for one in registry.CEPH.values():
        fields: dict[str, typing.Any] = _fields(
            session, one.observe, catalog, found
        )
        found = dataclasses.replace(found, **fields)
    return found


@answers.in_known_form
def _fields(
    session: ceph_session.Session,
    observe_kind: collections.abc.Callable[..., dict[str, object]],
    catalog: catalogs.Catalog,
    found: ceph_state.CephState,
) -> dict[str, object]:
    fields = observe_kind(session, catalog, found)
    field_types.check_fields(ceph_state.CephState, fields)
    return fields


@answers.in_known_form
def read(
    session: ceph_session.Session, key: actions.Key
) -> actions.Resource | None:
    """Read one object; None if it does not exist.

    :raises errors.TiersError: Ceph does not answer, refuses, or answers in an
        unknown form.
    """
    return registry.CEPH[key.kind].read(session, key.name)
