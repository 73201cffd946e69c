# SPDX-License-Identifier: Apache-2.0
"""An HTTP proxy in front of Glance that can answer wrongly.

It listens on loopback only. It passes requests on to Glance and answers to
those that match a fault as the fault says; what it did it counts by the
client's User-Agent. Must not know Cinder or the doors.
"""

import collections
import contextlib
import http.client
import http.server
import itertools
import socket
import threading
import urllib.parse

#: They belong to one connection, not to the message (RFC 9110, 7.6.1).
_HOP_BY_HOP = frozenset(
    (
        'connection',
        'keep-alive',
        'proxy-authenticate',
        'proxy-authorization',
        'te',
        'trailer',
        'transfer-encoding',
        'upgrade',
    )
)
#: Seconds, more than the doors wait (glance_timeout).
LATE_S = 6.0
#: Whole responses, of which none is an image: other JSON, a page of some
#: other server, an image whose values are of wrong types, half an image, no
#: text at all, no HTTP at all.
GARBAGE = tuple(
    b'HTTP/1.1 200 OK\r\nContent-Type: %s\r\nConnection: close\r\n'
    b'Content-Length: %d\r\n\r\n%s' % (kind, length or len(body), body)
    for kind, length, body in (
        (b'application/json', 0, b'[1, null, {}]'),
        (b'application/json', 0, b'null'),
        (b'text/html', 0, b'<html><body>It works!</body></html>'),
        (
            b'application/json',
            0,
            b'{"id": 7, "owner": [], "tags": "database", "visibility": {}}',
        ),
        (b'application/json', 4096, b'{"id": "c0ffee00-0000-4000-8000-'),
        (b'application/json', 0, bytes(range(128, 256))),
    )
) + (b'\x16\x03\x01\x02\x00 this is no HTTP\r\n\r\n',)


class GlanceProxy:
    """Stands between a client and Glance.

    :param upstream: URL of the real Glance.
    :param port: TCP port on 127.0.0.1; 0 for any that is free.
    """

    def __init__(self, upstream: str, port: int = 0):
        self.upstream = urllib.parse.urlsplit(upstream)
        self.counts = collections.Counter()
        self._fault = None
        self._only_agent = None
        self._lock = threading.Lock()
        self._healed = threading.Event()
        self._garbage = itertools.cycle(GARBAGE)
        self._server = _Server(('127.0.0.1', port), _Handler)
        self._server.proxy = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={'poll_interval': 0.1}
        )

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.heal()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where clients reach the proxy."""
        return f'http://127.0.0.1:{self._server.server_address[1]}'

    def inject(self, fault: int | str, only_agent: str | None = None):
        """Answer wrongly from now on.

        :param fault: an HTTP status; ``garbage``, for answers that are none,
            one of :data:`GARBAGE` after the other; ``silence``, for none
            before :meth:`heal`; ``late``, for the right answer after
            :data:`LATE_S`.
        :param only_agent: the User-Agent to which that is done; None for
            each.
        """
        with self._lock:
            self._fault, self._only_agent = fault, only_agent
            self._healed = threading.Event()

    def heal(self):
        """Pass everything on from now on, and end all silence."""
        with self._lock:
            self._fault = None
            self._healed.set()

    def answer_to(
        self, agent: str
    ) -> tuple[int | str | None, bytes, threading.Event]:
        """What a client is to get: a fault or None, garbage, an end."""
        with self._lock:
            fault = self._fault
            if self._only_agent not in (None, agent):
                fault = None
            self.counts[agent, fault] += 1
            garbage = next(self._garbage) if fault == 'garbage' else b''
            return fault, garbage, self._healed


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    proxy: GlanceProxy


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    server: _Server

    def _serve(self):
        self.close_connection = True
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        fault, garbage, healed = self.server.proxy.answer_to(
            self.headers.get('User-Agent', '')
        )
        with contextlib.suppress(ConnectionError):  # the client has gone
            if fault is None:
                self._pass_on(body)
            elif fault == 'garbage':
                self.wfile.write(garbage)
            elif fault == 'silence':
                healed.wait()
            elif fault == 'late':
                healed.wait(LATE_S)
                self._pass_on(body)
            else:
                self._send(
                    fault,
                    {'Content-Type': 'text/plain'},
                    b'' if self.command == 'HEAD' else b'a fault\n',
                )

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    def _pass_on(self, body: bytes):
        upstream = self.server.proxy.upstream
        connection = http.client.HTTPConnection(upstream.netloc)
        with contextlib.closing(connection):
            try:
                connection.request(
                    self.command,
                    upstream.path + self.path,
                    body or None,
                    _end_to_end(self.headers.items()),
                )
                answer = connection.getresponse()
                data = answer.read()
            except (OSError, http.client.HTTPException) as problem:
                self._send(502, {}, f'no Glance: {problem}\n'.encode())
                return
            self._send(
                answer.status,
                _end_to_end(answer.getheaders()),
                data,
                length=answer.getheader('Content-Length'),
            )

    def _send(
        self,
        status: int,
        headers: dict,
        data: bytes,
        length: str | None = None,
    ):
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        # that of a HEAD request says more than there is
        self.send_header('Content-Length', length or str(len(data)))
        self.send_header('Connection', 'close')
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Keep standard error for what went wrong."""


def _end_to_end(headers) -> dict[str, str]:
    return {
        name: value
        for name, value in headers
        if name.lower() not in _HOP_BY_HOP | {'content-length'}
    }


def free_port() -> int:
    """A TCP port of loopback on which nobody listens at the moment."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]
