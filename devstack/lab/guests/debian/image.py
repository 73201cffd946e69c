# SPDX-License-Identifier: Apache-2.0

"""A Debian with cloud-init as a guest, which a lab has on request.

The lab's own guest is quicker in all; this one is what guests in a real cloud
are, so that what runs in guests can be tried there. It is built once, from
packages, and kept with the other downloads.
"""

from collections.abc import Sequence
import dataclasses
import pathlib
import shutil

from lab.guests import build_folder
from lab.guests.debian import archive
from lab.guests.debian import system
from lab.guests import disk
from lab.guests import image_file

# What the host needs besides the packages of every lab.
HOST_PACKAGES = ('mmdebstrap',)
# Packages of the host whose version shows in the image.
_HOST_INGREDIENTS = (
    'e2fsprogs',
    'extlinux',
    'mmdebstrap',
    'syslinux-common',
)
# The unpacked system, its disk image, and the copy that is kept.
_FREE_GIB = 3


class DiskFullError(Exception):
    """There is too little room to build the image."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inputs:
    """All that decides the image's contents.

    :param packages: {package in the guest: its version}.
    :param host: {package of the host that has a part in it: its version}.
    :param recipe_sha256: of the files that say how it is built.
    """

    packages: dict[str, str]
    host: dict[str, str]
    recipe_sha256: str


def build(
    *,
    work_directory: pathlib.Path,
    output: pathlib.Path,
    log: pathlib.Path,
) -> str:
    """Build the image, unless the output is that image already.

    See :func:`lab.guests.image_file.build` for the parameters.

    :returns: a remark: what was done.
    :raises DiskFullError: too little disk is free.
    :raises lab.guests.build_folder.GuestImageError: apt has no list of
        Debian's.
    :raises lab.host.commands.CommandFailed: a tool is missing or failed.
    """
    inputs = gather_inputs()
    if image_file.is_current(output, inputs):
        return 'up to date'
    release, sources = archive.find_sources()
    image_file.build(
        lambda folder: _build(release, sources, folder),
        inputs,
        work_directory=work_directory,
        output=output,
        log=log,
    )
    return f'built with {len(inputs.packages)} packages of {release}'


def gather_inputs() -> Inputs:
    """Find out what the image would be made from, without the network.

    :raises lab.host.commands.CommandFailed: apt or dpkg does not know a
        package.
    """
    return Inputs(
        packages=archive.find_packages(),
        host=image_file.host_versions(_HOST_INGREDIENTS),
        recipe_sha256=recipe_sha256(),
    )


def recipe_sha256() -> str:
    """Digest of the files that say how the image is built."""
    return image_file.recipe_sha256(
        system.ROOTFS.parent, pathlib.Path(disk.__file__)
    )


def _build(
    release: str, sources: Sequence[str], folder: build_folder.BuildFolder
) -> pathlib.Path:
    free_gib = shutil.disk_usage(folder.path).free / 2**30
    if free_gib < _FREE_GIB:
        raise DiskFullError(
            f'{free_gib:.1f} GiB are free below {folder.path}, expected at '
            f'least {_FREE_GIB} GiB to build the Debian image; free some'
        )
    return system.build(release, sources, folder)
