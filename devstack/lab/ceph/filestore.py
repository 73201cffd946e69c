# SPDX-License-Identifier: Apache-2.0
"""FileStore on XFS, on a disk that only its OSD sees.

The file system is mounted in a mount namespace which ends with the process, so
that none outlives it, however it ends. Reflinks are off, as FileStore of
Ceph 16 wants it.
"""

import pathlib

from lab.host import commands
from lab.host import mount_namespace

#: Mounts a disk on a folder, and becomes the command that follows them.
_MOUNT = 'mount -t xfs -o noatime "$1" "$2"; shift 2; exec "$@"'


def format_disk(disk: pathlib.Path, log: pathlib.Path) -> None:
    """Make an XFS on the attached disk of an OSD.

    :raises lab.host.commands.CommandFailed: mkfs.xfs(8) refuses.
    """
    commands.run(['mkfs.xfs', '-q', '-f', '-m', 'reflink=0', disk], log=log)


def with_mount(
    disk: pathlib.Path, store: pathlib.Path, argv: tuple[str, ...]
) -> tuple[str, ...]:
    """Return a command that sees a disk mounted and becomes ``argv``.

    :param store: folder on which the disk is mounted.
    """
    return mount_namespace.command(_MOUNT, disk, store, *argv)
