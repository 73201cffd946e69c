# SPDX-License-Identifier: Apache-2.0
"""A disk that nobody needs, as slow as those under hdd OSDs.

What a raw disk does can only be measured on one that may be overwritten. This
one is a small sparse file behind a loop device, held to the speed of the
disks of the OSDs in the same cgroup: who measures it must join that. A file
beside it says so, for the task ``layers``.
"""

import json

from lab.ceph import topology as ceph_layout
from lab.host import loop_devices as disks
from lab.host import throttle as ceph_throttle
from lab import layout as lab_layout

SIZE_MIB = 256
_FILE = 'disk'


def up(layout: lab_layout.Layout) -> str:
    """Have the disk, its limits and the file that describes it.

    :returns: a remark: which device it is.
    :raises lab.host.throttle.ThrottleError: it cannot be held to a speed.
    :raises lab.host.commands.CommandFailed: there is no loop device for it.
    """
    file = layout.scratch / _FILE
    disks.make_sparse(file, SIZE_MIB * 2**20)
    device = disks.attach(file, rotational=True)
    throttle = ceph_throttle.Throttle(ceph_throttle.name_for(layout.root))
    throttle.add({device.number: ceph_layout.HDD_SPEED})
    # JSON is YAML; it needs no library and quotes what must be quoted.
    lab_layout.write_private(
        layout.layers_host,
        json.dumps(
            {
                'version': 1,
                'ceph': {'conf': str(layout.ceph_conf), 'user': 'admin'},
                'raw': [
                    {
                        'device_class': 'hdd',
                        'device': str(device.path),
                        'may_be_overwritten': True,
                        'cgroup': str(throttle.folder()),
                    }
                ],
            },
            indent=1,
        ),
    )
    return f'{device.path}, {ceph_layout.HDD_SPEED.iops} IOPS'


def detach(layout: lab_layout.Layout) -> None:
    """Give the loop device back, before its cgroup goes; the file stays.

    :raises lab.host.commands.CommandFailed: losetup(8) refuses.
    """
    # It names a device that is soon somebody else's.
    layout.layers_host.unlink(missing_ok=True)
    for device in disks.attached(layout.scratch):
        disks.detach(device)


def destroy(layout: lab_layout.Layout) -> str:
    """Remove the disk, if it is there.

    :returns: a remark: what was done.
    :raises lab.host.commands.CommandFailed: losetup(8) refuses.
    """
    detach(layout)
    file = layout.scratch / _FILE
    if not file.exists():
        return 'no scratch disk is there, nothing to do'
    file.unlink()
    layout.scratch.rmdir()
    return 'scratch disk removed'
