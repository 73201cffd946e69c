# SPDX-License-Identifier: Apache-2.0

"""Check that the clusters can hold the tiers of a catalog.

Pure. It runs before anything is planned, so nothing is changed if a tier could
not be completed.
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
    """Return all that the clusters lack, and clusters with two names.

    :param ceph: {name of the cluster: its state}, for each cluster in use.
    :returns: problems: clusters with two names, then by cluster, in the order
        of the kinds of resources; empty if everything can be created.
    """
    return (
        *dict.fromkeys(with_two_names(catalog, ceph).values()),
        *(
            problem
            for cluster in catalog.clusters_in_use
            for one in registry.RESOURCES
            for problem in one.check_cluster(
                catalog, cluster, ceph[cluster.name]
            )
        ),
    )


def with_two_names(
    catalog: catalogs.Catalog,
    ceph: collections.abc.Mapping[str, ceph_state.CephState],
) -> dict[str, errors.Problem]:
    """Return the clusters in use that are the same Ceph cluster.

    A plan is made for each name alone: pools, CRUSH rules, options of OSDs,
    users, and the placement groups that an OSD may have. The plan of one name
    would undo that of the other with each apply.

    :param ceph: {name of the cluster: its state}, as far as known.
    :returns: {name: problem}, with the same problem for all names of a
        cluster.
    """
    names: dict[str, list[str]] = {}
    for cluster in catalog.clusters_in_use:
        state = ceph.get(cluster.name)
        if state is not None and state.fsid is not None:
            names.setdefault(state.fsid, []).append(cluster.name)
    found = {}
    for fsid, several in names.items():
        if len(several) < 2:
            continue
        *others, last = (
            f'{name!r} ({catalog.source.where(("clusters", name))})'
            for name in several
        )
        problem = errors.Problem(
            where=catalog.source.where(('clusters', several[-1], 'conf')),
            found=f'clusters {", ".join(others)} and {last} are one Ceph '
            f'cluster, with the fsid {fsid}',
            expected='one name for each Ceph cluster: under two names, tiers '
            'would change the pools, CRUSH rules and OSDs of each other',
            remedy='set conf of each to the ceph.conf of the cluster that it '
            'means; or declare one of them only, and name it in rbd.cluster '
            'of all their tiers',
        )
        found.update(dict.fromkeys(several, problem))
    return found


def with_one_connection(
    catalog: catalogs.Catalog,
) -> collections.abc.Iterator[errors.Problem]:
    """Yield clusters with the same connection, which probably are one.

    Only the state of the clusters proves it, see `with_two_names`.
    """
    first: dict[tuple[str | None, str], str] = {}
    for cluster in catalog.clusters.values():
        name = first.setdefault((cluster.conf, cluster.user), cluster.name)
        if name == cluster.name:
            continue
        yield errors.Problem(
            where=catalog.source.where(('clusters', cluster.name, 'conf')),
            found=f'cluster {cluster.name!r} has the same user '
            f'{cluster.user!r} and '
            + (
                'the same default conf'
                if cluster.conf is None
                else f'the same conf {cluster.conf!r}'
            )
            + f' as cluster {name!r} '
            f'({catalog.source.where(("clusters", name))})',
            expected='the ceph.conf of another cluster; "tier plan" refuses '
            'two names of one Ceph cluster',
            remedy='set conf of each, or declare one of them only',
        )


def with_one_secret(
    catalog: catalogs.Catalog,
) -> collections.abc.Iterator[errors.Problem]:
    """Yield clusters whose cephx users would share a libvirt secret.

    A libvirt secret holds one value (virSecretSetValue), so volumes of one of
    the clusters cannot be attached, unless both users have the same key.
    """
    first: dict[str, str] = {}
    for cluster in catalog.clusters.values():
        if not cluster.secret_uuid:
            continue
        name = first.setdefault(cluster.secret_uuid.lower(), cluster.name)
        if name == cluster.name:
            continue
        yield errors.Problem(
            where=catalog.source.where(
                ('clusters', cluster.name, 'secret_uuid')
            ),
            found=f'cluster {cluster.name!r} has the secret_uuid of cluster '
            f'{name!r}, {cluster.secret_uuid}',
            expected='a libvirt secret for each cluster: a secret holds one '
            'key, and the cephx users of two clusters have different keys',
            remedy='define another secret on the compute hosts, and name it '
            'here',
        )
