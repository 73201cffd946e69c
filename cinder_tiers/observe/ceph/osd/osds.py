# SPDX-License-Identifier: Apache-2.0

"""Reads the OSDs of a Ceph cluster and their places in the CRUSH tree."""

import collections.abc

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import primary_affinity
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph import answers
from cinder_tiers.observe.ceph.osd import read_balancer


def observe(
    session: ceph_session.Session,
    catalog: catalogs.Catalog,
    found: ceph_state.CephState,
) -> dict[str, object]:
    """The OSDs, and what else chooses primaries where a tier does."""
    fields: dict[str, object] = {'osds': read_osds(session)}
    if any(
        tier.rbd.primary_affinity is not None
        or tier.rbd.primary_device_class is not None
        for tier in catalog.tiers_of(session.cluster.name)
    ):
        fields['read_balancer'] = read_balancer.observe(session, found.release)
    return fields


def read_affinity(
    session: ceph_session.Session, device_class: str
) -> ceph_state.PrimaryAffinity | None:
    """Read the primary affinity of a device class; None without OSDs."""
    return primary_affinity.observed(read_osds(session), device_class)


@answers.in_known_form
def read_osds(session: ceph_session.Session) -> tuple[ceph_state.Osd, ...]:
    """Read all OSDs, ordered by id.

    :raises errors.TiersError: Ceph does not answer or refuses.
    """
    return parse_osds(session.command('osd tree'))


def parse_osds(tree: dict) -> tuple[ceph_state.Osd, ...]:
    """The OSDs of `osd tree`, by id; those outside the tree have no place.

    A bucket that is linked to several others is there once for each.
    """
    nodes = {node['id']: node for node in tree['nodes']}
    parents: dict[int, list[dict]] = {}
    for node in nodes.values():
        for child in node.get('children', ()):
            parents.setdefault(child, []).append(node)
    found = [
        node
        for node in (*tree['nodes'], *tree.get('stray', ()))
        if node['type'] == 'osd'
    ]
    # It has one in each place.
    weights: dict[int, float] = {}
    for node in found:
        weights[node['id']] = max(
            weights.get(node['id'], 0), node['crush_weight']
        )
    osds = {}
    for node in found:
        first, *others = _locations(node, parents)
        osds[node['id']] = ceph_state.Osd(
            osd_id=node['id'],
            location=first,
            other_locations=tuple(others),
            device_class=node.get('device_class'),
            primary_affinity=node['primary_affinity'],
            no_data=_why_no_data(node, weights[node['id']]),
        )
    return tuple(sorted(osds.values(), key=lambda osd: osd.osd_id))


def _locations(
    node: dict, parents: collections.abc.Mapping[int, list[dict]]
) -> list[dict[str, str]]:
    """The places of a node, each {bucket type: bucket name}.

    Where a bucket lies in another of its type, there is a place that ends
    before that one, and one with the other.
    """
    found = []
    waiting = [({node['type']: node['name']}, node)]
    while waiting:
        below, here = waiting.pop()
        above = parents.get(here['id'], [])
        if not above or any(one['type'] in below for one in above):
            found.append(below)
        waiting.extend(
            ({**below, one['type']: one['name']}, one) for one in above
        )
    unique = {tuple(sorted(one.items())): one for one in found}
    return [unique[key] for key in sorted(unique)]


def _why_no_data(node: dict, weight: float) -> str:
    if node['status'] == 'destroyed' or not node['exists']:
        return 'is destroyed'
    if not weight:
        return 'has weight 0'
    return '' if node['reweight'] else 'is out'
