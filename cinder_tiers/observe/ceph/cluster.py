# SPDX-License-Identifier: Apache-2.0

"""Reads from a Ceph cluster what tiers are made of. Writes nothing.

Must not know any kind of resource.
"""

import dataclasses

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe import registry


def observe(
    session: ceph_session.Session, catalog: catalogs.Catalog
) -> ceph_state.CephState:
    """All state of a cluster that the catalog may compare with.

    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    found = ceph_state.CephState(
        crush_rules={}, erasure_code_profiles={}, pools={}, users={}, osds=()
    )
    for one in registry.CEPH.values():
        found = dataclasses.replace(
            found, **one.observe(session, catalog, found)
        )
    return found


def read(
    session: ceph_session.Session, key: actions.Key
) -> actions.Resource | None:
    """One object; None when it does not exist.

    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    return registry.CEPH[key.kind].read(session, key.name)
