# SPDX-License-Identifier: Apache-2.0

"""Cinder's RBD driver on one pool, whose images may have kin in other pools.

Once an image has moved, the parent of its clones is in another pool than
they are. Cinder's driver takes a parent for one of its own pool. It also
passes over limits by size, and has no limits in mind when a volume grows.
"""

import collections.abc
import contextlib
import copy
import errno
import re

from cinder import exception
from cinder import objects
from cinder import utils
from cinder.volume import configuration as cinder_configuration
from cinder.volume.drivers import rbd
from oslo_log import log as logging

from cinder_tiers.domain import limits_by_size
from cinder_tiers.domain.resources import qos_limits

LOG = logging.getLogger(__name__)

#: Cinder (26 to 29) maps it to rbd_qos_bps_burst.
_IOPS_BURST = 'total_iops_sec_max'
_IOPS_BURST_KEY = 'rbd_qos_iops_burst'
#: Of an entry of the trash: its image is being moved by librbd.
MOVING = 'MIGRATION'


# Those with units are of bytes and of others (strict_iec_cast and
# strict_si_cast of Ceph's common/strtol.cc).
_BYTES = re.compile('[+]?([0-9]{1,40})(?:B|([KMGTPE])i?)?')
_NUMBER = re.compile('[+]?([0-9]{1,40})([KMGTPE])?')


def is_taken(key: str, value: object) -> bool:
    """Return whether librbd takes a limit.

    >>> [is_taken('total_iops_sec', each) for each in ('3K', '3KB', '20E', '')]
    [True, False, False, False]

    :param key: key of a QoS spec.
    """
    if not isinstance(value, str):
        return False
    found = (_BYTES if 'bytes' in key else _NUMBER).fullmatch(value)
    if not found:
        return False
    thousands = ' KMGTPE'.index(found[2] or ' ')
    return int(found[1]) * 1024**thousands < 2**63


def answering(ioctx: 'rbd.rados.Ioctx') -> 'rbd.rados.Ioctx':
    """Return an I/O context whose requests fail while its pool is full.

    By default librados lets them wait, even deletions, which would free space.
    """
    # The bindings of Ceph 16 to 20 call rados_set_pool_full_try by this name.
    ioctx.set_osdmap_full_try()
    return ioctx


