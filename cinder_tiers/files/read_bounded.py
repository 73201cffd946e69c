# SPDX-License-Identifier: Apache-2.0


"""The content of a file that a user names, without waiting for it.

Regular files and pipes are read: /dev/stdin and <(...) of a shell are pipes
with a writer. Reading a pipe without one would block for ever, and opening a
device may have an effect, so both are refused.
"""

import collections.abc
import errno
import os
import select
import stat
import time

#: How long a pipe may be silent: its writer may prompt a user, too.
SILENCE_S = 30.0
_CHUNK_BYTES = 2**16
_KINDS: tuple[tuple[collections.abc.Callable[[int], bool], str], ...] = (
    (stat.S_ISCHR, 'a character device'),
    (stat.S_ISBLK, 'a block device'),
    (stat.S_ISSOCK, 'a socket'),
)


def read(path: str, *, max_bytes: int, silence_s: float = SILENCE_S) -> bytes:
    """The content of a regular file or a pipe.

    :param max_bytes: no more than this is read.
    :param silence_s: how long a pipe that has a writer may be silent, in
        seconds.
    :raises OSError: when there is nothing to read; `strerror` says what was
        found.
    """
    # Looked at before it is opened, for some devices act on that.
    _check_kind(path, os.stat(path))
    # A pipe without a writer would be waited for.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, 'rb') as stream:
        found = os.fstat(stream.fileno())
        _check_kind(path, found)
        if stat.S_ISREG(found.st_mode):
            return stream.read(max_bytes)
        content = b''.join(_read_pipe(stream.fileno(), max_bytes, silence_s))
    if not content:
        raise OSError(
            errno.ENODATA,
            'an empty pipe without a writer',
            path,
        )
    return content


def read_whole(path: str, *, max_mib: int) -> bytes:
    """The content of a regular file or a pipe, all of it.

    :param max_mib: how large it may be, in MiB.
    :raises OSError: when there is nothing to read, or more than that;
        `strerror` says what was found.
    """
    max_bytes = max_mib * 1024**2
    too_large = OSError(
        errno.EFBIG, f'more than {max_mib} MiB, expected less', path
    )
    # Not read in vain; of a pipe it is 0.
    if os.stat(path).st_size > max_bytes:
        raise too_large
    content = read(path, max_bytes=max_bytes + 1)
    if len(content) > max_bytes:
        raise too_large
    return content


def _check_kind(path: str, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    for is_it, what in _KINDS:
        if is_it(found.st_mode):
            raise OSError(errno.EINVAL, f'{what}, not a file', path)


def _read_pipe(
    handle: int,
    max_bytes: int,
    silence_s: float,
) -> collections.abc.Iterator[bytes]:
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    left = max_bytes
    while left:
        silent_until = time.monotonic() + silence_s
        while (chunk := _chunk(handle, min(left, _CHUNK_BYTES))) is None:
            rest_s = silent_until - time.monotonic()
            if rest_s <= 0:
                raise TimeoutError(
                    errno.ETIMEDOUT,
                    f'no data came through the pipe for {silence_s:g} s',
                )
            waiting.poll(rest_s * 1000)
        if not chunk:
            return
        yield chunk
        left -= len(chunk)


def _chunk(handle: int, size_bytes: int) -> bytes | None:
    """Bytes that are there; None: none yet; empty: at the end."""
    try:
        return os.read(handle, size_bytes)
    except BlockingIOError:
        return None
