# SPDX-License-Identifier: Apache-2.0

"""Table of the resource kinds of plan and apply.

Code for all kinds loops over it: a new kind is a new file and a row here. Code
with a client of Cinder or Ceph has a table of its own, by the same keys:
`observe/registry.py` and `execute/registry.py`. Pure.
"""

import collections.abc
import types

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.resources import cephx_user
from cinder_tiers.domain.resources import crush
from cinder_tiers.domain.resources import host_osd_options
from cinder_tiers.domain.resources import kind as kinds
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.resources import pool as pool_kind
from cinder_tiers.domain.resources import primary_affinity
from cinder_tiers.domain.resources import project_defaults
from cinder_tiers.domain.resources import qos_spec as qos_spec_kind
from cinder_tiers.domain.resources import tag_namespace
from cinder_tiers.domain.resources import type_encryption
from cinder_tiers.domain.resources import type_quota
from cinder_tiers.domain.resources import volume_type as volume_type_kind
from cinder_tiers.domain.state import action as actions

#: In the order in which objects are created; they are deleted in reverse.
RESOURCES: tuple[kinds.ResourceKind, ...] = (
    crush.ERASURE_CODE_PROFILE,
    crush.CRUSH_RULE,
    pool_kind.POOL,
    osd_options.OSD_OPTIONS,
    host_osd_options.HOST_OSD_OPTIONS,
    primary_affinity.PRIMARY_AFFINITY,
    cephx_user.CEPHX_USER,
    # After the user: clients reach the cache pool as soon as it is in front.
    cache_tier.CACHE_TIER,
    volume_type_kind.VOLUME_TYPE,
    qos_spec_kind.QOS_SPEC,
    type_quota.TYPE_QUOTA,
    type_encryption.TYPE_ENCRYPTION,
    # After these: a default type has all that its tier asks for.
    project_defaults.PROJECT_DEFAULTS,
    # Last: what the tags select is there.
    tag_namespace.TAG_NAMESPACE,
)

#: The kinds by `Kind`, in the same order.
BY_KIND: collections.abc.Mapping[actions.Kind, kinds.ResourceKind] = (
    types.MappingProxyType({one.kind: one for one in RESOURCES})
)


def tiers_affected(
    catalog: catalogs.Catalog, action: actions.Action
) -> tuple[str, ...]:
    """Return the tiers that an action is for, in the order of the file.

    Objects of Ceph do not name their tiers: an option of OSDs or a grant may
    be for several.

    :returns: names; empty if the action is for no tier, or for a whole
        cluster.
    """
    return BY_KIND[action.key.kind].tiers_affected(catalog, action)
