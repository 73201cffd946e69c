# SPDX-License-Identifier: Apache-2.0

"""How full OSDs are before and after a plan, and what has no room."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.plan import effects
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import usage
from tests.unit.domain.plan import test_effects


@ddt.ddt
class RoomTestCase(testtools.TestCase):
    @ddt.data(
        (800, 'nearfull (85 %)', False),
        (850, 'backfillfull (90 %)', True),
        (900, 'full (95 %)', True),
    )
    @ddt.unpack
    def test_a_ratio_that_is_passed_is_named(self, used_gib, named, loud):
        # 300 GiB more on 6 x 1000.
        found = test_effects.effect(
            test_effects.pool(),
            test_effects.pool(size=3),
            test_effects.cluster(stored_gib=300, used_gib=used_gib),
        )
        self.assertIn(f'past {named}', str(found))
        self.assertEqual(loud, bool(found.problems))

    def test_it_is_the_fullest_osd_that_passes(self):
        ceph = test_effects.cluster(used_gib=700)
        osds = {
            **ceph.usage.osds,
            1: usage.OsdUsage(
                total_bytes=1000 * test_effects.GIB,
                used_bytes=940 * test_effects.GIB,
            ),
        }
        found = test_effects.effect(
            test_effects.pool(),
            test_effects.pool(size=3),
            dataclasses.replace(
                ceph, usage=dataclasses.replace(ceph.usage, osds=osds)
            ),
        )
        self.assertIn(
            '74 % (fullest 94 %) -> 76 % (fullest 96 %), past full',
            found.problems[0],
        )

    def test_full_osds_that_get_emptier_are_no_problem(self):
        found = test_effects.effect(
            test_effects.pool(size=3),
            test_effects.pool(),
            test_effects.cluster(size=3, used_gib=960),
        )
        self.assertEqual((), found.problems)

    def test_actions_on_the_same_osds_add_up(self):
        ceph = test_effects.cluster(stored_gib=500, used_gib=800)
        other = dataclasses.replace(test_effects.pool(), name='tier-b')
        ceph = dataclasses.replace(
            ceph,
            usage=dataclasses.replace(
                ceph.usage,
                pools=dict.fromkeys(
                    ('tier-a', 'tier-b'), ceph.usage.pools['tier-a']
                ),
            ),
        )
        second = dataclasses.replace(test_effects.KEY, name='tier-b')
        found = effects.of_plan(
            [
                test_effects.update(
                    test_effects.pool(), test_effects.pool(size=3)
                ),
                actions.Action(
                    key=second,
                    before=other,
                    why='',
                    after=dataclasses.replace(other, size=3),
                ),
            ],
            {'ceph': ceph},
        )
        self.assertIn(
            '80 % -> 88 %, past nearfull', str(found[test_effects.KEY])
        )
        self.assertIn('88 % -> 97 %, past full', str(found[second]))

    def test_a_rule_that_the_plan_creates_is_known(self):
        new = actions.Action(
            key=actions.Key(
                kind=actions.Kind.CRUSH_RULE, cluster='ceph', name='new'
            ),
            before=None,
            after=test_effects.rule('new', 'ssd'),
            why='',
        )
        found = effects.of_plan(
            [
                new,
                test_effects.update(
                    test_effects.pool(), test_effects.pool(crush_rule='new')
                ),
            ],
            {'ceph': test_effects.cluster()},
        )
        self.assertEqual(effects.NONE, found[new.key])
        self.assertIn('moves about 200 GiB', str(found[test_effects.KEY]))
        self.assertIn('class ssd', str(found[test_effects.KEY]))

    def test_a_new_pool_has_no_effect(self):
        made = actions.Action(
            key=test_effects.KEY,
            before=None,
            after=test_effects.pool(),
            why='',
        )
        self.assertEqual(
            {test_effects.KEY: effects.NONE},
            effects.of_plan([made], {'ceph': test_effects.cluster()}),
        )

    @ddt.data(
        (
            'quota_max_bytes',
            100 * test_effects.GIB,
            '100 GiB is not above the 100',
        ),
        ('quota_max_objects', 999, '999 objects is not above the 1000'),
    )
    @ddt.unpack
    def test_a_quota_below_what_is_stored_is_a_problem(
        self, name, value, said
    ):
        found = test_effects.effect(
            test_effects.pool(options={name: '0'}),
            test_effects.pool(options={name: str(value)}),
        )
        self.assertIn(said, found.problems[0])
        self.assertEqual(0, found.bytes_to_move)

    @ddt.data(0, 120 * test_effects.GIB)
    def test_no_quota_and_one_with_room_are_none(self, value):
        self.assertEqual(
            effects.NONE,
            test_effects.effect(
                test_effects.pool(options={'quota_max_bytes': '7'}),
                test_effects.pool(options={'quota_max_bytes': str(value)}),
            ),
        )
