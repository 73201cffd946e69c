# SPDX-License-Identifier: Apache-2.0
"""Keys of Ceph's daemons and clients in keyring files."""

import pathlib

from lab.host import commands
from lab import private_file


def create(
    keyring: pathlib.Path,
    entity: str,
    capabilities: dict[str, str] | None = None,
    *,
    log: pathlib.Path,
) -> None:
    """Make a key, in a keyring that is made if it is not there.

    :param entity: whose key it is, with its type (``osd.0``).
    :param capabilities: {kind of daemon: what the entity may do there}.
    :raises lab.host.commands.CommandFailed: ceph-authtool(8) refuses.
    """
    new = () if keyring.exists() else ('--create-keyring',)
    caps = [
        word
        for daemon, text in (capabilities or {}).items()
        for word in ('--cap', daemon, text)
    ]
    commands.run(
        ['ceph-authtool', keyring, *new, '--gen-key', '--name', entity, *caps],
        log=log,
    )


def read_key(keyring: pathlib.Path, entity: str) -> str:
    """Return the key of an entity, given with its type (``osd.0``).

    :raises lab.host.commands.CommandFailed: the keyring holds none.
    """
    return commands.run(
        ['ceph-authtool', keyring, '--print-key', '--name', entity]
    ).strip()


def copy_key(source: pathlib.Path, entity: str, target: pathlib.Path) -> None:
    """Write a keyring that holds the key of one entity of another keyring.

    :raises lab.host.commands.CommandFailed: the keyring holds none.
    """
    private_file.write(
        target, f'[{entity}]\n\tkey = {read_key(source, entity)}\n'
    )
