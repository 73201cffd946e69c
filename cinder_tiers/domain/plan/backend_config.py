# SPDX-License-Identifier: Apache-2.0

"""Tiers of a catalog as sections of cinder.conf.

Pure. Must not know where its arguments came from, nor where the text goes.
"""

import collections.abc
import configparser
import enum
import io

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.placement import tier_specs
from cinder_tiers.domain.resources import cephx_user
from cinder_tiers.domain import text as escaping
from cinder_tiers.domain.validation import fallback as fallback_rules

#: ceph.conf of clusters without one, unless the caller has another.
DEFAULT_CONF = '/etc/ceph/ceph.conf'


class Driver(enum.Enum):
    """Driver of Cinder that serves the tiers."""

    #: Cinder's own driver, with a section for each tier.
    RBD = 'rbd'
    #: `cinder_tiers.driver.rbd`, with a section for all tiers of a cluster.
    TIERED = 'tiered'


def backends(
    catalog: catalogs.Catalog,
    *,
    default_conf: str,
    secret_uuid: str | None,
    driver: Driver = Driver.RBD,
) -> dict[str, dict[str, str]]:
    """Return the sections of cinder.conf for the tiers.

    :param default_conf: ceph.conf of clusters without one in the catalog.
    :param secret_uuid: libvirt secret of the cluster without one in the
        catalog.
    :param driver: driver of the backends.
    :returns: {section: {option: value}}, DEFAULT first.
    :raises errors.ProblemsFound: several clusters would have `secret_uuid`.
    """
    tiers = new_backends(catalog)
    without = clusters_without_secret(catalog)
    if secret_uuid and len(without) > 1:
        raise errors.ProblemsFound(
            [
                errors.Problem(
                    where=catalog.source.where(('clusters',)),
                    found=f'the libvirt secret {secret_uuid} for clusters '
                    f'{", ".join(without)}, which set no secret_uuid',
                    expected='a secret for each cluster: a secret holds one '
                    'key, and the cephx users of two clusters have different '
                    'keys',
                    remedy='set secret_uuid of each cluster',
                )
            ]
        )
    made: dict[str, dict[str, str]] = {}
    for tier in tiers:
        cluster = catalog.clusters[tier.rbd.cluster]
        common = {
            'rbd_ceph_conf': cluster.conf or default_conf,
            'rbd_user': cluster.cinder_user,
        }
        if uuid := cluster.secret_uuid or secret_uuid:
            common['rbd_secret_uuid'] = uuid
        zone = backend_zone(tier)
        if zone:
            common['backend_availability_zone'] = zone
        if driver is Driver.RBD:
            made[tier.section] = {
                'volume_driver': 'cinder.volume.drivers.rbd.RBDDriver',
                'volume_backend_name': tier.backend,
                'rbd_pool': tier.rbd.pool,
                **common,
            }
            continue
        name = '-'.join(filter(None, ('tiers', cluster.name, zone)))
        entry = f'{tier.backend}:{tier.rbd.pool}'
        if name in made:
            made[name]['tiers_rbd_pools'] += f',{entry}'
        else:
            made[name] = {
                'volume_driver': 'cinder_tiers.driver.rbd.TieredRBDDriver',
                'volume_backend_name': name,
                'tiers_rbd_pools': entry,
                **common,
            }
    # An empty value would switch off all backends.
    enabled = {'enabled_backends': ','.join(made)} if made else {}
    return {'DEFAULT': enabled | default_section(catalog), **made}


def clusters_without_secret(catalog: catalogs.Catalog) -> tuple[str, ...]:
    """Return the clusters of new backends that have no `secret_uuid`."""
    used = {tier.rbd.cluster for tier in new_backends(catalog)}
    return tuple(
        name
        for name, cluster in catalog.clusters.items()
        if name in used and not cluster.secret_uuid
    )


def backend_zone(tier: catalogs.Tier) -> str | None:
    """Return the availability zone of a tier whose type allows only one."""
    zones = tier_specs.zones(tier.extra_specs)
    return next(iter(zones)) if zones and len(zones) == 1 else None


def new_backends(catalog: catalogs.Catalog) -> tuple[catalogs.CephTier, ...]:
    """Return the managed tiers that need a new backend."""
    return tuple(
        tier
        for tier in catalog.ceph_tiers
        if tier.take_over and tier.backend_name is None
    )


def default_section(catalog: catalogs.Catalog) -> dict[str, str]:
    """Return the options of cinder.conf that belong to no backend.

    :returns: {option: value}; without enabled_backends.
    """
    name = fallback_rules.default_type(catalog)
    return {} if name is None else {'default_volume_type': name}


def backend_comments(catalog: catalogs.Catalog) -> str:
    """Return comment lines on tiers with an existing backend."""
    return ''.join(
        (
            f'# tier {tier.name}: backend {tier.backend} already serves '
            f'pool {tier.rbd.pool}; keep its section as it is, and do not add '
            'one\n'
        )
        for tier in catalog.ceph_tiers
        if tier.take_over and tier.backend_name
    )


