# SPDX-License-Identifier: Apache-2.0

"""The speed of the lab's hard disks, changed behind the back of all."""

import sys

import fixtures

from tests.functional import lab as running_lab

_DEVSTACK = str(running_lab.REPOSITORY / 'devstack')
if _DEVSTACK not in sys.path:
    sys.path.insert(0, _DEVSTACK)

from lab.ceph import topology  # noqa: E402
from lab.host import throttle  # noqa: E402


class DiskIops(fixtures.Fixture):
    """Changes what each hard disk does in a second; at the end it is as ever.

    :param root: folder of the lab, which is up.
    """

    def __init__(self, root):
        self._held = throttle.Throttle(throttle.name_for(root))

    def _setUp(self):
        self.addCleanup(self.set, topology.HDD_SPEED.iops)

    def set(self, iops):
        """Have each disk do so many I/Os in a second, of each direction."""
        files = (
            self._held.folder() / name
            for name in (*throttle.V1_FILES, *throttle.V2_FILES)
        )
        devices = {
            line.split()[0]
            for file in files
            if file.exists()
            for line in file.read_text().splitlines()
        }
        if not devices:
            raise AssertionError(f'no disk is slow in {self._held.folder()}')
        self._held.add(
            dict.fromkeys(
                devices,
                throttle.DiskSpeed(
                    iops=iops,
                    bytes_per_second=topology.HDD_SPEED.bytes_per_second,
                ),
            )
        )
