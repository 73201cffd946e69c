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
