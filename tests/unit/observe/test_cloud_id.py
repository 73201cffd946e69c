# SPDX-License-Identifier: Apache-2.0

from keystoneauth1.identity import v3
import keystoneauth1.session
from keystoneauth1 import token_endpoint
import openstack.connection
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.observe import cloud_id as cloud
from tests.worlds import cinder_api


def identity(auth, **arguments):
    return cloud.identity_of(
        openstack.connection.Connection(
            session=keystoneauth1.session.Session(auth=auth),
            block_storage_api_version='3',
            **arguments,
        )
    )


class IdentityTestCase(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)

    def log_in(self, project=cinder_api.PROJECT, **arguments):
        return identity(
            v3.Password(
                auth_url=f'{self.api.url}/identity/v3',
                username='admin',
                user_domain_id='default',
                password='any',
                project_id=project,
            ),
            **arguments,
        )

    def test_it_is_the_same_for_each_project_and_user(self):
        self.assertEqual('id-of-block-storage one', self.log_in())
        self.assertEqual(self.log_in(), self.log_in('2' * 32))

    def test_who_names_the_region_and_who_does_not_agree(self):
        self.assertEqual(self.log_in(), self.log_in(region_name='one'))

    def test_a_region_without_cinder_is_told(self):
        error = self.assertRaises(
            errors.Unreachable, self.log_in, region_name='two'
        )
        self.assertIn('two', str(error))

    def test_without_a_catalog_it_is_the_url_without_the_project(self):
        self.assertEqual(
            ['h:8776', 'h/volume', 'h/volume'],
            [
                identity(token_endpoint.Token(url, 'admin:1'))
                for url in (
                    'http://h:8776/v3/1',
                    'http://h/volume/v3/1',
                    'http://h/volume/v3/2',
                )
            ],
        )

    def test_a_keystone_that_is_not_there_is_told(self):
        error = self.assertRaises(
            errors.Unreachable,
            identity,
            v3.Password(
                auth_url='http://127.0.0.1:9/v3',
                username='admin',
                user_domain_id='default',
                password='any',
                project_id='1',
            ),
        )
        self.assertIn('Keystone', str(error))
