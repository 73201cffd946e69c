# SPDX-License-Identifier: Apache-2.0


"""Fleets of every shape: what starts them, what they work on, where."""

import collections
import os
import signal

from cinderclient import exceptions as cinder_exceptions
import ddt
import jsonschema
from novaclient import exceptions as nova_exceptions
from rally.common.objects import task as task_objects
from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from cinder_tiers.figures.fleet import duration
from cinder_tiers.figures.result import result as run_result
from rally_scenarios.plugins.fleet import arguments as fleet_arguments
from rally_scenarios.plugins.fleet import report as fleet_report
from rally_scenarios.plugins.fleet import run_plan
from rally_scenarios.plugins.fleet import shape as fleet_shape
from rally_scenarios.plugins.report import tables
from rally_scenarios.plugins import servers as cloud_servers
from tests.unit.rally import fake_cloud
from tests.unit.rally import fleet_fio_case

OUTPUT_SCHEMA = task_objects.TASK_SCHEMA['definitions']['output']
CLOCK = {'by': 'clock', 'after_seconds': 1}
FLEETS = [
    {'tier': 'database', 'image': 'db'},
    {'tier': 'general', 'image': 'plain'},
]


def planned(**arguments):
    return run_plan.planned(fleet_arguments.FleetArguments(**arguments))


class ShapeCase(fleet_fio_case.FleetFioCase):
    args = {
        'fleets': FLEETS,
        'patterns': fleet_fio_case.PATTERNS,
        'flavor': '1',
        'guests_per_tier': 2,
        'listen_every_seconds': 0,
    }

    def rows(self, title=fleet_report.FLEET_TABLE_TITLE):
        jsonschema.Draft4Validator(OUTPUT_SCHEMA).validate(
            self.scenario._output
        )
        (found,) = (
            each['data']['rows']
            for each in self.scenario._output['complete']
            if each['title'] == title
        )
        return found

    def column(self, name):
        at = fleet_report.FLEET_TABLE_COLUMNS.index(name)
        return [row[at] for row in self.rows()]

    def result(self):
        (file,) = self.results.iterdir()
        return run_result.read(file.read_bytes())

    def made(self, attribute):
        return [
            each
            for each in self.cloud.everything_made
            if hasattr(each, attribute)
        ]

    def failure(self, **args):
        return str(
            self.assertRaises(
                cloud_servers.FleetError, self.run_scenario, **args
            )
        )

    def assert_nothing_is_left(self):
        self.assertEqual(
            ({}, {}, {}),
            (
                self.cloud.servers_by_id,
                self.cloud.volumes_by_id,
                self.cloud.groups_by_id,
            ),
        )


