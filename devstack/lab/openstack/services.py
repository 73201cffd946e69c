# SPDX-License-Identifier: Apache-2.0
"""Runs the processes of the OpenStack services."""

from collections.abc import Iterable
import dataclasses
import hashlib
import pathlib
import urllib.error
import urllib.request

from lab.host import mount_namespace
from lab import layout
from lab.openstack import conf_files
from lab.openstack import service_conf
from lab.processes import readiness
from lab.processes import service_log
from lab.processes import supervisord

#: A service that ends sooner has failed to start: its imports take seconds.
_START_SECONDS = 6
#: Service -> WSGI application; all are served by uWSGI on loopback.
APPLICATIONS = {
    'keystone': 'keystone.wsgi.api',
    'glance': 'glance.wsgi.api',
    'cinder': 'cinder.wsgi.api',
    'placement': 'placement.wsgi.api',
    'neutron': 'neutron.wsgi.api',
    'nova': 'nova.wsgi.osapi_compute',
    'nova-metadata': 'nova.wsgi.metadata',
}
_MACVTAP_AGENT = 'neutron-macvtap-agent'
_DHCP_AGENT = 'neutron-dhcp-agent'
#: What gives guests a network, besides APIs.
NETWORK_WORKERS = (
    'neutron-rpc-server',
    _MACVTAP_AGENT,
    _DHCP_AGENT,
    'neutron-metadata-agent',
)
#: Worker -> the topic of its queue, where that is not in its name.
_TOPICS = {
    'cinder-scheduler': 'cinder-scheduler',
    'neutron-rpc-server': 'q-plugin',
    _MACVTAP_AGENT: 'q-agent-notifier-port-update',
    _DHCP_AGENT: 'dhcp_agent',
}
#: Requests that an API serves at one time; the others serve 4.
_THREADS = {'cinder': 8, 'nova': 8}


def start_api(
    lab: layout.Layout,
    supervisor: supervisord.Supervisor,
    service: str,
) -> None:
    """Run a service's WSGI application and wait until it answers.

    :raises lab.processes.readiness.NotReady: it does not answer.
    :raises lab.processes.supervisord.SupervisorError: it does not start.
    """
    supervisor.ensure([api_program(lab, service)])
    log = supervisor.log_file(f'{service}-api')
    try:
        readiness.wait_until(
            lambda: _http_status(lab.url(service, '/')) in range(200, 500),
            f'{service}-api at {lab.url(service)}',
        )
    except readiness.NotReady as problem:
        raise readiness.NotReady(
            f'{problem}; {log} says: {service_log.find_reason(log)}'
        ) from None


def api_program(lab: layout.Layout, service: str) -> supervisord.Program:
    """Return the process of a service's API.

    It is another program, and so starts anew, when what it reads changes.
    """
    port = lab.port(service)
    project = service.partition('-')[0]
    # Cinder takes its configuration from arguments, the others from
    # OS_<SERVICE>_CONFIG_DIR.
    arguments = (
        ('--pyargv', ' '.join(conf_files.arguments(lab, service)))
        if service == 'cinder'
        else ()
    )
    paste = [lab.cinder_api_paste] if service == 'cinder' else []
    return supervisord.Program(
        name=f'{service}-api',
        start_seconds=_START_SECONDS,
        environment={
            f'OS_{project.upper()}_CONFIG_DIR': str(
                conf_files.config_folder(lab, project)
            ),
            # neutron would want a file for its plug-in, too
            'OS_NEUTRON_CONFIG_FILES': 'neutron.conf',
            **_threads_environment(lab, service),
            **_configuration_digest(
                [*conf_files.read_by(lab, project), *paste]
            ),
        },
        argv=(
            '/usr/bin/uwsgi',
            '--plugin',
            'http,python3',
            '--virtualenv',
            str(lab.venv),
            '--http-socket',
            f'127.0.0.1:{port}',
            '--module',
            f'{APPLICATIONS[service]}:application',
            '--master',
            '--processes',
            '1',
            '--threads',
            str(_THREADS.get(service, 4)),
            '--enable-threads',
            '--lazy-apps',
            '--need-app',
            '--die-on-term',
            '--no-orphans',
            '--disable-logging',
            '--http-chunked-input',
            '--buffer-size',
            '65535',
            # Glance's client sends chunks of 1 MiB, uWSGI takes less than
            # that by default, and waits 4 s; Cinder may read a slow disk.
            '--chunked-input-limit',
            '2097152',
            '--chunked-input-timeout',
            '60',
            # uWSGI's socket has no keep-alive, but does not say so
            '--add-header',
            'Connection: close',
            *arguments,
        ),
    )


