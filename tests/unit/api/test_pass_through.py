# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What is not a create of ours reaches Cinder byte for byte.

The door is in front of an application that remembers what it receives.
"""

import json

import ddt
from hypothesis import example
from hypothesis import given
from hypothesis import strategies

from cinder_tiers import api
from cinder_tiers.api import body as request_body
from tests.unit.api import api_fixture
from tests.unit.api import streams

CREATES = ('/volumes', f'/{api_fixture.PROJECT}/volumes', '/volumes.json',
           '/x/volumes.json', '/volumes/')
OTHERS = ('', '/', '/volumes/x', '/volumes/detail', '/volume', '/xvolumes',
          '/a/b/volumes', '/volumes.xml', '//volumes', 'volumes',
          '/snapshots', '/x/volumes/y/action')
JSON_TYPES = ('application/json', 'application/json; charset=utf-8',
              'application/vnd.openstack.volume+json')
OTHER_TYPES = (None, '', 'text/plain', 'application/xml', 'json',
               'multipart/form-data', ';application/json')
FIXED = ('source_volid', 'source_replica', 'snapshot_id', 'group_id',
         'consistencygroup_id')
TEXTS = ('volume_type', 'image_id', 'imageRef', 'backup_id', *FIXED)

LEAVES = (strategies.none() | strategies.booleans() | strategies.integers()
          | strategies.floats() | strategies.text(max_size=9))
VALUES = strategies.recursive(LEAVES, lambda children: strategies.lists(
    children, max_size=3) | strategies.dictionaries(
        strategies.text(max_size=5), children, max_size=3), max_leaves=8)
#: Mostly what can be a volume of ours.
VOLUMES = strategies.dictionaries(
    strategies.text(max_size=5) | strategies.sampled_from(
        ('size', 'name', 'metadata')), VALUES, max_size=4).flatmap(
    lambda others: strategies.fixed_dictionaries({}, optional={
        'volume_type': strategies.sampled_from(
            (None, '', 'image-tier', 'general', 'x')) | VALUES,
        'imageRef': strategies.sampled_from((None, '', 'x' * 256)) | LEAVES,
        **dict.fromkeys(FIXED, strategies.none() | LEAVES)}).map(
            lambda ours: {**others, **ours}))
DOCUMENTS = VALUES | strategies.builds(
    lambda volume, others: {**others, 'volume': volume}, VOLUMES | VALUES,
    strategies.dictionaries(strategies.text(max_size=5), VALUES, max_size=2))
BODIES = strategies.binary(max_size=99) | strategies.builds(
    lambda document, is_ascii: json.dumps(
        document, ensure_ascii=is_ascii).encode('utf-8', 'surrogatepass'),
    DOCUMENTS, strategies.booleans())


@ddt.ddt
class PassThroughTestCase(api_fixture.ApiTestCase):

    def setUp(self):
        super().setUp()
        self.context = self.cinder.user()

    def environ(self, stream, *, method='POST', path='/volumes',
                content_type='application/json', length=None,
                is_terminated=False, has_context=True):
        environ = {
            'REQUEST_METHOD': method, 'PATH_INFO': path, 'SCRIPT_NAME': '/v3',
            'CONTENT_TYPE': content_type, 'CONTENT_LENGTH': length,
            'HTTP_X_ANY': 'any', 'wsgi.input': stream,
            'wsgi.version': (1, 0), 'wsgi.input_terminated': is_terminated,
            'cinder.context': self.context if has_context else None}
        if is_terminated:
            environ['HTTP_TRANSFER_ENCODING'] = 'chunked'
        return {key: value for key, value in environ.items()
                if value is not None}

    def send(self, environ, way=streams.at_once):
        """What an application behind the door receives."""
        recorder = streams.Recorder(way)
        answers = []
        result = api.filter_factory({})(recorder)(
            environ, lambda *answer: answers.append(answer))
        self.assertEqual(([b'answer'], [('200 OK', [])]), (result, answers))
        return recorder

    def assert_untouched(self, pieces, way=streams.at_once, error=None,
                         **said):
        """The same bytes, the same error and the same environ arrive."""
        environ = self.environ(streams.Stream(*pieces, error=error), **said)
        before = environ.copy()
        recorder = self.send(environ, way)
        self.assertEqual((b''.join(pieces), error),
                         (recorder.body, recorder.error))
        before['wsgi.input'] = recorder.environ['wsgi.input']
        self.assertEqual(before, recorder.environ)

    def assert_steered(self, data, is_terminated=False):
        """All of the JSON is the same but the type, which is a tier's."""
        environ = self.environ(
            streams.Stream(data[:7], data[7:]), is_terminated=is_terminated,
            length=None if is_terminated else str(len(data)))
        before = environ.copy()
        recorder = self.send(environ)
        received, sent = json.loads(recorder.body), json.loads(data)
        self.assertEqual(self.types['general'],
                         received['volume'].pop('volume_type'))
        sent['volume'].pop('volume_type', None)
        # repr: a NaN is not equal to itself.
        self.assertEqual(repr(sent), repr(received))
        before.pop('HTTP_TRANSFER_ENCODING', None)
        before.update({'wsgi.input': recorder.environ['wsgi.input'],
                       'CONTENT_LENGTH': str(len(recorder.body))})
        self.assertEqual(before, recorder.environ)

    def is_ours(self, data):
        """Whether a body leaves the type to us."""
        try:
            volume = json.loads(data.decode())['volume']
        except (ValueError, LookupError, TypeError, RecursionError):
            return False
        if not isinstance(volume, dict):
            return False
        texts = [volume.get(key) for key in TEXTS]
        image = volume.get('image_id' if 'image_id' in volume
                           else 'imageRef')
        return (all(isinstance(text, str | None) for text in texts)
                and volume.get('volume_type') in (
                    None, '', 'image-tier', self.follow)
                and all(volume.get(key) is None for key in FIXED)
                and (image is None or 0 < len(image) < 256))

    @given(BODIES, strategies.booleans())
    def test_a_create_is_steered_or_passes(self, data, is_terminated):
        if self.is_ours(data):
            self.assert_steered(data, is_terminated)
        else:
            self.assert_untouched(
                [data[:5], data[5:]], is_terminated=is_terminated,
                length=None if is_terminated else str(len(data)))

    @given(VOLUMES)
    @example({'metadata': {'a': float('nan'), 'b': 10 ** 4000}})
    @example({'name': '\ud800', '': [], '\x00': {'volume_type': 'x'}})
    def test_most_volumes_of_the_tests_are_ours(self, volume):
        data = json.dumps({'volume': {
            **volume, 'volume_type': 'image-tier', 'imageRef': None,
            **dict.fromkeys(FIXED)}}).encode()
        self.assertTrue(self.is_ours(data))
        self.assert_steered(data)

    @given(strategies.binary(max_size=99), strategies.text(max_size=9),
           strategies.text(max_size=20), strategies.text(max_size=20),
           strategies.sampled_from(streams.WAYS))
    def test_any_other_request_passes(self, data, method, path, content_type,
                                      way):
        self.assert_untouched([data], way, method=method, path=path,
                              content_type=content_type,
                              length=str(len(data)))

    def test_what_is_nearly_a_create_passes(self):
        data = b'{"volume": {"size": 1}}'
        whole = {'length': str(len(data))}
        self.assert_steered(data)
        for path in OTHERS:
            self.assert_untouched([data], path=path, **whole)
        for content_type in OTHER_TYPES:
            self.assert_untouched([data], content_type=content_type, **whole)
        for method in ('GET', 'PUT', 'PATCH', 'DELETE', 'post', None):
            self.assert_untouched([data], method=method, **whole)
        self.assert_untouched([data], has_context=False, **whole)

    def test_what_is_a_create(self):
        data = b'{"volume": {"size": 1}}'
        for path in CREATES:
            for content_type in JSON_TYPES:
                recorder = self.send(self.environ(
                    streams.Stream(data), path=path, length=str(len(data)),
                    content_type=content_type))
                self.assertNotEqual(data, recorder.body)

    @ddt.data(
        b'', b'\xff\xfe', b'\xef\xbb\xbf{"volume": {}}', b'[' * 100000,
        b'{"volume":' * 100000, b'{"volume": ' + b'[' * 99999 + b'}',
        '{"volume": {}}'.encode('utf-16'), '{"volume": {}}'.encode('utf-32'),
        b'{"volume": {"size": ' + b'9' * 5000 + b'}}', b'{"volume": {}',
        b'{"volume": {}}{}', b'[{"volume": {}}]', b'"volume"', b'null',
        b'{"volume": ["volume_type"]}', b'{"volume": {"volume_type": NaN}}',
        b'{"volume": {}, "volume": 7}', b"{'volume': {}}",
        b'{"volume": {"imageRef": ""}}', b'{"volume": {"image_id": ""}}',
        b'{"volume": {"imageRef": "%s"}}' % (b'x' * 256),
        b'{"volume": {"image_id": "%s"}}' % (b'0' * 32 + b'-' * 999),
        *(b'{"volume": {"%s": %s}}' % (key.encode(), value) for key in TEXTS
          for value in (b'7', b'true', b'[]', b'{}', b'["image-tier"]',
                        b'[' * 99999)))
    def test_a_body_that_is_none_of_ours_passes(self, data):
        self.assertFalse(self.is_ours(data))
        self.assert_untouched([data], length=str(len(data)))
        self.assert_untouched([data[:1], data[1:]], is_terminated=True)

    @ddt.data(
        b'{"volume": {}}', b' {"volume":\n{"volume_type": ""}}\r\n ',
        b'{"volume": 7, "volume": {}}',
        b'{"volume": {"volume_type": "x", "volume_type": null}}',
        b'{"volume": {"size": NaN, "x": Infinity, "y": -Infinity}}',
        b'{"volume": {"size": ' + b'9' * 4000 + b', "x": 1e999}}',
        b'{"volume": {"name": "\\ud800\\u0000"}, "x": {"volume_type": 1}}',
        b'{"volume": {"x": ' + b'[' * 300 + b']' * 300 + b'}}')
    def test_a_strange_body_of_ours_keeps_all_else(self, data):
        self.assertTrue(self.is_ours(data))
        self.assert_steered(data)
        self.assert_steered(data, is_terminated=True)

    def test_a_body_that_says_what_is_not_so_passes(self):
        data = b'{"volume": {"size": 1}}'
        for length in ('x', '-1', '1e3', str(len(data) + 1), '9' * 30,
                       str(request_body.MOST_BYTES + 1), None, ''):
            for way in streams.WAYS:
                self.assert_untouched([data], way, length=length)

    def test_a_body_that_is_too_long_passes(self):
        data = b'{"volume": {"size": 1}}' + b' ' * request_body.MOST_BYTES
        self.assert_untouched([data], length=str(len(data)))
        self.assert_untouched([data], is_terminated=True)

    def test_a_body_that_breaks_off_passes_and_so_does_the_error(self):
        for pieces in ([], [b'{"volume"'], [b'{"volume"', b': {}}']):
            self.assert_untouched(pieces, streams.by_bytes,
                                  error=ConnectionResetError(), length='999')
            self.assert_untouched(pieces, streams.by_bytes, error=OSError(),
                                  is_terminated=True)

    def test_when_the_door_fails_the_request_passes(self):
        with self.cinder.engine.begin() as connection:
            connection.exec_driver_sql('DROP TABLE volume_types')
        data = b'{"volume": {"volume_type": "image-tier"}}'
        self.assert_untouched([data], length=str(len(data)))
        self.assertIn(f'ERROR The API door failed (request '
                      f'{self.context.request_id})', self.log.output)

    def test_an_error_of_the_application_is_its_own(self):
        """Nor is it called twice."""
        calls = []

        def application(environ, start_response):
            calls.append(environ)
            raise ZeroDivisionError

        self.assertRaises(
            ZeroDivisionError, api.filter_factory({}, any='any')(application),
            self.environ(streams.Stream(b'{"volume": {}}'), length='14'),
            None)
        self.assertEqual(1, len(calls))
        self.assertNotIn('ERROR', self.log.output)
