# SPDX-License-Identifier: Apache-2.0

"""The lab's guest: a tiny Linux that boots in seconds and has fio.

Under emulation (see accelerator.py) a distribution's cloud image takes a
minute to run its user data, this one takes seconds, in 128 MiB of memory.
It runs the user data of its config drive, a script that begins with ``#!``,
with the serial console as output, and nothing else. Knows nothing of the lab
around it; this folder has the parts.
"""

from collections.abc import Iterable
import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
from typing import Any

from lab.guests import build_folder
from lab.guests.build_folder import answer
from lab.guests.build_folder import GuestImageError
from lab.guests.build_folder import Workshop
from lab.guests import disk
from lab.guests.minimal import debian_packages
from lab.guests.minimal import fio
from lab.guests.minimal import initramfs

# What a package or the knowledge of one cannot change without.
PACKAGE_STATE = (
    pathlib.Path('/var/lib/apt/lists'),
    pathlib.Path('/var/lib/dpkg/status'),
)
# Packages of the host whose version shows in the image.
_HOST_INGREDIENTS = ('extlinux', 'gcc', 'libc6-dev', 'syslinux-common')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inputs:
    """All that decides the image's contents.

    :ivar kernel: the kernel's package.
    :ivar busybox: the package of the static busybox.
    :ivar libaio: the package of libaio's static library.
    :ivar fio: fio's source package.
    :ivar host: {package of the host that has a part in it: its version}.
    :ivar recipe_sha256: of this program's own files, the guest's scripts
        among them.
    """

    kernel: debian_packages.Package
    busybox: debian_packages.Package
    libaio: debian_packages.Package
    fio: debian_packages.Package
    host: dict[str, str]
    recipe_sha256: str


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
    :raises GuestImageError: not root, or what Debian has does not fit.
    :raises lab.host.commands.CommandFailed: a tool is missing or failed.
    """
    if is_untouched(output):
        return 'up to date'
    inputs = gather_inputs()
    if is_current(output, inputs):
        _stamp_file(output).touch()
        return 'up to date'
    if os.geteuid() != 0:
        raise GuestImageError(
            'building the guest image mounts its boot partition: run as root'
        )
    directory = work_directory / 'build'
    if directory.exists():
        shutil.rmtree(directory)
    directory.mkdir(parents=True)
    log.unlink(missing_ok=True)
    image = _build(inputs, Workshop(directory=directory, log=log))
    publish(image, output, inputs)
    shutil.rmtree(directory)
    return f'built with {inputs.kernel.name}, fio {inputs.fio.version}'


def gather_inputs() -> Inputs:
    """Find out what the image would be made from, without the network.

    :raises GuestImageError: apt does not know a package.
    :raises lab.host.commands.CommandFailed: dpkg does not know a package.
    """
    return Inputs(
        kernel=debian_packages.find_dependency(
            'linux-image-cloud-amd64', r'linux-image-\d\S*-cloud-amd64'
        ),
        busybox=debian_packages.find('busybox-static'),
        libaio=debian_packages.find('libaio-dev'),
        fio=debian_packages.find_source('fio'),
        host={
            name: answer('dpkg-query', '-f', '${Version}', '-W', name)
            for name in _HOST_INGREDIENTS
        },
        recipe_sha256=recipe_sha256(),
    )


def is_current(output: pathlib.Path, inputs: Any) -> bool:
    """Whether the output is an intact image made from these inputs.

    :param output: the raw disk image, with its stamp beside it.
    :param inputs: what it should have been made from, a data class.
    """
    try:
        stamp = _stamp_file(output).read_text(encoding='utf-8')
        return stamp == _stamp(output, inputs)
    except FileNotFoundError:
        return False


def is_untouched(
    output: pathlib.Path,
    package_state: Iterable[pathlib.Path] = PACKAGE_STATE,
) -> bool:
    """Whether nothing can have changed since the output was last judged.

    Quick: asking apt for all inputs takes seconds of a small machine.

    :param output: the raw disk image, with its stamp beside it.
    :param package_state: paths that are newer when packages have changed.
    """
    stamp = _stamp_file(output)
    try:
        judged = stamp.stat().st_mtime
        known = json.loads(stamp.read_text(encoding='utf-8'))
        return (
            known['image_sha256'] == _image_sha256(output)
            and known['inputs']['recipe_sha256'] == recipe_sha256()
            and all(path.stat().st_mtime < judged for path in package_state)
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return False  # no stamp, or half of one


def _build(inputs: Inputs, workshop: Workshop) -> pathlib.Path:
    kernel, busybox, libaio = (
        debian_packages.unpack(package, workshop=workshop)
        for package in (inputs.kernel, inputs.busybox, inputs.libaio)
    )
    source = debian_packages.unpack_source(
        inputs.fio, binary='fio', workshop=workshop
    )
    archive = initramfs.build(
        kernel=kernel,
        busybox=busybox / 'bin/busybox',
        fio=fio.build(source, libaio=libaio, workshop=workshop),
        workshop=workshop,
    )
    (vmlinuz,) = (kernel / 'boot').glob('vmlinuz-*')
    return disk.build(kernel=vmlinuz, initramfs=archive, workshop=workshop)


def publish(image: pathlib.Path, output: pathlib.Path, inputs: Any) -> None:
    """Copy the image to the output and write its stamp.

    An interruption leaves an output that :func:`is_current` refuses.

    :param image: the image that was built.
    :param output: where users look for it.
    :param inputs: what the image was made from, a data class.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    stamp = _stamp_file(output)
    stamp.unlink(missing_ok=True)
    # The output may lie on another file system than the work directory.
    partial = output.with_name(f'{output.name}.partial')
    shutil.copyfile(image, partial)
    partial.rename(output)
    stamp.write_text(_stamp(output, inputs), encoding='utf-8')


def _stamp(output: pathlib.Path, inputs: Any) -> str:
    stamp = {
        'image_sha256': _image_sha256(output),
        'inputs': dataclasses.asdict(inputs),
    }
    return json.dumps(stamp, indent=2, sort_keys=True) + '\n'


def _image_sha256(output: pathlib.Path) -> str:
    with output.open('rb') as image:
        return hashlib.file_digest(image, 'sha256').hexdigest()


def _stamp_file(output: pathlib.Path) -> pathlib.Path:
    return output.with_name(f'{output.name}.stamp')


def recipe_sha256() -> str:
    """Digest of the files that say how the image is built."""
    digest = hashlib.sha256()
    parts = initramfs.ROOTFS.parent
    files = [
        pathlib.Path(build_folder.__file__),
        pathlib.Path(disk.__file__),
        *parts.glob('*.py'),
        *initramfs.ROOTFS.glob('**/*'),
    ]
    for file in sorted(file for file in files if file.is_file()):
        digest.update(f'{file.name}\0{file.stat().st_size}\0'.encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()
