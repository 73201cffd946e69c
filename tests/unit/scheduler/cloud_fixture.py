# SPDX-License-Identifier: Apache-2.0


"""What is around a cinder-scheduler: cinder-api's calls, and cinder-volume.

What an administrator or a tenant asks of an existing volume goes through the
Python APIs that cinder-api calls, over oslo.messaging, to the scheduler. Not
real: cinder-volume, which at once says that it did what it was told.
"""

from cinder import objects
import fixtures
import oslo_messaging

# As in worlds/cinder_fixture.py.
objects.register_all()

from cinder.group import api as group_api  # noqa: E402
from cinder.volume import api as volume_api  # noqa: E402
from cinder.volume import group_types  # noqa: E402
from cinder.volume import rpcapi  # noqa: E402
from cinder.volume import volume_utils  # noqa: E402

from tests.worlds import cinder_fixture  # noqa: E402


class VolumeStandIn:
    """cinder-volume, without data."""

    target = oslo_messaging.Target(version=rpcapi.VolumeAPI.RPC_API_VERSION)

    def create_volume(self, context, volume, **request):
        self._save(volume, status='available')

    def extend_volume(self, context, volume, new_size, reservations):
        self._save(volume, status='available', size=new_size)

    def migrate_volume(self, context, volume, host, force_host_copy):
        self._save(
            volume,
            status='available',
            migration_status='success',
            host=host['host'],
        )

    def retype(self, context, volume, new_type_id, host, **request):
        self._save(
            volume,
            status='available',
            host=host['host'],
            volume_type_id=new_type_id,
        )

    def manage_existing(self, context, volume, ref):
        self._save(volume, status='available', size=1)

    def create_snapshot(self, context, snapshot):
        self._save(snapshot, status='available')

    def manage_existing_snapshot(self, context, snapshot, ref):
        self._save(snapshot, status='available')

    def create_group(self, context, group):
        self._save(group, status='available')

    def get_capabilities(self, context, discover):
        return {}

    def _save(self, what, **values):
        what.update(values)
        what.save()


class Cloud(fixtures.Fixture):
    """Requests to existing volumes, each worked off before it returns.

    Who asks is an administrator unless a context is given.
    """

    def __init__(self, cinder):
        """Nobody listens yet.

        :param cinder: Scheduler fixture
        """
        super().__init__()
        self._cinder = cinder

    def _setUp(self):
        self._served = set()
        self._volumes = volume_api.API()
        self._groups = group_api.API()
        self._serve('cinder-scheduler', 'scheduler', self._cinder.manager)
        self.admin = self._cinder.user(role='admin')
        self.group_type = group_types.create(self.admin, 'any', {}).id

    def _serve(self, topic, server, endpoint):
        serving = cinder_fixture.serve_messages(topic, server, endpoint)
        # Not waited for, which takes a second: nothing is under way.
        self.addCleanup(serving.stop)

    def _settle(self, kind, ident):
        """A resource when all has been done to it.

        A server serves its messages one after another, so the calls in here
        are answered last. Every server is called: which one a message goes to
        is told by the host that the object had which the caller passed, and
        that may have moved since.
        """
        self._volumes.scheduler_rpcapi.get_pools(self.admin)
        what = kind.get_by_id(self.admin, ident)
        if what.host:
            host = volume_utils.extract_host(what.host)
            if host not in self._served:
                self._serve(f'cinder-volume.{host}', 'node', VolumeStandIn())
                self._served.add(host)
        for host in self._served:
            self._volumes.volume_rpcapi.get_capabilities(
                self.admin, host, False
            )
        return kind.get_by_id(self.admin, ident)

    def _volume(self, volume):
        return self._settle(objects.Volume, volume.id)

    def create(self, **request):
        """As Scheduler.create_volume(), by cinder-volume, too."""
        return self._volume(self._cinder.create_volume(**request))

    def migrate(self, volume, backend, user=None):
        """Move a volume, locked meanwhile; the volume afterwards."""
        self._volumes.migrate_volume(
            user or self.admin,
            volume,
            backend,
            None,
            force_copy=False,
            lock_volume=True,
        )
        return self._volume(volume)

    def retype(self, volume, volume_type, user=None):
        """Give a volume another type, moved if need be."""
        self._volumes.retype(
            user or self.admin, volume, volume_type, 'on-demand'
        )
        return self._volume(volume)

    def schedule_retype(self, volume, volume_type, user):
        """As `retype`, of which cinder-api has found nothing wrong."""
        volume.update({'status': 'retyping', 'previous_status': 'available'})
        volume.save()
        self._volumes.scheduler_rpcapi.retype(
            user,
            volume,
            filter_properties={},
            request_spec={
                'volume_properties': volume,
                'volume_id': volume.id,
                'volume_type': objects.VolumeType.get_by_name_or_id(
                    self.admin, volume_type
                ),
                'migration_policy': 'on-demand',
                'quota_reservations': [],
                'old_reservations': [],
                'availability_zones': ['nova'],
            },
        )
        return self._volume(volume)

    def extend(self, volume, new_size):
        """Extend a volume, to so many GiB."""
        self._volumes.extend(self.admin, volume, new_size)
        return self._volume(volume)

    def manage(self, backend, volume_type):
        """Put a volume that is on a backend already under Cinder's care."""
        volume = self._volumes.manage_existing(
            self.admin,
            backend,
            None,
            {'source-name': 'any'},
            volume_type=objects.VolumeType.get_by_name_or_id(
                self.admin, volume_type
            ),
        )
        return self._volume(volume)

    def snapshot(self, volume):
        """Make a snapshot; the snapshot afterwards."""
        return self._snapshot(
            volume,
            self._volumes.create_snapshot(
                self.admin, volume, 'name', 'description'
            ),
        )

    def manage_snapshot(self, volume):
        """Put a snapshot that is there already under Cinder's care."""
        return self._snapshot(
            volume,
            self._volumes.manage_existing_snapshot(
                self.admin, {'source-name': 'any'}, volume
            ),
        )

    def _snapshot(self, volume, snapshot):
        self._volume(volume)
        return objects.Snapshot.get_by_id(self.admin, snapshot.id)

    def create_group(self, *volume_types, user=None):
        """A group for volumes of some types, given by id."""
        group = self._groups.create(
            user or self._cinder.user(),
            'name',
            'description',
            self.group_type,
            list(volume_types),
        )
        return self._settle(objects.Group, group.id)

    def copy_group(self, group):
        """A group made from another one; the group afterwards."""
        copied = self._groups.create_from_src(
            self.admin, 'name', source_group_id=group.id
        )
        return objects.Group.get_by_id(self.admin, copied.id)
