# SPDX-License-Identifier: Apache-2.0

"""Tiers as configuration for the tools that own a cluster or the cloud.

An operator such as Rook resets pools to its own resources, and a deployment
tool rewrites cinder.conf, so a tier must be in their files. Pure: plain values
without secrets. Must not know the notation of the files.
"""

import collections.abc
import dataclasses
import pathlib
import re

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import backend_config
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.state import ceph as ceph_state

#: Namespace of the CephCluster in the examples of Rook.
ROOK_NAMESPACE = 'rook-ceph'
#: Name of an object of Kubernetes (RFC 1123, subdomain).
_KUBERNETES_NAME = re.compile(
    r'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'
)
#: Plugins in the schema of CephBlockPool (Rook 1.20, ErasureCodedSpec).
_ROOK_PLUGINS = frozenset({'isa', 'jerasure'})
_ROOK_STRIPE_UNITS = {
    2**12: '4Ki',
    2**14: '16Ki',
    2**16: '64Ki',
    2**18: '256Ki',
    2**20: '1Mi',
}
#: Copies in each failure domain in Rook's template of a rule of two levels
#: (pkg/daemon/ceph/client/crush_rule.go, twoStepCRUSHRuleTemplate).
_ROOK_REPLICAS = 2
_ROTATIONAL_CLASS = 'hdd'
#: Variable of openstack-ansible with the UUID of the libvirt secret.
_OSA_UUID = '{{ cinder_ceph_client_uuid }}'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fragment:
    """Text for one file of an owner."""

    #: File or command, such as `/etc/kolla/globals.yml`.
    place: str
    #: Documents of that file, which is YAML.
    documents: tuple[collections.abc.Mapping[str, object], ...]
    #: Notes, a line each.
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class IniFragment(Fragment):
    """Text for one INI file."""

    #: {section: {option: value}}
    documents: tuple[
        collections.abc.Mapping[str, collections.abc.Mapping[str, str]], ...
    ]


def rook(catalog: catalogs.Catalog) -> tuple[Fragment, ...]:
    """Return custom resources of Rook, one per pool (CephBlockPool, v1).

    Fields: rook pkg/apis/ceph.rook.io/v1/types.go, PoolSpec.
    """
    return tuple(
        Fragment(
            place=f'kubectl apply, of Ceph cluster {cluster.name}',
            documents=tuple(
                _block_pool(pool, wanted)
                for wanted in _wanted(catalog, cluster)
                for pool in wanted.pools
            ),
            notes=tuple(_rook_notes(catalog, cluster)),
        )
        for cluster in catalog.clusters_in_use
    )


def _wanted(
    catalog: catalogs.Catalog, cluster: catalogs.Cluster
) -> tuple[tier_pools.TierPools, ...]:
    """Return the pools of each tier, without its cache: Rook has none."""
    return tuple(
        tier_pools.pools_of(dataclasses.replace(tier.rbd, cache=None))
        for tier in catalog.tiers_of(cluster.name)
    )


def _block_pool(
    pool: ceph_state.Pool, wanted: tier_pools.TierPools
) -> dict[str, object]:
    (rule,) = [
        one for one in wanted.crush_rules if one.name == pool.crush_rule
    ]
    profiles = {one.name: one for one in wanted.erasure_code_profiles}
    spec: dict[str, object] = {'failureDomain': rule.failure_domain}
    sections: dict[str, dict[str, object]] = {}
    # Rook's template of a rule for two classes needs the name of the root.
    if rule.root != catalogs.CRUSH_ROOT or rule.primary_device_class:
        spec['crushRoot'] = rule.root
    if rule.device_class:
        spec['deviceClass'] = rule.device_class
    if pool.erasure_code_profile:
        sections['erasureCoded'] = _erasure_coded(
            profiles[pool.erasure_code_profile]
        )
    else:
        replicated: dict[str, object] = {
            'size': pool.size,
            'requireSafeReplicaSize': pool.size > 1,
        }
        sections['replicated'] = replicated
        if rule.primary_device_class:
            replicated['hybridStorage'] = {
                'primaryDeviceClass': rule.primary_device_class,
                'secondaryDeviceClass': rule.device_class,
            }
        if rule.replicas_per_failure_domain:
            replicated.update(
                replicasPerFailureDomain=rule.replicas_per_failure_domain,
                subFailureDomain=rule.sub_failure_domain,
            )
    for section, name, value in rook_values(pool).values():
        sections.setdefault(section, {})[name] = value
    return {
        'apiVersion': 'ceph.rook.io/v1',
        'kind': 'CephBlockPool',
        'metadata': {'name': pool.name, 'namespace': ROOK_NAMESPACE},
        'spec': {**spec, **sections},
    }


