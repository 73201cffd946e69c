# SPDX-License-Identifier: Apache-2.0

"""Connects to a cluster, and asks its monitors."""

import collections.abc
import contextlib
import errno
import json
import typing

from cinder import exception
from cinder import utils as cinder_utils
from cinder.volume.drivers import rbd
from oslo_log import log as logging

from cinder_tiers.domain import record

LOG = logging.getLogger(__name__)

if hasattr(cinder_utils, 'tpool_wrap'):
    tpool_wrap = cinder_utils.tpool_wrap
else:  # before Cinder 29
    tpool_wrap = rbd.tpool.Proxy

#: Those that `rados_connect_timeout` sets, in seconds: of OSDs, ...
_OSD_TIMEOUT = 'rados_osd_op_timeout'
_TIMEOUTS = (_OSD_TIMEOUT, 'client_mount_timeout')
#: ... of monitors, and of the manager.
_ANSWER_TIMEOUT = 'rados_mon_op_timeout'
_DATA_POOL = 'rbd_default_data_pool'


@contextlib.contextmanager
def connected(
    driver: rbd.RBDDriver,
    *,
    asks_manager: bool = False,
    osd_timeout_s: int | None = None,
) -> collections.abc.Iterator['rbd.rados.Rados']:
    """Connect to a cluster, whichever of its pools are gone.

    Cinder's driver connects to a pool of it.

    :param driver: how often it tries, and as whom, is that of its options.
    :param asks_manager: whether commands are sent to the manager. They have no
        timeout then: if the manager answers after it, librados (Ceph 16)
        writes the answer to where it is not expected any more, and ends the
        process.
    :param osd_timeout_s: after which a request to an OSD fails, in seconds;
        that of its options unless given.
    :raises exception.VolumeBackendAPIException: it does not succeed.
    """
    name, conf, user, _ = driver._get_config_tuple()
    options = driver.configuration

    @cinder_utils.retry(
        exception.VolumeBackendAPIException,
        options.rados_connection_interval,
        options.rados_connection_retries,
    )
    def connect() -> 'rbd.rados.Rados':
        cluster = tpool_wrap(
            driver.rados.Rados(rados_id=user, clustername=name, conffile=conf)
        )
        try:
            if options.rados_connect_timeout >= 0:
                for option in (
                    *_TIMEOUTS,
                    *(() if asks_manager else (_ANSWER_TIMEOUT,)),
                ):
                    cluster.conf_set(
                        option, str(options.rados_connect_timeout)
                    )
            if osd_timeout_s is not None:
                cluster.conf_set(_OSD_TIMEOUT, str(osd_timeout_s))
            cluster.connect()
        except driver.rados.Error as error:
            # Else the threads and sockets of librados stay.
            cluster.shutdown()
            LOG.warning(
                'Connecting to the cluster of %(conf)s failed: %(error)s.',
                {'conf': conf, 'error': error},
            )
            raise exception.VolumeBackendAPIException(
                data=f'Cannot connect to the cluster of {conf} as {user}: '
                f'{error}.'
            ) from error
        return cluster

    try:
        cluster = connect()
    except driver.rados.Error as error:
        raise exception.VolumeBackendAPIException(
            data=f'Cannot use {conf} to connect to its cluster: {error}.'
        ) from error
    try:
        yield cluster
    finally:
        cluster.shutdown()


def has_manager(cluster: 'rbd.rados.Rados') -> bool:
    """Return whether a manager is active.

    librados lets a command to it wait until one is, for days.

    :param cluster: connected.
    :raises exception.VolumeBackendAPIException: the monitors refuse.
    """
    return bool(ask(cluster, 'status')['mgrmap']['available'])


def data_pool(
    driver: rbd.RBDDriver, cluster: 'rbd.rados.Rados', rados_pool: str
) -> str:
    """Name of the RADOS pool that gets the data of new images of a pool.

    That of an erasure coded tier keeps their headers only.

    :param cluster: connected.
    :param rados_pool: pool of the images.
    """
    with contextlib.closing(cluster.open_ioctx(rados_pool)) as ioctx:
        try:
            return driver.RBDProxy().pool_metadata_get(
                ioctx, f'conf_{_DATA_POOL}'
            )
        except (KeyError, driver.rbd.ImageNotFound):
            return cluster.conf_get(_DATA_POOL) or rados_pool


def ask(
    cluster: 'rbd.rados.Rados', prefix: str, **arguments: str
) -> typing.Any:
    """Let the monitors answer a command.

    :param cluster: connected.
    :returns: the parsed JSON of the answer.
    :raises exception.VolumeBackendAPIException: they refuse.
    """
    code, answer, text = cluster.mon_command(
        json.dumps({'prefix': prefix, 'format': 'json', **arguments}), b''
    )
    if code:
        raise exception.VolumeBackendAPIException(
            data=f'The monitors refused "{prefix}" '
            f'({errno.errorcode.get(abs(code), code)}): {text}.'
        )
    return record.parsed(answer)
