# SPDX-License-Identifier: Apache-2.0

"""A real sshd on the loopback interface, with keys and settings of its own.

It is a process of the test, no service of the machine, and lets in who runs
the test and no one else.
"""

import getpass
import io
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import fixtures
import paramiko

PROGRAM = shutil.which('sshd', path='/usr/sbin:/usr/local/sbin:/sbin')
# Its own constant; refuses to start without it when root runs it.
_PRIVILEGE_SEPARATION = pathlib.Path('/run/sshd')


def new_key():
    """A key pair: private key as Nova hands it out, public key as a line."""
    key = paramiko.ECDSAKey.generate()
    text = io.StringIO()
    key.write_private_key(text)
    return text.getvalue(), f'{key.get_name()} {key.get_base64()}'


def _free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def _children(pid):
    found = []
    for stat in pathlib.Path('/proc').glob('[0-9]*/stat'):
        try:
            parent = stat.read_text().rpartition(')')[2].split()[1]
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
        if int(parent) == pid:
            child = int(stat.parent.name)
            found += [*_children(child), child]
    return found


class LocalSshd(fixtures.Fixture):
    """One sshd.

    :ivar port: it listens on 127.0.0.1
    :ivar user: may log in
    """

    def __init__(self, folder, public_key):
        super().__init__()
        self._folder = folder
        self._public_key = public_key
        self.user = getpass.getuser()

    def _setUp(self):
        if os.geteuid() == 0:
            _PRIVILEGE_SEPARATION.mkdir(mode=0o755, exist_ok=True)
        self.port = _free_port()
        self._process = None
        self._settings = ''
        self._keys = self._folder / f'authorized-{self.port}'
        self._keys.write_text(self._public_key + '\n')
        self.new_host_key()
        self.addCleanup(self.stop)
        self.start()

    def new_host_key(self):
        """From the next start on, it is another host."""
        self._host_key = self._folder / f'host-key-{self.port}'
        self._host_key.write_text(new_key()[0])
        self._host_key.chmod(0o600)

    def start(self, settings=''):
        """Listen.

        :param settings: more lines for its configuration
        """
        config = self._folder / f'sshd-{self.port}'
        config.write_text(
            f'ListenAddress 127.0.0.1\nPort {self.port}\nPidFile none\n'
            f'HostKey {self._host_key}\nAuthorizedKeysFile {self._keys}\n'
            f'StrictModes no\nUsePAM no\nPasswordAuthentication no\n'
            f'KbdInteractiveAuthentication no\nAllowUsers {self.user}\n'
            f'PermitRootLogin prohibit-password\n'
            # No start-up file of who runs the test: bash reads ~/.bashrc
            # under sshd, and it may wait, print, or be killed half-way.
            f'SetEnv HOME={self._folder}\nPermitUserRC no\n{settings}\n'
        )
        self._log = (self._folder / f'sshd-log-{self.port}').open('ab')
        self._process = subprocess.Popen(
            [PROGRAM, '-D', '-e', '-f', str(config)],
            stderr=self._log,
            stdin=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while not self._answers():
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise AssertionError(pathlib.Path(self._log.name).read_text())
            time.sleep(0.05)

    def _answers(self):
        with socket.socket() as probe:
            return probe.connect_ex(('127.0.0.1', self.port)) == 0

    def drop_connections(self):
        """In the middle of whatever goes over them."""
        for pid in _children(self._process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue  # it has ended meanwhile

    def stop(self):
        """Listen no more, and drop all connections."""
        if self._process is not None:
            self.drop_connections()
            self._process.kill()
            self._process.wait()
            self._log.close()
            self._process = None
