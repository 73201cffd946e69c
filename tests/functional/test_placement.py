# SPDX-License-Identifier: Apache-2.0
"""Tagged images reach their tiers from any client."""

import time

from tests.functional import lab

DATABASE = 'cinder-tiers-guest-database'
ARCHIVE = 'cinder-tiers-guest-archive'
UNTAGGED = 'cinder-tiers-guest'


class PlacementTest(lab.LabTestCase):
    def assert_lands(self, pool, *options, cloud=lab.MEMBER):
        volume = self.create_volume(*options, cloud=cloud)
        self.assertEqual(pool, self.pool_of(volume))
        return volume

    def test_a_members_volume_of_a_tagged_image_lies_on_its_tier(self):
        self.assert_lands('tier-database', '--image', DATABASE)

    def test_an_administrators_volume_does_so_too(self):
        volume = self.assert_lands(
            'tier-database', '--image', DATABASE, cloud='cinder-tiers-lab'
        )
        shown = self.ask('openstack', 'volume', 'show', volume)
        self.assertEqual(
            'cinder-tiers-lab@tier-database#tier-database',
            shown['os-vol-host-attr:host'],
        )
        self.assertEqual('database', shown['type'])

    def test_the_data_of_an_erasure_coded_tier_lies_in_its_data_pool(self):
        volume = self.assert_lands('tier-archive', '--image', ARCHIVE)
        info, _ = self.run_command(
            'rbd', 'info', f'tier-archive/volume-{volume}'
        )
        self.assertIn('data_pool: tier-archive-data', info)

    def test_an_untagged_image_goes_to_the_fall_back(self):
        self.assert_lands('tier-general', '--image', UNTAGGED)

    def test_a_blank_volume_goes_to_the_fall_back(self):
        self.assert_lands('tier-general')

    def test_an_explicit_type_wins_over_the_tag(self):
        self.assert_lands(
            'tier-archive', '--image', DATABASE, '--type', 'archive'
        )

    def test_a_new_tag_counts_when_the_doors_have_forgotten_the_old_ones(self):
        name = self.unique_name('image')
        self.run_command(
            'openstack',
            'image',
            'create',
            '--disk-format',
            'raw',
            '--container-format',
            'bare',
            '--file',
            str(self.root / 'cache' / 'guest.raw'),
            name,
            cloud=lab.MEMBER,
        )
        self.addCleanup(
            self.run_command,
            'openstack',
            'image',
            'delete',
            name,
            cloud=lab.MEMBER,
        )
        before = self.create_volume('--image', name)
        self.run_command(
            'openstack',
            'image',
            'set',
            '--tag',
            ' DataBase ',
            name,
            cloud=lab.MEMBER,
        )
        lab.wait_until_tags_are_known()
        after = self.create_volume('--image', name)
        self.assertEqual(
            ('tier-general', 'tier-database'),
            (self.pool_of(before), self.pool_of(after)),
        )

    def remove_server(self, name):
        for row in self.ask(
            'openstack', 'server', 'list', '--name', name, cloud=lab.MEMBER
        ):
            volumes = self.ask('openstack', 'server', 'show', row['ID'])[
                'volumes_attached'
            ]
            self.run_command(
                'openstack', 'server', 'delete', '--wait', row['ID']
            )
            for volume in volumes:
                self.delete_volume(volume['id'])

    def test_a_server_of_a_member_boots_from_its_images_tier(self):
        name = self.unique_name('server')
        user_data = self.root / 'run' / f'{name}.sh'
        user_data.write_text('#!/bin/sh\necho hello from $((40 + 2))\n')
        self.addCleanup(user_data.unlink)
        self.addCleanup(self.remove_server, name)
        server = self.ask(
            'openstack',
            'server',
            'create',
            '--image',
            DATABASE,
            '--boot-from-volume',
            '1',
            '--flavor',
            'cinder-tiers-guest',
            '--nic',
            'none',
            '--user-data',
            str(user_data),
            '--wait',
            name,
            cloud=lab.MEMBER,
        )
        volume = self.ask('openstack', 'server', 'show', server['id'])[
            'volumes_attached'
        ][0]['id']
        self.assertEqual('tier-database', self.pool_of(volume))
        deadline = time.monotonic() + 300
        console = ''
        while 'hello from 42' not in console:
            self.assertLess(time.monotonic(), deadline, console)
            time.sleep(2)
            console, _ = self.run_command(
                'openstack',
                'console',
                'log',
                'show',
                server['id'],
                cloud=lab.MEMBER,
            )