def _erasure_coded(
    profile: ceph_state.ErasureCodeProfile,
) -> dict[str, object]:
    spec: dict[str, object] = {
        'dataChunks': profile.k,
        'codingChunks': profile.m,
    }
    if profile.plugin in _ROOK_PLUGINS:
        spec['algorithm'] = profile.plugin
    if profile.stripe_unit_bytes in _ROOK_STRIPE_UNITS:
        spec['stripeUnit'] = _ROOK_STRIPE_UNITS[profile.stripe_unit_bytes]
    if profile.num_failure_domains:
        spec['crushNumFailureDomains'] = profile.num_failure_domains
        spec['crushOSDsPerFailureDomain'] = profile.osds_per_failure_domain
    return spec


def rook_values(
    pool: ceph_state.Pool,
) -> dict[str, tuple[str, str, object]]:
    """Return the fields of Rook for a pool.

    :param pool: pool as declared.
    :returns: {field of the pool: (section of `spec`, name in it, value)}.
    """
    found: dict[str, tuple[str, str, object]] = {}
    if pool.kind == 'replicated':
        found['size'] = ('replicated', 'size', pool.size)
    least = pool.min_size or pool.first_min_size
    if least is not None:
        found['min_size'] = ('parameters', 'min_size', str(least))
    if pool.pg_num is not None:
        for name in ('pg_num', 'pg_autoscale_mode'):
            found[name] = ('parameters', name, str(getattr(pool, name)))
    for name, value in sorted(pool.options.items()):
        _, arguments = pool_options.command_of(pool.name, name, value)
        where: tuple[str, str, object]
        if name == 'quota_max_bytes':
            # The value is text because it may have a suffix.
            where = ('quotas', 'maxSize', arguments['val'])
        elif name == 'quota_max_objects':
            where = ('quotas', 'maxObjects', int(arguments['val']))
        else:
            where = ('parameters', arguments['var'], arguments['val'])
        found[f'options.{name}'] = where
    return found


