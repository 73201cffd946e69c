# SPDX-License-Identifier: Apache-2.0

"""Audits of what OSDs are and what they use, from plain values."""

import dataclasses

import testtools

from cinder_tiers.domain.audit import osd_requirements
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.catalog import model
from cinder_tiers.domain.plan import plan
from cinder_tiers.domain.state import ceph as ceph_state
from tests.unit.domain import catalogs as given
from tests.unit.domain import test_plan

State = audit.State
BACKFILLS = ceph_state.OptionSchema(name='osd_max_backfills', kind='uint')
QUEUE = ceph_state.OptionSchema(
    name='osd_op_queue', kind='str', at_runtime=False
)


class OsdOptionsTestCase(testtools.TestCase):
    def audited(self, catalog, **ceph):
        """The findings that are not compliant."""
        actual = test_plan.applied(catalog)
        changed = dataclasses.replace(
            actual.ceph['ceph'],
            option_schemas={
                schema.name: schema for schema in (BACKFILLS, QUEUE)
            },
            **ceph,
        )
        found = audit.audit(
            catalog=catalog,
            observed=audit.Observed(
                cinder=actual.cinder, projects={}, ceph={'ceph': changed}
            ),
        )
        return [one for one in found if one.state is not State.COMPLIANT]

    def test_what_lacks_only_a_restart_is_out_of_date(self):
        catalog = given.of(
            given.tier(
                rbd=given.rbd(
                    pool='tier-database',
                    osd_options={
                        'osd_max_backfills': 3,
                        'osd_op_queue': 'mclock',
                    },
                )
            )
        )
        other, late = self.audited(
            catalog,
            class_options={
                'ssd': ceph_state.OsdOptions(
                    name='ssd',
                    values={'osd_max_backfills': '1', 'osd_op_queue': 'wpq'},
                    reasons={'osd_op_queue': 'osd.0 run with an old value'},
                    after_restart={'osd_op_queue': 'mclock'},
                )
            },
        )
        self.assertEqual(
            (State.NON_COMPLIANT, {'values.osd_max_backfills': '1'}),
            (other.state, other.current),
        )
        self.assertEqual(
            (
                'database',
                State.OUT_OF_DATE,
                'osd options',
                {'values.osd_op_queue': 'wpq'},
            ),
            (late.tier, late.state, late.aspect, late.current),
        )
        self.assertIn('osd.0 run with an old value', late.reason)
        self.assertIn('one failure domain at a time', late.remedy)

    def test_a_restart_to_another_value_is_no_cure(self):
        catalog = given.of(
            given.tier(
                rbd=given.rbd(
                    pool='tier-database',
                    osd_options={'osd_op_queue': 'mclock'},
                )
            )
        )
        (found,) = self.audited(
            catalog,
            class_options={
                'ssd': ceph_state.OsdOptions(
                    name='ssd',
                    values={'osd_op_queue': 'wpq'},
                    after_restart={
                        'osd_op_queue': 'mclock (osd.0), x (osd.1)'
                    },
                )
            },
        )
        self.assertIs(State.NON_COMPLIANT, found.state)

    def test_options_of_a_host_are_of_no_tier(self):
        catalog = given.of(
            given.tier(), host_osd_options={'a': {'osd_max_backfills': 3}}
        )
        self.assertEqual(
            [],
            self.audited(
                catalog,
                host_options={
                    'a': ceph_state.OsdOptions(
                        name='a', values={'osd_max_backfills': '3'}
                    )
                },
            ),
        )
        (found,) = self.audited(
            catalog,
            host_options={
                'a': ceph_state.OsdOptions(
                    name='a', values={'osd_max_backfills': '1'}
                )
            },
        )
        self.assertEqual(
            (
                'host osd options a (ceph)',
                None,
                State.NON_COMPLIANT,
                'host osd options',
                {'values.osd_max_backfills': '3'},
            ),
            (
                found.object_name,
                found.tier,
                found.state,
                found.aspect,
                found.expected,
            ),
        )

    def test_a_host_that_is_not_there_does_not_hide_the_rest(self):
        catalog = given.of(
            given.tier(
                rbd=given.rbd(
                    pool='tier-database', osd_options={'osd_max_backfills': 3}
                )
            ),
            host_osd_options={
                'a': {'osd_max_backfills': 3},
                'nowhere': {'osd_max_backfills': 3},
            },
        )
        tier, cluster = self.audited(
            catalog,
            class_options={
                'ssd': ceph_state.OsdOptions(
                    name='ssd', values={'osd_max_backfills': '1'}
                )
            },
        )
        self.assertEqual('osd options', tier.aspect)
        self.assertEqual(
            ('cluster ceph', None, State.NON_COMPLIANT),
            (cluster.object_name, cluster.tier, cluster.state),
        )
        self.assertIn('nowhere', str(cluster.current))
        # Of one tier alone it is shown as well: its file cannot be applied.
        both = given.of(given.tier(), given.other_tier('elsewhere'))
        self.assertEqual(
            [[True, False], [True, False]],
            [
                [
                    one.is_about(both, 'database'),
                    one.is_about(both, 'elsewhere'),
                ]
                for one in (tier, cluster)
            ],
        )

    def test_an_option_says_why_it_is_not_in_effect(self):
        catalog = given.of(
            given.tier(
                rbd=given.rbd(
                    pool='tier-database', osd_options={'osd_max_backfills': 3}
                )
            ),
            given.tier('other'),
        )
        actual = test_plan.applied(catalog)
        schema = ceph_state.OptionSchema(name='osd_max_backfills', kind='uint')
        ceph = dataclasses.replace(
            actual.ceph['ceph'],
            option_schemas={schema.name: schema},
            class_options={
                'ssd': ceph_state.OsdOptions(
                    name='ssd',
                    values={schema.name: '1'},
                    reasons={schema.name: 'ceph.conf wins'},
                )
            },
        )
        found, other = audit.audit(
            catalog=catalog,
            observed=audit.Observed(
                cinder=actual.cinder, projects={}, ceph={'ceph': ceph}
            ),
        )
        self.assertEqual(
            (
                'database',
                'osd options',
                {'values.osd_max_backfills': '1'},
                {'values.osd_max_backfills': '3'},
            ),
            (found.tier, found.aspect, found.current, found.expected),
        )
        self.assertIn('ceph.conf wins', found.reason)
        self.assertIs(State.COMPLIANT, other.state)


