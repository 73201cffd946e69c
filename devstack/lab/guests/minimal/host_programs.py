# SPDX-License-Identifier: Apache-2.0

"""Programs that the guest has from the host, with the libraries they need.

For those of which Debian has no static build. Knows what ldd(1) prints, not
what the programs do.
"""

import hashlib
import pathlib
import re
import shutil

from lab.guests import build_folder
from lab.host import commands


def parse_ldd(text: str) -> list[pathlib.Path]:
    """Read from ldd(1) which files a program needs, in its order.

    :param text: what ldd prints of one program.
    :returns: the libraries and the loader, at the paths where the program
        looks for them.
    :raises GuestImageError: some are not found.
    """
    if missing := re.findall(r'(?m)^\s*(\S+) => not found', text):
        raise build_folder.GuestImageError(
            f'ldd does not find {", ".join(missing)}; reinstall the package '
            f'that has it'
        )
    # "libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f0e1a2b3000)", and
    # the loader without a name; the kernel's own library has no path.
    return [
        pathlib.Path(path)
        for path in re.findall(r'(?m)^\s*(?:\S+ => )?(/\S+) \(0x', text)
    ]


def find(program: pathlib.Path) -> list[pathlib.Path]:
    """Find the files of the host that a program needs to run.

    :param program: its path.
    :returns: what it needs; without the program itself.
    :raises GuestImageError: a library is missing.
    :raises lab.host.commands.CommandFailed: there is no such program, or it
        is a static one.
    """
    return parse_ldd(commands.query('ldd', program))


def digests(*programs: pathlib.Path) -> dict[str, str]:
    """Say what of the host becomes a part of the guest.

    :param programs: their paths.
    :returns: {path of a program, or of what it needs: its SHA-256}
    :raises GuestImageError: a library is missing.
    :raises lab.host.commands.CommandFailed: see :func:`find`.
    """
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for program in programs
        for path in (program, *find(program))
    }


def copy(program: pathlib.Path, root: pathlib.Path) -> None:
    """Copy a program to bin/ of the guest, and what it needs to its place.

    :param program: its path on the host.
    :param root: the guest's root file system.
    :raises GuestImageError: a library is missing.
    :raises lab.host.commands.CommandFailed: see :func:`find`.
    """
    # A link of that name leads to busybox, which must not be overwritten.
    target = root / 'bin' / program.name
    target.unlink(missing_ok=True)
    shutil.copy(program, target)
    for needed in find(program):
        place = root / needed.relative_to('/')
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(needed, place)
