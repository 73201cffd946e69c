# SPDX-License-Identifier: Apache-2.0

"""`openstack tier explain` says what really happens."""

from tests.functional import lab

DATABASE = 'cinder-tiers-guest-database'


class ExplainTest(lab.LabTestCase):
    def explain(self, *options, expect=0, cloud='cinder-tiers-lab'):
        return self.ask(
            'openstack',
            'tier',
            'explain',
            *options,
            cloud=cloud,
            expect=expect,
        )

    def test_an_administrator_is_told_the_tier_of_an_image(self):
        shown = self.explain('--image', DATABASE)
        self.assertEqual(
            ('placed', 'database', 'database'),
            (shown['outcome'], shown['tier'], shown['volume_type']),
        )
        self.assertEqual(
            {'archive', 'general'},
            {one['tier'] for one in shown['alternatives']},
        )
        self.assertEqual(
            ['cinder-tiers-lab@tier-database#tier-database'],
            [
                one['name']
                for one in shown['backends']
                if one['verdict'] == 'own'
            ],
        )

    def test_a_member_is_told_what_is_hidden(self):
        shown = self.explain('--image', DATABASE, expect=3, cloud=lab.MEMBER)
        self.assertEqual(
            ('unknown', None, ['database']),
            (shown['outcome'], shown['tier'], shown['image']['tags']),
        )
        self.assertIn(
            'volume_extension:types_extra_specs:read_sensitive',
            [one['policy'] for one in shown['hidden']],
        )

    def test_a_volume_is_where_it_should_be(self):
        volume = self.create_volume('--image', DATABASE)
        shown = self.explain('--volume', volume)
        self.assertEqual(
            ('in place', 'database'), (shown['outcome'], shown['tier'])
        )
        self.assertIn(self.pool_of(volume), shown['volume']['host'])
        self.explain('--volume', volume, expect=3, cloud=lab.MEMBER)

    def test_what_is_explained_is_what_happens(self):
        volume = self.create_volume('--type', 'archive', '--image', DATABASE)
        shown = self.explain('--image', DATABASE, '--type', 'archive')
        self.assertEqual(f'tier-{shown["tier"]}', self.pool_of(volume))
        shown = self.explain('--volume', volume)
        self.assertEqual(
            ('in place', 'archive'), (shown['outcome'], shown['tier'])
        )
        self.assertIn(
            'a new volume from its image would currently go to tier database',
            ' '.join(shown['notes']),
        )
