# SPDX-License-Identifier: Apache-2.0

"""System and CPU use of a guest, as far as it can see them.

Records of the result file.  This module must not know how guests report.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class GuestSystem:
    """System of a guest as it reported it; null if it sees no value."""

    #: as the kernel calls it
    cpu_model: str | None = None
    #: how many the guest has
    cpus: int | None = None
    #: kvm, xen, hyperv or qemu (without KVM), or else the vendor that the
    #: firmware names
    hypervisor: str | None = None
    #: its id and version
    distribution: str | None = None
    #: of the disk that fio works on: virtio-blk, virtio-scsi, nvme, ata, usb,
    #: xen or scsi
    disk_bus: str | None = None
    #: of that disk, as the guest sees it: write back or write through
    write_cache: str | None = None
    #: of that disk, in the guest
    io_scheduler: str | None = None
    #: of the guest's kernel
    clock_source: str | None = None

    @property
    def tells_steal(self) -> bool:
        """Return whether the kernel knows the time that the host took."""
        return self.hypervisor in ('kvm', 'xen')


@dataclass(frozen=True, kw_only=True)
class CpuUse:
    """Use of a guest's CPUs while fio ran."""

    #: they worked, for the guest's kernel or its processes
    busy_percent: float
    #: they had to wait, as the host gave its CPU to others; null if the guest
    #: cannot know
    steal_percent: float | None


def in_one_text(values: Iterable[str | None]) -> str | None:
    """Summarize the values that guests report for one fact.

    >>> in_one_text(["kvm", "kvm"]), in_one_text(["none", None, "bfq"])
    ('kvm', 'differs: bfq, none, and some do not say')

    :param values: value of each guest; None if it reported none
    :returns: None if no guest reported a value
    """
    values = list(values)
    found = sorted({value for value in values if value is not None})
    if not found:
        return None
    silent = ' and some do not say' if None in values else ''
    if len(found) == 1:
        return found[0] + (f',{silent}' if silent else '')
    return f'differs: {", ".join(found)}' + (f',{silent}' if silent else '')
