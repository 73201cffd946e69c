# SPDX-License-Identifier: Apache-2.0
"""Creates the schema of each OpenStack service and runs its processes."""

from collections.abc import Iterable
import configparser
import dataclasses
import hashlib
import os
import pathlib
import urllib.error
import urllib.request

from lab.host import commands
from lab.host import mount_namespace
from lab.host import packages
from lab import layout
from lab.openstack import api_paste
from lab.openstack import service_conf
from lab import private_file
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
}
#: Requests that an API serves at one time; the others serve 4.
_THREADS = {'cinder': 8, 'nova': 8}


def write_configuration(lab: layout.Layout) -> None:
    """Write the configuration files of all services below ``etc``.

    :raises api_paste.UnexpectedPipeline: Cinder's api-paste.ini has no place
        for the API door.
    """
    for service in (
        'keystone',
        'glance',
        'cinder',
        'placement',
        'neutron',
        'nova',
        'nova-compute',
    ):
        private_file.write(
            _conf(lab, service),
            service_conf.as_ini(service_conf.sections_of(lab, service)),
        )
    stock = lab.venv / 'etc' / 'cinder' / 'api-paste.ini'
    private_file.write(
        lab.cinder_api_paste,
        api_paste.add_filter(stock.read_text(), str(stock)),
    )
    # Services that take a folder find their paste file beside their conf.
    for service, paste in (
        ('glance', 'glance-api-paste.ini'),
        ('nova', 'api-paste.ini'),
        ('neutron', 'api-paste.ini'),
    ):
        folder = lab.etc / service
        folder.mkdir(exist_ok=True)
        for name, target in (
            (paste, lab.venv / 'etc' / service / paste),
            (_conf_name(service), _conf(lab, service)),
        ):
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(target)


