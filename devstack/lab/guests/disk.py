# SPDX-License-Identifier: Apache-2.0

"""The guest's disk: MBR, a boot partition, and scratch space.

Partition 1 holds boot loader, kernel and initramfs. Partition 2 begins where
the image ends and claims all that an MBR can describe (2 TiB): Linux cuts a
partition off at the end of its disk (block/partitions/core.c, "extends beyond
EOD"), so it is as large as the volume allows, without any tool in the guest.
"""

import pathlib
import struct

from lab.guests import build_folder
from lab.host import mount_namespace

_SECTOR_BYTES = 512
_MIB_BYTES = 1024**2
#: Where partition 1 begins.
BOOT_OFFSET_BYTES = _MIB_BYTES
_FIRST_SECTOR = BOOT_OFFSET_BYTES // _SECTOR_BYTES
# Room for ext2's own structures and the boot loader's files.
_SPARE_MIB = 3
_MAX_SECTORS = 2**32 - 1

# rootfs/etc/init.d/devices looks for it; ext2 labels have up to 16 bytes.
BOOT_LABEL = 'CT-BOOT'
#: Files of partition 1.
KERNEL = 'vmlinuz'
INITRAMFS = 'initramfs'
LOADER_CONFIG = 'extlinux.conf'

# no_timer_check: the kernel panics ("IO-APIC + timer doesn't work!") if few
# ticks come while it looks at the timer, and an emulated processor that has
# to wait for a core gets too few now and then.
# cryptomgr.notests, and no crypto_kdf108_init, which is one test more: Linux
# tests its cipher algorithms at each boot, and init_kprobe_trace prepares
# traces of it. Of the 3.1 core-seconds that an emulated guest boots for, these
# took 0.5 (admin-guide/kernel-parameters.rst of Linux).
_EXTLINUX_CONFIG = f"""\
DEFAULT guest
PROMPT 0
LABEL guest
  LINUX /{KERNEL}
  INITRD /{INITRAMFS}
  APPEND console=ttyS0,115200 quiet nokaslr mitigations=off no_timer_check \
cryptomgr.notests initcall_blacklist=crypto_kdf108_init,init_kprobe_trace
"""

_MBR_CODE = pathlib.Path('/usr/lib/syslinux/mbr/mbr.bin')


def master_boot_record(
    boot_code: bytes, boot_sectors: int, *, scratch: bool = True
) -> bytes:
    """Make the first sector of the disk.

    :param boot_code: up to 440 bytes of x86 code.
    :param boot_sectors: size of partition 1 in sectors of 512 bytes.
    :param scratch: whether partition 2 claims the rest of the disk.
    :returns: 512 bytes.
    :raises ValueError: the code has more than 440 bytes.
    """
    if len(boot_code) > 440:
        raise ValueError(
            f'MBR boot code has {len(boot_code)} bytes, at most 440 fit'
        )
    scratch_sector = _FIRST_SECTOR + boot_sectors
    return b''.join(
        (
            boot_code.ljust(446, b'\0'),
            # 0x83: Linux. 0xda: data that is not a file system.
            _partition(0x80, 0x83, _FIRST_SECTOR, boot_sectors),
            _partition(0, 0xDA, scratch_sector, _MAX_SECTORS - scratch_sector)
            if scratch
            else bytes(16),
            bytes(32),
            b'\x55\xaa',
        )
    )


def build(
    *,
    kernel: pathlib.Path,
    initramfs: pathlib.Path,
    folder: build_folder.BuildFolder,
) -> pathlib.Path:
    """Make the raw disk image; needs root, to mount its boot partition.

    :param kernel: bzImage.
    :param initramfs: the root file system.
    :returns: the image.
    :raises lab.host.commands.CommandFailed: a tool failed.
    :raises ValueError: the boot loader's MBR code is too large.
    """
    files = folder.path / 'boot'
    files.mkdir()
    kernel.rename(files / KERNEL)
    initramfs.rename(files / INITRAMFS)
    (files / LOADER_CONFIG).write_text(_EXTLINUX_CONFIG, encoding='ascii')
    content_bytes = sum(file.stat().st_size for file in files.iterdir())
    boot_bytes = (content_bytes // _MIB_BYTES + _SPARE_MIB) * _MIB_BYTES
    image = folder.path / 'guest.raw'
    partition(image, boot_bytes)
    folder.run(
        'mke2fs',
        '-q',
        '-t',
        'ext2',
        '-L',
        BOOT_LABEL,
        '-m',
        '0',
        '-N',
        '32',
        '-E',
        f'offset={BOOT_OFFSET_BYTES},root_owner=0:0',
        '-d',
        files,
        image,
        f'{boot_bytes // 1024}k',
    )
    install_boot_loader(image, boot_bytes, folder)
    return image


def partition(
    image: pathlib.Path, boot_bytes: int, *, scratch: bool = True
) -> None:
    """Make an empty image with its master boot record.

    :param image: the file; partition 1 begins at 1 MiB and ends with it.
    :param boot_bytes: size of partition 1, full MiB.
    :param scratch: whether partition 2 claims what a volume has beyond it.
    """
    with image.open('wb') as disk:
        disk.write(
            master_boot_record(
                _MBR_CODE.read_bytes(),
                boot_bytes // _SECTOR_BYTES,
                scratch=scratch,
            )
        )
        disk.truncate(_MIB_BYTES + boot_bytes)


def install_boot_loader(
    image: pathlib.Path,
    boot_bytes: int,
    folder: build_folder.BuildFolder,
    file_system: str = 'ext2',
) -> None:
    """Install extlinux in partition 1; needs root, to mount it.

    :param file_system: ext2, ext3 or ext4; it has extlinux.conf at its root.
    :raises lab.host.commands.CommandFailed: a tool failed.
    """
    mounted = folder.path / 'mounted'
    mounted.mkdir()
    # In a mount namespace that ends with it: a killed build leaves no mount.
    folder.run(
        *mount_namespace.command(
            'mount -t "$4" -o "$1" "$2" "$3"; extlinux -i "$3"; umount "$3"',
            f'loop,offset={_MIB_BYTES},sizelimit={boot_bytes}',
            image,
            mounted,
            file_system,
        )
    )


def _partition(
    boot_flag: int, kind: int, first_sector: int, sectors: int
) -> bytes:
    # Cylinder, head and sector as "beyond reach": the logical sector counts.
    beyond = b'\xfe\xff\xff'
    return struct.pack(
        '<B3sB3sII', boot_flag, beyond, kind, beyond, first_sector, sectors
    )
