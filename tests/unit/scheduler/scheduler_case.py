# SPDX-License-Identifier: Apache-2.0


"""A test against a real cinder-scheduler, with a backend of each kind."""

import json

import fixtures
import testtools

from cinder_tiers.doors import door
from tests.worlds import cinder_fixture


class SchedulerTestCase(testtools.TestCase):
    """Backends plain, tier-database and tier-general, but no tiers yet."""

    #: Names of the scheduler's filters.
    filters = cinder_fixture.FILTERS

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(
            fixtures.FakeLogger(format='%(levelname)s %(message)s')
        )
        self.cinder = self.useFixture(cinder_fixture.Scheduler(self.filters))
        self.glance = self.cinder.glance
        # The plain backend has the most room: without us it takes all.
        self.plain = self.cinder.add_backend(
            'plain', free_capacity_gb=99, total_capacity_gb=1000
        )
        self.database = self.cinder.add_backend(
            'tier-database', free_capacity_gb=50
        )
        self.general = self.cinder.add_backend(
            'tier-general', free_capacity_gb=50
        )
        self.follow = self.cinder.add_type(
            'image-tier', tiers_follow_image='<is> True'
        )

    def apply_tiers(self):
        """Tier database for the tag database, fallback tier general."""
        self.database_type = self.cinder.add_type(
            'database',
            volume_backend_name='tier-database',
            tiers_name='database',
            tiers_tags='database',
            tiers_priority='20',
        )
        self.general_type = self.cinder.add_type(
            'general',
            volume_backend_name='tier-general',
            tiers_name='general',
            tiers_fallback='<is> True',
        )

    def add_premium(self, *projects):
        """Tier premium for the tag premium; no backend has more room.

        :param projects: ids of the projects that may use it
        """
        self.premium = self.cinder.add_backend(
            'tier-premium', free_capacity_gb=900, total_capacity_gb=1000
        )
        self.premium_type = self.cinder.add_type(
            'premium',
            projects=list(projects),
            tiers_name='premium',
            volume_backend_name='tier-premium',
            tiers_tags='premium',
            tiers_priority='30',
        )

    def add_odd_tier(self, **extra_specs):
        """Tier odd for the tag odd, with specs that Cinder cannot match.

        `<or>` without a value is an IndexError in Cinder 29.0.0, so it makes
        our code raise.
        """
        return self.cinder.add_type(
            'odd',
            **{
                'tiers_name': 'odd',
                'tiers_tags': 'odd',
                'tiers_priority': '90',
                'volume_backend_name': '<or> plain <or> tier-database '
                '<or> tier-general <or> tier-premium',
                'free_capacity_gb': '<or>',
                **extra_specs,
            },
        )

    def configure(self, **options):
        self.cinder.conf.config(group='cinder_tiers', **options)

    def execute(self, statement):
        """Do something to the database that nobody expects."""
        with self.cinder.engine.begin() as connection:
            connection.exec_driver_sql(statement)

    def create_from(self, image_id, **request):
        """A volume from an image, of the type that follows it."""
        return self.cinder.create_volume(
            volume_type=self.follow, image_id=image_id, **request
        )

    def assert_lands_on(self, backend, **request):
        volume = self.cinder.create_volume(**request)
        self.assertEqual(('creating', backend), (volume.status, volume.host))

    def assert_refused(self, **request):
        volume = self.cinder.create_volume(**request)
        self.assertEqual(('error', None), (volume.status, volume.host))

    def logged(self):
        """The log, all decisions so far included."""
        self.assertTrue(door.of_process('scheduler').wait(60))
        return self.log.output

    def lines(self, text):
        """Lines of the log that hold a text."""
        return [line for line in self.logged().splitlines() if text in line]

    def records(self):
        """What was recorded of each decision, in order."""
        return [
            json.loads(line.partition(' tiers.decision ')[2])
            for line in self.lines(' tiers.decision ')
        ]

    def record(self):
        """What was recorded of the only decision."""
        (found,) = self.records()
        return found