def create_schema(lab: layout.Layout, service: str) -> str | None:
    """Create or upgrade a service's database, once for each set of versions.

    :raises commands.CommandFailed: a migration failed.
    """
    stamp = lab.stamps / f'schema-{service}'
    version = hashlib.sha256(packages.CONSTRAINTS.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == version:
        return 'all there'
    log = lab.log / f'schema-{service}.log'
    for words in _schema_commands(lab, service):
        commands.run(
            [lab.venv / 'bin' / words[0], *words[1:]],
            log=log,
            environment=_environment(lab),
        )
    if service == 'nova':
        _create_cell(lab, log)
    stamp.write_text(version)
    return 'created'


def start_api(
    lab: layout.Layout,
    supervisor: supervisord.Supervisor,
    service: str,
) -> None:
    """Run a service's WSGI application and wait until it answers.

    :raises readiness.NotReady: it does not answer.
    :raises supervisord.SupervisorError: it does not start.
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
    # Cinder takes its configuration from arguments, the others from
    # OS_<SERVICE>_CONFIG_DIR.
    arguments = (
        ('--pyargv', ' '.join(_arguments(lab, service)))
        if service == 'cinder'
        else ()
    )
    paste = [lab.cinder_api_paste] if service == 'cinder' else []
    return supervisord.Program(
        name=f'{service}-api',
        start_seconds=_START_SECONDS,
        environment={
            f'OS_{service.upper()}_CONFIG_DIR': str(_folder(lab, service)),
            # neutron would want a file for its plug-in, too
            'OS_NEUTRON_CONFIG_FILES': 'neutron.conf',
            **_threads_environment(lab, service),
            **_configuration_digest([*_files(lab, service), *paste]),
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
        nova-scheduler and nova-compute.
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
                    **_configuration_digest(_files(lab, service)),
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
                    str(lab.venv / 'bin' / name),
                    *_arguments(lab, service),
                ),
            )
        )
    return programs


def _with_lab_in_etc_ceph(lab: layout.Layout) -> tuple[str, ...]:
    """Return what runs a program with the lab's Ceph in /etc/ceph.

    os-brick, which copies volumes between backends, looks for the keyring
    there and nowhere else.
    """
    return mount_namespace.command(
        'mount --bind "$1" /etc/ceph; shift; exec "$@"', lab.ceph_conf.parent
    )


def enabled_backends(lab: layout.Layout) -> list[str]:
    """Return the names of the backends that cinder-volume runs."""
    sections = configparser.ConfigParser(interpolation=None, strict=False)
    for file in _files(lab, 'cinder'):
        sections.read_string(file.read_text(), str(file))
    return [
        name.strip()
        for name in sections['DEFAULT']['enabled_backends'].split(',')
    ]


def cinder_files(lab: layout.Layout) -> list[pathlib.Path]:
    """Return the configuration files of Cinder, in the order of reading."""
    return _files(lab, 'cinder')


def find_queues(lab: layout.Layout, name: str) -> list[str]:
    """Return the queues in RabbitMQ from which a service takes requests.

    :param name: as for :func:`start_workers`.
    """
    if name == 'cinder-volume':
        return [
            f'cinder-volume.{service_conf.HOST}@{backend}'
            for backend in enabled_backends(lab)
        ]
    topic = name if name == 'cinder-scheduler' else name.partition('-')[2]
    return [f'{topic}.{service_conf.HOST}']


def map_compute_host(lab: layout.Layout) -> None:
    """Map the compute host into Nova's cell, once it has reported."""
    nova_manage: list[str | os.PathLike] = [
        lab.venv / 'bin' / 'nova-manage',
        '--config-file',
        _conf(lab, 'nova'),
    ]

    def mapped() -> bool:
        commands.run(
            [*nova_manage, 'cell_v2', 'discover_hosts'],
            log=lab.log / 'cell.log',
            environment=_environment(lab),
        )
        hosts = commands.run(
            [*nova_manage, 'cell_v2', 'list_hosts'],
            environment=_environment(lab),
        )
        return service_conf.HOST in hosts

    stamp = lab.stamps / 'compute-host'
    if not stamp.exists():
        readiness.wait_until(
            mapped,
            f'nova-compute ({lab.log / "nova-compute.log"})',
            timeout_seconds=90,
        )
        stamp.touch()


def _schema_commands(lab: layout.Layout, service: str) -> list[list[str]]:
    conf = ['--config-file', str(_conf(lab, service))]
    if service == 'keystone':
        owner = ['--keystone-user', 'root', '--keystone-group', 'root']
        keystone = ['keystone-manage', *conf]
        url = lab.url('keystone', '/v3')
        return [
            [*keystone, 'db_sync'],
            [*keystone, 'fernet_setup', *owner],
            [*keystone, 'credential_setup', *owner],
            # the password goes by OS_BOOTSTRAP_PASSWORD, not by argv
            [
                *keystone,
                'bootstrap',
                '--bootstrap-region-id',
                service_conf.REGION,
                '--bootstrap-public-url',
                url,
                '--bootstrap-internal-url',
                url,
                '--bootstrap-admin-url',
                url,
            ],
        ]
    if service == 'nova':
        nova = ['nova-manage', *conf]
        return [
            [*nova, 'api_db', 'sync'],
            [*nova, 'cell_v2', 'map_cell0'],
            [*nova, 'db', 'sync'],
        ]
    if service == 'neutron':
        return [['neutron-db-manage', *conf, 'upgrade', 'heads']]
    sync = {
        'glance': ['db_sync'],
        'cinder': ['db', 'sync'],
        'placement': ['db', 'sync'],
    }
    return [[f'{service}-manage', *conf, *sync[service]]]


def _create_cell(lab: layout.Layout, log: pathlib.Path) -> None:
    cells: list[str | os.PathLike] = [
        lab.venv / 'bin' / 'nova-manage',
        '--config-file',
        _conf(lab, 'nova'),
        'cell_v2',
    ]
    environment = _environment(lab)
    if ' cell1 ' not in commands.run(
        [*cells, 'list_cells'], log=log, environment=environment
    ):
        commands.run(
            [*cells, 'create_cell', '--name', 'cell1'],
            log=log,
            environment=environment,
        )


def _conf_name(service: str) -> str:
    return 'glance-api.conf' if service == 'glance' else f'{service}.conf'


def _conf(lab: layout.Layout, service: str) -> pathlib.Path:
    return lab.etc / _conf_name(service)


def _files(lab: layout.Layout, service: str) -> list[pathlib.Path]:
    """Return the files that a service reads, in the order in which it does."""
    files = [_conf(lab, service)]
    if service == 'cinder':
        files += [
            lab.cinder_backends,
            *sorted(lab.cinder_overrides.glob('*.conf')),
        ]
    return files


def _arguments(lab: layout.Layout, service: str) -> list[str]:
    if service != 'cinder':
        return ['--config-file', str(_conf(lab, service))]
    return [
        '--config-file',
        str(_conf(lab, service)),
        '--config-file',
        str(lab.cinder_backends),
        '--config-dir',
        str(lab.cinder_overrides),
    ]


def _configuration_digest(files: Iterable[pathlib.Path]) -> dict[str, str]:
    """Return a variable that makes a program restart when a file changes."""
    digest = hashlib.sha256()
    for file in files:
        # the name, too: it is what decides which of two files wins
        digest.update(f'{file.name}\n{file.read_text()}\0'.encode())
    return {'CINDER_TIERS_LAB_CONFIGURATION': digest.hexdigest()[:16]}


def _threads_environment(lab: layout.Layout, service: str) -> dict[str, str]:
    """Return the variable by which Cinder runs with native threads."""
    if service == 'cinder' and lab.threads == 'native':
        return {'OS_CINDER_DISABLE_EVENTLET_PATCHING': '1'}
    return {}


def _folder(lab: layout.Layout, service: str) -> pathlib.Path:
    folder = lab.etc / service
    return folder if folder.exists() else lab.etc


def _environment(lab: layout.Layout) -> dict[str, str]:
    return {
        'PATH': f'{lab.venv}/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        'HOME': str(lab.root),
        'LANG': 'C.UTF-8',
        'OS_BOOTSTRAP_PASSWORD': lab.passwords['admin'],
        'TZ': os.environ.get('TZ', 'UTC'),
    }


def _http_status(url: str) -> int:
    try:
        # a loopback URL of our own making
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0
