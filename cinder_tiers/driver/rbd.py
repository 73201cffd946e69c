# SPDX-License-Identifier: Apache-2.0

"""One Cinder backend with a pool for each tier of a Ceph cluster.

The pool of a volume is the one in its host: node@ceph#tier-database. Cinder's
own driver knows a single pool, from an option that its methods read again and
again. Therefore each pool has its own instance of Cinder's driver with that
option set; this module sends each request to the driver of the right pool, and
handles requests that concern several pools. A pool that was a variable of a
request would be lost, or be that of another request, wherever Cinder's driver
starts a thread or a periodic task, and a method that is not handled here would
silently use a wrong pool. Here it fails: this object has no pool.

Without the option tiers_rbd_pools it is Cinder's driver, with rbd_pool.
"""

import collections.abc
import contextlib
import functools
import time
import typing

from cinder import context as cinder_context
from cinder import exception
from cinder import objects
from cinder.volume import configuration as cinder_configuration
from cinder.volume.drivers import rbd
from cinder.volume import volume_utils
from oslo_concurrency import lockutils
from oslo_config import cfg
from oslo_log import log as logging
from oslo_service import loopingcall
from oslo_utils import units

from cinder_tiers.driver import copies
from cinder_tiers.driver import monitors
from cinder_tiers.driver import moving
from cinder_tiers.driver import pool as pool_driver
from cinder_tiers.driver import pools
from cinder_tiers.driver import records
from cinder_tiers.driver import retyping
from cinder_tiers.driver import routes
from cinder_tiers.driver import startup
from cinder_tiers.driver import stats
from cinder_tiers.driver import unfinished

LOG = logging.getLogger(__name__)

OPTIONS = (
    cfg.ListOpt(
        pools.OPTION,
        default=[],
        help=(
            'The pools of this backend, each as NAME:POOL: the '
            'volume_backend_name of a tier, which is also the name of its '
            'pool in Cinder, and the RADOS pool that keeps its volumes. '
            'rbd_pool is not used then. Empty: the backend has the one pool '
            'rbd_pool.'
        ),
    ),
)
#: Between two looks at moves that have not ended, in seconds.
GO_ON_EVERY_S = 10
#: The longest that a deletion or a retype waits for an earlier move.
END_WITHIN_S = 60
#: The same where a service waits for the answer, by default for 60 s.
END_BEFORE_REPLY_S = 20
#: The longest that a retype waits for one of a clone to begin.
ALONE_WITHIN_S = 10
#: More images than a pool has.
_ALL = 2**31


