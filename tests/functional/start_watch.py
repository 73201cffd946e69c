# SPDX-License-Identifier: Apache-2.0
"""When guests begin their load, on one clock outside of all guests.

A guest prints ``@start SLOT`` when its fio begins.  QEMU writes what a guest
prints on its serial console to a file at once; here the files are looked at
again and again, and the time of the host is taken.  Nothing of that is used by
the guests to agree on their start.

As a program, beside a run: ``python3 start_watch.py FOLDER``, where FOLDER has
Nova's instances; it prints a line for each start and, when it is stopped, one
for each slot.
"""

import contextlib
import dataclasses
import os
import pathlib
import re
import signal
import sys
import threading
import time

_PAUSE_SECONDS = 0.002
_LIST_SECONDS = 0.5
_START = re.compile(rb'@start ([0-9]{1,6})')
# What tells the guest: any of its framed lines.
_GUEST = re.compile(rb'@ctiers [0-9a-f]{16} [0-9a-f]+ (g[0-9]+) ')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Start:
    """One guest's start, as it was seen.

    :ivar guest: its name in the run
    :ivar slot: number of the slot
    :ivar seconds: of the host's monotonic clock, when it was read
    :ivar since_seconds: when the console was looked at before; the start was
        printed in between
    """

    guest: str
    slot: int
    seconds: float
    since_seconds: float


class _Console:
    def __init__(self, path, since_seconds):
        self._file = path.open('rb', buffering=0)
        self._rest = b''
        self._guest = '?'
        self._looked_at = since_seconds

    def look(self):
        """What began since the last look."""
        before, self._looked_at = self._looked_at, time.monotonic()
        text = self._file.read()
        seen_at = time.monotonic()
        *lines, self._rest = (self._rest + text).split(b'\n')
        for line in lines:
            if found := _GUEST.search(line):
                self._guest = found[1].decode()
            elif found := _START.search(line):
                yield Start(
                    guest=self._guest,
                    slot=int(found[1]),
                    seconds=seen_at,
                    since_seconds=before,
                )

    def close(self):
        self._file.close()


class StartWatch:
    """Watches while it is entered; ``starts`` is what it saw.

    With numjobs, each of fio's processes prints its start.
    """

    def __init__(self, folder, told=lambda start: None):
        """Watch nothing yet.

        :param folder: with Nova's instances; they may come and go
        :param told: called with each ``Start``
        """
        self._folder = pathlib.Path(folder)
        self._told = told
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.starts = []

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._stop.set()
        self._thread.join()

    def of_slot(self, number):
        """{guest: its last start in the slot, a ``Start``}"""
        return {
            start.guest: start for start in self.starts if start.slot == number
        }

    def _watch(self):
        # Of this thread alone. The machine is busy just when it matters. Who
        # may not, looks less often, and since_seconds tells.
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        consoles, listed_at = {}, time.monotonic() - _LIST_SECONDS
        while not self._stop.wait(_PAUSE_SECONDS):
            if time.monotonic() > listed_at + _LIST_SECONDS:
                before, listed_at = listed_at, time.monotonic()
                consoles = self._list(consoles, before)
            for console in consoles.values():
                for start in console.look():
                    self.starts.append(start)
                    self._told(start)
        for console in consoles.values():
            console.close()

    def _list(self, known, before):
        # Before Nova removes an instance's folder it renames it to ID_del: one
        # console would be read twice, the second time after its guest's end.
        found = {
            path
            for path in self._folder.glob('*/console.log')
            if not path.parent.name.endswith('_del')
        }
        for path in known.keys() - found:
            known[path].close()
        return {
            path: known.get(path) or _Console(path, before) for path in found
        }


def skew_seconds(starts):
    """(from the first to the last start, how much longer it may have been).

    :param starts: of a slot, at least one
    """
    first = min(start.seconds for start in starts)
    last = max(start.seconds for start in starts)
    return last - first, first - min(start.since_seconds for start in starts)


def main(folder):
    """Print starts as they come, and the skew of each slot at the end."""

    def told(start):
        print(
            f'{start.guest} slot {start.slot}: {start.seconds:.4f} s, not'
            f' before {start.since_seconds:.4f}',
            flush=True,
        )

    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    with StartWatch(folder, told) as watch:
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
    for number in sorted({start.slot for start in watch.starts}):
        found = watch.of_slot(number).values()
        skew, more = skew_seconds(found)
        print(
            f'slot {number}: {len(found)} guests within {1000 * skew:.1f}'
            f' ms, at most {1000 * (skew + more):.1f}'
        )


if __name__ == '__main__':
    main(sys.argv[1])
