# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""The contract of a world, kept by Cinder's real API; Ceph is in memory.

The catalog has all that a tier can ask of Cinder.
"""

import dataclasses

import testtools

from cinder_tiers.domain import actions
from cinder_tiers.domain import state
from cinder_tiers.execute import registry
from cinder_tiers.observe import world as observer
from tests.contract import cinder_api
from tests.contract import in_memory
from tests.contract import world_contract
from tests.unit.domain import catalogs as given
from tests.unit.execute import test_cinder

CINDER_KINDS = [kind for kind in actions.Kind
                if kind in (actions.Kind.VOLUME_TYPE,)]


class RealCinderWorldTestCase(world_contract.WorldContract,
                              testtools.TestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)

    def setUp(self):
        super().setUp()
        self.connection = test_cinder.connect(self.api)
        self.addCleanup(self.connection.close)
        self.addCleanup(self.remove)
        self.memory = in_memory.World(osds=given.osds())
        self.executors = {
            **self.memory.executors,
            **{kind: executor for kind, executor in registry.executors(
                connection=self.connection, clusters={}).items()
               if kind in CINDER_KINDS}}
        self.catalog = given.of(*self.tiers())

    def tiers(self):
        database, general, archive = given.three_tiers()
        return (
            dataclasses.replace(database, overflow='general',
                                description='Fast'),
            general, archive)

    def remove(self):
        block_storage = self.connection.block_storage
        for one in block_storage.types(is_public='None'):
            if one.name != '__DEFAULT__':
                block_storage.delete_type(one)

    def read(self, key):
        if key.cluster is None:
            return observer.reader(connection=self.connection,
                                   clusters={})(key)
        return self.memory.read(key)

    def observe(self):
        found = observer.observe(catalog=self.catalog, clusters={},
                                 connection=self.connection)
        return state.ActualState(cinder=found.cinder,
                                 ceph=self.memory.observe().ceph)

    def change(self, name, **fields):
        """Changes a tier of the catalog in fields; returns the plan."""
        self.catalog = dataclasses.replace(self.catalog, tiers=tuple(
            dataclasses.replace(tier, **fields) if tier.name == name
            else tier for tier in self.catalog.tiers))
        return self.make_plan()

    def assert_applied(self, plan):
        self.assertEqual((), plan.refused)
        self.assert_all_done(self.carry_out(plan))
        self.assertEqual((), self.make_plan().actions)

    def test_overflow_comes_and_goes(self):
        self.carry_out(self.make_plan())
        plan = self.change('database', overflow=None)
        self.assertEqual(1, len(plan.actions))
        self.assert_applied(plan)
        self.assert_applied(self.change('database', overflow='archive'))
        specs = self.read(test_cinder.key('database')).extra_specs
        self.assertEqual('<or> tier-database <or> tier-archive',
                         specs['volume_backend_name'])
