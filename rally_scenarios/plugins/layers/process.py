# SPDX-License-Identifier: Apache-2.0

"""Programs on the host of Rally: started without a shell, ended for sure.

Each gets a process group of its own, which is ended with all that is in it if
the program takes too long or we are interrupted.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import IO

from rally import exceptions

from rally_scenarios.plugins.layers import in_cgroup

# Program: the package that has it, in Debian and its relatives.
PACKAGES = {
    'fio': 'fio',
    'ceph': 'ceph-common',
    'rados': 'ceph-common',
    'rbd': 'ceph-common',
    'wipefs': 'util-linux',
}
_GRACE_SECONDS = 5
_POLL_SECONDS = 0.05


class LayerError(exceptions.RallyException):
    """A layer could not be measured; the message says why."""

    error_code = 1003


def missing(programs: Iterable[str], path: str | None = None) -> list[str]:
    """Describe programs that are not installed.

    :param programs: keys of ``PACKAGES``
    :param path: search path as in PATH; None: PATH itself
    """
    return [
        f'program {name} is not installed on the host of Rally: install'
        f' its package {PACKAGES[name]}'
        for name in sorted(set(programs))
        if shutil.which(name, path=path) is None
    ]


def without_rbd_engine(timeout_seconds: float = 30) -> list[str]:
    """Describe the problem if the fio of this host cannot reach librbd.

    :param timeout_seconds: time limit for fio's answer
    """
    try:
        run(['fio', '--enghelp=rbd'], timeout_seconds=timeout_seconds)
    except LayerError as error:
        return [
            f'the fio of this host has no engine rbd: install one that'
            f" has it (Debian's package fio, or the package"
            f' fio-engine-rbd of other distributions): {error}'
        ]
    return []


def _words(argv: Sequence[str], cgroup: str | None) -> list[str]:
    if cgroup is None:
        return list(argv)
    return [
        sys.executable,
        str(pathlib.Path(in_cgroup.__file__)),
        cgroup,
        *argv,
    ]


def _group_is_there(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _end(processes: Iterable[subprocess.Popen]) -> None:
    """End the groups of processes: SIGTERM, then SIGKILL."""
    left = list(processes)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in left:
            if _group_is_there(process.pid):
                os.killpg(process.pid, number)
        deadline = time.monotonic() + _GRACE_SECONDS
        while left and time.monotonic() < deadline:
            left = [
                process
                for process in left
                if process.poll() is None or _group_is_there(process.pid)
            ]
            if left:
                time.sleep(_POLL_SECONDS)


def _told(argv: Sequence[str]) -> str:
    return ' '.join(argv)[:200]


def _last_words(stream: IO[bytes]) -> str:
    stream.seek(0)
    lines = stream.read().decode(errors='replace').split('\n')
    text = ' / '.join(line.strip() for line in lines if line.strip())
    return ''.join(c if c.isprintable() else '?' for c in text[-400:])


def _outputs(
    started: Sequence[tuple], deadline: float, timeout_seconds: float
) -> list[bytes]:
    """Wait for all, then read what they wrote."""
    for argv, process, _output, _errors in started:
        # Not reaped yet: until then no other process gets its number.
        while not os.waitid(
            os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT
        ):
            if time.monotonic() > deadline:
                raise LayerError(
                    f'{_told(argv)}: did not finish within'
                    f' {timeout_seconds:g} s'
                )
            time.sleep(_POLL_SECONDS)
    _end(process for _argv, process, _output, _errors in started)
    found = []
    for argv, process, output, errors in started:
        if process.returncode:
            raise LayerError(
                f'{_told(argv)}: ended with {process.returncode}:'
                f' {_last_words(errors) or _last_words(output)}'
            )
        output.seek(0)
        found.append(output.read())
    return found


def run_together(
    commands: Sequence[Sequence[str]],
    *,
    timeout_seconds: float,
    environment: Mapping[str, str] | None = None,
    cgroup: str | None = None,
) -> list[bytes]:
    """Run programs side by side to their ends.

    :param commands: words of each command, the program first
    :param timeout_seconds: time limit for all of them
    :param environment: variables in addition to ours
    :param cgroup: folder of a cgroup that they join first
    :returns: standard output of each
    :raises LayerError: one cannot be started, fails, or takes too long; none
        of them is running then
    """
    started: list[tuple] = []
    deadline = time.monotonic() + timeout_seconds
    with contextlib.ExitStack() as files:
        files.callback(
            lambda: _end(
                process
                for _argv, process, _output, _errors in started
                if process.returncode is None
            )
        )
        for argv in commands:
            # Files: full pipes of one would stop it until another ends.
            output, errors = (
                files.enter_context(tempfile.TemporaryFile()) for _ in range(2)
            )
            try:
                process = subprocess.Popen(
                    _words(argv, cgroup),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=errors,
                    start_new_session=True,
                    env={**os.environ, **(environment or {})},
                )
            except OSError as error:
                raise LayerError(
                    f'{_told(argv)}: cannot be started: {error}'
                ) from error
            started.append((argv, process, output, errors))
        return _outputs(started, deadline, timeout_seconds)


def run(
    argv: Sequence[str],
    *,
    timeout_seconds: float,
    environment: Mapping[str, str] | None = None,
    cgroup: str | None = None,
) -> bytes:
    """Run one program to its end; see ``run_together``.

    :param argv: the program and its arguments
    :param timeout_seconds: time limit
    :param environment: variables in addition to ours
    :param cgroup: folder of a cgroup that it joins first
    :returns: its standard output
    :raises LayerError: it cannot be started, fails, or takes too long; it is
        not running then
    """
    (output,) = run_together(
        [argv],
        timeout_seconds=timeout_seconds,
        environment=environment,
        cgroup=cgroup,
    )
    return output
