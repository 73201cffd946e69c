# SPDX-License-Identifier: Apache-2.0
"""Looks whether this machine can carry the lab, before anything is changed.

Gathers facts, then judges them without touching the machine; every problem is
reported at once.
"""

from collections.abc import Mapping
import dataclasses
import os
import pathlib
import shutil
import socket
import sys

from lab import layout

MEMORY_NEEDED_GIB = 8
#: Of a lab that has nothing but Ceph.
CEPH_MEMORY_NEEDED_GIB = 3
DISK_NEEDED_GIB = 20
#: ID and VERSION_CODENAME of os-release(5); a testing release has no number.
DISTRIBUTIONS = (('debian', 'bookworm'), ('debian', 'trixie'))
#: Of a lab that has nothing but Ceph: Ceph 16, 18 and 20.
CEPH_DISTRIBUTIONS = (*DISTRIBUTIONS, ('debian', 'forky'))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Machine:
    """What the judgement needs to know of a machine.

    :param user_id: numeric id of the user that runs the lab; 0 is root.
    :param distribution: (ID, VERSION_CODENAME) of os-release(5).
    :param available_memory_gib: MemAvailable of proc(5).
    :param free_disk_gib: free space below the lab's folder.
    :param busy_ports: service name -> port that another program listens on.
    :param throttle: the blkio or io controller that holds disks to a speed;
        None if the machine has none.
    """

    user_id: int
    distribution: tuple[str, str]
    available_memory_gib: float
    free_disk_gib: float
    busy_ports: Mapping[str, int]
    throttle: str | None


class UnsuitableMachineError(Exception):
    """The machine cannot carry the lab; the message lists why."""


def find_problems(
    machine: Machine,
    *,
    root: pathlib.Path,
    lab_exists: bool,
    ceph_only: bool = False,
) -> list[str]:
    """Return every reason why the lab cannot be started; empty if none.

    :param lab_exists: a lab lives in ``root`` already, so its disk is made
        and its own processes may hold memory.
    :param ceph_only: nothing but Ceph is to be started.
    """
    found = []
    needed_gib = CEPH_MEMORY_NEEDED_GIB if ceph_only else MEMORY_NEEDED_GIB
    if machine.user_id != 0:
        found.append(
            f'user id is {machine.user_id}, expected 0: the lab '
            'makes loop devices and cgroups. Run it as root.'
        )
    usable = CEPH_DISTRIBUTIONS if ceph_only else DISTRIBUTIONS
    if machine.distribution not in usable:
        found.append(
            f'this is {" ".join(machine.distribution).strip() or "unknown"}, '
            f'expected {" or ".join(map(" ".join, usable))}: package names '
            'and versions are those of that release. Use such a machine or a '
            'container.'
        )
    if not lab_exists:
        if machine.available_memory_gib < needed_gib:
            found.append(
                f'{machine.available_memory_gib:.1f} GiB of memory are '
                f'available, expected at least {needed_gib} GiB. '
                'Stop other work or use a larger machine.'
            )
        if machine.free_disk_gib < DISK_NEEDED_GIB:
            found.append(
                f'{machine.free_disk_gib:.1f} GiB are free below {root}, '
                f'expected at least {DISK_NEEDED_GIB} GiB. Free some or set '
                f'{layout.ROOT_VARIABLE} to a folder on another disk.'
            )
    for service, port in sorted(machine.busy_ports.items()):
        found.append(
            f'port {port} of {service} is taken by another program '
            f"(see: ss -ltnp 'sport = :{port}'). Stop it, or set "
            f'{layout.PORT_OFFSET_VARIABLE}=1000 before the first start.'
        )
    if machine.throttle is None:
        found.append(
            'neither a blkio cgroup (v1) nor the io controller (v2) is '
            'mounted below /sys/fs/cgroup: the hdd tier could not be held '
            "to a disk's speed. Mount one."
        )
    return found


def observe(
    layout_ports: Mapping[str, int],
    root: pathlib.Path,
    os_release: pathlib.Path = pathlib.Path('/etc/os-release'),
    meminfo: pathlib.Path = pathlib.Path('/proc/meminfo'),
    cgroups: pathlib.Path = pathlib.Path('/sys/fs/cgroup'),
) -> Machine:
    """Read the facts; changes nothing.

    :param layout_ports: ports to try, by service; leave out those that the
        lab itself holds.
    """
    return Machine(
        user_id=os.geteuid(),
        distribution=_distribution(os_release),
        available_memory_gib=_available_gib(meminfo),
        free_disk_gib=_free_gib(root),
        busy_ports={
            service: port
            for service, port in layout_ports.items()
            if _is_taken(port)
        },
        throttle=_throttle(cgroups),
    )


def check(
    machine: Machine,
    *,
    root: pathlib.Path,
    lab_exists: bool,
    ceph_only: bool = False,
) -> None:
    """Check that a machine can carry the lab; see :func:`find_problems`.

    :raises UnsuitableMachineError: it cannot carry the lab; nothing was
        changed.
    """
    found = find_problems(
        machine, root=root, lab_exists=lab_exists, ceph_only=ceph_only
    )
    if found:
        raise UnsuitableMachineError(
            'this machine cannot carry the lab; nothing was '
            'changed:\n' + '\n'.join(f'  * {line}' for line in found)
        )


def main() -> int:
    """Check this machine for a new lab; return the exit status."""
    root = layout.chosen_root()
    try:
        offset = layout.port_offset()
        ports = {name: port + offset for name, port in layout.PORTS.items()}
        exists = layout.load(root) is not None
        check(
            observe({} if exists else ports, root),
            root=root,
            lab_exists=exists,
        )
    except (UnsuitableMachineError, layout.LayoutError) as problem:
        print(f'lab.sh: {problem}', file=sys.stderr)
        return 1
    return 0


def _distribution(os_release: pathlib.Path) -> tuple[str, str]:
    try:
        lines = os_release.read_text().splitlines()
    except FileNotFoundError:
        return '', ''
    values = dict(line.split('=', 1) for line in lines if '=' in line)
    return (
        values.get('ID', '').strip('"'),
        values.get('VERSION_CODENAME', values.get('VERSION_ID', '')).strip(
            '"'
        ),
    )


def _available_gib(meminfo: pathlib.Path) -> float:
    for line in meminfo.read_text().splitlines():
        if line.startswith('MemAvailable:'):
            return int(line.split()[1]) / 2**20  # the file counts in KiB
    raise UnsuitableMachineError(f'{meminfo}: no MemAvailable line')


def _free_gib(root: pathlib.Path) -> float:
    existing = root
    while not existing.exists():
        existing = existing.parent
    return shutil.disk_usage(existing).free / 2**30


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        # As servers do: a connection in TIME_WAIT does not hold a port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(('127.0.0.1', port))
        except OSError:
            return True
    return False


def _throttle(cgroups: pathlib.Path) -> str | None:
    if (cgroups / 'blkio' / 'blkio.throttle.write_iops_device').exists():
        return 'blkio'
    controllers = cgroups / 'cgroup.controllers'
    if controllers.exists() and 'io' in controllers.read_text().split():
        return 'io'
    return None


if __name__ == '__main__':
    sys.exit(main())
