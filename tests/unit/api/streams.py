# SPDX-License-Identifier: Apache-2.0

"""Bodies of requests, as servers hand them to applications."""

import io


class Stream(io.RawIOBase):
    """A body that comes in pieces, and may break."""

    def __init__(self, *pieces, error=None):
        self._pieces = [piece for piece in pieces if piece]
        self._error = error
        self.reads = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        self.reads += 1
        if not self._pieces:
            if self._error is not None:
                raise self._error
            return 0
        piece = self._pieces.pop(0)
        data, rest = piece[: len(buffer)], piece[len(buffer) :]
        if rest:
            self._pieces.insert(0, rest)
        buffer[: len(data)] = data
        return len(data)


class Recorder:
    """A WSGI application that remembers what it receives."""

    def __init__(self, read):
        """Nothing received yet.

        :param read: how it reads: a function of the input that yields bytes
        """
        self._read = read
        self.environ = None
        self.body = b''
        self.error = None

    def __call__(self, environ, start_response):
        self.environ = dict(environ)
        try:
            for data in self._read(environ['wsgi.input']):
                self.body += data
        # It is for the test to judge.
        except Exception as error:  # noqa: BLE001
            self.error = error
        start_response('200 OK', [])
        return [b'answer']


def by_bytes(stream):
    """Byte by byte: nothing is lost when the stream breaks."""
    return iter(lambda: stream.read(1), b'')


def by_lines(stream):
    return iter(stream)


def at_once(stream):
    return [stream.read()]


def with_readline(stream):
    return iter(lambda: stream.readline(7), b'')


def with_readlines(stream):
    return stream.readlines()


WAYS = (by_bytes, by_lines, at_once, with_readline, with_readlines)
