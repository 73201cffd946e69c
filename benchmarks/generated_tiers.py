# SPDX-License-Identifier: Apache-2.0

"""Tiers of any number, and what Ceph and Cinder say when these are applied.

A catalog in the form of a tiers file, and from the domain's own values for it
the answers of the services: either nothing of it exists, or all. What Ceph
says beside that was recorded from a real cluster (tests/unit/observe/data).

    python -m benchmarks.generated_tiers TIERS APPLIED

prints the port of Keystone and Cinder, and runs until its standard input ends;
APPLIED is 1 or 0.
"""

import errno
import json
import pathlib
import sys
import uuid

from benchmarks import served_cloud
from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.resources import cephx_user
from cinder_tiers.domain.resources import qos_spec as qos_spec_kind
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.resources import type_quota
from cinder_tiers.domain.resources import volume_type as volume_type_kind
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.files.tiers import reader

RECORDED = (
    pathlib.Path(__file__).resolve().parents[1]
    / 'tests'
    / 'unit'
    / 'observe'
    / 'data'
    / 'ceph-16.2.15.json'
)
PROJECTS = 10
OSDS_OF_A_HOST = 20
#: {id: name} of the ids that `id_of` gave.
_NAMES = {}


def id_of(name):
    """The id of an object of Cinder or Keystone that has a name."""
    found = str(uuid.uuid5(uuid.NAMESPACE_OID, name))
    _NAMES[found] = name
    return found


def name_of(ident):
    """The name of an id that `id_of` gave, or None."""
    return _NAMES.get(ident)


HOSTS_OF_A_RACK = 20
#: {option of OSDs: its schema}, as `ceph config help` of 16.2.15 shows it.
OSD_OPTIONS = {
    'osd_max_scrubs': {'type': 'int', 'default': 1},
    'osd_recovery_sleep': {'type': 'float', 'default': 0.0},
    'osd_op_queue': {
        'type': 'str',
        'default': 'wpq',
        'enum_values': ['wpq', 'mclock_scheduler'],
    },
}
_TIER = """  tier-{number}:
    tags: [tag-{number}]
    priority: {number}
    fallback: {fallback}
    access: {access}
    qos: {{front_end: {{total_iops_sec: {iops}, total_bytes_sec: 1000000}}}}
    quotas: {{volumes: 100, gigabytes: 2000}}
    rbd:
      cluster: ceph
      pool: pool-{number}
      device_class: {device_class}
      pg_num: 32
      {protection}
      pool_options: {{compression_mode: passive, quota_max_objects: {iops}}}
      rbd_options: {{rbd_cache: false, rbd_readahead_max_bytes: {iops}}}
      osd_options: {{osd_max_scrubs: {scrubs}, osd_recovery_sleep: 0.1}}
"""


def text(tiers, *, more=(), scrubs=2):
    """A tiers file of so many RBD tiers, each with settings of all kinds.

    Every tenth is erasure coded, every fifth open to one project only.

    :param more: numbers of tiers beside the first ones.
    :param scrubs: osd_max_scrubs of all OSDs.
    """
    declared = [
        _TIER.format(
            number=number,
            fallback=str(number == 0).lower(),
            access=f'[project-{number % PROJECTS}]'
            if number % 5 == 1
            else 'public',
            iops=500 + number,
            device_class=('ssd', 'hdd')[number % 2],
            protection='erasure_coded: {k: 2, m: 1}'
            if number % 10 == 5
            else 'replicated: {size: 3, min_size: 2}',
            scrubs=scrubs,
        )
        for number in (*range(tiers), *more)
    ]
    return (
        'version: 1\nfollow_image_types: [image-tier]\n'
        'clusters: {ceph: {images_pool: tier-database}}\ntiers:\n'
        + ''.join(declared)
    )


