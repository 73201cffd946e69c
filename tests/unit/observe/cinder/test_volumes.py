# SPDX-License-Identifier: Apache-2.0

"""Volumes and images, listed by pages from Cinder's real API.

Glance is a stand-in that lists by pages as it does.
"""

import dataclasses

import keystoneauth1.session
import openstack.connection
import testtools

from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain import errors
from cinder_tiers.observe.cinder import volumes
from cinder_tiers.observe import visible_cloud as placement
from tests.contract import cinder_api
from tests.unit.domain import catalogs as given
from tests.unit.execute import test_cinder_world


class PagesTestCase(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        # A scheduler answers once it has a backend.
        cls.api.add_backend('ssd')

    def setUp(self):
        super().setUp()
        plain = test_cinder_world.log_in(self.api)
        self.session = keystoneauth1.session.Session(
            auth=plain.session.auth, collect_timing=True
        )
        self.connection = openstack.connection.Connection(
            session=self.session, block_storage_api_version='3'
        )
        self.addCleanup(self.connection.close)
        self.known = placement.observe(self.connection)

    def count(self, path):
        """How often a path was asked for since the last count."""
        found = [one for one in self.session.get_timings() if path in one.url]
        self.session.reset_timings()
        return len(found)

    def test_all_volumes_come_whatever_the_page(self):
        ids = [
            self.api.add_volume(
                host=f'node@ssd#{number}', project_id=str(number % 3) * 32
            )
            for number in range(7)
        ]
        for ident in ids:
            self.addCleanup(self.api.delete_volume, ident)
        self.count('')
        for page, most in ((1, 8), (2, 5), (3, 4), (1000, 2)):
            found = list(
                volumes.volumes(self.connection, self.known, page=page)
            )
            self.assertEqual(
                sorted(ids), sorted(one.volume_id for one in found)
            )
            self.assertEqual(
                {
                    (f'node@ssd#{number}', str(number % 3) * 32)
                    for number in range(7)
                },
                {(one.host, one.project) for one in found},
            )
            self.assertLessEqual(self.count('/volumes/detail'), most)

    def test_servers_come_with_the_limits_that_nova_keeps(self):
        server = '5' * 8 + '-1111-4111-8111-111111111111'
        ids = [
            self.api.add_volume(
                host='node@ssd#ssd', project_id=str(number % 3) * 32
            )
            for number in range(5)
        ]
        for ident in ids:
            self.addCleanup(self.api.delete_volume, ident)
            self.api.add_attachment(
                volume_id=ident,
                instance_uuid=server,
                connection_info={
                    'qos_specs': {'total_iops_sec': 40, 'odd': '1'},
                    'auth_password': 'secret',
                },
            )
        for fields in (
            # Of Cinder's older API, ...
            {'instance_uuid': server},
            # ... of a tier without limits, ...
            {
                'instance_uuid': server,
                'connection_info': {'qos_specs': None},
            },
            # ... of a host, and of a server that does not have it yet.
            {'connection_info': {'qos_specs': {}}},
            {'instance_uuid': server, 'attach_status': 'reserved'},
        ):
            self.api.add_attachment(volume_id=ids[0], **fields)
        self.count('')
        expected = {ident: [{'total_iops_sec': '40'}] for ident in ids[1:]} | {
            ids[0]: [{}, None, {'total_iops_sec': '40'}]
        }
        for page, most in ((1, 10), (4, 4), (1000, 2)):
            found = volumes.attached(self.connection, page=page)
            self.assertEqual(
                {server},
                {one.server for each in found.values() for one in each},
            )
            self.assertCountEqual(expected, found)
            for ident, limits in expected.items():
                self.assertCountEqual(
                    limits, [one.has for one in found[ident]]
                )
            self.assertLessEqual(self.count('/attachments/detail'), most)

    def test_servers_that_cinder_does_not_show(self):
        self.connection.block_storage.default_microversion = '3.0'
        found = volumes.attached(self.connection)
        self.assertIn('Cinder failed to list attachments of volumes', found)

    def test_a_marker_that_was_deleted_is_an_expected_failure(self):
        ids = [self.api.add_volume(host='node@ssd#x') for _ in range(4)]
        found = volumes.volumes(self.connection, self.known, page=2)
        marker = [next(found), next(found)][-1].volume_id
        for ident in ids:
            self.api.delete_volume(ident)
        self.assertIn(marker, ids)
        error = self.assertRaises(errors.Unreachable, list, found)
        self.assertIn('run the command again', str(error))

    def test_images_are_listed_once_and_by_pages(self):
        ids = [
            self.api.add_image('x', name=f'image-{number}')
            for number in range(5)
        ]
        images = volumes.ListedImages(self.connection, page=2)
        self.count('')
        self.assertEqual(frozenset({'x'}), images.find(ids[4]).image.tags)
        self.assertIsNone(images.find('gone'))
        self.assertEqual(set(ids), {images.find(one).image_id for one in ids})
        self.assertLessEqual(self.count('/v2/images'), 5)

    def test_a_glance_that_fails_is_asked_once(self):
        connection = openstack.connection.Connection(
            session=self.session,
            image_endpoint_override=f'{self.api.url}/nowhere',
        )
        self.addCleanup(connection.close)
        images = volumes.ListedImages(connection)
        for _ in range(2):
            error = self.assertRaises(errors.Unreachable, images.find, 'any')
            self.assertIn('Glance did not list images', str(error))


class ResidencyTestCase(testtools.TestCase):
    def read(self, images_pool, session):
        catalog = given.of(
            given.tier(), given.other_tier(), images_pool=images_pool
        )
        return volumes.residency(
            catalog, {'ceph': session(catalog.clusters['ceph'])}
        )

    def test_a_cluster_that_was_not_reached_says_why(self):
        found = self.read('images', lambda _: audit.Unread(reason='down'))
        self.assertEqual(
            ({}, {'database': 'down'}), (found.clones, found.unread)
        )

    def test_without_a_pool_of_images_there_are_no_clones(self):
        found = self.read(None, lambda _: audit.Unread(reason='down'))
        self.assertEqual({}, found.unread)

    def test_clones_are_known_by_the_id_in_their_name(self):
        found = self.read('images', Pool)
        self.assertEqual(
            (
                {'a': 'images/debian', 'other': 'images/cirros'},
                {'database': ''},
            ),
            (found.clones, found.unread),
        )


@dataclasses.dataclass(frozen=True)
class Pool:
    """A session that has clones in its pool of images."""

    cluster: object

    def clones(self, pool):
        """What `rbd children` tells of each image."""
        return iter(
            {'images': [('debian', 'volume-a'), ('cirros', 'other')]}[pool]
        )
