# SPDX-License-Identifier: Apache-2.0

"""Reads who runs a Ceph cluster. Writes nothing."""

from cinder_tiers.clients import ceph as ceph_session


def rook_namespace(session: ceph_session.Session) -> str | None:
    """Namespace of Kubernetes in which Rook runs the monitors.

    Monitors tell of the pod that they are in (`collect_sys_info`, ceph
    src/common/util.cc), and nothing but Rook runs them in pods.

    :returns: None when they are in none.
    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    found = {
        one['pod_namespace']
        for one in session.command('mon metadata')
        if one.get('pod_namespace')
    }
    return min(found, default=None)