def _rook_notes(
    catalog: catalogs.Catalog, cluster: catalogs.Cluster
) -> collections.abc.Iterator[str]:
    yield (
        f'Replace the namespace {ROOK_NAMESPACE} with that of your '
        'CephCluster.'
    )
    yield (
        'Rook does not change the CRUSH rule of a pool that exists, unless '
        'you add enableCrushUpdates: true, which moves data.'
    )
    for tier in catalog.tiers_of(cluster.name):
        for pool in tier.rbd.own_pools:
            if not _KUBERNETES_NAME.fullmatch(pool):
                yield (
                    f'Kubernetes allows no object named {pool}: give the '
                    f'pool of tier {tier.name} a name of lower case letters, '
                    'digits, - and .'
                )
        protection = tier.rbd.protection
        if isinstance(protection, catalogs.ErasureCoded):
            unit = protection.stripe_unit_bytes
            if unit and unit not in _ROOK_STRIPE_UNITS:
                yield (
                    f'Rook allows no stripe unit of {unit} bytes, only '
                    f'{", ".join(_ROOK_STRIPE_UNITS.values())}: the data '
                    f'pool of tier {tier.name} would have the default of '
                    'Ceph.'
                )
            if protection.technique or (
                protection.plugin and protection.plugin not in _ROOK_PLUGINS
            ):
                yield (
                    f'Rook chooses the erasure code technique itself, and '
                    f'has no plugin but {" and ".join(sorted(_ROOK_PLUGINS))}'
                    f': the data pool of tier {tier.name} would not be as '
                    'declared.'
                )
            yield (
                f'Let "openstack tier apply" set rbd_default_data_pool of '
                f'{tier.rbd.pool}, when Rook has made both pools.'
            )
        elif protection.per_failure_domain not in (1, _ROOK_REPLICAS):
            yield (
                f'Rook makes a CRUSH rule for {_ROOK_REPLICAS} copies in '
                'each failure domain, whatever replicasPerFailureDomain is, '
                'but keeps a rule that has the name of the pool: let '
                f'"openstack tier apply" create that of tier {tier.name} '
                'before.'
            )
        if tier.rbd.cache:
            yield (
                f'Rook has no cache tiers: that of tier {tier.name} is not '
                'among these.'
            )
        left = [
            name
            for name in (
                'rbd_options',
                'osd_options',
                'primary_affinity',
                'osd_requirements',
            )
            if getattr(tier.rbd, name) not in (None, {})
        ]
        if left:
            yield (
                f'Rook has no {", ".join(left)} of tier {tier.name}: '
                '"openstack tier apply" sets, or compares, what they declare.'
            )
    if cluster.host_osd_options:
        yield (
            'Rook has no host_osd_options: "openstack tier apply" sets them.'
        )


def cephadm(catalog: catalogs.Catalog) -> tuple[Fragment, ...]:
    """Return OSD service specifications for the requirements of tiers.

    cephadm does not manage pools, CRUSH rules and options: plan and apply do.
    Fields: ceph doc/cephadm/services/osd.rst.
    """
    return tuple(
        Fragment(
            place=f'ceph orch apply -i FILE, of Ceph cluster {cluster.name}',
            documents=tuple(
                _osd_specification(name, _required(catalog, cluster, name))
                for name in _classes(catalog, cluster)
            ),
            notes=(
                'While unmanaged is true, cephadm makes no OSD of them. Set '
                'placement, and narrow the devices down by model, size or '
                'path; look at "ceph orch apply -i FILE --dry-run" before '
                'you remove it.',
                'cephadm owns no pool and no CRUSH rule: "openstack tier '
                'apply" creates those.',
                *(
                    f'cephadm cannot give OSDs of class {name} what '
                    f'osd_requirements declare under {", ".join(left)}: '
                    '"openstack tier audit" compares it.'
                    for name in _classes(catalog, cluster)
                    if (
                        left := _beyond_cephadm(
                            _required(catalog, cluster, name)
                        )
                    )
                ),
            ),
        )
        for cluster in catalog.clusters_in_use
    )


def _classes(
    catalog: catalogs.Catalog, cluster: catalogs.Cluster
) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            name
            for tier in catalog.tiers_of(cluster.name)
            for _, rbd in tier.storages
            for name in (rbd.primary_device_class, rbd.device_class)
            if name
        )
    )


def _required(
    catalog: catalogs.Catalog, cluster: catalogs.Cluster, device_class: str
) -> tuple[catalogs.Requirements, ...]:
    return tuple(
        rbd.osd_requirements
        for tier in catalog.tiers_of(cluster.name)
        for _, rbd in tier.storages
        if rbd.device_class == device_class and rbd.osd_requirements
    )


def _beyond_cephadm(
    required: tuple[catalogs.Requirements, ...],
) -> list[str]:
    """Return the requirements that OSD service specifications cannot state."""
    names = {name for one in required for name in one.declared}
    return sorted(names - {'rotational', 'fast_db', 'fast_wal'})