def default_type_comments(catalog: catalogs.Catalog) -> str:
    """Explain in comment lines a missing default volume type, or return ''."""
    if not fallback_rules.has_open_default(catalog):
        return ''
    name = escaping.printable(catalog.follow_image_types[0])
    return (
        f'# default_volume_type = {name} is left out: no tier is the '
        'fallback, so blank volumes,\n'
        '# and volumes from untagged images, would go to any backend that '
        'the project may use.\n'
        '# Keep your current default type until a tier with '
        'fallback: true is applied.\n'
    )


def cinder_conf(
    sections: collections.abc.Mapping[str, collections.abc.Mapping[str, str]],
) -> str:
    """Return sections as text that oslo.config reads back.

    A `$` is doubled, because oslo.config would substitute it.
    """
    parser = configparser.ConfigParser(
        interpolation=None, default_section='DEFAULT'
    )
    for section, options in sections.items():
        if section != 'DEFAULT':
            parser.add_section(section)
        for option, value in options.items():
            parser.set(section, option, value.replace('$', '$$'))
    text = io.StringIO()
    parser.write(text)
    return text.getvalue().rstrip('\n') + '\n'


def caps_comments(catalog: catalogs.Catalog) -> str:
    """Return comment lines on the cephx capabilities of the backends.

    :returns: the lines; if no tier has a pool, a comment that says so.
    """
    if catalog.tiers and not catalog.clusters_in_use:
        return (
            '# No tier has rbd: all backends are already in cinder.conf,\n'
            '# and enabled_backends stays as it is.\n'
        )
    lines = []
    for cluster in catalog.clusters_in_use:
        grants = cephx_user.grants_of(catalog, cluster)
        caps = ' '.join(
            f"{daemon} '{', '.join(grants[daemon])}'" for daemon in grants
        )
        lines.append(
            f'# client.{cluster.cinder_user} of Ceph cluster '
            f'{cluster.name} needs (tier apply grants it): {caps}'
        )
    return ''.join(f'{line}\n' for line in lines)


def service_comments(
    catalog: catalogs.Catalog, *, secret_uuid: str | None
) -> str:
    """Return comment lines on the configuration of Nova and Glance.

    See "Configuring Nova" and "Configuring Glance" of ceph
    doc/rbd/rbd-openstack.rst.

    :param secret_uuid: UUID for clusters without one in the catalog.
    """
    lines = []
    without = clusters_without_secret(catalog)
    for cluster in catalog.clusters_in_use:
        client = f'client.{cluster.cinder_user}'
        uuid = cluster.secret_uuid or secret_uuid
        lines.append(
            f'# Nova: libvirt on each compute host needs a secret with the '
            f'key of {client} of Ceph cluster {cluster.name}, '
            + (
                f'under the UUID {uuid} ("virsh secret-define", "virsh '
                f'secret-set-value").'
                if uuid
                else 'under a UUID of its own, which must be secret_uuid of '
                'the cluster in the tiers file: rbd_secret_uuid of nova.conf '
                f'cannot serve the {len(without)} clusters without one.'
                if len(without) > 1
                else 'and nova.conf its UUID and user: [libvirt] '
                'rbd_secret_uuid, '
                f'rbd_user = {cluster.cinder_user}; or set secret_uuid '
                'of the cluster in the tiers file.'
            )
        )
        if cluster.images_pool:
            lines.append(
                '# Glance: volumes from raw images in '
                f'pool {cluster.images_pool} are clones, not copies, if '
                'glance-api.conf has [DEFAULT] show_image_direct_url = '
                'true.'
            )
    return ''.join(f'{line}\n' for line in lines)


def geometry_comments(catalog: catalogs.Catalog) -> str:
    """Return comment lines on block sizes to report to guests.

    If a guest writes 512 bytes at a time, as Windows does, OSDs read at least
    4 KiB, change and write them, which is most expensive on rotational disks
    and in erasure coded pools. `disk_geometry` came with Cinder 28.0.0
    (release note "driver-disk-geometry"); it is only a comment because it
    changes what guests see.
    """
    sections = [
        f'[{tier.section}]'
        for tier in catalog.ceph_tiers
        if tier.take_over
        and tier.backend_name is None
        and (_is_rotational(tier.rbd) or _is_erasure_coded(tier.rbd))
    ]
    if not sections:
        return ''
    return (
        '# Cinder 28 (2026.1) or newer: disk_geometry = 512e in '
        f'{", ".join(sections)} asks guests for writes of whole 4 KiB '
        'blocks, which hard disks and erasure coded pools need most. It '
        'takes effect for volumes that are attached later; Windows guests '
        'need VirtIO drivers of 2019 or newer.\n'
    )


def _is_rotational(rbd: catalogs.RbdPool) -> bool:
    required = rbd.osd_requirements and rbd.osd_requirements.rotational
    return rbd.device_class == 'hdd' if required is None else bool(required)


def _is_erasure_coded(rbd: catalogs.RbdPool) -> bool:
    return isinstance(rbd.protection, catalogs.ErasureCoded)
