# SPDX-License-Identifier: Apache-2.0

"""A request means to the door what it means to Cinder.

Where Cinder has an answer of its own to a body, the door reads no request.
"""

import io
import json

from cinder.api.v3 import volumes
from cinder.api.validation import validators
from cinder import exception
import ddt
import fixtures
from hypothesis import given
from hypothesis import strategies
from oslo_config import cfg
from oslo_config import fixture as config_fixture
from routes import middleware
import testtools

from cinder_tiers.api import body
from cinder_tiers.api import creates
from cinder_tiers.api import request as requests
import tests
from tests.unit.api import api_fixture
from tests.unit.api import test_middleware
from tests.unit.api import test_pass_through

KEYS = (
    'size',
    'name',
    'description',
    'display_name',
    'display_description',
    'volume_type',
    'metadata',
    'snapshot_id',
    'source_volid',
    'consistencygroup_id',
    'availability_zone',
    'multiattach',
    'image_id',
    'imageRef',
    'group_id',
    'backup_id',
    'source_replica',
    'unknown',
)
VALUES = test_pass_through.VALUES | strategies.sampled_from(
    (
        test_pass_through.UUID,
        '',
        'image-tier',
        1,
        '1',
        0,
        1.0,
        'true',
        'x' * 255,
        'x' * 256,
        '0' * 32,
        {},
        {'a': 'b'},
        {'a': None},
    )
)
DOCUMENTS = VALUES | strategies.fixed_dictionaries(
    {
        'volume': strategies.dictionaries(
            strategies.sampled_from(KEYS), VALUES, max_size=3
        )
    },
    optional={'OS-SCH-HNT:scheduler_hints': VALUES, 'more': VALUES},
)


def environ_of(data, version, **others):
    return {
        'REQUEST_METHOD': 'POST',
        'PATH_INFO': '/volumes',
        'SCRIPT_NAME': '/v3',
        'CONTENT_TYPE': 'application/json',
        'CONTENT_LENGTH': str(len(data)),
        'wsgi.input': io.BytesIO(data),
        'HTTP_OPENSTACK_API_VERSION': f'volume {version}',
        'cinder.context': None,
        **others,
    }


def read(document, version):
    return requests.read(
        environ_of(json.dumps(document).encode(), version),
        ident=None,
        schemas=creates.schemas,
    )


class LongBodyTestCase(testtools.TestCase):
    def test_what_cinder_takes_is_read(self):
        data = b'{"volume": {"size": 1}}' + b' ' * body.MOST_BYTES
        limit = self.useFixture(config_fixture.Config(cfg.CONF))
        for most_bytes, is_read in (
            (114688, False),
            (len(data) - 1, False),
            (len(data), True),
        ):
            limit.config(
                max_request_body_size=most_bytes, group='oslo_middleware'
            )
            read = requests.read(
                environ_of(data, '3.0'), ident=None, schemas=creates.schemas
            )
            self.assertEqual(is_read, read is not None, most_bytes)


class Reached(Exception):
    """Cinder's own code was reached: all schemas let the body pass."""


class Request:
    """What Cinder's decorators see of a request."""

    def __init__(self, version):
        self.api_version_request = version

    @property
    def environ(self):
        raise Reached


def is_accepted_by_cinder(document, version):
    """Whether Cinder's decorated function comes to its first line."""
    number = requests.version_of(environ_of(b'', version))
    try:
        volumes.VolumeController.create(
            object(), Request(number), body=document
        )
    except Reached:
        return True
    except (exception.Invalid, TypeError, AttributeError, ValueError):
        return False
    raise AssertionError('neither')


CINDER_VALIDATOR = validators._SchemaValidator
#: {id of a schema of Cinder: its validator}; to make one takes 2 ms.
VALIDATORS = {}


def validator_of(schema):
    if id(schema) not in VALIDATORS:
        VALIDATORS[id(schema)] = CINDER_VALIDATOR(schema)
    return VALIDATORS[id(schema)]


