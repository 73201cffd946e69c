# SPDX-License-Identifier: Apache-2.0

import dataclasses
import os
import tempfile

import ddt
import testtools

from cinder_tiers.domain.audit import volumes as audit_volumes
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.loop.repair import order
from cinder_tiers.loop.repair import order_file
from cinder_tiers.loop.repair import repair
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


class OrdersCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, 'orders')


@ddt.ddt
class OrdersTestCase(OrdersCase):
    def kept(self, orders):
        """The same orders, from a file."""
        order_file.write(self.path, orders, replace=True)
        return order_file.read(self.path)

    def test_a_server_that_runs_now_was_not_reviewed(self):
        """The plan says that it is down already, or loses its disk."""
        server = repair.Server(
            server_id=IDS[3], state=repair.ServerState.SHELVED
        )
        step = repair.RepairStep(
            kind=repair.RepairKind.PLACEMENT,
            volume=listed().volume,
            tier='slow',
            reason='it is elsewhere',
            retype_to='slow-type',
            shelves=server,
        )
        orders = self.kept(orders_of([step]))
        for fields, words in (
            ({}, ''),
            (
                {'state': repair.ServerState.ACTIVE},
                f'was {IDS[3]}, shelved and is {IDS[3]}, active',
            ),
            ({'saves_image': True}, 'shelved with a local disk'),
        ):
            now = dataclasses.replace(
                step, shelves=dataclasses.replace(server, **fields)
            )
            (found,) = order.agreed(orders, [now], {})
            self.assertEqual(bool(words), bool(found.refusal))
            self.assertIn(words, found.refusal)

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
