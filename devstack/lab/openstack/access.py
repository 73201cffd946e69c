# SPDX-License-Identifier: Apache-2.0
"""What a user needs to reach the lab: openrc, clouds.yaml, Rally."""

import json
import os
import shlex

from lab.host import commands
from lab.host import packages
from lab import layout as lab_layout
from lab.openstack import service_conf

ADMIN_CLOUD = 'cinder-tiers-lab'
MEMBER_CLOUD = 'cinder-tiers-lab-member'
#: A member of another project, for what one project must not do to another.
OTHER_CLOUD = 'cinder-tiers-lab-other'
RALLY_ENVIRONMENT = 'cinder-tiers-lab'
CATALOG_VARIABLE = 'CINDER_TIERS_CATALOG'
LAYERS_HOST_VARIABLE = 'CINDER_TIERS_LAYERS_HOST'


def variables(
    layout: lab_layout.Layout, environment=os.environ
) -> dict[str, str]:
    """Return the variables with which clients reach the lab as its admin."""
    catalog = environment.get(CATALOG_VARIABLE) or str(
        packages.REPOSITORY / 'etc' / 'cinder-tiers' / 'tiers.yaml'
    )
    return {
        'OS_CLIENT_CONFIG_FILE': str(layout.root / 'clouds.yaml'),
        'OS_CLOUD': ADMIN_CLOUD,
        'CEPH_CONF': str(layout.ceph_conf),
        CATALOG_VARIABLE: catalog,
        'CINDER_TIERS_RBD_SECRET_UUID': layout.secret_uuid,
        # in the lab, so that nothing of it is left on the host
        'CINDER_TIERS_COORDINATION_URL': f'file://{layout.run}',
        LAYERS_HOST_VARIABLE: str(layout.layers_host),
        lab_layout.ROOT_VARIABLE: str(layout.root),
        'LIBVIRT_DEFAULT_URI': layout.libvirt_uri,
        'RALLY_ENV': RALLY_ENVIRONMENT,
    }


def environment(layout: lab_layout.Layout) -> dict[str, str]:
    """Return the whole environment for a client that the lab starts."""
    return {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith('OS_')
        },
        **variables(layout),
        'PATH': f'{layout.root}/bin:{layout.venv}/bin:{os.environ["PATH"]}',
        'PYTHONPATH': str(packages.REPOSITORY / 'devstack'),
    }


def openrc(layout: lab_layout.Layout) -> str:
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
        for name, value in variables(layout).items()
    ]
    # once only, however often this is sourced
    paths = f'{layout.root}/bin:{layout.venv}/bin'
    lines += [
        f'case ":$PATH:" in *:{paths}:*) ;; '
        f'*) export PATH={shlex.quote(paths)}:"$PATH" ;; esac',
        '',
    ]
    return '\n'.join(lines)


def write(layout: lab_layout.Layout) -> None:
    """Write openrc, clouds.yaml and a ``rally`` that finds its database."""
    lab_layout.write_private(layout.root / 'openrc', openrc(layout))
    # JSON is YAML; it needs no library and quotes what must be quoted.
    lab_layout.write_private(
        layout.root / 'clouds.yaml',
        json.dumps(
            {
                'clouds': {
                    ADMIN_CLOUD: _cloud(layout, 'admin', 'admin'),
                    MEMBER_CLOUD: _cloud(layout, 'tenant', 'member'),
                    OTHER_CLOUD: _cloud(layout, 'other', 'member'),
                }
            },
            indent=1,
        ),
    )
    lab_layout.write_private(
        layout.root / 'rally' / 'rally.conf',
        f'[database]\nconnection = sqlite:///{layout.root}/rally/rally.db\n',
    )
    wrapper = layout.root / 'bin' / 'rally'
    lab_layout.write_private(
        wrapper,
        '#!/bin/sh\nexec '
        f'{shlex.quote(str(layout.venv / "bin" / "rally"))} --config-file '
        f'{shlex.quote(str(layout.root / "rally" / "rally.conf"))} "$@"\n',
    )
    wrapper.chmod(0o755)


def set_up_rally(layout: lab_layout.Layout) -> str | None:
    """Create Rally's database and its description of the lab's cloud.

    :raises commands.CommandFailed: Rally refuses.
    """
    stamp = layout.stamps / 'rally'
    if stamp.exists():
        return 'all there'
    log = layout.log / 'rally.log'
    rally = [layout.root / 'bin' / 'rally']
    # Its home is the lab's, so that the user's own choice of an environment
    # (~/.rally/globals) stays as it was.
    where = {**environment(layout), 'HOME': str(layout.root)}
    (layout.root / 'rally' / 'rally.db').unlink(missing_ok=True)
    commands.run([*rally, 'db', 'create'], log=log, environment=where)
    specification = layout.root / 'rally' / 'environment.json'
    lab_layout.write_private(
        specification,
        json.dumps(
            {
                'existing@openstack': {
                    'auth_url': layout.url('keystone', '/v3'),
                    'region_name': service_conf.REGION,
                    'endpoint_type': 'public',
                    'admin': {
                        'username': 'admin',
                        'project_name': 'admin',
                        'password': layout.passwords['admin'],
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


def write_backends(layout: lab_layout.Layout) -> str:
    """Write the sections of cinder.conf that follow from the catalog.

    :returns: the catalog's path.
    :raises commands.CommandFailed: the catalog is not in order.
    """
    where = environment(layout)
    lab_layout.write_private(
        layout.cinder_backends,
        commands.run(
            [layout.venv / 'bin' / 'openstack', 'tier', 'backend-config'],
            environment=where,
        ),
    )
    return where[CATALOG_VARIABLE]


def apply_tiers(layout: lab_layout.Layout) -> None:
    """Apply the catalog, as an administrator does it.

    :raises commands.CommandFailed: the catalog or the cloud is not in order.
    """
    commands.run(
        [layout.venv / 'bin' / 'openstack', 'tier', 'apply'],
        log=layout.log / 'tiers.log',
        environment=environment(layout),
    )


def _cloud(layout: lab_layout.Layout, user: str, password: str) -> dict:
    return {
        'auth': {
            'auth_url': layout.url('keystone', '/v3'),
            'username': user,
            'project_name': user,
            'password': layout.passwords[password],
            'user_domain_id': 'default',
            'project_domain_id': 'default',
        },
        'region_name': service_conf.REGION,
        'identity_api_version': '3',
    }
