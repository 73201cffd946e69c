# SPDX-License-Identifier: Apache-2.0

"""What a guest is, as far as it can see, and what it did with its CPUs.

Records of the result file.  This module must not know how guests tell.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class GuestSystem:
    """What a guest says of itself; null what it could not see.

    :ivar cpu_model: as the kernel calls it
    :ivar cpus: how many the guest has
    :ivar hypervisor: kvm, xen, hyperv or qemu (without KVM), or else the
        vendor that the firmware names
    :ivar distribution: its id and version
    :ivar disk_bus: of the disk that fio works on: virtio-blk, virtio-scsi,
        nvme, ata, usb, xen or scsi
    :ivar write_cache: of that disk, as the guest was told: write back or
        write through
    :ivar io_scheduler: of that disk, in the guest
    :ivar clock_source: of the guest's kernel
    """

    cpu_model: str | None = None
    cpus: int | None = None
    hypervisor: str | None = None
    distribution: str | None = None
    disk_bus: str | None = None
    write_cache: str | None = None
    io_scheduler: str | None = None
    clock_source: str | None = None

    @property
    def tells_steal(self) -> bool:
        """Whether its kernel knows the time that the host took from it."""
        return self.hypervisor in ('kvm', 'xen')


@dataclass(frozen=True, kw_only=True)
class CpuUse:
    """What became of all CPUs of a guest while fio ran.

    :ivar busy_percent: they worked, for the guest's kernel or its processes
    :ivar steal_percent: they had to wait, as the host gave its CPU to others;
        null if the guest cannot know
    """

    busy_percent: float
    steal_percent: float | None


def in_one_text(values: Iterable[str | None]) -> str | None:
    """What some guests say of one thing.

    >>> in_one_text(["kvm", "kvm"]), in_one_text(["none", None, "bfq"])
    ('kvm', 'differs: bfq, none, and some do not say')

    :param values: of each guest; None: it does not say
    :returns: None if none of them says
    """
    values = list(values)
    found = sorted({value for value in values if value is not None})
    if not found:
        return None
    silent = ' and some do not say' if None in values else ''
    if len(found) == 1:
        return found[0] + (f',{silent}' if silent else '')
    return f'differs: {", ".join(found)}' + (f',{silent}' if silent else '')
