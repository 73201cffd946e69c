# SPDX-License-Identifier: Apache-2.0

"""Orders in a file, which may come from anywhere."""

import json
import pathlib

import ddt

from cinder_tiers.domain import errors
from cinder_tiers.loop.repair import order
from cinder_tiers.loop.repair import order_file
from tests.unit.loop.repair import test_order
from tests.unit.loop.repair import test_repair as cases


@ddt.ddt
class OrderFileTestCase(test_order.OrdersCase):
    @ddt.data(
        ('{', 'a file that is not JSON'),
        ('[]', 'found no object'),
        ({'kind': 'sweep'}, "kind: found 'sweep'"),
        ({'version': 2}, 'version: found'),
        ({'cloud': None}, 'cloud: expected'),
        ({'more': 1}, 'more: found'),
        ({'volume': '../etc'}, "volume: found '../etc', expected a UUID"),
        ({'volume': test_order.IDS[0].upper()[:-1] + 'F'}, 'expected a UUID'),
        ({'kind_of_step': 'rm'}, "found 'rm', expected one of type"),
        ({'limits': {'rbd_cache': 'false'}}, "limits: found 'rbd_cache'"),
        ({'limits': {'rbd_qos_iops_limit': '-1'}}, 'expected digits'),
        ({'had_limits': {'rbd_qos_iops_limit': 1}}, 'found'),
        ({'limits': {}}, 'limits: expected with the kind limits'),
        ({'kind_of_step': 'limits'}, 'limits: expected with the kind limits'),
        (
            {
                'limits': {'rbd_qos_iops_limit': '1'},
                'kind_of_step': 'limits',
                'had_limits': {'rbd_qos_bps_limit': None},
            },
            'had_limits: expected the options of limits',
        ),
        ({'retype_to': 'x', 'migrate_to': 'y'}, 'expected one of retype_to'),
        ({'to_tier': 'fast'}, 'to_tier: expected with the kind'),
        ({'steps': 2}, 'has two steps'),
    )
    @ddt.unpack
    def test_what_is_not_of_a_repair_is_refused(self, change, words):
        order_file.write(
            self.path,
            test_order.orders_of(
                test_order.planned(test_order.listed(cases.FORMER))
            ),
        )
        with open(self.path, encoding='utf-8') as stream:
            value = json.load(stream)
        self.assertEqual('repair', value['kind'])
        step = value['steps'][0]
        text = change
        if isinstance(change, dict):
            for name, found in change.items():
                if name == 'kind_of_step':
                    step['kind'] = found
                elif name == 'steps':
                    value['steps'] *= found
                elif name in ('kind', 'version', 'cloud', 'more'):
                    value[name] = found
                else:
                    if name == 'limits':
                        del step['retype_to']
                    step[name] = found
            text = json.dumps(value)
        with open(self.path, 'w', encoding='utf-8') as stream:
            stream.write(text)
        error = self.assertRaises(
            errors.ProblemsFound, order_file.read, self.path
        )
        self.assertIn(words, str(error))

    @ddt.data(
        (order.Origin.PLAN, order.Origin.PLAN, True),
        (order.Origin.PLAN, order.Origin.RECORD, False),
        (order.Origin.PLAN, None, False),
        (order.Origin.RECORD, order.Origin.RECORD, False),
        (order.Origin.RECORD, order.Origin.PLAN, False),
    )
    @ddt.unpack
    def test_only_what_can_be_made_again_is_replaced(
        self, origin, there, is_replaced
    ):
        if there:
            order_file.write(self.path, test_order.orders_of([], there))
        else:
            pathlib.Path(self.path).write_text('tiers: {}')
        before = pathlib.Path(self.path).read_text()
        orders = test_order.orders_of(
            test_order.planned(test_order.listed()), origin
        )
        if is_replaced:
            order_file.write(self.path, orders)
            self.assertEqual(orders, order_file.read(self.path))
            return
        error = self.assertRaises(
            errors.TiersError, order_file.write, self.path, orders
        )
        # No command that writes orders has --force.
        self.assertTrue(str(error).endswith('; name another file'))
        self.assertEqual(before, pathlib.Path(self.path).read_text())

    def test_a_file_is_for_one_cloud(self):
        orders = test_order.orders_of(test_order.planned(test_order.listed()))
        order_file.check_cloud('x', orders, 'here')
        order_file.check_cloud('x', test_order.recommended(), 'here')
        error = self.assertRaises(
            errors.ActionFailed, order_file.check_cloud, 'x', orders, 'there'
        )
        self.assertIn('another cloud', str(error))
