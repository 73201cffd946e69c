# SPDX-License-Identifier: Apache-2.0

"""Single paced I/Os to one tier, window by window.

One I/O is under way at a time. While it has no completion no other is begun:
its age is what is reported, and a window ends in time whatever the storage
does. Must not know what the latencies mean, nor how an I/O is done.
"""

import os
import random
import time
import typing

from cinder_tiers.loop.watch import series


class _Operation(typing.Protocol):
    @property
    def result(self) -> int:
        """Negative: its error."""

    @property
    def took_s(self) -> float:
        """Seconds up to its end, or until now."""

    def wait(self, seconds: float) -> bool:
        """Wait some seconds at most; return whether it is complete."""


class ProbedImage(typing.Protocol):
    """Image for I/Os, such as ``clients.probe_image.ProbeImage``."""

    def write(self, place: int, data: bytes) -> _Operation:
        """Begins a write with a flush."""

    def read(self, place: int) -> _Operation:
        """Begins a read."""


class Stop(typing.Protocol):
    """Signal that the watch must end, such as ``threading.Event``."""

    def wait(self, timeout: float) -> bool:
        """Wait some seconds at most; return whether the watch must end."""

    def is_set(self) -> bool:
        """Return whether the watch must end."""


class Probe:
    """Sends the I/Os of one tier.

    :param image: image that they use.
    :param places: number of blocks in it.
    :param block_bytes: size of an I/O.
    :param stop: ends a window early.
    """

    # How long a stop may go unseen while an I/O is waited for, in seconds.
    _LOOK_EVERY_S = 0.5

    def __init__(
        self, image: ProbedImage, *, places: int, block_bytes: int, stop: Stop
    ) -> None:
        self._image = image
        self._places = places
        self._block_bytes = block_bytes
        self._stop = stop
        self._written: list[int] = []
        self._under_way: tuple[str, _Operation] | None = None

    def window(
        self, *, seconds: float, interval_s: float
    ) -> series.TierWindow:
        """Write and read for some seconds.

        :param seconds: length of the window.
        :param interval_s: seconds from one pair of a write and a read to the
            next.
        """
        began_at = time.time()
        until = time.monotonic() + seconds
        next_at = time.monotonic()
        latencies: dict[str, list[float]] = {'write': [], 'read': []}
        failed = 0
        while not self._stop.is_set():
            if self._under_way is None:
                rest_s = min(next_at, until) - time.monotonic()
                if rest_s > 0 and self._stop.wait(rest_s):
                    break
                if time.monotonic() >= until:
                    break
                next_at = max(next_at + interval_s, time.monotonic())
                self._begin('write')
            ended = self._ended(until)
            if ended is None:
                break
            direction, operation = ended
            if operation.result < 0:
                failed += 1
            else:
                latencies[direction].append(operation.took_s * 1000)
            if direction == 'write':
                self._begin('read')
        left = self._under_way
        return series.TierWindow(
            began_at=began_at,
            write_ms=tuple(latencies['write']),
            read_ms=tuple(latencies['read']),
            pending=left[0] if left else '',
            pending_s=left[1].took_s if left else 0.0,
            failed=failed,
        )

    def _begin(self, direction: str) -> None:
        if direction == 'write':
            place = random.randrange(self._places)  # noqa: S311
            if len(self._written) < self._places:
                self._written.append(place)
            operation = self._image.write(place, os.urandom(self._block_bytes))
        else:
            # What was never written is not on any disk.
            place = random.choice(self._written)  # noqa: S311
            operation = self._image.read(place)
        self._under_way = direction, operation

    def _ended(self, until: float) -> tuple[str, _Operation] | None:
        """The I/O under way; None if it does not end before its window."""
        found = self._under_way
        while found is not None and not self._stop.is_set():
            rest_s = until - time.monotonic()
            if found[1].wait(min(max(rest_s, 0.0), self._LOOK_EVERY_S)):
                self._under_way = None
                return found
            if rest_s <= 0:
                break
        return None
