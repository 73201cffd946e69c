# SPDX-License-Identifier: Apache-2.0
"""How clients reach the lab: their environment, openrc and clouds.yaml."""

from collections.abc import Mapping
import json
import os
import shlex

from lab.host import commands
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
        layout.REPOSITORY / 'etc' / 'cinder-tiers' / 'tiers.yaml'
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
        'PYTHONPATH': str(layout.REPOSITORY / 'devstack'),
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
    """Write openrc and clouds.yaml."""
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


def run_in_cloud(lab: layout.Layout, part: str) -> None:
    """Run a part of ``lab.openstack.cloud`` in the lab's environment.

    :param part: an argument of that program.
    :raises lab.host.commands.CommandFailed: the part failed; names the cause.
    """
    commands.run(
        [lab.python, '-m', 'lab.openstack.cloud', part],
        log=lab.log / f'cloud-{part}.log',
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
