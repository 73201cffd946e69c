# SPDX-License-Identifier: Apache-2.0
"""Sparse files that serve as disks, through loop devices.

Only devices whose backing file lies in the folder that the caller names are
ever looked at, changed or detached. Another mount namespace, such as those of
devstack/release.sh, may have a lab at the same path: that of a file says
nothing, its inode does. What is kept on them, and how fast they
may be (see ``throttle``), is not known here.
"""

import dataclasses
import json
import os
import pathlib

from lab.host import commands

#: What the kernel appends to the name of a backing file that was removed.
_REMOVED = ' (deleted)'
_SYS_BLOCK = pathlib.Path('/sys/block')


@dataclasses.dataclass(frozen=True, kw_only=True)
class LoopDevice:
    """A loop device that has a backing file.

    :param path: the device, such as /dev/loop3.
    :param backing_file: absolute path of the file, without symbolic links.
    :param number: ``major:minor``, as cgroup limits want it.
    :param direct_io: whether it bypasses the page cache of the file.
    :param removed: the file has no name any more.
    :param inode: number of the file in its file system.
    :param file_system: ``major:minor`` of the device that holds the file.
    """

    path: pathlib.Path
    backing_file: pathlib.Path
    number: str
    direct_io: bool
    removed: bool
    inode: int
    file_system: str

    def is_seen(self) -> bool:
        """Return whether its file is that of the path, or has no name."""
        if self.removed:
            return True
        try:
            found = self.backing_file.stat()
        except FileNotFoundError:
            return False
        device = f'{os.major(found.st_dev)}:{os.minor(found.st_dev)}'
        return (found.st_ino, device) == (self.inode, self.file_system)


def parse_listing(listing: str, folder: pathlib.Path) -> list[LoopDevice]:
    """Return the devices whose backing file is in or below a folder.

    :param listing: JSON of losetup(8) with the columns NAME, BACK-FILE,
        MAJ:MIN, DIO, BACK-INO and BACK-MAJ:MIN; empty when there is no loop
        device at all.
    :param folder: absolute, without symbolic links.
    """
    if not listing.strip():
        return []
    found = []
    for row in json.loads(listing)['loopdevices']:
        name = row['back-file'] or ''
        backing_file = pathlib.Path(name.removesuffix(_REMOVED))
        if backing_file.is_relative_to(folder):
            found.append(
                LoopDevice(
                    path=pathlib.Path(row['name']),
                    backing_file=backing_file,
                    number=row['maj:min'].strip(),
                    direct_io=bool(row['dio']),
                    removed=name.endswith(_REMOVED),
                    inode=int(row['back-ino']),
                    file_system=row['back-maj:min'].strip(),
                )
            )
    return found


def find_attached(folder: pathlib.Path) -> list[LoopDevice]:
    """Return the loop devices on files in or below a folder.

    :raises lab.host.commands.CommandFailed: losetup(8) does not work.
    """
    listed = parse_listing(
        commands.run(
            [
                'losetup',
                '--list',
                '--json',
                '--output',
                'NAME,BACK-FILE,MAJ:MIN,DIO,BACK-INO,BACK-MAJ:MIN',
            ]
        ),
        folder.resolve(),
    )
    return [device for device in listed if device.is_seen()]


def make_sparse(path: pathlib.Path, size_bytes: int) -> None:
    """Create a file of a size that takes no space until it is written.

    A file that is there already is left as it is.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open('ab') as stream:
        if stream.tell() == 0:
            stream.truncate(size_bytes)


def attach(path: pathlib.Path, *, rotational: bool) -> LoopDevice:
    """Attach a file to exactly one loop device, with direct I/O.

    A device that the file has already is kept.

    :param rotational: what the device claims to be: Ceph chooses its
        defaults for rotating disks or for flash by it.
    :raises lab.host.commands.CommandFailed: losetup(8) refuses.
    """
    mine = [
        device
        for device in find_attached(path.parent)
        if device.backing_file == path.resolve()
    ]
    for device in mine:
        if device.removed:
            detach(device)  # its data has no name any more
    mine = [device for device in mine if not device.removed]
    if not mine:
        commands.run(
            ['losetup', '--find', '--nooverlap', '--direct-io=on', path]
        )
        mine = [
            device
            for device in find_attached(path.parent)
            if device.backing_file == path.resolve()
        ]
    if not mine:
        raise commands.CommandFailed(
            f'{path}: losetup reported success, but no loop device has the '
            'file. Look at: losetup --list'
        )
    if not mine[0].direct_io:
        commands.run(['losetup', '--direct-io=on', mine[0].path])
    # The kernel sets this anew whenever a file is attached, so it needs no
    # restoring afterwards.
    (_SYS_BLOCK / mine[0].path.name / 'queue' / 'rotational').write_text(
        str(int(rotational))
    )
    return mine[0]


def detach(device: LoopDevice) -> None:
    """Detach a loop device from its file.

    :raises lab.host.commands.CommandFailed: losetup(8) refuses.
    """
    commands.run(['losetup', '--detach', device.path])
