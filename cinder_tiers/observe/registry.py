# SPDX-License-Identifier: Apache-2.0

"""Readers of all kinds of resources. Nothing here writes.

The kinds are those of `domain/resources/registry.py`.
"""

import collections.abc
import dataclasses
import functools
import types

import openstack.connection

from cinder_tiers.clients import ceph as ceph_client
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.observe.ceph import cache_tier as observed_cache_tiers
from cinder_tiers.observe.ceph import cephx_user as observed_users
from cinder_tiers.observe.ceph import crush as observed_crush
from cinder_tiers.observe.ceph.osd import osd_options as observed_options
from cinder_tiers.observe.ceph.osd import osds as observed_osds
from cinder_tiers.observe.ceph import pool as observed_pools
from cinder_tiers.observe.cinder import project_defaults as observed_defaults
from cinder_tiers.observe.cinder import qos_spec as observed_qos_specs
from cinder_tiers.observe.cinder import scope as scopes
from cinder_tiers.observe.cinder import type_encryption as observed_encryptions
from cinder_tiers.observe.cinder import type_quota as observed_quotas
from cinder_tiers.observe.cinder import volume_type as observed_types
from cinder_tiers.observe.glance import tag_namespace as observed_namespaces

#: Fields of a state, as a reader found them.
Fields = dict[str, object]


@dataclasses.dataclass(frozen=True, kw_only=True)
class CephReader:
    """Reads one kind of resource from a Ceph cluster."""

    #: Gives fields of `CephState` with all that a catalog is compared with;
    #: the state has what was read before.
    observe: collections.abc.Callable[
        [ceph_client.Session, catalogs.Catalog, ceph_state.CephState], Fields
    ]
    #: Gives the object of a name as it is in effect, None for none.
    read: collections.abc.Callable[
        [ceph_client.Session, str], actions.Resource | None
    ]


@dataclasses.dataclass(frozen=True, kw_only=True)
class CinderReader:
    """Reads one kind of resource from Cinder, or from Glance."""

    #: Gives fields of `CinderState`; the state has what was read before.
    observe: collections.abc.Callable[
        [
            openstack.connection.Connection,
            scopes.Scope,
            cinder_state.CinderState,
        ],
        Fields,
    ]
    #: Gives the object of a name as it is in effect, None for none.
    read: collections.abc.Callable[
        [openstack.connection.Connection, str], actions.Resource | None
    ]


#: In the order in which they are read.
CEPH: collections.abc.Mapping[actions.Kind, CephReader] = (
    types.MappingProxyType(
        {
            actions.Kind.CRUSH_RULE: CephReader(
                observe=observed_crush.observe_rules,
                read=observed_crush.read_rule,
            ),
            actions.Kind.POOL: CephReader(
                observe=observed_pools.observe, read=observed_pools.read
            ),
            # Which profiles matter depends on rules and pools.
            actions.Kind.ERASURE_CODE_PROFILE: CephReader(
                observe=observed_crush.observe_profiles,
                read=observed_crush.read_profile,
            ),
            actions.Kind.CEPHX_USER: CephReader(
                observe=observed_users.observe, read=observed_users.read
            ),
            actions.Kind.PRIMARY_AFFINITY: CephReader(
                observe=observed_osds.observe,
                read=observed_osds.read_affinity,
            ),
            actions.Kind.OSD_OPTIONS: CephReader(
                observe=observed_options.observe_classes,
                read=functools.partial(
                    observed_options.configured, mask=osd_options.CLASS
                ),
            ),
            actions.Kind.HOST_OSD_OPTIONS: CephReader(
                observe=observed_options.observe_hosts,
                read=functools.partial(
                    observed_options.configured, mask=osd_options.HOST
                ),
            ),
            actions.Kind.CACHE_TIER: CephReader(
                observe=observed_cache_tiers.observe,
                read=observed_cache_tiers.read,
            ),
        }
    )
)

#: In the order in which they are read.
CINDER: collections.abc.Mapping[actions.Kind, CinderReader] = (
    types.MappingProxyType(
        {
            actions.Kind.VOLUME_TYPE: CinderReader(
                observe=observed_types.observe, read=observed_types.read
            ),
            actions.Kind.QOS_SPEC: CinderReader(
                observe=observed_qos_specs.observe,
                read=observed_qos_specs.read,
            ),
            actions.Kind.TYPE_QUOTA: CinderReader(
                observe=observed_quotas.observe, read=observed_quotas.read
            ),
            actions.Kind.TYPE_ENCRYPTION: CinderReader(
                observe=observed_encryptions.observe,
                read=observed_encryptions.read,
            ),
            actions.Kind.PROJECT_DEFAULTS: CinderReader(
                observe=observed_defaults.observe,
                read=observed_defaults.read,
            ),
            actions.Kind.TAG_NAMESPACE: CinderReader(
                observe=observed_namespaces.observe,
                read=observed_namespaces.read,
            ),
        }
    )
)
