# SPDX-License-Identifier: Apache-2.0

"""What a task asks of a fleet, and what does not fit together."""

import ddt
from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from rally_scenarios.plugins.fleet import arguments as fleet_arguments
from rally_scenarios.plugins.fleet import run_plan
from rally_scenarios.plugins.fleet import shape as fleet_shape
from tests.unit.rally.fleet import test_shape
from tests.unit.rally import fleet_fio_case
from tests.unit.rally.report import test_disks


def planned(**arguments):
    return run_plan.planned(fleet_arguments.FleetArguments(**arguments))


def shape(**args):
    return fleet_shape.from_arguments(
        **{
            'fleets': test_shape.FLEETS,
            'start': None,
            'volume': None,
            'volume_size_gib': None,
            'spread': None,
            **args,
        }
    )


@ddt.ddt
class ArgumentsTest(testtools.TestCase):
    def test_nothing_said_is_what_it_was_before(self):
        found = shape()
        self.assertEqual(
            (False, False, True, True, 1, 1),
            (
                found.by_clock,
                found.has_data,
                found.fill,
                found.spread,
                found.boot_gib,
                found.volumes_per_guest,
            ),
        )
        self.assertEqual(['db', 'plain'], found.images)

    def test_an_image_that_nothing_is_made_of_is_not_needed(self):
        for source, images in (
            ('blank', ['x']),
            ('image', ['db', 'plain', 'x']),
        ):
            self.assertEqual(
                images,
                shape(
                    volume={
                        'kind': 'data',
                        'source': source,
                        'boot_image': 'x',
                    }
                ).images,
            )
        self.assertEqual(
            ['db', 'plain'],
            shape(volume={'kind': 'data', 'source': 'blank'}).images,
        )

    @ddt.data(
        ({'start': {'by': 'volume', 'after_seconds': 5}}, 'start by clock'),
        ({'volume': {'kind': 'data'}}, 'needs a source'),
        ({'volume': {'kind': 'boot', 'source': 'blank'}}, 'source is of'),
        ({'volume': {'kind': 'boot', 'per_guest': 2}}, 'per_guest is of'),
        (
            {'fleets': [{**test_shape.FLEETS[0], 'volume_type': 'x'}]},
            'blank data',
        ),
    )
    @ddt.unpack
    def test_what_does_not_fit_is_refused(self, args, message):
        self.assertIn(
            message, str(self.assertRaises(ValueError, shape, **args))
        )

    def test_several_volumes_take_longer_and_need_one_job_each(self):
        arguments = {
            'fleets': test_shape.FLEETS[:1],
            'guests_per_tier': 10,
            'patterns': fleet_fio_case.PATTERNS,
            'region_mib': 10,
        }
        data = {'kind': 'data', 'source': 'blank'}
        one, four = (
            planned(**arguments, volume={**data, 'per_guest': volumes})
            for volumes in (1, 4)
        )
        self.assertEqual(
            [(40, 10), (100, 40)],
            [
                (plan.expected.volumes, plan.expected.prepare)
                for plan in (one, four)
            ],
        )
        # More in flight takes longer to come to its end.
        self.assertGreater(four.slots.seconds, one.slots.seconds)
        run_plan.check_orders(four)
        error = self.assertRaises(
            ValueError,
            planned,
            **arguments,
            volume={**data, 'per_guest': 2},
            precondition={},
        )
        self.assertIn('precondition with volume: per_guest 2', str(error))
        arguments['patterns'] = [{**fleet_fio_case.PATTERNS[0], 'numjobs': 2}]
        error = self.assertRaises(
            ValueError, planned, **arguments, volume={**data, 'per_guest': 2}
        )
        self.assertIn('numjobs 2: expected only one of them', str(error))

    def test_the_plan_knows_the_difference(self):
        arguments = {
            'fleets': test_shape.FLEETS,
            'guests_per_tier': 50,
            'patterns': fleet_fio_case.PATTERNS,
            'region_mib': 10,
        }
        by_volume = planned(**arguments)
        by_clock = planned(**arguments, start={'by': 'clock'})
        self.assertEqual(
            (1000, 100), (by_volume.expected.boot, by_clock.expected.boot)
        )
        # 100 guests fill 10 MiB each at 10 MiB/s: 100 s.
        self.assertEqual(
            (460, 260), (by_clock.expected.after, by_clock.expected.wait)
        )
        self.assertIn('wait 260 s for the start', by_clock.describe())
        self.assertNotIn('wait', by_volume.describe())
        run_plan.check_orders(by_clock)

    def test_a_start_by_clock_takes_no_type_of_a_start_volume(self):
        arguments = {
            'fleets': test_shape.FLEETS,
            'patterns': fleet_fio_case.PATTERNS,
            'start_volume_type': 'shared',
        }
        planned(**arguments)
        error = self.assertRaises(
            ValueError,
            planned,
            **arguments,
            start={'by': 'clock'},
        )
        self.assertIn(
            "start_volume_type 'shared' with a start by clock", str(error)
        )

    @ddt.data((1, None, 5), (3, None, 7), (50, None, 12), (12, [2, 12], 6))
    @ddt.unpack
    def test_few_guests_launch_fio_in_less_time(self, guests, steps, seconds):
        plan = planned(
            fleets=test_shape.FLEETS,
            patterns=fleet_fio_case.PATTERNS,
            guests_per_tier=guests,
            guest_steps=steps,
        )
        self.assertEqual(
            seconds,
            run_plan.orders_of(
                plan,
                run_plan.limits_seconds(plan, None),
                run='0' * 16,
                start_serial='x',
                now=1,
            ).lead_seconds,
        )

    def test_guests_of_all_tiers_launch_fio_at_once_side_by_side(self):
        lead_seconds = [
            run_plan.orders_of(
                plan,
                run_plan.limits_seconds(plan, None),
                run='0' * 16,
                start_serial='x',
                now=1,
            ).lead_seconds
            for plan in (
                planned(
                    fleets=test_shape.FLEETS,
                    patterns=fleet_fio_case.PATTERNS,
                    guests_per_tier=2,
                    side_by_side=side_by_side,
                )
                for side_by_side in (False, True)
            )
        ]
        self.assertEqual([4 + 2, 4 + 2 * len(test_shape.FLEETS)], lead_seconds)

    def test_a_region_must_fit_the_data_volume(self):
        error = self.assertRaises(
            ValueError,
            planned,
            fleets=test_shape.FLEETS,
            patterns=fleet_fio_case.PATTERNS,
            region_mib=1025,
            volume={'kind': 'data', 'source': 'image'},
        )
        self.assertIn(
            'region_mib 1025 on data volumes of 1 GiB: expected at most 1024',
            str(error),
        )


