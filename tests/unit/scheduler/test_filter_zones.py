# SPDX-License-Identifier: Apache-2.0

"""Where volumes land when backends are in several availability zones.

With a real cinder-scheduler, of which TierFilter itself asks what pools there
are, over oslo.messaging's fake driver.
"""

from cinder.common import constants
from cinder import objects
from cinder.volume import volume_types

from cinder_tiers.doors import door
from cinder_tiers.scheduler import filter as tier_filter
from tests.unit.scheduler import scheduler_case
from tests.worlds import cinder_fixture


class LateBackend:
    """A backend state that is read only once the zones are known."""

    def __init__(self, state):
        self._state = state

    @property
    def volume_backend_name(self):
        if not door.of_process('scheduler')._zones.wait(60):
            raise TimeoutError('the zones were not read')
        return self._state.volume_backend_name

    @property
    def capabilities(self):
        return self._state.capabilities


class ZonesTestCase(scheduler_case.SchedulerTestCase):
    """Tier database in zone nova only, the fallback tier in az2, too."""

    def setUp(self):
        super().setUp()
        self.apply_tiers()
        self.general_2 = self.add_backend_in_az2(
            'general-2',
            volume_backend_name='tier-general',
            free_capacity_gb=20,
        )
        server = cinder_fixture.serve_messages(
            constants.SCHEDULER_TOPIC, 'scheduler', self.cinder.manager
        )
        self.addCleanup(server.wait)
        self.addCleanup(server.stop)
        self.image = self.glance.add_image('database')
        self.learn_zones()

    def add_backend_in_az2(self, name, **capabilities):
        self.cinder.add_backend(name, **capabilities)
        service = objects.Service.get_by_args(
            self.cinder.admin, f'node@{name}', 'cinder-volume'
        )
        service.availability_zone = 'az2'
        service.save()
        pool = capabilities.get('volume_backend_name', name)
        return f'node@{name}#{pool}'

    def learn_zones(self):
        """Let the door of this process know the zones of all backends."""
        # What a new process does not know yet is learnt by its first request.
        self.cinder.create_volume(volume_type=self.follow)
        self.assertTrue(door.of_process('scheduler')._zones.wait(60))

    def create(self, zone, image=None, volume_type=None):
        """The volume of a request that names a zone."""
        volume = self.cinder.add_volume(volume_type=volume_type or self.follow)
        volume.availability_zone = zone
        volume.save()
        image = self.image if image is None else image
        spec = self.cinder.request_spec(volume, image_id=image)
        spec.volume_properties.availability_zone = zone
        spec.availability_zones = [zone]
        self.cinder.manager.create_volume(
            self.cinder.user(),
            volume,
            image_id=image,
            request_spec=spec,
            filter_properties={},
        )
        volume.refresh()
        return volume.status, volume.host

    def test_a_tier_that_is_in_the_zone(self):
        self.assertEqual(('creating', self.database), self.create('nova'))

    def test_a_tier_that_is_not_in_the_zone_is_passed_over(self):
        self.assertEqual(('creating', self.general_2), self.create('az2'))
        record = self.records()[-1]
        self.assertEqual('general', record['tier'])
        self.assertIn(
            {'rule': 'not_in_zone', 'tier': 'database'}, record['reasons']
        )

    def test_so_it_is_by_a_process_that_has_just_started(self):
        door.forget()
        self.assertEqual(('creating', self.general_2), self.create('az2'))

    def test_so_it_is_when_the_zones_come_while_backends_are_matched(self):
        """After the tier was chosen, and before none was found for it."""
        door.forget()
        states = self.cinder.manager.driver.host_manager
        backends = [
            LateBackend(state)
            for state in states.get_all_backend_states(self.cinder.admin)
            if state.backend_id == self.general_2
        ]
        volume = self.cinder.add_volume(volume_type=self.follow)
        spec = self.cinder.request_spec(volume, image_id=self.image)
        spec.volume_properties.availability_zone = 'az2'
        kept = tier_filter.TierFilter().filter_all(
            backends,
            {
                'context': self.cinder.user(),
                'request_spec': spec,
                'resource_type': spec.volume_type,
            },
        )
        self.assertEqual(backends, kept)
        self.assertEqual(
            ['database', 'general'],
            [record['tier'] for record in self.records()[-2:]],
        )

    def test_without_a_tier_in_the_zone_cinder_places_the_volume(self):
        self.cinder.delete_type(self.general_type)
        self.assertEqual(('creating', self.general_2), self.create('az2'))
        self.assertEqual('undecided', self.records()[-1]['verdict'])

    def test_nor_is_it_the_backend_of_a_private_tier(self):
        self.cinder.delete_type(self.general_type)
        premium_2 = self.add_backend_in_az2(
            'premium-2',
            volume_backend_name='tier-premium',
            free_capacity_gb=900,
            total_capacity_gb=1000,
        )
        self.add_premium(cinder_fixture.OTHER_PROJECT)
        self.assertEqual(('creating', self.general_2), self.create('az2'))
        volume_types.add_volume_type_access(
            self.cinder.admin, self.premium_type, cinder_fixture.PROJECT
        )
        self.assertEqual(('creating', premium_2), self.create('az2'))

    def test_a_private_tier_is_in_the_zone_only_for_who_has_access(self):
        premium_2 = self.add_backend_in_az2(
            'premium-2',
            volume_backend_name='tier-premium',
            free_capacity_gb=900,
            total_capacity_gb=1000,
        )
        self.add_premium(cinder_fixture.OTHER_PROJECT)
        image = self.glance.add_image('premium')
        self.assertEqual(
            ('creating', self.general_2), self.create('az2', image)
        )
        volume_types.add_volume_type_access(
            self.cinder.admin, self.premium_type, cinder_fixture.PROJECT
        )
        self.assertEqual(('creating', premium_2), self.create('az2', image))

    def test_a_type_that_names_no_backend_is_left_to_cinder(self):
        any_type = self.cinder.add_type('any')
        self.assertEqual(
            ('creating', self.general_2),
            self.create('az2', volume_type=any_type),
        )

    def test_the_fallback_tier_of_the_zone_comes_first(self):
        cold = self.add_backend_in_az2('cold-2', free_capacity_gb=5)
        self.cinder.add_type(
            'cold',
            **{
                'volume_backend_name': 'cold-2',
                'tiers_name': 'cold',
                'tiers_fallback': '<is> True',
                'RESKEY:availability_zones': 'az2',
            },
        )
        self.assertEqual(('creating', cold), self.create('az2'))
        self.assertEqual(('creating', self.database), self.create('nova'))

    def test_a_zone_without_any_backend(self):
        self.assertEqual(('error', None), self.create('az9'))
