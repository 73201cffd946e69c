# SPDX-License-Identifier: Apache-2.0

"""Serves consoles as Nova does, of guests that are made up.

    python -m benchmarks.served_consoles OPTIONS

prints the port once it answers, and runs until its standard input ends; then
it prints what it was asked for. OPTIONS are those of `Consoles`, as JSON. The
consoles grow as time goes by: boot messages of a kernel, then what the script
of a guest prints, with results of a real fio. Each time that a guest tells is
that of the monotonic clock of this machine, in ms: when the line is there.
"""

import bisect
import collections
import json
import pathlib
import sys
import threading
import time

from benchmarks import served_cloud
from tests.unit.guest import console_text

# nova/virt/libvirt/driver.py MAX_CONSOLE_BYTES
_KEPT_BYTES = 100 * 1024
_BOOT_MESSAGES = 400
_OUTPUT = (
    pathlib.Path(__file__).resolve().parents[1]
    / 'tests/unit/figures/data/randwrite-4k.json'
)


def _lines(guest, *, begins_ms, slots, slot_ms):
    """[(when it is there in ms, line), ...] of one guest."""
    output = _OUTPUT.read_bytes()

    def event(number, words):
        return console_text.event(number, words, guest=guest)

    def told():
        for number in range(_BOOT_MESSAGES):
            yield (
                begins_ms,
                f'[    {number / 100:.6f}] virtio_blk virtio{number}: [vda]'
                f' 2097152 512-byte logical blocks\n',
            )
        yield begins_ms, event(1, f'BOOT at={begins_ms} kernel=6.1.0')
        yield begins_ms, event(2, 'READY')
        yield (
            begins_ms,
            event(3, 'LEADING missing=-' if guest == 'g000' else 'PREPARED'),
        )
        for slot in range(slots):
            at_ms = begins_ms + (slot + 1) * slot_ms
            end_ms = at_ms + slot_ms // 2
            yield at_ms, event(4 + 2 * slot, f'START slot={slot} at={at_ms}')
            yield end_ms, event(5 + 2 * slot, f'END slot={slot} end={end_ms}')
            for line in console_text.result(slot, output, guest=guest):
                yield end_ms, line
        yield end_ms, event(4 + 2 * slots, 'DONE copies=1')

    return list(told())


class Consoles:
    """What Nova has.

    :ivar asked: how often each kind of request came
    """

    def __init__(
        self,
        *,
        guests,
        slots,
        slot_ms,
        latency_s,
        begins_ms,
        silent=(),
        silence_s=60,
        requests_per_token=None,
    ):
        """Make all lines.

        :param guests: their names; each is the ID of its server
        :param latency_s: of each answer
        :param silent: whose consoles are refused, after `silence_s`
        :param requests_per_token: every so many requests one is refused, as
            if its token had expired
        """
        self.url = ''
        self.asked = collections.Counter()
        self._lock = threading.Lock()
        self._latency_s = latency_s
        self._requests_per_token = requests_per_token
        self._silent, self._silence_s = frozenset(silent), silence_s
        self._when, self._text, self._ends = {}, {}, {}
        for guest in guests:
            lines = _lines(
                guest, begins_ms=begins_ms, slots=slots, slot_ms=slot_ms
            )
            self._when[guest] = [when for when, _line in lines]
            self._text[guest] = ''.join(line for _when, line in lines)
            end, self._ends[guest] = 0, [0]
            for _when, line in lines:
                end += len(line)
                self._ends[guest].append(end)

    def answer(self, method, path, query, body):
        """A status and a document; None for what is not known."""
        words = path.removeprefix('/v2.1/').split('/')
        guest = words[1] if words[0] == 'servers' and len(words) > 1 else None
        if guest not in self._text:
            return None
        with self._lock:
            self.asked[method] += 1
            if (
                self._requests_per_token
                and self.asked.total() % self._requests_per_token == 0
            ):
                self.asked['refused'] += 1
                return 401, {'error': {'message': 'expired'}}
        if method == 'GET':
            time.sleep(self._latency_s)
            return 200, {'server': {'id': guest, 'status': 'ACTIVE'}}
        if guest in self._silent:
            time.sleep(self._silence_s)
            return 500, {'computeFault': {'message': 'timed out'}}
        time.sleep(self._latency_s)
        known = bisect.bisect_right(self._when[guest], time.monotonic() * 1000)
        end = self._ends[guest][known]
        return 200, {
            'output': self._text[guest][max(0, end - _KEPT_BYTES) : end]
        }


def main():
    """Serves until standard input ends."""
    consoles = Consoles(**json.loads(sys.argv[1]))
    served_cloud.run(consoles)
    print(json.dumps(consoles.asked), flush=True)


if __name__ == '__main__':
    main()
