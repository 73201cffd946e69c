# SPDX-License-Identifier: Apache-2.0
"""FileStore on XFS, on a disk that only its OSD sees.

The file system is mounted in a mount namespace which ends with the process, so
that none outlives it, however it ends. Reflinks are off, as FileStore of
Ceph 16 wants it.
"""

import pathlib

from lab.ceph import topology
from lab.host import commands

#: Mounts a disk on a folder, and becomes the command that follows them.
_MOUNT = 'mount -t xfs -o noatime "$1" "$2" && shift 2 && exec "$@"'


def format_disk(
    layout: topology.CephLayout, osd: topology.Osd, log: pathlib.Path
) -> None:
    """Make an XFS on the attached disk of an OSD, and where it is mounted.

    :raises lab.host.commands.CommandFailed: mkfs.xfs(8) refuses.
    """
    commands.run(
        [
            'mkfs.xfs',
            '-q',
            '-f',
            '-m',
            'reflink=0',
            layout.data(osd.name) / 'xfs',
        ],
        log=log,
    )
    layout.file_store(osd).mkdir(exist_ok=True)


def mounted(
    layout: topology.CephLayout, osd: topology.Osd, argv: tuple[str, ...]
) -> tuple[str, ...]:
    """Return a command that sees the OSD's disk and becomes ``argv``."""
    return (
        'unshare',
        '--mount',
        '--propagation',
        'private',
        '/bin/sh',
        '-c',
        _MOUNT,
        'sh',
        str(layout.data(osd.name) / 'xfs'),
        str(layout.file_store(osd)),
        *argv,
    )
