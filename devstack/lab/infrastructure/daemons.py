# SPDX-License-Identifier: Apache-2.0
"""Database, message bus and hypervisor daemon of the lab.

Each has its own folder, ports and sockets, so that another instance on the
same machine is neither used nor disturbed.
"""

import base64
from collections.abc import Callable, Collection, Iterator
import contextlib
import json
import pathlib
import shutil
import socket
import time
import uuid

from lab.host import commands
from lab import layout
from lab import private_file
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


#: Which of oslo.messaging's queues nobody may read, and what is kept in each.
_NOTIFICATIONS = r'^notifications\.'
_NOTIFICATIONS_KEPT = 1000
_LOOPBACK_ONLY = '-kernel inet_dist_use_interface {127,0,0,1}'


class NotReady(Exception):
    """A service runs, but did not answer in time."""


def wait_until(
    answers: Callable[[], bool],
    what: str,
    timeout_seconds: float = 60,
    interval_seconds: float = 0.2,
) -> None:
    """Wait for something to become true.

    :param what: names it for the error, with the log to look at.
    :raises NotReady: it did not within the time.
    """
    deadline = time.monotonic() + timeout_seconds
    while not answers():
        if time.monotonic() > deadline:
            raise NotReady(f'{what}: no answer within {timeout_seconds:.0f} s')
        time.sleep(interval_seconds)


def start_mariadb(
    lab: layout.Layout, supervisor: supervisord.Supervisor
) -> None:
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
                # root of the machine, by the socket, and nobody else
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

    wait_until(answers, f'mariadb ({supervisor.log_file("mariadb")})')
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


def start_rabbitmq(
    lab: layout.Layout, supervisor: supervisord.Supervisor
) -> None:
    """Run RabbitMQ, with its port mapper, on loopback only.

    Queues of notifications keep their newest messages, as they would grow for
    ever while nobody reads them.
    """
    home = lab.root / 'rabbitmq'
    home.mkdir(exist_ok=True)
    private_file.write(
        home / 'rabbitmq.conf',
        '\n'.join(
            (
                f'listeners.tcp.1 = 127.0.0.1:{lab.port("rabbitmq")}',
                'default_user = cloud',
                f'default_pass = {lab.passwords["messaging"]}',
                'loopback_users = none',
                'vm_memory_high_watermark.absolute = 512MB',
                'disk_free_limit.absolute = 100MB',
                'log.console = true',
                'log.file = false',
                '',
            )
        ),
    )
    environment = _rabbitmq_environment(lab)
    supervisor.ensure(
        [
            supervisord.Program(
                name='epmd',
                environment=environment,
                argv=(
                    '/usr/bin/epmd',
                    '-port',
                    environment['ERL_EPMD_PORT'],
                    '-address',
                    '127.0.0.1',
                ),
            ),
            # KILL: the broker holds nothing that outlives its clients, and its
            # orderly end takes many seconds.
            supervisord.Program(
                name='rabbitmq',
                environment=environment,
                stop_signal='KILL',
                argv=('/usr/lib/rabbitmq/bin/rabbitmq-server',),
            ),
        ]
    )
    log = supervisor.log_file('rabbitmq')
    wait_until(lambda: _accepts(lab.port('rabbitmq')), f'rabbitmq ({log})')

    def bounded() -> bool:
        # a new epmd knows the broker only after some seconds
        try:
            _rabbitmqctl(
                lab,
                'set_policy',
                'bounded-notifications',
                _NOTIFICATIONS,
                json.dumps({'max-length': _NOTIFICATIONS_KEPT}),
                '--apply-to',
                'queues',
            )
        except commands.CommandFailed:
            return False
        return True

    wait_until(bounded, f'rabbitmqctl set_policy ({log})')


def wait_for_consumers(lab: layout.Layout, queues: Collection[str]) -> None:
    """Wait until somebody takes messages from each of the queues.

    :param queues: their names in RabbitMQ.
    :raises NotReady: nobody does; names the queues.
    """
    left = set(queues)

    def taken() -> bool:
        rows = _rabbitmqctl(
            lab, 'list_queues', '--no-table-headers', 'name', 'consumers'
        ).splitlines()
        left.difference_update(
            name
            for name, consumers in (row.split('\t') for row in rows)
            if consumers != '0'
        )
        return not left

    try:
        # each question starts an Erlang machine
        wait_until(taken, 'rabbitmq', interval_seconds=0.5)
    except NotReady:
        raise NotReady(
            'nobody takes messages from the queues '
            f'{", ".join(sorted(left))}: see the logs of their '
            'services (devstack/lab.sh logs)'
        ) from None


