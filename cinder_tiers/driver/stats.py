# SPDX-License-Identifier: Apache-2.0

"""Statistics of a backend and its pools, for the scheduler."""

import collections.abc

from cinder import context as cinder_context
from cinder import exception
from cinder.volume.drivers import rbd
from oslo_log import log as logging

from cinder_tiers.domain import limits_by_size
from cinder_tiers.driver import capacity
from cinder_tiers.driver import monitors
from cinder_tiers.driver import pool as pool_driver
from cinder_tiers.driver import pools
from cinder_tiers.driver import startup

LOG = logging.getLogger(__name__)


class Stats:
    """Reports a backend.

    :param found: pools of the backend.
    :param drivers: {name of the pool in Cinder: its driver}.
    """

    def __init__(
        self,
        backend: rbd.RBDDriver,
        found: collections.abc.Sequence[pools.BackendPool],
        drivers: collections.abc.Mapping[str, pool_driver.PoolDriver],
    ) -> None:
        self._backend = backend
        self._pools = found
        self._drivers = drivers
        self._recounted: set[str] = set()
        #: RADOS pools that took no writes when they were last looked at.
        self._full: frozenset[str] = frozenset()
        #: {RADOS pool: pool of its data}
        self._data_pools = {pool.rados_pool: pool.rados_pool for pool in found}

    @property
    def rados_pools(self) -> frozenset[str]:
        """The RADOS pools of the backend, with those of the data."""
        return frozenset(self._data_pools) | {*self._data_pools.values()}

    def look_for_data_pools(self, cluster: 'rbd.rados.Rados') -> None:
        """See which RADOS pools have the data of the pools.

        :param cluster: connected.
        """
        self._data_pools = {
            name: monitors.data_pool(self._backend, cluster, name)
            for name in self._data_pools
        }

    def recount(self, *changed: pools.BackendPool) -> None:
        """Count what is in these pools, from now on.

        Cinder's manager leaves a retyped volume in the count of its old pool
        until it starts again, and the scheduler takes that count for what is
        provisioned where nothing else is reported.
        """
        self._recounted |= {pool.name for pool in changed}

    def full_pools_of(self, pool: pools.BackendPool) -> list[str]:
        """Names of the RADOS pools of a pool that take no writes.

        As far as is known: asks the cluster only of one that was full when it
        last reported.

        :raises exception.VolumeBackendAPIException: it does not answer.
        """
        names = {pool.rados_pool, self._data_pools[pool.rados_pool]}
        if names & self._full:
            with monitors.connected(self._backend) as cluster:
                self._look_for_full(cluster)
        return sorted(names & self._full)

    def _look_for_full(self, cluster: 'rbd.rados.Rados') -> None:
        self._full = frozenset(
            startup.full(
                self.rados_pools,
                monitors.ask(cluster, 'osd pool ls', detail='detail'),
            )
        )

    def now(self) -> dict:
        """Return what is reported now."""
        backend = self._backend
        common = {
            'vendor_name': 'Open Source',
            'driver_version': backend.VERSION,
            'storage_protocol': backend.STORAGE_PROTOCOL,
            'replication_enabled': False,
            'qos_support': backend._supports_qos(),
            limits_by_size.CAPABILITY: backend._supports_qos(),
        }
        get = backend.configuration.safe_get
        try:
            with monitors.connected(backend) as cluster:
                fsid = cluster.get_fsid()
                df = monitors.ask(cluster, 'df', detail='detail')
                self._look_for_full(cluster)
            sizes = capacity.capacities(
                df, is_dynamic=get('report_dynamic_total_capacity')
            )
            state = 'up'
        except (backend.rados.Error, exception.VolumeBackendAPIException):
            LOG.exception('The sizes of the pools could not be read.')
            fsid, sizes, state = None, {}, 'down'
        return {
            **common,
            'volume_backend_name': (
                get('volume_backend_name') or backend.__class__.__name__
            ),
            'backend_state': state,
            'pools': [
                {
                    **common,
                    **self._of_pool(
                        pool,
                        fsid,
                        sizes.get(self._data_pools[pool.rados_pool]),
                    ),
                }
                for pool in self._pools
            ],
        }

    def _of_pool(
        self,
        pool: pools.BackendPool,
        fsid: str | None,
        size: tuple[float, float] | None,
    ) -> dict:
        get = self._backend.configuration.safe_get
        free, total = size or ('unknown', 'unknown')
        found = {
            'pool_name': pool.name,
            'volume_backend_name': pool.name,
            'location_info': ':'.join(
                str(part)
                for part in (
                    get('rbd_cluster_name'),
                    get('rbd_ceph_conf'),
                    fsid,
                    get('rbd_user'),
                    pool.rados_pool,
                )
            ),
            'free_capacity_gb': free,
            'total_capacity_gb': total,
            'reserved_percentage': get('reserved_percentage'),
            'max_over_subscription_ratio': get('max_over_subscription_ratio'),
            'multiattach': True,
            'thin_provisioning_support': True,
            'backend_state': 'up' if size else 'down',
        }
        if size and not get('rbd_exclusive_cinder_pool'):
            found |= self._usage(pool)
        elif pool.name in self._recounted:
            found['provisioned_capacity_gb'] = self._gib_of_volumes(pool)
        return found

    def _usage(self, pool: pools.BackendPool) -> dict:
        """Count all images of a pool, also those that are not Cinder's."""
        try:
            provisioned = self._drivers[pool.name]._get_usage_info()
        except (
            self._backend.rbd.Error,
            exception.VolumeBackendAPIException,
        ):
            # The other pools are reported.
            LOG.exception('The images of pool %s are not known.', pool.name)
            return {'backend_state': 'down'}
        return {'provisioned_capacity_gb': provisioned}

    def _gib_of_volumes(self, pool: pools.BackendPool) -> int:
        _, size = self._backend.db.volume_data_get_for_host(
            cinder_context.get_admin_context(),
            f'{self._backend.host}#{pool.name}',
        )
        return int(size)
