# SPDX-License-Identifier: Apache-2.0

"""The Debian guest's disk: a plain Debian with cloud-init, made small.

What a cloud image of Debian has, but for documentation, translations and the
drivers in its initramfs; ``rootfs/`` holds the files that are changed. Timers
that would read and write during a measurement are off.
"""

from collections.abc import Sequence
import pathlib
import shlex
import shutil

from lab.guests import build_folder
from lab.guests.debian import archive
from lab.guests import disk
from lab.host import commands

ROOTFS = pathlib.Path(__file__).parent / 'rootfs'
_MIB_BYTES = 1024**2
# For ext4's own structures, logs, and the file that fio works on.
_SPARE_MIB = 256
# rootfs/ has it, too.
LABEL = 'ct-debian'
_LEFT_OUT = ('doc', 'info', 'locale', 'man')
_TIMERS_OFF = (
    'apt-daily-upgrade.timer',
    'apt-daily.timer',
    'dpkg-db-backup.timer',
    'e2scrub_all.timer',
    'fstrim.timer',
)


def build(
    release: str, sources: Sequence[str], folder: build_folder.BuildFolder
) -> pathlib.Path:
    """Make the raw disk image; needs root and the network.

    :param release: of Debian, such as ``bookworm``.
    :param sources: lines of sources.list(5).
    :returns: the image.
    :raises lab.host.commands.CommandFailed: a tool failed.
    """
    root = folder.path / 'root'
    _install(root, release, sources, folder)
    _configure(root)
    return _disk(root, folder)


def _install(
    root: pathlib.Path,
    release: str,
    sources: Sequence[str],
    folder: build_folder.BuildFolder,
) -> None:
    folder.run(
        # Whoever is killed takes all below it along, and the mounts end with
        # the last of them: no process and no mount outlives a build.
        'setpriv',
        '--pdeathsig=KILL',
        'unshare',
        '--mount',
        '--propagation=private',
        '--pid',
        '--fork',
        '--kill-child',
        'mmdebstrap',
        '--mode=root',
        '--variant=apt',
        '--format=directory',
        f'--include={",".join(archive.PACKAGES)}',
        *(f'--dpkgopt=path-exclude=/usr/share/{name}/*' for name in _LEFT_OUT),
        # Licences stay.
        '--dpkgopt=path-include=/usr/share/doc/*/copyright',
        # A build that did not end is thrown away: nothing has to be synced.
        '--dpkgopt=force-unsafe-io',
        # Before packages: the initramfs is made while they are installed.
        f'--setup-hook=cd {shlex.quote(str(ROOTFS))} && '
        'find . -type f -exec install -D -m 644 {} "$1"/{} ";"',
        release,
        root,
        *sources,
    )


def _configure(root: pathlib.Path) -> None:
    # mmdebstrap gives the system the names of its host, and an empty fstab.
    for file in ROOTFS.glob('**/*'):
        if file.is_file():
            shutil.copyfile(file, root / file.relative_to(ROOTFS))
    (root / 'etc/resolv.conf').unlink()
    # Empty: systemd takes its next boot as its first, and makes one.
    (root / 'etc/machine-id').write_text('', encoding='ascii')
    units = root / 'etc/systemd/system'
    for timer in _TIMERS_OFF:
        (units / timer).symlink_to('/dev/null')


def _disk(
    root: pathlib.Path, folder: build_folder.BuildFolder
) -> pathlib.Path:
    content_mib = int(
        commands.query('du', '--summarize', '-m', root).split()[0]
    )
    size_bytes = (content_mib + _SPARE_MIB) * _MIB_BYTES
    image = folder.path / 'debian.raw'
    disk.partition(image, size_bytes, scratch=False)
    folder.run(
        'mke2fs',
        '-q',
        '-t',
        'ext4',
        '-L',
        LABEL,
        '-m',
        '0',
        # extlinux 6.04 reads no file system with these.
        '-O',
        '^64bit,^metadata_csum',
        '-E',
        f'offset={_MIB_BYTES},root_owner=0:0',
        '-d',
        root,
        image,
        f'{size_bytes // 1024}k',
    )
    disk.install_boot_loader(image, size_bytes, folder, 'ext4')
    return image
