# SPDX-License-Identifier: Apache-2.0

"""The type of a volume that a real cinder-api created behind our door.

Every test looks at the volume's row in the database, and at what the API
answered. Which rule applies is the business of tests/cases/placement.
"""

import ddt

from tests.unit.api import api_fixture

OTHER_PROJECT = api_fixture.OTHER_PROJECT


@ddt.ddt
class TypesTestCase(api_fixture.ApiTestCase):
    def setUp(self):
        super().setUp()
        self.image = self.glance.add_image('database')

    @ddt.data({}, {'volume_type': None}, {'volume_type': ''})
    def test_without_a_type_the_image_decides(self, request):
        self.assert_type('database', imageRef=self.image, **request)
        self.assert_type('general', **request)

    def test_so_it_does_with_a_type_that_follows_it(self):
        for follow in ('image-tier', self.follow):
            self.assert_type(
                'database', imageRef=self.image, volume_type=follow
            )
            self.assert_type('general', volume_type=follow)

    def test_another_type_is_left_alone(self):
        for explicit in ('plain', self.types['plain']):
            self.assert_type(
                'plain', imageRef=self.image, volume_type=explicit
            )
        self.assertNotIn('cinder-tiers', self.glance.agents)

    def test_the_type_of_a_tier_can_be_asked_for(self):
        for explicit in ('general', self.types['general']):
            self.assert_type(
                'general', imageRef=self.image, volume_type=explicit
            )
        self.assertNotIn('cinder-tiers', self.glance.agents)

    # Which spellings are the same is the database's to say: test_bypasses.
    @ddt.data(
        'nothing',
        ' ',
        'x' * 255,
        'x' * 256,
        api_fixture.PROJECT,
        7,
        [],
        {},
        True,
        ['image-tier'],
    )
    def test_an_unknown_type_is_refused_by_cinder(self, unknown):
        answer = self.assert_as_cinder_alone(volume_type=unknown)
        # 500 for what is not text.
        self.assertIn(answer.status, (400, 404, 500))

    def test_a_private_type_that_follows_the_image(self):
        """Cinder hides it from others."""
        self.add_type(
            'mine', [api_fixture.PROJECT], tiers_follow_image='<is> True'
        )
        for follow in ('mine', self.types['mine']):
            self.assert_type(
                'database', imageRef=self.image, volume_type=follow
            )
            answer = self.assert_as_cinder_alone(
                project=OTHER_PROJECT, volume_type=follow
            )
            self.assertEqual(404, answer.status)

    def test_an_admin_may_use_every_type(self):
        self.add_type('mine', [], tiers_follow_image='<is> True')
        self.assert_type(
            'database',
            imageRef=self.image,
            roles='admin',
            volume_type=self.types['mine'],
        )

    def test_without_tiers_all_is_as_cinder_does_it(self):
        for name in ('database', 'general'):
            self.cinder.delete_type(self.types[name])
        self.assert_type('plain', imageRef=self.image)
        self.assert_type(
            'image-tier', volume_type='image-tier', imageRef=self.image
        )
        self.assertNotIn('cinder-tiers', self.glance.agents)

    def test_all_else_of_a_request_stays(self):
        sent, kept = '\ud83d\ude00', '\U0001f600'
        if self.cinder.engine.name == 'mysql':
            # Made as DevStack makes it, it has no more than 3 bytes for one.
            sent = kept = '\u263a'
        row = self.assert_type(
            'general',
            name=' name\u202e ',
            description=sent,
            metadata={'key': 'value'},
            availability_zone='nova',
            size='2',
        )
        self.assertEqual(
            ('name\u202e', kept, {'key': 'value'}, 'nova', 2),
            (
                row.display_name,
                row.display_description,
                row.metadata,
                row.availability_zone,
                row.size,
            ),
        )


