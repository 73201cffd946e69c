# SPDX-License-Identifier: Apache-2.0
"""Waits until a service that runs also answers."""

from collections.abc import Callable
import time

#: Only what hangs reaches it: on two cores that other work shares, a service
#: that starts in 10 s was seen to take more than a minute.
LIMIT_SECONDS = 180.0


class NotReady(Exception):
    """A service runs, but did not answer in time."""


def wait_until(
    answers: Callable[[], bool],
    what: str,
    timeout_seconds: float = LIMIT_SECONDS,
    interval_seconds: float = 0.2,
) -> None:
    """Wait for something to become true.

    :param what: names it for the error, with the log to look at.
    :raises NotReady: it did not within the time.
    """
    deadline = time.monotonic() + timeout_seconds
    while not answers():
        if time.monotonic() > deadline:
            raise NotReady(f'{what}: no answer within {timeout_seconds:.0f} s')
        time.sleep(interval_seconds)
