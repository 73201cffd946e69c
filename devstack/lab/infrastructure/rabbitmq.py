# SPDX-License-Identifier: Apache-2.0
"""RabbitMQ: the message bus of the lab's OpenStack services.

It has its own folder, ports and port mapper, so that another instance on the
same machine is neither used nor disturbed.
"""

from collections.abc import Collection
import json
import socket

from lab.host import commands
from lab import layout
from lab import private_file
from lab.processes import readiness
from lab.processes import supervisord

#: The queues of oslo.messaging that may have no reader, and how many messages
#: are kept in each.
_NOTIFICATIONS = r'^notifications\.'
_NOTIFICATIONS_KEPT = 1000
#: rabbitmqctl starts an Erlang machine of its own, which took 35 s beside four
#: other labs that were being made; only a hang reaches this.
_MOST_SECONDS_OF_A_COMMAND = 120
_LOOPBACK_ONLY = '-kernel inet_dist_use_interface {127,0,0,1}'


def start(lab: layout.Layout, supervisor: supervisord.Supervisor) -> None:
    """Run RabbitMQ, with its port mapper, on loopback only.

    Queues of notifications keep their newest messages, as they would grow for
    ever without a reader.
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
    readiness.wait_until(
        lambda: _accepts(lab.port('rabbitmq')), f'rabbitmq ({log})'
    )

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

    readiness.wait_until(
        bounded,
        f'rabbitmqctl set_policy ({log})',
        timeout_seconds=2 * _MOST_SECONDS_OF_A_COMMAND,
    )


def wait_for_consumers(lab: layout.Layout, queues: Collection[str]) -> None:
    """Wait until each of the queues has a consumer.

    :param queues: their names in RabbitMQ.
    :raises lab.processes.readiness.NotReady: names the queues without one.
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
        readiness.wait_until(taken, 'rabbitmq', interval_seconds=0.5)
    except readiness.NotReady:
        raise readiness.NotReady(
            'no service consumes messages from the queues '
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
        timeout_seconds=_MOST_SECONDS_OF_A_COMMAND,
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


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex(('127.0.0.1', port)) == 0