class Ceph:
    """A session with a cluster in which a catalog is applied, or is not.

    :param catalog: the tiers.
    :param applied: whether they exist.
    :param osds: how many OSDs, in hosts of 20, each of one device class; None:
        the six that were recorded.
    """

    def __init__(self, catalog, *, applied, osds=None):
        self.cluster = catalog.clusters['ceph']
        #: Commands so far, those to OSDs and reads of RBD options included.
        self.calls = 0
        recorded = json.loads(RECORDED.read_text('utf-8'))['answers']
        answers = {
            name: one['answer']
            for name, one in recorded.items()
            if not one['code']
        }
        # Of no pod: a cluster that Rook does not own.
        answers['mon metadata'] = []
        for name, schema in OSD_OPTIONS.items():
            answers[f'config help {name}'] = {
                'name': name,
                'daemon_default': '',
                'can_update_at_runtime': True,
                **schema,
            }
        answers['config dump'] = [
            {
                'section': 'osd',
                'mask': f'class:{name}',
                'name': option,
                'value': value,
            }
            for name in ('ssd', 'hdd')
            for option, value in (
                ('osd_max_scrubs', '2'),
                ('osd_recovery_sleep', '0.100000'),
            )
            if applied
        ]
        answers['mon metadata'] = []
        if osds is not None:
            answers['osd tree'] = {'nodes': _tree(osds), 'stray': []}
        nodes = answers['osd tree']['nodes']
        for name in ('ssd', 'hdd'):
            answers[f'osd crush class ls-osd {name}'] = [
                node['id']
                for node in nodes
                if node.get('device_class') == name
            ]
        self._rbd_options, diff = {}, {}
        if applied:
            diff = {
                'osd_max_scrubs': {'default': 1, 'mon': 2, 'final': 2},
                'osd_recovery_sleep': {
                    'default': 0.0,
                    'mon': 0.1,
                    'final': 0.1,
                },
            }
            self._apply(catalog, answers)
        # Text, for a session has JSON to parse as well.
        self._diff = json.dumps({'diff': diff})
        self._answers = {
            name: json.dumps(answer) for name, answer in answers.items()
        }

    def _apply(self, catalog, answers):
        rules = answers['osd crush rule dump']
        pools = answers['osd pool ls detail']
        for tier in catalog.tiers:
            wanted = tier_pools.pools_of(tier.rbd)
            for profile in wanted.erasure_code_profiles:
                answers[f'osd erasure-code-profile get {profile.name}'] = {
                    'k': str(profile.k),
                    'm': str(profile.m),
                    'crush-root': profile.root,
                    'plugin': 'jerasure',
                    'crush-device-class': profile.device_class,
                    'crush-failure-domain': profile.failure_domain,
                }
            for rule in wanted.crush_rules:
                rules.append(_rule(rule, 100 + len(rules)))
            ids = {rule['rule_name']: rule['rule_id'] for rule in rules}
            for pool in wanted.pools:
                pools.append(_pool(pool, pools[0], ids[pool.crush_rule]))
                self._rbd_options[pool.name] = {
                    name: value
                    for name, value in (
                        *pool.rbd_options.items(),
                        ('rbd_default_data_pool', pool.rbd_default_data_pool),
                    )
                    if value is not None
                }
        answers[f'auth get client.{self.cluster.cinder_user}'] = [
            {
                'caps': {
                    daemon: ', '.join(grants)
                    for daemon, grants in cephx_user.grants_of(
                        catalog, self.cluster
                    ).items()
                }
            }
        ]

    def command(self, prefix, **arguments):
        """Answers a monitor command.

        :raises ceph_session.CephRefused: what it names does not exist.
        """
        self.calls += 1
        answer = self._answers.get(
            ' '.join(map(str, (prefix, *arguments.values())))
        )
        if answer is None:
            raise ceph_session.CephRefused(prefix, errno=errno.ENOENT)
        return json.loads(answer)

    def tell(self, osd_id, prefix):
        """Answers `config diff`, the same for each OSD."""
        self.calls += 1
        return json.loads(self._diff)

    def rbd_options(self, pool):
        """The RBD options of a pool."""
        self.calls += 1
        return self._rbd_options.get(pool, {})


