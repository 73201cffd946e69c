# SPDX-License-Identifier: Apache-2.0
"""Files that are replaced atomically, even on a loss of power."""

import errno
import os
import pathlib
import secrets
import shutil

from cinder_tiers.domain import errors


def write(
    path: str,
    content: str | bytes,
    *,
    replace: bool,
    is_durable: bool = False,
    mode: int = 0o600,
    is_exact: bool = False,
    follows: bool = True,
    remedy: str = 'name another file',
) -> None:
    """Write a file atomically.

    :param content: content; text is written as UTF-8.
    :param replace: whether an existing file is replaced; it keeps its mode.
    :param is_durable: whether the new content must survive a loss of power
        once this returns.
    :param mode: mode of a new file, less the umask; by default only for its
        owner.
    :param is_exact: whether the file gets that mode, regardless of the umask
        and of the mode of the replaced file.
    :param follows: whether a symbolic link is followed; else a file replaces
        it. Must be False for a name that no user gave.
    :param remedy: advice as an imperative, for a file that exists.
    :raises errors.TiersError: the file cannot be written, or exists and must
        not be replaced.
    """
    target = pathlib.Path(path)
    temporary = None
    try:
        if follows:
            # A rename to /dev/null or /dev/stdout would replace the device.
            target = pathlib.Path(os.path.realpath(path))
        is_link = target.is_symlink()
        if not is_link and target.exists() and not target.is_file():
            raise OSError(errno.EINVAL, 'it exists and is not a regular file')
        if not replace and target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        temporary = target.with_name(f'.{target.name}.{secrets.token_hex(8)}')
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, 'wb') as stream:
            if is_exact:
                os.fchmod(handle, mode)
            stream.write(
                content.encode() if isinstance(content, str) else content
            )
            # The new name may reach the disk before the content; an empty file
            # would then replace a whole one.
            stream.flush()
            os.fsync(stream.fileno())
        if not replace:
            # Unlike a rename, a link fails if another process was faster.
            os.link(temporary, target)
            if is_durable:
                keep_names(str(target.parent))
            return
        if not is_exact and not is_link and target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
        temporary = None
        if is_durable:
            keep_names(str(target.parent))
    except FileExistsError as error:
        raise errors.TiersError(
            f'{path} exists and was not replaced; {remedy}'
        ) from error
    except OSError as error:
        raise errors.TiersError(
            f'{path} cannot be written: {error.strerror}'
        ) from error
    finally:
        if temporary:
            temporary.unlink(missing_ok=True)


def make_folder(folder: str, *, mode: int = 0o700) -> None:
    """Create a folder for files that must survive a loss of power.

    A file on the disk is lost with its folder, so the name of each new folder
    is also written to the disk.

    :param folder: path of the folder; its parents are created as well.
    :param mode: mode of the folder, less the umask.
    :raises OSError: the folder cannot be created.
    """
    new: list[str] = []
    path = os.path.abspath(folder)
    while not os.path.lexists(path):
        new.append(path)
        path = os.path.dirname(path)
    os.makedirs(folder, mode=mode, exist_ok=True)
    for one in new:
        keep_names(os.path.dirname(one))


def keep_names(folder: str) -> None:
    """Write the names in a folder to the disk.

    :param folder: path of the folder.
    :raises OSError: the folder cannot be opened or written.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
