# SPDX-License-Identifier: Apache-2.0

"""Reading by SSH what guests keep of their words.

Guests keep every line in a file (guest/delivery.sh).  It is read on from where
the last reading ended, and parts of it can be asked for again.

Not with Rally's own ``rally.utils.sshutils``: it forgets a guest's host key
between two connections, offers the keys of the operator's agent, takes any
amount of text, and waits for ever for a guest that dies between two packets.
A guest is not trusted: what it sends is limited in size and time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
import io
import logging
import shlex
import threading
import time

import paramiko

from cinder_tiers.figures.protocol import frames
from rally_scenarios.plugins import servers
from rally_scenarios.plugins.transport import console as console_transport

_MAX_READING_BYTES = 256 * 1024
_MAX_ANSWER_BYTES = 4 * 1024**2
# Of a result that lacks more lines than this, all lines are asked for.
_MAX_LINES_NAMED = 50
_MAX_SLOTS_ASKED = 100
_KEY_TYPES = (paramiko.RSAKey, paramiko.ECDSAKey, paramiko.Ed25519Key)


def _clean(record: logging.LogRecord) -> bool:
    """Make a record of paramiko's log harmless: it repeats what guests say.

    :returns: True, it is to be logged
    """
    record.msg, record.args = frames.harmless(record.getMessage()), ()
    return True


# Not paramiko's own, which Rally's may use as well.
_PARAMIKO_LOG = f'{__name__}.paramiko'
logging.getLogger(_PARAMIKO_LOG).addFilter(_clean)


@dataclass(frozen=True, kw_only=True)
class Login:
    """Access to one guest."""

    #: name or address
    host: str
    #: who may read the guest's folder; need not be root
    user: str
    #: of sshd
    port: int = 22
    #: where the guest keeps its words, ``GuestEnvironment.work``
    folder: str = '/run/cinder-tiers'

    def __str__(self) -> str:
        return f'{self.user}@{self.host}:{self.port}'


def private_key(text: str) -> paramiko.PKey:
    """A key as Nova makes it; it stays in memory.

    :param text: PEM or OpenSSH format, without a passphrase
    :raises ValueError: it is none that paramiko can read
    """
    reasons = []
    for key_type in _KEY_TYPES:
        try:
            return key_type.from_private_key(io.StringIO(text))
        except (paramiko.SSHException, ValueError) as error:
            reasons.append(f'{key_type.__name__}: {error}')
    raise ValueError(f'no private key that can be read: {"; ".join(reasons)}')


class _FirstKey(paramiko.MissingHostKeyPolicy):
    """Believes the first host key of a guest, and no other after it."""

    def __init__(self) -> None:
        self._known: paramiko.PKey | None = None

    def missing_host_key(
        self,
        client: paramiko.SSHClient,
        hostname: str,
        key: paramiko.PKey,
    ) -> None:
        """Called at every connection, since no keys are loaded."""
        if self._known is not None and self._known != key:
            raise paramiko.SSHException(
                f'its host key is {key.fingerprint}, expected'
                f' {self._known.fingerprint} as before: another host answers'
                f' at this address'
            )
        self._known = key


class _Connection:
    """Connection to a guest; opened when needed, and again after a failure."""

    def __init__(
        self,
        login: Login,
        key: paramiko.PKey,
        timeout_seconds: float,
        retry_seconds: float,
    ) -> None:
        self.login = login
        self._key = key
        self._timeout_seconds = timeout_seconds
        self._retry_seconds = retry_seconds
        self._policy = _FirstKey()
        self._client: paramiko.SSHClient | None = None
        self._not_before = 0.0
        self.problem = ''

    def run(self, command: str, limit_bytes: int) -> str:
        """Standard output of a command.

        :raises console_transport.TransportError: no connection, no answer in
            time, too much of it, or the command failed
        """
        if time.monotonic() < self._not_before:
            raise console_transport.TransportError(self.problem)
        client = self._client or paramiko.SSHClient()
        late = threading.Event()

        def hang_up() -> None:
            late.set()
            connected = client.get_transport()
            if connected is not None:
                connected.close()

        # Whatever hangs, from the first packet on, ends by this.
        watchdog = threading.Timer(self._timeout_seconds, hang_up)
        watchdog.daemon = True
        watchdog.start()
        try:
            if self._client is None:
                self._connect(client)
            if late.is_set():
                raise paramiko.SSHException(
                    f'no connection within {self._timeout_seconds} s'
                )
            output = self._output(client, command, limit_bytes)
        # paramiko's thread passes on whatever a guest's packets led it to.
        except Exception as error:
            raise self._failed(error, late.is_set()) from error
        finally:
            watchdog.cancel()
        self.problem = ''
        return output

    def _connect(self, client: paramiko.SSHClient) -> None:
        client.set_log_channel(_PARAMIKO_LOG)
        client.set_missing_host_key_policy(self._policy)
        self._client = client
        client.connect(
            self.login.host,
            port=self.login.port,
            username=self.login.user,
            pkey=self._key,
            allow_agent=False,
            look_for_keys=False,
            timeout=self._timeout_seconds,
            banner_timeout=None,
            auth_timeout=self._timeout_seconds,
        )

    def _output(
        self, client: paramiko.SSHClient, command: str, limit_bytes: int
    ) -> str:
        with client.get_transport().open_session(
            timeout=self._timeout_seconds
        ) as channel:
            channel.exec_command(command)
            channel.shutdown_write()
            output = bytearray()
            while part := channel.recv(32768):
                output += part
                if len(output) > limit_bytes:
                    raise paramiko.SSHException(
                        f'more than {limit_bytes} bytes of output'
                    )
            status = channel.recv_exit_status()
            if status:
                # -1: the connection broke.
                words = channel.recv_stderr(500).decode('utf-8', 'replace')
                raise paramiko.SSHException(
                    f'status {status} of the command that reads:'
                    f' {words.strip() or "no message"}'
                )
        return output.decode('utf-8', 'replace')

    def _failed(
        self, error: Exception, late: bool
    ) -> console_transport.TransportError:
        self.close()
        self._not_before = time.monotonic() + self._retry_seconds
        # It may have what the guest said, and goes to a log and a terminal.
        self.problem = frames.harmless(
            f'SSH to {self.login}: {type(error).__name__}: {error}'
        )
        if late:
            self.problem += f'; not done within {self._timeout_seconds} s'
        return console_transport.TransportError(self.problem)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


class SshTransport:
    """Reads guests' files by SSH; their consoles remain for evidence."""

    can_ask_again = True

    def __init__(
        self,
        *,
        logins: Mapping[str, Login],
        key: paramiko.PKey,
        console: console_transport.Transport,
        timeout_seconds: float = 15,
        retry_seconds: float = 10,
    ) -> None:
        """Create the transport without connecting yet.

        :param logins: {guest name: its login}, for all guests
        :param key: the only key that is offered
        :param console: transport that reads the guests' consoles
        :param timeout_seconds: time limit of a reading with its connection
        :param retry_seconds: pause after a failure of a guest
        """
        self._connections = {
            guest: _Connection(login, key, timeout_seconds, retry_seconds)
            for guest, login in logins.items()
        }
        self._lines_read = dict.fromkeys(logins, 0)
        self._console = console

    def read(self, guest: servers.Guest) -> str:
        """The lines that the guest wrote since the last reading.

        :raises TransportError: it could not be read
        """
        connection = self._connections[guest.name]
        known = self._lines_read[guest.name]
        log = shlex.quote(f'{connection.login.folder}/log')
        # No file yet: its script has not begun.
        answer = connection.run(
            f'[ -e {log} ] || exit 0; wc -l <{log} &&'
            f' tail -n +{known + 1} {log} | head -c {_MAX_READING_BYTES}',
            _MAX_READING_BYTES + 100,
        )
        number, _end, text = answer.partition('\n')
        # Some put blanks before it.
        number = number.strip()
        if answer and not (number.isascii() and number.isdecimal()):
            connection.problem = (
                f'SSH to {connection.login}: found {number[:80]!r}, expected a'
                f" number of lines first: let no start-up file of the guest's"
                f' shell (such as ~/.bashrc) print anything'
            )
            raise console_transport.TransportError(connection.problem)
        if answer and int(number[:12]) < known:
            # A file that was begun anew: the guest has booted again.
            self._lines_read[guest.name] = 0
            return ''
        whole = text[: text.rfind('\n') + 1]
        self._lines_read[guest.name] += whole.count('\n')
        return whole

    def ask_again(self, guest: servers.Guest, missing: frames.Missing) -> str:
        """Return missing lines of results; all lines if an event is missing.

        :param missing: missing parts; the first 100 slots are requested
        :raises TransportError: the guest could not be asked
        """
        connection = self._connections[guest.name]
        folder = connection.login.folder
        commands = [
            _lines_of(f'{folder}/sent-{slot}', missing.lines[slot])
            for slot in sorted(missing.lines)[:_MAX_SLOTS_ASKED]
        ]
        if missing.events:
            commands.append(_lines_of(f'{folder}/log', ()))
        return connection.run(
            f'{{ {"; ".join(commands)}; }} 2>/dev/null |'
            f' head -c {_MAX_ANSWER_BYTES}',
            _MAX_ANSWER_BYTES,
        )

    def evidence(self, guest: servers.Guest) -> str:
        """The guest's console, then what was wrong with SSH, if it was."""
        text = self._console.evidence(guest)
        problem = self._connections[guest.name].problem
        return f'{text.rstrip()}\n({problem})\n' if problem else text

    def close(self) -> None:
        """End all connections."""
        for connection in self._connections.values():
            connection.close()


def _lines_of(path: str, numbers: tuple[int, ...]) -> str:
    """The command that prints some lines of a file, or all of them."""
    if not numbers or len(numbers) > _MAX_LINES_NAMED:
        return f'cat {shlex.quote(path)}'
    wanted = ''.join(f'{number}p;' for number in numbers)
    return f'sed -n {shlex.quote(wanted)} {shlex.quote(path)}'
