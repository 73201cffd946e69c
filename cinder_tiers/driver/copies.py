# SPDX-License-Identifier: Apache-2.0

"""A volume whose source is in another pool: a copy, not a clone."""

import contextlib
import dataclasses

from cinder import objects
from cinder.volume.drivers import rbd
from oslo_log import log as logging

from cinder_tiers.driver import pool as pool_driver
from cinder_tiers.driver import pools

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Copy:
    """A volume that is made in one pool, of what is in another."""

    volume: objects.Volume
    source: pools.BackendPool
    target: pools.BackendPool
    #: Of the target.
    driver: pool_driver.PoolDriver

    def of_snapshot(self, image: str, snapshot: str) -> dict:
        """Copy a snapshot of the source pool.

        :returns: changes of the volume.
        """
        LOG.info(
            'Volume %(volume)s is a copy, not a clone: pool %(source)s has '
            'its source, and its own is %(target)s.',
            {
                'volume': self.volume.id,
                'source': self.source.name,
                'target': self.target.name,
            },
        )
        update = self.driver._clone(
            self.volume, self.source.rados_pool, image, snapshot
        )
        with contextlib.ExitStack() as undo:
            undo.callback(self.driver.delete_volume, self.volume)
            self.driver._flatten(self.target.rados_pool, self.volume.name)
            undo.pop_all()
        return update

    def of_volume(
        self, volume: objects.Volume, driver: pool_driver.PoolDriver
    ) -> dict:
        """Copy a volume of the source pool.

        :returns: changes of the volume that is made.
        """
        name = f'{self.volume.name}.clone_snap'
        with rbd.RBDVolumeProxy(driver, volume.name) as image:
            image.create_snap(name)
            try:
                image.protect_snap(name)
                return self.of_snapshot(volume.name, name)
            finally:
                if image.is_protected_snap(name):
                    image.unprotect_snap(name)
                image.remove_snap(name)

    def grow(self, from_gib: int) -> None:
        """Give the volume its size, if its source is smaller."""
        if self.volume.size <= from_gib:
            return
        # An encrypted image has a header beyond its size.
        size = self.driver._calculate_new_size(
            self.volume.size - from_gib, self.volume.name
        )
        self.driver._resize(self.volume, size=size)
