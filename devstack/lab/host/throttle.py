# SPDX-License-Identifier: Apache-2.0
"""Limits block devices to the speed of a disk, for one cgroup.

The limits live in a cgroup of the lab's own and bind only the processes that
join it, so they vanish with the cgroup and affect nothing else, even where a
device number is used again later. Formats: Documentation/admin-guide/
cgroup-v1/blkio-controller.rst and cgroup-v2.rst ("io.max") of Linux.
"""

import dataclasses
import hashlib
import os
import pathlib
import time
from collections.abc import Mapping, Set

CGROUPS = pathlib.Path('/sys/fs/cgroup')
#: Files of a cgroup that hold limits, a line for each device.
V1_FILES = tuple(
    f'blkio.throttle.{direction}_{unit}_device'
    for direction in ('read', 'write')
    for unit in ('iops', 'bps')
)
V2_FILES = ('io.max',)
#: Run with a cgroup and a command: joins the one, then becomes the other.
_JOIN = 'echo $$ > "$1"/cgroup.procs && shift && exec "$@"'


class ThrottleError(Exception):
    """The speed of disks cannot be limited, or the limit not be removed."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DiskSpeed:
    """What a disk does at most, in each direction.

    :param iops: requests per second; merged neighbours count as one.
    :param bytes_per_second: throughput.
    """

    iops: int
    bytes_per_second: int


class Throttle:
    """A cgroup whose members find some block devices slow.

    :param name: of the cgroup; see :func:`name_for`.
    :param cgroups: where cgroup file systems are mounted.
    """

    def __init__(self, name: str, cgroups: pathlib.Path = CGROUPS) -> None:
        self._name = name
        self._cgroups = cgroups

    def apply(self, speeds: Mapping[str, DiskSpeed]) -> None:
        """Make the cgroup if needed; have exactly these limits in it.

        :param speeds: device (``major:minor``) -> its speed.
        :raises ThrottleError: no controller, or the kernel refuses a limit.
        """
        self._set(speeds, keep_others=False)

    def add(self, speeds: Mapping[str, DiskSpeed]) -> None:
        """Set limits as :meth:`apply` does; keep those of other devices."""
        self._set(speeds, keep_others=True)

    def _set(self, speeds: Mapping[str, DiskSpeed], keep_others: bool) -> None:
        folder = self.folder()
        try:
            if self._is_v1():
                files, changes = V1_FILES, changes_v1
            else:
                files, changes = V2_FILES, changes_v2
                # A child has io.max only if its parent hands it down.
                _write(self._cgroups / 'cgroup.subtree_control', '+io')
            folder.mkdir(exist_ok=True)
            current = {
                name: set() if keep_others else _devices(folder / name)
                for name in files
            }
            for name, line in changes(current, speeds):
                _write(folder / name, line)
        except OSError as problem:
            raise ThrottleError(
                f'{problem.filename or folder}: {problem.strerror}; expected '
                f'to set limits for the devices {sorted(speeds)}. Is the '
                'cgroup file system writable for root here?'
            ) from None

    def remove(self, timeout_seconds: float = 10) -> None:
        """Remove the cgroup and its limits, if there.

        :raises ThrottleError: processes are still in it.
        """
        try:
            folder = self.folder()
        except ThrottleError:
            return  # no controller, so no cgroup was ever made
        deadline = time.monotonic() + timeout_seconds
        while folder.exists():
            try:
                folder.rmdir()
            except OSError as problem:
                if time.monotonic() > deadline:
                    members = (folder / 'cgroup.procs').read_text().split()
                    raise ThrottleError(
                        f'{folder}: {problem.strerror}; processes in it: '
                        f'{" ".join(members) or "none"}. End them and try '
                        'again.'
                    ) from None
                time.sleep(0.1)  # the kernel lets go of ended processes late

    def wrap(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Return a command that joins the cgroup and becomes ``argv``.

        :raises ThrottleError: no controller.
        """
        return ('/bin/sh', '-c', _JOIN, 'sh', str(self.folder()), *argv)

    def folder(self) -> pathlib.Path:
        """Return the cgroup's folder, whether it exists or not.

        :raises ThrottleError: no controller.
        """
        if self._is_v1():
            return self._cgroups / 'blkio' / self._name
        controllers = self._cgroups / 'cgroup.controllers'
        if controllers.exists() and 'io' in controllers.read_text().split():
            return self._cgroups / self._name
        raise ThrottleError(
            f'found neither {self._cgroups}/blkio/blkio.throttle.* (cgroup '
            f'v1) nor io in {controllers} (v2); expected one to hold disks '
            'to a speed. Mount it, or enable CONFIG_BLK_DEV_THROTTLING.'
        )

    def _is_v1(self) -> bool:
        return (
            self._cgroups / 'blkio' / 'blkio.throttle.write_iops_device'
        ).exists()


def changes_v1(
    current: Mapping[str, Set[str]], speeds: Mapping[str, DiskSpeed]
) -> list[tuple[str, str]]:
    """Return what to write so that exactly the given limits hold, in v1.

    :param current: name of a limit file -> devices that it has a line for.
    :param speeds: device (``major:minor``) -> its speed.
    :returns: (name of a limit file, line to write), in order.
    """
    lines = []
    for name in V1_FILES:
        lines += [
            (name, f'{device} 0')  # 0 means no limit
            for device in sorted(current[name] - speeds.keys())
        ]
        lines += [
            (
                name,
                f'{device} '
                + str(
                    speed.iops if '_iops_' in name else speed.bytes_per_second
                ),
            )
            for device, speed in speeds.items()
        ]
    return lines


def changes_v2(
    current: Mapping[str, Set[str]], speeds: Mapping[str, DiskSpeed]
) -> list[tuple[str, str]]:
    """Return the same as :func:`changes_v1`, for cgroup v2."""
    (name,) = V2_FILES
    return [
        *(
            (name, f'{device} rbps=max wbps=max riops=max wiops=max')
            for device in sorted(current[name] - speeds.keys())
        ),
        *(
            (
                name,
                f'{device} rbps={speed.bytes_per_second} '
                f'wbps={speed.bytes_per_second} riops={speed.iops} '
                f'wiops={speed.iops}',
            )
            for device, speed in speeds.items()
        ),
    ]


def name_for(root: pathlib.Path) -> str:
    """Return the name of a lab's cgroup: one for each folder of a lab."""
    digest = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()
    return f'cinder-tiers-lab-{digest[:12]}'


def _devices(file: pathlib.Path) -> set[str]:
    """Return the ``major:minor`` of all lines in a cgroup's limit file."""
    return {
        line.split()[0]
        for line in file.read_text().splitlines()
        if line.strip()
    }


def _write(file: pathlib.Path, line: str) -> None:
    # One write(2) for each line: the kernel takes one limit at a time.
    descriptor = os.open(file, os.O_WRONLY)
    try:
        os.write(descriptor, f'{line}\n'.encode())
    finally:
        os.close(descriptor)
