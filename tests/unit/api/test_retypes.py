# SPDX-License-Identifier: Apache-2.0

"""What becomes of `os-retype`, by what cinder-scheduler is told to do."""

from cinder.db import api as db_api
import ddt

from tests.unit.api import api_fixture

OTHER_PROJECT = api_fixture.OTHER_PROJECT
KEY = 'c0ffee00-0000-4000-8000-000000000000'


class RetypesCase(api_fixture.ApiTestCase):
    """A test with a cinder-scheduler that tells what it was asked for."""

    def setUp(self):
        super().setUp()
        self.casts = self.api.take_messages()

    def add_volume(self, volume_type='plain', image=None, **values):
        volume = self.api.add_volume(self.types[volume_type], **values)
        if image is not None:
            db_api.volume_glance_metadata_create(
                self.cinder.admin, volume.id, 'image_id', image
            )
        return volume

    def retype(self, volume, new_type, policy='never', **request):
        return self.api.post(
            f'volumes/{volume.id}/action',
            {'os-retype': {'new_type': new_type, 'migration_policy': policy}},
            **request,
        )

    def assert_becomes(self, name, volume, new_type, **request):
        """The retype is under way, to the type of this name."""
        answer = self.retype(volume, new_type, **request)
        self.assertEqual(202, answer.status, answer.body)
        self.assertEqual(
            name, self.names[self.casts.new_types.get(timeout=30)]
        )
        self.assertEqual('retyping', self.api.row(volume.id).status)

    def assert_stays(self, status, volume, new_type, **request):
        """Refused, and the volume is as before; the text."""
        answer = self.retype(volume, new_type, **request)
        self.assertEqual(status, answer.status, answer.body)
        row = self.api.row(volume.id)
        self.assertEqual(
            (volume.status, volume.volume_type_id),
            (row.status, row.volume_type_id),
        )
        (fault,) = answer.json.values()
        self.assertEqual(status, fault['code'])
        return fault['message']


