# SPDX-License-Identifier: Apache-2.0

"""How much data a plan moves, and from where to where."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.plan import data_movement
from cinder_tiers.domain.plan import effects
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import usage
from tests.unit.domain import catalogs as plain
from tests.unit.domain.plan import test_effects


@ddt.ddt
class MovementTestCase(testtools.TestCase):
    def test_a_copy_more_is_written_and_takes_room(self):
        found = test_effects.effect(
            test_effects.pool(), test_effects.pool(size=3)
        )
        self.assertEqual(
            (100 * test_effects.GIB, 100 * test_effects.GIB),
            (found.bytes_to_move, found.bytes_added),
        )
        # 6 x 500 of 6 x 1000 before; 1200 x 2 - 100 raw are left for 3.
        self.assertEqual(
            'moves about 100 GiB, takes about 100 GiB more (size 2 -> 3); '
            'room for about 767 GiB more; 6 OSDs of class hdd: 50 % -> 52 %',
            str(found),
        )

    def test_a_copy_less_moves_nothing_and_frees_room(self):
        found = test_effects.effect(
            test_effects.pool(size=3),
            test_effects.pool(),
            test_effects.cluster(size=3),
        )
        self.assertEqual(
            (0, -100 * test_effects.GIB),
            (found.bytes_to_move, found.bytes_added),
        )
        self.assertIn('moves nothing, frees about 100 GiB', str(found))

    @ddt.data((32, 64, 67), (32, 128, 100), (64, 16, 100), (32, 33, 4))
    @ddt.unpack
    def test_placement_groups_that_are_split_or_merged_move(
        self, before, after, moved_gib
    ):
        # Of 200 GiB 1 - 32/64, 1 - 32/128, 1 - 16/64, 1 - 32/33 are placed
        # anew; each of 6 OSDs has one of 2 copies with 1/3 before and after,
        # so of these 2 copies 6 x 1/3 x 1/3 stay.
        found = test_effects.effect(
            test_effects.pool(pg_num=before), test_effects.pool(pg_num=after)
        )
        self.assertEqual(
            moved_gib, round(found.bytes_to_move / test_effects.GIB)
        )
        self.assertEqual(0, found.bytes_added)
        self.assertNotIn('OSDs of', str(found))

    def test_to_osds_of_another_class_all_moves(self):
        found = test_effects.effect(
            test_effects.pool(), test_effects.pool(crush_rule='ssd')
        )
        self.assertEqual(
            (200 * test_effects.GIB, 0),
            (found.bytes_to_move, found.bytes_added),
        )
        self.assertIn('6 OSDs of class ssd: 50 % -> 53 %', str(found))

    def test_a_copy_stays_where_the_new_rule_puts_one_too(self):
        # Each of 6 OSDs has one of 2 copies with 1/3, of 12 with 1/6; of the
        # 2 copies 6 x 1/3 x 1/6 stay: of 200 GiB, 1/6.
        found = test_effects.effect(
            test_effects.pool(), test_effects.pool(crush_rule='all')
        )
        self.assertEqual(167, round(found.bytes_to_move / test_effects.GIB))
        self.assertIn('12 OSDs of root default: 50 % -> 50 %', str(found))

    def test_copies_on_all_osds_stay(self):
        found = test_effects.effect(
            test_effects.pool(size=3),
            test_effects.pool(size=3, pg_num=64),
            test_effects.cluster(size=3, hosts=3),
        )
        self.assertEqual(0, found.bytes_to_move)

    def test_to_a_rule_of_two_classes_up_to_all_moves(self):
        found = test_effects.effect(
            test_effects.pool(), test_effects.pool(crush_rule='mixed')
        )
        self.assertIn('moves up to 200 GiB', str(found))

    def test_to_a_rule_of_two_levels_up_to_what_chance_leaves_moves(self):
        # The hosts that it chooses first are drawn alike, but not all copies
        # are on different ones. Of 4 copies 6 x 2/3 x 2/3 stay by chance.
        found = test_effects.effect(
            test_effects.pool(size=4),
            test_effects.pool(size=4, crush_rule='two-levels'),
            test_effects.cluster(size=4),
        )
        self.assertIn('moves up to 133 GiB', str(found))
        self.assertEqual(
            0,
            test_effects.effect(
                test_effects.pool(size=4, crush_rule='two-levels'),
                test_effects.pool(size=4, crush_rule='two-levels', min_size=2),
                test_effects.cluster(size=4),
            ).bytes_to_move,
        )

    @ddt.data(
        # (copies, OSDs of hosts, share of each OSD)
        # Each host has one of two copies, however large it is.
        (2, 'aaab', [1 / 6, 1 / 6, 1 / 6, 1 / 2]),
        # None is too large.
        (2, 'aabb', [1 / 4] * 4),
        (3, 'aaabbc', [1 / 9, 1 / 9, 1 / 9, 1 / 6, 1 / 6, 1 / 3]),
        # One of three has a copy of each object; the others share the rest.
        (2, 'aaaabc', [1 / 8] * 4 + [1 / 4] * 2),
    )
    @ddt.unpack
    def test_no_failure_domain_has_more_than_its_copies(
        self, size, hosts, expected
    ):
        ceph = test_effects.cluster(
            osds=tuple(
                ceph_state.Osd(
                    osd_id=number,
                    device_class='hdd',
                    location={'host': host, 'root': 'default'},
                )
                for number, host in enumerate(hosts)
            )
        )
        shares = data_movement.shares_of(
            test_effects.RULES['hdd'],
            osds=ceph.osds,
            usage=ceph.usage,
            size=size,
        )
        for found, right in zip(shares.values(), expected, strict=True):
            self.assertAlmostEqual(right, found)

    def test_a_new_rule_of_two_classes_says_where_copies_meet(self):
        new = actions.Action(
            key=actions.Key(
                kind=actions.Kind.CRUSH_RULE, cluster='ceph', name='mixed'
            ),
            before=None,
            after=test_effects.RULES['mixed'],
            why='tier a',
        )
        apart = tuple(
            osd
            for osd in plain.osds(hosts='abcdef')
            if (osd.device_class == 'ssd') == (osd.location['host'] in 'ab')
        )
        for ceph, expected in (
            (
                test_effects.cluster(),
                'host0, host1, host2, host3, host4 and 1 more have',
            ),
            (test_effects.cluster(osds=apart), ''),
        ):
            found = effects.of_plan([new], {'ceph': ceph})[new.key]
            self.assertIn(expected, str(found))
            self.assertEqual(bool(expected), bool(found.statements))

    def test_to_osds_below_another_bucket_all_but_its_copies_move(self):
        # host0 has the only OSD of hdd-a, which has one of 2 copies with
        # 1/3.
        found = test_effects.effect(
            test_effects.pool(), test_effects.pool(crush_rule='hdd-a')
        )
        self.assertIn('1 OSDs of class hdd under host0', str(found))
        self.assertEqual(
            round(200 * test_effects.GIB * 5 / 6), found.bytes_to_move
        )

    def test_with_another_failure_domain_only_what_it_refuses_moves(self):
        # Of 11 other OSDs one is on the host of the first copy: of the second
        # copies 1/11 move.
        osds = plain.osds(hosts='abcdef', classes=('hdd', 'hdd'))
        found = test_effects.effect(
            test_effects.pool(),
            test_effects.pool(crush_rule='by-osd'),
            test_effects.cluster(osds=osds),
        )
        self.assertEqual(
            round(100 * test_effects.GIB / 11), found.bytes_to_move
        )

    def test_a_rule_that_differs_by_its_name_moves_nothing(self):
        found = test_effects.effect(
            test_effects.pool(), test_effects.pool(crush_rule='hdd-too')
        )
        self.assertEqual(0, found.bytes_to_move)

    @ddt.data('by-hand', 'unheard-of')
    def test_of_a_rule_that_is_not_understood_all_is_said_to_move(self, name):
        found = test_effects.effect(
            test_effects.pool(), test_effects.pool(crush_rule=name)
        )
        self.assertEqual(200 * test_effects.GIB, found.bytes_to_move)
        self.assertIn('up to 200 GiB', str(found))

    def test_of_chunks_more_may_move_with_another_failure_domain(self):
        found = test_effects.effect(
            test_effects.pool(kind='erasure'),
            test_effects.pool(kind='erasure', crush_rule='by-osd'),
        )
        self.assertIn('moves up to 167 GiB', str(found))

    def test_a_copy_more_is_no_bound_even_where_the_osds_are_not_known(self):
        found = test_effects.effect(
            test_effects.pool(crush_rule='by-hand'),
            test_effects.pool(crush_rule='by-hand', size=3),
        )
        self.assertIn('moves about 100 GiB', str(found))
        found = test_effects.effect(
            test_effects.pool(crush_rule='by-hand'),
            test_effects.pool(crush_rule='by-hand', pg_num=64),
        )
        self.assertIn('moves up to 100 GiB', str(found))

    def test_several_changes_move_no_byte_twice(self):
        found = test_effects.effect(
            test_effects.pool(),
            test_effects.pool(pg_num=64, crush_rule='all', size=3),
        )
        # Of 3 copies 6 x 1/3 x 1/4 stay, whatever number they have.
        self.assertEqual(
            300 - 50, round(found.bytes_to_move / test_effects.GIB)
        )

    @ddt.data(('replicated', 150), ('erasure', 250))
    @ddt.unpack
    def test_a_chunk_is_of_use_in_its_place_only(self, kind, moved_gib):
        # Of 3 copies 3 x 1 x 1/2 stay, of 3 chunks a third of that.
        before = test_effects.pool(kind=kind, size=3)
        found = test_effects.effect(
            before,
            dataclasses.replace(before, crush_rule='all'),
            test_effects.cluster(size=3, hosts=3),
        )
        self.assertEqual(
            moved_gib, round(found.bytes_to_move / test_effects.GIB)
        )

    @ddt.data(
        {'kind': 'erasure'},
        {'erasure_code_profile': 'other'},
        {'kind': 'erasure', 'size': 3},
    )
    def test_what_ceph_cannot_change_moves_nothing(self, changes):
        found = test_effects.effect(
            test_effects.pool(), test_effects.pool(**changes)
        )
        self.assertEqual(0, found.bytes_to_move)
        self.assertIn('Ceph cannot change', str(found))

    def test_the_autoscaler_may_move_all(self):
        scaled = test_effects.pool(
            pg_autoscale_mode='on', options={'target_size_ratio': 'unset'}
        )
        after = dataclasses.replace(
            scaled, options={'target_size_ratio': '0.5'}
        )
        found = test_effects.effect(scaled, after)
        self.assertEqual(200 * test_effects.GIB, found.bytes_to_move)
        self.assertIn('up to 200 GiB (the autoscaler', str(found))

    @ddt.data(
        {'min_size': 2},
        {'applications': frozenset({'rbd', 'x'})},
        {'options': {'compression_mode': 'force'}},
        {},
    )
    def test_what_moves_no_data_has_no_effect(self, changes):
        self.assertEqual(
            effects.NONE,
            test_effects.effect(
                test_effects.pool(), test_effects.pool(**changes)
            ),
        )

    @ddt.data(
        (usage.Unknown(reason='nobody answers'), 'nobody answers'),
        (
            dataclasses.replace(test_effects.cluster().usage, pools={}),
            'no statistics of pool tier-a',
        ),
    )
    @ddt.unpack
    def test_without_figures_the_effect_is_unknown_and_not_zero(
        self, known, reason
    ):
        found = test_effects.effect(
            test_effects.pool(),
            test_effects.pool(size=3),
            test_effects.cluster(usage=known),
        )
        self.assertIsNone(found.bytes_to_move)
        self.assertIn(reason, str(found))
