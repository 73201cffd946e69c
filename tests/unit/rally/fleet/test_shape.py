# SPDX-License-Identifier: Apache-2.0


"""Fleets of every shape: what starts them, what they work on, where."""

import jsonschema
from rally.common.objects import task as task_objects
from rally import plugins

plugins.load()  # rally_openstack cannot be imported before

from cinder_tiers.figures.result import result as run_result
from rally_scenarios.plugins.fleet import report as fleet_report
from rally_scenarios.plugins import servers as cloud_servers
from tests.unit.rally import fleet_fio_case

OUTPUT_SCHEMA = task_objects.TASK_SCHEMA['definitions']['output']
FLEETS = [
    {'tier': 'database', 'image': 'db'},
    {'tier': 'general', 'image': 'plain'},
]


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
