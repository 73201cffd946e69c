# SPDX-License-Identifier: Apache-2.0

"""Methods of Cinder's driver that are sent to the driver of a pool."""

import collections.abc

from cinder import context as cinder_context
from cinder import objects
from cinder.volume.drivers import rbd


def of_its_pool(
    name: str, *, writes: bool = False
) -> collections.abc.Callable:
    """A method whose first argument is a volume or a snapshot.

    :param writes: whether it would wait for ever for a pool that is full.
    """

    def method(
        self: rbd.RBDDriver,
        resource: objects.Volume | objects.Snapshot,
        *args: object,
        **kwargs: object,
    ) -> object:
        with self._still(resource):
            if writes:
                self._refuse_full(resource)
            return getattr(self._of(resource), name)(resource, *args, **kwargs)

    return method


def with_context(
    name: str, *, writes: bool = False
) -> collections.abc.Callable:
    """A method whose second argument is a volume.

    :param writes: as for `of_its_pool`.
    """

    def method(
        self: rbd.RBDDriver,
        context: cinder_context.RequestContext,
        volume: objects.Volume,
        *args: object,
        **kwargs: object,
    ) -> object:
        with self._still(volume):
            if writes:
                self._refuse_full(volume)
            return getattr(self._of(volume), name)(
                context, volume, *args, **kwargs
            )

    return method
