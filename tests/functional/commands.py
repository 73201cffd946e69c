# SPDX-License-Identifier: Apache-2.0

"""Runs commands; those of `openstack` by a server that forks them."""

import atexit
import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import typing

SERVER = pathlib.Path(__file__).with_name('openstack_server.py')
#: What Python and the loader look at before anything of a command runs.
STARTUP_VARIABLES = ('PYTHON', 'LD_', 'LANG', 'LC_')
_lock = threading.Lock()


@functools.cache
def _socket_of_server(program, startup):
    """The path of the socket of a server, which ends with this process.

    :param program: path of `openstack`, whose first line names its Python
    :param startup: variables that a process cannot change later, in pairs
    :raises AssertionError: the server did not start
    """
    python = pathlib.Path(program).read_text().partition('\n')[0]
    folder = tempfile.TemporaryDirectory(prefix='openstack-server-')
    path = str(pathlib.Path(folder.name) / 'socket')
    process = subprocess.Popen(
        # -P: what is beside the server is not imported.
        [python.removeprefix('#!'), '-P', str(SERVER), path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=dict(startup),
    )

    def end():
        process.stdin.close()
        process.stdout.close()
        process.wait()
        folder.cleanup()

    atexit.register(end)
    if process.stdout.readline() != b'ready\n':
        raise AssertionError(f'{python} {SERVER} did not start')
    return path


def run(argv, *, environment, timeout_s=None):
    """Run a command, and read what it writes.

    :param argv: its words
    :param environment: all of its variables
    :param timeout_s: None: as long as it takes
    :returns: subprocess.CompletedProcess with text
    :raises FileNotFoundError: there is no such program
    :raises subprocess.TimeoutExpired: it was not done in time, and is killed
    """
    if argv[0] == 'openstack':
        return _run_openstack(argv, environment, timeout_s)
    return subprocess.run(
        argv,
        capture_output=True,
        text=True,
        env=environment,
        timeout=timeout_s,
    )


@dataclasses.dataclass
class Started:
    """An `openstack` command that runs.

    :ivar stderr: what it says, as it says it.
    :ivar returncode: as of subprocess; None: it was not waited for
    """

    pid: int
    stderr: typing.TextIO
    _answers: typing.BinaryIO
    returncode: int | None = None

    def send_signal(self, number):
        """Send it a signal, unless it has ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self):
        """End it by SIGKILL, unless it has ended."""
        self.send_signal(signal.SIGKILL)

    def wait(self):
        """Return its exit status, below 0 for a signal, once it has ended."""
        if self.returncode is None:
            self.returncode = int(self._answers.readline())
        return self.returncode


@contextlib.contextmanager
def started(argv, *, environment):
    """Start `openstack`; wait for its end behind the block.

    Its standard output is thrown away.

    :param argv: its words
    :param environment: all of its variables
    :raises FileNotFoundError: there is no such program
    """
    reading, writing = os.pipe()
    with (
        open(reading) as said,
        open(writing, 'wb') as stderr,
        open(os.devnull, 'r+b') as nothing,
        _forked(argv, environment, nothing, nothing, stderr) as (answers, _),
    ):
        running = Started(
            pid=int(answers.readline()), stderr=said, _answers=answers
        )
        # What is left is the end of the command, which ends with it.
        stderr.close()
        yield running
        running.wait()


@contextlib.contextmanager
def _forked(argv, environment, *streams):
    """Have a server fork `openstack`; its answers, and their connection.

    :param streams: its standard input, output and error
    """
    program = shutil.which(argv[0], path=environment.get('PATH'))
    if program is None:
        raise FileNotFoundError(argv[0])
    startup = tuple(
        sorted(
            (name, value)
            for name, value in environment.items()
            if name.startswith(STARTUP_VARIABLES)
        )
    )
    with _lock:
        path = _socket_of_server(program, startup)
    request = {
        'argv': [program, *argv[1:]],
        'environment': environment,
        'folder': str(pathlib.Path.cwd()),
        'ignored': [
            number
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            if signal.getsignal(number) == signal.SIG_IGN
        ],
    }
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        socket.send_fds(
            connection,
            [json.dumps(request).encode() + b'\n'],
            [one.fileno() for one in streams],
        )
        with connection.makefile('rb') as answers:
            yield answers, connection


def _run_openstack(argv, environment, timeout_s):
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        open(os.devnull) as nothing,
    ):
        with _forked(argv, environment, nothing, out, err) as (
            answers,
            connection,
        ):
            process = int(answers.readline())
            connection.settimeout(timeout_s)
            try:
                status = int(answers.readline())
            except TimeoutError:
                os.kill(process, signal.SIGKILL)
                # What it changed last is then to be seen.
                connection.settimeout(None)
                connection.recv(1)
                raise subprocess.TimeoutExpired(argv, timeout_s) from None
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode())
    return subprocess.CompletedProcess(argv, status, *texts)
