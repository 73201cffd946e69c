# SPDX-License-Identifier: Apache-2.0

"""A create that leaves no type to the image reaches Cinder byte for byte.

What Cinder accepts is told by its schema of the version.
"""

import json

from cinder.api.schemas import volumes
from cinder.api.validation import validators
import ddt
from hypothesis import example
from hypothesis import given
from hypothesis import strategies

from cinder_tiers import api
from cinder_tiers.api import body as request_body
from tests.unit.api import api_fixture
from tests.unit.api import pass_through_case
from tests.unit.api import streams

CREATES = (
    '/volumes',
    f'/{api_fixture.PROJECT}/volumes',
    '/volumes.json',
    '/x/volumes.json',
    '/volumes/',
)
OTHERS = (
    '',
    '/',
    '/volumes/x',
    '/volumes/detail',
    '/volume',
    '/xvolumes',
    '/a/b/volumes',
    '/volumes.xml',
    '//volumes',
    'volumes',
    '/snapshots',
    '/x/volumes/y/action',
)
JSON_TYPES = (
    'application/json',
    'application/json; charset=utf-8',
    'application/vnd.openstack.volume+json',
)
OTHER_TYPES = (
    None,
    '',
    'text/plain',
    'application/xml',
    'json',
    'multipart/form-data',
    ';application/json',
)
VERSIONS = (
    None,
    '3.0',
    '3.12',
    '3.13',
    '3.46',
    '3.47',
    '3.52',
    '3.53',
    '3.71',
)
UUID = 'c0ffee00-0000-4000-8000-000000000000'
UUIDS = ('source_volid', 'snapshot_id', 'consistencygroup_id')
#: Keys that say that the place of a volume is not for an image to choose.
FIXED = (*UUIDS, 'group_id')
#: What Cinder does not read, at least not in its first version.
IGNORED = ('source_replica', 'backup_id', 'cgsnapshot_id')

LEAVES = (
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats()
    | strategies.text(max_size=9)
)
VALUES = strategies.recursive(
    LEAVES,
    lambda children: (
        strategies.lists(children, max_size=3)
        | strategies.dictionaries(
            strategies.text(max_size=5), children, max_size=3
        )
    ),
    max_leaves=8,
)
#: Mostly what Cinder may accept.
VOLUMES = strategies.dictionaries(
    strategies.text(max_size=5)
    | strategies.sampled_from(('size', 'name', 'metadata')),
    VALUES,
    max_size=4,
).flatmap(
    lambda others: strategies.fixed_dictionaries(
        {},
        optional={
            'volume_type': strategies.sampled_from(
                (None, '', 'image-tier', 'general', 'x')
            )
            | VALUES,
            'imageRef': strategies.sampled_from((None, '', 'x' * 256))
            | LEAVES,
            **dict.fromkeys(
                (*FIXED, *IGNORED),
                strategies.sampled_from((None, UUID)) | LEAVES,
            ),
        },
    ).map(lambda known: {**others, **known})
)
DOCUMENTS = VALUES | strategies.builds(
    lambda volume, others: {**others, 'volume': volume},
    VOLUMES | VALUES,
    strategies.dictionaries(strategies.text(max_size=5), VALUES, max_size=2),
)
BODIES = strategies.binary(max_size=99) | strategies.builds(
    lambda document, is_ascii: json.dumps(
        document, ensure_ascii=is_ascii
    ).encode('utf-8', 'surrogatepass'),
    DOCUMENTS,
    strategies.booleans(),
)


def check(document, version):
    """Raise an exception unless Cinder accepts this as a create."""
    minor = int(version.partition('.')[2])
    validators._SchemaValidator(
        next(
            schema
            for lowest, schema in (
                (53, volumes.create_volume_v353),
                (47, volumes.create_volume_v347),
                (13, volumes.create_volume_v313),
                (0, volumes.create),
            )
            if minor >= lowest
        )
    ).validate(document)


