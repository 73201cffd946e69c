# SPDX-License-Identifier: Apache-2.0

"""Whether the clusters can hold what the catalog asks of them.

Pure. Looked at before anything is planned, so that nothing is changed when a
tier could not be completed.
"""

import collections.abc

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import registry
from cinder_tiers.domain.state import ceph as ceph_state


def check(
    catalog: catalogs.Catalog,
    ceph: collections.abc.Mapping[str, ceph_state.CephState],
) -> tuple[errors.Problem, ...]:
    """All that the clusters lack.

    :param ceph: {name of the cluster: its state}, for each cluster in use.
    :returns: by cluster, and in the order of the kinds of resources; empty
        when all can be made.
    """
    return tuple(
        problem
        for cluster in catalog.clusters_in_use
        for one in registry.RESOURCES
        for problem in one.check_cluster(catalog, cluster, ceph[cluster.name])
    )
