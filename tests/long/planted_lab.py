# SPDX-License-Identifier: Apache-2.0

"""Volumes of the lab that are wrong in ten ways, in tiers on two clusters.

Cinder makes them with types that are of no tier; then they get the type of a
tier in its database. Of each way there are ten, but fewer of those that are
migrated: a plan counts each with its full size, for which a pool of the lab
has 8 GiB, and it takes Cinder a minute to copy one to another cluster.
"""

import copy
import pathlib
import tempfile

import yaml

from cinder_tiers.clients import ceph as ceph_session
from tests.functional import lab
from tests.functional import repairs
from tests.functional import test_second_cluster
from tests.long import rbd_content

EACH = 10
FEWER = {'clones': 7, 'multi-attach': 6, 'encrypted': 3, 'other cluster': 3}
#: Volumes of a server beside the one that it boots from.
DISKS = 5
#: Where volumes lie that Cinder makes before there are tiers.
PLAIN, FAST_PLAIN, FAR_PLAIN = 'tier-general', 'tier-database', 'tier-second'
#: Where each of those that can be repaired belongs.
PLACES = {
    'wrong QoS': 'tiers-ceph#tier-database',
    'wrong residency': 'tiers-ceph#tier-general',
    'snapshots': 'tiers-ceph#tier-general',
    'clones': 'tiers-ceph#tier-archive',
    'attached': 'tiers-ceph#tier-general',
    'encrypted': 'tiers-ceph#tier-database',
    'multi-attach': 'tiers-ceph#tier-general',
    'other cluster': 'tiers-ceph#tier-database',
}
FOLLOWS = 'legacy'
#: Beside those of the lab.
TIERS = yaml.safe_load("""
fast: {tags: [fast], priority: 90, backend: tier-database}
cold: {tags: [cold], priority: 91, backend: tier-archive}
sealed:
  tags: [sealed]
  priority: 92
  backend: tier-database
  encryption:
    provider: luks
    cipher: aes-xts-plain64
    key_size_bits: 256
    control_location: front-end
shared:
  tags: [shared]
  priority: 93
  backend: tier-general
  extra_specs: {multiattach: <is> True}
second:
  tags: [second]
  priority: 94
  rbd:
    cluster: second
    pool: tier-second
    device_class: ssd
    failure_domain: host
    pg_num: 8
    replicated: {size: 1, single_copy: true}
""")
#: The lab has no key manager of its own; all settings are its tests'.
SETTINGS = f"""[key_manager]
backend = cinder.keymgr.conf_key_mgr.ConfKeyManager
fixed_key = {'5a' * 32}

"""
#: While Ceph's manager may copy.
MOST_S = 900


