# SPDX-License-Identifier: Apache-2.0
"""Files that are whole or as they were."""

import errno
import os
import pathlib
import shutil
import tempfile

from cinder_tiers.domain import errors


def write(
    path: str, text: str, *, replace: bool, is_durable: bool = False
) -> None:
    """Writes a file at once.

    :param path: of the file.
    :param text: its content, written as UTF-8.
    :param replace: whether a file that exists is replaced; it keeps its mode.
        A new one is for its owner only (0600).
    :param is_durable: whether it must be on the disk before this returns, so
        that it is there after a loss of power.
    :raises errors.TiersError: it cannot be written, or it exists and is not
        to be replaced.
    """
    target = pathlib.Path(path)
    temporary = None
    try:
        # To rename a file to /dev/null or /dev/stdout would replace these.
        target = pathlib.Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            raise OSError(errno.EINVAL, 'it exists and is not a regular file')
        if not replace and target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        handle, temporary = tempfile.mkstemp(
            prefix=f'.{target.name}.', dir=target.parent
        )
        with os.fdopen(handle, 'w', encoding='utf-8') as stream:
            stream.write(text)
            if is_durable:
                stream.flush()
                os.fsync(stream.fileno())
        if not replace:
            # Unlike a rename it fails when another process was faster.
            os.link(temporary, target)
            if is_durable:
                keep_names(str(target.parent))
            return
        if target.exists():
            shutil.copymode(target, temporary)
        pathlib.Path(temporary).replace(target)
        temporary = None
        if is_durable:
            keep_names(str(target.parent))
    except FileExistsError as error:
        raise errors.TiersError(
            f'{path} exists and was not replaced; name another file, or '
            'use --force'
        ) from error
    except OSError as error:
        raise errors.TiersError(
            f'{path} cannot be written: {error.strerror}'
        ) from error
    finally:
        if temporary:
            pathlib.Path(temporary).unlink(missing_ok=True)


def keep_names(folder: str) -> None:
    """Has the names in a folder written to the disk.

    :param folder: its path.
    :raises OSError: it cannot be done.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
