# SPDX-License-Identifier: Apache-2.0

"""Protocols of the parts of rados and rbd, Ceph's modules, that are used.

No package index has them, and they come without types.
"""

import collections.abc
import contextlib
import typing

#: Of a command: an errno that is negative or 0, the output, and words.
Answer: typing.TypeAlias = tuple[int, bytes, str]


class StoredObject(typing.Protocol):
    """An object of a pool."""

    key: str


class OpenPool(typing.Protocol):
    """An open pool (rados.Ioctx)."""

    def set_namespace(self, nspace: str) -> None:
        """Changes where it reads and writes."""

    def list_objects(self) -> collections.abc.Iterator[StoredObject]:
        """Names all objects of the namespace."""


class Handle(typing.Protocol):
    """A connection (rados.Rados)."""

    def mon_command(self, cmd: str, inbuf: bytes) -> Answer:
        """Asks the monitors."""

    def mgr_command(self, cmd: str, inbuf: bytes) -> Answer:
        """Asks the manager."""

    def shutdown(self) -> None:
        """Close the connection."""

    def osd_command(
        self, osdid: int, cmd: str, inbuf: bytes, timeout: int
    ) -> Answer:
        """Asks an OSD."""

    def open_ioctx(
        self, ioctx_name: str
    ) -> contextlib.AbstractContextManager[OpenPool]:
        """Opens a pool."""

    def pool_reverse_lookup(self, pool_id: int) -> str:
        """Name of a pool."""


class Completion(typing.Protocol):
    """The end of an I/O (rbd.Completion)."""

    def get_return_value(self) -> int:
        """Negative: an errno."""


class OpenImage(typing.Protocol):
    """An open RBD image (rbd.Image)."""

    def size(self) -> int:
        """Return the size in bytes."""

    def features(self) -> int:
        """Bits, RBD_FEATURE_*."""

    def flags(self) -> int:
        """Bits, RBD_FLAG_*."""

    def diff_iterate(
        self,
        offset: int,
        length: int,
        from_snapshot: str | None,
        iterate_cb: collections.abc.Callable[[int, int, bool], None],
        include_parent: bool = True,
        whole_object: bool = False,
    ) -> None:
        """Calls for each extent that exists."""

    def metadata_list(self) -> collections.abc.Iterable[tuple[str, str]]:
        """Key and value of each."""

    def metadata_set(self, key: str, value: str) -> None:
        """Sets one, for all who have the image open."""

    def metadata_remove(self, key: str) -> None:
        """Removes one; a KeyError if there is none."""

    def aio_write(
        self,
        data: bytes,
        offset: int,
        oncomplete: collections.abc.Callable[[Completion], None],
    ) -> Completion:
        """Begins a write."""

    def aio_read(
        self,
        offset: int,
        length: int,
        oncomplete: collections.abc.Callable[[Completion, bytes | None], None],
        fadvise_flags: int = 0,
    ) -> Completion:
        """Begins a read."""

    def aio_flush(
        self, oncomplete: collections.abc.Callable[[Completion], None]
    ) -> Completion:
        """Begins a flush."""
