# SPDX-License-Identifier: Apache-2.0

import dataclasses
import json
import os
import pathlib
import tempfile

import ddt
import testtools

from cinder_tiers.domain.audit import volumes as audit_volumes
from cinder_tiers.domain import errors
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.loop.repair import order
from cinder_tiers.loop.repair import order_file
from cinder_tiers.loop.repair import repair
from cinder_tiers.loop.repair import undo
from tests.unit.loop.repair import test_repair as cases

IDS = tuple(f'00000000-0000-4000-8000-00000000000{n}' for n in range(4))
MINE = 'a' * 32
TYPES = tuple(
    facts.KnownType(
        type_id=f'type-{name}',
        name=f'{name}-type',
        extra_specs={
            'volume_backend_name': name,
            'tiers:name': name,
            'tiers:tags': name,
            'tiers:priority': priority,
        },
        projects=projects,
    )
    for name, priority, projects in (
        ('fast', '20', frozenset({MINE})),
        ('slow', '10', None),
    )
)
AROUND = dataclasses.replace(cases.AROUND, types=TYPES)


def listed(
    verdict=cases.ELSEWHERE,
    ident=IDS[0],
    project=MINE,
    host=cases.SLOW,
    **fields,
):
    return audit_volumes.ListedVolume(
        volume=dataclasses.replace(
            cases.VOLUME,
            volume_id=ident,
            project=project,
            host=host,
            **fields,
        ),
        verdict=verdict,
    )


def planned(*volumes, orders=None, around=AROUND):
    """The steps of today, as far as they are ordered."""
    ids = {
        one.volume.stored_id or one.volume.volume_id: one.volume.volume_id
        for one in volumes
    }
    made = repair.plan(
        volumes,
        circumstances=around,
        kinds=repair.FOUND,
        wishes=order.wishes(orders, ids) if orders else None,
    )
    if orders is None:
        return list(made.steps)
    return order.agreed(orders, made.steps, ids)


def orders_of(steps, origin=order.Origin.PLAN, **fields):
    return order.Orders(
        origin=origin,
        cloud='here',
        steps=tuple(order.of_step(one, **fields) for one in steps),
    )


def recommended(ident=IDS[0], tier='slow', to_tier='fast'):
    return order.Orders(
        origin=order.Origin.RECOMMENDATION,
        steps=(
            order.Order(
                volume=ident,
                kind=repair.RepairKind.RECOMMENDATION,
                tier=tier,
                to_tier=to_tier,
                reason='it is faster there',
            ),
        ),
    )


ON_SLOW = dataclasses.replace(cases.RIGHT, tier='slow', allowed=(cases.SLOW,))


