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


"""A plan says why OSDs do not use what they were told."""

import dataclasses

import testtools

from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.state import ceph as state
from tests.unit.domain import catalogs as given
from tests.unit.domain import test_plan

NAME = 'osd_max_backfills'


class OsdReasonsTestCase(testtools.TestCase):

    def why(self, **told):
        """Of the one action of a plan.

        :param told: what the monitors have for the device class.
        """
        catalog = given.of(given.tier(rbd=given.rbd(
            pool='tier-database', osd_options={NAME: 3})))
        actual = test_plan.applied(catalog)
        ceph = dataclasses.replace(
            actual.ceph['ceph'], told_options={'class:ssd': told},
            option_schemas={
                NAME: osd_options.Schema(name=NAME, kind='uint')},
            class_options={'ssd': state.OsdOptions(
                name='ssd', values={NAME: '1'},
                reasons={NAME: 'ceph.conf wins'})})
        action, = plans.make(catalog=catalog, actual=dataclasses.replace(
            actual, ceph={'ceph': ceph})).actions
        return action.why

    def test_what_they_were_told_already_has_its_reason(self):
        self.assertEqual(
            'tier database; osd_max_backfills is set so already, but '
            'ceph.conf wins', self.why(osd_max_backfills='3'))

    def test_what_they_were_not_told_yet_has_none(self):
        for told in ({}, {NAME: '2'}, {NAME: 'odd'}):
            self.assertEqual('tier database', self.why(**told))