class PlantedCase(repairs.RepairCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        environment = lab.user_environment()

        def run(*argv):
            return test_second_cluster.run(environment, *argv)

        entry = test_second_cluster.start_second_cluster(
            environment, cls.addClassCleanup
        )
        cls.conf = {
            'tiers-ceph': environment['CEPH_CONF'],
            'tiers-second': entry['conf'],
        }
        content = yaml.safe_load(
            pathlib.Path(environment['CINDER_TIERS_CATALOG']).read_text()
        )
        content['follow_image_types'].append(FOLLOWS)
        content['clusters']['second'] = entry
        content['tiers'].update(TIERS)
        cls.content = content
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / 'tiers.yaml'
        path.write_text(yaml.safe_dump(content, sort_keys=False))
        cls.addClassCleanup(
            run,
            *('openstack', 'volume', 'type', 'delete', *TIERS, FOLLOWS),
        )
        run('openstack', 'tier', 'apply', '--catalog', str(path))
        lab.use_tiered_driver_for_class(
            cls, 'cinder-api', catalog=str(path), settings=SETTINGS
        )
        lab.wait_until_tiers_are_known()

    def setUp(self):
        super().setUp()
        self.apply_limit(repairs.LIMIT)
        rados, self.rbd = map(ceph_session.import_binding, ('rados', 'rbd'))
        self.ioctxs = {}
        for backend, pool in (
            ('tiers-ceph', PLAIN),
            ('tiers-ceph', FAST_PLAIN),
            ('tiers-ceph', 'tier-archive'),
            ('tiers-second', FAR_PLAIN),
        ):
            handle = rados.Rados(conffile=self.conf[backend], rados_id='admin')
            handle.connect()
            self.addCleanup(handle.shutdown)
            self.ioctxs[f'{backend}#{pool}'] = handle.open_ioctx(pool)

    def declared(self):
        return copy.deepcopy(self.content)

    def make(self, count, **options):
        """Ids of new volumes, each with content of its own."""
        made = [
            self.cinder_of_member.volumes.create(
                1, name=self.unique_name('volume'), **options
            ).id
            for _ in range(count)
        ]
        if 'group_id' not in options:
            self.addCleanup(self.remove_all, made)
        for one in made:
            self.assertEqual('available', self.settled(one).status)
            self.write(one)
        return made

    def remove_all(self, ids):
        for one in ids:
            self.cinder.volumes.force_delete(one)
        self.wait_while(
            lambda: (
                set(ids)
                & {
                    one.id
                    for one in self.cinder.volumes.list(
                        search_opts={'all_tenants': 1}
                    )
                }
            ),
            MOST_S,
        )

    def image(self, volume, **options):
        return self.rbd.Image(
            self.ioctxs[self.host_of(volume)], f'volume-{volume}', **options
        )

    def host_of(self, volume):
        return getattr(
            self.cinder.volumes.get(volume), 'os-vol-host-attr:host'
        ).partition('@')[2]

    def write(self, volume):
        with self.image(volume) as image:
            rbd_content.write(image)

    def sums(self, volume):
        with self.image(volume, read_only=True) as image:
            return rbd_content.sums(image)

    def plant(self):
        """{kind: ids of volumes that are wrong in that way}"""
        near, there, far = (
            self.make_type('plain', {'volume_backend_name': backend})
            for backend in (PLAIN, FAST_PLAIN, FAR_PLAIN)
        )
        many = self.make_type(
            'plain',
            {
                'volume_backend_name': FAST_PLAIN,
                **TIERS['shared']['extra_specs'],
            },
        )
        sealed = self.make_type('plain', {'volume_backend_name': PLAIN})
        types = {one.name: one.id for one in self.cinder.volume_types.list()}
        encryption = dict(TIERS['sealed']['encryption'])
        encryption['key_size'] = encryption.pop('key_size_bits')
        self.cinder.volume_encryption_types.create(types[sealed], encryption)
        (source,) = self.make(1, volume_type=near)
        snapshot = self.make_snapshot(source).id
        group = self.make_group(types[near])
        guest = self.image_of_lab('cinder-tiers-guest')
        planted = {
            kind: self.make(FEWER.get(kind, EACH), **options)
            for kind, options in {
                'wrong QoS': {'volume_type': 'database'},
                'wrong residency': {
                    'volume_type': 'general',
                    'imageRef': guest,
                },
                'snapshots': {'volume_type': there},
                'clones': {'snapshot_id': snapshot},
                'attached': {'volume_type': there},
                'encrypted': {'volume_type': sealed},
                'in a group': {'volume_type': types[near], 'group_id': group},
                'multi-attach': {'volume_type': many},
                'other cluster': {'volume_type': far},
                'error': {'volume_type': near},
            }.items()
        }
        for one in planted['snapshots']:
            self.make_snapshot(one)
            self.write(one)
        for place in range(0, EACH, DISKS):
            root = self.make_volume(volume_type='general', imageRef=guest).id
            self.flatten(root)
            self.member.compute.wait_for_server(
                self.boot([root, *planted['attached'][place:][:DISKS]]),
                wait=MOST_S,
            )
        for kind, tier in {
            'snapshots': FOLLOWS,
            'clones': 'cold',
            'attached': FOLLOWS,
            'encrypted': 'sealed',
            'in a group': 'fast',
            'multi-attach': 'shared',
            'other cluster': 'fast',
            'error': 'fast',
        }.items():
            self.give_type(planted[kind], types[tier])
        for one in planted['error']:
            self.cinder.volumes.reset_state(one, 'error')
        self.apply_limit(repairs.RAISED)
        return planted

    def flatten(self, volume):
        with self.image(volume) as image:
            image.flatten()

    def give_type(self, ids, volume_type):
        """Change the type of volumes behind Cinder's back."""
        names = ', '.join(f"'{one}'" for one in ids)
        self.run_command(
            *('mariadb', '--socket', str(self.root / 'run' / 'mariadb.sock')),
            *('cinder', '--execute'),
            f"UPDATE volumes SET volume_type_id = '{volume_type}' "
            f'WHERE id IN ({names})',
        )
