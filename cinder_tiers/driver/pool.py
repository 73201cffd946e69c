# SPDX-License-Identifier: Apache-2.0

"""Cinder's RBD driver on one pool, whose images may have kin in other pools.

Once an image has moved, the parent of its clones is in another pool than
they are. Cinder's driver takes a parent for one of its own pool.
"""

import collections.abc
import copy
import errno

from cinder import exception
from cinder import objects
from cinder.volume import configuration as cinder_configuration
from cinder.volume.drivers import rbd
from oslo_log import log as logging

LOG = logging.getLogger(__name__)

#: Cinder (26 to 29) maps it to rbd_qos_bps_burst.
_IOPS_BURST = 'total_iops_sec_max'
_IOPS_BURST_KEY = 'rbd_qos_iops_burst'
#: Of an entry of the trash: its image is being moved by librbd.
MOVING = 'MIGRATION'


class Configuration:
    """The options of a backend, as they are for one pool of it.

    :param configuration: of the backend.
    :param options: {name: value} of those that are different.
    """

    def __init__(
        self,
        configuration: cinder_configuration.Configuration,
        **options: object,
    ) -> None:
        self._configuration = configuration
        self._options = options

    def __getattr__(self, name: str) -> object:
        if name in self._options:
            return self._options[name]
        return getattr(self._configuration, name)

    def safe_get(self, name: str) -> object:
        """The value of an option; None when there is none."""
        if name in self._options:
            return self._options[name]
        return self._configuration.safe_get(name)


class _Parent(str):
    """Name of a parent that may be in another pool."""

    pool: str


class PoolDriver(rbd.RBDDriver):
    """Cinder's driver, right about kin in other pools and about bursts."""

    def _get_clone_info(
        self, volume: objects.Volume, volume_name: str, snap: str | None = None
    ) -> tuple:
        pool, parent, snapshot = super()._get_clone_info(
            volume, volume_name, snap
        )
        if parent is None or pool == self.configuration.rbd_pool:
            return pool, parent, snapshot
        found = _Parent(parent)
        found.pool = pool
        return pool, found, snapshot

    def _get_clone_depth(
        self, client: rbd.RADOSClient, volume_name: str, depth: int = 0
    ) -> int:
        if not isinstance(volume_name, _Parent):
            return super()._get_clone_depth(client, volume_name, depth)
        other = self._on(volume_name.pool)
        with rbd.RADOSClient(other) as elsewhere:
            return other._get_clone_depth(elsewhere, str(volume_name), depth)

    def _delete_clone_parent_refs(
        self, client: rbd.RADOSClient, parent_name: str, parent_snap: str
    ) -> None:
        if not isinstance(parent_name, _Parent):
            super()._delete_clone_parent_refs(client, parent_name, parent_snap)
            return
        other = self._on(parent_name.pool)
        with rbd.RADOSClient(other) as elsewhere:
            other._delete_clone_parent_refs(
                elsewhere, str(parent_name), parent_snap
            )

    def _on(self, rados_pool: str) -> 'PoolDriver':
        other = copy.copy(self)
        other.configuration = Configuration(
            self.configuration, rbd_pool=rados_pool
        )
        return other

    def _trash_purge(self) -> None:
        """Remove what was deleted; not the sources of moves."""
        with rbd.RADOSClient(self) as client:
            try:
                found = list(self.RBDProxy().trash_list(client.ioctx))
            except IndexError:
                # Bindings of Ceph 16, of which the source of a move has no
                # kind that they know; the next purge finds it gone.
                LOG.info(
                    'The trash of pool %s is purged when no image leaves it.',
                    self.configuration.rbd_pool,
                )
                return
            for entry in found:
                if entry.get('source') != MOVING:
                    self._purge(client, entry)

    def _purge(self, client: rbd.RADOSClient, entry: dict) -> None:
        found = {
            'name': entry.get('name'),
            'pool': self.configuration.rbd_pool,
        }
        try:
            self.RBDProxy().trash_remove(client.ioctx, entry.get('id'))
        # As in Cinder's driver: the next purge tries again.
        except Exception as error:  # noqa: BLE001 - logged
            if getattr(error, 'errno', None) == errno.EPERM:
                LOG.debug(
                    '%(name)s in the trash of pool %(pool)s has not expired.',
                    found,
                )
            else:
                LOG.exception(
                    '%(name)s stays in the trash of pool %(pool)s.', found
                )
        else:
            LOG.info(
                'Removed %(name)s from the trash of pool %(pool)s.', found
            )

    def update_rbd_image_qos(
        self, volume: objects.Volume, qos_specs: dict
    ) -> None:
        """Set the limits of an image, the burst of all I/O at its own key.

        :param volume: the volume.
        :param qos_specs: {key of a QoS spec: value}.
        :raises exception.VolumeBackendAPIException: Ceph refuses.
        """
        super().update_rbd_image_qos(
            volume, {k: v for k, v in qos_specs.items() if k != _IOPS_BURST}
        )
        if _IOPS_BURST not in qos_specs:
            return
        try:
            with rbd.RBDVolumeProxy(self, volume.name) as image:
                image.config_set(_IOPS_BURST_KEY, str(qos_specs[_IOPS_BURST]))
        except Exception as error:
            raise exception.VolumeBackendAPIException(
                data=f'{_IOPS_BURST_KEY} of image {volume.name} in pool '
                f'{self.configuration.rbd_pool} could not be set to '
                f'{qos_specs[_IOPS_BURST]}: {error}.'
            ) from error

    def delete_rbd_image_qos_keys(
        self, volume: objects.Volume, qos_keys: collections.abc.Iterable[str]
    ) -> None:
        """Take limits off an image; those of its pool stay.

        :param volume: the volume.
        :param qos_keys: of a QoS spec; the image need not have them.
        :raises exception.VolumeBackendAPIException: Ceph refuses.
        """
        self._remove_qos(
            volume,
            {
                _IOPS_BURST_KEY
                if key == _IOPS_BURST
                else rbd.QOS_KEY_MAP[key]['ceph_key']
                for key in qos_keys
            },
        )

    def _remove_qos(self, volume: objects.Volume, names: set[str]) -> None:
        try:
            with rbd.RBDVolumeProxy(self, volume.name) as image:
                for name in sorted(names):
                    self._remove(image, name)
        except Exception as error:
            raise exception.VolumeBackendAPIException(
                data=f'{", ".join(sorted(names))} of image {volume.name} in '
                f'pool {self.configuration.rbd_pool} could not be removed: '
                f'{error}.'
            ) from error

    def _remove(self, image: rbd.RBDVolumeProxy, name: str) -> None:
        # Cinder compares values, and one that the pool sets looks like one of
        # the image.
        try:
            image.config_remove(name)
        except (KeyError, self.rbd.ImageNotFound):
            LOG.debug('%s is not set at the image.', name)

    def retype(
        self,
        context: object,
        volume: objects.Volume,
        new_type: objects.VolumeType,
        diff: dict | None,
        host: dict | None,
    ) -> tuple[bool, dict | None]:
        """Give a volume a type in the pool where it is.

        :returns: (True, changes of the volume).
        :raises exception.CinderException: as Cinder's driver.
        """
        specs = (diff or {}).get('qos_specs') or {}
        # Cinder looks for it at the key of another limit.
        if specs and self._supports_qos():
            self._remove_qos(volume, {_IOPS_BURST_KEY})
        return super().retype(context, volume, new_type, diff, host)
