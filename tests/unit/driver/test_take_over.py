# SPDX-License-Identifier: Apache-2.0

"""Volumes of one backend a tier become those of one for all, and back.

The steps of doc/source/admin/driver.rst, with what cinder-manage runs.
"""

from oslo_config import cfg

# The first: Cinder's modules need all objects to be known.
from tests.unit.driver import memory_case

from cinder.cmd import manage  # noqa: E402
from cinder import objects  # noqa: E402
from cinder.volume import configuration  # noqa: E402
from cinder.volume.drivers import rbd as cinder_rbd  # noqa: E402
from cinder.volume import manager  # noqa: E402

from tests.contract import driver_case  # noqa: E402

DRIVER = 'cinder.volume.drivers.rbd.RBDDriver'
CONTENT = b'what the tenant wrote'


class TakeOverTestCase(memory_case.MemoryCase):
    def setUp(self):
        super().setUp()
        self.services = {
            one: objects.Service(
                self.context,
                host=one,
                topic='cinder-volume',
                binary='cinder-volume',
                availability_zone='nova',
            )
            for one in map(self.old_backend, self.types)
        }
        for one in self.services.values():
            one.create()

    def old_backend(self, tier):
        return f'node@tier-{tier}'

    def old_host(self, tier):
        return f'{self.old_backend(tier)}#tier-{tier}'

    def serve_old(self, tier):
        """A cinder-volume with Cinder's driver, for one tier."""
        backend = f'tier-{tier}'
        configuration.Configuration(
            [*cinder_rbd.RBD_OPTS], config_group=backend
        )
        for name, value in {
            'rbd_pool': self.rados_pools[tier],
            'rados_connection_retries': 1,
        }.items():
            cfg.CONF.set_override(name, value, group=backend)
        service = manager.VolumeManager(
            host=self.old_backend(tier),
            service_name=backend,
            volume_driver=DRIVER,
        )
        service.init_host(service_id=self.services[service.host].id)
        self.assertTrue(service.driver.initialized)
        return service

    def make_old(self, service, tier):
        volume = self.add(tier)
        volume.host = self.old_host(tier)
        volume.service_uuid = self.services[self.old_backend(tier)].uuid
        volume.save()
        service.driver.create_volume(volume)
        self.write(tier, volume.name, CONTENT)
        return volume

    def assert_is_served(self, service, tier, volume, snapshot):
        """It is extended, cloned, and takes snapshots."""
        service.driver.extend_volume(volume, volume.size + 1)
        volume.size += 1
        volume.save()
        with self.image(tier, volume.name, read_only=True) as image:
            self.assertEqual(volume.size * driver_case.GIB, image.size())
        before = self.sum_of(tier, volume.name)
        clone = self.add(tier)
        clone.host = volume.host
        clone.save()
        service.driver.create_volume_from_snapshot(clone, snapshot)
        self.assertEqual(before, self.sum_of(tier, clone.name))
        service.driver.delete_volume(clone)
        late = self.snapshot(service, volume)
        service.delete_snapshot(self.context, late)
        self.assertEqual(before, self.sum_of(tier, volume.name))

    def test_volumes_go_to_one_backend_for_all_tiers_and_back(self):
        old = {tier: self.serve_old(tier) for tier in self.types}
        made = {tier: self.make_old(old[tier], tier) for tier in self.types}
        kept = {
            tier: self.snapshot(old[tier], made[tier]) for tier in self.types
        }
        new = self.serve()
        commands = manage.VolumeCommands()
        for tier in self.types:
            commands.update_host(self.old_host(tier), self.host_of(tier))
        # Both run: what was sent before finds its volume yet.
        self.assert_is_served(old['slow'], 'slow', made['slow'], kept['slow'])
        commands.update_service()
        for tier, volume in made.items():
            volume.refresh()
            self.assertEqual(self.host_of(tier), volume.host)
            self.assertEqual(
                objects.Service.get_by_host_and_topic(
                    self.context, driver_case.HOST, 'cinder-volume'
                ).uuid,
                volume.service_uuid,
            )
            self.assert_is_served(new, tier, volume, kept[tier])
        self.retype(new, made['slow'], 'fast')
        self.assertEqual(self.host_of('fast'), made['slow'].host)
        self.settle(new, made['slow'], 'fast')
        for tier in self.types:
            commands.update_host(self.host_of(tier), self.old_host(tier))
        commands.update_service()
        for one, snapshot in (
            (made['fast'], kept['fast']),
            (made['slow'], kept['slow']),
        ):
            one.refresh()
            self.assertEqual(self.old_host('fast'), one.host)
            self.assert_is_served(old['fast'], 'fast', one, snapshot)
            old['fast'].delete_snapshot(self.context, snapshot)
            old['fast'].driver.delete_volume(one)
        for tier in self.types:
            self.assertEqual([], self.names_in(tier))

    def test_a_host_without_its_pool_is_found_at_the_start(self):
        """Of who names the backend only, which Cinder takes, too."""
        old = self.serve_old('slow')
        volume = self.make_old(old, 'slow')
        manage.VolumeCommands().update_host(
            self.old_backend('slow'), driver_case.HOST
        )
        service = self.serve()
        volume.refresh()
        self.assertEqual(self.host_of('slow'), volume.host)
        service.driver.delete_volume(volume)
        self.assertEqual([], self.names_in('slow'))
