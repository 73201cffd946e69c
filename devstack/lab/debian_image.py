# SPDX-License-Identifier: Apache-2.0

"""A Debian with cloud-init as a guest, which a lab has on request.

The lab's own guest is quicker in all; this one is what guests in a real cloud
are, so that what runs in guests can be tried there. It is built once, from
packages, and kept with the other downloads.
"""

from collections.abc import Callable
import dataclasses
import hashlib
import pathlib
import shutil
import time

from lab.guests.build_folder import answer
from lab.guests.build_folder import GuestImageError
from lab.guests.build_folder import Workshop
from lab.guests.debian import archive
from lab.guests.debian import system
from lab.guests.minimal import image
from lab.host import commands
from lab.host import packages
from lab import layout
from lab.openstack import access
from lab.processes import supervisord

_PACKAGES = ('mmdebstrap',)
# Packages of the host whose version shows in the image.
_HOST_INGREDIENTS = (
    'e2fsprogs',
    'extlinux',
    'mmdebstrap',
    'syslinux-common',
)
# The unpacked system, its disk image, and the copy that is kept.
_FREE_GIB = 3

Say = Callable[[str], None]


class DebianImageError(Exception):
    """The image cannot be had as things are."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inputs:
    """All that decides the image's contents.

    :ivar packages: {package in the guest: its version}.
    :ivar host: {package of the host that has a part in it: its version}.
    :ivar recipe_sha256: of the files that say how it is built.
    """

    packages: dict[str, str]
    host: dict[str, str]
    recipe_sha256: str


def have(lab: layout.Layout, say: Say = print) -> None:
    """Have image and flavor ``cinder-tiers-debian`` in a lab that runs.

    :param say: takes each line for the user.
    :raises DebianImageError: the lab does not run, or the disk is full.
    :raises GuestImageError: apt has no list of Debian's.
    :raises lab.host.commands.CommandFailed: a tool is missing or failed.
    """
    if not supervisord.Supervisor(lab).is_up():
        raise DebianImageError(
            f'{lab.root}: nothing runs; start it with devstack/lab.sh up'
        )
    started = time.monotonic()
    packages.install_debian_packages(lab.log / 'apt.log', _PACKAGES)
    remark = _build(lab)
    say(f'image      {time.monotonic() - started:6.1f} s  {remark}')
    started = time.monotonic()
    commands.run(
        [lab.python, '-m', 'lab.openstack.cloud', 'debian-image'],
        log=lab.log / 'cloud-debian-image.log',
        environment=access.environment(lab),
    )
    say(f'in Glance  {time.monotonic() - started:6.1f} s  cinder-tiers-debian')


def _build(lab: layout.Layout) -> str:
    arguments = {
        'work_directory': lab.cache / 'debian-work',
        'output': lab.debian_image,
        'log': lab.log / 'debian-image.log',
    }
    try:
        return build(**arguments)
    except (GuestImageError, commands.CommandFailed):
        # What apt knows may be missing, or older than what the archive has.
        packages.update_package_lists(lab.log / 'apt.log')
        return build(**arguments)


def build(
    *,
    work_directory: pathlib.Path,
    output: pathlib.Path,
    log: pathlib.Path,
) -> str:
    """Build the image, unless the output is that image already.

    :param work_directory: for this program alone; its folder ``build`` is
        emptied first.
    :param output: the raw disk image; beside it ``<output>.stamp`` says what
        it was made from. Replaced when all is done, never half written.
    :param log: file that gets what the tools print; begun anew by a build.
    :returns: a remark: what was done.
    :raises DebianImageError: not enough free disk.
    :raises GuestImageError: apt has no list of Debian's.
    :raises lab.host.commands.CommandFailed: a tool is missing or failed.
    """
    inputs = gather_inputs()
    if image.is_current(output, inputs):
        return 'up to date'
    directory = work_directory / 'build'
    if directory.exists():
        shutil.rmtree(directory)
    directory.mkdir(parents=True)
    free_gib = shutil.disk_usage(directory).free / 2**30
    if free_gib < _FREE_GIB:
        raise DebianImageError(
            f'{free_gib:.1f} GiB are free below {work_directory}, expected '
            f'at least {_FREE_GIB} GiB to build the Debian image; free some'
        )
    log.unlink(missing_ok=True)
    release, sources = archive.sources()
    disk_image = system.build(
        release, sources, Workshop(directory=directory, log=log)
    )
    image.publish(disk_image, output, inputs)
    shutil.rmtree(directory)
    return f'built with {len(inputs.packages)} packages of {release}'


def gather_inputs() -> Inputs:
    """Find out what the image would be made from, without the network.

    :raises lab.host.commands.CommandFailed: apt or dpkg does not know a
        package.
    """
    return Inputs(
        packages=archive.packages(),
        host={
            name: answer('dpkg-query', '-f', '${Version}', '-W', name)
            for name in _HOST_INGREDIENTS
        },
        recipe_sha256=recipe_sha256(),
    )


def recipe_sha256() -> str:
    """Digest of the files that say how the image is built."""
    digest = hashlib.sha256()
    parts = system.ROOTFS.parent
    files = [pathlib.Path(system.disk.__file__), *parts.glob('**/*')]
    for file in sorted(
        file for file in files if file.suffix != '.pyc' and file.is_file()
    ):
        digest.update(f'{file.name}\0{file.stat().st_size}\0'.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()
