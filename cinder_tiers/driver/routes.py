# SPDX-License-Identifier: Apache-2.0

"""Methods of Cinder's driver that are sent to the driver of a pool."""

import collections.abc
import contextlib

from cinder import context as cinder_context
from cinder import exception
from cinder import objects
from cinder.volume.drivers import rbd

from cinder_tiers.driver import startup


@contextlib.contextmanager
def _refusals_told(
    self: rbd.RBDDriver, resource: objects.Volume | objects.Snapshot
) -> collections.abc.Iterator[None]:
    """Say which rights the user of a backend with pools lacks.

    :raises exception.VolumeBackendAPIException: Ceph refuses for that.
    """
    try:
        yield
    except self.rbd.PermissionError as error:
        if not self._drivers:
            raise
        text = startup.without_rights(
            self.configuration.rbd_user, self._pool_of(resource).rados_pool
        )
        raise exception.VolumeBackendAPIException(
            data=f'{error} {text} Or it lacks rights in the pool of the '
            'source, such as that of images.'
        ) from error


def of_its_pool(
    name: str, *, is_new: bool = False
) -> collections.abc.Callable:
    """A method whose first argument is a volume or a snapshot.

    :param is_new: whether it makes the volume, and so is refused while the
        pool is full.
    """

    def method(
        self: rbd.RBDDriver,
        resource: objects.Volume | objects.Snapshot,
        *args: object,
        **kwargs: object,
    ) -> object:
        with self._still(resource):
            driver = (self._of_new if is_new else self._of)(resource)
            with _refusals_told(self, resource):
                return getattr(driver, name)(resource, *args, **kwargs)

    return method


def with_context(
    name: str, *, is_new: bool = False
) -> collections.abc.Callable:
    """A method whose second argument is a volume.

    :param is_new: as for `of_its_pool`.
    """

    def method(
        self: rbd.RBDDriver,
        context: cinder_context.RequestContext,
        volume: objects.Volume,
        *args: object,
        **kwargs: object,
    ) -> object:
        with self._still(volume):
            driver = (self._of_new if is_new else self._of)(volume)
            with _refusals_told(self, volume):
                return getattr(driver, name)(context, volume, *args, **kwargs)

    return method
