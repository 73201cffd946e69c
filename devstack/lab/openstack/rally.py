# SPDX-License-Identifier: Apache-2.0
"""Rally in the lab: its configuration, database and environment."""

import json
import shlex

from lab.host import commands
from lab import layout
from lab.openstack import access
from lab.openstack import service_conf
from lab import private_file


def write_files(lab: layout.Layout) -> None:
    """Write rally.conf and a command ``rally`` that finds its database."""
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


def set_up(lab: layout.Layout) -> str | None:
    """Create Rally's database and its description of the lab's cloud.

    :raises lab.host.commands.CommandFailed: Rally refuses.
    """
    stamp = lab.stamps / 'rally'
    if stamp.exists():
        return 'all there'
    log = lab.log / 'rally.log'
    rally = [lab.root / 'bin' / 'rally']
    # Its home is the lab's, so that the user's own choice of an environment
    # (~/.rally/globals) stays as it was.
    where = {**access.environment(lab), 'HOME': str(lab.root)}
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
            access.RALLY_ENVIRONMENT,
            '--spec',
            specification,
        ],
        log=log,
        environment=where,
    )
    stamp.touch()
    return 'created'
