# SPDX-License-Identifier: Apache-2.0
"""Creates the databases of the OpenStack services, and the cell of Nova."""

import hashlib
import os
import pathlib

from lab.host import commands
from lab import layout
from lab.openstack import conf_files
from lab.openstack import service_conf
from lab.processes import readiness


def create(lab: layout.Layout, service: str) -> str | None:
    """Create or upgrade a service's database, once for each set of versions.

    :raises lab.host.commands.CommandFailed: a migration failed.
    """
    stamp = lab.stamps / f'schema-{service}'
    version = hashlib.sha256(layout.CONSTRAINTS.read_bytes()).hexdigest()
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


def map_compute_host(lab: layout.Layout) -> None:
    """Map the compute host into Nova's cell, once it has reported."""
    nova_manage: list[str | os.PathLike] = [
        lab.venv / 'bin' / 'nova-manage',
        '--config-file',
        conf_files.path(lab, 'nova'),
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
        )
        stamp.touch()


def _schema_commands(lab: layout.Layout, service: str) -> list[list[str]]:
    conf = ['--config-file', str(conf_files.path(lab, service))]
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
        conf_files.path(lab, 'nova'),
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


def _environment(lab: layout.Layout) -> dict[str, str]:
    return {
        'PATH': f'{lab.venv}/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        'HOME': str(lab.root),
        'LANG': 'C.UTF-8',
        'OS_BOOTSTRAP_PASSWORD': lab.passwords['admin'],
        'TZ': os.environ.get('TZ', 'UTC'),
    }
