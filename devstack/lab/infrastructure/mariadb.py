# SPDX-License-Identifier: Apache-2.0
"""MariaDB: the database server of the lab's OpenStack services.

It has its own folder, port and socket, so that another instance on the same
machine is neither used nor disturbed.
"""

import shutil

from lab.host import commands
from lab import layout
from lab.processes import readiness
from lab.processes import supervisord

DATABASES = (
    'keystone',
    'glance',
    'cinder',
    'placement',
    'neutron',
    'nova_api',
    'nova',
    'nova_cell0',
)


def start(lab: layout.Layout, supervisor: supervisord.Supervisor) -> None:
    """Run MariaDB with one user that owns the services' databases."""
    data = lab.root / 'mariadb'
    if not data.exists():
        unfinished = data.with_name('mariadb.unfinished')
        shutil.rmtree(unfinished, ignore_errors=not unfinished.exists())
        commands.run(
            [
                'mariadb-install-db',
                '--no-defaults',
                '--user=root',
                f'--datadir={unfinished}',
                '--skip-test-db',
                # only root of the machine, by the socket
                '--auth-root-authentication-method=socket',
                '--auth-root-socket-user=root',
            ],
            log=lab.log / 'mariadb-install.log',
        )
        unfinished.rename(data)
    server_socket = lab.run / 'mariadb.sock'
    supervisor.ensure(
        [
            supervisord.Program(
                name='mariadb',
                stop_wait_seconds=30,
                argv=(
                    '/usr/sbin/mariadbd',
                    '--no-defaults',
                    '--user=root',
                    f'--datadir={data}',
                    f'--socket={server_socket}',
                    f'--pid-file={lab.run / "mariadb.pid"}',
                    '--bind-address=127.0.0.1',
                    f'--port={lab.port("mariadb")}',
                    # a lab may lose its last second of transactions
                    '--innodb-flush-log-at-trx-commit=0',
                    '--performance-schema=OFF',
                    '--max-connections=400',
                ),
            )
        ]
    )
    client = [
        'mariadb',
        '--no-defaults',
        '--user=root',
        f'--socket={server_socket}',
    ]

    def answers() -> bool:
        try:
            commands.run([*client, '-e', 'SELECT 1'], timeout_seconds=10)
        except commands.CommandFailed:
            return False
        return True

    readiness.wait_until(
        answers, f'mariadb ({supervisor.log_file("mariadb")})'
    )
    password = lab.passwords['database']
    statements = [
        f'CREATE DATABASE IF NOT EXISTS {name} CHARACTER SET utf8;'
        for name in DATABASES
    ]
    statements += [
        f"GRANT ALL ON {name}.* TO 'cloud'@'127.0.0.1' "
        f"IDENTIFIED BY '{password}';"
        for name in DATABASES
    ]
    commands.run(client, stdin='\n'.join(statements))
