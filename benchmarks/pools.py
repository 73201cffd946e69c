# SPDX-License-Identifier: Apache-2.0

"""A real cinder-scheduler with many pools, for benchmarks.

The scheduler is that of the unit tests: Cinder's own HostManager, filters,
weighers and handlers, found through entry points, on a database in a file.
Its pools are updated by Cinder's own code. Glance is the tests' stand-in,
which answers at once: what is measured of a cold request is a lower bound.
"""

import pathlib

# First of all: it tells Cinder to run with native threads.
from tests.worlds import cinder_fixture

from cinder import objects  # noqa: H306
import fixtures
from oslo_config import cfg
from oslo_log import log as logging

from cinder_tiers.doors import door
from cinder_tiers.doors.volume_types import matching

#: As drivers of scale-out storage report several.
POOLS_OF_A_BACKEND = 100
TIERS = ('database', 'general', 'archive', 'scratch')
#: {name of a scenario: (tag of the image, or None; type that is named)}
SCENARIOS = {
    # The doors choose the tier; the weigher has nothing to rank.
    'tier': ('archive', 'image-tier'),
    # The doors choose the tier and its overflow; the weigher ranks them.
    'overflow': ('database', 'image-tier'),
    # As the scheduler sees it after the API door: the tier's own type.
    'typed': ('archive', 'archive'),
    # The same for a tier with overflow.
    'typed-overflow': ('database', 'database'),
}
CINDER_FILTERS = [
    'AvailabilityZoneFilter',
    'CapacityFilter',
    'CapabilitiesFilter',
]


class Pools(fixtures.Fixture):
    """A scheduler that knows so many pools, spread evenly over four tiers."""

    def __init__(self, count, *, notify=False):
        """Nothing is set up before the fixture is used.

        :param count: number of pools, at least 4.
        :param notify: whether notifications are sent, over oslo.messaging's
            fake driver.
        :raises ValueError: there are fewer pools than tiers.
        """
        super().__init__()
        if count < len(TIERS):
            raise ValueError(
                f'{count} pools: expected {len(TIERS)} or more, '
                'one for each tier'
            )
        self.count = count
        self.notify = notify

    def _setUp(self):
        self.scheduler = self.useFixture(cinder_fixture.Scheduler())
        self.host_manager = self.scheduler.manager.driver.host_manager
        self._configure()
        self._write_log()
        for number, tier in enumerate(TIERS):
            self._add_pools(
                tier,
                self.count // len(TIERS) + (number < self.count % len(TIERS)),
            )
        self._types = self._add_types()
        found = len(self.states())
        if found != self.count:
            raise RuntimeError(
                f'the scheduler knows {found} pools, expected {self.count}'
            )

    def _configure(self):
        # Longer than any run: no backend goes down, and warm stays warm.
        self.scheduler.conf.config(service_down_time=10**6)
        self.scheduler.conf.config(
            group='cinder_tiers',
            applied_cache_seconds=10.0**6,
            image_cache_seconds=10.0**6,
        )
        if self.notify:
            self.scheduler.conf.config(
                group='oslo_messaging_notifications', driver=['messagingv2']
            )

    def _write_log(self):
        """As a service does: level INFO, every line into a file."""
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.log_file = folder / 'scheduler.log'
        self.scheduler.conf.config(log_file=str(self.log_file))
        logging.setup(cfg.CONF, 'cinder')

    def _add_pools(self, tier, count):
        for start in range(0, count, POOLS_OF_A_BACKEND):
            numbers = range(start, min(start + POOLS_OF_A_BACKEND, count))
            self.scheduler.add_backend(
                f'{tier}-{start}',
                volume_backend_name=f'tier-{tier}',
                storage_protocol='ceph',
                vendor_name='Open Source',
                driver_version='1.3.0',
                pools=[_report(number) for number in numbers],
            )

    def _add_types(self):
        """{name: id} of the types of the tiers, and of the default one."""
        types = {
            'image-tier': self.scheduler.add_type(
                'image-tier', tiers_follow_image='<is> True'
            )
        }
        for priority, tier in enumerate(TIERS, 1):
            specs = {
                'tiers_name': tier,
                'tiers_tags': tier,
                'tiers_priority': str(priority),
                'volume_backend_name': f'tier-{tier}',
            }
            if tier == 'general':
                specs['tiers_fallback'] = '<is> True'
            if tier == 'database':
                specs['tiers_overflow'] = 'general'
                specs['volume_backend_name'] = (
                    '<or> tier-database <or> tier-general'
                )
            types[tier] = self.scheduler.add_type(tier, **specs)
        return types

    def states(self):
        """The states of all pools, updated as Cinder does for each request.

        Each has a new copy of its capabilities.
        """
        return list(
            self.host_manager.get_all_backend_states(self.scheduler.admin)
        )

    def filters(self, *names):
        """Filter classes by name."""
        return self.host_manager._choose_backend_filters(list(names))

    def weighers(self, *names):
        """Weigher classes by name."""
        return self.host_manager._choose_backend_weighers(list(names))

    def properties(self, scenario):
        """What FilterScheduler fills in for filters and weighers.

        :param scenario: one of `SCENARIOS`.
        """
        tag, type_name = SCENARIOS[scenario]
        volume = objects.Volume(
            context=self.scheduler.admin,
            size=1,
            status='creating',
            user_id='user',
            project_id=cinder_fixture.PROJECT,
            availability_zone='nova',
            volume_type_id=self._types[type_name],
        )
        volume.create()
        properties = {}
        self.scheduler.manager.driver._get_weighted_candidates(
            self.scheduler.user(),
            self.scheduler.request_spec(
                volume, image_id=self.scheduler.glance.add_image(tag)
            ),
            properties,
        )
        return properties

    def of_new_request(self, properties):
        """The same asked in a new request: another context."""
        return {**properties, 'context': self.scheduler.user()}

    def forget(self):
        """Be as after the start of the process: nothing is remembered."""
        door.forget()
        matching._matcher_of.cache_clear()


def _report(number):
    """A pool as Cinder's RBD driver reports one, each with other figures."""
    return {
        'pool_name': f'pool-{number}',
        'total_capacity_gb': 102400.0,
        'free_capacity_gb': 51200.0 + number % 97,
        'allocated_capacity_gb': 20480 - number % 89,
        'provisioned_capacity_gb': 40960.0 + number % 83,
        'reserved_percentage': 0,
        'multiattach': True,
        'thin_provisioning_support': True,
        'max_over_subscription_ratio': '20.0',
        'backend_state': 'up',
        'location_info': 'ceph:/etc/ceph/ceph.conf:'
        'c0ffee00-0000-4000-8000-000000000000:'
        f'cinder:{number}',
        'qos_support': True,
        'replication_enabled': False,
        'filter_function': None,
        'goodness_function': None,
    }
