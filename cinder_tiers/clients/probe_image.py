# SPDX-License-Identifier: Apache-2.0

"""A small RBD image of which the latency of single I/Os is measured.

It lies in a namespace of its own in the pool of a tier, so that whoever writes
to it can have a cephx user that sees no volume. Its writes are written through
and not acknowledged before they are on the OSDs (no cache of librbd), and OSDs
are told not to keep what is read. I/Os are started and waited for with a
bound, for librbd itself waits until an OSD answers.

Must not know when I/Os are done, nor what their latencies mean.
"""

import collections.abc
import contextlib
import threading
import time
import types

from cinder_tiers.clients import ceph_bindings
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors

# Of the image, and of the RBD namespace that it lies in.
NAME = catalogs.WATCH_IMAGE
#: Bytes of an I/O.
BLOCK_BYTES = 4096
# Key and value of the image's metadata that say that it is ours.
_OWNER_KEY = 'cinder-tiers'
_OWNER = 'watch'
_CACHE_KEY, _NO_CACHE = 'conf_rbd_cache', 'false'
# Objects of 4 MiB, each of which may lie on other OSDs.
_ORDER = 22
_SIZE_BYTES = 2**30
_OBJECT_BYTES = 2**_ORDER
# Of each object only so much is written, so that the image stays thin.
_USED_BYTES = 2**18
#: Places at which a block can lie.
PLACES = _SIZE_BYTES // _OBJECT_BYTES * (_USED_BYTES // BLOCK_BYTES)
# librados.h: the OSD need not keep it in its cache.
_FADVISE_DONTNEED = 0x20


class Operation:
    """An I/O under way, or its end."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._began_ns = time.monotonic_ns()
        self._ended_ns = 0
        #: negative errno of librbd; 0 or more if it went well
        self.result = 0

    def end(self, result: int) -> None:
        """Note that it is complete (called by a thread of librbd)."""
        self._ended_ns = time.monotonic_ns()
        self.result = result
        self._done.set()

    def wait(self, seconds: float) -> bool:
        """Wait some seconds at most; return whether it is complete."""
        return self._done.wait(max(seconds, 0.0))

    @property
    def took_s(self) -> float:
        """Since it began, up to its end or until now, in seconds."""
        ended = self._ended_ns if self._done.is_set() else time.monotonic_ns()
        return (ended - self._began_ns) / 1e9


class ProbeImage:
    """The open image; made by `opened`."""

    def __init__(self, image: ceph_bindings.OpenImage) -> None:
        self._image = image

    def write(self, place: int, data: bytes) -> Operation:
        """Begin a write with a flush; the operation ends with the flush.

        :param place: index of the block, less than `PLACES`.
        :param data: `BLOCK_BYTES` bytes.
        """
        operation = Operation()
        results: list[int] = []
        self._image.aio_write(
            data,
            _offset(place),
            lambda completion: results.append(completion.get_return_value()),
        )

        # A flush is complete after all writes that began before it.
        def flushed(completion: ceph_bindings.Completion) -> None:
            operation.end(min([*results, completion.get_return_value()]))

        self._image.aio_flush(flushed)
        return operation

    def read(self, place: int) -> Operation:
        """Begins a read.

        :param place: less than `PLACES`.
        """
        operation = Operation()

        def ended(
            completion: ceph_bindings.Completion, data: bytes | None
        ) -> None:
            del data
            operation.end(completion.get_return_value())

        self._image.aio_read(
            _offset(place), BLOCK_BYTES, ended, _FADVISE_DONTNEED
        )
        return operation


def _offset(place: int) -> int:
    objects = _SIZE_BYTES // _OBJECT_BYTES
    return place % objects * _OBJECT_BYTES + place // objects * BLOCK_BYTES


@contextlib.contextmanager
def opened(
    rbd: types.ModuleType,
    ioctx: ceph_bindings.OpenPool,
    *,
    data_pool: str | None,
) -> collections.abc.Iterator[ProbeImage]:
    """Open the image of a pool, and create it if necessary.

    :param ioctx: open pool; its namespace is changed.
    :param data_pool: pool for the data of the image; None: the same pool.
    :raises errors.ActionFailed: an image with this name is not ours.
    """
    _make_namespace(rbd, ioctx)
    ioctx.set_namespace(NAME)
    try:
        is_new = False
        rbd.RBD().create(
            ioctx,
            NAME,
            _SIZE_BYTES,
            _ORDER,
            old_format=False,
            # No lock: nobody has to be kept out, and no map of objects to be
            # written beside each new one.
            features=rbd.RBD_FEATURE_LAYERING,
            data_pool=data_pool,
        )
        is_new = True
    except rbd.ImageExists:
        pass
    with rbd.Image(ioctx, NAME) as image:
        found = _metadata(rbd, image)
        if is_new or _is_unfinished(image, found):
            image.metadata_set(_OWNER_KEY, _OWNER)
        else:
            _check_owner(found)
        if found.get(_CACHE_KEY) != _NO_CACHE:
            image.metadata_set(_CACHE_KEY, _NO_CACHE)
    # The option is in effect from the next opening on.
    with rbd.Image(ioctx, NAME) as image:
        yield ProbeImage(image)


def remove(rbd: types.ModuleType, ioctx: ceph_bindings.OpenPool) -> bool:
    """Remove the image of a pool and its namespace.

    :param ioctx: open pool; its namespace is changed.
    :returns: whether there was an image.
    :raises errors.ActionFailed: an image with this name is not ours.
    """
    ioctx.set_namespace(NAME)
    try:
        with rbd.Image(ioctx, NAME, read_only=True) as image:
            found = _metadata(rbd, image)
            if not _is_unfinished(image, found):
                _check_owner(found)
        rbd.RBD().remove(ioctx, NAME)
    except rbd.ImageNotFound:
        return False
    ioctx.set_namespace('')
    # Who may write the image only may not remove its namespace; it is empty,
    # unless another user has put something into it.
    with contextlib.suppress(rbd.Error):
        rbd.RBD().namespace_remove(ioctx, NAME)
    return True


def _make_namespace(
    rbd: types.ModuleType, ioctx: ceph_bindings.OpenPool
) -> None:
    try:
        if not rbd.RBD().namespace_exists(ioctx, NAME):
            rbd.RBD().namespace_create(ioctx, NAME)
    except rbd.PermissionError:
        # A user of the namespace alone; an administrator has made it.
        return


def _metadata(
    rbd: types.ModuleType, image: ceph_bindings.OpenImage
) -> dict[str, str]:
    """{key: value} of an image.

    :raises errors.ActionFailed: it cannot be read.
    """
    try:
        return dict(image.metadata_list())
    except rbd.Error as error:
        raise errors.ActionFailed(
            f'The metadata of image {NAME}/{NAME} cannot be read: {error}'
        ) from error


def _is_unfinished(
    image: ceph_bindings.OpenImage, metadata: collections.abc.Mapping[str, str]
) -> bool:
    """Return whether a process was killed while it created the image.

    It lies in the namespace of the watch and has its size, but no metadata.
    """
    return not metadata and image.size() == _SIZE_BYTES


def _check_owner(metadata: collections.abc.Mapping[str, str]) -> None:
    """Refuses an image that cinder-tiers did not create.

    :raises errors.ActionFailed: it lacks the ownership marker.
    """
    if metadata.get(_OWNER_KEY) != _OWNER:
        raise errors.ActionFailed(
            f'An image {NAME}/{NAME} exists that cinder-tiers did not '
            f'create: its metadata lacks {_OWNER_KEY}={_OWNER}; rename or '
            'remove it'
        )
