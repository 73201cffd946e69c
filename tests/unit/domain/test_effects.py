# SPDX-License-Identifier: Apache-2.0

"""Figures are worked out beside the assertions, in GiB."""

import dataclasses

import ddt
from hypothesis import example
from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.domain.plan import data_movement
from cinder_tiers.domain.plan import effects
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import difference
from cinder_tiers.domain.state import usage
import tests
from tests.unit.domain import catalogs as plain

GIB = 2**30
KEY = actions.Key(kind=actions.Kind.POOL, cluster='ceph', name='tier-a')


def rule(name, device_class, failure_domain='host', root='default'):
    return ceph_state.CrushRule(
        name=name,
        kind='replicated',
        root=root,
        device_class=device_class,
        failure_domain=failure_domain,
    )


RULES = {
    one.name: one
    for one in (
        rule('ssd', 'ssd'),
        rule('hdd', 'hdd'),
        rule('all', None),
        rule('hdd-too', 'hdd'),
        rule('by-osd', 'hdd', 'osd'),
        rule('hdd-a', 'hdd', 'osd', 'host0'),
        dataclasses.replace(rule('mixed', 'hdd'), primary_device_class='ssd'),
        dataclasses.replace(
            rule('two-levels', 'hdd'),
            replicas_per_failure_domain=2,
            sub_failure_domain='osd',
        ),
        rule('by-hand', None, None, None),
    )
}


def pool(**changes):
    return dataclasses.replace(
        ceph_state.Pool(
            name='tier-a',
            kind='replicated',
            size=2,
            min_size=1,
            pg_num=32,
            pg_autoscale_mode='off',
            crush_rule='hdd',
        ),
        **changes,
    )


def cluster(
    *, stored_gib=100, size=2, osd_gib=1000, used_gib=500, hosts=6, **changes
):
    """Six OSDs of each class; the pool holds 100 GiB in two copies."""
    osds = plain.osds(hosts=[f'host{number}' for number in range(hosts)])
    return dataclasses.replace(
        ceph_state.CephState(
            crush_rules=RULES,
            erasure_code_profiles={},
            users={},
            osds=osds,
            pools={'tier-a': pool()},
            usage=usage.ClusterUsage(
                pools={
                    'tier-a': usage.PoolUsage(
                        stored_bytes=stored_gib * GIB,
                        objects=1000,
                        used_bytes=stored_gib * size * GIB,
                        max_avail_bytes=1200 * GIB,
                    )
                },
                osds={
                    osd.osd_id: usage.OsdUsage(
                        total_bytes=osd_gib * GIB, used_bytes=used_gib * GIB
                    )
                    for osd in osds
                },
                nearfull_ratio=0.85,
                backfillfull_ratio=0.9,
                full_ratio=0.95,
            ),
        ),
        **changes,
    )


def effect(before, after, ceph=None):
    found, _ = effects.of_pool(
        before, after, ceph=ceph or cluster(), earlier={}
    )
    return found


def update(before, after):
    return actions.Action(key=KEY, before=before, after=after, why='')


