# SPDX-License-Identifier: Apache-2.0

"""Reads the OSDs of a Ceph cluster and their place in the CRUSH tree."""

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
    """What the OSDs of a device class have; None when there is no OSD."""
    return primary_affinity.observed(read_osds(session), device_class)


@answers.in_known_form
def read_osds(session: ceph_session.Session) -> tuple[ceph_state.Osd, ...]:
    """All OSDs, by id.

    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    return parse_osds(session.command('osd tree'))


def parse_osds(tree: dict) -> tuple[ceph_state.Osd, ...]:
    """The OSDs of `osd tree`, by id; those outside the tree have no place."""
    nodes = {node['id']: node for node in tree['nodes']}
    parents = {
        child: node
        for node in tree['nodes']
        for child in node.get('children', ())
    }
    osds = []
    for node in (*nodes.values(), *tree.get('stray', ())):
        if node['type'] != 'osd':
            continue
        location, here = {}, node
        while here is not None:
            location[here['type']] = here['name']
            here = parents.get(here['id'])
        osds.append(
            ceph_state.Osd(
                osd_id=node['id'],
                location=location,
                device_class=node.get('device_class'),
                primary_affinity=node['primary_affinity'],
            )
        )
    return tuple(sorted(osds, key=lambda osd: osd.osd_id))
