# SPDX-License-Identifier: Apache-2.0
"""The tiers of the lab, from its catalog, by the commands of an operator."""

from lab.host import commands
from lab import layout
from lab.openstack import access
from lab import private_file


def write_backends(lab: layout.Layout) -> str:
    """Write the sections of cinder.conf that follow from the catalog.

    :returns: the catalog's path.
    :raises lab.host.commands.CommandFailed: the catalog is not in order.
    """
    where = access.environment(lab)
    private_file.write(
        lab.cinder_backends,
        commands.run(
            [lab.venv / 'bin' / 'openstack', 'tier', 'backend-config'],
            environment=where,
        ),
    )
    return where[access.CATALOG_VARIABLE]


def apply(lab: layout.Layout) -> None:
    """Apply the catalog, as an administrator does it.

    :raises lab.host.commands.CommandFailed: the catalog or the cloud is not in
        order.
    """
    commands.run(
        [lab.venv / 'bin' / 'openstack', 'tier', 'apply'],
        log=lab.log / 'tiers.log',
        environment=access.environment(lab),
    )
