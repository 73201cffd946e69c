# SPDX-License-Identifier: Apache-2.0

"""Executors of all kinds of actions."""

import openstack.connection

from cinder_tiers.clients import ceph as ceph_client
from cinder_tiers.domain.resources import osd_options as osd_options_kind
from cinder_tiers.domain.state import action as actions
from cinder_tiers.execute import apply
from cinder_tiers.execute.ceph import cache_tier
from cinder_tiers.execute.ceph import cephx_user
from cinder_tiers.execute.ceph import crush
from cinder_tiers.execute.ceph import osd_options
from cinder_tiers.execute.ceph import pool
from cinder_tiers.execute.ceph import primary_affinity
from cinder_tiers.execute.cinder import project_defaults
from cinder_tiers.execute.cinder import qos_spec
from cinder_tiers.execute.cinder import type_encryption
from cinder_tiers.execute.cinder import type_quota
from cinder_tiers.execute.cinder import volume_type
from cinder_tiers.execute.glance import tag_namespace


def executors(
    *,
    connection: openstack.connection.Connection,
    clusters: ceph_client.Sessions,
    read_usage: pool.ReadUsage,
    report_progress: cache_tier.ReportProgress = cache_tier.show_nothing,
) -> dict[actions.Kind, apply.Executor]:
    """Return an executor for each kind of object.

    :param clusters: {name of the cluster in the catalog: session}.
    :param read_usage: reads the usage of a cluster.
    :param report_progress: called with a line now and then by slow actions.
    """
    return {
        actions.Kind.ERASURE_CODE_PROFILE: crush.ErasureCodeProfiles(clusters),
        actions.Kind.CRUSH_RULE: crush.CrushRules(clusters),
        actions.Kind.POOL: pool.Pools(clusters, read_usage),
        actions.Kind.OSD_OPTIONS: osd_options.OsdOptions(
            clusters, mask=osd_options_kind.CLASS
        ),
        actions.Kind.HOST_OSD_OPTIONS: osd_options.OsdOptions(
            clusters, mask=osd_options_kind.HOST
        ),
        actions.Kind.PRIMARY_AFFINITY: primary_affinity.PrimaryAffinities(
            clusters
        ),
        actions.Kind.CEPHX_USER: cephx_user.CephxUsers(clusters),
        actions.Kind.CACHE_TIER: cache_tier.CacheTiers(
            clusters, read_usage, report_progress=report_progress
        ),
        actions.Kind.VOLUME_TYPE: volume_type.VolumeTypes(connection),
        actions.Kind.QOS_SPEC: qos_spec.QosSpecs(connection),
        actions.Kind.TYPE_QUOTA: type_quota.TypeQuotas(connection),
        actions.Kind.TYPE_ENCRYPTION: type_encryption.TypeEncryptions(
            connection
        ),
        actions.Kind.PROJECT_DEFAULTS: project_defaults.ProjectDefaults(
            connection
        ),
        actions.Kind.TAG_NAMESPACE: tag_namespace.TagNamespaces(connection),
    }