def start_workers(
    lab: layout.Layout,
    supervisor: supervisord.Supervisor,
    names: Iterable[str],
) -> None:
    """Run services that listen on the message bus.

    :param names: of cinder-scheduler, cinder-volume, nova-conductor,
        nova-scheduler, nova-compute and NETWORK_WORKERS.
    """
    # Nova disables a compute host whose libvirtd went away, and takes a
    # minute to see that it came back: it starts anew with each libvirtd.
    libvirtd = supervisor.state('libvirtd').pid
    supervisor.ensure(
        [
            dataclasses.replace(
                program,
                environment={
                    **program.environment,
                    'CINDER_TIERS_LAB_LIBVIRTD': str(libvirtd),
                },
            )
            if program.name == 'nova-compute'
            else program
            for program in worker_programs(lab, names)
        ]
    )


def worker_programs(
    lab: layout.Layout,
    names: Iterable[str],
) -> list[supervisord.Program]:
    """Return the processes of services that listen on the message bus.

    Each is another program, and so starts anew, when what it reads changes.

    :param names: as for :func:`start_workers`.
    """
    programs = []
    for name in names:
        service = name if name == 'nova-compute' else name.partition('-')[0]
        programs.append(
            supervisord.Program(
                name=name,
                environment={
                    'CEPH_CONF': str(lab.ceph_conf),
                    **_threads_environment(lab, service),
                    # they run code of the lab
                    **(
                        {'PYTHONPATH': str(layout.REPOSITORY / 'devstack')}
                        if name in (_DHCP_AGENT, _MACVTAP_AGENT)
                        else {}
                    ),
                    **_configuration_digest(conf_files.read_by(lab, service)),
                },
                # nova-compute outlives SIGTERM for minutes, and goes on taking
                # requests from its queue
                stop_signal='KILL' if name.startswith('nova') else 'TERM',
                stop_wait_seconds=5,
                start_seconds=_START_SECONDS,
                argv=(
                    *(
                        _with_lab_in_etc_ceph(lab)
                        if name == 'cinder-volume'
                        else ()
                    ),
                    *_program(lab, name),
                    *conf_files.arguments(lab, service),
                ),
            )
        )
    return programs


def _program(lab: layout.Layout, name: str) -> tuple[str, ...]:
    if name == _MACVTAP_AGENT:
        return str(lab.python), '-m', 'lab.openstack.macvtap_agent'
    return (str(lab.venv / 'bin' / name),)


def _with_lab_in_etc_ceph(lab: layout.Layout) -> tuple[str, ...]:
    """Return what runs a program with the lab's Ceph in /etc/ceph.

    os-brick, which copies volumes between backends, looks for the keyring
    there and nowhere else.
    """
    return mount_namespace.command(
        'mount --bind "$1" /etc/ceph; shift; exec "$@"', lab.ceph_conf.parent
    )


def find_queues(lab: layout.Layout, name: str) -> list[str]:
    """Return the queues in RabbitMQ from which a service takes requests.

    :param name: as for :func:`start_workers`.
    """
    if name == 'cinder-volume':
        return [
            f'cinder-volume.{service_conf.HOST}@{backend}'
            for backend in conf_files.enabled_backends(lab)
        ]
    if name == 'neutron-metadata-agent':
        return []  # it reports its state, and is asked nothing
    topic = _TOPICS.get(name, name.partition('-')[2])
    return [f'{topic}.{service_conf.HOST}']


def _configuration_digest(files: Iterable[pathlib.Path]) -> dict[str, str]:
    """Return a variable that makes a program restart when a file changes."""
    digest = hashlib.sha256()
    for file in files:
        # the name, too: it is what decides which of two files wins
        digest.update(f'{file.name}\n{file.read_text()}\0'.encode())
    return {'CINDER_TIERS_LAB_CONFIGURATION': digest.hexdigest()[:16]}


def _threads_environment(lab: layout.Layout, service: str) -> dict[str, str]:
    """Return the variables by which Cinder runs with native threads.

    ``cinder/image/image_utils.py`` of Cinder 29 reads and writes images by
    eventlet's ``tpool``, whose answers reach only the native thread that used
    it first: an image that another thread downloads stays in ``creating``.
    With a pool of 0, ``tpool`` works in the thread that calls it.
    """
    if service == 'cinder' and lab.threads == 'native':
        return {
            'OS_CINDER_DISABLE_EVENTLET_PATCHING': '1',
            'EVENTLET_THREADPOOL_SIZE': '0',
        }
    return {}


def _http_status(url: str) -> int:
    try:
        # a loopback URL of our own making
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0
