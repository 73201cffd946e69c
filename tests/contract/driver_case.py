# SPDX-License-Identifier: Apache-2.0

"""A real cinder-volume with TieredRBDDriver, on a cluster that a test gives.

The manager, the driver of Cinder below ours, its objects and its database,
sqlite, are Cinder's own, as its own tests set them up. Messages go to
oslo.messaging's fake driver.
"""

import contextlib
import hashlib
import logging
import threading
import uuid

# First of all: it makes threads green, unless the environment says not to.
from cinder.tests.unit import test

from cinder import context  # noqa: H306
from cinder import objects
from cinder.objects import fields
from cinder.tests.unit import fake_constants
from cinder.volume import configuration
from cinder.volume.drivers import rbd as cinder_rbd
from cinder.volume import manager
from cinder.volume import qos_specs
from cinder.volume import volume_types
import fixtures
from oslo_config import cfg

from cinder_tiers.driver import moving
from cinder_tiers.driver import pools
from cinder_tiers.driver import rbd as tiered

BACKEND = 'ceph'
HOST = f'node@{BACKEND}'
DRIVER = 'cinder_tiers.driver.rbd.TieredRBDDriver'
GIB = 2**30
#: Tests write nothing behind it.
WRITTEN_BYTES = 2**24
#: Longer than a move of these small images takes.
MOST_S = 120
#: The same, of an entry of the trash.
GONE_WITHIN_S = 10


