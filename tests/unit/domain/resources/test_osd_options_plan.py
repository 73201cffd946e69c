# SPDX-License-Identifier: Apache-2.0


"""A plan says why OSDs do not use what they were told."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import ceph as ceph_state
from tests.unit.domain import catalogs as given
from tests.unit.domain.plan import test_plan

NAME = 'osd_max_backfills'


@ddt.ddt
class OsdReasonsTestCase(testtools.TestCase):
    def why(self, **configured):
        """Of the one action of a plan.

        :param configured: what the monitors have for the device class.
        """
        return self.action(configured=configured).why

    def action(self, *, configured=None, options=None, mclock=()):
        """The one action of a plan.

        :param configured: what the monitors have for the device class.
        :param options: that are declared.
        :param mclock: ids of the OSDs with that queue.
        """
        options = options or {NAME: 3}
        catalog = given.of(
            given.tier(
                rbd=given.rbd(pool='tier-database', osd_options=options)
            )
        )
        actual = test_plan.applied(catalog)
        ceph = dataclasses.replace(
            actual.ceph['ceph'],
            configured_options={'class:ssd': configured or {}},
            option_schemas={
                name: ceph_state.OptionSchema(name=name, kind='str')
                for name in options
            },
            class_options={
                'ssd': ceph_state.OsdOptions(
                    name='ssd',
                    values=dict.fromkeys(options, '1'),
                    reasons=dict.fromkeys(options, 'ceph.conf wins'),
                    mclock_osds=mclock,
                )
            },
        )
        (action,) = plans.make(
            catalog=catalog,
            actual=dataclasses.replace(actual, ceph={'ceph': ceph}),
        ).actions
        return action

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

    @ddt.data(
        'osd_recovery_sleep',
        'osd_recovery_sleep_hybrid',
        'osd_delete_sleep_ssd',
        'osd_snap_trim_sleep_hdd',
        'osd_scrub_sleep',
    )
    def test_a_sleep_is_refused_where_mclock_sets_it(self, name):
        refusal = self.action(options={name: '0.1'}, mclock=(0, 2)).refusal
        self.assertIn(f'osd.0, osd.2 would not use {name}', refusal.reason)
        self.assertIn('osd_op_queue to wpq', refusal.remedy)
        self.assertFalse(refusal.yields_to_consent)
        self.assertIsNone(self.action(options={name: '0.1'}).refusal)

    @ddt.data('osd_max_backfills', 'osd_recovery_max_active_ssd')
    def test_a_limit_is_refused_where_mclock_keeps_it(self, name):
        override = {'osd_mclock_override_recovery_settings': 'true'}
        refusal = self.action(options={name: '3'}, mclock=(1,)).refusal
        self.assertIn('osd.1 would not use', refusal.reason)
        self.assertIn('override_recovery_settings: true', refusal.remedy)
        self.assertIsNone(
            self.action(options={name: '3', **override}, mclock=(1,)).refusal
        )
        override = {'osd_mclock_override_recovery_settings': 'false'}
        self.assertIsNotNone(
            self.action(options={name: '3', **override}, mclock=(1,)).refusal
        )