@ddt.ddt
class CreatesPassThroughTestCase(pass_through_case.PassThroughTestCase):
    def assert_steered(
        self, data, is_terminated=False, version=None, name='general'
    ):
        """All of the JSON is the same but the type, which is a tier's."""
        environ = self.environ(
            streams.Stream(data[:7], data[7:]),
            is_terminated=is_terminated,
            length=None if is_terminated else str(len(data)),
            version=version,
        )
        before = environ.copy()
        recorder = self.send(environ)
        received, sent = json.loads(recorder.body), json.loads(data)
        self.assertEqual(
            self.types.get(name), received['volume'].pop('volume_type')
        )
        sent['volume'].pop('volume_type', None)
        # repr: a NaN is not equal to itself.
        self.assertEqual(repr(sent), repr(received))
        before.pop('HTTP_TRANSFER_ENCODING', None)
        before.update(
            {
                'wsgi.input': recorder.environ['wsgi.input'],
                'CONTENT_LENGTH': str(len(recorder.body)),
            }
        )
        self.assertEqual(before, recorder.environ)

    def follows_image(self, data, version=None):
        """The volume, if Cinder accepts it and its type is for us to set."""
        try:
            document = json.loads(data.decode())
            check(document, version or '3.0')
        # Of whatever kind: then it is not accepted.
        except Exception:  # noqa: BLE001
            return None
        volume = document['volume']
        return (
            volume
            if volume.get('volume_type')
            in (None, '', 'image-tier', self.follow)
            else None
        )

    def assert_right(self, data, version, is_terminated):
        """Steered or untouched, as Cinder reads it."""
        volume = self.follows_image(data, version)
        keys = {key for key in FIXED if volume and volume.get(key) is not None}
        if volume is not None and not keys:
            self.assert_steered(data, is_terminated, version)
        elif (
            volume
            and volume.get('volume_type')
            and keys <= {'source_volid', 'snapshot_id'}
        ):
            self.assert_steered(data, is_terminated, version, name=None)
        else:
            self.assert_untouched(
                [data[:5], data[5:]],
                is_terminated=is_terminated,
                version=version,
                length=None if is_terminated else str(len(data)),
            )

    @given(BODIES, strategies.sampled_from(VERSIONS), strategies.booleans())
    def test_a_create_is_steered_or_passes(self, data, version, is_terminated):
        self.assert_right(data, version, is_terminated)

    @given(
        strategies.dictionaries(
            strategies.text(max_size=5).map('x{}'.format), VALUES, max_size=4
        ),
        strategies.dictionaries(
            strategies.sampled_from((*IGNORED, 'image_id', 'imageRef')),
            strategies.none(),
            max_size=4,
        ),
    )
    @example({'x': {'a': float('nan'), 'b': 10**4000}}, {})
    @example({'name': '\ud800', '': [], '\x00': {'volume_type': 'x'}}, {})
    def test_what_cinder_does_not_know_stays(self, others, nothing):
        data = json.dumps(
            {
                'volume': {
                    **others,
                    **nothing,
                    'volume_type': 'image-tier',
                    **dict.fromkeys(FIXED),
                }
            }
        ).encode()
        self.assertIsNotNone(self.follows_image(data))
        self.assert_steered(data)

    @given(
        strategies.binary(max_size=99),
        strategies.text(max_size=9),
        strategies.text(max_size=20),
        strategies.text(max_size=20),
        strategies.sampled_from(streams.WAYS),
    )
    def test_any_other_request_passes(
        self, data, method, path, content_type, way
    ):
        self.assert_untouched(
            [data],
            way,
            method=method,
            path=path,
            content_type=content_type,
            length=str(len(data)),
        )

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
                recorder = self.send(
                    self.environ(
                        streams.Stream(data),
                        path=path,
                        length=str(len(data)),
                        content_type=content_type,
                    )
                )
                self.assertNotEqual(data, recorder.body)

    @ddt.data(
        b'',
        b'\xff\xfe',
        b'\xef\xbb\xbf{"volume": {}}',
        b'[' * 100000,
        b'{"volume":' * 100000,
        b'{"volume": ' + b'[' * 99999 + b'}',
        '{"volume": {}}'.encode('utf-16'),
        '{"volume": {}}'.encode('utf-32'),
        b'{"volume": {"size": ' + b'9' * 5000 + b'}}',
        b'{"volume": {}',
        b'{"volume": {}}{}',
        b'[{"volume": {}}]',
        b'"volume"',
        b'null',
        b'{"volume": ["volume_type"]}',
        b'{"volume": {"volume_type": NaN}}',
        b'{"volume": {}, "volume": 7}',
        b"{'volume': {}}",
        b'{"volume": {"size": NaN}}',
        b'{"volume": {}, "x": 1}',
        b'{"volume": {"imageRef": "%s"}}' % (b'x' * 256),
        b'{"volume": {"image_id": "%s"}}' % (b'0' * 32 + b'-' * 999),
        *(
            b'{"volume": {"%s": %s}}' % (key.encode(), value)
            for key in ('volume_type', 'image_id', 'imageRef', *UUIDS)
            for value in (
                b'7',
                b'true',
                b'[]',
                b'{}',
                b'["image-tier"]',
                b'[' * 99999,
            )
        ),
        *(
            b'{"volume": {"group_id": %s}}' % value
            for value in (b'7', b'true', b'[]', b'{}', b'""')
        ),
    )
    def test_a_body_that_cinder_refuses_passes(self, data):
        self.assertIsNone(
            self.follows_image(data.replace(b'"group_id"', b'"source_volid"'))
        )
        self.assert_untouched([data], length=str(len(data)))
        self.assert_untouched([data[:1], data[1:]], is_terminated=True)

    @ddt.data(
        b'{"volume": {}}',
        b' {"volume":\n{"volume_type": ""}}\r\n ',
        b'{"volume": 7, "volume": {}}',
        b'{"volume": {"volume_type": "x", "volume_type": null}}',
        b'{"volume": {"size": 7, "x": Infinity, "y": -Infinity}}',
        b'{"volume": {"x": ' + b'9' * 4000 + b', "y": 1e999}}',
        b'{"volume": {"x": "\\ud800\\u0000", "y": {"volume_type": 1}}}',
        b'{"volume": {"x": ' + b'[' * 300 + b']' * 300 + b'}}',
        b'{"volume": {"imageRef": ""}}',
        b'{"volume": {"image_id": ""}}',
        b'{"volume": {"imageRef": "x"}, "OS-SCH-HNT:scheduler_hints": {}}',
        *(
            b'{"volume": {"%s": %s}}' % (key.encode(), value)
            for key in IGNORED
            for value in (
                b'7',
                b'0',
                b'true',
                b'false',
                b'[]',
                b'{}',
                b'""',
                b'"x"',
            )
        ),
    )
    def test_a_strange_body_that_cinder_accepts_keeps_all_else(self, data):
        self.assertIsNotNone(self.follows_image(data))
        self.assert_steered(data)
        self.assert_steered(data, is_terminated=True)

    @ddt.data(*VERSIONS)
    def test_which_keys_count_depends_on_the_version(self, version):
        for key in (*UUIDS, *IGNORED, 'group_id', 'unknown', 'image_id'):
            for value in (UUID, None, '', 'x', 0, False, [], {}):
                for named in ({}, {'volume_type': 'image-tier'}):
                    self.assert_right(
                        json.dumps({'volume': {key: value, **named}}).encode(),
                        version,
                        False,
                    )

    def test_a_body_that_says_what_is_not_so_passes(self):
        data = b'{"volume": {"size": 1}}'
        for length in (
            'x',
            '-1',
            '1e3',
            str(len(data) + 1),
            '9' * 30,
            str(request_body.MOST_BYTES + 1),
            None,
            '',
        ):
            for way in streams.WAYS:
                self.assert_untouched([data], way, length=length)

    def test_a_body_that_is_too_long_passes(self):
        data = b'{"volume": {"size": 1}}' + b' ' * request_body.MOST_BYTES
        self.assert_untouched([data], length=str(len(data)))
        self.assert_untouched([data], is_terminated=True)

    def test_a_body_that_breaks_off_passes_and_so_does_the_error(self):
        for pieces in ([], [b'{"volume"'], [b'{"volume"', b': {}}']):
            self.assert_untouched(
                pieces,
                streams.by_bytes,
                error=ConnectionResetError(),
                length='999',
            )
            self.assert_untouched(
                pieces, streams.by_bytes, error=OSError(), is_terminated=True
            )

    def test_when_the_door_fails_the_request_passes(self):
        with self.cinder.engine.begin() as connection:
            connection.exec_driver_sql('DROP TABLE volume_types')
        data = b'{"volume": {"volume_type": "image-tier"}}'
        self.assert_untouched([data], length=str(len(data)))
        self.assertIn(
            (
                'ERROR The API middleware failed '
                f'(request {self.context.request_id})'
            ),
            self.log.output,
        )

    def test_an_error_of_the_application_is_its_own(self):
        """Nor is it called twice."""
        calls = []

        def application(environ, start_response):
            calls.append(environ)
            raise ZeroDivisionError

        self.assertRaises(
            ZeroDivisionError,
            api.filter_factory({}, any='any')(application),
            self.environ(streams.Stream(b'{"volume": {}}'), length='14'),
            None,
        )
        self.assertEqual(1, len(calls))
        self.assertNotIn('ERROR', self.log.output)
