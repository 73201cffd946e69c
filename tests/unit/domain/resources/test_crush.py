# SPDX-License-Identifier: Apache-2.0

"""Why a CRUSH rule is none that a tiers file can ask for."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.resources import crush
from cinder_tiers.observe.ceph import crush as observed_crush
from tests.unit.domain import catalogs as given
from tests.unit.domain.export import test_catalog
from tests.unit.domain.export import test_pools_reasons


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
        name=test_catalog.POOL.crush_rule,
    )


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
        result = test_pools_reasons.exported(
            test_catalog.volume_type(), rule=fixed(test_catalog.POOL.size)
        )
        self.assertIsNotNone(
            result.catalog.tiers[0].rbd, test_pools_reasons.said(result)
        )
        self.assertFalse([one for one in result.leftover if 'rule' in one])

    def test_another_fixed_number_is_said(self):
        result = test_pools_reasons.exported(
            test_catalog.volume_type(), rule=fixed(2)
        )
        self.assertIsNone(result.catalog.tiers[0].rbd)
        self.assertIn(
            'chooses 2 host whatever the size of the pool, and pool volumes '
            'has 3',
            test_pools_reasons.said(result),
        )

    def test_more_copies_get_a_rule_that_places_them(self):
        rbd = given.rbd(
            device_class='ssd',
            protection=dataclasses.replace(given.rbd().protection, size=4),
        )
        empty = given.empty_cluster()
        has = dataclasses.replace(
            test_catalog.POOL, name=rbd.pool, crush_rule='rule'
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
