# SPDX-License-Identifier: Apache-2.0

"""Whichever way a create reaches cinder-api, the door serves it.

What Cinder alone accepts as a create the door must have seen as one, and what
Cinder alone refuses it must refuse in the same words.
"""

import io
import json

from cinder.api.openstack import api_version_request
import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies

import tests
from tests.unit.api import api_fixture
from tests.unit.api import test_pass_through

PROJECT = api_fixture.PROJECT
BODY = b'{"volume": {"size": 1}}'
MOST_BYTES_OF_CINDER = 114688
LATEST = api_version_request.max_api_version().get_string()
VERSIONS = [f'3.{minor}' for minor in range(int(LATEST.partition('.')[2]) + 1)]
#: Those beside which Cinder reads a create in another way, and a share.
TRIED = {*test_pass_through.VERSIONS[1:], *tests.share(VERSIONS), LATEST}


class Chunks(io.RawIOBase):
    """A body of unknown length, as a server gives it piece by piece."""

    def __init__(self, *chunks):
        self.chunks = list(chunks)

    def readable(self):
        return True

    def readinto(self, buffer):
        chunk = self.chunks.pop(0) if self.chunks else b''
        data, rest = chunk[: len(buffer)], chunk[len(buffer) :]
        if rest:
            self.chunks.insert(0, rest)
        buffer[: len(data)] = data
        return len(data)


