# SPDX-License-Identifier: Apache-2.0
"""Finds and stops the processes of this lab, supervised or not.

Every supervised process inherits a variable that names its lab, so a process
is known by what it was started with: nothing is ever matched by its name.
QEMU guests do not carry the variable (libvirt clears their environment);
they are found through libvirt's own pid files.
"""

import dataclasses
import os
import pathlib
import signal
import time

MARK = 'CINDER_TIERS_LAB_PROCESS'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Process:
    """A running process: its id and its command line.

    :param started: when, in ticks since the boot: tells it from a later one
        with its id.
    """

    pid: int
    command: str
    started: int


def find_marked(
    root: pathlib.Path, proc: pathlib.Path = pathlib.Path('/proc')
) -> list[Process]:
    """Return the processes that were started for the lab in ``root``.

    A lab in a system of its own (release.sh) may have the same path there, and
    is another one.
    """
    wanted = f'{MARK}={root}'.encode()
    found = []
    for entry in proc.iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / 'environ').read_bytes().split(b'\0')
            if (
                wanted in environment
                and (entry / 'root').samefile('/')
                and not _is_dead(entry)
            ):
                found.append(_process(entry))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # it ended meanwhile, or belongs to another user
    return found


def find_orphans(root: pathlib.Path, supervisor_pid: int) -> list[Process]:
    """Return the processes whose program died without them.

    supervisord makes each program the leader of a process group in its own
    session, so a group without its leader is what a killed program left. A
    privsep daemon has a session of its own, and is none.
    """
    session = os.getsid(supervisor_pid)
    found = []
    for process in find_marked(root):
        try:
            group = os.getpgid(process.pid)
            if (
                os.getsid(process.pid) == session
                and group != process.pid
                and not _is_alive(group)
            ):
                found.append(process)
        except ProcessLookupError:
            continue  # it has ended meanwhile
    return found


def find_guests(
    run: pathlib.Path, proc: pathlib.Path = pathlib.Path('/proc')
) -> list[Process]:
    """Return the QEMU guests named by the pid files of the lab's libvirt.

    :param run: the folder that the lab's libvirtd sees as /run/libvirt.
    """
    found = []
    for pid_file in sorted(run.glob('qemu/*.pid')):
        try:
            text = pid_file.read_text().strip()
            if not text.isdecimal():
                continue
            process = _process(proc / text)
        except (FileNotFoundError, ProcessLookupError):
            continue  # a stale pid file, or one that is just removed
        # The pid may have been given to another process since.
        if f'guest={pid_file.stem},' in process.command:
            found.append(process)
    return found


def stop(processes: list[Process], grace_seconds: float = 5.0) -> None:
    """End processes by their ids: SIGTERM, then SIGKILL.

    :raises RuntimeError: one is still there after SIGKILL.
    """
    for number, seconds in (
        (signal.SIGTERM, grace_seconds),
        (signal.SIGKILL, 10.0),
    ):
        alive = [process for process in processes if _still_runs(process)]
        for process in alive:
            try:
                os.kill(process.pid, number)
            except ProcessLookupError:
                continue
        deadline = time.monotonic() + seconds
        while alive and time.monotonic() < deadline:
            time.sleep(0.1)
            alive = [process for process in alive if _still_runs(process)]
        if not alive:
            return
    names = ', '.join(
        f'{process.pid} ({process.command[:60]})' for process in alive
    )
    raise RuntimeError(
        f'still running after SIGKILL: {names}. Look at '
        'their state with: ps -o pid,stat,wchan,args'
    )


def _still_runs(process: Process) -> bool:
    """Whether it does, and not another that was given its id."""
    entry = pathlib.Path('/proc') / str(process.pid)
    try:
        return not _is_dead(entry) and _started(entry) == process.started
    except (FileNotFoundError, ProcessLookupError):
        return False


def _is_alive(pid: int) -> bool:
    entry = pathlib.Path('/proc') / str(pid)
    try:
        return not _is_dead(entry)
    except (FileNotFoundError, ProcessLookupError):
        return False


def _is_dead(entry: pathlib.Path) -> bool:
    return _stat(entry)[0] in 'ZX'


def _started(entry: pathlib.Path) -> int:
    return int(_stat(entry)[19])


def _stat(entry: pathlib.Path) -> list[str]:
    """Fields from the third on, the state, as proc_pid_stat(5) counts them."""
    # The second, the command name, is in parentheses and may have any more.
    return (entry / 'stat').read_text().rpartition(')')[2].split()


def _process(entry: pathlib.Path) -> Process:
    return Process(
        pid=int(entry.name),
        command=_command(entry),
        started=_started(entry),
    )


def _command(entry: pathlib.Path) -> str:
    return (
        (entry / 'cmdline')
        .read_bytes()
        .replace(b'\0', b' ')
        .decode(errors='replace')
        .strip()
    )
