# SPDX-License-Identifier: Apache-2.0

import subprocess
import sys

import ddt
from keystoneauth1 import adapter
from keystoneauth1 import session
import openstack.connection
import openstack.exceptions
import testtools

from cinder_tiers.clients import openstack as clients
from cinder_tiers.domain import errors
from cinder_tiers.observe import keystone
from cinder_tiers.observe import visible_cloud

SERVER = """
import http.server
import json
import sys


class Proxy(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, content_type, content):
        self.send_response(status)
        self.send_header('Content-Type', content_type)
        self.send_header('Content-Length', str(len(content)))
        self.end_headers()
        self.wfile.write(content.encode())

    def do_GET(self):
"""
#: Arguments: status, content type and content.
ONE_ANSWER = """
        self.answer(int(sys.argv[1]), *sys.argv[2:])
"""
#: An answer that is longer than any of Cinder's, unless few entries of a list
#: are asked for.
LONG_ANSWER = """
        entries = [{'id': number, 'text': 'x' * 2**20} for number in range(20)]
        _, _, limit = self.path.partition('limit=')
        found = {'rows': entries[:int(limit)] if limit else entries}
        self.answer(200, 'application/json', json.dumps(found))
"""
#: Versions of a service, and a page in place of all else.
VERSIONS = """
        url = f'http://127.0.0.1:{self.server.server_port}/v3/'
        version = {
            'id': 'v3.0',
            'status': 'CURRENT',
            'version': '3.70',
            'min_version': '3.0',
            'links': [{'rel': 'self', 'href': url}],
        }
        one = json.dumps({'version': version})
        documents = {
            '/': json.dumps({'versions': [version]}), '/v3': one, '/v3/': one
        }
        if self.path in documents:
            self.answer(200, 'application/json', documents[self.path])
        else:
            self.answer(200, 'text/html', '<html>Maintenance</html>')
"""
SERVE = """

server = http.server.HTTPServer(('127.0.0.1', 0), Proxy)
print(server.server_port, flush=True)
server.serve_forever()
"""


@ddt.ddt
class FailureTestCase(testtools.TestCase):
    @ddt.data(400, 401, 403, 404, 409)
    def test_a_refusal_is_an_answer(self, status):
        self.assertIs(errors.NotVisible, type(self.failure(status)))

    @ddt.data(None, 408, 413, 429, 500, 503)
    def test_what_may_be_answered_later_is_no_refusal(self, status):
        self.assertIs(errors.Unreachable, type(self.failure(status)))

    @ddt.data(
        (200, 'text/html', '<html>Maintenance</html>', True),
        (200, 'application/json', ' {"volume_types": []}', False),
        (200, 'application/json', '', False),
        # webob.exc.HTTPAccepted, as Cinder returns it.
        (202, 'text/plain', '202 Accepted', False),
    )
    @ddt.unpack
    def test_the_page_of_a_proxy_is_no_answer(
        self, status, content_type, content, is_refused
    ):
        url = self.serve(ONE_ANSWER, str(status), content_type, content)
        service = adapter.Adapter(session.Session(), endpoint_override=url)

        def ask():
            with clients.asking('Cinder did not list volume types'):
                clients.request(service, 'GET', '/types')

        if not is_refused:
            ask()
            return
        error = self.assertRaises(errors.Unreachable, ask)
        self.assertIs(errors.Unreachable, type(error))
        self.assertIn('text/html', str(error))

    def test_an_answer_has_a_bound(self):
        url = self.serve(LONG_ANSWER)
        service = adapter.Adapter(session.Session(), endpoint_override=url)
        error = self.assertRaises(
            clients.AnswerTooLong, clients.request, service, 'GET', '/types'
        )
        self.assertIn('GET /types has more than 16 MiB', str(error))
        found = clients.rows(
            service, '/types', key='rows', links='next', params={'limit': 30}
        )
        self.assertEqual([0, 1, 2], [one['id'] for one in found])

    @ddt.data('../types', 'detail', '', None, 7, 'a' * 32 + '/file', 'a' * 31)
    def test_a_url_has_no_other_text_than_ids(self, ident):
        self.assertRaises(
            openstack.exceptions.SDKException,
            clients.request,
            None,
            'GET',
            '/types/{}',
            ident,
        )

    @ddt.data('..', '.', '', 'a/b', 'a?b', '%2e%2e', 'a\n')
    def test_a_key_that_would_be_another_url(self, key):
        self.assertRaises(
            openstack.exceptions.SDKException, clients.checked_key, key
        )

    def test_what_openstacksdk_makes_of_such_a_page_is_no_answer(self):
        connection = self.behind_a_page()
        ident = 'a' * 32
        for read in (
            lambda: visible_cloud.observe_backends(connection),
            lambda: visible_cloud.list_backends(connection),
            lambda: keystone.names(connection, [ident]),
            lambda: keystone.observe(connection, ['alpha']),
            lambda: keystone.observe(connection, [ident]),
        ):
            error = self.assertRaises(errors.Unreachable, read)
            self.assertIs(errors.Unreachable, type(error))

    def serve(self, answer, *arguments):
        """Serve in a process of its own; its URL.

        eventlet may have imported http.server first in this one, and threads
        of its servers are green ones then, which nothing runs.
        """
        process = subprocess.Popen(
            [sys.executable, '-c', SERVER + answer + SERVE, *arguments],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return f'http://127.0.0.1:{int(process.stdout.readline())}'

    def behind_a_page(self):
        """A connection with services that show their versions, and a page."""

        url = self.serve(VERSIONS)
        return openstack.connection.Connection(
            auth_type='none',
            endpoint=url,
            region_name='one',
            block_storage_endpoint_override=f'{url}/v3',
            identity_endpoint_override=f'{url}/v3',
            identity_api_version='3',
            block_storage_api_version='3',
        )

    def failure(self, status):
        return clients.failure(
            openstack.exceptions.HttpException('no', http_status=status), 'no'
        )
