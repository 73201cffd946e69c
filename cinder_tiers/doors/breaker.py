# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""A circuit breaker: no more calls to who has failed again and again.

Must not know who is called nor what an error is. Not safe by itself for many
threads: its user holds a lock.
"""

import collections.abc
import time


class CircuitBreaker:
    """Counts failures in a row; from a number on it lets few calls through.

    While it is open one call in `retry_s` seconds is let through. The first
    that succeeds closes it.
    """

    def __init__(self, clock: collections.abc.Callable[[], float]
                 = time.monotonic) -> None:
        """A closed one.

        :param clock: seconds since any instant.
        """
        self._clock = clock
        self._failures = 0
        self._last_attempt = 0.0

    def admits(self, *, failures: int, retry_s: float) -> bool:
        """Whether a call may be made now; the caller then makes it.

        :param failures: failures in a row that open it.
        :param retry_s: seconds between two attempts while it is open.
        """
        now = self._clock()
        if (self._failures >= failures
                and now - self._last_attempt < retry_s):
            return False
        self._last_attempt = now
        return True

    def succeeded(self) -> None:
        """A call has succeeded."""
        self._failures = 0

    def failed(self) -> None:
        """A call has failed."""
        self._failures += 1
        self._last_attempt = self._clock()