class Configuration:
    """The options of a backend, as they are for one pool of it.

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
    """Cinder's driver, right about kin in other pools and about limits."""

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
            if self._is_moving(parent_name, client):
                # As for `delete_snapshot` of the backend.
                LOG.warning(
                    'Snapshot %(snapshot)s of %(parent)s, which nothing needs '
                    'any more, stays: %(parent)s moves.',
                    {'snapshot': parent_snap, 'parent': parent_name},
                )
                return
            super()._delete_clone_parent_refs(client, parent_name, parent_snap)
            return
        other = self._on(parent_name.pool)
        with rbd.RADOSClient(other) as elsewhere:
            other._delete_clone_parent_refs(
                elsewhere, str(parent_name), parent_snap
            )

    def _is_moving(
        self, name: str, client: rbd.RADOSClient | None = None
    ) -> bool:
        """Return whether librbd migrates an image, whoever began that.

        :raises rbd.ImageNotFound: there is no such image.
        """
        with rbd.RBDVolumeProxy(
            self,
            name,
            read_only=True,
            client=client and client.cluster,
            ioctx=client and client.ioctx,
        ) as image:
            return bool(image.features() & self.rbd.RBD_FEATURE_MIGRATING)

    @utils.limit_operations
    def _do_flatten(self, volume_name: str, pool: str) -> None:
        """Flatten an image that does not move.

        librbd takes the parent off one that does, and then copies nothing of
        what the image had from it.

        :raises rbd.ImageBusy: the image moves, or reads one that does and
            has snapshots: librbd shows old states of that.
        """
        with contextlib.ExitStack() as opened:
            try:
                # While it is open so, no move of it begins.
                image = opened.enter_context(
                    rbd.RBDVolumeProxy(self, volume_name, pool=pool)
                )
            except self.rbd.ImageNotFound:
                return
            if image.features() & self.rbd.RBD_FEATURE_MIGRATING:
                raise self.rbd.ImageBusy(
                    f'{pool}/{volume_name} moves, and would lose what it has '
                    'from its parent'
                )
            if self._reads_states(image):
                raise self.rbd.ImageBusy(
                    f'{pool}/{volume_name} reads an image that moves, and '
                    'would keep old states of it'
                )
            image.flatten()

    def _reads_states(self, image: rbd.RBDVolumeProxy) -> bool:
        """Return whether an ancestor of an image moves and has snapshots.

        :raises rbd.ImageBusy: an ancestor comes or goes now.
        """
        with contextlib.closing(ancestors(self, image.client, image)) as found:
            try:
                return any(
                    parent.features() & self.rbd.RBD_FEATURE_MIGRATING
                    and any(parent.list_snaps())
                    for _, parent in found
                )
            except self.rbd.ImageNotFound as error:
                # Cinder's driver takes this for the image that it deletes.
                raise self.rbd.ImageBusy(
                    f'its parent moves: {error}'
                ) from error

    def _flatten_volume(
        self, image_name: str, _client: rbd.RADOSClient
    ) -> None:
        """Flatten a clone of too many clones; leave it a clone if need be.

        Cinder's driver (26 to 29) would leave the source of the clone open
        behind its connection.
        """
        try:
            self._do_flatten(image_name, self.configuration.rbd_pool)
        except self.rbd.ImageBusy as error:
            LOG.warning(
                'Image %(image)s stays a clone, although rbd_max_clone_depth '
                'is reached: %(error)s.',
                {'image': image_name, 'error': error},
            )

    def _on(self, rados_pool: str) -> 'PoolDriver':
        other = copy.copy(self)
        other.configuration = Configuration(
            self.configuration, rbd_pool=rados_pool
        )
        return other

    def _trash_purge(self) -> None:
        """Remove what was deleted; not the sources of moves.

        It raises nothing, for a looping call that does is not run again.
        """
        try:
            self._purge_trash()
        except Exception:  # noqa: BLE001 - logged
            LOG.exception(
                'The trash of pool %s is not purged this time.',
                self.configuration.rbd_pool,
            )

    def _purge_trash(self) -> None:
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

        :param volume: the volume; its size makes the limits by size.
        :param qos_specs: {key of a QoS spec: value}.
        :raises exception.InvalidQoSSpecs: a limit by size cannot be made.
        :raises exception.VolumeBackendAPIException: Ceph refuses.
        """
        size_gib = volume.size
        if not size_gib and limits_by_size.are_in(qos_specs):
            # An image is being managed, and Cinder sets the size after that.
            size_gib = self.manage_existing_get_size(
                volume, {'source-name': volume.name}
            )
        self._set_qos(volume, self._of_size(volume, qos_specs, size_gib))

    def _of_size(
        self, volume: objects.Volume, qos_specs: dict, size_gib: int
    ) -> dict:
        """Return the limits of a QoS spec for a volume of this size.

        :raises exception.InvalidQoSSpecs: a limit by size is invalid.
        """
        self._check_limits(volume, qos_specs)
        return limits_by_size.of_size(qos_specs, size_gib)

    def _check_limits(self, volume: objects.Volume, qos_specs: dict) -> None:
        """Refuse a volume that would have no limit where its type has one.

        As Ceph refuses a plain limit that it cannot read.

        :raises exception.InvalidQoSSpecs: says all that is wrong.
        """
        faults = [
            f'{fault.found}, expected {fault.expected}'
            for fault in qos_limits.faults_by_size(qos_specs)
        ]
        if not faults:
            return
        error = exception.InvalidQoSSpecs(reason='; '.join(faults))
        # Where a volume is cloned, Cinder's driver raises another one.
        LOG.error(
            'Volume %(id)s would have no limit by its size. %(error)s. '
            'Correct the QoS spec of its volume type.',
            {'id': volume.id, 'error': error},
        )
        raise error

    def _set_qos(self, volume: objects.Volume, qos_specs: dict) -> None:
        """Set limits that are made from the size already."""
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
        """Remove limits from an image; those of its pool stay.

        :param qos_keys: keys of a QoS spec; the image need not have them.
        :raises exception.VolumeBackendAPIException: Ceph refuses.
        """
        self._remove_qos(volume, set(map(_option, qos_keys)))

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

    def _connect_to_rados(
        self, pool: str | None = None, *args: object, **kwargs: object
    ) -> tuple:
        client, ioctx = super()._connect_to_rados(pool, *args, **kwargs)
        return client, answering(ioctx)

    def manage_existing(
        self, volume: objects.Volume, existing_ref: dict
    ) -> dict:
        """See `manage_existing` of Cinder's driver.

        :raises exception.InvalidQoSSpecs: a limit by size cannot be made; the
            image keeps its name.
        """
        self._check_new(volume)
        return super().manage_existing(volume, existing_ref)

    def create_volume(self, volume: objects.Volume) -> dict:
        """See `create_volume` of Cinder's driver.

        :raises exception.InvalidQoSSpecs: a limit cannot be set.
        """
        self._check_new(volume)
        update = super().create_volume(volume)
        # Cinder's driver (26 to 29) sets up none that is encrypted, ...
        return self._set_up(volume) if volume.encryption_key_id else update

    def create_cloned_volume(
        self, volume: objects.Volume, src_vref: objects.Volume
    ) -> dict:
        """See `create_cloned_volume` of Cinder's driver.

        :raises exception.InvalidQoSSpecs: a limit cannot be set.
        """
        self._check_new(volume)
        update = super().create_cloned_volume(volume, src_vref)
        # ... and no whole copy, which `rbd_max_clone_depth` 0 makes.
        return self._set_up(volume) if update is None else update

    def _set_up(self, volume: objects.Volume) -> dict:
        """Give a new image the limits and features of its type.

        :raises exception.CinderException: the image is removed again.
        """
        with contextlib.ExitStack() as undo:
            undo.callback(self.delete_volume, volume)
            update = self._setup_volume(volume)
            undo.pop_all()
        return update

    def _clone(self, volume: objects.Volume, *source: str) -> dict:
        self._check_new(volume)
        return super()._clone(volume, *source)

    def _check_new(self, volume: objects.Volume) -> None:
        """Refuse limits before an image is made.

        If they are refused after that, Cinder's driver (26 to 29) removes the
        image over a connection that is closed, and librbd ends the process.
        """
        specs = self._qos_specs_from_volume_type(volume.volume_type) or {}
        if not specs or not self._supports_qos():
            return
        self._check_limits(volume, specs)
        faults = [
            f'{key} {value!r}, expected an integer that librbd takes'
            for key, value in limits_by_size.of_size(
                specs, volume.size or 0
            ).items()
            if key in rbd.QOS_KEY_MAP and not is_taken(key, value)
        ]
        if faults:
            raise exception.InvalidQoSSpecs(reason='; '.join(faults))

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
        changed = dict(diff or {})
        if changed.get('qos_specs') and self._supports_qos():
            # Not by the keys that differ, as Cinder has it: it looks for a
            # burst at the key of another limit, and for limits by size at
            # none. What the new type has is not taken off for a moment.
            wanted = self._of_size(
                volume,
                self._qos_specs_from_volume_type(new_type) or {},
                volume.size,
            )
            has = self.get_rbd_image_qos(volume)
            self.delete_rbd_image_qos_keys(
                volume,
                [
                    key
                    for key in rbd.QOS_KEY_MAP
                    # One that was set by hand may have a unit.
                    if key not in wanted and has[_option(key)].strip('0')
                ],
            )
            del changed['qos_specs']
        return super().retype(context, volume, new_type, changed, host)

    def extend_volume(self, volume: objects.Volume, new_size: int) -> None:
        """Extend a volume, and update its limits by size.

        A limit that cannot be set does not undo the extension.

        :param volume: the volume, with its old size.
        :param new_size: new size in GiB.
        :raises exception.VolumeBackendAPIException: Ceph does not extend it.
        """
        super().extend_volume(volume, new_size)
        try:
            specs = self._qos_specs_from_volume_type(volume.volume_type) or {}
            if limits_by_size.are_in(specs) and self._supports_qos():
                self._set_qos(
                    volume, self._of_size(volume, specs, int(new_size))
                )
        except Exception:  # noqa: BLE001 - logged; the image has grown
            LOG.exception(
                'Volume %s was extended and has the limits of its old size; '
                '"openstack tier repair --kind limits" sets those of its new '
                'one.',
                volume.id,
            )


def _option(key: str) -> str:
    """The option of librbd that a key of a QoS spec sets."""
    if key == _IOPS_BURST:
        return _IOPS_BURST_KEY
    return rbd.QOS_KEY_MAP[key]['ceph_key']


def ancestors(
    driver: rbd.RBDDriver,
    cluster: 'rbd.rados.Rados',
    image: 'rbd.rbd.Image',
) -> collections.abc.Generator[tuple[str, 'rbd.rbd.Image'], None, None]:
    """Open what an image reads: its parent, the parent of that, and so on.

    By their IDs, as one that was deleted may be in the trash.

    :param cluster: connected.
    :param image: open.
    :returns: name and image of each, open until the next one is asked for; to
        be closed before the cluster is.
    :raises rbd.Error: one cannot be opened.
    """
    spec = _parent_of(driver, image)
    while spec:
        with contextlib.closing(
            cluster.open_ioctx(spec['pool_name'])
        ) as ioctx:
            ioctx.set_namespace(spec['pool_namespace'])
            with contextlib.closing(
                driver.rbd.Image(ioctx, image_id=spec['id'], read_only=True)
            ) as parent:
                yield spec['image_name'], parent
                spec = _parent_of(driver, parent)


def _parent_of(driver: rbd.RBDDriver, image: 'rbd.rbd.Image') -> dict | None:
    try:
        # Bindings of Ceph 16 have no ID in the specification.
        return {**image.get_parent_image_spec(), 'id': image.parent_id()}
    except driver.rbd.ImageNotFound:
        return None
