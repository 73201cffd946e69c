# SPDX-License-Identifier: Apache-2.0

"""Private database servers: Debian's MariaDB and PostgreSQL.

Each has a temporary folder of its own for data and socket, listens on no
network, and is gone with its context.
"""

import collections.abc
import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

START_SECONDS = 120
STOP_SECONDS = 60
#: Tests leave threads, each with a connection.
MOST_CONNECTIONS = 400


class ServerError(Exception):
    """A database server is not there, or does not start."""


@contextlib.contextmanager
def _running(
    command: list[str],
    answers: list[str],
    log: pathlib.Path,
    user: str | None = None,
) -> collections.abc.Iterator[None]:
    with log.open('ab') as stream:
        server = subprocess.Popen(
            command, stdout=stream, stderr=stream, user=user, group=user
        )
    try:
        for _ in range(START_SECONDS * 5):
            if server.poll() is not None:
                raise ServerError(
                    f'{command[0]} ended with {server.returncode}: '
                    f'{log.read_text()[-2000:]}'
                )
            done = subprocess.run(answers, capture_output=True)
            if done.returncode == 0:
                break
            time.sleep(0.2)
        else:
            raise ServerError(
                f'{command[0]} does not answer after {START_SECONDS} s: '
                f'{log.read_text()[-2000:]}'
            )
        yield
    finally:
        # For PostgreSQL: without waiting for clients.
        server.send_signal(signal.SIGINT if user else signal.SIGTERM)
        try:
            server.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _made(command: list[str], user: str | None = None) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, user=user, group=user
    )
    if done.returncode:
        raise ServerError(f'{command[0]}: {done.stdout}{done.stderr}')


@contextlib.contextmanager
def mariadb() -> collections.abc.Iterator[str]:
    """A MariaDB.

    :returns: the URL of its user root for SQLAlchemy.
    :raises ServerError: it is not installed, or does not start.
    """
    server = shutil.which('mariadbd', path='/usr/sbin:/usr/bin')
    if server is None:
        raise ServerError('mariadbd: install mariadb-server')
    with tempfile.TemporaryDirectory(prefix='tiers-mariadb-') as folder:
        data, socket = f'{folder}/data', f'{folder}/socket'
        # Of the machine; mariadbd runs as root only if it is told so.
        user = [f'--user={pwd.getpwuid(os.geteuid()).pw_name}']
        _made(
            [
                'mariadb-install-db',
                '--no-defaults',
                *user,
                f'--datadir={data}',
                '--skip-test-db',
                '--auth-root-authentication-method=normal',
            ]
        )
        with _running(
            [
                server,
                '--no-defaults',
                *user,
                f'--datadir={data}',
                f'--socket={socket}',
                f'--pid-file={folder}/pid',
                '--skip-networking',
                '--innodb-flush-log-at-trx-commit=0',
                '--performance-schema=OFF',
                f'--max-connections={MOST_CONNECTIONS}',
            ],
            [
                'mariadb-admin',
                '--no-defaults',
                '--user=root',
                f'--socket={socket}',
                'ping',
            ],
            pathlib.Path(folder, 'log'),
        ):
            yield f'mysql+pymysql://root@localhost/?unix_socket={socket}'


@contextlib.contextmanager
def postgresql() -> collections.abc.Iterator[str]:
    """A PostgreSQL, the newest that Debian's packages have put here.

    :returns: the URL of its user cinder for SQLAlchemy, a superuser.
    :raises ServerError: it is not installed, or does not start.
    """
    found = sorted(
        pathlib.Path('/usr/lib/postgresql').glob('*/bin'),
        key=lambda path: int(path.parent.name),
    )
    if not found:
        raise ServerError('/usr/lib/postgresql: install postgresql')
    # It refuses to run as root.
    user = 'postgres' if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix='tiers-postgresql-') as folder:
        if user:
            shutil.chown(folder, user, user)
        _made(
            [
                str(found[-1] / 'initdb'),
                f'--pgdata={folder}/data',
                '--username=cinder',
                '--auth=trust',
                '--encoding=UTF8',
                '--locale=C.UTF-8',
                '--no-sync',
            ],
            user,
        )
        with _running(
            [
                str(found[-1] / 'postgres'),
                '-D',
                f'{folder}/data',
                '-k',
                folder,
                '-c',
                'listen_addresses=',
                '-c',
                'fsync=off',
                '-c',
                f'max_connections={MOST_CONNECTIONS}',
            ],
            [str(found[-1] / 'pg_isready'), '-h', folder, '-d', 'postgres'],
            pathlib.Path(folder, 'log'),
            user,
        ):
            yield f'postgresql+psycopg2://cinder@/postgres?host={folder}'
