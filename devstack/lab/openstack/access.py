# SPDX-License-Identifier: Apache-2.0
"""What a user needs to reach the lab: openrc, clouds.yaml, Rally."""

from collections.abc import Mapping
import json
import os
import shlex

from lab.host import commands
from lab.host import packages
from lab import layout
from lab.openstack import service_conf
from lab import private_file

ADMIN_CLOUD = 'cinder-tiers-lab'
MEMBER_CLOUD = 'cinder-tiers-lab-member'
#: A member of another project, for what one project must not do to another.
OTHER_CLOUD = 'cinder-tiers-lab-other'
RALLY_ENVIRONMENT = 'cinder-tiers-lab'
CATALOG_VARIABLE = 'CINDER_TIERS_CATALOG'
LAYERS_HOST_VARIABLE = 'CINDER_TIERS_LAYERS_HOST'


def variables(
    lab: layout.Layout, environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the variables with which clients reach the lab as its admin."""
    catalog = environment.get(CATALOG_VARIABLE) or str(
        packages.REPOSITORY / 'etc' / 'cinder-tiers' / 'tiers.yaml'
    )
    return {
        'OS_CLIENT_CONFIG_FILE': str(lab.root / 'clouds.yaml'),
        'OS_CLOUD': ADMIN_CLOUD,
        'CEPH_CONF': str(lab.ceph_conf),
        CATALOG_VARIABLE: catalog,
        'CINDER_TIERS_RBD_SECRET_UUID': lab.secret_uuid,
        # in the lab, so that nothing of it is left on the host
        'CINDER_TIERS_COORDINATION_URL': f'file://{lab.run}',
        LAYERS_HOST_VARIABLE: str(lab.layers_host),
        layout.ROOT_VARIABLE: str(lab.root),
        'LIBVIRT_DEFAULT_URI': lab.libvirt_uri,
        'RALLY_ENV': RALLY_ENVIRONMENT,
    }


def environment(lab: layout.Layout) -> dict[str, str]:
    """Return the whole environment for a client that the lab starts."""
    return {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith('OS_')
        },
        **variables(lab),
        'PATH': f'{lab.root}/bin:{lab.venv}/bin:{os.environ["PATH"]}',
        'PYTHONPATH': str(packages.REPOSITORY / 'devstack'),
    }


def openrc(lab: layout.Layout) -> str:
    """Return a shell script that sets :func:`variables` and the PATH."""
    lines = [
        '# Source this: it points clients at the cinder-tiers lab.',
        # a variable of another cloud would win over clouds.yaml
        "for name in $(env | sed -n 's/^\\(OS_[A-Z_]*\\)=.*/\\1/p'); do",
        '    unset "$name"',
        'done',
    ]
    lines += [
        f'export {name}={shlex.quote(value)}'
        for name, value in variables(lab).items()
    ]
    # once only, however often this is sourced
    paths = f'{lab.root}/bin:{lab.venv}/bin'
    lines += [
        f'case ":$PATH:" in *:{paths}:*) ;; '
        f'*) export PATH={shlex.quote(paths)}:"$PATH" ;; esac',
        '',
    ]
    return '\n'.join(lines)


def write_files(lab: layout.Layout) -> None:
    """Write openrc, clouds.yaml and a ``rally`` that finds its database."""
    private_file.write(lab.root / 'openrc', openrc(lab))
    # JSON is YAML; it needs no library and quotes what must be quoted.
    private_file.write(
        lab.root / 'clouds.yaml',
        json.dumps(
            {
                'clouds': {
                    ADMIN_CLOUD: _cloud(lab, 'admin', 'admin'),
                    MEMBER_CLOUD: _cloud(lab, 'tenant', 'member'),
                    OTHER_CLOUD: _cloud(lab, 'other', 'member'),
                }
            },
            indent=1,
        ),
    )
    private_file.write(
        lab.root / 'rally' / 'rally.conf',
        f'[database]\nconnection = sqlite:///{lab.root}/rally/rally.db\n',
    )
    wrapper = lab.root / 'bin' / 'rally'
    private_file.write(
        wrapper,
        '#!/bin/sh\nexec '
        f'{shlex.quote(str(lab.venv / "bin" / "rally"))} --config-file '
        f'{shlex.quote(str(lab.root / "rally" / "rally.conf"))} "$@"\n',
    )
    wrapper.chmod(0o755)


def set_up_rally(lab: layout.Layout) -> str | None:
    """Create Rally's database and its description of the lab's cloud.

    :raises commands.CommandFailed: Rally refuses.
    """
    stamp = lab.stamps / 'rally'
    if stamp.exists():
        return 'all there'
    log = lab.log / 'rally.log'
    rally = [lab.root / 'bin' / 'rally']
    # Its home is the lab's, so that the user's own choice of an environment
    # (~/.rally/globals) stays as it was.
    where = {**environment(lab), 'HOME': str(lab.root)}
    (lab.root / 'rally' / 'rally.db').unlink(missing_ok=True)
    commands.run([*rally, 'db', 'create'], log=log, environment=where)
    specification = lab.root / 'rally' / 'environment.json'
    private_file.write(
        specification,
        json.dumps(
            {
                'existing@openstack': {
                    'auth_url': lab.url('keystone', '/v3'),
                    'region_name': service_conf.REGION,
                    'endpoint_type': 'public',
                    'admin': {
                        'username': 'admin',
                        'project_name': 'admin',
                        'password': lab.passwords['admin'],
                        'user_domain_name': 'Default',
                        'project_domain_name': 'Default',
                    },
                }
            }
        ),
    )
    commands.run(
        [
            *rally,
            'env',
            'create',
            '--name',
            RALLY_ENVIRONMENT,
            '--spec',
            specification,
        ],
        log=log,
        environment=where,
    )
    stamp.touch()
    return 'created'


def write_backends(lab: layout.Layout) -> str:
    """Write the sections of cinder.conf that follow from the catalog.

    :returns: the catalog's path.
    :raises commands.CommandFailed: the catalog is not in order.
    """
    where = environment(lab)
    private_file.write(
        lab.cinder_backends,
        commands.run(
            [lab.venv / 'bin' / 'openstack', 'tier', 'backend-config'],
            environment=where,
        ),
    )
    return where[CATALOG_VARIABLE]


def apply_tiers(lab: layout.Layout) -> None:
    """Apply the catalog, as an administrator does it.

    :raises commands.CommandFailed: the catalog or the cloud is not in order.
    """
    commands.run(
        [lab.venv / 'bin' / 'openstack', 'tier', 'apply'],
        log=lab.log / 'tiers.log',
        environment=environment(lab),
    )


def _cloud(lab: layout.Layout, user: str, password: str) -> dict:
    return {
        'auth': {
            'auth_url': lab.url('keystone', '/v3'),
            'username': user,
            'project_name': user,
            'password': lab.passwords[password],
            'user_domain_id': 'default',
            'project_domain_id': 'default',
        },
        'region_name': service_conf.REGION,
        'identity_api_version': '3',
    }
