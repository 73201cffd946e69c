# SPDX-License-Identifier: Apache-2.0

import http.client
import http.server
import threading
import time
import urllib.parse

import testtools

from tests.functional import glance_proxy


class Upstream(http.server.BaseHTTPRequestHandler):
    """Tells what it was sent."""

    def answer(self):
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        data = b' '.join((self.command.encode(), self.path.encode(), body))
        self.send_response(200)
        self.send_header('Content-Length', str(len(data)))
        self.send_header('X-Token', self.headers.get('X-Auth-Token', 'none'))
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(data)

    do_GET = do_HEAD = do_POST = answer

    def log_message(self, *_):
        """Nobody reads it."""


class GlanceProxyTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Upstream)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.proxy = glance_proxy.GlanceProxy(
            f'http://127.0.0.1:{server.server_address[1]}'
        )
        self.proxy.__enter__()
        self.addCleanup(self.proxy.__exit__)

    def ask(
        self,
        path='/v2/images',
        *,
        method='GET',
        body=None,
        agent='python-glanceclient',
        timeout=10,
        **headers,
    ):
        """(answer, its data) through the proxy."""
        connection = http.client.HTTPConnection(
            urllib.parse.urlsplit(self.proxy.url).netloc, timeout=timeout
        )
        self.addCleanup(connection.close)
        connection.request(
            method, path, body, {'User-Agent': agent, **headers}
        )
        answer = connection.getresponse()
        return answer, answer.read()

    def test_a_request_and_its_answer_pass_unchanged(self):
        answer, data = self.ask(
            '/v2/images?limit=2',
            method='POST',
            body=b'{"name": "x"}',
            **{'X-Auth-Token': 'secret'},
        )
        self.assertEqual(
            (200, b'POST /v2/images?limit=2 {"name": "x"}', 'secret'),
            (answer.status, data, answer.getheader('X-Token')),
        )

    def test_one_client_alone_can_be_meant(self):
        self.proxy.inject(500, only_agent='cinder-tiers')
        self.assertEqual(200, self.ask()[0].status)
        self.assertEqual(500, self.ask(agent='cinder-tiers')[0].status)
        self.assertEqual(
            {('python-glanceclient', None): 1, ('cinder-tiers', 500): 1},
            self.proxy.counts,
        )

    def test_none_of_the_garbage_is_an_answer_of_glance(self):
        self.proxy.inject('garbage')
        seen = []
        for _ in glance_proxy.GARBAGE:
            try:
                answer, data = self.ask()
            except http.client.HTTPException as problem:
                seen.append(type(problem))
            else:
                self.assertEqual(200, answer.status)
                seen.append(data)
        self.assertEqual(len(glance_proxy.GARBAGE), len(set(seen)), seen)
        self.assertIn(http.client.IncompleteRead, seen)
        self.assertIn(http.client.BadStatusLine, seen)

    def test_silence_lasts_until_it_heals_and_ends_without_an_answer(self):
        self.proxy.inject('silence')
        self.assertRaises(TimeoutError, self.ask, timeout=0.3)
        healer = threading.Timer(0.3, self.proxy.heal)
        healer.start()
        self.addCleanup(healer.join)
        started = time.monotonic()
        self.assertRaises(http.client.RemoteDisconnected, self.ask)
        self.assertGreater(time.monotonic() - started, 0.2)