def _osd_specification(
    device_class: str, required: tuple[catalogs.Requirements, ...]
) -> dict[str, object]:
    rotational = {one.rotational for one in required} - {None}
    is_rotational = (
        rotational == {True}
        if rotational
        else device_class == _ROTATIONAL_CLASS
    )
    # A log is with the database unless it has a disk of its own.
    fast_db = any(one.fast_db for one in required)
    fast_wal = not fast_db and any(one.fast_wal for one in required)
    return {
        'service_type': 'osd',
        'service_id': f'tiers-{device_class}',
        'placement': {'host_pattern': '*'},
        'unmanaged': True,
        'spec': {
            'objectstore': 'bluestore',
            'crush_device_class': device_class,
            'data_devices': {'rotational': int(is_rotational)},
            **({'db_devices': {'rotational': 0}} if fast_db else {}),
            **({'wal_devices': {'rotational': 0}} if fast_wal else {}),
        },
    }


def kolla_ansible(catalog: catalogs.Catalog) -> tuple[Fragment, ...]:
    """Return backends for kolla-ansible.

    Variables: kolla-ansible ansible/group_vars/all/cinder.yml and
    doc/source/reference/storage/external-ceph-guide.rst.
    """
    backends = [
        {
            'name': tier.section,
            'cluster': _for_jinja(
                _cluster_of(catalog.clusters[tier.rbd.cluster])
            ),
            'user': _for_ansible(
                catalog.clusters[tier.rbd.cluster].cinder_user
            ),
            'pool': _for_ansible(tier.rbd.pool),
            'enabled': '{{ cinder_backend_ceph | bool }}',
            **(
                {'availability_zone': _for_ansible(zone)}
                if (zone := backend_config.backend_zone(tier))
                else {}
            ),
        }
        for tier in backend_config.new_backends(catalog)
    ]
    found = []
    if backends:
        found.append(
            Fragment(
                place='/etc/kolla/globals.yml',
                documents=(
                    {
                        'cinder_backend_ceph': True,
                        'cinder_ceph_backends': backends,
                    },
                ),
                notes=(
                    *_kolla_notes(catalog),
                    'cinder_backup_backend_ceph_name, rbd-1 by default, must '
                    'name an entry of cinder_ceph_backends: cinder-backup '
                    'uses its cluster. Keep the entry where your backups '
                    'are. In a cloud without backups you may set '
                    f'cinder_backup_backend_ceph_name: {backends[0]["name"]}',
                ),
            )
        )
    default = backend_config.default_section(catalog)
    if default:
        found.append(
            IniFragment(
                place='/etc/kolla/config/cinder.conf',
                # kolla-ansible merges it as a template.
                documents=(
                    {
                        'DEFAULT': {
                            option: _for_jinja(value)
                            for option, value in default.items()
                        }
                    },
                ),
                notes=_last(catalog, default),
            )
        )
    return tuple(found)


def _kolla_notes(
    catalog: catalogs.Catalog,
) -> collections.abc.Iterator[str]:
    yield (
        'cinder_ceph_backends replaces the default list: add an entry for '
        'each Ceph backend that you have, such as rbd-1, or its volumes can '
        'no longer be served.'
    )
    clusters = _clusters_of_backends(catalog)
    if len(clusters) > 1:
        yield (
            'kolla-ansible has one libvirt secret for all backends, '
            'cinder_rbd_secret_uuid, and gives it one key: volumes of '
            f'clusters {", ".join(clusters)} cannot all be attached, unless '
            'their cephx users have the same name and key in each cluster.'
        )
    for cluster in catalog.clusters_in_use:
        name = _cluster_of(cluster)
        yield (
            f'Ceph cluster {cluster.name}: kolla-ansible expects {name}.conf '
            'in /etc/kolla/config/cinder/, and '
            f'{name}.client.{cluster.cinder_user}.keyring in '
            '/etc/kolla/config/cinder/cinder-volume/ and, if cinder-backup is '
            'enabled, in /etc/kolla/config/cinder/cinder-backup/.'
        )
        if cluster.secret_uuid:
            yield (
                f'The libvirt secret {cluster.secret_uuid} of cluster '
                f'{cluster.name} must be cinder_rbd_secret_uuid, which '
                'kolla-ansible gives to all backends.'
            )


