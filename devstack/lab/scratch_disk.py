# SPDX-License-Identifier: Apache-2.0
"""A disk that may be overwritten, as slow as those under hdd OSDs.

The speed of a raw disk can only be measured on one that may be overwritten.
This one is a small sparse file behind a loop device, held to the speed of the
disks of the OSDs in the same cgroup, which a process must join to measure it.
A file beside it describes it to the task ``layers``.
"""

import json

from lab.ceph import topology
from lab.host import loop_devices
from lab.host import throttle
from lab import layout
from lab import private_file

SIZE_MIB = 256
_FILE = 'disk'


def up(lab: layout.Layout) -> str:
    """Make the disk, its limits and the file that describes it.

    :returns: a remark: which device it is.
    :raises lab.host.throttle.ThrottleError: it cannot be held to a speed.
    :raises lab.host.commands.CommandFailed: there is no loop device for it.
    """
    file = lab.scratch / _FILE
    loop_devices.make_sparse(file, SIZE_MIB * 2**20)
    device = loop_devices.attach(file, rotational=True)
    limits = throttle.Throttle(throttle.name_for(lab.root))
    limits.add({device.number: topology.HDD_SPEED})
    # JSON is YAML; it needs no library and quotes what must be quoted.
    private_file.write(
        lab.layers_host,
        json.dumps(
            {
                'version': 1,
                'ceph': {'conf': str(lab.ceph_conf), 'user': 'admin'},
                'raw': [
                    {
                        'device_class': 'hdd',
                        'device': str(device.path),
                        'may_be_overwritten': True,
                        'cgroup': str(limits.folder()),
                    }
                ],
            },
            indent=1,
        ),
    )
    return f'{device.path}, {topology.HDD_SPEED.iops} IOPS'


def detach(lab: layout.Layout) -> None:
    """Detach the loop device, before its cgroup is removed; the file stays.

    :raises lab.host.commands.CommandFailed: losetup(8) refuses.
    """
    # It names a device that may soon have another file.
    lab.layers_host.unlink(missing_ok=True)
    for device in loop_devices.find_attached(lab.scratch):
        loop_devices.detach(device)


def destroy(lab: layout.Layout) -> str:
    """Remove the disk, if it is there.

    :returns: a remark: what was done.
    :raises lab.host.commands.CommandFailed: losetup(8) refuses.
    """
    detach(lab)
    file = lab.scratch / _FILE
    if not file.exists():
        return 'no scratch disk is there, nothing to do'
    file.unlink()
    lab.scratch.rmdir()
    return 'scratch disk removed'
