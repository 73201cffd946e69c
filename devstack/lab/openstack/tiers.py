# SPDX-License-Identifier: Apache-2.0
"""The tiers of the lab, from its catalog, by the commands of an operator."""

import json

from lab.host import commands
from lab import layout
from lab.openstack import access
from lab import private_file

#: Exit statuses of `tier plan`: nothing to do, changes, refused changes.
_PLANNED = (0, 4, 5)
#: What it says of a volume type that exists and is not managed.
_NO_MARKER = 'without the ownership marker'


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

    A test that takes the ownership marker from a volume type of the lab, and
    is killed, leaves it without one. The lab's cloud has no other user, so
    its file may take the type over again.

    :raises lab.host.commands.CommandFailed: the catalog or the cloud is not in
        order.
    """
    commands.run(
        [
            lab.venv / 'bin' / 'openstack',
            'tier',
            'apply',
            *(
                word
                for name in _types_without_marker(lab)
                for word in ('--allow', name)
            ),
        ],
        log=lab.log / 'tiers.log',
        environment=access.environment(lab),
    )


def _types_without_marker(lab: layout.Layout) -> list[str]:
    """Names for --allow of the volume types that lack nothing else."""
    planned = json.loads(
        commands.run(
            [lab.venv / 'bin' / 'openstack', 'tier', 'plan', '-f', 'json'],
            environment=access.environment(lab),
            statuses=_PLANNED,
        )
    )
    return [
        one['Allow']
        for one in planned
        if one['Allow'] and _NO_MARKER in one['Reason']
    ]