def _clusters_of_backends(catalog: catalogs.Catalog) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            tier.rbd.cluster for tier in backend_config.new_backends(catalog)
        )
    )


def openstack_ansible(catalog: catalogs.Catalog) -> tuple[Fragment, ...]:
    """Return backends for openstack-ansible.

    Variables: openstack-ansible-os_cinder doc/source/configure-cinder.rst and
    defaults/main.yml.
    """
    without = backend_config.clusters_without_secret(catalog)
    sections = backend_config.backends(
        catalog,
        default_conf=backend_config.DEFAULT_CONF,
        secret_uuid=_OSA_UUID if len(without) == 1 else None,
    )
    default = backend_config.default_section(catalog)
    del sections['DEFAULT']
    sections = {
        name: {
            option: value if value == _OSA_UUID else _for_ansible(value)
            for option, value in options.items()
        }
        for name, options in sections.items()
    }
    found = []
    if sections:
        found.append(
            Fragment(
                place=(
                    '/etc/openstack_deploy/openstack_user_config.yml, below '
                    'each host of storage_hosts'
                ),
                documents=(
                    {
                        'container_vars': {
                            'cinder_backends': {
                                'limit_container_types': 'cinder_volume',
                                **sections,
                            }
                        }
                    },
                ),
                notes=(
                    'Keep the backends that are already there.',
                    *(
                        (
                            'A libvirt secret holds one key: clusters '
                            f'{", ".join(without)} need a secret each. Set '
                            'secret_uuid of each in the tiers file, and add '
                            'rbd_secret_uuid with it.',
                        )
                        if len(without) > 1
                        else ()
                    ),
                ),
            )
        )
    found.append(
        Fragment(
            place='/etc/openstack_deploy/user_variables.yml',
            documents=(
                {
                    # Otherwise each backend gets a public volume type, with
                    # which anybody reaches the pool of a private tier.
                    'cinder_manage_volume_types': False,
                    **(
                        {
                            'cinder_default_volume_type': _for_ansible(
                                default['default_volume_type']
                            )
                        }
                        if default
                        else {}
                    ),
                },
            ),
            notes=(
                'With cinder_manage_volume_types, openstack-ansible would '
                'make a public volume type for each backend, by which every '
                'project reaches the pools of private tiers.',
                *_last(catalog, default),
            ),
        )
    )
    return tuple(found)


def _last(
    catalog: catalogs.Catalog, default: collections.abc.Mapping[str, str]
) -> tuple[str, ...]:
    """Warn that the default volume type must be set last."""
    name = default.get('default_volume_type')
    if name not in catalog.follow_image_types:
        return ()
    return (
        f'Make {name} the default volume type as the last step of the '
        'installation: to Cinder alone, it means any backend. Leave it out '
        'until the API middleware and the scheduler filter are enabled on '
        'every host, and the tiers are applied.',
    )


def _cluster_of(cluster: catalogs.Cluster) -> str:
    """Return the name by which kolla-ansible finds ceph.conf and keyring."""
    return pathlib.PurePath(cluster.conf or backend_config.DEFAULT_CONF).stem


def _for_jinja(text: str) -> str:
    """Return a text that a template of Ansible leaves unchanged.

    The author of a tiers file must not run code as the deployer. A `raw` block
    would end at an `endraw` in the text.

    >>> _for_jinja('{% a %}')
    "{{ '{' }}% a %}"
    """
    return text.replace('{', "{{ '{' }}")


def _for_ansible(text: str) -> str:
    """Return a value of cinder.conf for a template of Ansible.

    >>> _for_ansible('a$b')
    'a$$b'
    """
    return _for_jinja(text.replace('$', '$$'))
