# SPDX-License-Identifier: Apache-2.0

"""The lab's guest: a tiny Linux that boots in seconds and has fio.

Under emulation (see accelerator.py) a distribution's cloud image takes a
minute to run its user data, this one takes seconds, in 128 MiB of memory.
It runs the user data of its config drive, a script that begins with ``#!``,
with the serial console as output. If it has a network card, it asks for an
address by DHCP, takes user data from the metadata service too, and lets root
in by SSH with the key pair of its server. Knows nothing of the lab around it;
this folder has the parts.
"""

import dataclasses
import os
import pathlib
import shutil

from lab.guests import build_folder
from lab.guests import disk
from lab.guests import image_file
from lab.guests.minimal import debian_packages
from lab.guests.minimal import fio
from lab.guests.minimal import host_programs
from lab.guests.minimal import initramfs

#: A folder with fio's unpacked source, for a fio that the archive has not.
FIO_SOURCE_VARIABLE = 'CINDER_TIERS_LAB_FIO_SOURCE'

# Packages of the host whose version shows in the image.
_HOST_INGREDIENTS = ('extlinux', 'gcc', 'libc6-dev', 'syslinux-common')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inputs:
    """All that decides the image's contents.

    :param kernel: the kernel's package.
    :param busybox: the package of the static busybox.
    :param libaio: the package of libaio's static library.
    :param fio: fio's source package, or the folder that was given.
    :param host: {package of the host that has a part in it: its version}.
    :param host_files: {file of the host that is copied: its SHA-256}.
    :param recipe_sha256: of this program's own files, the guest's scripts
        among them.
    """

    kernel: debian_packages.Package
    busybox: debian_packages.Package
    libaio: debian_packages.Package
    fio: debian_packages.Package
    host: dict[str, str]
    host_files: dict[str, str]
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
    :raises lab.guests.build_folder.GuestImageError: not root, or what Debian
        has does not fit.
    :raises lab.host.commands.CommandFailed: a tool is missing or failed.
    """
    if image_file.is_untouched(output, recipe_sha256()):
        return 'up to date'
    inputs = gather_inputs()
    if image_file.is_current(output, inputs):
        image_file.mark_as_judged(output)
        return 'up to date'
    if os.geteuid() != 0:
        raise build_folder.GuestImageError(
            'building the guest image mounts its boot partition: run as root'
        )
    image_file.build(
        lambda folder: _build(inputs, folder),
        inputs,
        work_directory=work_directory,
        output=output,
        log=log,
    )
    return f'built with {inputs.kernel.name}, fio {inputs.fio.version}'


def gather_inputs() -> Inputs:
    """Find out what the image would be made from, without the network.

    :raises GuestImageError: apt does not know a package, or the host misses
        a library.
    :raises lab.host.commands.CommandFailed: dpkg does not know a package, or
        the host has no mke2fs or dropbear.
    """
    return Inputs(
        kernel=debian_packages.find_dependency(
            'linux-image-cloud-amd64', r'linux-image-\d\S*-cloud-amd64'
        ),
        busybox=debian_packages.find('busybox-static'),
        libaio=debian_packages.find('libaio-dev'),
        fio=_fio_source(),
        host=image_file.host_versions(_HOST_INGREDIENTS),
        host_files=host_programs.digests(*initramfs.HOST_PROGRAMS),
        recipe_sha256=recipe_sha256(),
    )


def _build(inputs: Inputs, folder: build_folder.BuildFolder) -> pathlib.Path:
    kernel, busybox, libaio = (
        debian_packages.unpack(package, folder=folder)
        for package in (inputs.kernel, inputs.busybox, inputs.libaio)
    )
    if given := os.environ.get(FIO_SOURCE_VARIABLE):
        source = folder.path / 'fio-source'
        shutil.copytree(given, source)
    else:
        source = debian_packages.unpack_source(
            inputs.fio, binary='fio', folder=folder
        )
    archive = initramfs.build(
        kernel=kernel,
        busybox=busybox / 'bin/busybox',
        fio=fio.build(source, libaio=libaio, folder=folder),
        folder=folder,
    )
    (vmlinuz,) = (kernel / 'boot').glob('vmlinuz-*')
    return disk.build(kernel=vmlinuz, initramfs=archive, folder=folder)


def _fio_source() -> debian_packages.Package:
    given = os.environ.get(FIO_SOURCE_VARIABLE)
    if not given:
        return debian_packages.find_source('fio')
    source = pathlib.Path(given)
    if not (source / 'configure').is_file():
        raise build_folder.GuestImageError(
            f'{FIO_SOURCE_VARIABLE} is {given}, which has no file '
            f'"configure"; expected the folder of an unpacked fio source'
        )
    return debian_packages.Package(
        name='fio',
        version=source.name,
        sha256=image_file.recipe_sha256(source),
    )


def recipe_sha256() -> str:
    """Digest of the files that say how the image is built."""
    return image_file.recipe_sha256(
        initramfs.ROOTFS.parent, pathlib.Path(disk.__file__)
    )