def _tree(osds):
    """Nodes of `osd tree`: OSDs in hosts, in racks of 20 hosts."""
    hosts = -(-osds // OSDS_OF_A_HOST)
    racks = -(-hosts // HOSTS_OF_A_RACK)

    def bucket(kind, ident, name, children):
        return {
            'id': ident,
            'name': name,
            'type': kind,
            'children': list(children),
        }

    first_rack, first_host = 2, 2 + racks
    return [
        bucket(
            'root', -1, 'default', (-first_rack - one for one in range(racks))
        ),
        *(
            bucket(
                'rack',
                -first_rack - rack,
                f'rack-{rack}',
                (-first_host - host for host in range(rack, hosts, racks)),
            )
            for rack in range(racks)
        ),
        *(
            bucket(
                'host',
                -first_host - host,
                f'host-{host}',
                range(
                    host * OSDS_OF_A_HOST,
                    min(osds, (host + 1) * OSDS_OF_A_HOST),
                ),
            )
            for host in range(hosts)
        ),
        *(
            {
                'id': osd,
                'name': f'osd.{osd}',
                'type': 'osd',
                'device_class': ('ssd', 'hdd')[osd // OSDS_OF_A_HOST % 2],
                'crush_weight': 1.0,
                'exists': 1,
                'primary_affinity': 1,
                'reweight': 1,
                'status': 'up',
            }
            for osd in range(osds)
        ),
    ]


def _rule(rule, number):
    erasure = rule.kind == 'erasure'
    return {
        'rule_id': number,
        'rule_name': rule.name,
        'ruleset': number,
        'type': 3 if erasure else 1,
        'min_size': 1,
        'max_size': 10,
        'steps': [
            {
                'op': 'take',
                'item': -2,
                'item_name': f'{rule.root}~{rule.device_class}',
            },
            {
                'op': 'chooseleaf_indep' if erasure else 'chooseleaf_firstn',
                'num': 0,
                'type': rule.failure_domain,
            },
            {'op': 'emit'},
        ],
    }


def _pool(pool, like, rule_id):
    """A pool as `osd pool ls detail` shows it.

    :param like: another, for all that no tier can ask for.
    """
    return {
        **like,
        'pool_name': pool.name,
        'size': pool.size,
        'type': 3 if pool.kind == 'erasure' else 1,
        # As apply sets it, else Ceph's choice.
        'min_size': pool.min_size or pool.first_min_size or pool.size - 1,
        'pg_num': pool.pg_num,
        'pg_num_target': pool.pg_num,
        'crush_rule': rule_id,
        'pg_autoscale_mode': pool.pg_autoscale_mode,
        'erasure_code_profile': pool.erasure_code_profile or '',
        'application_metadata': {
            name: {ceph_state.OWNERSHIP_KEY: ceph_state.OWNERSHIP_VALUE}
            for name in pool.applications
        },
        'flags_names': 'hashpspool'
        + (',ec_overwrites' if pool.ec_overwrites else ''),
        'options': {'compression_mode': 'passive'}
        if 'compression_mode' in pool.options
        else {},
        'quota_max_objects': int(pool.options.get('quota_max_objects', 0)),
    }


class Cloud:
    """What Keystone and Cinder answer about the tiers of a catalog.

    :param catalog: the tiers.
    :param applied: whether they exist in Cinder.
    """

    def __init__(self, catalog, *, applied):
        self.url = ''
        self._catalog = catalog
        self._tiers = catalog.tiers if applied else ()

    def answer(self, method, path, query, body):
        """A status and a document; None for what is not known."""
        document = self._document(path.removeprefix('/v3/'), query)
        return document and (200, document)

    def _document(self, path, query):
        match path.removeprefix('p/').split('/'):
            case ['projects']:
                names = (
                    [query['name']]
                    if 'name' in query
                    else [f'project-{number}' for number in range(PROJECTS)]
                )
                return {
                    'projects': [
                        {'id': id_of(name), 'name': name} for name in names
                    ]
                }
            case ['types']:
                return {'volume_types': self._types()}
            case ['types', ident, 'os-volume-type-access']:
                return {
                    'volume_type_access': [
                        {'project_id': id_of(project)}
                        for tier in self._tiers
                        if ident == id_of(tier.name)
                        for project in tier.projects
                    ]
                }
            case ['qos-specs']:
                return {
                    'qos_specs': [
                        {
                            'id': id_of(spec.name),
                            'name': spec.name,
                            'consumer': spec.consumer,
                            'specs': dict(spec.specs),
                        }
                        for spec in map(qos_spec_kind.qos_spec_of, self._tiers)
                    ]
                }
            case ['qos-specs', ident, 'associations']:
                name = _NAMES[ident].removeprefix('tier-')
                return {
                    'qos_associations': [
                        {
                            'id': id_of(name),
                            'name': name,
                            'association_type': 'volume_type',
                        }
                    ]
                }
            case ['os-quota-class-sets', 'default']:
                return {'quota_class_set': self._quotas()}
            case ['default-types']:
                return {'default_types': []}
        return None

    def _types(self):
        found = [
            (
                volume_type_kind.volume_type_of(tier, projects=frozenset('x')),
                id_of(qos_spec_kind.qos_spec_name(tier.name)),
            )
            for tier in self._tiers
        ]
        if self._tiers:
            found += [
                (volume_type_kind.follow_image_type(name), None)
                for name in self._catalog.follow_image_types
            ]
        return [
            {
                'id': id_of(one.name),
                'name': one.name,
                'os-volume-type-access:is_public': one.is_public,
                'is_public': one.is_public,
                'description': one.description,
                'extra_specs': dict(one.extra_specs),
                'qos_specs_id': qos,
            }
            for one, qos in found
        ]

    def _quotas(self):
        quotas = {'id': 'default', 'volumes': 10}
        for quota in map(type_quota.type_quota_of, self._tiers):
            quotas.update(
                {
                    f'{resource}_{quota.name}': getattr(quota, field)
                    for field, resource in cinder_state.QUOTA_RESOURCES.items()
                }
            )
        return quotas


def main():
    """Serves until standard input ends."""
    tiers, applied = map(int, sys.argv[1:])
    served_cloud.run(
        Cloud(
            reader.read_text(text(tiers), file='tiers.yaml'),
            applied=bool(applied),
        )
    )


if __name__ == '__main__':
    main()
