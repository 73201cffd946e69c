# SPDX-License-Identifier: Apache-2.0
"""Runs the lab's processes under supervisord (http://supervisord.org/).

The lab writes one section for each program and asks supervisord over its
XML-RPC socket to run it; supervisord restarts what dies. This module knows
nothing of what the programs are.
"""

from collections.abc import Collection, Iterable, Mapping
import contextlib
import dataclasses
import http.client
import pathlib
import socket
import subprocess
import sys
import threading
import time
from typing import Any
from xmlrpc import client as xmlrpc_client

from lab import layout
from lab import private_file
from lab.processes import lab_processes
from lab.processes import readiness
from lab.processes import subreaper

#: supervisord (4.2.5 and 4.3.0) may keep polling the number of a pipe that it
#: has closed. If the number is by then that of a program's standard input, and
#: the program has closed that, poll(2) reports POLLERR at once, for ever, and
#: supervisord takes a whole core. So programs keep a second descriptor of it.
_KEEP_STDIN = ('/bin/sh', '-c', 'exec "$@" 3<&0', 'sh')
#: What supervisord answers at once; its one thread may have much to do.
_ANSWER_SECONDS = 30.0
#: What it answers when programs have ended, of which it kills each that does
#: not end in time.
_STOP_SECONDS = 120.0
_NOT_RUNNING = frozenset(('STOPPED', 'EXITED', 'FATAL', 'UNKNOWN'))