class DriverCase(test.TestCase):
    """Two tiers, `fast` and `slow`, each with a pool, a type and limits.

    A test case gives `rados` and `rbd`, the modules, `rados_pools`, the pools
    of the two tiers, and `options`, by which Cinder's driver connects.
    """

    options = {}

    def setUp(self):
        super().setUp()
        objects.register_all()
        self.context = context.get_admin_context()
        self.context.user_id = fake_constants.USER_ID
        self.context.project_id = fake_constants.PROJECT_ID
        self.mock_object(cinder_rbd, 'rados', self.rados)
        self.mock_object(cinder_rbd, 'rbd', self.rbd)
        objects.Service(
            self.context,
            host=HOST,
            topic='cinder-volume',
            binary='cinder-volume',
            availability_zone='nova',
        ).create()
        self.types = {
            name: self.make_type(name, limit)
            for name, limit in (('fast', '400'), ('slow', '40'))
        }

    def make_type(self, name, limit):
        spec = qos_specs.create(
            self.context,
            f'qos-{name}',
            {'consumer': 'back-end', 'total_iops_sec': limit},
        )
        made = volume_types.create(
            self.context, name, {'volume_backend_name': f'tier-{name}'}
        )
        qos_specs.associate_qos_with_type(self.context, spec.id, made['id'])
        return objects.VolumeType.get_by_id(self.context, made['id'])

    def configure(self, **options):
        """Write the section of the backend."""
        configuration.Configuration(
            [*cinder_rbd.RBD_OPTS, *tiered.OPTIONS], config_group=BACKEND
        )
        for name, value in {
            pools.OPTION: [
                f'tier-{tier}:{pool}'
                for tier, pool in self.rados_pools.items()
            ],
            'rados_connection_retries': 1,
            'rados_connection_interval': 1,
            **self.options,
            **options,
        }.items():
            cfg.CONF.set_override(name, value, group=BACKEND)

    def serve(self, **options):
        """A cinder-volume, as it is after its start; may be called again."""
        self.configure(**options)
        service = manager.VolumeManager(
            host=HOST, service_name=BACKEND, volume_driver=DRIVER
        )
        service.init_host(service_id=1)
        return service

    def add(self, tier, size=1, **fields_of):
        """A volume of a tier, in the database only."""
        volume = objects.Volume(
            self.context,
            host=self.host_of(tier),
            size=size,
            volume_type_id=self.types[tier].id,
            project_id=self.context.project_id,
            user_id=self.context.user_id,
            status='available',
            attach_status=fields.VolumeAttachStatus.DETACHED,
            use_quota=True,
            **fields_of,
        )
        volume.create()
        return volume

    def host_of(self, tier):
        return f'{HOST}#tier-{tier}'

    def make(self, service, tier, content=None):
        """A volume of a tier, with an image that has some content."""
        volume = self.add(tier)
        service.driver.create_volume(volume)
        if content:
            self.write(tier, volume.name, content)
        return volume

    def snapshot(self, service, volume):
        snapshot = objects.Snapshot(
            self.context,
            volume_id=volume.id,
            volume_size=volume.size,
            project_id=volume.project_id,
            user_id=volume.user_id,
            status='available',
        )
        snapshot.create()
        service.driver.create_snapshot(snapshot)
        return snapshot

    def retype(self, service, volume, tier, policy='on-demand'):
        """What cinder-volume does of "openstack volume set --type"."""
        volume.update({'status': 'retyping', 'previous_status': 'available'})
        volume.save()
        service.retype(
            self.context,
            volume,
            self.types[tier].id,
            {'host': self.host_of(tier), 'cluster_name': None},
            policy,
        )
        volume.refresh()

    def capture_log(self):
        """What is logged from now on, in its `output`."""
        return self.useFixture(
            fixtures.FakeLogger(level=logging.INFO, nuke_handlers=False)
        )

    # The state of the world

    @contextlib.contextmanager
    def ioctx(self, tier):
        client = self.connect()
        ioctx = client.open_ioctx(self.rados_pools.get(tier, tier))
        try:
            yield ioctx
        finally:
            ioctx.close()
            client.shutdown()

    @contextlib.contextmanager
    def image(self, tier, name, **options):
        with self.ioctx(tier) as ioctx:
            image = self.rbd.Image(ioctx, name, **options)
            try:
                yield image
            finally:
                image.close()

    def write(self, tier, name, content, offset=0):
        with self.image(tier, name) as image:
            image.write(content, offset)

    def sum_of(self, tier, name, snapshot=None, length=WRITTEN_BYTES):
        """sha256 of an image, or of a snapshot of it, from its begin."""
        found = hashlib.sha256()
        with self.image(
            tier, name, snapshot=snapshot, read_only=True
        ) as image:
            for offset in range(0, length, WRITTEN_BYTES):
                found.update(image.read(offset, WRITTEN_BYTES))
        return found.hexdigest()

    def names_in(self, tier):
        with self.ioctx(tier) as ioctx:
            return sorted(self.rbd.RBD().list(ioctx))

    def images_in_trash(self, tier):
        """How many, once a commit has had the time to remove its entry.

        It removes the header of the source, by which the move has ended, a
        moment before.
        """
        over = threading.Event()
        with self.ioctx(tier) as ioctx:
            for _ in range(GONE_WITHIN_S):
                found = self.rbd.RBD().pool_stats_get(ioctx)['trash_count']
                if not found:
                    break
                over.wait(1)
        return found

    def marks_in(self, tier):
        """What the metadata of a pool says of moves."""
        with self.ioctx(tier) as ioctx:
            return [
                pair
                for pair in self.rbd.RBD().pool_metadata_list(ioctx)
                if pair[0].startswith(moving.MARK)
            ]

    def limits_of(self, tier, name):
        """{option: value} of what the image itself sets."""
        with self.image(tier, name, read_only=True) as image:
            return {
                one['name']: one['value']
                for one in image.config_list()
                if one['source'] == self.rbd.RBD_CONFIG_SOURCE_IMAGE
            }

    def settle(self, service, volume, tier):
        """Let moves come to their end, as the periodic task does."""
        over = threading.Event()
        for _ in range(MOST_S):
            service.driver._moves.go_on()
            if not service.driver._moves._moves:
                return
            over.wait(1)
        self.fail(f'{volume.name} still moves after {MOST_S} s.')


def new_pool_names():
    """Names of pools that no other test has."""
    mark = uuid.uuid4().hex[:8]
    return {tier: f'driver-{mark}-{tier}' for tier in ('fast', 'slow')}
