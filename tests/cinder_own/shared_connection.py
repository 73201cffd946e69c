# SPDX-License-Identifier: Apache-2.0

"""Keeps Cinder's test database open while a thread of ours reads it.

All threads of a Cinder test share one connection to an sqlite database in
memory, and the fixture closes it at the end of the test. Who closes it while
another thread executes a statement ends the process with SIGSEGV, and a thread
that only comes to it later reads, or makes, the database of the next test. No
thread of Cinder 29.0.0 outlives its test, but ours, which look at availability
zones in the background, do. A real database has a connection for each thread.
"""

import collections
import sys
import threading
import time

from sqlalchemy import event
from sqlalchemy import pool

from cinder_tiers.doors.threads import in_background

#: No statement of a test takes so long.
MOST_SECONDS = 60
#: A pool asks whether the connection is alive before its event "checkout".
_CHECKOUT = pool.base._ConnectionFairy._checkout.__func__.__code__
_LOOK_AGAIN_SECONDS = 0.01

_changed = threading.Condition()
_users: collections.Counter[int] = collections.Counter()


def _checked_out(_connection, _record, _proxy):
    with _changed:
        _users[threading.get_ident()] += 1


def _checked_in(_connection, _record):
    with _changed:
        _users[threading.get_ident()] -= 1
        _changed.notify_all()


def _checks_out(ident):
    frame = sys._current_frames().get(ident)
    while frame is not None and frame.f_code is not _CHECKOUT:
        frame = frame.f_back
    return frame is not None


def _wait_for_our_threads():
    """Wait until they have done what the test left to them.

    :raises RuntimeError: one of them does not come to the end of it
    """
    for thread in threading.enumerate():
        owner = getattr(getattr(thread, '_target', None), '__self__', None)
        if (
            isinstance(owner, in_background.InBackground)
            and thread is not threading.current_thread()
            and not owner.wait(MOST_SECONDS)
        ):
            raise RuntimeError(
                f'{thread.name} still works after {MOST_SECONDS} s, and the '
                'test that left it something to do is over.'
            )


def _wait_for_others(_connection, _record):
    """Wait until only the thread that closes it may use the connection.

    :raises RuntimeError: another thread does not let it go
    """
    _wait_for_our_threads()
    mine = threading.get_ident()

    def is_free():
        alive = {thread.ident for thread in threading.enumerate()} - {mine}
        return not any(
            _users[ident] > 0 or _checks_out(ident) for ident in alive
        )

    most = time.monotonic() + MOST_SECONDS
    with _changed:
        while not _changed.wait_for(is_free, _LOOK_AGAIN_SECONDS):
            if time.monotonic() > most:
                raise RuntimeError(
                    'A thread still uses the connection that a test closes; '
                    f'uses by thread: {dict(_users)}.'
                )


def keep_open_while_used():
    """From now on, for each connection of this process."""
    event.listen(pool.Pool, 'checkout', _checked_out)
    event.listen(pool.Pool, 'checkin', _checked_in)
    event.listen(pool.Pool, 'close', _wait_for_others)
