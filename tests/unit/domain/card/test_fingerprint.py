# SPDX-License-Identifier: Apache-2.0

"""What a card was measured on, and what makes it another."""

import dataclasses

import testtools

from cinder_tiers.domain.card import card as cards
from cinder_tiers.domain.card import fingerprint
from cinder_tiers.domain.state import ceph as ceph_state
from tests.unit.domain.card import test_card
from tests.unit.domain import catalogs as given


class FingerprintTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.tier = given.tier('database', tags=('database',), priority=20)
        self.state = given.empty_cluster()
        self.measured = self.of(self.tier, self.state)

    def of(self, tier, state, **changes):
        return cards.Measured(
            **{
                'ended_at': test_card.TIME,
                'ceph_release': state and state.release,
                'fingerprint': fingerprint.of_tier(
                    given.of(tier), tier, state
                ),
                'figures': test_card.FIGURES,
                **changes,
            }
        )

    def changes(self, tier=None, state=None, measured=None):
        tier = tier or self.tier
        return fingerprint.changes(
            measured or self.measured,
            given.of(tier),
            tier,
            state or self.state,
        )

    def test_no_figure_depends_on_words(self):
        for changed in (
            {},
            {'description': 'For databases'},
            {'tags': ('db',), 'priority': 3},
            {'access': ('a',)},
            {'expect': {'oltp': {'iops_min': 5}}},
        ):
            self.assertEqual(
                (), self.changes(dataclasses.replace(self.tier, **changed))
            )

    def test_what_changes_is_named(self):
        for changed, said in (
            ({'extra_specs': {'multiattach': '<is> True'}}, 'extra specs'),
            ({'rbd': given.rbd(pg_num=64)}, 'pool, CRUSH rule'),
            ({'rbd': given.rbd(osd_options={'a': 1})}, 'pool, CRUSH rule'),
        ):
            (found,) = self.changes(dataclasses.replace(self.tier, **changed))
            self.assertIn(said, found)

    def with_osds(self, *osds):
        return dataclasses.replace(self.state, osds=osds)

    def test_other_osds_and_another_release(self):
        osd = ceph_state.Osd(
            osd_id=999,
            device_class='ssd',
            location={'root': 'default', 'host': 'new'},
        )
        rule = ceph_state.CrushRule(
            name='r',
            kind='replicated',
            root='default',
            device_class='ssd',
            failure_domain='host',
        )
        state = dataclasses.replace(
            self.state,
            crush_rules={'r': rule},
            pools={
                'tier-database': ceph_state.Pool(
                    name='tier-database',
                    kind='replicated',
                    size=3,
                    min_size=2,
                    pg_num=32,
                    pg_autoscale_mode='off',
                    crush_rule='r',
                )
            },
            osds=(osd,),
            release=20,
        )
        measured = self.of(self.tier, state)
        self.assertEqual((), self.changes(state=state, measured=measured))
        out = dataclasses.replace(osd, no_data='it is out')
        hdd = dataclasses.replace(osd, osd_id=7, device_class='hdd')
        self.assertEqual(
            (),
            self.changes(
                state=dataclasses.replace(state, osds=(hdd, out)),
                measured=measured,
            ),
        )
        more = dataclasses.replace(osd, osd_id=8)
        self.assertEqual(
            (
                'other OSDs serve the pools of the tier',
                'Ceph has release 21, and had 20',
            ),
            self.changes(
                state=dataclasses.replace(state, osds=(osd, more), release=21),
                measured=measured,
            ),
        )

    def test_a_cluster_that_is_not_known_says_nothing(self):
        self.assertEqual(
            (),
            fingerprint.changes(
                self.measured, given.of(self.tier), self.tier, None
            ),
        )

    def test_a_tier_that_has_no_pool_any_more(self):
        (found,) = fingerprint.changes(
            self.measured,
            given.of(self.tier.without_pool()),
            self.tier.without_pool(),
            None,
        )
        self.assertIn('no pool of its own any more', found)
