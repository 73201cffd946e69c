# SPDX-License-Identifier: Apache-2.0

"""A volume of a private tier is not given to a project without access."""

import ddt

from tests.unit.api import api_fixture

PROJECT = api_fixture.PROJECT
OTHER_PROJECT = api_fixture.OTHER_PROJECT


@ddt.ddt
class TransfersTestCase(api_fixture.ApiTestCase):
    def setUp(self):
        super().setUp()
        self.add_type(
            'premium', [PROJECT], tiers_name='premium', tiers_tags='premium'
        )

    def offer(self, name, path='volume-transfers', version='3.55'):
        """Offer a volume of a type; it, and how it is accepted."""
        volume = self.api.add_volume(self.types[name])
        answer = self.api.post(
            path, {'transfer': {'volume_id': volume.id}}, version=version
        )
        self.assertEqual(202, answer.status, answer.body)
        transfer = answer.json['transfer']
        return volume, {
            'path': f'{path}/{transfer["id"]}/accept',
            'version': version,
            'document': {'accept': {'auth_key': transfer['auth_key']}},
        }

    def assert_refused(self, status, volume, **accept):
        """The volume stays with who has it; the text."""
        answer = self.api.post(project=OTHER_PROJECT, **accept)
        self.assertEqual(status, answer.status, answer.body)
        row = self.api.row(volume.id)
        self.assertEqual(
            (PROJECT, 'awaiting-transfer'), (row.project_id, row.status)
        )
        (fault,) = answer.json.values()
        return fault['message']

    @ddt.data(
        ('volume-transfers', '3.55'),
        ('volume-transfers', '3.71'),
        ('os-volume-transfer', None),
        ('os-volume-transfer', '3.0'),
    )
    @ddt.unpack
    def test_a_volume_of_a_private_tier(self, path, version):
        volume, accept = self.offer('premium', path, version)
        text = self.assert_refused(403, volume, **accept)
        self.assertNotIn('premium', text)

    def test_nor_by_another_method(self):
        volume, accept = self.offer('premium')
        path = accept.pop('path')
        self.assert_refused(
            403, volume, path=f'{path}?_method=POST', method='PUT', **accept
        )

    def test_what_does_not_exist_is_refused_by_cinder(self):
        volume, accept = self.offer('general')
        self.assert_refused(
            400,
            volume,
            **{**accept, 'document': {'accept': {'auth_key': 'wrong'}}},
        )
        self.assert_refused(400, volume, **{**accept, 'document': {}})
        self.assert_refused(
            404, volume, **{**accept, 'path': 'volume-transfers/x/accept'}
        )
