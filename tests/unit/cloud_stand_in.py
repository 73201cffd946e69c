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

"""Serves a cloud in which volumes become available after a while.

    python cloud_stand_in.py

prints the port once it answers, and runs until its standard input ends.
Stands in for Keystone, Glance and Cinder as far as a client that creates
volumes from an image sees them. A volume whose request names no type gets the
type `database`. What it does not know it answers with 404.
"""

import http.server
import itertools
import json
import sys
import threading
import time

IMAGE = {'id': 'c0ffee00-0000-4000-8000-000000000000', 'name': 'tagged',
         'status': 'active', 'tags': ['database']}
CREATING_S = 0.02


class Cloud(http.server.ThreadingHTTPServer):
    """What there is."""

    def __init__(self):
        super().__init__(('127.0.0.1', 0), Request)
        self.url = f'http://127.0.0.1:{self.server_port}'
        self._numbers = itertools.count(1)
        self._volumes = {}

    def answer(self, method, path, body):
        """(status, document) for a request."""
        if (method, path) == ('POST', '/v3/auth/tokens'):
            return 201, self._token()
        what, _, ident = path.removeprefix('/v3/p/').lstrip('/').partition('/')
        if what == 'v2':
            return 200, ({'images': [IMAGE]} if ident == 'images' else IMAGE)
        if what == 'volumes' and method == 'POST':
            return 202, {'volume': self._create(body['volume'])}
        if what == 'volumes' and ident == 'detail':
            return 200, {'volumes': [*map(self._see, [*self._volumes])]}
        if what == 'volumes' and ident in self._volumes:
            if method == 'DELETE':
                del self._volumes[ident]
                return 202, None
            return 200, {'volume': self._see(ident)}
        return 404, {'itemNotFound': {'message': path}}

    def _token(self):
        endpoints = {'block-storage': f'{self.url}/v3/p',
                     'image': f'{self.url}/v2'}
        return {'token': {
            'expires_at': '2099-01-01T00:00:00.000000Z', 'methods': [],
            'project': {'id': 'p', 'name': 'p'},
            'user': {'id': 'u', 'name': 'u'}, 'roles': [],
            'catalog': [{'type': kind, 'name': kind, 'endpoints': [{
                'interface': 'public', 'region_id': 'one', 'id': kind,
                'url': url}]} for kind, url in endpoints.items()]}}

    def _create(self, wanted):
        ident = str(next(self._numbers))
        self._volumes[ident] = {
            'id': ident, 'name': wanted['name'], 'size': wanted['size'],
            'volume_type': wanted.get('volume_type') or 'database',
            'created': time.monotonic()}
        return self._see(ident)

    def _see(self, ident):
        volume = dict(self._volumes[ident])
        age_s = time.monotonic() - volume.pop('created')
        return {**volume, 'status': ('available' if age_s > CREATING_S
                                     else 'creating')}


class Request(http.server.BaseHTTPRequestHandler):
    """One request."""

    protocol_version = 'HTTP/1.1'

    def _answer(self):
        length = int(self.headers.get('Content-Length') or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        status, document = self.server.answer(
            self.command, self.path.partition('?')[0], body)
        text = b'' if document is None else json.dumps(document).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(text)))
        self.send_header('X-Subject-Token', 'token')
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_DELETE = _answer

    def log_message(self, *arguments):
        """Drops the line."""


def main():
    cloud = Cloud()
    threading.Thread(target=cloud.serve_forever, daemon=True).start()
    print(cloud.server_port, flush=True)
    sys.stdin.read()


if __name__ == '__main__':
    main()
