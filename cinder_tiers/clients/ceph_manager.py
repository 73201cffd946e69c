# SPDX-License-Identifier: Apache-2.0

"""Asks the manager of a Ceph cluster, in a bounded time."""

import collections.abc
import queue
import threading

from cinder_tiers.clients import ceph_bindings


class Manager:
    """The manager, over a connection of its own without a timeout.

    If the manager answers a command after `rados_mon_op_timeout`, librados
    (Ceph 16) writes the answer to memory that it has freed, and ends the
    process. So a thread waits for the answer, for as long as it takes.

    :param connect: opens a connection that has not that timeout.
    """

    def __init__(
        self, connect: collections.abc.Callable[[], ceph_bindings.Handle]
    ) -> None:
        self._connect = connect
        self._handle: ceph_bindings.Handle | None = None
        self._waiting: threading.Thread | None = None

    def ask(
        self, request: str, *, timeout_s: float
    ) -> ceph_bindings.Answer | None:
        """Run a command.

        :returns: None if there was no answer in time, or an earlier command
            still waits for one.
        :raises Exception: what librados raises.
        """
        if self._waiting and self._waiting.is_alive():
            return None
        if self._handle is None:
            self._handle = self._connect()
        handle = self._handle
        answers: queue.SimpleQueue[ceph_bindings.Answer | Exception] = (
            queue.SimpleQueue()
        )

        def wait() -> None:
            try:
                answers.put(handle.mgr_command(request, b''))
            except Exception as error:  # noqa: BLE001 - raised below
                answers.put(error)

        # A daemon: a manager that never answers must not keep the process.
        self._waiting = threading.Thread(
            target=wait, name='cinder-tiers-ceph-manager', daemon=True
        )
        self._waiting.start()
        try:
            answer = answers.get(timeout=timeout_s)
        except queue.Empty:
            return None
        # It ends now; the next command must not find it waiting.
        self._waiting.join()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        """Close the connection, unless a command still waits there."""
        if self._waiting:
            self._waiting.join(1)
        if self._handle and not (self._waiting and self._waiting.is_alive()):
            self._handle.shutdown()
