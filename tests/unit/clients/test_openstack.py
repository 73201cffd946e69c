# SPDX-License-Identifier: Apache-2.0

import http.server
import json
import threading

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


@ddt.ddt
class FailureTestCase(testtools.TestCase):
    @ddt.data(400, 401, 403, 404, 409)
    def test_a_refusal_is_an_answer(self, status):
        self.assertIs(errors.NotVisible, type(self.failure(status)))

    @ddt.data(None, 408, 413, 429, 500, 503)
    def test_what_may_be_answered_later_is_no_refusal(self, status):
        self.assertIs(errors.Unreachable, type(self.failure(status)))

    @ddt.data(
        (200, 'text/html', b'<html>Maintenance</html>', True),
        (200, 'application/json', b' {"volume_types": []}', False),
        (200, 'application/json', b'', False),
        # webob.exc.HTTPAccepted, as Cinder returns it.
        (202, 'text/plain', b'202 Accepted', False),
    )
    @ddt.unpack
    def test_the_page_of_a_proxy_is_no_answer(
        self, status, content_type, content, is_refused
    ):
        class Proxy(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # noqa: N802 - by its base
                self.send_response(status)
                self.send_header('Content-Type', content_type)
                self.send_header('Content-Length', str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                """Says nothing."""

        server = http.server.HTTPServer(('127.0.0.1', 0), Proxy)
        self.addCleanup(server.server_close)
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        self.addCleanup(thread.join)
        service = adapter.Adapter(
            session.Session(),
            endpoint_override=f'http://127.0.0.1:{server.server_port}',
        )

        def ask():
            with clients.asking('Cinder did not list volume types'):
                clients.request(service, 'GET', '/types')

        if not is_refused:
            ask()
            return
        error = self.assertRaises(errors.Unreachable, ask)
        self.assertIs(errors.Unreachable, type(error))
        self.assertIn('text/html', str(error))

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

    def behind_a_page(self):
        """A connection with services that show their versions, and a page."""

        class Proxy(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # noqa: N802 - by its base
                version = {
                    'id': 'v3.0',
                    'status': 'CURRENT',
                    'version': '3.70',
                    'min_version': '3.0',
                    'links': [{'rel': 'self', 'href': f'{url}/v3/'}],
                }
                content = {
                    '/': json.dumps({'versions': [version]}),
                    '/v3': json.dumps({'version': version}),
                    '/v3/': json.dumps({'version': version}),
                }.get(self.path, '<html>Maintenance</html>')
                self.send_response(200)
                self.send_header('Content-Length', str(len(content)))
                self.end_headers()
                self.wfile.write(content.encode())

            def log_message(self, *_):
                """Says nothing."""

        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Proxy)
        url = f'http://127.0.0.1:{server.server_port}'
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
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
