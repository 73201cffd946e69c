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

"""Calls that may hang, held to a number.

Cinder's Glance client has no deadline for a whole call: without a configured
timeout it waits for ever, with one it retries. So a call runs in a thread of
its own, and who waits for it waits no longer than they like. Must not know
what is called. Uses `threading` only, which cinder-scheduler turns into green
threads when it runs under eventlet.
"""

import collections.abc
from concurrent import futures
import threading
import typing

Result = typing.TypeVar('Result')


class TooManyCalls(Exception):
    """As many calls as allowed are under way already."""


class BoundedCalls:
    """Runs calls in threads of their own, so many at a time.

    A call that nobody waits for any longer cannot be ended from outside: it
    counts as under way until it returns. Safe for use by many threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way = 0

    @property
    def under_way(self) -> int:
        """Number of calls that have not returned, abandoned ones included."""
        return self._under_way

    def start(self, function: collections.abc.Callable[[], Result], *,
              max_calls: int) -> 'futures.Future[Result]':
        """Start a call; its result or error will be in the future.

        :param function: what to call.
        :param max_calls: number of calls that may be under way, this one
            included.
        :raises TooManyCalls: at once, nothing was called.
        :raises RuntimeError: no thread can be started.
        """
        with self._lock:
            if self._under_way >= max_calls:
                raise TooManyCalls(f'{self._under_way} calls are under way, '
                                   f'at most {max_calls} are allowed')
            self._under_way += 1
        future: futures.Future[Result] = futures.Future()
        thread = threading.Thread(target=self._work, args=(function, future),
                                  name='cinder-tiers-call', daemon=True)
        try:
            thread.start()
        except BaseException:
            self._leave()
            raise
        return future

    def _work(self, function: collections.abc.Callable[[], Result],
              future: 'futures.Future[Result]') -> None:
        try:
            result = function()
        # Also what is no Exception is the waiter's: here nobody sees it.
        except BaseException as error:  # noqa: BLE001
            self._leave()
            future.set_exception(error)
        else:
            self._leave()
            future.set_result(result)

    def _leave(self) -> None:
        with self._lock:
            self._under_way -= 1