class OsdRequirementsTestCase(testtools.TestCase):
    """The class ssd has osd.0, osd.2 and osd.4."""

    def audited(self, required, **osds):
        """The findings on a tier on ssd with requirements.

        :param osds: fields of osd.2.
        """
        catalog = given.of(
            given.tier(
                rbd=given.rbd(
                    pool='tier-database',
                    osd_requirements=model.Requirements(**required),
                )
            )
        )
        actual = test_plan.applied(catalog)
        plain = osd_requirements.OsdFacts(
            is_up=True,
            host='a',
            object_store='bluestore',
            rotational=False,
            parts={},
        )
        self.assertEqual((), plan.make(catalog=catalog, actual=actual).actions)
        return audit.audit(
            catalog=catalog,
            observed=audit.Observed(
                cinder=actual.cinder,
                projects={},
                ceph=actual.ceph,
                osds={
                    'ceph': {
                        0: plain,
                        2: dataclasses.replace(plain, **osds),
                        4: plain,
                    }
                },
            ),
        )

    def test_osds_that_are_what_is_required_are_compliant(self):
        (found,) = self.audited({'rotational': False})
        self.assertIs(State.COMPLIANT, found.state)

    def test_an_osd_that_is_not_makes_the_tier_non_compliant(self):
        (found,) = self.audited({'rotational': False}, rotational=True)
        self.assertEqual(
            (
                'database',
                State.NON_COMPLIANT,
                'osd requirements',
                {'rotational': 'true (osd.2)'},
                {'rotational': 'false'},
            ),
            (
                found.tier,
                found.state,
                found.aspect,
                found.current,
                found.expected,
            ),
        )

    def test_an_osd_that_is_down_is_unknown(self):
        (found,) = self.audited({'rotational': False}, is_up=False)
        self.assertEqual(
            (State.UNKNOWN, 'osd.2 is down'), (found.state, found.reason)
        )

    def test_what_no_osd_has_is_not_applicable(self):
        (found,) = self.audited({'fast_journal': True})
        self.assertIs(State.NOT_APPLICABLE, found.state)

    def test_osds_that_nobody_could_tell_of_are_unknown(self):
        catalog = given.of(
            given.tier(
                rbd=given.rbd(
                    pool='tier-database',
                    osd_requirements=model.Requirements(rotational=True),
                )
            )
        )
        actual = test_plan.applied(catalog)
        (found,) = audit.audit(
            catalog=catalog,
            observed=audit.Observed(
                cinder=actual.cinder,
                projects={},
                ceph=actual.ceph,
                osds={'ceph': audit.Unread(reason='it is down')},
            ),
        )
        self.assertEqual(
            ('database', State.UNKNOWN, 'osd requirements', 'it is down'),
            (found.tier, found.state, found.aspect, found.reason),
        )
