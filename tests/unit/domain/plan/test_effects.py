# SPDX-License-Identifier: Apache-2.0

"""Figures are worked out beside the assertions, in GiB."""

import dataclasses

import ddt
from hypothesis import example
from hypothesis import given
from hypothesis import strategies
import testtools

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
            usage=usage.Usage(
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