@ddt.ddt
class PlanningTest(testtools.TestCase):
    @ddt.data(
        ({'guests_per_tier': 2}, 'expected 3, the last step'),
        ({'guest_steps': [3, 1]}, 'guest_steps [3, 1]'),
        ({'load_steps': [5, 9]}, 'a load curve has one axis'),
        ({'repeats': 100, 'guest_steps': [1, 2, 3]}, '600 runs'),
        ({'fleets': [{'tier': 'a', 'image': 'x'}] * 2}, 'named twice: a'),
    )
    @ddt.unpack
    def test_what_cannot_be_planned_is_refused(self, wrong, message):
        error = self.assertRaises(
            ValueError, planned, **{**test_disks.ARGS, **wrong}
        )
        self.assertIn(message, str(error))

    def test_the_last_step_is_the_fleet(self):
        for args in (
            test_disks.ARGS,
            {**test_disks.ARGS, 'guests_per_tier': 3},
        ):
            found = planned(**args)
            self.assertEqual((3, 6), (found.guests_per_tier, found.guests))
        self.assertEqual(
            3,
            planned(
                **{**test_disks.ARGS, 'guest_steps': None}
            ).guests_per_tier,
        )

    def test_a_task_has_the_last_word_on_time_limits(self):
        plan = planned(**test_disks.ARGS)
        self.assertEqual(
            (7, 300),
            (
                run_plan.limits_seconds(plan, {'end': 7})['end'],
                run_plan.limits_seconds(plan, {'end': 7})['boot'],
            ),
        )

    def test_orders_that_are_too_long_are_found_before_anything_is_made(self):
        patterns = [
            {'name': f'p{number}', 'rw': 'read', 'bs': '4k'}
            for number in range(200)
        ]
        error = self.assertRaises(
            ValueError,
            run_plan.check_orders,
            planned(**{**test_disks.ARGS, 'patterns': patterns, 'repeats': 1}),
        )
        self.assertIn('order fewer slots', str(error))
