# SPDX-License-Identifier: Apache-2.0

"""Serves a cloud that a benchmark or a test makes up.

A cloud has `url`, which is set here, and `answer(method, path, query, body)`,
which returns a status and a document, or None for what it does not know.
Keystone's part, to log in and to find the services, is here; a cloud may have
`roles`, a list of the names of those that each user has, and `project`, the id
of the one project.
"""

import http.server
import json
import sys
import threading
import urllib.parse


def _token(cloud):
    url = cloud.url
    project = getattr(cloud, 'project', 'p')
    domain = {'id': 'default', 'name': 'Default'}
    endpoints = {
        'identity': f'{url}/v3',
        'block-storage': f'{url}/v3/{project}',
        'image': f'{url}/v2',
        'compute': f'{url}/v2.1',
    }
    return {
        'token': {
            'expires_at': '2099-01-01T00:00:00.000000Z',
            'methods': [],
            'project': {'id': project, 'name': 'p', 'domain': domain},
            'user': {'id': 'u', 'name': 'u', 'domain': domain},
            'roles': [
                {'id': role, 'name': role}
                for role in getattr(cloud, 'roles', ())
            ],
            'catalog': [
                {
                    'type': kind,
                    'name': kind,
                    'endpoints': [
                        {
                            'interface': 'public',
                            'region': 'one',
                            'region_id': 'one',
                            'id': kind,
                            'url': endpoint,
                        }
                    ],
                }
                for kind, endpoint in endpoints.items()
            ],
        }
    }


def serve(cloud):
    """Serves a cloud on a free port, in threads; returns the server."""

    class Request(http.server.BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'
        # Or an answer waits for the acknowledgement of its headers.
        disable_nagle_algorithm = True

        def _answer(self):
            length = int(self.headers.get('Content-Length') or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            path, _, query = self.path.partition('?')
            if (self.command, path) == ('POST', '/v3/auth/tokens'):
                found = 201, _token(cloud)
            else:
                found = cloud.answer(
                    self.command,
                    path,
                    dict(urllib.parse.parse_qsl(query)),
                    body,
                )
            status, document = found or (
                404,
                {'itemNotFound': {'message': path}},
            )
            text = b'' if document is None else json.dumps(document).encode()
            self.send_response(status)
            self.send_header('Content-Type', 'application/json')
            self.send_header('Content-Length', str(len(text)))
            self.send_header('X-Subject-Token', 'token')
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer

        def log_message(self, *arguments):
            """Drops the line."""

    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Request)
    cloud.url = f'http://127.0.0.1:{server.server_port}'
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def run(cloud):
    """Prints the port of a cloud, and serves until standard input ends."""
    print(serve(cloud).server_port, flush=True)
    sys.stdin.read()