@ddt.ddt
class ImagesTestCase(api_fixture.ApiTestCase):
    def test_an_image_can_be_named_in_several_ways(self):
        image = self.glance.add_image('database', name='debian 12/x')
        for ref in (
            image,
            'debian 12/x',
            f'http://host/v2/images/{image}',
            f'/{image}',
        ):
            self.assert_type('database', imageRef=ref)
            self.assert_type('database', image_id=ref)

    def test_of_two_references_the_one_that_cinder_takes_counts(self):
        tagged = self.glance.add_image('database')
        untagged = self.glance.add_image()
        self.assert_type('database', image_id=tagged, imageRef=untagged)
        self.assert_type('general', image_id=untagged, imageRef=tagged)
        row = self.assert_type('general', image_id=None, imageRef=tagged)
        self.assertFalse(row.glance_metadata)

    @ddt.data(
        api_fixture.PROJECT,
        'nothing',
        '',
        '/',
        '\ud800',
        'in:"a',
        'x' * 255,
        'x' * 256,
        'x' * 100000,
        7,
        [],
        {},
    )
    def test_an_unknown_image_is_refused_by_cinder(self, unknown):
        self.assertEqual(
            400, self.assert_as_cinder_alone(imageRef=unknown).status
        )
        self.assertEqual(
            400, self.assert_as_cinder_alone(image_id=unknown).status
        )

    def test_what_one_user_asks_for_takes_no_tags_from_others(self):
        """Whatever Glance says to it: it opens no circuit breaker."""
        self.glance.listing = 400
        for number in range(4):
            for ref in (
                'in:"a',
                '\ud800',
                'x' * 256,
                self.glance.answer(403),
                f'{number:032}' + '-' * 200,
            ):
                self.api.create(imageRef=ref)
        self.assert_type(
            'database', imageRef=self.glance.add_image('database')
        )

    def test_several_images_of_a_name_are_refused_by_cinder(self):
        for _ in range(2):
            self.glance.add_image('database', name='debian')
        self.assertEqual(
            409, self.assert_as_cinder_alone(imageRef='debian').status
        )

    def test_the_tier_of_the_highest_priority(self):
        self.add_type(
            'log', tiers_name='log', tiers_tags='log', tiers_priority='30'
        )
        self.assert_type(
            'log', imageRef=self.glance.add_image('database', 'other', ' LOG ')
        )

    def test_whose_tags_count(self):
        """The rule is in tests/cases/placement; here, that it is asked."""
        image = self.glance.add_image(
            'database', owner=OTHER_PROJECT, visibility='shared'
        )
        for trust, tier in (
            ('own_and_public', 'general'),
            ('all', 'database'),
        ):
            self.api.configure(trust_tags_of=trust)
            self.assert_type(tier, imageRef=image)

    def test_a_warm_door_does_not_ask_glance(self):
        image = self.glance.add_image('database')
        for _ in range(3):
            self.assert_type('database', imageRef=image)
        self.assertEqual(1, self.glance.agents.count('cinder-tiers'))

    def test_a_type_that_the_image_names(self):
        self.assert_type(
            'plain',
            imageRef=self.glance.add_image(
                'database', cinder_img_volume_type='plain'
            ),
        )
        self.assert_type(
            'database',
            imageRef=self.glance.add_image(
                'database', cinder_img_volume_type='image-tier'
            ),
        )
        image = self.glance.add_image(
            'database', cinder_img_volume_type='nothing'
        )
        self.assertEqual(
            404, self.assert_as_cinder_alone(imageRef=image).status
        )
        # It is the request's type that counts, if there is one.
        self.assert_type('database', imageRef=image, volume_type='image-tier')

    def test_the_default_type_of_the_project(self):
        image = self.glance.add_image('database', visibility='public')
        self.cinder.set_project_default(self.types['plain'])
        self.assert_type('plain', imageRef=image)
        self.assert_type('plain')
        self.assert_type('database', imageRef=image, project=OTHER_PROJECT)
        self.assert_type('database', imageRef=image, volume_type='image-tier')
        self.assert_type(
            'database',
            imageRef=self.glance.add_image(
                'database', cinder_img_volume_type='image-tier'
            ),
        )
        self.cinder.set_project_default(self.follow)
        self.assert_type('database', imageRef=image)
        self.assert_type('general')

    def test_a_default_type_that_comes_last(self):
        """It takes the place of the fallback tier, and not of the tags."""
        image = self.glance.add_image('database', visibility='public')
        untagged = self.glance.add_image(visibility='public')
        self.cinder.set_project_default(self.types['plain'])
        self.api.configure(project_type='last')
        self.assert_type('database', imageRef=image)
        self.assert_type('plain', imageRef=untagged)
        self.assert_type('plain')
        self.assert_type('general', project=OTHER_PROJECT)
        self.assert_type('general', imageRef=untagged, project=OTHER_PROJECT)


