# SPDX-License-Identifier: Apache-2.0

"""The door in front of an application that remembers what it receives."""

from cinder_tiers import api
from tests.unit.api import api_fixture
from tests.unit.api import streams


class PassThroughTestCase(api_fixture.ApiTestCase):
    """A test that sends environs, and looks at what arrives."""

    def setUp(self):
        super().setUp()
        self.context = self.cinder.user()

    def environ(
        self,
        stream,
        *,
        method='POST',
        path='/volumes',
        content_type='application/json',
        length=None,
        is_terminated=False,
        has_context=True,
        version=None,
    ):
        environ = {
            'REQUEST_METHOD': method,
            'PATH_INFO': path,
            'SCRIPT_NAME': '/v3',
            'CONTENT_TYPE': content_type,
            'CONTENT_LENGTH': length,
            'HTTP_X_ANY': 'any',
            'wsgi.input': stream,
            'HTTP_OPENSTACK_API_VERSION': version and f'volume {version}',
            'wsgi.version': (1, 0),
            'wsgi.input_terminated': is_terminated,
            'cinder.context': self.context if has_context else None,
        }
        if is_terminated:
            environ['HTTP_TRANSFER_ENCODING'] = 'chunked'
        return {
            key: value for key, value in environ.items() if value is not None
        }

    def send(self, environ, way=streams.at_once):
        """What an application behind the door receives."""
        recorder = streams.Recorder(way)
        answers = []
        result = api.filter_factory({})(recorder)(
            environ, lambda *answer: answers.append(answer)
        )
        self.assertEqual(([b'answer'], [('200 OK', [])]), (result, answers))
        return recorder

    def assert_untouched(
        self, pieces, way=streams.at_once, error=None, **said
    ):
        """The same bytes, the same error and the same environ arrive."""
        environ = self.environ(streams.Stream(*pieces, error=error), **said)
        before = environ.copy()
        recorder = self.send(environ, way)
        self.assertEqual(
            (b''.join(pieces), error), (recorder.body, recorder.error)
        )
        before['wsgi.input'] = recorder.environ['wsgi.input']
        self.assertEqual(before, recorder.environ)