@ddt.ddt
class OrdersTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, 'orders')

    def kept(self, orders):
        """The same orders, from a file."""
        order_file.write(self.path, orders, replace=True)
        return order_file.read(self.path)

    def test_what_was_planned_is_done_if_it_is_so_today(self):
        volumes = [
            listed(ident=IDS[0]),
            listed(cases.FORMER, ident=IDS[1], host=cases.FAST),
            listed(cases.FOLLOWS, ident=IDS[2]),
            listed(ident=IDS[3], status='in-use'),
        ]
        steps = planned(*volumes)
        self.assertEqual(4, len(steps))
        orders = self.kept(orders_of(steps))
        self.assertEqual(orders_of(steps), orders)
        self.assertEqual(
            [one.refusal == '' for one in steps],
            [one.refusal == '' for one in planned(*volumes, orders=orders)],
        )
        # Of what another plan did, nothing is left, and nothing is added.
        (step,) = planned(
            listed(cases.RIGHT, ident=IDS[0], host=cases.FAST),
            volumes[2],
            listed(ident='00000000-0000-4000-8000-00000000000f'),
            orders=orders,
        )
        self.assertEqual((IDS[2], ''), (step.volume.volume_id, step.refusal))

    def test_what_has_changed_since_the_plan_is_refused(self):
        orders = orders_of(planned(listed()))
        for volume, words in (
            (listed(host='node@x#x'), 'its host was node@slow#slow and is'),
            (listed(type_name='other'), 'its type was fast and is other'),
            (listed(status='error'), 'its status is error'),
        ):
            (step,) = planned(volume, orders=orders)
            self.assertIn(words, step.refusal)
        (step,) = planned(
            listed(),
            orders=orders_of(planned(listed(status='in-use'))),
        )
        self.assertIn('refused when the plan was made: it is', step.refusal)
        # Limits of another image, and of another spec.
        limited = listed(cases.RIGHT, ident=IDS[0], host=cases.FAST)
        limits = dataclasses.replace(
            cases.LIMITS, images={cases.PLACE: {IDS[0]: cases.HAS}}
        )
        around = dataclasses.replace(AROUND, limits=limits)
        orders = self.kept(orders_of(planned(limited, around=around)))
        (step,) = planned(limited, orders=orders, around=around)
        self.assertEqual('', step.refusal)
        around = dataclasses.replace(
            AROUND,
            limits=dataclasses.replace(
                limits,
                types={
                    **limits.types,
                    'type-fast': cases.back_end(total_iops_sec='90'),
                },
            ),
        )
        (step,) = planned(limited, orders=orders, around=around)
        self.assertIn(
            'its new limits was rbd_qos_iops_limit 80 and is '
            'rbd_qos_iops_limit 90',
            step.refusal,
        )

    def test_the_backend_of_the_plan_is_kept_while_it_has_room(self):
        verdict = dataclasses.replace(
            cases.ELSEWHERE, allowed=('node@a#a', 'node@b#b')
        )
        orders = None
        for free, target, is_refused in (
            ({'node@a#a': 9.0, 'node@b#b': 8.0}, 'node@a#a', False),
            ({'node@a#a': 8.0, 'node@b#b': 9.0}, 'node@a#a', False),
            ({'node@a#a': 6.0, 'node@b#b': 9.0}, 'node@b#b', True),
        ):
            (step,) = planned(
                listed(verdict),
                orders=orders,
                around=dataclasses.replace(AROUND, free_gib=free),
            )
            orders = orders or orders_of([step])
            self.assertEqual(target, step.migrate_to)
            self.assertEqual(is_refused, step.refusal != '')

    def test_a_recommendation_is_a_retype_by_the_rules_of_cinder(self):
        orders = self.kept(recommended())
        (step,) = planned(listed(ON_SLOW), orders=orders)
        self.assertEqual(
            ('fast-type', 'slow', 'fast', 7, 'it is faster there', ''),
            (
                step.retype_to,
                step.tier,
                step.to_tier,
                step.moved_gib,
                step.reason,
                step.refusal,
            ),
        )
        # What was reviewed as a plan is the same.
        (again,) = planned(
            listed(ON_SLOW), orders=self.kept(orders_of([step]))
        )
        self.assertEqual(step, again)
        # The image of a volume that was migrated has another id.
        (step,) = planned(
            listed(ON_SLOW, ident=IDS[1], stored_id=IDS[0]), orders=orders
        )
        self.assertEqual(IDS[1], step.volume.volume_id)

    @ddt.data(
        ({'status': 'in-use'}, {}, 'it is attached'),
        ({'project': 'b' * 32}, {}, 'its project may not use the volume type'),
        ({'in_group': True}, {}, 'it is in a group'),
        ({}, {'tier': 'tape'}, 'it is of tier slow, and the recommendation'),
        ({}, {'to_tier': 'tape'}, 'tier tape is not applied'),
    )
    @ddt.unpack
    def test_a_recommendation_that_is_refused(self, volume, orders, words):
        (step,) = planned(
            listed(ON_SLOW, **volume), orders=recommended(**orders)
        )
        self.assertIn(words, step.refusal)

    def test_a_recommendation_that_is_followed_already(self):
        self.assertEqual(
            [],
            planned(
                listed(cases.RIGHT, host=cases.FAST), orders=recommended()
            ),
        )

    @ddt.data(
        ('{', 'a file that is not JSON'),
        ('[]', 'found no object'),
        ({'kind': 'sweep'}, "kind: found 'sweep'"),
        ({'version': 2}, 'version: found'),
        ({'cloud': None}, 'cloud: expected'),
        ({'more': 1}, 'more: found'),
        ({'volume': '../etc'}, "volume: found '../etc', expected a UUID"),
        ({'volume': IDS[0].upper()[:-1] + 'F'}, 'expected a UUID'),
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
        order_file.write(self.path, orders_of(planned(listed(cases.FORMER))))
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
            order_file.write(self.path, orders_of([], there))
        else:
            pathlib.Path(self.path).write_text('tiers: {}')
        before = pathlib.Path(self.path).read_text()
        orders = orders_of(planned(listed()), origin)
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
        orders = orders_of(planned(listed()))
        order_file.check_cloud('x', orders, 'here')
        order_file.check_cloud('x', recommended(), 'here')
        error = self.assertRaises(
            errors.ActionFailed, order_file.check_cloud, 'x', orders, 'there'
        )
        self.assertIn('another cloud', str(error))


@ddt.ddt
class UndoTestCase(testtools.TestCase):
    def undone(self, orders, *volumes, around=AROUND, **options):
        return undo.plan(orders, volumes, circumstances=around, **options)

    def record(self, step, outcome=repair.StepOutcome.DONE, host=None):
        return orders_of(
            [step], order.Origin.RECORD, outcome=outcome, host=host
        )

    def moved(self, **fields):
        """A volume of which a record says that it got the type fast-type."""
        (step,) = planned(
            listed(ON_SLOW, type_name='slow-type'), orders=recommended()
        )
        return (
            self.record(step, host=cases.FAST, **fields),
            listed(cases.RIGHT, type_name='fast-type', host=cases.FAST),
        )

    def test_a_type_is_given_back(self):
        orders, volume = self.moved()
        (step,) = self.undone(orders, volume)
        self.assertEqual(
            ('slow-type', 'fast', 'slow', 7, ''),
            (
                step.retype_to,
                step.tier,
                step.to_tier,
                step.moved_gib,
                step.refusal,
            ),
        )
        # There and back again.
        (step,) = self.undone(
            self.record(step), listed(ON_SLOW, type_name='slow-type')
        )
        self.assertEqual('fast-type', step.retype_to)

    def test_a_type_is_not_given_back_to_who_may_not_use_it(self):
        (step,) = planned(
            listed(cases.RIGHT, type_name='fast-type', host=cases.FAST),
            orders=recommended(tier='fast', to_tier='slow'),
        )
        (step,) = self.undone(
            self.record(step),
            listed(ON_SLOW, type_name='slow-type', project='b' * 32),
        )
        self.assertIn('its project may not use', step.refusal)

    def test_a_volume_is_moved_back_if_there_is_room(self):
        (step,) = planned(listed())
        orders = self.record(step, host=cases.FAST)
        there = listed(
            dataclasses.replace(cases.RIGHT, allowed=(cases.FAST, cases.SLOW)),
            host='other@fast#fast',
        )
        (step,) = self.undone(orders, there)
        self.assertEqual((cases.SLOW, ''), (step.migrate_to, step.refusal))
        (step,) = self.undone(
            orders, listed(cases.RIGHT, host='other@fast#fast')
        )
        self.assertIn('its type does not allow backend', step.refusal)
        (step,) = self.undone(
            orders,
            there,
            around=dataclasses.replace(AROUND, free_gib={cases.SLOW: 6.0}),
        )
        self.assertIn('less than 7 GiB free', step.refusal)

    def test_limits_are_set_back(self):
        around = dataclasses.replace(
            AROUND,
            limits=dataclasses.replace(
                cases.LIMITS, images={cases.PLACE: {IDS[0]: cases.HAS}}
            ),
        )
        volume = listed(cases.RIGHT, host=cases.FAST)
        (step,) = planned(volume, around=around)
        orders = self.record(step)
        around.limits.images[cases.PLACE] = {
            IDS[0]: {**cases.HAS, 'rbd_qos_iops_limit': '80'}
        }
        (step,) = self.undone(orders, volume, around=around)
        self.assertEqual('', step.refusal)
        self.assertEqual({'rbd_qos_iops_limit': '40'}, step.limits.changes)
        around.limits.images[cases.PLACE] = {
            IDS[0]: {'rbd_qos_iops_limit': '70'}
        }
        (step,) = self.undone(orders, volume, around=around)
        self.assertIn(
            'since the repair, rbd_qos_iops_limit changed from 80 to 70',
            step.refusal,
        )

    def test_limits_that_were_set_in_part_are_told(self):
        kind = cases.back_end(total_iops_sec='80', total_bytes_sec='1000')
        images = {cases.PLACE: {IDS[0]: cases.HAS}}
        around = dataclasses.replace(
            AROUND,
            limits=dataclasses.replace(
                cases.LIMITS, images=images, types={'type-fast': kind}
            ),
        )
        volume = listed(cases.RIGHT, host=cases.FAST)
        (step,) = planned(volume, around=around)
        orders = self.record(step, outcome=repair.StepOutcome.FAILED)
        self.assertEqual([], self.undone(orders, volume, around=around))
        images[cases.PLACE] = {
            IDS[0]: {**cases.HAS, 'rbd_qos_iops_limit': '80'}
        }
        (step,) = self.undone(orders, volume, around=around)
        self.assertIn('rbd_qos_bps_limit changed from 1000', step.refusal)

    @ddt.data(('100M', ''), (str(2**64 - 1), ''), ('\x1b[m', r"'\x1b[m'"))
    @ddt.unpack
    def test_limits_that_were_set_by_hand_are_kept(self, had, words):
        """In the way that Ceph takes them."""
        around = dataclasses.replace(
            AROUND,
            limits=dataclasses.replace(
                cases.LIMITS,
                images={cases.PLACE: {IDS[0]: {'rbd_qos_iops_limit': had}}},
            ),
        )
        volume = listed(cases.RIGHT, host=cases.FAST)
        orders = self.record(*planned(volume, around=around))
        self.assertEqual(
            {'rbd_qos_iops_limit': had}, orders.steps[0].had_limits
        )
        around.limits.images[cases.PLACE] = {
            IDS[0]: {'rbd_qos_iops_limit': '80'}
        }
        (step,) = self.undone(orders, volume, around=around)
        self.assertEqual({'rbd_qos_iops_limit': had}, step.limits.changes)
        self.assertIn(words, step.refusal)
        self.assertEqual(words == '', step.refusal == '')
        if not step.refusal:
            self.assertEqual(
                step.limits.changes, self.record(step).steps[0].limits
            )

    @ddt.data(
        ({'type_name': 'other'}, 'its type changed from fast-type to other'),
        ({'host': 'node@x#x'}, 'its host changed from node@fast#fast to'),
        ({'status': 'in-use'}, 'it is attached'),
    )
    @ddt.unpack
    def test_what_is_not_as_it_was_left(self, change, words):
        orders, volume = self.moved()
        volume = dataclasses.replace(
            volume, volume=dataclasses.replace(volume.volume, **change)
        )
        (step,) = self.undone(orders, volume)
        self.assertIn(words, step.refusal)

    def test_what_was_not_done_is_not_taken_back(self):
        for outcome in (
            repair.StepOutcome.REFUSED,
            repair.StepOutcome.CHANGED,
            repair.StepOutcome.NOT_STARTED,
        ):
            self.assertEqual([], self.undone(*self.moved(outcome=outcome)))
        # Nobody waited for the end of these.
        for outcome in (None, repair.StepOutcome.FAILED):
            orders, volume = self.moved(outcome=outcome)
            self.assertEqual(1, len(self.undone(orders, volume)))
            self.assertEqual(
                [],
                self.undone(orders, listed(ON_SLOW, type_name='slow-type')),
            )
        orders, volume = self.moved()
        self.assertEqual([], self.undone(orders))
        self.assertEqual([], self.undone(orders, volume, tiers=('fast',)))
        self.assertEqual([], self.undone(orders, volume, volumes=(IDS[1],)))

    def test_a_volume_that_had_no_type_keeps_the_new_one(self):
        orders, volume = self.moved()
        orders = dataclasses.replace(
            orders,
            steps=(dataclasses.replace(orders.steps[0], had_type=None),),
        )
        (step,) = self.undone(orders, volume)
        self.assertIn('it had no volume type', step.refusal)
        (step,) = self.undone(
            self.moved()[0],
            volume,
            around=dataclasses.replace(AROUND, types=TYPES[:1]),
        )
        self.assertIn('no volume type slow-type any more', step.refusal)
