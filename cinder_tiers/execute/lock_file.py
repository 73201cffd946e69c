# SPDX-License-Identifier: Apache-2.0

"""A file and a folder for a lock that all users of a host can share.

root and another user must exclude each other, and neither may be led by the
other to a file that is not the lock. So the folder lies in one of which root
has set the sticky bit, where only its owner removes or renames a file; a file
or a folder is used only when it belongs to root or to the user of the process,
and root takes ownership of what another user made. Links are never followed.
Must not know what is locked, nor how.
"""

import collections.abc
import contextlib
import os
import stat

from cinder_tiers.domain import errors

#: Where every user can make a folder. On some distributions only root can in
#: the first; all users of a host must come to the same one.
PARENTS = ('/run/lock', '/tmp')  # noqa: S108 - a folder in it is guarded
_FOLDER = 'cinder-tiers'
#: Writable by all, and what is in it by its owner only.
_OPEN = stat.S_ISVTX | stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO
_REMEDY = (
    'remove it, run "tier apply" once as root, or name another location '
    'with --coordination-url'
)
_NOTE_BYTES = 200


def shared_folder(parents: collections.abc.Iterable[str] = PARENTS) -> str:
    """A folder for lock files that is the same for all users of the host.

    It is made when it does not exist.

    :param parents: the first that is open to all users holds the folder.
    :returns: its path.
    :raises errors.TiersError: when there is none, or another user has made
        it.
    """
    parents = tuple(parents)
    for parent in parents:
        if _is_open(parent):
            return _prepared(os.path.join(parent, _FOLDER))
    raise errors.TiersError(
        'No folder for the lock of "tier apply": none '
        f'of {", ".join(parents)} is a folder that root owns and that is '
        'writable by all and sticky (mode 1777); name another location '
        'with --coordination-url file:///FOLDER'
    )


def _is_open(path: str) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return (
        stat.S_ISDIR(found.st_mode)
        and _is_trusted(found)
        and stat.S_IMODE(found.st_mode) & _OPEN == _OPEN
    )


def _is_trusted(found: os.stat_result) -> bool:
    return found.st_uid in (0, os.geteuid())


def _prepared(path: str) -> str:
    with _explained(path), contextlib.suppress(FileExistsError):
        os.mkdir(path, stat.S_IRWXU)
    with (
        _explained(path),
        _closing(
            os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        ) as folder,
    ):
        _own(folder, path, mode=_OPEN)
    return path


def _own(descriptor: int, path: str, *, mode: int) -> None:
    """Make sure that no other user can replace the file.

    :param descriptor: opened without following a link.
    :param path: path that was opened.
    :param mode: permissions, set if the file belongs to the user of the
        process.
    :raises errors.TiersError: the file belongs to another user, or was
        replaced.
    """
    found = os.fstat(descriptor)
    if os.geteuid() == 0 and found.st_uid != 0:
        os.fchown(descriptor, 0, 0)
        found = os.fstat(descriptor)
    if not _is_trusted(found):
        raise errors.TiersError(
            f'{path} belongs to user {found.st_uid}, who could redirect '
            f'the lock; expected root or user {os.geteuid()}; {_REMEDY}'
        )
    if found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) != mode:
        os.fchmod(descriptor, mode)
    if not os.path.samestat(found, os.lstat(path)):
        raise errors.TiersError(
            f'{path} was replaced while it was opened; {_REMEDY}'
        )


class LockFile:
    """An open lock file, in which its holder leaves a note.

    It must stay open as long as the lock is held: locks of fcntl end when the
    process closes any descriptor of the file. For the same reason one process
    must not open it twice.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, note: str) -> None:
        """Replace the note of the last holder.

        :param note: one line; cut to 200 bytes.
        """
        text = note.encode('utf-8', 'backslashreplace')[:_NOTE_BYTES]
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text, 0)

    def read(self) -> str:
        """The note of the last holder; '' without one.

        A user who may take the lock may write anything; what is not
        printable is left out.
        """
        text = os.pread(self._descriptor, _NOTE_BYTES, 0)
        return ''.join(
            char
            for char in text.decode('utf-8', 'replace')
            if char.isprintable()
        )


@contextlib.contextmanager
def opened(path: str) -> collections.abc.Iterator[LockFile]:
    """Opens a lock file, and closes it after use. Makes what is missing.

    Who may use the lock is who may write in its folder.

    :raises errors.TiersError: when it cannot be opened, is not regular, or
        belongs to another user and its folder is open to all.
    """
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with _explained(path):
        folder = os.path.dirname(path)
        os.makedirs(folder, exist_ok=True)
        writers = os.stat(folder).st_mode & 0o022
        mode = 0o600 | writers | writers << 1
        try:
            descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, mode)
            os.fchmod(descriptor, mode)
        except FileExistsError:
            descriptor = os.open(path, flags)
    with _closing(descriptor):
        with _explained(path):
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
                raise errors.TiersError(
                    f'{path} is not a regular file with a single '
                    f'link; {_REMEDY}'
                )
            if writers & stat.S_IWOTH:
                _own(descriptor, path, mode=mode)
        yield LockFile(descriptor)


@contextlib.contextmanager
def _closing(descriptor: int) -> collections.abc.Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _explained(path: str) -> collections.abc.Iterator[None]:
    try:
        yield
    except OSError as error:
        raise errors.TiersError(
            f'{path}, the lock of "tier apply", cannot be '
            f'opened: {error.strerror}; expected a folder and a regular '
            'file that the user may write, and no symbolic '
            f'link; {_REMEDY}'
        ) from error