class SupervisorError(Exception):
    """A program, or supervisord itself, does not run."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Program:
    """A process to keep running in the foreground.

    :param name: unique in the lab; names its log file, too.
    :param argv: command and arguments, given to execve as they are.
    :param environment: added to the supervisor's environment.
    :param stop_signal: how the program is asked to end.
    :param stop_wait_seconds: after these it is killed.
    :param start_seconds: it counts as running when it lives this long.
    """

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    stop_signal: str = 'TERM'
    stop_wait_seconds: int = 10
    start_seconds: int = 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProgramState:
    """What supervisord reports of a program; pid is 0 when it does not run."""

    name: str
    state: str
    pid: int
    detail: str


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: pathlib.Path, timeout_seconds: float) -> None:
        super().__init__('localhost', timeout=timeout_seconds)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class _UnixTransport(xmlrpc_client.Transport):
    def __init__(self, path: pathlib.Path, timeout_seconds: float) -> None:
        super().__init__()
        self._path = path
        self._timeout_seconds = timeout_seconds

    def make_connection(self, host: object) -> _UnixConnection:
        return _UnixConnection(self._path, self._timeout_seconds)


class Supervisor:
    """supervisord of one lab; safe to use from several threads.

    :param executable: path of supervisord; that of the lab's tools by default.
    :param answer_seconds: after these a supervisord that runs does not answer.
    """

    def __init__(
        self,
        lab: layout.Layout,
        executable: str | None = None,
        answer_seconds: float = _ANSWER_SECONDS,
    ) -> None:
        self._lab = lab
        self._executable = executable or str(lab.tools / 'bin' / 'supervisord')
        self._socket = lab.run / 'supervisor.sock'
        self._folder = lab.root / 'supervisor'
        self._answer_seconds = answer_seconds
        self._lock = threading.Lock()

    def log_file(self, name: str) -> pathlib.Path:
        """Return where a program's output is kept."""
        return self._lab.log / f'{name}.log'

    def is_up(self) -> bool:
        """Return whether supervisord runs.

        :raises SupervisorError: it runs, and does not answer in time.
        """
        try:
            return self._rpc().supervisor.getState()['statename'] == 'RUNNING'
        except TimeoutError as error:
            raise SupervisorError(
                f'{self._lab.root}: supervisord runs and does not answer '
                f'within {self._answer_seconds:g} s; end it and all services '
                'with devstack/lab.sh down'
            ) from error
        except (OSError, xmlrpc_client.Error):
            return False

    def _answers(self) -> bool:
        try:
            return self.is_up()
        except SupervisorError:
            return False

    def check_up(self) -> None:
        """Do nothing if supervisord answers.

        :raises SupervisorError: it does not, or the lab is down.
        """
        if not self.is_up():
            raise SupervisorError(
                f'{self._lab.root}: nothing runs; start it with '
                'devstack/lab.sh up'
            )

    def start_daemon(self) -> list[lab_processes.Process]:
        """Start supervisord; return the orphans that had to be ended.

        When supervisord or a program with children was killed, what it had
        started may live on. That cannot be adopted, and it holds the locks
        and ports of its successors.

        :raises SupervisorError: supervisord does not answer.
        """
        # One that is only slow is not taken for one that is gone.
        if self.is_up():
            orphans = lab_processes.find_orphans(
                self._lab.root, self._rpc().supervisor.getPID()
            )
            lab_processes.stop(orphans)
            return orphans
        orphans = lab_processes.find_marked(self._lab.root)
        lab_processes.stop(orphans)
        (self._folder / 'programs').mkdir(parents=True, exist_ok=True)
        self._socket.unlink(missing_ok=True)
        (self._folder / 'supervisord.conf').write_text(self._daemon_conf())
        first_words = self._lab.log / 'supervisord-start.log'
        with first_words.open('w') as output:
            daemon = subprocess.Popen(
                [
                    sys.executable,
                    subreaper.__file__,
                    self._executable,
                    '--nodaemon',
                    '-c',
                    str(self._folder / 'supervisord.conf'),
                ],
                env=_clean_environment(self._lab),
                cwd=self._lab.root,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        deadline = time.monotonic() + 10
        while not self._answers():
            if daemon.poll() is not None or time.monotonic() > deadline:
                raise SupervisorError(
                    'supervisord does not answer: '
                    f'{first_words.read_text().strip()[-400:]}'
                )
            time.sleep(0.1)
        return orphans

    def stop_daemon(self) -> None:
        """Stop every program, supervisord, and what they left running."""
        if self._answers():
            try:
                # All at once: shutdown() alone stops one after the other.
                self._rpc(_STOP_SECONDS).supervisor.stopAllProcesses(True)
                self._rpc().supervisor.shutdown()
            except (OSError, xmlrpc_client.Error):
                pass  # it may go away before it answers
            deadline = time.monotonic() + 45
            while (
                lab_processes.find_marked(self._lab.root)
                and time.monotonic() < deadline
            ):
                time.sleep(0.2)
        lab_processes.stop(lab_processes.find_marked(self._lab.root))
        self._socket.unlink(missing_ok=True)

    def ensure(self, programs: Iterable[Program]) -> None:
        """Start programs that do not run with the given definitions.

        What runs with the same definition is left alone. A program with a
        start of more than a second is only asked to start: its caller has
        better means to see that it is ready.

        :raises SupervisorError: one does not start; names its last lines.
        """
        programs = list(programs)
        with self._lock:
            for program in programs:
                self._write(program)
            # Always: a run that was killed may have written, and no more.
            self._reload()
        for program in programs:
            self._ask_to_start(program.name)
        for program in programs:
            if program.start_seconds <= 1:
                self._wait_until_running(program.name)

    def remove_programs(self, names: Collection[str]) -> None:
        """Stop programs and remove their definitions; their logs stay."""
        with self._lock:
            for name in names:
                (self._folder / 'programs' / f'{name}.conf').unlink(
                    missing_ok=True
                )
            self._reload()

    def restart(self, name: str) -> None:
        """Stop a program if it runs, and start it.

        :raises SupervisorError: it does not start.
        """
        self.stop(name)
        self._ask_to_start(name)
        self._wait_until_running(name)

    def stop(self, name: str) -> None:
        """Stop a program if it runs."""
        self._ask_to_stop(name, wait=True)

    def _ask_to_stop(self, name: str, wait: bool) -> None:
        if self.state(name).state in _NOT_RUNNING:
            return
        try:
            self._rpc(_STOP_SECONDS).supervisor.stopProcess(name, wait)
        except xmlrpc_client.Fault as fault:
            if 'NOT_RUNNING' not in fault.faultString:  # it just ended
                raise

    def stop_all_but(self, prefix: str) -> None:
        """Stop every program whose name does not begin with ``prefix``."""
        self.stop_together(
            [
                state.name
                for state in self.states()
                if not state.name.startswith(prefix)
            ]
        )

    def stop_together(self, names: Collection[str]) -> None:
        """Stop those of the programs that run, all at once."""
        for name in names:
            self._ask_to_stop(name, wait=False)
        deadline = time.monotonic() + readiness.LIMIT_SECONDS
        while (
            any(self.state(name).state == 'STOPPING' for name in names)
            and time.monotonic() < deadline
        ):
            time.sleep(0.1)

    def state(self, name: str) -> ProgramState:
        """Return the state of one program."""
        try:
            return _program_state(self._rpc().supervisor.getProcessInfo(name))
        except xmlrpc_client.Fault:
            return ProgramState(
                name=name, state='UNKNOWN', pid=0, detail='not defined'
            )

    def states(self) -> list[ProgramState]:
        """Return the state of every program; empty when nothing runs.

        :raises OSError: supervisord does not answer.
        """
        return [
            _program_state(info)
            for info in self._rpc().supervisor.getAllProcessInfo()
        ]

    def last_lines(self, name: str, count: int = 5) -> str:
        """Return the end of a program's log."""
        try:
            text = self.log_file(name).read_text(errors='replace')
        except FileNotFoundError:
            return '(no log)'
        return '\n'.join(text.splitlines()[-count:]) or '(empty log)'

    def wait_until_running(self) -> None:
        """Wait until every program counts as running.

        :raises SupervisorError: one does not.
        """
        for state in self.states():
            self._wait_until_running(state.name)

    def _wait_until_running(self, name: str) -> None:
        deadline = time.monotonic() + readiness.LIMIT_SECONDS
        reason = ''
        while time.monotonic() < deadline:
            now = self.state(name)
            if now.state == 'RUNNING':
                return
            if now.state in _NOT_RUNNING:
                reason = reason or f'{now.state}: {now.detail}'
                break
            time.sleep(0.1)  # STARTING, or BACKOFF before another try
        raise SupervisorError(
            f'{name} does not start ({reason or "no end of starting"}). The '
            f'end of {self.log_file(name)}:\n{self.last_lines(name)}'
        )

    def _ask_to_start(self, name: str) -> None:
        """Ask for a start; its state shows whether that was refused."""
        if self.state(name).state in _NOT_RUNNING:
            with contextlib.suppress(xmlrpc_client.Fault):
                self._rpc().supervisor.startProcess(name, False)

    def _write(self, program: Program) -> None:
        private_file.write(
            self._folder / 'programs' / f'{program.name}.conf',
            self._program_conf(program),
        )

    def _reload(self) -> None:
        rpc = self._rpc(_STOP_SECONDS).supervisor
        added, changed, removed = rpc.reloadConfig()[0]
        for name in [*changed, *removed]:
            rpc.stopProcessGroup(name)
            rpc.removeProcessGroup(name)
        for name in [*added, *changed]:
            rpc.addProcessGroup(name)

    def _rpc(self, timeout_seconds: float | None = None) -> Any:
        return xmlrpc_client.ServerProxy(
            'http://localhost',
            transport=_UnixTransport(
                self._socket, timeout_seconds or self._answer_seconds
            ),
        )

    def _daemon_conf(self) -> str:
        return (
            _section(
                'unix_http_server',
                {
                    'file': self._socket,
                    'chmod': '0700',
                },
            )
            + _section(
                'supervisord',
                {
                    'logfile': self._lab.log / 'supervisord.log',
                    'pidfile': self._lab.run / 'supervisord.pid',
                    'directory': self._lab.root,
                    'minfds': 4096,
                    'user': 'root',
                },
            )
            + _section(
                'rpcinterface:supervisor',
                {
                    'supervisor.rpcinterface_factory': (
                        'supervisor.rpcinterface:make_main_rpcinterface'
                    ),
                },
            )
            + _section(
                'supervisorctl',
                {
                    'serverurl': f'unix://{self._socket}',
                },
            )
            + _section(
                'include',
                {
                    'files': self._folder / 'programs' / '*.conf',
                },
            )
        )

    def _program_conf(self, program: Program) -> str:
        environment = ','.join(
            f'{name}={_quote_value(value)}'
            for name, value in sorted(program.environment.items())
        )
        return _section(
            f'program:{program.name}',
            {
                'command': ' '.join(
                    map(_quote, (*_KEEP_STDIN, *program.argv))
                ),
                'environment': environment,
                'directory': self._lab.root,
                'autostart': 'false',
                'autorestart': 'true',
                'startsecs': program.start_seconds,
                'startretries': 3,
                'stopsignal': program.stop_signal,
                'stopwaitsecs': program.stop_wait_seconds,
                'stopasgroup': 'true',
                'killasgroup': 'true',
                'redirect_stderr': 'true',
                'stdout_logfile': self.log_file(program.name),
                'stdout_logfile_maxbytes': '50MB',
                'stdout_logfile_backups': 1,
            },
        )


def _program_state(info: Mapping[str, Any]) -> ProgramState:
    return ProgramState(
        name=str(info['name']),
        state=str(info['statename']),
        pid=int(info['pid']),
        detail=str(info['spawnerr'] or info['description']),
    )


def _section(name: str, values: Mapping[str, object]) -> str:
    lines = ''.join(
        f'{key} = {value}\n' for key, value in values.items() if value != ''
    )
    return f'[{name}]\n{lines}\n'


def _quote_value(text: str) -> str:
    # supervisord expands %(...)s in every value, and knows no escapes here.
    quote = "'" if '"' in text else '"'
    if quote in text:
        raise ValueError(
            f'{text!r}: supervisord cannot take a variable that '
            'holds both kinds of quotes'
        )
    return f'{quote}{text.replace("%", "%%")}{quote}'


def _quote(word: str) -> str:
    # supervisord splits commands with shlex, in POSIX mode.
    escaped = word.replace('\\', '\\\\').replace('"', '\\"')
    return f'"{escaped.replace("%", "%%")}"'


def _clean_environment(lab: layout.Layout) -> dict[str, str]:
    return {
        lab_processes.MARK: str(lab.root),
        'PATH': f'{lab.venv}/bin:/usr/local/sbin:/usr/local/bin:'
        '/usr/sbin:/usr/bin:/sbin:/bin',
        'HOME': str(lab.root),
        'LANG': 'C.UTF-8',
        'PYTHONDONTWRITEBYTECODE': '1',
        'PYTHONUNBUFFERED': '1',
        # setproctitle, as Nova's workers use it, would write its title over
        # the environment, and the mark with it.
        'SPT_NOENV': '1',
    }
