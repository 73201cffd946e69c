# SPDX-License-Identifier: Apache-2.0

"""Guests of the lab that write all the time, and tell how much.

Each prints a line of fio every second on its serial console, which the lab's
Nova keeps as a file. So it is the clock of the host that says when a guest did
how much. An emulated guest takes much of a processor; beside some of them fio
on the host stands for further ones, a librbd client as their QEMU is.
"""

import contextlib
import os
import pathlib
import re
import signal
import statistics
import subprocess
import threading
import time

import fixtures

from tests.functional import volumes

#: fio ends at the first I/O that fails, and then something is printed.
_ENDED = '@ended'
#: Before microseconds.
_P99 = '@p99'
_LOAD = (
    '--name=load --rw=randwrite --bs=4k --iodepth=32 --size=64m --time_based '
    '--runtime=36000 --thread --norandommap --gtod_reduce=1 --eta=always '
    '--eta-newline=1s'
)
_SCRIPT = f"""#!/bin/sh
fio --filename="$(cat /etc/cinder-tiers/scratch-device)" --direct=1 \\
    --ioengine=libaio {_LOAD} RATE
echo "{_ENDED} $?"
"""
#: The p99 of each window, which is as long as one of `tier watch`.
_WINDOWS = f"""#!/bin/sh
while fio --filename="$(cat /etc/cinder-tiers/scratch-device)" --direct=1 \\
    --ioengine=libaio --name=load --rw=randwrite --bs=4k --iodepth=4 \\
    --size=64m --time_based --runtime=20 --thread --norandommap \\
    --randrepeat=0 --eta=never --output-format=terse --output=windows \\
    RATE
do
    sed -n 's/.*;99\\.000000%=\\([0-9]*\\);.*/{_P99} \\1@/p' windows
done
echo "{_ENDED} $?"
"""
_CLIENT = f"""
fio --ioengine=rbd --clientname=admin --pool="$1" --rbdname="$2" {_LOAD}
echo "{_ENDED} $?"
"""
_LINE = re.compile(rb'Jobs: [^\r\n]*?\[eta [^]]*\]')
_RATE = re.compile(rb'\[w=([0-9.]+)([KM]?)iB/s\]')
_LATENCY = re.compile(rf'{_P99} ([0-9]+)@'.encode())
_BYTES = {b'': 1, b'K': 1024, b'M': 2**20}
_BLOCK_BYTES = 4096
_LOOK_S = 0.1
#: Characters of a console.
_TOLD = 500
#: Emulated guests on a busy machine boot for minutes.
_BOOT_S = 900


class Guest:
    """A server, or a client in place of one, that writes to its volume.

    :param server: id of the server; None: there is none.
    :ivar rates: (second on the host's monotonic clock, IOPS of the second
        before it) of each line of fio
    :ivar latencies: (second on that clock, p99 in ms) of each of its windows
    """

    def __init__(self, server, volume, console):
        self.server, self.volume = server, volume
        self.rates = []
        self.latencies = []
        self._console = console
        self._position = 0

    def look(self):
        """Take in what is new on its console."""
        with contextlib.suppress(FileNotFoundError):
            text = self._console.read_bytes()
            if len(text) < self._position:
                # A new file, since the server was started anew.
                self._position = 0
            text = text[self._position :]
            now, end = time.monotonic(), 0
            for line in _LINE.finditer(text):
                end = line.end()
                found = _RATE.search(line[0])
                self.rates.append(
                    (
                        now,
                        float(found[1]) * _BYTES[found[2]] / _BLOCK_BYTES
                        if found
                        else 0.0,
                    )
                )
            for line in _LATENCY.finditer(text):
                end = max(end, line.end())
                self.latencies.append((now, int(line[1]) / 1000))
            self._position += end

    def ended(self):
        """The end of its console if fio has ended, else nothing."""
        with contextlib.suppress(FileNotFoundError):
            text = self._console.read_text(errors='replace')
            return text[-_TOLD:] if _ENDED in text else ''
        return ''

    def rate(self, begin, seconds):
        """IOPS of the median second of some; None: it printed too few lines.

        A busy machine takes whole seconds from an emulated guest.
        """
        found = [
            rate for at, rate in self.rates if begin < at <= begin + seconds
        ]
        return statistics.median(found) if len(found) > seconds / 2 else None


class GuestsTestCase(volumes.VolumesTestCase):
    """Boots guests, and reads their consoles while a test runs."""

    def setUp(self):
        super().setUp()
        self.guests = []
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self._clients = []
        self._over = threading.Event()
        self._reading = threading.Thread(target=self._read)

    def start(self, *, guests, clients, volume_type, pool, most_iops=None):
        """Have each write to a volume of its own.

        :param pool: pool of the volumes.
        :param most_iops: most I/Os in a second of a guest; None: no limit.
        """
        rate = f'--rate_iops={most_iops}' if most_iops else ''
        self._boot(guests, volume_type, _SCRIPT.replace('RATE', rate))
        for number in range(clients):
            volume = self.make_volume(volume_type=volume_type).id
            output = self.folder / f'client-{number}'
            client = subprocess.Popen(
                ('sh', '-c', _CLIENT, 'sh', pool, f'volume-{volume}'),
                stdout=output.open('wb'),
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=self.environment,
                start_new_session=True,
            )
            self._clients.append(client)
            self.addCleanup(_kill, client)
            self.guests.append(Guest(None, volume, output))
        self._read_all()

    def start_windows(self, *, volume_types, most_iops):
        """Have a guest for each type write, and tell of windows of 20 s.

        :param most_iops: most I/Os in a second of a guest.
        """
        rate = f'--rate_iops={most_iops}'
        for volume_type in volume_types:
            self._boot(1, volume_type, _WINDOWS.replace('RATE', rate))
        self._read_all()

    def _read_all(self):
        self._reading.start()
        self.addCleanup(self.end)
        self.wait_while(
            lambda: [
                one.volume
                for one in self.guests
                if not (one.rates or one.latencies or one.ended())
            ],
            _BOOT_S,
        )
        self.assert_all_write()

    def assert_all_write(self):
        """No I/O of any has failed."""
        self.assertEqual({''}, {one.ended() for one in self.guests})

    def _boot(self, count, volume_type, script):
        image = self.image_of_lab('cinder-tiers-guest')
        made = [
            self.make_volume(volume_type=volume_type, imageRef=image).id
            for _ in range(count)
        ]
        for volume in made:
            server = self.boot([volume], script)
            self.guests.append(
                Guest(
                    server.id,
                    volume,
                    self.root / 'instances' / server.id / 'console.log',
                )
            )

    def end(self):
        """Have all of them end at the same time, and remove their volumes."""
        self._over.set()
        self._reading.join()
        for client in self._clients:
            _kill(client)
        nova = self.member.compute
        servers = [one.server for one in self.guests if one.server]
        for server in servers:
            nova.delete_server(server)
        self.wait_while(
            lambda: {one.id for one in nova.servers()} & set(servers), _BOOT_S
        )
        for guest in self.guests:
            self.cinder.volumes.delete(guest.volume)
        self.guests.clear()

    def _read(self):
        while not self._over.wait(_LOOK_S):
            for guest in self.guests:
                guest.look()


def _kill(client):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(client.pid, signal.SIGKILL)
    client.wait()
