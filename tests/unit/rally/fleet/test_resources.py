# SPDX-License-Identifier: Apache-2.0

"""Servers and volumes of a fleet: made, booted in turn or not, deleted."""

import collections
import os
import signal

from cinderclient import exceptions as cinder_exceptions
from novaclient import exceptions as nova_exceptions
from rally import plugins

plugins.load()  # rally_openstack cannot be imported before

from cinder_tiers.figures.fleet import duration
from rally_scenarios.plugins.report import tables
from tests.unit.rally import fake_cloud
from tests.unit.rally.fleet import test_shape


CLOCK = {'by': 'clock', 'after_seconds': 1}


class ClockStartTest(test_shape.ShapeCase):
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
