# SPDX-License-Identifier: Apache-2.0

"""Work that a request leaves to a thread of its own.

Must not know what the work is. Uses `threading` and `queue` only, which
cinder-scheduler turns into green ones when it runs under eventlet.
"""

import collections.abc
import dataclasses
import queue
import threading
import time
import typing

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

Item = typing.TypeVar('Item')


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Later:
    """A call that is due at an instant of the monotonic clock."""

    call: collections.abc.Callable[[], float | None]
    at: float


class InBackground(typing.Generic[Item]):
    """A thread that handles items one by one, in the order they came.

    Safe for use by many threads. A process that ends does not wait for it.
    """

    def __init__(
        self,
        name: str,
        handle: collections.abc.Callable[[Item], None],
        *,
        queue_size: int,
    ) -> None:
        """Create a queue; the thread is started with the first item.

        :param handle: handles an item; its exceptions are logged and do not
            end the thread.
        :param queue_size: maximum number of waiting items.
        """
        self._name = name
        self._handle = handle
        self._queue_size = queue_size
        # To put into a Queue costs ten times as much.
        self._queue: queue.SimpleQueue[Item | threading.Event | _Later] = (
            queue.SimpleQueue()
        )
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def leave(self, item: Item) -> bool:
        """Queue an item.

        :param item: the item, which must not change any more.
        :returns: False if the queue was full and the item was dropped.
        :raises RuntimeError: the thread could not be started.
        """
        if self._thread is None:
            self._start()
        # A few more may slip in at one time, which does no harm.
        if self._queue.qsize() >= self._queue_size:
            return False
        self._queue.put(item)
        return True

    def call_later(
        self,
        call: collections.abc.Callable[[], float | None],
        after_s: float,
    ) -> None:
        """Have a function called in a while, between two items.

        One at a time: it takes the place of the one before.

        :param call: returns the seconds after which it is to be called again,
            or None; what it raises is logged.
        :param after_s: seconds until the first call.
        :raises RuntimeError: no thread can be started.
        """
        if self._thread is None:
            self._start()
        self._queue.put(_Later(call=call, at=time.monotonic() + after_s))

    def wait(self, timeout_s: float) -> bool:
        """Wait until all that was left so far has been handled.

        :param timeout_s: seconds to wait at most.
        :returns: whether it has been.
        """
        if self._thread is None:
            return True
        reached = threading.Event()
        self._queue.put(reached)
        return reached.wait(timeout_s)

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(
                    target=self._work, name=self._name, daemon=True
                )
                thread.start()
                self._thread = thread

    def _work(self) -> None:
        later: _Later | None = None
        while True:
            wait_s: float | None = None
            if later is not None:
                wait_s = later.at - time.monotonic()
                if wait_s <= 0:
                    later = self._call(later)
                    continue
            try:
                item = self._queue.get(timeout=wait_s)
            except queue.Empty:
                continue
            if isinstance(item, threading.Event):
                item.set()
            elif isinstance(item, _Later):
                later = item
            else:
                try:
                    self._handle(item)
                except Exception:
                    LOG.exception('%s failed.', self._name)
                # It may hold much, and the next may be long in coming.
                del item

    def _call(self, later: _Later) -> _Later | None:
        try:
            after_s = later.call()
        except Exception:
            LOG.exception('%s failed.', self._name)
            return None
        if after_s is None:
            return None
        return dataclasses.replace(later, at=time.monotonic() + after_s)
