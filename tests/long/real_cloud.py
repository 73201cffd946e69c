# SPDX-License-Identifier: Apache-2.0

"""Two tiers on a real Ceph, and a real cinder-volume beside a real Cinder API.

Volumes are planted: put into Cinder's database and into Ceph by the test, at
places where Cinder would not have made them.
"""

import concurrent.futures
import contextlib
import json
import pathlib
import time

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.driver import moving
from tests.contract import commands
from tests.contract import real_ceph
from tests.functional import repairs
from tests.unit.execute import test_cinder_world

_RBD = (
    'rbd: {cluster: ceph, pool: MARK-TIER, pg_num: 8, device_class: CLASS, '
    'failure_domain: osd, '
    'replicated: {size: 2, min_size: 1, unprotected_writes: true}}'
)
TIERS = f"""
MARK-slow:
  fallback: true
  {_RBD.replace('TIER', 'slow')}
  qos: {{back_end: {{total_iops_sec: 100}}}}
MARK-fast:
  tags: [fast]
  priority: 20
  {_RBD.replace('TIER', 'fast')}
  qos: {{back_end: {{total_iops_sec: 400}}}}
"""
LIMITS = {'slow': '100', 'fast': '400'}
LIMIT = 'conf_rbd_qos_iops_limit'
#: The type that follows an image; of a volume without one, the tier is slow.
FOLLOWS = 'image-tier'
GIB = 2**30
#: Longer than Ceph's manager takes for all tasks of a test.
MOST_S = 900


class CloudCase(commands.CommandsCase):
    def setUp(self):
        super().setUp()
        self.rbd = ceph_session.import_binding('rbd')
        (device_class, *_) = self.session.command('osd crush class ls')
        self.make_pool('images')
        self.declare(TIERS.replace('CLASS', device_class))
        self.path.write_text(
            self.path.read_text()
            .replace('}\n', ', images_pool: MARK-images}\n', 1)
            .replace('MARK', self.mark)
            + f'follow_image_types: [{FOLLOWS}]\n'
        )
        self.arguments = self.api.arguments_of('admin')
        self.tier('apply')
        self.ioctxs = {
            name: self.open(name) for name in ('images', 'slow', 'fast')
        }
        self.hosts = {
            tier: f'node@ceph#tier-{self.mark}-{tier}' for tier in LIMITS
        }
        self.options = {
            'rbd_ceph_conf': self.write_conf(),
            'rbd_user': self.mark,
            'rbd_cluster_name': 'ceph',
        }
        self.api.add_volume_service(
            'ceph',
            'cinder_tiers.driver.rbd.TieredRBDDriver',
            tiers_rbd_pools=[
                f'tier-{self.mark}-{tier}:{self.mark}-{tier}'
                for tier in LIMITS
            ],
            **self.options,
        )
        self.connection = self.enterContext(test_cinder_world.log_in(self.api))
        self.types = {
            one.name.removeprefix(f'{self.mark}-'): one.id
            for one in self.connection.block_storage.types(is_public='None')
        }
        #: {id of a planted volume: the pool where it was planted}
        self.planted = {}

    def open(self, name):
        ioctx = self.session._handle.open_ioctx(f'{self.mark}-{name}')
        self.addCleanup(ioctx.close)
        self.rbd.RBD().pool_init(ioctx, True)
        return ioctx

    def make_pool(self, name):
        self.session.command(
            'osd pool create', pool=f'{self.mark}-{name}', pg_num=8, size=2
        )

    def write_conf(self):
        """A ceph.conf of the user that `apply` has made; its path."""
        (found,) = self.session.command(
            'auth get', entity=f'client.{self.mark}'
        )
        keyring = self.path.with_name('keyring')
        keyring.write_text(f'[client.{self.mark}]\nkey = {found["key"]}\n')
        conf = self.path.with_name('ceph.conf')
        conf.write_text(
            pathlib.Path(real_ceph.CONF).read_text()
            + f'\n[client.{self.mark}]\nkeyring = {keyring}\n'
        )
        return str(conf)

    def plant(
        self,
        volume_type,
        pool,
        *,
        host=None,
        limit=None,
        parent=None,
        snapshots=0,
        **fields,
    ):
        """A volume whose image is in a pool; its id.

        :param host: host of the volume; that of the pool by default.
        :param limit: limit of the image; that of the type by default.
        :param parent: (pool, image, snapshot) that it is a clone of.
        :param fields: further fields, see `CinderApi.add_volume`.
        """
        ident = self.api.add_volume(
            host=host or self.hosts[pool],
            volume_type_id=self.types[volume_type],
            **fields,
        )
        name, ioctx = f'volume-{ident}', self.ioctxs[pool]
        if parent:
            of, *image = parent
            self.rbd.RBD().clone(self.ioctxs[of], *image, ioctx, name)
        else:
            self.rbd.RBD().create(ioctx, name, GIB)
        with self.rbd.Image(ioctx, name) as image:
            image.write(ident.encode(), 0)
            image.write(ident.encode(), GIB - 2**20)
            if limit or volume_type in LIMITS:
                image.metadata_set(LIMIT, limit or LIMITS[volume_type])
            for _ in range(snapshots):
                made = self.api.add_snapshot(volume_id=ident, volume_size=1)
                image.create_snap(f'snapshot-{made}')
                image.protect_snap(f'snapshot-{made}')
        self.planted[ident] = pool
        return ident

    def find(self, ident):
        """(names of the pools that have its image, its limit).

        :raises AssertionError: it is not what was written.
        """
        name = f'volume-{ident}'
        found, limit = [], None
        for pool in LIMITS:
            with contextlib.suppress(self.rbd.ImageNotFound):
                with self.rbd.Image(
                    self.ioctxs[pool], name, read_only=True
                ) as image:
                    self.assertEqual(GIB, image.size())
                    for offset in (0, GIB - 2**20):
                        self.assertEqual(
                            ident.encode(), image.read(offset, len(ident))
                        )
                    limit = dict(image.metadata_list()).get(LIMIT)
                found.append(pool)
        return found, limit

    def find_all(self):
        """{id of a planted volume: what `find` finds}"""
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            return dict(
                zip(
                    self.planted,
                    threads.map(self.find, self.planted),
                    strict=True,
                )
            )

    def volumes(self):
        """{id: volume}, as Cinder has them."""
        return {
            one.id: one
            for one in self.connection.block_storage.volumes(all_projects=True)
        }

    def settle(self):
        """Wait until nothing moves any more, and nothing is left of a move."""
        deadline = time.monotonic() + MOST_S
        while left := self.left():
            self.assertLess(time.monotonic(), deadline, left)
            time.sleep(1)

    def left(self):
        """Return what moves have left: marks, and entries of the trash."""
        found = []
        for pool in LIMITS:
            ioctx = self.ioctxs[pool]
            found += [
                json.loads(value)
                for key, value in self.rbd.RBD().pool_metadata_list(ioctx)
                if key.startswith(moving.MARK)
            ]
            in_trash = self.rbd.RBD().pool_stats_get(ioctx)['trash_count']
            found += [f'{in_trash} in the trash of {pool}'] * (in_trash > 0)
        return found

    def wrong(self):
        """Ids of the volumes that the audit names."""
        ran = self.run_tier(
            *('audit', '--volumes', '--limits', '--residency', '-f', 'json')
        )
        self.assertIn(ran.status, (0, 3, 4), ran.stderr)
        return repairs.named(json.loads(ran.stdout))