@ddt.ddt
class MovementTestCase(testtools.TestCase):
    def test_a_copy_more_is_written_and_takes_room(self):
        found = effect(pool(), pool(size=3))
        self.assertEqual(
            (100 * GIB, 100 * GIB), (found.bytes_to_move, found.bytes_added)
        )
        # 6 x 500 of 6 x 1000 before; 1200 x 2 - 100 raw are left for 3.
        self.assertEqual(
            'moves about 100 GiB, takes about 100 GiB more (size 2 -> 3); '
            'room for about 767 GiB more; 6 OSDs of class hdd: 50 % -> 52 %',
            str(found),
        )

    def test_a_copy_less_moves_nothing_and_frees_room(self):
        found = effect(pool(size=3), pool(), cluster(size=3))
        self.assertEqual(
            (0, -100 * GIB), (found.bytes_to_move, found.bytes_added)
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
        found = effect(pool(pg_num=before), pool(pg_num=after))
        self.assertEqual(moved_gib, round(found.bytes_to_move / GIB))
        self.assertEqual(0, found.bytes_added)
        self.assertNotIn('OSDs of', str(found))

    def test_to_osds_of_another_class_all_moves(self):
        found = effect(pool(), pool(crush_rule='ssd'))
        self.assertEqual(
            (200 * GIB, 0), (found.bytes_to_move, found.bytes_added)
        )
        self.assertIn('6 OSDs of class ssd: 50 % -> 53 %', str(found))

    def test_a_copy_stays_where_the_new_rule_puts_one_too(self):
        # Each of 6 OSDs has one of 2 copies with 1/3, of 12 with 1/6; of the
        # 2 copies 6 x 1/3 x 1/6 stay: of 200 GiB, 1/6.
        found = effect(pool(), pool(crush_rule='all'))
        self.assertEqual(167, round(found.bytes_to_move / GIB))
        self.assertIn('12 OSDs of root default: 50 % -> 50 %', str(found))

    def test_copies_on_all_osds_stay(self):
        found = effect(
            pool(size=3), pool(size=3, pg_num=64), cluster(size=3, hosts=3)
        )
        self.assertEqual(0, found.bytes_to_move)

    def test_to_a_rule_of_two_classes_up_to_all_moves(self):
        found = effect(pool(), pool(crush_rule='mixed'))
        self.assertIn('moves up to 200 GiB', str(found))

    def test_to_a_rule_of_two_levels_up_to_what_chance_leaves_moves(self):
        # The hosts that it chooses first are drawn alike, but not all copies
        # are on different ones. Of 4 copies 6 x 2/3 x 2/3 stay by chance.
        found = effect(
            pool(size=4),
            pool(size=4, crush_rule='two-levels'),
            cluster(size=4),
        )
        self.assertIn('moves up to 133 GiB', str(found))
        self.assertEqual(
            0,
            effect(
                pool(size=4, crush_rule='two-levels'),
                pool(size=4, crush_rule='two-levels', min_size=2),
                cluster(size=4),
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
        ceph = cluster(
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
            RULES['hdd'], osds=ceph.osds, usage=ceph.usage, size=size
        )
        for found, right in zip(shares.values(), expected, strict=True):
            self.assertAlmostEqual(right, found)

    def test_a_new_rule_of_two_classes_says_where_copies_meet(self):
        new = actions.Action(
            key=actions.Key(
                kind=actions.Kind.CRUSH_RULE, cluster='ceph', name='mixed'
            ),
            before=None,
            after=RULES['mixed'],
            why='tier a',
        )
        apart = tuple(
            osd
            for osd in plain.osds(hosts='abcdef')
            if (osd.device_class == 'ssd') == (osd.location['host'] in 'ab')
        )
        for ceph, expected in (
            (cluster(), 'host0, host1, host2, host3, host4 and 1 more have'),
            (cluster(osds=apart), ''),
        ):
            found = effects.of_plan([new], {'ceph': ceph})[new.key]
            self.assertIn(expected, str(found))
            self.assertEqual(bool(expected), bool(found.statements))

    def test_to_osds_below_another_bucket_all_but_its_copies_move(self):
        # host0 has the only OSD of hdd-a, which has one of 2 copies with
        # 1/3.
        found = effect(pool(), pool(crush_rule='hdd-a'))
        self.assertIn('1 OSDs of class hdd under host0', str(found))
        self.assertEqual(round(200 * GIB * 5 / 6), found.bytes_to_move)

    def test_with_another_failure_domain_only_what_it_refuses_moves(self):
        # Of 11 other OSDs one is on the host of the first copy: of the second
        # copies 1/11 move.
        osds = plain.osds(hosts='abcdef', classes=('hdd', 'hdd'))
        found = effect(pool(), pool(crush_rule='by-osd'), cluster(osds=osds))
        self.assertEqual(round(100 * GIB / 11), found.bytes_to_move)

    def test_a_rule_that_differs_by_its_name_moves_nothing(self):
        found = effect(pool(), pool(crush_rule='hdd-too'))
        self.assertEqual(0, found.bytes_to_move)

    @ddt.data('by-hand', 'unheard-of')
    def test_of_a_rule_that_is_not_understood_all_is_said_to_move(self, name):
        found = effect(pool(), pool(crush_rule=name))
        self.assertEqual(200 * GIB, found.bytes_to_move)
        self.assertIn('up to 200 GiB', str(found))

    def test_of_chunks_more_may_move_with_another_failure_domain(self):
        found = effect(
            pool(kind='erasure'), pool(kind='erasure', crush_rule='by-osd')
        )
        self.assertIn('moves up to 167 GiB', str(found))

    def test_a_copy_more_is_no_bound_even_where_the_osds_are_not_known(self):
        found = effect(
            pool(crush_rule='by-hand'), pool(crush_rule='by-hand', size=3)
        )
        self.assertIn('moves about 100 GiB', str(found))
        found = effect(
            pool(crush_rule='by-hand'), pool(crush_rule='by-hand', pg_num=64)
        )
        self.assertIn('moves up to 100 GiB', str(found))

    def test_several_changes_move_no_byte_twice(self):
        found = effect(pool(), pool(pg_num=64, crush_rule='all', size=3))
        # Of 3 copies 6 x 1/3 x 1/4 stay, whatever number they have.
        self.assertEqual(300 - 50, round(found.bytes_to_move / GIB))

    @ddt.data(('replicated', 150), ('erasure', 250))
    @ddt.unpack
    def test_a_chunk_is_of_use_in_its_place_only(self, kind, moved_gib):
        # Of 3 copies 3 x 1 x 1/2 stay, of 3 chunks a third of that.
        before = pool(kind=kind, size=3)
        found = effect(
            before,
            dataclasses.replace(before, crush_rule='all'),
            cluster(size=3, hosts=3),
        )
        self.assertEqual(moved_gib, round(found.bytes_to_move / GIB))

    @ddt.data(
        {'kind': 'erasure'},
        {'erasure_code_profile': 'other'},
        {'kind': 'erasure', 'size': 3},
    )
    def test_what_ceph_cannot_change_moves_nothing(self, changes):
        found = effect(pool(), pool(**changes))
        self.assertEqual(0, found.bytes_to_move)
        self.assertIn('Ceph cannot change', str(found))

    def test_the_autoscaler_may_move_all(self):
        scaled = pool(
            pg_autoscale_mode='on', options={'target_size_ratio': 'unset'}
        )
        after = dataclasses.replace(
            scaled, options={'target_size_ratio': '0.5'}
        )
        found = effect(scaled, after)
        self.assertEqual(200 * GIB, found.bytes_to_move)
        self.assertIn('up to 200 GiB (the autoscaler', str(found))

    @ddt.data(
        {'min_size': 2},
        {'applications': frozenset({'rbd', 'x'})},
        {'options': {'compression_mode': 'force'}},
        {},
    )
    def test_what_moves_no_data_has_no_effect(self, changes):
        self.assertEqual(effects.NONE, effect(pool(), pool(**changes)))

    @ddt.data(
        (usage.Unknown(reason='nobody answers'), 'nobody answers'),
        (
            dataclasses.replace(cluster().usage, pools={}),
            'no statistics of pool tier-a',
        ),
    )
    @ddt.unpack
    def test_without_figures_the_effect_is_unknown_and_not_zero(
        self, known, reason
    ):
        found = effect(pool(), pool(size=3), cluster(usage=known))
        self.assertIsNone(found.bytes_to_move)
        self.assertIn(reason, str(found))


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
        found = effect(
            pool(), pool(size=3), cluster(stored_gib=300, used_gib=used_gib)
        )
        self.assertIn(f'past {named}', str(found))
        self.assertEqual(loud, bool(found.problems))

    def test_it_is_the_fullest_osd_that_passes(self):
        ceph = cluster(used_gib=700)
        osds = {
            **ceph.usage.osds,
            1: usage.OsdUsage(total_bytes=1000 * GIB, used_bytes=940 * GIB),
        }
        found = effect(
            pool(),
            pool(size=3),
            dataclasses.replace(
                ceph, usage=dataclasses.replace(ceph.usage, osds=osds)
            ),
        )
        self.assertIn(
            '74 % (fullest 94 %) -> 76 % (fullest 96 %), past full',
            found.problems[0],
        )

    def test_full_osds_that_get_emptier_are_no_problem(self):
        found = effect(pool(size=3), pool(), cluster(size=3, used_gib=960))
        self.assertEqual((), found.problems)

    def test_actions_on_the_same_osds_add_up(self):
        ceph = cluster(stored_gib=500, used_gib=800)
        other = dataclasses.replace(pool(), name='tier-b')
        ceph = dataclasses.replace(
            ceph,
            usage=dataclasses.replace(
                ceph.usage,
                pools=dict.fromkeys(
                    ('tier-a', 'tier-b'), ceph.usage.pools['tier-a']
                ),
            ),
        )
        second = dataclasses.replace(KEY, name='tier-b')
        found = effects.of_plan(
            [
                update(pool(), pool(size=3)),
                actions.Action(
                    key=second,
                    before=other,
                    why='',
                    after=dataclasses.replace(other, size=3),
                ),
            ],
            {'ceph': ceph},
        )
        self.assertIn('80 % -> 88 %, past nearfull', str(found[KEY]))
        self.assertIn('88 % -> 97 %, past full', str(found[second]))

    def test_a_rule_that_the_plan_creates_is_known(self):
        new = actions.Action(
            key=actions.Key(
                kind=actions.Kind.CRUSH_RULE, cluster='ceph', name='new'
            ),
            before=None,
            after=rule('new', 'ssd'),
            why='',
        )
        found = effects.of_plan(
            [new, update(pool(), pool(crush_rule='new'))], {'ceph': cluster()}
        )
        self.assertEqual(effects.NONE, found[new.key])
        self.assertIn('moves about 200 GiB', str(found[KEY]))
        self.assertIn('class ssd', str(found[KEY]))

    def test_a_new_pool_has_no_effect(self):
        made = actions.Action(key=KEY, before=None, after=pool(), why='')
        self.assertEqual(
            {KEY: effects.NONE}, effects.of_plan([made], {'ceph': cluster()})
        )

    @ddt.data(
        ('quota_max_bytes', 100 * GIB, '100 GiB is not above the 100'),
        ('quota_max_objects', 999, '999 objects is not above the 1000'),
    )
    @ddt.unpack
    def test_a_quota_below_what_is_stored_is_a_problem(
        self, name, value, said
    ):
        found = effect(
            pool(options={name: '0'}), pool(options={name: str(value)})
        )
        self.assertIn(said, found.problems[0])
        self.assertEqual(0, found.bytes_to_move)

    @ddt.data(0, 120 * GIB)
    def test_no_quota_and_one_with_room_are_none(self, value):
        self.assertEqual(
            effects.NONE,
            effect(
                pool(options={'quota_max_bytes': '7'}),
                pool(options={'quota_max_bytes': str(value)}),
            ),
        )


POOLS = strategies.builds(
    pool,
    size=strategies.integers(1, 6),
    pg_num=strategies.integers(1, 4096),
    kind=strategies.sampled_from(('replicated', 'erasure')),
    pg_autoscale_mode=strategies.sampled_from(('on', 'off')),
    options=strategies.fixed_dictionaries(
        {}, optional={'bulk': strategies.sampled_from(('true', 'false'))}
    ),
    crush_rule=strategies.sampled_from((*RULES, 'unheard-of')),
)


class AlwaysTestCase(testtools.TestCase):
    @tests.examples(300)
    @example(
        before=pool(size=6, pg_num=2, crush_rule='all'),
        after=pool(size=6, pg_num=1813, crush_rule='all'),
        used=3_377_699_720_527_873,
        hosts=3,
        out=False,
    )
    @given(
        before=POOLS,
        after=POOLS,
        used=strategies.integers(0, 2**60),
        hosts=strategies.integers(1, 7),
        out=strategies.booleans(),
    )
    def test_between_nothing_and_all_copies_moves(
        self, before, after, used, hosts, out
    ):
        ceph = cluster(hosts=hosts)
        osds = dict(ceph.usage.osds)
        if out:
            osds[1] = usage.OsdUsage(total_bytes=0, used_bytes=0)
        ceph = dataclasses.replace(
            ceph,
            usage=dataclasses.replace(
                ceph.usage,
                osds=osds,
                pools={
                    'tier-a': usage.PoolUsage(
                        stored_bytes=used // before.size,
                        objects=1,
                        used_bytes=used,
                        max_avail_bytes=0,
                    )
                },
            ),
        )
        found = effect(before, after, ceph)
        most = used * max(before.size, after.size) / before.size
        self.assertGreaterEqual(found.bytes_to_move, 0)
        # Of some PiB a float does not tell each byte.
        self.assertLessEqual(found.bytes_to_move, most * (1 + 1e-12) + 1)
        self.assertGreaterEqual(found.bytes_added, -used)
        if not {'size', 'pg_num', 'crush_rule', 'options.bulk'} & {
            one.field for one in difference.differences(before, after)
        }:
            self.assertEqual(0, found.bytes_to_move)
        self.assertEqual(effects.NONE, effect(before, before, ceph))


@ddt.ddt
class CephxUserTestCase(testtools.TestCase):
    """Clients may be older than the cluster."""

    @ddt.data(((), False), (('aes', 'aes256k'), False), (('aes256k',), True))
    @ddt.unpack
    def test_a_key_that_older_clients_cannot_read_is_told(self, ciphers, told):
        user = ceph_state.CephxUser(name='client.cinder', caps={})
        create, update = (
            actions.Action(
                key=actions.Key(
                    kind=actions.Kind.CEPHX_USER,
                    cluster='ceph',
                    name=user.name,
                ),
                before=before,
                after=user,
                why='it is needed',
            )
            for before in (None, user)
        )
        ceph = ceph_state.CephState(
            crush_rules={},
            erasure_code_profiles={},
            pools={},
            users={},
            osds=(),
            key_ciphers=ciphers,
        )
        for action, expected in ((create, told), (update, False)):
            found = effects.of_plan([action], {'ceph': ceph})[action.key]
            self.assertEqual(
                expected, 'Upgrade them first' in str(found), str(found)
            )
            self.assertEqual(0, found.bytes_to_move)