def _rabbitmqctl(lab: layout.Layout, *words: str) -> str:
    return commands.run(
        ['/usr/lib/rabbitmq/bin/rabbitmqctl', '--quiet', *words],
        environment={
            'PATH': '/usr/sbin:/usr/bin:/sbin:/bin',
            'LANG': 'C.UTF-8',
            'RABBITMQ_CTL_ERL_ARGS': _LOOPBACK_ONLY,
            **_rabbitmq_environment(lab),
        },
        timeout_seconds=30,
    )


def _rabbitmq_environment(lab: layout.Layout) -> dict[str, str]:
    home = lab.root / 'rabbitmq'
    return {
        'HOME': str(home),
        'RABBITMQ_NODENAME': 'cinder-tiers-lab@localhost',
        'RABBITMQ_CONFIG_FILE': str(home / 'rabbitmq.conf'),
        'RABBITMQ_CONF_ENV_FILE': '/dev/null',
        'RABBITMQ_ENABLED_PLUGINS_FILE': str(home / 'enabled_plugins'),
        'RABBITMQ_MNESIA_BASE': str(home / 'mnesia'),
        'RABBITMQ_LOG_BASE': str(home / 'log'),
        'RABBITMQ_PID_FILE': str(lab.run / 'rabbitmq.pid'),
        'RABBITMQ_DIST_PORT': str(lab.port('rabbitmq-distribution')),
        # the start script then becomes the broker, instead of its parent
        'RUNNING_UNDER_SYSTEMD': '1',
        'ERL_EPMD_ADDRESS': '127.0.0.1',
        'ERL_EPMD_PORT': str(lab.port('epmd')),
        'RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS': _LOOPBACK_ONLY,
    }


def start_libvirt(
    lab: layout.Layout, supervisor: supervisord.Supervisor
) -> None:
    """Run a libvirtd whose files are all below the lab's folder.

    libvirtd has its paths built in; it gets a mount namespace of its own, in
    which those paths are folders of the lab.
    """
    home = lab.root / 'libvirt'
    for name in ('etc/qemu', 'lib', 'run', 'log', 'cache', 'ceph'):
        (home / name).mkdir(parents=True, exist_ok=True)
    lab.libvirt_folder.mkdir(exist_ok=True)
    host_uuid = uuid.uuid5(uuid.NAMESPACE_URL, f'file://{lab.root}')
    (home / 'etc' / 'libvirtd.conf').write_text(
        'auth_unix_rw = "none"\nauth_unix_ro = "none"\n'
        'unix_sock_rw_perms = "0700"\n'
        f'host_uuid = "{host_uuid}"\n'
    )
    (home / 'etc' / 'qemu.conf').write_text(
        'user = "root"\ngroup = "root"\nsecurity_driver = "none"\n'
        'dynamic_ownership = 0\nremember_owner = 0\n'
        'cgroup_controllers = []\nnamespaces = []\n'
        'stdio_handler = "file"\n'
    )
    script = pathlib.Path(__file__).with_name('libvirtd-apart.sh')
    supervisor.ensure(
        [
            supervisord.Program(
                name='libvirtd', argv=('/bin/sh', str(script), str(home))
            )
        ]
    )

    def answers() -> bool:
        try:
            commands.run(
                ['virsh', '-c', lab.libvirt_uri, 'version'],
                timeout_seconds=30,
            )
        except commands.CommandFailed:
            return False
        return True

    wait_until(
        answers,
        f'libvirtd ({supervisor.log_file("libvirtd")})',
        interval_seconds=0.5,
    )


def give_libvirt_the_key(
    lab: layout.Layout, key: str, *, client: str, secret_uuid: str
) -> None:
    """Have libvirt keep the cephx key with which guests open volumes.

    :param client: the cephx user, without ``client.``; unlike those of other
        secrets.
    :param secret_uuid: of the secret that holds the key.
    :raises libvirt.libvirtError: libvirtd refuses.
    """
    with _libvirt(lab) as connection:
        secret = connection.secretDefineXML(
            "<secret ephemeral='no' private='no'>"
            f'<uuid>{secret_uuid}</uuid>'
            f"<usage type='ceph'><name>client.{client}</name></usage>"
            '</secret>'
        )
        # libvirt takes the key as the bytes that its base64 text stands for
        secret.setValue(base64.b64decode(key))


def take_the_key_from_libvirt(lab: layout.Layout, secret_uuid: str) -> None:
    """Have libvirt keep no such secret.

    :raises libvirt.libvirtError: libvirtd refuses.
    """
    with _libvirt(lab) as connection:
        for secret in connection.listAllSecrets():
            if secret.UUIDString() == secret_uuid:
                secret.undefine()


@contextlib.contextmanager
def _libvirt(lab: layout.Layout) -> Iterator:
    import libvirt  # Debian's; not there before the packages are

    with contextlib.closing(libvirt.open(lab.libvirt_uri)) as connection:
        yield connection


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex(('127.0.0.1', port)) == 0
