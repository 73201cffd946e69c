# SPDX-License-Identifier: Apache-2.0

"""What faults are refused, and which OSDs they strike."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import usage as usages
from cinder_tiers.loop.fault import facts as cluster_facts
from cinder_tiers.loop.fault import fault as faults
from cinder_tiers.loop.fault import objections

RULE = ceph_state.CrushRule(
    name='rule',
    kind='replicated',
    root='default',
    device_class='hdd',
    failure_domain='host',
)
BY_HAND = dataclasses.replace(
    RULE, root=None, device_class=None, failure_domain=None
)
GIB = 2**30


def pool(**fields):
    return cluster_facts.OsdPool(
        **{
            'name': 'tier-a',
            'size': 3,
            'min_size': 2,
            'least': 1,
            'rule': RULE,
            **fields,
        }
    )


def cluster(hosts='abcd', *, pools=None, used_gib=10, **fields):
    """A sound cluster with OSDs on these hosts, all of 100 GiB."""
    ids = range(len(hosts))
    return cluster_facts.ClusterFacts(
        **{
            'fsid': 'f',
            'health': cluster_facts.Health(status='HEALTH_OK'),
            'flags': frozenset({'sortbitwise'}),
            'osds': {
                osd_id: cluster_facts.OsdStatus(is_up=True, weight=1.0)
                for osd_id in ids
            },
            'places': tuple(
                ceph_state.Osd(
                    osd_id=osd_id,
                    device_class='hdd',
                    location={
                        'osd': f'osd.{osd_id}',
                        'host': hosts[osd_id],
                        'root': 'default',
                    },
                )
                for osd_id in ids
            ),
            'usage': usages.ClusterUsage(
                pools={},
                osds={
                    osd_id: usages.OsdUsage(
                        total_bytes=100 * GIB, used_bytes=used_gib * GIB
                    )
                    for osd_id in ids
                },
                nearfull_ratio=0.85,
                backfillfull_ratio=0.9,
                full_ratio=0.95,
            ),
            'pool_flags': {'tier-a': frozenset({'hashpspool'})},
            'holders': frozenset(ids),
            'pools_on': dict.fromkeys(ids, tuple(pools or [pool()])),
            **fields,
        }
    )


def target(kind=faults.FaultKind.OSD_OUT, osd=0):
    return faults.Target(
        fault=faults.Fault(name='one', kind=kind, at_s=0.0, for_s=1.0),
        cluster='ceph',
        pool='tier-a',
        osd=osd if kind in faults.OF_OSDS else None,
    )


def said(facts, *arguments):
    return '\n'.join(
        [
            *objections.of_health(facts),
            *objections.of_target(target(*arguments), facts),
        ]
    )


@ddt.ddt
class ObjectionsTestCase(testtools.TestCase):
    @ddt.data(*faults.FaultKind)
    def test_nothing_speaks_against_faults_in_a_sound_cluster(self, kind):
        self.assertEqual('', said(cluster(), kind))
        objections.check([target(kind)], cluster())

    @ddt.data(
        {'status': 'HEALTH_WARN', 'checks': ('OSD_DOWN',)},
        {'status': 'HEALTH_OK', 'unclean': {'active+remapped': 3}},
    )
    def test_health_must_be_ok(self, health):
        facts = cluster(health=cluster_facts.Health(**health))
        error = self.assertRaises(
            errors.Refused, objections.check, [target()], facts
        )
        self.assertIn('the cluster has HEALTH_', str(error))

    @ddt.data(
        ({'size': 3, 'min_size': 3}, 'at least 3'),
        ({'size': 2, 'min_size': 1}, 'at least 2'),
        ({'size': 3, 'least': 2, 'min_size': 2}, 'at least 3'),
        ({'size': 1, 'min_size': 1}, '0 would be left'),
    )
    @ddt.unpack
    def test_a_copy_must_be_left_to_spare(self, fields, expected):
        facts = cluster(pools=[pool(), pool(name='other', **fields)])
        for kind in faults.OF_OSDS:
            found = said(facts, kind)
            self.assertIn('pool other', found)
            self.assertNotIn('pool tier-a', found)
            self.assertIn(expected, found)

    @ddt.data(
        {'size': 3, 'min_size': 2},
        {'size': 6, 'least': 4, 'min_size': 5},
        {'size': 3, 'min_size': 1},
    )
    def test_enough_copies(self, fields):
        self.assertEqual('', said(cluster('abcdefgh', pools=[pool(**fields)])))

    @ddt.data(
        ({'is_up': False, 'weight': 1.0}, 'is down'),
        ({'is_up': True, 'weight': 0.9}, 'the reweight 0.9'),
        ({'is_up': True, 'weight': 0.0}, 'the reweight 0'),
        (
            {'is_up': True, 'weight': 1.0, 'flags': frozenset({'noout'})},
            'the flags noout',
        ),
    )
    @ddt.unpack
    def test_the_osd_must_be_as_it_can_be_brought_back(self, osd, expected):
        facts = cluster()
        facts = dataclasses.replace(
            facts, osds={**facts.osds, 0: cluster_facts.OsdStatus(**osd)}
        )
        self.assertIn(expected, said(facts))
        self.assertEqual('', said(facts, faults.FaultKind.OSD_OUT, 1))

    def test_flags_of_the_cluster(self):
        facts = cluster(flags=frozenset({'noin'}))
        self.assertIn('the flags noin', said(facts))

    @ddt.data(7, None)
    def test_the_osd_must_hold_the_tier(self, osd):
        found = said(
            cluster(holders=frozenset({1, 2})), faults.FaultKind.OSD_DOWN, osd
        )
        self.assertIn('expected one of the OSDs 1, 2', found)

    def test_what_ceph_says_against_it(self):
        facts = cluster(not_to_stop={0: '3 PGs would be unavailable'})
        self.assertIn('3 PGs would be unavailable', said(facts))

    def test_upmaps_would_not_come_back(self):
        facts = cluster(upmapped=frozenset({0}))
        self.assertIn('pg-upmap-items', said(facts))
        self.assertEqual('', said(facts, faults.FaultKind.OSD_DOWN))
        self.assertEqual('', said(facts, faults.FaultKind.OSD_OUT, 1))

    @ddt.data(
        # (hosts, OSDs that get the data of osd.0)
        ('abc', ()),
        ('aabc', (1,)),
        ('abcd', (1, 2, 3)),
        ('aabcd', (1, 2, 3, 4)),
    )
    @ddt.unpack
    def test_who_gets_the_data(self, hosts, expected):
        self.assertEqual(
            expected, objections.receivers(0, pool(), cluster(hosts))
        )

    @ddt.data(
        # (hosts of zones, a letter an OSD; OSDs that get data of osd.0)
        # Both hosts of its zone are needed, and have no other OSD.
        ('ab cd', ()),
        # There is another OSD on its host.
        ('aab cd', (1,)),
        # There is another host in its zone.
        ('abc de', (1, 2)),
        ('aabc de', (1, 2, 3)),
        # There is another zone, which is needed only then.
        ('ab cd ef', (2, 3, 4, 5)),
        ('abc de fg', (1, 2)),
    )
    @ddt.unpack
    def test_who_gets_the_data_of_two_levels(self, zones, expected):
        facts = cluster(zones.replace(' ', ''))
        names = [
            zone for zone, hosts in enumerate(zones.split()) for _ in hosts
        ]
        facts = dataclasses.replace(
            facts,
            places=tuple(
                dataclasses.replace(
                    one, location={**one.location, 'zone': str(zone)}
                )
                for one, zone in zip(facts.places, names, strict=True)
            ),
        )
        rule = dataclasses.replace(
            RULE,
            failure_domain='zone',
            replicas_per_failure_domain=2,
            sub_failure_domain='host',
        )
        self.assertEqual(
            expected, objections.receivers(0, pool(size=4, rule=rule), facts)
        )

    def test_who_gets_the_data_by_a_rule_of_ones_own(self):
        self.assertEqual(
            (1,),
            objections.receivers(0, pool(rule=BY_HAND), cluster('aabcd')),
        )
        self.assertEqual(
            (1, 2, 3),
            objections.receivers(0, pool(rule=BY_HAND), cluster('abcd')),
        )

    def test_who_is_out_gets_nothing(self):
        facts = cluster('abcde')
        facts = dataclasses.replace(
            facts,
            osds={
                **facts.osds,
                1: cluster_facts.OsdStatus(is_up=True, weight=0.0),
                2: cluster_facts.OsdStatus(is_up=False, weight=1.0),
            },
        )
        self.assertEqual((), objections.receivers(0, pool(), facts))

    @ddt.data(('aabc', 42, 43), ('abcd', 63, 64), ('abcde', 67, 69))
    @ddt.unpack
    def test_there_must_be_room_where_the_data_go(self, hosts, fits, not_fits):
        self.assertEqual('', said(cluster(hosts, used_gib=fits)))
        self.assertIn('nearfull', said(cluster(hosts, used_gib=not_fits)))
        # Nothing is moved while it is only down.
        self.assertEqual(
            '',
            said(cluster(hosts, used_gib=not_fits), faults.FaultKind.OSD_DOWN),
        )

    def test_room_that_is_not_known(self):
        facts = cluster(usage=usages.Unknown(reason='no manager'))
        self.assertIn('no manager', said(facts))

    @ddt.data(
        {'flags': frozenset({'nodeep-scrub'})},
        {'pool_flags': {'tier-a': frozenset({'nodeep-scrub'})}},
    )
    def test_a_scrub_that_is_switched_off(self, fields):
        self.assertIn(
            'nodeep-scrub',
            said(cluster(**fields), faults.FaultKind.DEEP_SCRUB),
        )


class ChoiceTestCase(testtools.TestCase):
    def test_the_osd_that_is_named(self):
        one = dataclasses.replace(target().fault, osd=5)
        self.assertEqual(5, objections.chosen_osd(one, {1, 2}, 3))

    def test_by_chance_and_again_with_the_seed(self):
        one = target().fault
        found = [
            objections.chosen_osd(one, range(10), seed) for seed in range(50)
        ]
        self.assertEqual(
            found,
            [
                objections.chosen_osd(one, reversed(range(10)), seed)
                for seed in range(50)
            ],
        )
        self.assertGreater(len(set(found)), 5)
        self.assertIsNone(objections.chosen_osd(one, (), 1))
