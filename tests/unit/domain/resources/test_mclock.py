# SPDX-License-Identifier: Apache-2.0

"""Options of the queue mClock, and the figures that OSDs share I/O by."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.audit import practice
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.resources import mclock
from cinder_tiers.domain.state import ceph as ceph_state
from tests.unit.domain import catalogs as given
from tests.unit.domain.plan import test_plan

PROFILE = {'osd_mclock_profile': 'high_client_ops'}
FIGURE = 'osd_mclock_max_capacity_iops_ssd'


def figures(*iops, own=True):
    """Of osd.0, osd.1 and so on, all ssd; None is the default."""
    return ceph_state.Mclock(
        capacities={
            osd_id: ceph_state.OsdCapacity(
                medium='ssd',
                iops=one,
                is_own=own and one is not None,
            )
            for osd_id, one in enumerate(iops)
        },
        plausible_iops=mclock.PLAUSIBLE_IOPS,
    )


@ddt.ddt
class DoubtsTestCase(testtools.TestCase):
    @ddt.data(
        ((20000, 21000, 22000), None),
        # Twice as much as the median is just not far from it.
        ((20000, 20000, 40000), None),
        (
            (20000, 21000, None),
            'the default, not measured (osd.2)',
        ),
        (
            (20000, 21000, 300000, 90000),
            '90000 to 300000, not from 1000 to 80000 (osd.2, osd.3)',
        ),
        ((20000, 900, 21000), '900, not from 1000 to 80000 (osd.1)'),
        (
            (20000, 20000, 40001, 9999),
            '9999 to 40001, far from the median 20000 of the class '
            '(osd.2, osd.3)',
        ),
        (
            (None, 20000, 20000, 5000),
            'the default, not measured (osd.0); 5000, far from '
            'the median 20000 of the class (osd.3)',
        ),
    )
    @ddt.unpack
    def test_figures(self, iops, found):
        self.assertEqual(
            {FIGURE: found} if found else {},
            mclock.doubts(figures(*iops), range(len(iops))),
        )

    def test_of_thousands_the_list_is_cut(self):
        found = mclock.doubts(figures(*range(100000, 110000)), range(10000))
        self.assertIn('osd.19 and 9980 more', found[FIGURE])
        self.assertLess(len(found[FIGURE]), 300)

    def test_only_the_osds_in_question_count(self):
        self.assertEqual({}, mclock.doubts(figures(20000, 900), [0]))
        self.assertEqual({}, mclock.doubts(None, [0]))


@ddt.ddt
class PlanTestCase(testtools.TestCase):
    """Of a tier with options for its OSDs, osd.0 and others, all ssd."""

    def cloud(self, options, *, own=None, mclock_osds=(0, 1, 2), other=()):
        catalog = given.of(
            given.tier(
                rbd=given.rbd(pool='tier-database', osd_options=options)
            )
        )
        actual = test_plan.applied(catalog)
        ceph = dataclasses.replace(
            actual.ceph['ceph'],
            option_schemas={
                name: ceph_state.OptionSchema(name=name, kind='str')
                for name in options
            },
            class_options={
                'ssd': ceph_state.OsdOptions(
                    name='ssd',
                    values=dict.fromkeys(options, 'another'),
                    mclock_osds=mclock_osds,
                    other_queue_osds=other,
                )
            },
            mclock=own,
        )
        return catalog, dataclasses.replace(actual, ceph={'ceph': ceph})

    def action(self, options, **cluster):
        """The one action of the plan."""
        catalog, actual = self.cloud(options, **cluster)
        (action,) = plans.make(catalog=catalog, actual=actual).actions
        return action

    def ssds(self):
        """Ids of the OSDs of the class."""
        _, actual = self.cloud(PROFILE)
        return sorted(
            osd.osd_id
            for osd in actual.ceph['ceph'].osds
            if osd.device_class == 'ssd'
        )

    def test_a_profile_is_planned(self):
        action = self.action(PROFILE)
        self.assertEqual((None, 'tier database'), (action.refusal, action.why))

    def test_doubtful_figures_are_told_where_a_profile_is_set(self):
        count = max(self.ssds()) + 1
        why = self.action(PROFILE, own=figures(*[None] * count)).why
        self.assertIn(f'{FIGURE} may be wrong: the default', why)
        self.assertIn('ceph tell osd.N bench', why)
        why = self.action({'osd_x': '1'}, own=figures(*[None] * count)).why
        self.assertEqual('tier database', why)

    def test_on_another_queue_it_is_refused(self):
        refusal = self.action(PROFILE, other=(1, 2)).refusal
        self.assertIn(
            'osd.1, osd.2 would not use osd_mclock_profile', refusal.reason
        )
        self.assertIn('osd_op_queue to mclock_scheduler', refusal.remedy)
        self.assertFalse(refusal.yields_to_consent)

    def test_the_queue_may_be_declared_beside_it(self):
        beside = PROFILE | {'osd_op_queue': 'mclock_scheduler'}
        self.assertIsNone(self.action(beside, other=(1,)).refusal)
        beside = PROFILE | {'osd_op_queue': 'wpq'}
        self.assertIsNotNone(self.action(beside, other=(1,)).refusal)

    @ddt.data(
        ('osd_mclock_scheduler_client_res', '0.5'),
        ('osd_mclock_scheduler_background_recovery_wgt', '2'),
        ('osd_mclock_scheduler_background_best_effort_lim', '0.9'),
    )
    @ddt.unpack
    def test_shares_count_with_the_profile_custom_only(self, name, share):
        for beside in ({}, PROFILE):
            refusal = self.action({name: share, **beside}).refusal
            self.assertIn('any profile but custom', refusal.reason)
            self.assertIn('osd_mclock_profile: custom', refusal.remedy)
        custom = {'osd_mclock_profile': 'custom'}
        self.assertIsNone(self.action({name: share, **custom}).refusal)

    def test_the_anticipation_is_no_share(self):
        name = 'osd_mclock_scheduler_anticipation_timeout'
        self.assertNotIn('custom', self.action({name: '2'}).refusal.reason)

    def test_a_figure_for_a_class_loses_to_that_of_an_osd(self):
        first = self.ssds()[0]
        own = figures(*[20000 if one == first else None for one in range(9)])
        refusal = self.action({FIGURE: '21000'}, own=own).refusal
        self.assertIn(f'osd.{first} would not use {FIGURE}', refusal.reason)
        self.assertIn(f'ceph config rm osd.N {FIGURE}', refusal.remedy)
        self.assertFalse(refusal.yields_to_consent)
        of_class = figures(*[20000] * 9, own=False)
        self.assertIsNone(self.action({FIGURE: '21000'}, own=of_class).refusal)

    @ddt.data(('999', True), ('1000', False), ('80000', False), ('1e6', True))
    @ddt.unpack
    def test_an_odd_figure_needs_consent(self, declared, refused):
        refusal = self.action({FIGURE: declared}).refusal
        self.assertEqual(refused, refusal is not None)
        if refused:
            self.assertIn('from 1000 to 80000', refusal.reason)
            self.assertTrue(refusal.yields_to_consent)

    def warnings(self, options, **cluster):
        """What an audit warns of about mClock."""
        catalog, actual = self.cloud(options, **cluster)
        return [
            one
            for one in audit.audit(
                catalog=catalog,
                observed=audit.Observed(
                    cinder=actual.cinder, projects={}, ceph=actual.ceph
                ),
            )
            if (one.state, one.aspect)
            == (audit.State.WARNING, practice.MCLOCK)
        ]

    def test_an_audit_warns_of_doubtful_figures(self):
        count = max(self.ssds()) + 1
        (found,) = self.warnings({}, own=figures(*[300000] * count))
        self.assertIn('300000, not from', found.current[FIGURE])
        self.assertIn('osd.N bench', found.remedy)
        self.assertEqual([], self.warnings({}, own=figures(*[30000] * count)))

    def test_an_audit_warns_of_options_that_no_osd_uses(self):
        (found,) = self.warnings(PROFILE, mclock_osds=(), other=(0, 1))
        self.assertIn('(osd.0, osd.1)', found.current['osd_op_queue'])
        self.assertIn('osd_mclock_profile', found.reason)
        self.assertEqual([], self.warnings(PROFILE))
        self.assertEqual([], self.warnings({'osd_x': '1'}, other=(0,)))
