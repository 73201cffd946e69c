# SPDX-License-Identifier: Apache-2.0

"""What the boot loader of a guest's disk starts: kernel, initramfs, arguments.

A BIOS reads a disk 32 KiB at a time, and the processor does nothing but wait
for each of the 600 reads of a kernel. An emulated processor waits at the
expense of the other guests, so a cloud that has these files starts its guests
sooner: nine at once on two cores took 5 core-seconds each in place of 8.
"""

import pathlib

from lab.guests import build_folder
from lab.guests import disk
from lab.host import commands

#: Reads a file system that is not mounted; not on the path of all users.
DEBUGFS = pathlib.Path('/sbin/debugfs')
_ARGUMENTS = 'APPEND '


def copy(
    image: pathlib.Path,
    *,
    kernel: pathlib.Path,
    initramfs: pathlib.Path,
    arguments: pathlib.Path,
) -> None:
    """Copy the boot files of an image; needs no mount.

    :param image: as :func:`lab.guests.disk.build` makes it.
    :param kernel: gets the bzImage.
    :param initramfs: gets the root file system.
    :param arguments: gets those of the kernel, a line.
    :raises lab.guests.build_folder.GuestImageError: the image has another
        content.
    :raises lab.host.commands.CommandFailed: the host has no debugfs.
    """
    for name, copied in (
        (disk.KERNEL, kernel),
        (disk.INITRAMFS, initramfs),
        (disk.LOADER_CONFIG, arguments),
    ):
        copied.unlink(missing_ok=True)
        # its exit status is 0 whatever happens
        commands.query(
            DEBUGFS,
            '-R',
            f'dump /{name} "{copied}"',
            f'{image}?offset={disk.BOOT_OFFSET_BYTES}',
        )
        if not copied.exists() or not copied.stat().st_size:
            raise build_folder.GuestImageError(
                f'{image}: found no file {name} in its boot partition, '
                'expected the image of the lab. Remove it, and run '
                'devstack/lab.sh up'
            )
    found = [
        line.strip().removeprefix(_ARGUMENTS)
        for line in arguments.read_text(encoding='ascii').splitlines()
        if line.strip().startswith(_ARGUMENTS)
    ]
    if not found:
        raise build_folder.GuestImageError(
            f'{image}: found no line {_ARGUMENTS.strip()} in '
            f'{disk.LOADER_CONFIG}, expected the arguments of the kernel'
        )
    arguments.write_text(f'{found[0]}\n', encoding='ascii')