@ddt.ddt
class RequestsTestCase(api_fixture.ApiTestCase):
    def assert_served(self, path=f'/v3/{PROJECT}/volumes', **request):
        """Cinder alone makes it of its default type, with us of a tier's."""
        request = {'content_type': 'application/json', 'body': BODY, **request}
        for has_door, name in ((False, 'plain'), (True, 'general')):
            answer = self.api.request(path, has_door=has_door, **request)
            self.assertEqual(202, answer.status, answer.body)
            row = self.api.row(answer.volume_id)
            self.assertEqual(name, self.names[row.volume_type_id])

    def assert_as_cinder_does(self, path=f'/v3/{PROJECT}/volumes', **request):
        """Served, or refused in Cinder's words; the status."""
        request = {'content_type': 'application/json', 'body': BODY, **request}
        theirs = self.api.request(path, has_door=False, **request)
        ours = self.api.request(path, **request)
        self.assertEqual(theirs.status, ours.status, request)
        if ours.status == 202:
            row = self.api.row(ours.volume_id)
            self.assertEqual(
                'general', self.names[row.volume_type_id], (path, request)
            )
        else:
            self.assertEqual(theirs.body, self.without_type(ours.body))
        return ours.status

    def without_type(self, body):
        """A refusal that repeats the volume, as it came to the door."""
        return body.replace(
            b", 'volume_type': '%s'" % self.types['general'].encode(), b''
        )

    def test_every_version_of_the_api(self):
        for version in (None, 'latest', *sorted(TRIED)):
            self.assert_type('general', version=version)
        self.assertIn('3.71', VERSIONS)

    def test_versions_that_there_are_not(self):
        for version in ('2.0', '3.999', '4.0', 'x', ''):
            self.assert_as_cinder_does(
                version=version,
                headers={'OpenStack-API-Version': f'volume {version}'},
            )

    def test_both_forms_of_the_path(self):
        for path in (
            f'/v3/{PROJECT}/volumes',
            '/v3/volumes',
            '/v3/volumes.json',
            f'/v3/{PROJECT}/volumes.json',
        ):
            self.assert_served(path)

    def test_other_paths(self):
        for path in (
            '/v3/volumes/',
            f'/v3/{PROJECT}/volumes/',
            '/v3//volumes',
            '/v3/volumes//',
            '/v3/volumes.xml',
            '/v3/volumes.json/',
            '/v3/volumes.json.json',
            '/v3/Volumes',
            '/v3/x/volumes',
            f'/v3/{api_fixture.OTHER_PROJECT}/volumes',
            '/v3/volumes/x',
            '/v3/volumes%20',
            '/v3/%76olumes',
            '/v3/volumes?x=volumes',
            f'/v3/{PROJECT}/volumes/detail',
            '/v2/volumes',
            '/volumes',
            '/v3/volumes;x',
            '/v3/./volumes',
            '/v3/volumes%0a',
        ):
            self.assert_as_cinder_does(path)

    def test_other_methods(self):
        for method in ('GET', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'post'):
            theirs, ours = (
                self.api.request(
                    '/v3/volumes',
                    method=method,
                    has_door=has_door,
                    body=BODY,
                    content_type='application/json',
                ).status
                for has_door in (False, True)
            )
            self.assertEqual(theirs, ours)

    def test_content_types(self):
        for content_type in (
            'application/json',
            'application/json; charset=utf-8',
            'application/json;charset=latin-1',
            'application/json;',
            'application/vnd.openstack.volume+json',
            'application/vnd.openstack.volume+json; x=y',
            'Application/JSON',
            ' application/json',
            'application/json ',
            'application/json, text/plain',
            'text/plain',
            'text/json',
            'application/xml',
            'application/x-www-form-urlencoded',
            '',
            'multipart/form-data; boundary=x',
            'application/json\u00e9',
        ):
            self.assert_as_cinder_does(content_type=content_type)

    def test_no_content_type(self):
        self.assert_as_cinder_does(content_type=None)

    def test_bodies_that_are_no_create(self):
        for body in (
            b'',
            b'{}',
            b'[]',
            b'null',
            b'7',
            b'"volume"',
            b'{"volume":',
            b'{"volume": null}',
            b'{"volume": []}',
            b'{"volume": "x"}',
            b'{"volume": {}}',
            b'{"volume": {"size": 0}}',
            b'{"volume": {"size": 1, "unknown": 1}}',
            b'\xff',
            b'\x00',
            b'\xef\xbb\xbf' + BODY,
            BODY.decode().encode('utf-16'),
            b'[' * 100000,
            BODY + b'x',
            BODY * 2,
            b'{"volume": {"size":' + b'9' * 5000 + b'}}',
            b'{"volume": {"size": NaN}}',
            b'{"volume": {"size": 1}, "more": 1}',
            b'{"VOLUME": {"size": 1}}',
        ):
            self.assert_as_cinder_does(body=body)
            self.assert_as_cinder_does(body=body, version=LATEST)

    def test_of_a_key_that_comes_twice_the_last_counts(self):
        self.assert_type('plain', volume_type='plain')
        for body, name in (
            (
                b'{"volume": {"size": 1, "volume_type": "plain", '
                b'"volume_type": "image-tier"}}',
                'general',
            ),
            (
                b'{"volume": {"size": 1, "volume_type": "image-tier", '
                b'"volume_type": "plain"}}',
                'plain',
            ),
        ):
            answer = self.api.request(
                '/v3/volumes', body=body, content_type='application/json'
            )
            row = self.api.row(answer.volume_id)
            self.assertEqual(name, self.names[row.volume_type_id])

    def test_a_body_that_is_too_long(self):
        for length in (
            MOST_BYTES_OF_CINDER,
            MOST_BYTES_OF_CINDER + 1,
            2 * 1024 * 1024,
        ):
            self.assert_as_cinder_does(body=BODY + b' ' * (length - len(BODY)))

    def chunked(self, *chunks):
        """A request whose length nobody said."""
        return {
            'body': None,
            'body_file': io.BufferedReader(Chunks(*chunks)),
            'environ': {
                'wsgi.input_terminated': True,
                'HTTP_TRANSFER_ENCODING': 'chunked',
            },
        }

    def test_a_body_in_chunks(self):
        for has_door, name in ((False, 'plain'), (True, 'general')):
            answer = self.api.request(
                '/v3/volumes',
                content_type='application/json',
                has_door=has_door,
                **self.chunked(BODY[:9], BODY[9:]),
            )
            self.assertEqual(202, answer.status, answer.body)
            row = self.api.row(answer.volume_id)
            self.assertEqual(name, self.names[row.volume_type_id])

    def test_too_many_chunks(self):
        for count in (1, 2, 30):
            theirs, ours = (
                self.api.request(
                    '/v3/volumes',
                    content_type='application/json',
                    has_door=has_door,
                    **self.chunked(BODY, *[b' ' * 65536] * count),
                )
                for has_door in (False, True)
            )
            self.assertEqual(
                (theirs.status, 413 if count > 1 else 202),
                (ours.status, ours.status),
            )

    def test_without_a_user_nothing_is_done(self):
        answer = self.api.request(
            '/v3/volumes',
            body=BODY,
            content_type='application/json',
            headers={'X-User-Id': None},
        )
        self.assertEqual(401, answer.status)
        self.assertNotIn('tiers.decision', self.logged())

    @given(
        strategies.dictionaries(
            strategies.sampled_from(
                (
                    'size',
                    'volume_type',
                    'imageRef',
                    'image_id',
                    'source_volid',
                    'snapshot_id',
                    'group_id',
                    'backup_id',
                    'consistencygroup_id',
                    'source_replica',
                    'metadata',
                    'name',
                    'multiattach',
                )
            ),
            strategies.none()
            | strategies.booleans()
            | strategies.integers()
            | strategies.floats()
            | strategies.text(max_size=9)
            | strategies.sampled_from(('image-tier', 'plain', 'general'))
            | strategies.lists(strategies.integers(), max_size=2)
            | strategies.dictionaries(
                strategies.text(max_size=3),
                strategies.text(max_size=3),
                max_size=2,
            ),
        )
    )
    @settings(max_examples=30)
    def test_whatever_a_volume_holds_the_door_makes_it_no_worse(self, volume):
        body = json.dumps({'volume': volume}).encode()
        theirs, ours = (
            self.api.request(
                '/v3/volumes',
                body=body,
                has_door=has_door,
                content_type='application/json',
            )
            for has_door in (False, True)
        )
        self.assertEqual(theirs.status, ours.status, body)
        if ours.status != 202 and 'volume_type' not in volume:
            self.assertEqual(theirs.body, self.without_type(ours.body))
