# SPDX-License-Identifier: Apache-2.0


"""A plan says why OSDs do not use what they were told."""

import dataclasses

import testtools

from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import ceph as ceph_state
from tests.unit.domain import catalogs as given
from tests.unit.domain import test_plan

NAME = 'osd_max_backfills'


class OsdReasonsTestCase(testtools.TestCase):
    def why(self, **told):
        """Of the one action of a plan.

        :param told: what the monitors have for the device class.
        """
        catalog = given.of(
            given.tier(
                rbd=given.rbd(pool='tier-database', osd_options={NAME: 3})
            )
        )
        actual = test_plan.applied(catalog)
        ceph = dataclasses.replace(
            actual.ceph['ceph'],
            told_options={'class:ssd': told},
            option_schemas={
                NAME: ceph_state.OptionSchema(name=NAME, kind='uint')
            },
            class_options={
                'ssd': ceph_state.OsdOptions(
                    name='ssd',
                    values={NAME: '1'},
                    reasons={NAME: 'ceph.conf wins'},
                )
            },
        )
        (action,) = plans.make(
            catalog=catalog,
            actual=dataclasses.replace(actual, ceph={'ceph': ceph}),
        ).actions
        return action.why

    def test_what_they_were_told_already_has_its_reason(self):
        self.assertEqual(
            (
                'tier database; osd_max_backfills is already set to this, '
                'but ceph.conf wins'
            ),
            self.why(osd_max_backfills='3'),
        )

    def test_what_they_were_not_told_yet_has_none(self):
        for told in ({}, {NAME: '2'}, {NAME: 'odd'}):
            self.assertEqual('tier database', self.why(**told))
