# SPDX-License-Identifier: Apache-2.0

"""Reads who runs a Ceph cluster. Writes nothing."""

import collections.abc

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import owners
from cinder_tiers.observe.ceph import answers

_ORCHESTRATOR = 'mgr/orchestrator/orchestrator'


@answers.in_known_form
def rook_namespace(session: ceph_session.Session) -> str | None:
    """Namespace of Kubernetes in which Rook runs the monitors.

    Monitors report the pod that they are in (`collect_sys_info`, ceph
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


def cephadm_tunes_memory(
    session: ceph_session.Session, catalog: catalogs.Catalog
) -> bool:
    """Return whether cephadm sets an option of OSDs that the catalog declares.

    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    name = session.cluster.name
    return cephadm_tunes_one_of(
        session,
        (
            *(tier.rbd.osd_options for tier in catalog.tiers_of(name)),
            *catalog.clusters[name].host_osd_options.values(),
        ),
    )


@answers.in_known_form
def cephadm_tunes_one_of(
    session: ceph_session.Session,
    options: collections.abc.Iterable[collections.abc.Container[str]],
) -> bool:
    """Return whether cephadm sets one of some options of OSDs.

    It does where `osd_memory_target_autotune` is true for any OSD, as after
    `cephadm bootstrap` since Ceph 17.

    :param options: their names, by device class or host.
    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    if not any(owners.MEMORY in names for names in options):
        return False
    configured = {
        (entry['name'], entry['value'])
        for entry in session.command('config dump')
    }
    return {
        (_ORCHESTRATOR, 'cephadm'),
        (f'{owners.MEMORY}_autotune', 'true'),
    } <= configured
