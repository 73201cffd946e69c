# SPDX-License-Identifier: Apache-2.0

"""The scenario, against a cloud in memory (fake_cloud.py)."""

import pathlib
import uuid

import fixtures
from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from rally_scenarios.plugins.fleet import scenario as fleet_scenario
from tests.unit.rally import fake_cloud

PATTERNS = [
    {'name': 'randwrite-4k', 'rw': 'randwrite', 'bs': '4k', 'iodepth': 16},
    {'name': 'write-1m', 'rw': 'write', 'bs': '1m', 'iodepth': 4},
]


class FleetFioCase(testtools.TestCase):
    """Makes the scenario; a test case gives its arguments as `args`."""

    #: Most tests are about what is not the order.
    turns = {'turn_order': 'listed'}

    def setUp(self):
        super().setUp()
        self.results = (
            pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'results'
        )
        self.log = self.useFixture(fixtures.FakeLogger())
        self.cloud = fake_cloud.Cloud(
            images={'db': ['image-db'], 'plain': ['image-plain']},
            multiattach_types={'c_rally_start'},
        )
        owner = str(uuid.uuid4())
        self.scenario = fleet_scenario.FleetFio(
            context={
                'owner_id': owner,
                'task': {'uuid': owner},
                'cinder_tiers_start_signal': {'volume_type': 'c_rally_start'},
            },
            clients=self.cloud.clients(),
            clock=self.cloud.clock,
        )

    def run_scenario(self, **args):
        """Run it, with turns in the order of the task unless told else."""
        self.scenario.run(
            **{
                **self.turns,
                **self.args,
                'result_folder': str(self.results),
                **args,
            }
        )
