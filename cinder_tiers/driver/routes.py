# SPDX-License-Identifier: Apache-2.0

"""Methods of Cinder's driver that are sent to the driver of a pool."""

import collections.abc
import contextlib
import inspect

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
    name: str, *, is_new: bool = False, ends_move: bool = False
) -> collections.abc.Callable:
    """A method of a volume or a snapshot, whose parameters Cinder may name.

    :param name: name of a method of Cinder's driver, whose first parameter
        besides a context is a volume or a snapshot.
    :param is_new: whether it makes the volume, and so is refused while the
        pool is full.
    :param ends_move: whether it waits until the volume does not move any more.
    """

    def method(self: rbd.RBDDriver, *args: object, **kwargs: object) -> object:
        of_cinder = inspect.signature(getattr(rbd.RBDDriver, name))
        given = of_cinder.bind(self, *args, **kwargs).arguments
        resource = next(
            value
            for parameter, value in given.items()
            if parameter not in ('self', 'context')
        )
        (self._end_move if ends_move else self._end_return)(resource)
        with self._still(resource):
            driver = (self._of_new if is_new else self._of)(resource)
            with _refusals_told(self, resource):
                return getattr(driver, name)(*args, **kwargs)

    return method
