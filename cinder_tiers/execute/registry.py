# SPDX-License-Identifier: Apache-2.0

"""Which executor carries out which kind of action."""

import openstack.connection

from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.state import action as actions
from cinder_tiers.execute import apply
from cinder_tiers.execute.ceph import cache_tier as ceph_cache
from cinder_tiers.execute.ceph import pool as ceph
from cinder_tiers.execute.cinder import qos_spec as cinder_qos
from cinder_tiers.execute.cinder import type_quota as cinder_quotas
from cinder_tiers.execute.cinder import volume_type as cinder


def executors(
    *,
    connection: openstack.connection.Connection,
    clusters: ceph.Sessions,
) -> dict[actions.Kind, apply.Executor]:
    """An executor for each kind of object.

    :param clusters: {name of the cluster in the catalog: session}.
    """
    return {
        actions.Kind.ERASURE_CODE_PROFILE: ceph.ErasureCodeProfiles(clusters),
        actions.Kind.CRUSH_RULE: ceph.CrushRules(clusters),
        actions.Kind.POOL: ceph.Pools(clusters),
        actions.Kind.OSD_OPTIONS: ceph.OsdOptions(
            clusters, mask=osd_options.CLASS
        ),
        actions.Kind.HOST_OSD_OPTIONS: ceph.OsdOptions(
            clusters, mask=osd_options.HOST
        ),
        actions.Kind.PRIMARY_AFFINITY: ceph.PrimaryAffinities(clusters),
        actions.Kind.CEPHX_USER: ceph.CephxUsers(clusters),
        actions.Kind.CACHE_TIER: ceph_cache.CacheTiers(clusters),
        actions.Kind.VOLUME_TYPE: cinder.VolumeTypes(connection),
        actions.Kind.QOS_SPEC: cinder_qos.QosSpecs(connection),
        actions.Kind.TYPE_QUOTA: cinder_quotas.TypeQuotas(connection),
    }
