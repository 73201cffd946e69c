# SPDX-License-Identifier: Apache-2.0

"""Why an export leaves something out, and which type a pool goes to."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.export import catalog as export
from cinder_tiers.domain.resources import crush
from cinder_tiers.domain.resources import osd_masks
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.observe.ceph import crush as observed_crush
from tests.unit.domain import catalogs as given
from tests.unit.domain import test_export

OSDS = (
    ceph_state.Osd(
        osd_id=0,
        device_class='ssd',
        location={'host': 'a', 'rack': 'r1', 'root': 'default'},
    ),
    ceph_state.Osd(
        osd_id=1,
        device_class='hdd',
        location={'host': 'a', 'rack': 'r1', 'root': 'default'},
    ),
    ceph_state.Osd(
        osd_id=2,
        device_class='ssd',
        location={'host': 'b', 'rack': 'r1', 'root': 'default'},
    ),
    ceph_state.Osd(
        osd_id=3,
        device_class='hdd',
        location={'host': 'c', 'rack': 'r2', 'root': 'default'},
    ),
)


def dumped(*chosen, takes=('default~ssd',), kind=1):
    """A rule as Ceph dumps it; chosen are (operation, number, type)."""
    steps = []
    for item in takes:
        steps.append({'op': 'take', 'item_name': item})
        steps += [
            {'op': op, 'num': number, 'type': domain}
            for op, number, domain in chosen
        ]
        steps.append({'op': 'emit'})
    return {'rule_name': 'rule', 'type': kind, 'steps': steps}


def fixed(number):
    return dataclasses.replace(
        observed_crush.parse_rule(
            dumped(('chooseleaf_firstn', number, 'host'))
        ),
        name=test_export.POOL.crush_rule,
    )


def exported(*types, rule=None, **changes):
    known = test_export.cloud(*types, **changes)
    (one,) = known.clusters
    if rule is not None:
        one = dataclasses.replace(
            one,
            ceph=dataclasses.replace(
                one.ceph,
                crush_rules={**one.ceph.crush_rules, rule.name: rule},
            ),
        )
    return export.export(dataclasses.replace(known, clusters=(one,)))


def said(result):
    return '\n'.join(one.text for one in result.remarks)


@ddt.ddt
class RulesTestCase(testtools.TestCase):
    @ddt.data(
        (
            dumped(('choose_indep', 3, 'host'), ('choose_indep', 2, 'osd')),
            'chooses 2 times: 3 host, then 2 osd',
        ),
        (
            dumped(
                ('choose_firstn', 2, 'datacenter'),
                ('chooseleaf_firstn', 2, 'host'),
            ),
            'chooses 2 times: 2 datacenter, then 2 host',
        ),
        (
            dumped(
                ('choose_firstn', 0, 'datacenter'),
                ('chooseleaf_firstn', 1, 'host'),
            ),
            'chooses 2 times: as many datacenter as the pool has copies or '
            'chunks, then 1 host',
        ),
        (
            dumped(
                ('choose_firstn', 0, 'datacenter'),
                ('chooseleaf_firstn', 2, 'host'),
                takes=('one', 'two'),
            ),
            'takes from several places, one, two: as many datacenter',
        ),
        (
            dumped(('chooseleaf_firstn', -1, 'host')),
            'chooses 1 fewer host than the pool has copies or chunks',
        ),
        (
            dumped(('chooseleaf_firstn', 2, 'host'), takes=('one', 'two~ssd')),
            'takes from several places, one, two~ssd: 2 host',
        ),
        (dumped(), 'has the steps take, emit'),
    )
    @ddt.unpack
    def test_a_rule_that_cannot_be_declared_is_described(self, rule, expected):
        found = observed_crush.parse_rule(rule)
        self.assertIsNone(found.root)
        self.assertIn(expected, found.other_form)

    def test_a_fixed_number_is_of_pools_of_that_size(self):
        found = observed_crush.parse_rule(
            dumped(('chooseleaf_firstn', 3, 'host'))
        )
        self.assertEqual(('default', 3), (found.root, found.number))
        self.assertIsNone(found.placing(3).number)
        self.assertEqual(found, found.placing(4))

    def test_a_fixed_number_equal_to_the_size_is_taken_over(self):
        result = exported(
            test_export.volume_type(), rule=fixed(test_export.POOL.size)
        )
        self.assertIsNotNone(result.catalog.tiers[0].rbd, said(result))
        self.assertFalse([one for one in result.leftover if 'rule' in one])

    def test_another_fixed_number_is_said(self):
        result = exported(test_export.volume_type(), rule=fixed(2))
        self.assertIsNone(result.catalog.tiers[0].rbd)
        self.assertIn(
            'chooses 2 host whatever the size of the pool, and pool volumes '
            'has 3',
            said(result),
        )

    def test_more_copies_get_a_rule_that_places_them(self):
        rbd = given.rbd(
            device_class='ssd',
            protection=dataclasses.replace(given.rbd().protection, size=4),
        )
        empty = given.empty_cluster()
        has = dataclasses.replace(
            test_export.POOL, name=rbd.pool, crush_rule='rule'
        )
        found = crush.pools_in(
            rbd,
            dataclasses.replace(
                empty,
                pools={rbd.pool: has},
                crush_rules={
                    'rule': dataclasses.replace(fixed(3), name='rule')
                },
            ),
        )
        self.assertNotEqual('rule', found.pools[0].crush_rule)


@ddt.ddt
class SharedPoolTestCase(testtools.TestCase):
    @ddt.data(
        {
            'encryptions': [
                cinder_state.TypeEncryption(
                    name='enc',
                    provider='luks',
                    cipher='aes-xts-plain64',
                    key_size_bits=256,
                    control_location='front-end',
                )
            ]
        },
        {},
    )
    def test_a_pool_goes_to_the_plainest_of_its_types(self, changes):
        result = exported(
            test_export.volume_type('gold'),
            test_export.volume_type(
                'enc',
                specs={} if changes else {'multiattach': '<is> True'},
            ),
            test_export.volume_type(
                'repl', specs={'replication_enabled': '<is> True'}
            ),
            **changes,
        )
        self.assertEqual(
            ['gold'],
            [one.name for one in result.catalog.tiers if one.rbd],
        )
        self.assertIn(
            'belongs to tier gold; to give it to tier enc instead, move the '
            'key rbd of gold to it',
            said(result),
        )


@ddt.ddt
class MasksTestCase(testtools.TestCase):
    def test_masks_of_other_places_are_left_out_with_their_osds(self):
        known = test_export.cloud(test_export.volume_type(), osds=OSDS)
        (one,) = known.clusters
        one = dataclasses.replace(
            one,
            configured_elsewhere={
                'host:a/class:ssd': {'osd_recovery_priority': '6'},
                'root:default': {'osd_max_backfills': '2'},
            },
        )
        text = said(export.export(dataclasses.replace(known, clusters=(one,))))
        self.assertIn('mask host:a/class:ssd are left out', text)
        self.assertIn('for osd.0: osd_recovery_priority=6', text)
        self.assertIn(
            'for osd.0, osd.1, osd.2, osd.3: osd_max_backfills=2', text
        )
        self.assertNotIn('no OSD is on', text)

    @ddt.data(
        ('class:ssd', 'host:a/class:ssd', 'osd.0'),
        ('class:ssd', 'host:b', 'osd.2'),
        ('class:ssd', 'root:default', 'osd.0, osd.2'),
        ('class:ssd', 'osd.2', 'osd.2'),
        ('host:a', 'host:a/class:hdd', 'osd.1'),
        ('host:a', 'osd.1', 'osd.1'),
        ('host:a', 'class:ssd', None),
        ('host:a', 'rack:r1', None),
        ('class:ssd', 'host:a/class:hdd', None),
    )
    @ddt.unpack
    def test_who_wins_is_foreseen(self, mask, other, expected):
        osds = [
            osd for osd in OSDS if osd.osd_id in osd_masks.osds_of(mask, OSDS)
        ]
        found = list(
            osd_masks.taking_precedence(
                mask,
                'osd_max_scrubs',
                '4',
                {
                    mask: {'osd_max_scrubs': '2'},
                    other: {'osd_max_scrubs': '3'},
                },
                osds,
            )
        )
        self.assertEqual(int(expected is not None), len(found))
        self.assertIn(
            f'stays 3 for {expected}: ' if expected else '', ''.join(found)
        )


class SickPoolTestCase(testtools.TestCase):
    def test_a_pool_without_io_is_exported_without_its_rbd_options(self):
        sick = test_export.pool(rbd_options_unread='no I/O')
        result = exported(test_export.volume_type(), pools=(sick,))
        self.assertIsNotNone(result.catalog.tiers[0].rbd, said(result))
        self.assertIn(
            'the RBD options of pool volumes are not known, and stay as they '
            'are: no I/O',
            said(result),
        )

    def test_its_data_may_be_in_an_erasure_coded_pool(self):
        sick = test_export.pool(rbd_options_unread='no I/O')
        coded = test_export.pool(name='coded', kind='erasure')
        result = exported(test_export.volume_type(), pools=(sick, coded))
        self.assertIsNone(result.catalog.tiers[0].rbd)
        self.assertIn('in one of coded could not be read', said(result))
        self.assertIn('gold', result.undetermined)
