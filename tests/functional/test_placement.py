# SPDX-License-Identifier: Apache-2.0
"""What the table of `test_placement_matrix` cannot say of a placement."""

from tests.functional import lab

ARCHIVE = 'cinder-tiers-guest-archive'


class PlacementTest(lab.LabTestCase):
    def test_the_data_of_an_erasure_coded_tier_lies_in_its_data_pool(self):
        volume = self.create_volume('--image', ARCHIVE)
        info, _ = self.run_command(
            'rbd', 'info', f'tier-archive/volume-{volume}'
        )
        self.assertIn('data_pool: tier-archive-data', info)

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
