# SPDX-License-Identifier: Apache-2.0

"""A file that each process of a host has in one directory.

Written for a reader that may come at any time, such as the textfile collector
of node_exporter. Must not know what is in the file. The directory belongs to
the operator: only files of the exact name are ever replaced or removed, and
no symbolic link is followed.
"""

import contextlib
import os
import pathlib
import re
import stat
import time

_SUFFIX = '.prom'
#: While it is written; the textfile collector reads `*.prom` only.
_UNFINISHED = '.tmp'
#: The start of a process is known to a hundredth of a second, and a clock may
#: be set right by a little.
_TOLERANCE_S = 5.0


class ProcessFile:
    """The file of this process, and those of the ones before it."""

    def __init__(self, directory: str, name: str) -> None:
        """Define the file; nothing is written yet.

        :param directory: folder of the file, which must exist.
        :param name: first part of the file's name; the id of the process
            follows. Processes with the same name remove each other's files
            after they end.
        """
        self._directory = pathlib.Path(directory)
        self._path = self._directory / f'{name}-{os.getpid()}{_SUFFIX}'
        self._names = re.compile(
            rf'{re.escape(name)}-([1-9][0-9]{{0,8}}){re.escape(_SUFFIX)}'
            rf'(?:{re.escape(_UNFINISHED)})?'
        )

    def is_there(self) -> bool:
        """Return whether the file exists."""
        try:
            return stat.S_ISREG(self._path.lstat().st_mode)
        except OSError:
            return False

    def replace(self, data: bytes) -> None:
        """Replace the file atomically: a reader sees the old or the new one.

        :param data: the whole content.
        :raises OSError: the directory is missing or cannot be written.
        """
        unfinished = self._path.with_name(self._path.name + _UNFINISHED)
        # Of a process that had the same id and was killed.
        unfinished.unlink(missing_ok=True)
        try:
            # A link that was made meanwhile is not opened.
            descriptor = os.open(
                unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600
            )
            with open(descriptor, 'wb') as file:
                file.write(data)
                # For another user to read, whatever the umask of Cinder is.
                os.fchmod(descriptor, 0o644)
            unfinished.replace(self._path)
        except BaseException:
            with contextlib.suppress(OSError):
                unfinished.unlink()
            raise

    def remove_those_of_ended(self) -> None:
        """Remove the files of processes that have ended.

        :raises OSError: the directory is missing or cannot be read.
        """
        with os.scandir(self._directory) as entries:
            for entry in entries:
                match = self._names.fullmatch(entry.name)
                # Another process may be the faster, or another user's file
                # may have our name.
                with contextlib.suppress(OSError):
                    if (
                        match
                        and entry.is_file(follow_symlinks=False)
                        and _has_ended(
                            int(match[1]),
                            entry.stat(follow_symlinks=False).st_mtime,
                        )
                    ):
                        os.unlink(entry.path)


def _has_ended(pid: int, written_at: float) -> bool:
    """Return whether the process that wrote a file has ended.

    :param pid: id of that process, which another process may have by now.
    :param written_at: time of writing, in seconds since the epoch.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    # It runs, and is another user's.
    except PermissionError:
        pass
    started_at = _started_at(pid)
    return started_at is not None and started_at > written_at + _TOLERANCE_S


def _started_at(pid: int) -> float | None:
    """Return the start of a process in seconds since the epoch, or None."""
    try:
        fields = pathlib.Path(f'/proc/{pid}/stat').read_bytes()
        # proc(5): the name, in brackets, may hold anything; field 22 is the
        # start in ticks since the machine was booted.
        ticks = int(fields.rpartition(b')')[2].split()[19])
        booted_at = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    except (OSError, ValueError, IndexError, AttributeError):
        return None
    return booted_at + ticks / os.sysconf('SC_CLK_TCK')