@ddt.ddt
class SchemasTestCase(api_fixture.ApiTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MonkeyPatch(
                'cinder.api.validation.validators._SchemaValidator',
                validator_of,
            )
        )

    @ddt.data(*sorted(test_middleware.TRIED))
    def test_each_version_has_its_schema(self, version):
        for key in KEYS:
            for value in (
                test_pass_through.UUID,
                None,
                '',
                'x',
                7,
                False,
                [],
                {},
                'x' * 256,
            ):
                for document in (
                    {'volume': {key: value}},
                    {'volume': {}, key: value},
                ):
                    self.assertEqual(
                        is_accepted_by_cinder(document, version),
                        read(document, version) is not None,
                        (version, document),
                    )

    @given(DOCUMENTS, strategies.sampled_from(test_middleware.VERSIONS))
    @tests.examples(600)
    def test_whatever_a_body_is(self, document, version):
        # As it comes out of JSON.
        document = json.loads(json.dumps(document))
        self.assertEqual(
            is_accepted_by_cinder(document, version),
            read(document, version) is not None,
        )

    def test_what_cinder_refuses_is_no_error_of_the_door(self):
        """Any tenant could fill the log with it."""
        for key in KEYS:
            for value in ('x' * 256, 7, [], {'': ''}):
                self.api.create(**{key: value})
        self.assertNotIn('The API middleware failed', self.logged())

    def test_the_versions_differ(self):
        for key, value, found in (
            ('source_replica', 'x', {'3.0', '3.52'}),
            ('backup_id', [], {'3.0', '3.12', '3.13', '3.46'}),
            ('group_id', 'x', {'3.0', '3.13', '3.47', '3.53', '3.71'}),
        ):
            document = {'volume': {key: value}}
            for version in (
                '3.0',
                '3.13',
                '3.46',
                '3.47',
                '3.52',
                '3.53',
                '3.71',
            ):
                if version in found:
                    self.assertIsNotNone(read(document, version))
        self.assertIsNone(read({'volume': {'source_replica': 'x'}}, '3.53'))
        self.assertIsNone(read({'volume': {'backup_id': []}}, '3.47'))


@ddt.ddt
class MethodsTestCase(api_fixture.ApiTestCase):
    def method(self, query, method='POST'):
        return requests.method_of(
            {'QUERY_STRING': query, 'REQUEST_METHOD': method}
        )

    @ddt.data('GET', 'PUT', 'DELETE', 'HEAD', 'FOO')
    def test_the_query_names_another_one(self, method):
        for query in (
            '_method=POST',
            '_method=post',
            'x=1&_method=POST',
            '_method=GET&_method=POST',
        ):
            self.assertEqual('POST', self.method(query, method))

    def test_it_does_not(self):
        for query in (
            '',
            '_method=',
            '_method',
            'x=_method',
            '_method=%ff',
            '%5fmethod=GET',
        ):
            self.assertEqual('POST', self.method(query))

    @ddt.data('GET', 'PUT', 'DELETE')
    def test_a_post_that_is_none(self, method):
        """Cinder lists volumes, or says 404."""
        ours, theirs = (
            self.api.post(
                f'volumes?_method={method}',
                {'volume': {'size': 1}},
                has_door=has_door,
            )
            for has_door in (True, False)
        )
        self.assertEqual(
            (theirs.status, theirs.body), (ours.status, ours.body)
        )
        self.assertNotIn('tiers.decision', self.logged())

    @given(
        strategies.text('_methodPOSTgetput=&;%5f+', max_size=30).map(
            '_method{}'.format
        )
    )
    def test_any_query_is_taken_as_routes_takes_it(self, query):
        environ = {
            'QUERY_STRING': query,
            'REQUEST_METHOD': 'POST',
            'PATH_INFO': '/',
            'SERVER_NAME': 'any',
            'SERVER_PORT': '80',
            'wsgi.url_scheme': 'http',
        }
        seen = []

        class Mapper:
            """Sees the method that is routed."""

            def routematch(self, environ):
                seen.append(environ['REQUEST_METHOD'])

        middleware.RoutesMiddleware(
            lambda environ, start_response: [], Mapper(), singleton=False
        )(dict(environ), None)
        self.assertEqual(seen, [requests.method_of(environ)])
