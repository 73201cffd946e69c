# SPDX-License-Identifier: Apache-2.0

"""Options for the OSDs of hosts, and their rules.

A mask of a host overrides one of a device class in Ceph (get_precision in
src/mon/ConfigMap.cc). So that no tier declares a value that its OSDs do not
have, the catalog may not declare two values for one OSD. Pure. Must not know
how OSDs are asked.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import kind as kinds
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state

_KEY = 'host_osd_options'


def check(
    catalog: catalogs.Catalog,
) -> collections.abc.Iterator[errors.Problem]:
    """Yield problems between parts of a catalog, for `validation.catalog`."""
    for cluster in catalog.clusters.values():
        for host, options in cluster.host_osd_options.items():
            path = ('clusters', cluster.name, _KEY, host)
            yield from osd_options.endangering(
                options,
                where=catalog.source.below(path),
            )
    # The cluster of a tier is unknown if its pool has a problem.
    if any(
        tier.rbd is None
        and ('tiers', tier.name, 'rbd') in catalog.source.lines
        for tier in catalog.tiers
    ):
        return
    for cluster in catalog.clusters.values():
        if cluster.host_osd_options and not any(
            tier.rbd.cluster == cluster.name for tier in catalog.ceph_tiers
        ):
            yield errors.Problem(
                where=catalog.source.where(('clusters', cluster.name, _KEY)),
                found=f'cluster {cluster.name!r} has {_KEY}, but no tier '
                'uses the cluster',
                expected=(
                    'at least one tier with a pool of the cluster; other '
                    'clusters are not read'
                ),
                remedy=f'name the cluster in a tier, or remove {_KEY}',
            )


def check_cluster(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> list[errors.Problem]:
    """Return the problems of a cluster with its `host_osd_options`.

    :param ceph: state of the cluster.
    """
    hosts = ceph.hosts
    problems = []
    for host, options in cluster.host_osd_options.items():
        path = ('clusters', cluster.name, _KEY, host)
        if host not in hosts:
            problems.append(
                errors.Problem(
                    where=catalog.source.where(path),
                    found=f'cluster {cluster.name!r} has no OSD on a CRUSH '
                    'host '
                    f'{host!r}',
                    expected=f'one of {spelling.listed(hosts)}',
                    remedy=(
                        f'{spelling.did_you_mean(host, hosts)}fix it; "ceph '
                        'osd tree" shows the hosts'
                    ),
                )
            )
            continue
        problems += osd_options.problems(
            options,
            ceph.option_schemas,
            where=catalog.source.below(path),
        )
        problems += _conflicts(catalog, cluster, host, ceph)
    return problems


def without(
    catalog: catalogs.Catalog, names: collections.abc.Container[str]
) -> catalogs.Catalog:
    """Return a catalog without `host_osd_options` of some clusters."""
    return dataclasses.replace(
        catalog,
        clusters={
            name: dataclasses.replace(cluster, host_osd_options={})
            if name in names
            else cluster
            for name, cluster in catalog.clusters.items()
        },
    )


def _conflicts(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    host: str,
    ceph: ceph_state.CephState,
) -> collections.abc.Iterator[errors.Problem]:
    """Yield options with other values in tiers on OSDs of the host."""
    for name, value in cluster.host_osd_options[host].items():
        for tier in catalog.tiers_of(cluster.name):
            if name not in tier.rbd.osd_options:
                continue
            other = tier.rbd.osd_options[name]
            shared = [
                osd.osd_id
                for osd in ceph.osds_by_host.get(host, ())
                if osd.device_class == tier.rbd.device_class
            ]
            if not shared or _same(
                ceph.option_schemas.get(name), value, other
            ):
                continue
            yield errors.Problem(
                where=catalog.source.where(
                    ('clusters', cluster.name, _KEY, host, name)
                ),
                found=(
                    f'host {host!r} declares {name} {value!r}, and '
                    f'tier {tier.name!r} declares {other!r} for '
                    f'the {tier.rbd.device_class} OSDs'
                ),
                expected=(
                    f'one value for {spelling.osds(shared)} of '
                    f'cluster {cluster.name!r}; Ceph would use that of the '
                    'host'
                ),
                remedy='use one value for both, or remove one of them',
            )


def _same(
    schema: ceph_state.OptionSchema | None,
    one: catalogs.Value,
    other: catalogs.Value,
) -> bool:
    """Return whether two values are equal; invalid ones count as equal."""
    if schema is None:
        return True
    try:
        return osd_options.normal(schema, one) == osd_options.normal(
            schema, other
        )
    except ValueError:
        return True


def plan(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> kinds.Actions:
    """Yield actions on the options of the OSDs of each declared host."""
    for after in host_osd_options_of(cluster, ceph.option_schemas):
        yield from osd_options.options_action(
            actions.Kind.HOST_OSD_OPTIONS,
            cluster,
            ceph,
            after,
            f'host_osd_options of cluster {cluster.name}',
        )


def host_osd_options_of(
    cluster: catalogs.Cluster,
    schemas: collections.abc.Mapping[str, ceph_state.OptionSchema],
) -> tuple[ceph_state.OsdOptions, ...]:
    """Return the options that a cluster has for the OSDs of its hosts.

    :param schemas: {option: schema} of declared options.
    :returns: options of each host with a declared option, sorted by name.
    """
    return tuple(
        ceph_state.OsdOptions(
            name=host,
            values={
                name: osd_options.normal(schemas[name], value)
                for name, value in options.items()
            },
        )
        for host, options in sorted(cluster.host_osd_options.items())
    )


def _no_tiers(
    catalog: catalogs.Catalog, action: actions.Action
) -> tuple[str, ...]:
    """Return no tier, because the options belong to a host."""
    return ()


HOST_OSD_OPTIONS = kinds.ResourceKind(
    kind=actions.Kind.HOST_OSD_OPTIONS,
    resource=ceph_state.OsdOptions,
    state_field='host_options',
    plan=kinds.for_each_cluster(plan),
    tiers_affected=_no_tiers,
    check=check,
    check_cluster=check_cluster,
)