@ddt.ddt
class FollowingTestCase(RetypesCase):
    """Retypes to a type that follows the image."""

    def setUp(self):
        super().setUp()
        self.image = self.glance.add_image('database')

    @ddt.data(None, '3.0', '3.71')
    def test_the_volume_becomes_one_of_its_tier(self, version):
        for follow in ('image-tier', self.follow):
            for policy in ('never', 'on-demand'):
                self.assert_becomes(
                    'database',
                    self.add_volume(image=self.image),
                    follow,
                    policy=policy,
                    version=version,
                )
        self.assert_becomes(
            'general', self.add_volume(), 'image-tier', version=version
        )
        self.assert_becomes(
            'general',
            self.add_volume(image=self.glance.add_image()),
            'image-tier',
            version=version,
        )

    def assert_accepted(self, volume, new_type='image-tier', **request):
        """As Cinder accepts a retype, and nothing comes of it."""
        answer = self.retype(volume, new_type, **request)
        self.assertEqual((202, b''), (answer.status, answer.body))
        row = self.api.row(volume.id)
        self.assertEqual(
            (volume.status, volume.volume_type_id, volume.updated_at),
            (row.status, row.volume_type_id, row.updated_at),
        )
        self.assertTrue(self.casts.new_types.empty())
        return answer

    def test_what_lies_on_its_tier_keeps_the_type_of_it(self):
        """Clients ask again at each run, since another type is shown."""
        volumes = [
            self.add_volume('database', self.image),
            self.add_volume('database', self.image, status='in-use'),
            self.add_volume(
                'database', self.image, migration_status='success'
            ),
            self.add_volume('general', self.glance.add_image()),
            self.add_volume('general'),
        ]
        for volume in volumes:
            for follow in ('image-tier', self.follow):
                for policy in ('never', 'on-demand'):
                    self.assert_accepted(volume, follow, policy=policy)
        self.assert_accepted(volumes[0], roles='admin')
        self.api.configure(on_retype='refuse')
        self.assert_accepted(volumes[0])

    def test_the_acceptance_is_that_of_cinder(self):
        for version in (None, '3.0', '3.71'):
            ours = self.assert_accepted(
                self.add_volume('database', self.image), version=version
            )
            theirs = self.retype(
                self.add_volume(),
                'database',
                version=version,
                has_door=False,
            )
            self.casts.new_types.get(timeout=30)
            self.assertEqual(202, theirs.status)
            self.assertEqual(
                *(
                    {
                        key: value
                        for key, value in answer.headers.items()
                        if not key.endswith('request-id')
                    }
                    for answer in (theirs, ours)
                )
            )
            self.assertEqual(theirs.headers.keys(), ours.headers.keys())

    def test_it_does_so_at_a_full_quota(self):
        for name in ('volumes_database', 'gigabytes_database'):
            db_api.quota_create(
                self.cinder.admin, api_fixture.PROJECT, name, 0
            )
        self.assert_accepted(self.add_volume('database', self.image))
        self.assert_stays(413, self.add_volume(image=self.image), 'image-tier')

    def test_what_cinder_retypes_in_no_state_is_cinders(self):
        for values in (
            {'status': 'error'},
            {'status': 'retyping'},
            {'status': 'restoring-backup'},
            {'migration_status': 'migrating'},
        ):
            volume = self.add_volume('database', self.image, **values)
            self.assert_stays(400, volume, 'image-tier')
        self.assert_stays(
            403,
            self.add_volume('database', self.image),
            'image-tier',
            roles='reader',
        )

    def test_a_volume_in_a_group_stays_where_that_is(self):
        group = KEY
        self.assert_accepted(
            self.add_volume('general', self.image, group_id=group)
        )
        self.assert_accepted(
            self.add_volume('database', self.image, group_id=group)
        )
        self.assert_stays(
            400,
            self.add_volume('plain', self.image, group_id=group),
            'image-tier',
        )

    def test_the_image_has_other_tags_now(self):
        self.assert_becomes(
            'general',
            self.add_volume('database', self.glance.add_image()),
            'image-tier',
        )

    def test_whatever_the_path_says(self):
        for path, method in (
            ('/v3/volumes/{}/action', 'POST'),
            ('/v3/volumes/{}/action.json', 'POST'),
            ('/v3/volumes/{}/action?_method=POST', 'PUT'),
            ('/v3/volumes/{}/action?x=%ff&_method', 'POST'),
            ('/v3/volumes/{}/action?_method=post', 'GET'),
        ):
            volume = self.add_volume(image=self.image)
            answer = self.api.request(
                path.format(volume.id),
                method=method,
                content_type='application/json',
                body=b'{"os-retype": {"new_type": "image-tier"}}',
            )
            self.assertEqual(202, answer.status, (path, answer.body))
            self.assertEqual(
                'database', self.names[self.casts.new_types.get(timeout=30)]
            )

    def test_the_operator_may_refuse_it_to_members(self):
        self.api.configure(on_retype='refuse')
        volume = self.add_volume(image=self.image)
        for follow in ('image-tier', self.follow):
            text = self.assert_stays(403, volume, follow)
            self.assertIn('Name another volume type', text)
        self.assert_becomes('plain', self.add_volume('database'), 'plain')
        self.assert_becomes('database', volume, 'image-tier', roles='admin')

    def test_a_tier_that_the_project_may_not_use(self):
        self.add_type(
            'premium',
            [api_fixture.PROJECT],
            tiers_name='premium',
            tiers_tags='premium',
            tiers_priority='90',
        )
        image = self.glance.add_image('premium', visibility='public')
        self.assert_becomes(
            'premium', self.add_volume(image=image), 'image-tier'
        )
        theirs = self.add_volume(image=image, project=OTHER_PROJECT)
        self.api.configure(on_no_access='refuse')
        self.assert_stays(403, theirs, 'image-tier', project=OTHER_PROJECT)
        self.api.configure(on_no_access='fallback')
        self.assert_becomes(
            'general', theirs, 'image-tier', project=OTHER_PROJECT
        )

    def test_an_admin_moves_it_within_the_rights_of_its_project(self):
        self.add_type(
            'premium',
            [],
            tiers_name='premium',
            tiers_tags='premium',
            tiers_priority='90',
        )
        image = self.glance.add_image(
            'premium', 'database', visibility='public'
        )
        self.assert_becomes(
            'database',
            self.add_volume(image=image),
            'image-tier',
            roles='admin',
        )

    def test_the_image_is_gone_or_not_to_be_had(self):
        """Where the volume is, is as good a place: it keeps its type."""
        for image in (KEY, self.glance.answer(404), self.glance.answer(500)):
            volume = self.add_volume(image=image)
            text = self.assert_stays(400, volume, 'image-tier')
            self.assertIn('keeps its volume type', text)
        for image in (KEY, self.glance.answer(404), self.glance.answer(403)):
            self.assert_accepted(self.add_volume('database', image))
        # It may select another tier.
        self.assert_stays(
            400,
            self.add_volume('database', self.glance.answer(500)),
            'image-tier',
        )
        # An administrator may have volumes without a tier.
        self.assert_becomes('image-tier', volume, 'image-tier', roles='admin')

    def test_there_is_no_fallback(self):
        self.cinder.delete_type(self.types['general'])
        volume = self.add_volume()
        self.assert_stays(400, volume, 'image-tier')
        self.assert_becomes('image-tier', volume, 'image-tier', roles='admin')

    def test_without_tiers_all_is_as_cinder_does_it(self):
        for name in ('database', 'general'):
            self.cinder.delete_type(self.types[name])
        self.assert_becomes(
            'image-tier', self.add_volume(image=self.image), 'image-tier'
        )


