# SPDX-License-Identifier: Apache-2.0

"""Runs commands; those of `openstack` by a server that forks them."""

import atexit
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


def _run_openstack(argv, environment, timeout_s):
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
    }
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        open(os.devnull) as nothing,
        socket.socket(socket.AF_UNIX) as connection,
    ):
        connection.connect(path)
        socket.send_fds(
            connection,
            [json.dumps(request).encode() + b'\n'],
            [nothing.fileno(), out.fileno(), err.fileno()],
        )
        with connection.makefile('rb') as answers:
            process = int(answers.readline())
            connection.settimeout(timeout_s)
            try:
                status = int(answers.readline())
            except TimeoutError:
                os.kill(process, signal.SIGKILL)
                raise subprocess.TimeoutExpired(argv, timeout_s) from None
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode())
    return subprocess.CompletedProcess(argv, status, *texts)
