# SPDX-License-Identifier: Apache-2.0

"""Permission to measure a disk raw, and a hold on it meanwhile.

Writing to the wrong disk destroys its content.  So a disk is written to only
if the admin's file allows overwriting this very device, and even then not if
the disk has content or is in use.
"""

from collections.abc import Iterator
import contextlib
from dataclasses import dataclass
import errno
import os
import pathlib
import stat

from cinder_tiers.domain import record
from cinder_tiers.figures.layers import host_file
from rally_scenarios.plugins.layers import process

_SYSFS = pathlib.Path('/sys/dev/block')
_MOUNTS = pathlib.Path('/proc/self/mountinfo')
_SWAPS = pathlib.Path('/proc/swaps')
# ceph src/os/bluestore/BlueStore.cc, the beginning of a label; for a wipefs
# that does not know it.
_BLUESTORE = b'bluestore block device'


@dataclass(frozen=True, kw_only=True)
class DeviceFacts:
    """Facts on a device."""

    #: its size
    size_bytes: int
    #: names of its partitions
    partitions: tuple[str, ...] = ()
    #: names of devices that are made of it, such as LVM's
    holders: tuple[str, ...] = ()
    #: where it is mounted
    mounted_at: tuple[str, ...] = ()
    #: whether it is used as swap
    is_swap: bool = False
    #: kinds of what is on it, such as gpt, LVM2_member, xfs
    signatures: tuple[str, ...] = ()


def reasons_against_writing(facts: DeviceFacts) -> list[str]:
    """Explain why a device must not be overwritten, despite any permission."""
    return [
        reason
        for found, reason in (
            (
                facts.partitions,
                f'has partitions: {", ".join(facts.partitions)}',
            ),
            (facts.holders, f'is part of {", ".join(facts.holders)}'),
            (facts.mounted_at, f'is mounted at {", ".join(facts.mounted_at)}'),
            (facts.is_swap, 'is used as swap'),
            (facts.signatures, f'holds data: {", ".join(facts.signatures)}'),
        )
        if found
    ]


def _number(device: str) -> str:
    """``major:minor`` of a block device.

    :raises process.LayerError: it is none, or is not there
    """
    try:
        status = os.stat(device)
    except OSError as error:
        raise process.LayerError(
            f'{device}: {error.strerror}; expected a block device; correct'
            f" 'device' in the host file"
        ) from error
    if not stat.S_ISBLK(status.st_mode):
        raise process.LayerError(
            f"{device} is not a block device; fix 'device' in the host file"
        )
    return f'{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}'


def _signatures(device: str) -> tuple[str, ...]:
    text = process.run(
        ['wipefs', '--no-act', '--json', device], timeout_seconds=60
    )
    try:
        found = (
            {str(each['type']) for each in record.parsed(text)['signatures']}
            if text.strip()
            else set()
        )
    except (ValueError, KeyError, TypeError) as error:
        raise process.LayerError(
            f'wipefs {device}: found {text[:80]!r}, expected a list of'
            f' signatures in JSON'
        ) from error
    with open(device, 'rb') as opened:
        if opened.read(len(_BLUESTORE)) == _BLUESTORE:
            found.add('ceph_bluestore')
    return tuple(sorted(found))


def observe(
    device: str,
    sysfs: pathlib.Path = _SYSFS,
    mounts: pathlib.Path = _MOUNTS,
    swaps: pathlib.Path = _SWAPS,
) -> DeviceFacts:
    """Read the facts on a device; nothing is changed.

    :param sysfs: the kernel's folder of block devices by number
    :param mounts: the kernel's list of mounts
    :param swaps: the kernel's list of swaps
    :raises process.LayerError: it is not a block device
    :raises OSError: the kernel's files cannot be read
    """
    number = _number(device)
    folder = sysfs / number
    name = folder.resolve().name
    mounted = (line.split() for line in mounts.read_text().splitlines())
    return DeviceFacts(
        size_bytes=512 * int((folder / 'size').read_text()),
        partitions=tuple(
            sorted(each.parent.name for each in folder.glob('*/partition'))
        ),
        holders=tuple(
            sorted(each.name for each in (folder / 'holders').glob('*'))
        ),
        mounted_at=tuple(words[4] for words in mounted if words[2] == number),
        is_swap=any(
            os.path.basename(line.split()[0]) == name
            for line in swaps.read_text().splitlines()[1:]
        ),
        signatures=_signatures(device),
    )


def check_readable(disk: host_file.RawDisk, region_bytes: int) -> None:
    """Check that a disk can be measured by reading.

    :param region_bytes: bytes of it that are used
    :raises process.LayerError: it cannot be read, or is too small
    """
    number = _number(disk.device)
    try:
        with open(disk.device, 'rb'):
            size = 512 * int((_SYSFS / number / 'size').read_text())
    except OSError as error:
        raise process.LayerError(
            f'{disk.device}: {error.strerror}; to measure it, run Rally as a'
            f' user who may read it'
        ) from error
    if size < region_bytes:
        raise process.LayerError(
            f'{disk.device}: has {size} bytes, expected at least'
            f' {region_bytes}; lower region_mib'
        )
    if disk.cgroup and not pathlib.Path(disk.cgroup, 'cgroup.procs').exists():
        raise process.LayerError(
            f"{disk.cgroup} is not a cgroup; fix 'cgroup' in the host file"
        )


@contextlib.contextmanager
def claimed(disk: host_file.RawDisk) -> Iterator[None]:
    """Hold a disk that is overwritten: meanwhile it cannot be mounted.

    :raises process.LayerError: it must not be overwritten; says why
    """
    if not disk.may_be_overwritten:
        raise process.LayerError(
            f'{disk.device}: the host file does not have '
            "'may_be_overwritten: true' for it"
        )
    try:
        # open(2): of a block device, exclusive means not used by the system.
        held = os.open(disk.device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        found = 'is in use' if error.errno == errno.EBUSY else error.strerror
        raise process.LayerError(
            f'{disk.device}: {found}; it is not overwritten'
        ) from error
    try:
        reasons = reasons_against_writing(observe(disk.device))
        if reasons:
            raise process.LayerError(
                f'{disk.device}: {"; ".join(reasons)}; it is not overwritten.'
                f' Name another device in the host file, or clean this one'
                f' yourself'
            )
        yield
    finally:
        os.close(held)
