# SPDX-License-Identifier: Apache-2.0

"""Content of a file that a user names, up to a limit.

Regular files and pipes are read: /dev/stdin and <(...) of a shell are pipes. A
pipe is read until its writer closes it, or Ctrl-C. Opening a device may have
an effect, so anything else is refused.
"""

import errno
import os
import stat

_REFUSED = {
    stat.S_IFCHR: 'a character device',
    stat.S_IFBLK: 'a block device',
    stat.S_IFSOCK: 'a socket',
}


def read(path: str, *, max_bytes: int) -> bytes:
    """Return the content of a regular file or a pipe, up to a limit.

    :param max_bytes: maximum number of bytes to read.
    :raises OSError: the file cannot be read; `strerror` says what was found.
    """
    # Checked before it is opened, because some devices react to that.
    refused = _REFUSED.get(stat.S_IFMT(os.stat(path).st_mode))
    if refused:
        raise OSError(errno.EINVAL, f'{refused}, not a file', path)
    with open(path, 'rb') as stream:
        return stream.read(max_bytes)


def read_whole(path: str, *, max_mib: int) -> bytes:
    """Return the whole content of a regular file or a pipe.

    :param max_mib: maximum size of the file, in MiB.
    :raises OSError: the file cannot be read, or is larger; `strerror` says
        what was found.
    """
    max_bytes = max_mib * 1024**2
    too_large = OSError(
        errno.EFBIG, f'more than {max_mib} MiB, expected less', path
    )
    # Saves reading a file that is too large; the size of a pipe is 0.
    if os.stat(path).st_size > max_bytes:
        raise too_large
    content = read(path, max_bytes=max_bytes + 1)
    if len(content) > max_bytes:
        raise too_large
    return content
