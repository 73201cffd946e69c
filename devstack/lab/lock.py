# SPDX-License-Identifier: Apache-2.0
"""Let one command at a time change a lab."""

from collections.abc import Callable, Iterator
import contextlib
import fcntl
import os
import sys
import time

from lab import layout

#: A demo on a fresh, slow machine takes ten minutes.
LONGEST_WAIT_S = 1800.0
_LOOK_EVERY_S = 0.2


class LabBusyError(Exception):
    """Another command works on the lab, and does not end."""


def _print_problem(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextlib.contextmanager
def hold(
    load: Callable[[], layout.Layout],
    *,
    longest_wait_s: float = LONGEST_WAIT_S,
    print_line: Callable[[str], None] = _print_problem,
) -> Iterator[layout.Layout]:
    """Keep other commands from changing a lab; wait for one that does.

    :param load: returns the lab. It is called again after a wait, since the
        other command may have changed or removed the lab; what it raises then
        is raised.
    :param longest_wait_s: seconds to wait for other commands, in all.
    :param print_line: is given the line that announces a wait.
    :raises LabBusyError: another command still worked on the lab then.
    """
    end = time.monotonic() + longest_wait_s
    while True:
        lab = load()
        description = lab.root / layout.DESCRIPTION
        try:
            descriptor = os.open(description, os.O_RDONLY)
        except FileNotFoundError:
            continue  # removed since it was loaded
        try:
            if not _is_locked(descriptor):
                print_line(
                    f'lab.sh: {lab.root}: another lab.sh is working on it; '
                    f'waiting until it ends, {longest_wait_s / 60:g} minutes '
                    'at most'
                )
                while not _is_locked(descriptor):
                    if time.monotonic() >= end:
                        raise LabBusyError(
                            f'{lab.root}: another lab.sh still works on it '
                            f'after {longest_wait_s / 60:g} minutes. Nothing '
                            'was changed. Run the command again when it has '
                            f'ended; "lslocks" shows its process id.'
                        )
                    time.sleep(_LOOK_EVERY_S)
            elif _is_the_file(descriptor, description):
                yield lab
                return
        finally:
            os.close(descriptor)


def _is_locked(descriptor: int) -> bool:
    """Lock a file unless another process holds its lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_the_file(descriptor: int, path: os.PathLike) -> bool:
    """Return whether a file is still there, and has not been replaced."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