@ddt.ddt
class MetadataTestCase(api_fixture.ApiTestCase):
    """Volumes that ask for a tier by their metadata."""

    def setUp(self):
        super().setUp()
        self.api.configure(metadata_key='tier')

    def test_a_blank_volume_goes_by_its_metadata(self):
        for value in ('database', ' DataBase '):
            self.assert_type('database', metadata={'tier': value})
            self.assert_type(
                'database', metadata={'tier': value}, volume_type=self.follow
            )

    def test_as_a_storage_class_of_kubernetes_asks(self):
        """The body of gophercloud, with appendVolumeMetadata of cinder-csi."""
        for number in range(10):
            self.assert_type(
                'database',
                name=f'pvc-5a4b7b0{number}',
                availability_zone='nova',
                metadata={
                    'cinder.csi.openstack.org/cluster': 'kubernetes',
                    'csi.storage.k8s.io/pv/name': f'pvc-5a4b7b0{number}',
                    'csi.storage.k8s.io/pvc/name': f'data-postgres-{number}',
                    'csi.storage.k8s.io/pvc/namespace': 'default',
                    'tier': 'database',
                },
            )

    def test_each_create_of_a_member_goes_by_what_it_says(self):
        self.add_type('caf\xe9', tiers_name='caf\xe9', tiers_tags='caf\xe9')
        self.add_type(
            'premium',
            [OTHER_PROJECT],
            tiers_name='premium',
            tiers_tags='premium',
            tiers_priority='90',
        )
        asked = (
            ('database', {'tier': 'DATABASE'}),
            ('database', {'Tier': 'premium', 'tier': 'database'}),
            ('caf\xe9', {'tier': 'CAFE\N{COMBINING ACUTE ACCENT}'}),
            ('general', {'tier': 'premium'}),
            ('general', {'tier': 'premium' + 248 * ' '}),
            ('general', {'tier': ''}),
        )
        others = {f'{number:0>255}': 'premium' for number in range(127)}
        for name, metadata in (
            *asked,
            ('database', {**others, 'tier': 'database'}),
        ):
            row = self.assert_type(name, metadata=metadata)
            self.assertEqual(metadata, row.metadata)

    def test_what_is_written_later_moves_nothing(self):
        row = self.assert_type('database', metadata={'tier': 'database'})
        for metadata in ({'tier': 'general'}, {'tier': ''}, {'Tier': 'x'}):
            for method in ('POST', 'PUT'):
                answer = self.api.post(
                    f'volumes/{row.id}/metadata',
                    {'metadata': metadata},
                    method=method,
                )
                self.assertEqual(200, answer.status, answer.body)
                now = self.api.row(row.id)
                self.assertEqual(
                    (row.volume_type_id, row.host, row.status),
                    (now.volume_type_id, now.host, now.status),
                )

    def test_it_counts_only_where_the_operator_says_so(self):
        image = self.glance.add_image()
        metadata = {'tier': 'database'}
        self.assert_type('general', imageRef=image, metadata=metadata)
        self.api.configure(metadata_with_image=True)
        self.assert_type('database', imageRef=image, metadata=metadata)
        self.api.configure(metadata_key='storage')
        self.assert_type('general', metadata=metadata)
        self.api.configure(metadata_key=None)
        self.assert_type('general', metadata=metadata)

    def test_a_tag_of_the_image_comes_first(self):
        self.add_type(
            'log', tiers_name='log', tiers_tags='log', tiers_priority='90'
        )
        self.api.configure(metadata_with_image=True)
        self.assert_type(
            'database',
            imageRef=self.glance.add_image('database'),
            metadata={'tier': 'log'},
        )

    def test_a_named_type_comes_before_it(self):
        self.assert_type(
            'plain', volume_type='plain', metadata={'tier': 'database'}
        )

    @ddt.data(
        None,
        {},
        {'tier': ''},
        {'tier': 'x' * 255},
        {'tier': 'database,general'},
        {'tier': '\x1b[31mdatabase\r\n'},
        {'Tier': 'database', 'TIER': 'database', 'tier ': 'database'},
        {'tier': 'data\u200bbase'},
        {'tier': '\u202edatabase'},
        {'tier': '\uff44atabase'},
        {'tier': 'database\N{COMBINING ACUTE ACCENT}'},
        {f'key-{number}': 'database' for number in range(128)},
        {'tier': '\N{LATIN SMALL LETTER D WITH CARON}atabase'},
    )
    def test_what_names_no_tag_is_as_nothing(self, metadata):
        self.assert_type('general', metadata=metadata)

    @ddt.data(7, [], {'tier': 7}, {'tier': None}, {'tier': ['database']})
    def test_what_cinder_refuses_is_refused_by_cinder(self, metadata):
        self.assert_as_cinder_alone(metadata=metadata)

    def test_no_private_tier_is_entered(self):
        self.add_type(
            'premium',
            [OTHER_PROJECT],
            tiers_name='premium',
            tiers_tags='premium',
        )
        metadata = {'tier': 'premium'}
        self.assert_type('general', metadata=metadata)
        self.assert_type('premium', metadata=metadata, project=OTHER_PROJECT)
        self.api.configure(on_no_access='refuse')
        answer = self.api.create(metadata=metadata)
        self.assertEqual(403, answer.status)
        self.assertNotIn(b'premium', answer.body)
        self.assertIn(b'metadata of the volume', answer.body)

    def test_a_refusal_says_what_selects_the_tier(self):
        self.add_type(
            'premium',
            [OTHER_PROJECT],
            tiers_name='premium',
            tiers_tags='premium',
        )
        self.api.configure(metadata_with_image=True, on_no_access='refuse')
        metadata = {'tier': 'premium'}
        for tags, told in (
            (['premium'], b'A tag of the image selects'),
            ([], b'The metadata of the volume select'),
        ):
            answer = self.api.create(
                imageRef=self.glance.add_image(*tags), metadata=metadata
            )
            self.assertEqual(403, answer.status)
            self.assertIn(told, answer.body)
