# SPDX-License-Identifier: Apache-2.0

"""A real cinder-volume with TieredRBDDriver, on a cluster that a test gives.

The manager, the driver of Cinder below ours, its objects, its locks and its
database, sqlite, are Cinder's own. Messages go to oslo.messaging's fake
driver.
"""

import contextlib
import hashlib
import logging
import threading
import uuid

from tests.unit import native_threads

native_threads.choose()

from cinder import objects  # noqa: E402
import fixtures  # noqa: E402
from oslo_config import cfg  # noqa: E402
import testtools  # noqa: E402

# As in cinder_fixture.py.
objects.register_all()

from cinder import coordination  # noqa: E402
from cinder.objects import fields  # noqa: E402
from cinder.volume import configuration  # noqa: E402
from cinder.volume.drivers import rbd as cinder_rbd  # noqa: E402
from cinder.volume import manager  # noqa: E402
from cinder.volume import qos_specs  # noqa: E402
from cinder.volume import volume_types  # noqa: E402

from cinder_tiers.driver import moving  # noqa: E402
from cinder_tiers.driver import pools  # noqa: E402
from cinder_tiers.driver import rbd as tiered  # noqa: E402
from tests.worlds import cinder_fixture  # noqa: E402

BACKEND = 'ceph'
HOST = f'node@{BACKEND}'
DRIVER = 'cinder_tiers.driver.rbd.TieredRBDDriver'
GIB = 2**30
#: Tests write nothing behind it.
WRITTEN_BYTES = 2**24
#: Longer than a move of these small images takes.
MOST_S = 120
#: How often it is asked whether a move has ended.
POLL_S = 0.25
#: The same, of an entry of the trash.
GONE_WITHIN_S = 10


class DriverCase(testtools.TestCase):
    """Two tiers, `fast` and `slow`, each with a pool, a type and limits.

    A test case gives `rados` and `rbd`, the modules, `rados_pools`, the pools
    of the two tiers, and `options`, by which Cinder's driver connects.
    """

    options = {}

    def setUp(self):
        super().setUp()
        self.cinder = self.useFixture(cinder_fixture.Cinder())
        self.context = self.cinder.admin
        self.context.user_id = uuid.uuid4().hex
        self.context.project_id = cinder_fixture.PROJECT
        self.cinder.conf.config(
            group='coordination', backend_url=f'file://{self.cinder.folder}'
        )
        coordination.COORDINATOR.start()
        self.addCleanup(coordination.COORDINATOR.stop)
        for name in ('rados', 'rbd'):
            self.useFixture(
                fixtures.MonkeyPatch(
                    f'cinder.volume.drivers.rbd.{name}', getattr(self, name)
                )
            )
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

    def make_type(
        self, name, limit, *, backend=None, consumer='back-end', **specs
    ):
        spec = qos_specs.create(
            self.context,
            f'qos-{name}',
            {
                'consumer': consumer,
                **({'total_iops_sec': limit} if limit else {}),
                **specs,
            },
        )
        made = volume_types.create(
            self.context,
            name,
            {'volume_backend_name': backend or f'tier-{name}'},
        )
        qos_specs.associate_qos_with_type(self.context, spec.id, made['id'])
        return objects.VolumeType.get_by_id(self.context, made['id'])

    def configure(self, group=BACKEND, **options):
        """Write the section of a backend."""
        configuration.Configuration(
            [*cinder_rbd.RBD_OPTS, *tiered.OPTIONS], config_group=group
        )
        for name, value in {
            **section(self.rados_pools),
            **self.options,
            **options,
        }.items():
            cfg.CONF.set_override(name, value, group=group)
            self.addCleanup(cfg.CONF.clear_override, name, group=group)

    def serve(self, host=HOST, **options):
        """A cinder-volume, as it is after its start; may be called again."""
        self.configure(**options)
        service = manager.VolumeManager(
            host=host, service_name=BACKEND, volume_driver=DRIVER
        )
        service.init_host(service_id=1)
        # Its thread would keep the process.
        self.addCleanup(service.driver._going_on.stop)
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
        snapshot = self.snapshot_of(volume)
        service.driver.create_snapshot(snapshot)
        return snapshot

    def snapshot_of(self, volume):
        """One in the database only."""
        snapshot = objects.Snapshot(
            self.context,
            volume_id=volume.id,
            volume_size=volume.size,
            project_id=volume.project_id,
            user_id=volume.user_id,
            status='available',
        )
        snapshot.create()
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
            for _ in range(int(GONE_WITHIN_S / POLL_S)):
                found = self.rbd.RBD().pool_stats_get(ioctx)['trash_count']
                if not found:
                    break
                over.wait(POLL_S)
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
        for _ in range(int(MOST_S / POLL_S)):
            service.driver._moves.go_on()
            if not service.driver._moves._moves:
                return
            over.wait(POLL_S)
        self.fail(f'{volume.name} still moves after {MOST_S} s.')


def section(rados_pools):
    """Options of the backend, but for those by which it connects."""
    return {
        pools.OPTION: [
            f'tier-{tier}:{pool}' for tier, pool in rados_pools.items()
        ],
        'rados_connection_retries': 1,
        'rados_connection_interval': 1,
    }


def new_pool_names():
    """Names of pools that no other test has."""
    mark = uuid.uuid4().hex[:8]
    return {tier: f'driver-{mark}-{tier}' for tier in ('fast', 'slow')}