class ClockStartTest(ShapeCase):
    def test_it_needs_no_start_volume_and_boots_all_at_once(self):
        del self.scenario.context['cinder_tiers_start_signal']
        self.run_scenario(start=CLOCK)
        self.assertEqual(
            [1] * 4, [volume.size for volume in self.made('image')]
        )
        self.assertEqual(
            {'image-db': 2, 'image-plain': 2},
            collections.Counter(volume.image for volume in self.made('image')),
        )
        self.assertEqual(4, self.cloud.most_in_build)
        self.assert_nothing_is_left()

    def test_nova_is_asked_for_some_servers_at_once(self):
        """Without a volume that one after another must take."""
        self.cloud.seconds_per_create = 0.1
        self.run_scenario(start=CLOCK)
        self.assertEqual(4, self.cloud.most_asked)
        self.assertEqual(
            ['g000', 'g001', 'g002', 'g003'],
            [guest.guest for guest in self.result().guests],
        )
        self.assert_nothing_is_left()
        self.cloud.most_asked = 0
        self.run_scenario(result_folder=str(self.results / 'in-turn'))
        self.assertEqual(1, self.cloud.most_asked)

    def test_of_many_servers_none_is_left_if_one_is_refused(self):
        self.cloud.seconds_per_create = 0.02
        self.cloud.most_servers = 13
        error = self.assertRaises(
            nova_exceptions.Forbidden,
            self.run_scenario,
            start=CLOCK,
            guests_per_tier=15,
        )
        self.assertIn('Quota exceeded for instances', str(error))
        self.assertEqual({}, self.cloud.servers_by_id)
        self.assertEqual(
            [],
            [
                each
                for each in self.cloud.volumes_by_id.values()
                if each.servers
            ],
        )

    def test_cinder_is_asked_for_some_volumes_at_once(self):
        """Each guest has its own, and all are deleted likewise."""
        self.cloud.seconds_per_volume = 0.1
        self.run_scenario(
            start=CLOCK,
            guests_per_tier=6,
            volume={'kind': 'data', 'source': 'image', 'per_guest': 2},
        )
        self.assertEqual(duration.BOOTS_AT_ONCE, self.cloud.most_volumes_asked)
        servers = self.made('orders')
        self.assertEqual(12, len(servers))
        volumes = [
            volume
            for server in servers
            for volume in (*server.boots_from, *server.data)
        ]
        self.assertEqual(36, len({volume.id for volume in volumes}))
        for server in servers:
            self.assertEqual(2, len(server.data))
            self.assertEqual(
                {
                    'image-db'
                    if server.orders['CT_GUEST'] < 'g006'
                    else 'image-plain'
                },
                {volume.image for volume in server.data},
            )
        self.assert_nothing_is_left()

    def test_of_many_volumes_none_is_left_if_one_is_refused(self):
        self.cloud.seconds_per_volume = 0.02
        self.cloud.most_volumes = 13
        self.assertRaises(
            cinder_exceptions.OverLimit,
            self.run_scenario,
            guests_per_tier=30,
        )
        self.assertEqual(13, len(self.made('image')))
        self.assert_nothing_is_left()

    def test_of_many_volumes_none_is_left_after_an_interruption(self):
        """The main thread waits; requests that are under way end first."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        asked = []

        def interrupt():
            asked.append(None)
            if len(asked) == 13:
                os.kill(os.getpid(), signal.SIGINT)

        self.cloud.seconds_per_volume = 0.05
        self.cloud.volume_asked = interrupt
        self.assertRaises(
            KeyboardInterrupt, self.run_scenario, guests_per_tier=30
        )
        made = len(self.made('image'))
        self.assertLessEqual(13, made)
        self.assertLess(made, 40)
        self.assert_nothing_is_left()

    def test_a_volume_that_is_refused_keeps_no_other_from_deletion(self):
        self.cloud.seconds_per_volume = 0.01
        delete, kept = self.cloud.delete_volume, []

        def refuse_first(volume):
            if not kept:
                kept.append(volume)
                raise cinder_exceptions.BadRequest(400, 'it has a snapshot')
            delete(volume)

        self.cloud.delete_volume = refuse_first
        self.run_scenario(guests_per_tier=10)
        (left,) = self.cloud.volumes_by_id
        self.assertIn(
            f'Left to the cleanup of Rally: not deleted: {left}: it has a'
            f' snapshot',
            self.log.output,
        )

    def test_with_a_start_volume_they_boot_one_after_another(self):
        self.run_scenario()
        self.assertEqual(1, self.cloud.most_in_build)
        self.assertEqual(
            ["the leader's, over the start volume"] * 2,
            self.column('common clock'),
        )

    def test_guests_are_told_one_time_that_is_ahead(self):
        self.run_scenario(start={'by': 'clock', 'after_seconds': 77})
        told = {
            (
                server.orders['CT_START_AT'],
                server.orders['CT_ORDERED_AT'],
                server.orders['CT_START_SERIAL'],
            )
            for server in self.made('orders')
        }
        ((at, ordered_at, serial),) = told
        self.assertEqual((77, ''), (int(at) - int(ordered_at), serial))

    def test_the_result_says_how_far_clocks_may_be_off(self):
        self.run_scenario(start=CLOCK)
        self.assertEqual(
            ['wall clock; clock error at most 10.4 ms'] * 2,
            self.column('common clock'),
        )
        guest = self.result().guests[0]
        self.assertEqual(
            (
                'complete',
                None,
                10.4,
                'the start was by wall time; chrony keeps its clock',
            ),
            (
                guest.verdict,
                guest.clock_offset_ms,
                guest.clock_error_ms,
                guest.clock_reason,
            ),
        )

    def test_without_knowing_that_a_start_skew_has_no_error(self):
        self.cloud.clocks = 'sync=nobody bound=-'
        self.run_scenario(start=CLOCK)
        self.assertEqual(
            'wall clock; clock error unknown for 2 of 2 guests: g000:'
            ' the start was by wall time; no time service keeps its clock',
            self.column('common clock')[0],
        )
        skew = tables.TIER_TABLE_COLUMNS.index('its error ms')
        self.assertEqual(
            ['-'] * 4,
            [row[skew] for row in self.rows(tables.TIER_TABLE_TITLE)],
        )
        found = self.result()
        self.assertIsNone(
            found.tiers[0].patterns[0].slots[0].merged.start_skew_error_ms
        )
        self.assertIsNone(found.guests[0].clock_error_ms)

    def test_a_late_guest_does_not_hold_up_the_others(self):
        def late(lines):
            run = lines[0].split()[2]
            return [
                *lines[:3],
                fake_cloud.console_text.event(
                    4,
                    'LATE : ready 2.3 s after the start by its clock',
                    guest='g003',
                    run=run,
                ),
            ]

        self.cloud.guests_do['g003'] = late
        self.assertIn(
            'g003 (general): late: ready 2.3 s after the start',
            self.failure(start=CLOCK),
        )
        self.assertEqual(
            ['complete'] * 2 + ['1 of 2 guests'] * 2,
            [row[-1] for row in self.rows(tables.TIER_TABLE_TITLE)],
        )
        self.assert_nothing_is_left()


class DataVolumeTest(ShapeCase):
    def test_guests_work_on_a_clone_and_boot_from_another_image(self):
        self.cloud.images_by_name['small'] = ['image-small']
        self.run_scenario(
            volume={
                'kind': 'data',
                'source': 'image',
                'boot_image': 'small',
                'size_gib': 3,
            }
        )
        servers = self.made('boots_from')
        self.assertEqual(
            [['image-small']] * 4,
            [
                [volume.image for volume in server.boots_from]
                for server in servers
            ],
        )
        self.assertEqual(
            [[('image-db', None, 3)]] * 2 + [[('image-plain', None, 3)]] * 2,
            [
                [
                    (volume.image, volume.volume_type, volume.size)
                    for volume in server.data
                ]
                for server in servers
            ],
        )
        self.assertEqual(
            'data volume, clone of image db where the backend clones',
            self.column('fio works on')[0],
        )
        self.assertEqual('db (image-db)', self.result().tiers[0].image.value)
        self.assert_nothing_is_left()

    def test_each_of_several_volumes_has_figures_of_its_own(self):
        self.run_scenario(
            volume={'kind': 'data', 'source': 'image', 'per_guest': 3}
        )
        data = [
            tuple(volume.id for volume in server.data)
            for server in self.made('boots_from')
        ]
        self.assertEqual([3] * 4, [len(set(of_guest)) for of_guest in data])
        found = self.result()
        self.assertEqual(
            'data volume, clone of image db where the backend clones, 3 for'
            ' each guest',
            self.column('fio works on')[0],
        )
        self.assertIn(
            '3 for each guest', found.environment['clone_or_flat'].value
        )
        guests = [
            guest
            for tier in found.tiers
            for guest in tier.patterns[0].slots[0].guests
        ]
        self.assertEqual(
            data,
            [tuple(each.volume for each in guest.volumes) for guest in guests],
        )
        for guest in guests:
            self.assertEqual(
                (guest.iops, guest.total_ios, guest.bw_bytes),
                (
                    sum(each.iops for each in guest.volumes),
                    sum(each.total_ios for each in guest.volumes),
                    sum(each.bw_bytes for each in guest.volumes),
                ),
            )
        self.assert_nothing_is_left()

    def test_one_of_a_guests_volumes_on_the_wrong_tier_is_enough(self):
        self.cloud.images_by_name['small'] = ['image-small']
        self.cloud.types_of_volumes = {
            'image-db': ['fast', 'fast', 'fast', 'slow'],
            'image-plain': ['slow'] * 4,
        }
        failure = self.failure(
            fleets=[{**FLEETS[0], 'expected_volume_type': 'fast'}, FLEETS[1]],
            volume={
                'kind': 'data',
                'source': 'image',
                'boot_image': 'small',
                'per_guest': 2,
            },
        )
        self.assertIn(
            'g001 (database): wrong tier: its volume has the volume type'
            ' slow, expected fast',
            failure,
        )
        self.assertEqual(
            ['complete', 'wrong tier', 'complete', 'complete'],
            [guest.verdict for guest in self.result().guests],
        )

    def test_a_blank_volume_has_the_type_of_its_tier(self):
        self.cloud.volume_type_names |= {'database', 'slow'}
        self.run_scenario(
            volume={'kind': 'data', 'source': 'blank'},
            fleets=[FLEETS[0], {**FLEETS[1], 'volume_type': 'slow'}],
        )
        self.assertEqual(
            [(None, 'database')] * 2 + [(None, 'slow')] * 2,
            [
                (volume.image, volume.volume_type)
                for server in self.made('data')
                for volume in server.data
            ],
        )
        self.assertEqual(['database', 'slow'], self.column('volume types'))
        found = self.result()
        self.assertEqual(
            ['database', 'slow'],
            [tier.volume_types.value for tier in found.tiers],
        )
        self.assertEqual(
            'blank data volume (flat), region filled',
            found.environment['clone_or_flat'].value,
        )

    def test_types_that_do_not_exist_are_named_before_anything_is_made(self):
        self.assertIn(
            "no volume type 'database', 'general' that this project may use:"
            ' found c_rally_start;',
            self.failure(volume={'kind': 'data', 'source': 'blank'}),
        )
        self.assertEqual([], self.cloud.everything_made)

    def test_a_region_that_was_not_filled_is_told(self):
        self.run_scenario(volume={'kind': 'boot', 'fill': False})
        self.assertEqual(['region not filled'] * 2, self.column('before'))
        self.assertEqual(
            'database: boot volume, clone of image db where the backend'
            ' clones, region not filled; general: boot volume, clone of image'
            ' plain where the backend clones, region not filled',
            self.result().environment['clone_or_flat'].value,
        )
        self.assertEqual(
            {''}, {server.orders['CT_PREP'] for server in self.made('orders')}
        )


class SpreadTest(ShapeCase):
    def test_guests_of_a_tier_are_on_different_hosts(self):
        self.run_scenario()
        self.assertEqual(
            ['host-1', 'host-2'] * 2,
            [guest.host for guest in self.result().guests],
        )
        self.assertEqual([2, 2], self.column('compute hosts'))
        groups = self.made('members')
        self.assertEqual([2, 2], [len(group.members) for group in groups])
        self.assertEqual(
            [],
            [
                group.name
                for group in groups
                if not group.name.startswith('s_rally_')
            ],
        )
        self.assert_nothing_is_left()

    def test_it_can_be_left_to_nova(self):
        self.run_scenario(spread=False)
        self.assertEqual([], self.made('members'))
        self.assertEqual([1, 1], self.column('compute hosts'))

    def test_a_cloud_that_refuses_groups_measures_all_the_same(self):
        self.cloud.group_quota = 1
        self.run_scenario()
        self.assertEqual([2, 1], self.column('compute hosts'))
        self.assertIn(
            'Guests of tier general may share hosts: Nova refuses a'
            ' server group: Quota exceeded',
            self.log.output,
        )
        self.assert_nothing_is_left()

    def test_so_does_one_whose_groups_are_too_small(self):
        self.cloud.limits['maxServerGroupMembers'] = 2
        self.run_scenario(guests_per_tier=4, fleets=FLEETS[:1])
        self.assertEqual(
            ['host-1', 'host-2', 'host-1', 'host-1'],
            [guest.host for guest in self.result().guests],
        )
        self.assertEqual(
            1,
            self.log.output.count(
                'The guests of tier database from the 3. on may share hosts:'
                ' the quota server_group_members of Nova is 2'
            ),
        )
        self.assert_nothing_is_left()

    def test_the_quota_may_be_without_a_limit(self):
        self.cloud.limits['maxServerGroupMembers'] = -1
        self.run_scenario(guests_per_tier=4, fleets=FLEETS[:1])
        self.assertEqual(
            ['host-1', 'host-2'] * 2,
            [guest.host for guest in self.result().guests],
        )

    def test_where_nova_lists_no_such_limit_there_are_no_groups(self):
        """One too many would be refused with its volumes reserved."""
        del self.cloud.limits['maxServerGroupMembers']
        self.run_scenario()
        self.assertEqual([1, 1], self.column('compute hosts'))
        self.assertIn(
            'Guests of a tier may share hosts: Nova lists no limit'
            ' maxServerGroupMembers',
            self.log.output,
        )

    def test_a_host_that_nova_does_not_tell_is_not_counted(self):
        self.cloud.hosts = ('',)
        self.run_scenario()
        self.assertEqual(['-', '-'], self.column('compute hosts'))
        self.assertIsNone(self.result().guests[0].host)


def shape(**args):
    return fleet_shape.from_arguments(
        **{
            'fleets': FLEETS,
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
        ({'fleets': [{**FLEETS[0], 'volume_type': 'x'}]}, 'blank data'),
    )
    @ddt.unpack
    def test_what_does_not_fit_is_refused(self, args, message):
        self.assertIn(
            message, str(self.assertRaises(ValueError, shape, **args))
        )

    def test_several_volumes_take_longer_and_need_one_job_each(self):
        arguments = {
            'fleets': FLEETS[:1],
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
            'fleets': FLEETS,
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
            'fleets': FLEETS,
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
            fleets=FLEETS,
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
                    fleets=FLEETS,
                    patterns=fleet_fio_case.PATTERNS,
                    guests_per_tier=2,
                    side_by_side=side_by_side,
                )
                for side_by_side in (False, True)
            )
        ]
        self.assertEqual([4 + 2, 4 + 2 * len(FLEETS)], lead_seconds)

    def test_a_region_must_fit_the_data_volume(self):
        error = self.assertRaises(
            ValueError,
            planned,
            fleets=FLEETS,
            patterns=fleet_fio_case.PATTERNS,
            region_mib=1025,
            volume={'kind': 'data', 'source': 'image'},
        )
        self.assertIn(
            'region_mib 1025 on data volumes of 1 GiB: expected at most 1024',
            str(error),
        )


class ZonesTest(ShapeCase):
    """Availability zones of servers and of volumes."""

    def zones(self, attribute):
        return {each.availability_zone for each in self.made(attribute)}

    def test_each_service_chooses_unless_told(self):
        self.run_scenario()
        self.assertEqual({'nova'}, self.zones('boots_from'))
        self.assertEqual({'nova'}, self.zones('size'))

    def test_all_servers_and_all_volumes_are_in_the_zones_named(self):
        self.run_scenario(
            zones={'compute': 'az-1', 'volume': 'az-2'},
            volume={'kind': 'data', 'source': 'image'},
        )
        self.assertEqual({'az-1'}, self.zones('boots_from'))
        # The start volume, too: it is attached to servers of that zone.
        self.assertEqual({'az-2'}, self.zones('size'))

    def test_one_of_them_is_enough(self):
        self.run_scenario(zones={'volume': 'az-2'})
        self.assertEqual({'nova'}, self.zones('boots_from'))
        self.assertEqual({'az-2'}, self.zones('size'))