class TieredRBDDriver(pool_driver.PoolDriver):
    """Cinder's RBD driver for any number of pools of a cluster."""

    #: Two services could take each other's moves for ones that were left.
    SUPPORTS_ACTIVE_ACTIVE = False

    def __init__(self, *args: object, **kwargs: object) -> None:
        """Make a driver for each pool.

        :raises exception.InvalidConfigurationValue: the option is wrong.
        """
        super().__init__(*args, **kwargs)
        self.configuration.append_config_values(OPTIONS)
        try:
            found = pools.parse(self._entries())
        except pools.Invalid as error:
            raise exception.InvalidInput(reason=str(error)) from error
        self._pools = {pool.name: pool for pool in found}
        self._drivers = {
            pool.name: self._make_driver(pool, args, kwargs) for pool in found
        }
        self._moves = unfinished.Moves(
            self._images, self._place_of, records.settle
        )
        self._report = stats.Stats(self, found, self._drivers)
        self._going_on = loopingcall.FixedIntervalLoopingCall(
            self._moves.go_on
        )
        self._is_going_on = False

    def _entries(self) -> list[str]:
        return getattr(self.configuration, pools.OPTION, None) or []

    def _make_driver(
        self, pool: pools.BackendPool, args: tuple, kwargs: dict
    ) -> pool_driver.PoolDriver:
        driver = pool_driver.PoolDriver(
            *args,
            **{
                **kwargs,
                'configuration': pool_driver.Configuration(
                    self.configuration,
                    rbd_pool=pool.rados_pool,
                    volume_backend_name=pool.name,
                ),
            },
        )
        # rbd_concurrent_flatten_operations is for the whole backend.
        driver._semaphore = self._semaphore
        return driver

    @classmethod
    def get_driver_options(cls) -> list:
        """Options of Cinder's driver, and that of the pools."""
        return [*super().get_driver_options(), *OPTIONS]

    def _of(
        self, resource: objects.Volume | objects.Snapshot
    ) -> pool_driver.PoolDriver:
        """The driver of the pool of a volume or a snapshot.

        :raises exception.CinderException: see `_pool_of`.
        """
        if not self._drivers:
            return typing.cast(pool_driver.PoolDriver, super())
        return self._drivers[self._pool_of(resource).name]

    def _pool_of(
        self, resource: objects.Volume | objects.Snapshot
    ) -> pools.BackendPool:
        """Return the pool of an image, from its move or from the database.

        A volume may have moved since the message was sent. In the pool that it
        left, Cinder's driver would find no image, and report the deletion as
        done.

        :raises exception.InvalidHost: it has no pool of this backend.
        :raises exception.VolumeIsBusy: it is on its way back to another pool.
        """
        if move := self._move_of(resource):
            if (
                self._moves.may_be_taken_back(move)
                or self._place_of(move) is unfinished.Place.SOURCE
            ):
                raise exception.VolumeIsBusy(
                    f'Volume {move.volume_id} is busy: its move to RADOS pool '
                    f'{move.target} waits, and may be taken back.'
                )
            found = self._target_of(move)
            # Else it was taken back meanwhile.
            if self._move_of(resource) == move:
                return found
        volume = records.volume(_volume_id(resource))
        return self._pool_in((volume or resource).host)

    def _target_of(self, move: moving.Move) -> pools.BackendPool:
        for pool in self._pools.values():
            if pool.rados_pool == move.target:
                return pool
        raise exception.InvalidHost(
            reason=f'volume {move.volume_id} is in RADOS pool '
            f'{move.target}, which {pools.OPTION} does not name'
        )

    def _pool_in(self, host: str | None) -> pools.BackendPool:
        try:
            return self._pools[pools.pool_of(host, self._pools)]
        except pools.Invalid as error:
            raise exception.InvalidHost(reason=str(error)) from error

    def _still(
        self, resource: objects.Volume | objects.Snapshot
    ) -> contextlib.AbstractContextManager:
        """While it is held, an image stays in its pool."""
        if not self._drivers:
            return contextlib.nullcontext()
        return _lock_of(records.image_of(resource)).read_lock()

    def _of_new(self, volume: objects.Volume) -> pool_driver.PoolDriver:
        """Return the driver for a volume that is made.

        It has not moved since the message was sent: no database is asked.

        :raises exception.InvalidHost: it has no pool of this backend.
        :raises exception.VolumeBackendAPIException: the pool is full.
        """
        if not self._drivers:
            return self._of(volume)
        pool = self._pool_in(volume.host)
        for name in self._report.full_pools_of(pool):
            raise exception.VolumeBackendAPIException(
                data=f'RADOS pool {name} of {pool.name} is full, '
                'and nothing was changed: delete volumes of it, or raise its '
                'quota or what the cluster has.'
            )
        return self._drivers[pool.name]

    @property
    def _any(self) -> pool_driver.PoolDriver:
        """Return any driver, for what is the same in each pool."""
        if not self._drivers:
            return typing.cast(pool_driver.PoolDriver, super())
        return next(iter(self._drivers.values()))

    def _connect_to_rados(
        self, pool: str | None = None, *args: object, **kwargs: object
    ) -> tuple:
        if self._drivers and pool is None:
            raise exception.ProgrammingError(
                reason='A method of the RBD driver of Cinder is not sent to '
                'the driver of a pool.'
            )
        # Without pools, all is as in Cinder's driver.
        return super(pool_driver.PoolDriver, self)._connect_to_rados(
            pool, *args, **kwargs
        )

    def _flatten_volume(
        self, image_name: str, client: rbd.RADOSClient
    ) -> None:
        # As `_connect_to_rados`: nothing moves without pools.
        super(pool_driver.PoolDriver, self)._flatten_volume(image_name, client)

    # Start

    def do_setup(self, context: cinder_context.RequestContext) -> None:
        """See `do_setup` of Cinder's driver.

        :raises exception.InvalidInput: an option does not go with pools.
        :raises exception.VolumeBackendAPIException: pools cannot be used.
        """
        if not self._drivers:
            super().do_setup(context)
            return
        if self.configuration.safe_get('replication_device'):
            raise exception.InvalidInput(
                reason=f'replication_device does not go with {pools.OPTION}: '
                'a failover of one pool would take the others with it. Use '
                "a backend with Cinder's driver for replicated volumes."
            )
        self._active_config = self._get_target_config(self._active_backend_id)
        if rbd.rados is None:
            # Before it asks them for the ID of the cluster.
            super().check_for_setup_error()
        self._check_pools()
        for driver in self._drivers.values():
            driver.do_setup(context)
        self._active_config = self._any._active_config

    def check_for_setup_error(self) -> None:
        """See `check_for_setup_error` of Cinder's driver.

        :raises exception.VolumeBackendAPIException: pools cannot be used.
        """
        if not self._drivers:
            super().check_for_setup_error()
            return
        for driver in self._drivers.values():
            driver.check_for_setup_error()
        self._moves.resume([one.rados_pool for one in self._pools.values()])
        # Cinder tries a start again that failed after this.
        if not self._is_going_on:
            self._going_on.start(
                interval=GO_ON_EVERY_S, initial_delay=GO_ON_EVERY_S
            )
            self._is_going_on = True

    def _check_pools(self) -> None:
        _, conf, user, _ = self._get_config_tuple()
        with monitors.connected(self) as cluster:
            found = monitors.ask(cluster, 'osd pool ls', detail='detail')
            wanted = tuple(self._pools.values())
            problems = startup.unusable(wanted, found) or [
                startup.without_rights(user, pool.rados_pool)
                for pool in wanted
                if not self._may_read(cluster, pool)
            ]
            if not problems:
                self._report.look_for_data_pools(cluster)
        if problems:
            raise exception.VolumeBackendAPIException(data=' '.join(problems))
        for name in startup.full(self._report.rados_pools, found):
            LOG.warning('Pool %s is full and takes no writes.', name)
        for text in startup.shared(wanted, self._other_sections(conf)):
            LOG.warning(text)

    def _may_read(
        self, cluster: 'rbd.rados.Rados', pool: pools.BackendPool
    ) -> bool:
        ioctx = cluster.open_ioctx(pool.rados_pool)
        try:
            list(self.RBDProxy().pool_metadata_list(ioctx))
        except self.rbd.PermissionError:
            return False
        finally:
            ioctx.close()
        return True

    def _other_sections(self, conf: str) -> dict[str, list[str]]:
        """{section of cinder.conf: pools} of the same driver and cluster."""
        found = {}
        for name in cfg.CONF.enabled_backends or ():
            if name == self.configuration.config_group:
                continue
            other = cinder_configuration.Configuration(
                [*rbd.RBD_OPTS, *OPTIONS],
                config_group=name,
            )
            if other.rbd_ceph_conf == conf:
                found[name] = getattr(other, pools.OPTION)
        return found

    @contextlib.contextmanager
    def _images(
        self, *, asks_manager: bool = False, osd_timeout_s: int | None = None
    ) -> collections.abc.Iterator[moving.ClusterImages]:
        with monitors.connected(
            self, asks_manager=asks_manager, osd_timeout_s=osd_timeout_s
        ) as cluster:
            yield moving.ClusterImages(self._any, cluster)

    def _place_of(self, move: moving.Move) -> unfinished.Place:
        """Return where Cinder has the volume of a move.

        Another backend may have the same pools, and its moves are its own.
        """
        volume = records.volume(move.volume_id)
        if not volume or self.host != volume_utils.extract_host(
            volume.host, 'backend'
        ):
            return unfinished.Place.ELSEWHERE
        had = dict(zip(move.tiers, (move.source, move.target), strict=False))
        if any(
            pool.rados_pool != had.get(name, pool.rados_pool)
            for name, pool in self._pools.items()
        ):
            return unfinished.Place.UNKNOWN
        try:
            found = self._pool_in(volume.host).rados_pool
        except exception.InvalidHost:
            return unfinished.Place.UNKNOWN
        # A retype in a pool is a move from it to itself, never answered.
        if found == move.source:
            return unfinished.Place.SOURCE
        if found == move.target:
            return unfinished.Place.TARGET
        return unfinished.Place.ELSEWHERE

    def get_pool(self, volume: objects.Volume) -> str | None:
        """Name of the pool that has the image of a volume whose host has none.

        :returns: None if no pool has it.
        """
        for name, driver in self._drivers.items():
            with (
                contextlib.suppress(self.rbd.ImageNotFound),
                rbd.RBDVolumeProxy(driver, volume.name, read_only=True),
            ):
                return name
        return None

    # What is the same in each pool, or is of all of them

    def _get_fsid(self) -> str:
        return self._any._get_fsid()

    def _update_volume_stats(self) -> None:
        if not self._drivers:
            super()._update_volume_stats()
            return
        self._stats = self._report.now()

    def get_manageable_volumes(
        self, cinder_volumes: list, *paging: object
    ) -> list[dict]:
        """See `get_manageable_volumes` of Cinder's driver.

        :returns: of all pools; `extra_info` says with which host to manage.
        """
        # The image of a volume has another ID in its name once Cinder has
        # copied it while it was in use.
        known = [
            {'id': ident}
            for one in cinder_volumes
            for ident in {one['id'], getattr(one, 'name_id', one['id'])}
        ]
        return self._manageable('get_manageable_volumes', known, *paging)

    def get_manageable_snapshots(
        self, cinder_snapshots: list, *paging: object
    ) -> list[dict]:
        """See `get_manageable_snapshots` of Cinder's driver.

        :returns: of all pools; `extra_info` says in which.
        """
        return self._manageable(
            'get_manageable_snapshots', cinder_snapshots, *paging
        )

    def _manageable(
        self, name: str, known: list, *paging: object
    ) -> list[dict]:
        if not self._drivers:
            return getattr(super(), name)(known, *paging)
        entries = [
            {**entry, 'extra_info': f'{self.host}#{pool}'}
            for pool, driver in self._drivers.items()
            for entry in getattr(driver, name)(known, None, _ALL, 0, [], [])
        ]
        return volume_utils.paginate_entries_list(entries, *paging)

    # What is of one volume

    create_volume = routes.of_its_pool('create_volume', is_new=True)
    extend_volume = routes.of_its_pool('extend_volume')
    _connection = routes.of_its_pool('initialize_connection')
    manage_existing = routes.of_its_pool('manage_existing')
    _size_of_existing = routes.of_its_pool('manage_existing_get_size')
    get_rbd_image_qos = routes.of_its_pool('get_rbd_image_qos')
    update_rbd_image_qos = routes.of_its_pool('update_rbd_image_qos')
    delete_rbd_image_qos_keys = routes.of_its_pool('delete_rbd_image_qos_keys')

    clone_image = routes.of_its_pool('clone_image', is_new=True)
    # Also of a volume that has an image already.
    copy_image_to_volume = routes.of_its_pool(
        'copy_image_to_volume', ends_move=True
    )
    copy_image_to_encrypted_volume = routes.of_its_pool(
        'copy_image_to_encrypted_volume', ends_move=True
    )
    _upload = routes.of_its_pool('copy_volume_to_image')
    _revert = routes.of_its_pool('revert_to_snapshot')

    create_snapshot = routes.of_its_pool('create_snapshot')
    _delete_snapshot = routes.of_its_pool('delete_snapshot')
    manage_existing_snapshot = routes.of_its_pool('manage_existing_snapshot')
    manage_existing_snapshot_get_size = routes.of_its_pool(
        'manage_existing_snapshot_get_size'
    )
    unmanage_snapshot = routes.of_its_pool('unmanage_snapshot')

    def _move_of(
        self, resource: objects.Volume | objects.Snapshot
    ) -> moving.Move | None:
        """The move of the image of a volume or a snapshot, if it moves."""
        move = self._moves.of(records.image_of(resource))
        # What a copy by Cinder left has the name of the volume that moves.
        is_its = move and move.volume_id == _volume_id(resource)
        return move if is_its else None

    def _end_move(
        self, volume: objects.Volume, within_s: int | None = None
    ) -> None:
        """Wait until a volume does not move any more.

        :param within_s: END_WITHIN_S unless given
        :raises exception.VolumeIsBusy: it moves for longer than that.
        :raises exception.InvalidHost: it moves to a pool that is not served.
        """
        move = self._move_of(volume)
        if move is not None:
            self._target_of(move)
            self._end(
                *(volume, move.image, within_s),
                is_over=functools.partial(self._moves.has_none_of, move.image),
            )

    def _end_return(
        self,
        resource: objects.Volume | objects.Snapshot,
        within_s: int | None = None,
    ) -> None:
        """Wait until it is certain that a volume stays in its new pool.

        :param within_s: END_WITHIN_S unless given
        :raises exception.VolumeIsBusy: it is not for longer than that.
        """
        move = self._move_of(resource)
        if move and self._moves.may_be_taken_back(move):
            self._end(
                *(resource, move.image, within_s),
                is_over=lambda: not self._moves.may_be_taken_back(move),
            )

    def _end_copying(
        self,
        volume: objects.Volume,
        within_s: int | None = None,
        *,
        by_clone: bool = True,
    ) -> None:
        """Wait until a volume can be read.

        librbd (Ceph 16, 18 and 20) copies an object with snapshots by writing
        one state of it after another, and whoever reads the image or a clone
        meanwhile gets an old one. Without snapshots there is one state.

        :param within_s: END_WITHIN_S unless given
        :param by_clone: whether it is read by a clone of it, which would go on
            to look for the source.
        :raises exception.VolumeIsBusy: what it reads has snapshots, and moves
            for longer than that.
        """
        if names := self._copying(volume, by_clone=by_clone):
            self._end(
                *(volume, names[0], within_s),
                is_over=lambda: not self._copying(volume, by_clone=by_clone),
            )

    def _copying(
        self, volume: objects.Volume, *, by_clone: bool = True
    ) -> list[str]:
        """List the images because of which a volume cannot be read yet."""
        if not self._moves.are_some():
            return []
        if self._moves.begins(volume.name):
            return [volume.name]
        with self._images() as images:
            found = []
            for name in images.read_in_states(
                self._pool_of(volume).rados_pool, volume.name
            ):
                move = self._moves.of(name)
                is_copied = (
                    move
                    and name == volume.name
                    and not by_clone
                    and images.is_copied(move)
                )
                if self._moves.begins(name) or move and not is_copied:
                    found.append(name)
            return found

    @contextlib.contextmanager
    def _readable(
        self,
        volume: objects.Volume,
        resource: objects.Volume | objects.Snapshot,
        within_s: int | None = None,
        *,
        by_clone: bool = True,
    ) -> collections.abc.Iterator[None]:
        """Have a volume that can be read, and let no move of it begin.

        :param resource: it, or its snapshot.
        :param within_s: see `_end_copying`, as for `by_clone`.
        :raises exception.VolumeIsBusy: it cannot be read soon enough.
        """
        while True:
            self._end_return(volume, within_s)
            self._end_copying(volume, within_s, by_clone=by_clone)
            with self._still(resource):
                # A retype may have ended while this waited for it.
                if not self._copying(volume, by_clone=by_clone):
                    yield
                    return

    def _end(
        self,
        resource: objects.Volume | objects.Snapshot,
        image: str,
        within_s: int | None,
        *,
        is_over: collections.abc.Callable[[], bool],
    ) -> None:
        if within_s is None:
            within_s = END_WITHIN_S
        if self._moves.end(
            is_over,
            within_s=within_s,
            request=getattr(resource.obj_context, 'request_id', None),
        ):
            return
        LOG.warning(
            'The request for %(resource)s is refused, as image %(image)s '
            'still moves. Repeat it when "ceph rbd task list" does not show '
            'the move any more.',
            {'resource': resource.id, 'image': image},
        )
        raise exception.VolumeIsBusy(
            f'Volume {_volume_id(resource)} is busy: image {image} still '
            'moves.'
        )

    def manage_existing_get_size(
        self, volume: objects.Volume, existing_ref: dict
    ) -> int:
        """See `manage_existing_get_size` of Cinder's driver.

        :raises exception.ManageExistingInvalidReference: the image moves; with
            another name, its move would not be found and never end.
        """
        size = self._size_of_existing(volume, existing_ref)
        if self._drivers:
            name = existing_ref['source-name']
            with rbd.RBDVolumeProxy(
                self._of(volume), name, read_only=True
            ) as image:
                moves = image.features() & self.rbd.RBD_FEATURE_MIGRATING
            if moves:
                raise exception.ManageExistingInvalidReference(
                    existing_ref=existing_ref,
                    reason=f'librbd migrates image {name}; manage it when '
                    '"rbd status" does not show the migration any more.',
                )
        return size

    def unmanage(self, volume: objects.Volume) -> None:
        """See `unmanage` of Cinder's driver; waits for a move to end.

        :raises exception.VolumeIsBusy: it moves for longer than that.
        """
        self._end_move(volume)
        super().unmanage(volume)

    def initialize_connection(
        self, volume: objects.Volume, connector: dict
    ) -> dict:
        """See `initialize_connection` of Cinder's driver.

        :raises exception.VolumeIsBusy: it cannot be read soon enough.
        """
        with self._readable(
            volume, volume, END_BEFORE_REPLY_S, by_clone=False
        ):
            return self._connection(volume, connector)

    def copy_volume_to_image(
        self,
        context: cinder_context.RequestContext,
        volume: objects.Volume,
        image_service: object,
        image_meta: dict,
    ) -> None:
        """See `copy_volume_to_image` of Cinder's driver.

        :raises exception.VolumeIsBusy: it cannot be read soon enough.
        """
        with self._readable(volume, volume, by_clone=False):
            self._upload(context, volume, image_service, image_meta)

    def revert_to_snapshot(
        self,
        context: cinder_context.RequestContext,
        volume: objects.Volume,
        snapshot: objects.Snapshot,
    ) -> None:
        """See `revert_to_snapshot` of Cinder's driver.

        It waits for a move to end: librbd rolls nothing back that the move has
        not copied yet, and says that it has.

        :raises exception.VolumeIsBusy: it moves for longer than that.
        """
        try:
            self._end_move(volume)
        except exception.VolumeIsBusy:
            LOG.warning(
                'Cinder sets volume %s to error, although it was not '
                'changed: set it to available before the revert is repeated.',
                volume.id,
            )
            raise
        self._revert(context, volume, snapshot)

    def delete_snapshot(self, snapshot: objects.Snapshot) -> None:
        """See `delete_snapshot` of Cinder's driver; waits for a move to end.

        Ceph's manager ends (Ceph 16: an assertion of librbd) while it copies
        an image that has lost a snapshot since its move began, and again
        whenever it has started and takes that task up.

        :raises exception.SnapshotIsBusy: its volume moves for longer than
            that.
        """
        if not self._drivers:
            super().delete_snapshot(snapshot)
            return
        while True:
            try:
                self._end_move(snapshot.volume)
            except exception.VolumeIsBusy as error:
                raise exception.SnapshotIsBusy(
                    snapshot_name=snapshot.name
                ) from error
            with self._still(snapshot):
                # Unlike that of a volume, a deletion stops no retype.
                if self._move_of(snapshot) is None:
                    if self._is_migrated(snapshot):
                        raise exception.SnapshotIsBusy(
                            snapshot_name=snapshot.name
                        )
                    self._delete_snapshot(snapshot)
                    return

    def _is_migrated(
        self, resource: objects.Volume | objects.Snapshot
    ) -> bool:
        """Return whether an administrator migrates an image."""
        name = records.image_of(resource)
        with contextlib.suppress(self.rbd.ImageNotFound):
            if self._of(resource)._is_moving(name):
                LOG.warning(
                    '%(resource)s is not deleted: librbd migrates image '
                    '%(image)s. Delete it when "rbd status" does not show the '
                    'migration any more.',
                    {'resource': resource.id, 'image': name},
                )
                return True
        return False

    def delete_volume(self, volume: objects.Volume) -> None:
        """See `delete_volume` of Cinder's driver; waits for a move to end.

        :raises exception.VolumeIsBusy: it, or a clone of it that must be
            flattened for that, moves for longer than that; an administrator
            migrates it; or it has a snapshot yet, whose deletion was refused.
        :raises exception.VolumeBackendAPIException: its image is still there.
        """
        if not self._drivers:
            super().delete_volume(volume)
            return
        self._end_move(volume)
        with self._still(volume):
            # A deletion with the snapshots goes on when that of one was
            # refused, and Cinder's driver puts the image with that snapshot
            # into the trash for ever.
            if records.has_snapshots(volume.id):
                raise exception.VolumeIsBusy(
                    f'Volume {volume.id} has a snapshot yet.'
                )
            # It would lose the snapshots of backups, which no image may that
            # the manager copies.
            if self._is_migrated(volume):
                raise exception.VolumeIsBusy(
                    f'Volume {volume.id} is migrated by librbd.'
                )
            with self._flattened(f'Volume {volume.id} is not deleted yet'):
                self._of(volume).delete_volume(volume)
            self._check_deleted(volume)

    @contextlib.contextmanager
    def _flattened(self, otherwise: str) -> collections.abc.Iterator[None]:
        """Say what is not done when Cinder's driver cannot flatten for it.

        :raises exception.VolumeIsBusy: librbd, or what moves, is in the way.
        """
        try:
            yield
        except self.rbd.ImageBusy as error:
            raise exception.VolumeIsBusy(f'{otherwise}: {error}.') from error

    def _check_deleted(self, volume: objects.Volume) -> None:
        """Check that a volume has no image any more.

        librbd (Ceph 16) says that an image is not found if it cannot put it
        into the trash, as in a full pool from which none was removed before;
        Cinder's driver takes that for deleted.
        """
        with (
            contextlib.suppress(self.rbd.ImageNotFound),
            rbd.RBDVolumeProxy(self._of(volume), volume.name, read_only=True),
        ):
            raise exception.VolumeBackendAPIException(
                data=f'Image {volume.name} could not be removed from RADOS '
                f'pool {self._pool_of(volume).rados_pool}. If the pool is '
                'full, raise its quota or add OSDs; then delete the volume '
                'again.'
            )

    # What concerns two pools

    def create_volume_from_snapshot(
        self, volume: objects.Volume, snapshot: objects.Snapshot
    ) -> dict:
        """See `create_volume_from_snapshot` of Cinder's driver.

        In another pool the clone becomes a copy before it is used: what a
        tier promises is no promise of reads from another one.

        :raises exception.VolumeIsBusy: the source cannot be read soon enough.
        """
        if not self._drivers:
            return super().create_volume_from_snapshot(volume, snapshot)
        driver = self._of_new(volume)
        with (
            self._readable(snapshot.volume, snapshot),
            self._flattened(f'Volume {volume.id} is not made'),
        ):
            copy = self._copy(volume, self._pool_of(snapshot))
            if copy is None:
                return driver.create_volume_from_snapshot(volume, snapshot)
            update = copy.of_snapshot(snapshot.volume_name, snapshot.name)
        copy.grow(snapshot.volume_size)
        return update

    def create_cloned_volume(
        self, volume: objects.Volume, src_vref: objects.Volume
    ) -> dict:
        """See `create_cloned_volume` of Cinder's driver.

        In another pool the clone becomes a copy before it is used.

        :raises exception.VolumeIsBusy: the source cannot be read soon enough.
        """
        if not self._drivers:
            return super().create_cloned_volume(volume, src_vref)
        driver = self._of_new(volume)
        with (
            self._readable(src_vref, src_vref),
            self._flattened(f'Volume {volume.id} is not made'),
        ):
            copy = self._copy(volume, self._pool_of(src_vref))
            if copy is None:
                return driver.create_cloned_volume(volume, src_vref)
            update = copy.of_volume(src_vref, self._of(src_vref))
        copy.grow(src_vref.size)
        return update

    def _copy(
        self, volume: objects.Volume, source: pools.BackendPool
    ) -> copies.Copy | None:
        """A copy of what is in another pool; None if a clone will do."""
        target = self._pool_of(volume)
        if target == source:
            return None
        return copies.Copy(
            volume=volume,
            source=source,
            target=target,
            driver=self._drivers[target.name],
        )

    def retype(
        self,
        context: cinder_context.RequestContext,
        volume: objects.Volume,
        new_type: objects.VolumeType,
        diff: dict | None,
        host: dict | None,
    ) -> tuple[bool, dict | None]:
        """Give a volume a type, and move it at once if that is in a new pool.

        :returns: (True, changes of the volume); (False, None) if it cannot be
            done in place, so that Cinder does what the migration policy says.
        :raises exception.CinderException: as Cinder's driver; the volume is
            where it was.
        """
        if not self._drivers:
            return super().retype(context, volume, new_type, diff, host)
        self._end_return(volume)
        target = self._pool_in((host or {}).get('host'))
        if target == self._pool_of(volume):
            with self._still(volume), self._images() as images:
                return retyping.stay(
                    images,
                    _move_between(volume, target, target),
                    lambda: self._of(volume).retype(
                        context, volume, new_type, diff, host
                    ),
                )
        driver = self._drivers[target.name]
        moved, update = self._move(
            volume,
            target,
            diff,
            lambda: driver.retype(context, volume, new_type, diff, host)[1],
        )
        # As where Cinder copies; it does not set it for a retype by a driver.
        if moved:
            update = {**(update or {}), 'migration_status': 'success'}
        return moved, update

    def migrate_volume(
        self,
        context: cinder_context.RequestContext,
        volume: objects.Volume,
        host: dict,
    ) -> tuple[bool, dict | None]:
        """See `migrate_volume` of Cinder's driver.

        To another pool of this backend a volume moves in place.

        :raises exception.VolumeIsBusy: it moves, and would be copied by the
            name that its move has.
        """
        if not self._drivers:
            return super().migrate_volume(context, volume, host)
        self._end_move(volume)
        driver = self._of(volume)
        backend = volume_utils.extract_host(host['host'], 'backend')
        if backend == self.host:
            target = self._pool_in(host['host'])
            if target != self._pool_of(volume):
                found = self._move(volume, target, None, lambda: None)
                if found[0]:
                    return found
        self._end_copying(volume)
        return driver.migrate_volume(context, volume, host)

    def before_volume_copy(
        self,
        context: cinder_context.RequestContext,
        src_vol: objects.Volume,
        dest_vol: objects.Volume,
        remote: str | None = None,
    ) -> None:
        """See `before_volume_copy` of Cinder; waits for a move to end.

        The copy gets the name of its source. While that moves, it would be
        taken for the copy, and its move would not end.

        :raises exception.VolumeIsBusy: it moves for longer than that.
        :raises exception.VolumeMigrationFailed: the copy would lack the end.
        """
        super().before_volume_copy(context, src_vol, dest_vol, remote)
        self._end_move(src_vol)
        if self._drivers and src_vol.encryption_key_id:
            self._check_copy(src_vol)

    def _check_copy(self, volume: objects.Volume) -> None:
        # Cinder (29.0.0) copies as many bytes as a volume has; an encrypted
        # image has as many behind its header, until it is extended.
        with rbd.RBDVolumeProxy(
            self._of(volume), volume.name, read_only=True
        ) as image:
            lacking_bytes = image.size() - volume.size * units.Gi
        if lacking_bytes > 0:
            raise exception.VolumeMigrationFailed(
                reason=f'volume {volume.id} is encrypted, and a copy by '
                f'Cinder would lack the last {lacking_bytes} bytes of its '
                'data. Attach a new volume to a server, and copy the data '
                'there.'
            )

    def update_migrated_volume(
        self,
        ctxt: cinder_context.RequestContext,
        volume: objects.Volume,
        new_volume: objects.Volume,
        original_volume_status: str,
    ) -> dict:
        """See `update_migrated_volume` of Cinder's driver."""
        return self._of(new_volume).update_migrated_volume(
            ctxt, volume, new_volume, original_volume_status
        )

    def _unended(self, wanted: moving.Move) -> list[str]:
        """Wait until neither an image nor a clone of it moves.

        :returns: a sentence if that takes too long.
        """
        names = [wanted.image]
        if self._moves.are_some():
            # Else it is said when the image is looked at.
            with (
                contextlib.suppress(self.rbd.Error),
                self._images() as images,
            ):
                names += [
                    one.image
                    for one in images.kin(wanted.source, wanted.image)
                ]
        ends = time.monotonic() + END_WITHIN_S
        return [
            moving.UNENDED
            if name == wanted.image
            else f'Its clone {name} moves.'
            for name in names
            if not self._moves.end(
                functools.partial(self._moves.has_none_of, name),
                within_s=max(0, ends - time.monotonic()),
            )
        ]

    @contextlib.contextmanager
    def _alone(
        self, images: moving.ClusterImages, wanted: moving.Move
    ) -> collections.abc.Iterator[None]:
        """While it is held, no clone of an image begins to move or is copied.

        :raises retyping.NotInPlace: one is now. Requests for the image wait
            meanwhile, so this is not waited for long.
        """
        kin = set()
        with contextlib.ExitStack() as held:
            # From here on, who is to read one sees it in `_readable`.
            held.enter_context(self._moves.beginning(wanted.image))
            with contextlib.suppress(self.rbd.Error):
                kin |= {
                    one.image
                    for one in images.kin(wanted.source, wanted.image)
                }
            ends = time.monotonic() + ALONE_WITHIN_S
            for name in kin:
                lock = _lock_of(name)
                while lock.owner == lock.READER:
                    if time.monotonic() > ends:
                        raise retyping.NotInPlace(
                            [f'A request reads its clone {name}.']
                        )
                    time.sleep(0.1)
            # In one order, so that no two moves wait for each other.
            for name in sorted({wanted.image, *kin}):
                lock = lockutils.internal_lock(f'tiers-move-{name}')
                if not lock.acquire(timeout=ALONE_WITHIN_S):
                    raise retyping.NotInPlace(
                        [f'A retype of {name}, or of its parent, begins.']
                    )
                held.callback(lock.release)
            yield

    def _move(
        self,
        volume: objects.Volume,
        target: pools.BackendPool,
        diff: dict | None,
        finish: collections.abc.Callable[[], dict | None],
    ) -> tuple[bool, dict | None]:
        source = self._pool_of(volume)
        wanted = _move_between(volume, source, target)
        try:
            reasons = retyping.objections(volume, diff)
            if not reasons:
                reasons = self._unended(wanted)
            if reasons:
                raise retyping.NotInPlace(reasons)
            with (
                _lock_of(volume.name).write_lock(),
                self._images(asks_manager=True) as images,
                self._alone(images, wanted),
            ):
                # A server may have got it while this waited.
                if reasons := retyping.objections(volume, diff):
                    raise retyping.NotInPlace(reasons)
                try:
                    update = retyping.move(
                        images,
                        wanted,
                        finish=finish,
                        state_of=records.state_of,
                    )
                except retyping.NotInPlace:
                    raise
                except Exception:
                    # The image may be in either pool.
                    self._moves.take_back(wanted)
                    raise
                self._moves.add(wanted)
                self._report.recount(source, target)
        except retyping.NotInPlace as error:
            LOG.warning(
                'Volume %(volume)s does not move in place to pool %(pool)s: '
                '%(reasons)s',
                {
                    'volume': volume.id,
                    'pool': target.name,
                    'reasons': error,
                },
            )
            return False, None
        LOG.info('Volume %s moves in place: %s.', volume.id, wanted)
        return True, update


def _move_between(
    volume: objects.Volume,
    source: pools.BackendPool,
    target: pools.BackendPool,
) -> moving.Move:
    return moving.Move(
        volume_id=volume.id,
        image=volume.name,
        source=source.rados_pool,
        target=target.rados_pool,
        tiers=(source.name, target.name),
    )


def _volume_id(resource: objects.Volume | objects.Snapshot) -> str:
    return getattr(resource, 'volume_id', resource.id)


def _lock_of(image: str) -> lockutils.ReaderWriterLock:
    """Return the lock of an image: a move writes, other requests read."""
    return lockutils.internal_fair_lock(f'tiers-{image}')
