# SPDX-License-Identifier: Apache-2.0

"""The body of a request, read without being used up.

Downstream applications still see the original bytes in `wsgi.input`.
Must not know what they mean.
"""

import io
import typing

Environ = dict[str, typing.Any]

#: A longer body is not looked at unless Cinder takes it, whose own limit is
#: 114688 bytes ([oslo_middleware] max_request_body_size).
MOST_BYTES = 1024 * 1024
#: Bytes asked for at a time from a body of unknown length.
_CHUNK_BYTES = 65536


class _Replay(io.RawIOBase):
    """Bytes that were read, then what is left, or the error that came."""

    def __init__(
        self, start: bytes, rest: typing.Any, error: Exception | None
    ) -> None:
        self._start = start
        self._rest = rest
        self._error = error

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: typing.Any) -> int:
        if self._start:
            data, self._start = (
                self._start[: len(buffer)],
                self._start[len(buffer) :],
            )
        elif self._error is not None:
            raise self._error
        else:
            data = self._rest.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def read_body(
    environ: Environ, *, most_bytes: int = MOST_BYTES
) -> bytes | None:
    """Read the whole body and leave it readable for the application.

    :param environ: environment of a WSGI request (PEP 3333). A chunked body is
        read only if the server ends the input itself
        (`wsgi.input_terminated`).
    :param most_bytes: longest body that is read, in bytes.
    :returns: None if the body is too long, shorter than its Content-Length, or
        unreadable.
    """
    length = None
    if environ.get('CONTENT_LENGTH'):
        try:
            length = int(environ['CONTENT_LENGTH'])
        except ValueError:
            return None
    elif not environ.get('wsgi.input_terminated'):
        return b''
    if length is not None and not 0 <= length <= most_bytes:
        return None
    wanted = most_bytes + 1 if length is None else length
    stream, pieces, error = environ['wsgi.input'], bytearray(), None
    try:
        while len(pieces) < wanted:
            chunk = stream.read(min(_CHUNK_BYTES, wanted - len(pieces)))
            if not chunk:
                break
            pieces += chunk
    # Whatever a server raises, it is for who comes after.
    except Exception as caught:  # noqa: BLE001
        error = caught
    data = bytes(pieces)
    is_whole = error is None and (
        len(data) == length if length is not None else len(data) <= most_bytes
    )
    environ['wsgi.input'] = (
        io.BytesIO(data)
        if is_whole
        else (io.BufferedReader(_Replay(data, stream, error)))
    )
    return data if is_whole else None


def replace_body(environ: Environ, data: bytes) -> None:
    """Put another body in the place of the one that was read."""
    environ['wsgi.input'] = io.BytesIO(data)
    environ['CONTENT_LENGTH'] = str(len(data))
    environ.pop('HTTP_TRANSFER_ENCODING', None)