@ddt.ddt
class EncryptionTestCase(RetypesCase):
    def setUp(self):
        super().setUp()
        self.vault = self.add_type(
            'vault', tiers_name='vault', tiers_tags='vault', tiers_priority='5'
        )
        luks = self.add_type('luks')
        for type_id in (self.vault, luks):
            self.cinder.add_encryption(type_id)

    def test_what_is_encrypted_gets_an_encrypted_type(self):
        for tags in ((), ('database',), ('database', 'vault')):
            image = self.glance.add_image(*tags)
            volume = self.add_volume('luks', image, encryption_key_id=KEY)
            if 'vault' in tags:
                self.assert_becomes('vault', volume, 'image-tier')
                has_it = self.add_volume('vault', image, encryption_key_id=KEY)
                self.assertEqual(202, self.retype(has_it, self.follow).status)
                self.assertEqual('available', self.api.row(has_it.id).status)
            else:
                text = self.assert_stays(400, volume, 'image-tier')
                self.assertIn('encrypted volume type', text)

    def test_what_is_not_encrypted_goes_where_its_image_says(self):
        self.assert_becomes(
            'database',
            self.add_volume(image=self.glance.add_image('database', 'vault')),
            'image-tier',
        )

    def test_a_blank_volume_goes_by_its_metadata(self):
        volume = self.add_volume('plain', metadata={'tier': 'database'})
        self.assert_becomes('general', volume, 'image-tier')
        self.api.configure(metadata_key='tier')
        volume = self.add_volume('plain', metadata={'tier': 'database'})
        self.assert_becomes('database', volume, 'image-tier')
        volume = self.add_volume('plain', metadata={'tier': 'nothing'})
        self.assert_becomes('general', volume, 'image-tier')
        volume = self.add_volume('plain', metadata={'tier': 'nothing'})
        answer = self.api.post(
            f'volumes/{volume.id}/metadata',
            {'metadata': {'tier': ' Database', 'Tier': 'general'}},
        )
        self.assertEqual(200, answer.status, answer.body)
        self.assert_becomes('database', volume, 'image-tier')


@ddt.ddt
class OtherTypesTestCase(RetypesCase):
    """Retypes to a type that does not follow the image."""

    def test_they_are_cinders(self):
        image = self.glance.add_image('database')
        for name in ('plain', 'general'):
            for ident in (name, self.types[name]):
                self.assert_becomes(
                    name, self.add_volume('database', image), ident
                )
        self.assertNotIn('cinder-tiers', self.glance.agents)

    def test_a_private_tier_of_others_is_not_found(self):
        """Nor is it when who asks has the right to read it."""
        premium = self.add_type(
            'premium',
            [api_fixture.PROJECT],
            tiers_name='premium',
            tiers_tags='premium',
        )
        volume = self.add_volume(project=OTHER_PROJECT)
        for ident in ('premium', premium):
            for policy in ('never', 'on-demand'):
                text = self.assert_stays(
                    404, volume, ident, policy=policy, project=OTHER_PROJECT
                )
                self.assertNotIn("'premium'", text)
        self.assert_becomes('premium', self.add_volume(), premium)
        self.assert_becomes('premium', self.add_volume(), 'premium')
        self.assert_becomes(
            'premium', volume, 'premium', roles='admin', project=OTHER_PROJECT
        )

    def test_what_does_not_exist_is_refused_by_cinder(self):
        volume = self.add_volume()
        self.assert_stays(404, volume, 'nothing')
        self.assert_stays(
            404, self.add_volume(), 'image-tier', project=OTHER_PROJECT
        )
        volume.destroy()
        self.assertEqual(404, self.retype(volume, 'image-tier').status)
