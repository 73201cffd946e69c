# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with the lab's Ceph."""


class CephError(Exception):
    """The lab's Ceph cannot be made or does not run."""
