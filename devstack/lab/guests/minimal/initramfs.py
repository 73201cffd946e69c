# SPDX-License-Identifier: Apache-2.0

"""The guest's root file system: busybox, fio, dropbear, mke2fs, modules.

It is an initramfs, so that nothing of the guest itself reads or writes the
volume once it runs. ``rootfs/`` holds the files that are taken as they are.
"""

import gzip
import pathlib
import shutil

from lab.guests import build_folder
from lab.guests.minimal import host_programs
from lab.host import commands

# Disks and config drives as Nova attaches them (virtio-blk, virtio-scsi, IDE),
# the power button, and a network card. SATA is missing: Debian's cloud kernel
# has no ahci.
MODULES = (
    'virtio_pci',
    'virtio_blk',
    'virtio_scsi',
    'ata_piix',
    'sd_mod',
    'sr_mod',
    'isofs',
    'button',
    'evdev',
    'virtio_net',
)
# Loaded by the kernel when a user who logged in mounts such a file system.
FILE_SYSTEMS = ('ext4',)
# ext4 asks for it by the name of the algorithm, which modules.dep has not.
_CHECKSUM = 'crc32c'
#: Makes them; of the host.
MKE2FS = pathlib.Path('/sbin/mke2fs')
#: The server of SSH; of the host, too.
DROPBEAR = pathlib.Path('/usr/sbin/dropbear')
HOST_PROGRAMS = (MKE2FS, DROPBEAR)

ROOTFS = pathlib.Path(__file__).parent / 'rootfs'


def module_files(
    modules_dep: str, modules_builtin: str, names: tuple[str, ...]
) -> dict[str, list[str]]:
    """List the files of kernel modules and of all that they need.

    :param modules_dep: text of modules.dep(5); it lists indirect needs too.
    :param modules_builtin: text of modules.builtin; what the kernel of one
        release loads may be built in in the next.
    :param names: modules, with ``_``, not ``-``.
    :returns: {name of a module that is to be loaded: paths relative to the
        folder of modules.dep}, in the given order.
    :raises GuestImageError: the kernel does not have some of the modules.
    """
    needs = {}
    for line in modules_dep.splitlines():
        file, _, needed = line.partition(':')
        needs[_module_name(file)] = [file, *needed.split()]
    built_in = set(map(_module_name, modules_builtin.splitlines()))
    missing = [
        name for name in names if name not in needs and name not in built_in
    ]
    if missing:
        raise build_folder.GuestImageError(
            f'the kernel has no modules {", ".join(missing)}, which the guest '
            f'needs for its devices: see MODULES in {__file__}'
        )
    return {name: needs[name] for name in names if name in needs}


def checksum_modules(modules_dep: str) -> tuple[str, ...]:
    """Name the kernel's modules for checksums of ext4.

    :param modules_dep: text of modules.dep(5).
    :returns: none when the kernel has them built in.
    """
    names = (
        _module_name(line.partition(':')[0])
        for line in modules_dep.splitlines()
    )
    return tuple(sorted(name for name in names if name.startswith(_CHECKSUM)))


def _module_name(file: str) -> str:
    return file.rpartition('/')[2].partition('.')[0].replace('-', '_')


def build(
    *,
    kernel: pathlib.Path,
    busybox: pathlib.Path,
    fio: pathlib.Path,
    folder: build_folder.BuildFolder,
) -> pathlib.Path:
    """Make the compressed initramfs.

    The programs of HOST_PROGRAMS and what they need come from the host.

    :param kernel: folder that holds the files of a kernel package.
    :param busybox: static busybox binary.
    :param fio: static fio binary.
    :returns: the initramfs, a gzip file.
    :raises GuestImageError: the kernel does not have a module, or the host
        a library.
    :raises lab.host.commands.CommandFailed: cpio, depmod, ldd or busybox
        failed.
    """
    root = folder.path / 'root'
    shutil.copytree(ROOTFS, root)
    _add_programs(root, busybox, fio)
    _add_modules(root, kernel, folder)
    archive = folder.path / 'initramfs.cpio'
    names = sorted(str(path.relative_to(root)) for path in root.glob('**/*'))
    folder.run(
        'cpio',
        '--create',
        '--format=newc',
        '--owner=+0:+0',
        '--reproducible',
        f'--file={archive}',
        within=root,
        stdin='\n'.join(['.', *names]),
    )
    compressed = folder.path / 'initramfs'
    compressed.write_bytes(gzip.compress(archive.read_bytes(), mtime=0))
    return compressed


def _add_programs(
    root: pathlib.Path, busybox: pathlib.Path, fio: pathlib.Path
) -> None:
    for name in ('dev', 'mnt', 'proc', 'root', 'run', 'sys', 'tmp'):
        (root / name).mkdir()
    (root / 'tmp').chmod(0o1777)
    (root / 'usr').mkdir()
    (root / 'var').mkdir()
    for link, target in (
        ('sbin', 'bin'),
        ('usr/bin', '../bin'),
        ('usr/sbin', '../bin'),
        ('var/tmp', '../tmp'),
        ('var/run', '../run'),
        ('init', 'bin/busybox'),
    ):
        (root / link).symlink_to(target)
    shutil.copy(fio, root / 'bin/fio')
    shutil.copy(busybox, root / 'bin/busybox')
    # What runs in guests elsewhere asks for rights that root has.
    (root / 'bin/sudo').write_text('#!/bin/sh\nexec "$@"\n')
    (root / 'bin/sudo').chmod(0o755)
    for applet in commands.query(busybox, '--list').split():
        # rootfs/ has better ones of some names.
        if not (root / 'bin' / applet).exists():
            (root / 'bin' / applet).symlink_to('busybox')
    for program in HOST_PROGRAMS:
        host_programs.copy(program, root)
    for file_system in ('ext2', 'ext3', 'ext4'):
        link = root / 'bin' / f'mkfs.{file_system}'
        link.unlink(missing_ok=True)
        link.symlink_to(MKE2FS.name)


def _add_modules(
    root: pathlib.Path, kernel: pathlib.Path, folder: build_folder.BuildFolder
) -> None:
    (modules,) = (kernel / 'lib/modules').iterdir()
    version = modules.name
    folder.run('depmod', '-b', kernel, version)
    target = root / 'lib/modules' / version
    dependencies = (modules / 'modules.dep').read_text(encoding='utf-8')
    built_in = (modules / 'modules.builtin').read_text(encoding='utf-8')
    loaded = module_files(dependencies, built_in, MODULES)
    mounted = module_files(
        dependencies,
        built_in,
        (*FILE_SYSTEMS, *checksum_modules(dependencies)),
    )
    for file in sorted(
        {
            file
            for files in (*loaded.values(), *mounted.values())
            for file in files
        }
    ):
        (target / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(modules / file, target / file)
    for index in ('modules.order', 'modules.builtin'):
        shutil.copy(modules / index, target / index)
    folder.run('depmod', '-b', root, version)
    (root / 'etc/modules').write_text(
        ''.join(f'{name}\n' for name in loaded), encoding='utf-8'
    )
