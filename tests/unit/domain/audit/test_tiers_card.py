# SPDX-License-Identifier: Apache-2.0

"""Figures of a tier with a pool, when the tier, Ceph or the OSDs change."""

import dataclasses

import testtools

from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.card import card as cards
from cinder_tiers.domain.card import description as descriptions
from cinder_tiers.domain.card import fingerprint
from cinder_tiers.domain.plan import plan as plans
from tests.unit.domain.audit import test_tiers
from tests.unit.domain.card import test_card
from tests.unit.domain import catalogs as given

STATE = audit.State


class StaleCardTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.catalog = given.of(
            given.tier('database', tags=('database',), priority=20),
            given.tier('general', fallback=True),
        )
        actual = test_tiers.applied(self.catalog)
        ceph = dataclasses.replace(actual.ceph['ceph'], release=20)
        tier = self.catalog.tier('database')
        self.text = descriptions.write(
            cards.Card(
                measured=dataclasses.replace(
                    test_card.MEASURED,
                    fingerprint=fingerprint.of_tier(self.catalog, tier, ceph),
                )
            )
        )
        types = dict(actual.cinder.volume_types)
        types['database'] = dataclasses.replace(
            types['database'], description=self.text, volumes=3
        )
        self.actual = dataclasses.replace(
            actual,
            ceph={'ceph': ceph},
            cinder=dataclasses.replace(actual.cinder, volume_types=types),
        )

    def audited(self, **ceph):
        """(state, aspect, reason) of what is said of the tier."""
        held = test_tiers.held(
            dataclasses.replace(
                self.actual,
                ceph={
                    'ceph': dataclasses.replace(
                        self.actual.ceph['ceph'], **ceph
                    )
                },
            ),
            self.catalog,
        )
        return [
            (one.state, one.aspect, one.reason)
            for one in held
            if one.tier == 'database' and one.state is not STATE.WARNING
        ]

    def test_a_card_that_is_true(self):
        self.assertEqual([(STATE.COMPLIANT, 'all', '')], self.audited())
        self.assertEqual(
            (), plans.make(catalog=self.catalog, actual=self.actual).actions
        )

    def test_another_release(self):
        self.assertEqual(
            [
                (
                    STATE.OUT_OF_DATE,
                    'card',
                    'the card is stale: Ceph has release 21, and had 20',
                )
            ],
            self.audited(release=21),
        )

    def test_an_osd_more(self):
        osds = self.actual.ceph['ceph'].osds
        ssd = next(one for one in osds if one.device_class == 'ssd')
        more = dataclasses.replace(ssd, osd_id=77)
        self.assertEqual(
            [
                (
                    STATE.OUT_OF_DATE,
                    'card',
                    'the card is stale: other OSDs serve the pools of the '
                    'tier',
                )
            ],
            self.audited(osds=(*osds, more)),
        )

    def test_an_osd_less_than_the_tier_needs(self):
        osds = self.actual.ceph['ceph'].osds
        first = next(one for one in osds if one.device_class == 'ssd')
        found = self.audited(
            osds=tuple(one for one in osds if one is not first)
        )
        self.assertEqual(
            [(STATE.NON_COMPLIANT, 'cluster'), (STATE.OUT_OF_DATE, 'card')],
            [(state, aspect) for state, aspect, _ in found],
        )
        self.assertIn('other OSDs serve the pools', found[1][2])

    def test_an_apply_takes_the_figures_out_and_no_more(self):
        actual = dataclasses.replace(
            self.actual,
            ceph={
                'ceph': dataclasses.replace(
                    self.actual.ceph['ceph'], release=21
                )
            },
        )
        (action,) = plans.make(catalog=self.catalog, actual=actual).actions
        self.assertEqual(
            dataclasses.replace(
                action.before,
                description=f'Not measured since {test_card.TIME}.',
                volumes=None,
            ),
            action.after,
        )
        self.assertIsNone(action.refusal)
        self.assertIn('the card is stale: Ceph has', action.explanation)

    def described(self, text):
        types = dict(self.actual.cinder.volume_types)
        types['database'] = dataclasses.replace(
            types['database'], description=text
        )
        return dataclasses.replace(
            self.actual,
            cinder=dataclasses.replace(self.actual.cinder, volume_types=types),
        )

    def test_after_an_edit_by_hand_one_apply_is_enough(self):
        for text in (
            f'Fast. {self.text} Promise: x iops at least 5.',
            f'Fast. {self.text} Not measured since {test_card.TIME}.',
            f'Fast. {self.text}\n',
        ):
            (action,) = plans.make(
                catalog=self.catalog, actual=self.described(text)
            ).actions
            self.assertNotIn('Measured', action.after.description)
            self.assertEqual(
                (),
                plans.make(
                    catalog=self.catalog,
                    actual=self.described(action.after.description),
                ).actions,
            )

    def test_a_cluster_that_is_not_read_says_nothing_of_the_card(self):
        held = audit.audit(
            catalog=self.catalog,
            observed=audit.Observed(
                cinder=self.actual.cinder,
                projects={},
                ceph={'ceph': audit.Unread(reason='it is down')},
            ),
        )
        self.assertEqual(
            [(STATE.UNKNOWN, 'cluster ceph')],
            [
                (one.state, one.aspect)
                for one in held
                if one.tier == 'database'
            ],
        )
