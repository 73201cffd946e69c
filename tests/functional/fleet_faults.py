# SPDX-License-Identifier: Apache-2.0
"""Faults of a fleet that is being measured, provoked from the host.

Guests are watched as they print: the lab's Nova keeps each console as a file.
"""

from collections.abc import Callable
import json
import pathlib
import re
import signal
import subprocess
import threading
import time
from xml.etree import ElementTree

from tests.functional import lab

_FRAME = re.compile(
    rb'@ctiers [0-9a-f]{16} [0-9a-f]+ (g[0-9]+) (event [0-9]+ ([A-Z-]+)'
    rb'(?: slot=([0-9]+))?[^\n]*|data [0-9]+ [0-9/]+ [0-9a-f]+ '
    rb'([^\n]+))\r?\n'
)
_POLL_SECONDS = 0.05
_BLOCKLISTED_SECONDS = 120


class Guest:
    """A guest of the fleet, as its compute host sees it.

    :ivar said: (name of an event, its slot or None)
    """

    def __init__(self, server, environment):
        self.server = server
        self.said = set()
        self._environment = environment

    def run(self, *argv):
        return subprocess.run(
            argv,
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
            env=self._environment,
        ).stdout

    @property
    def domain(self):
        return self.run('virsh', 'domname', self.server).strip()

    def kill(self):
        """As if its compute host had lost it."""
        root = pathlib.Path(self._environment['CINDER_TIERS_LAB'])
        pid_file = root.joinpath(
            'libvirt', 'run', 'libvirt', 'qemu', f'{self.domain}.pid'
        )
        lab.kill(int(pid_file.read_text()), signal.SIGKILL)

    def stand_still(self, seconds):
        """Stop its clock, and everything else in it, for a while."""
        self.run('virsh', 'suspend', self.server)
        time.sleep(seconds)
        self.run('virsh', 'resume', self.server)

    def fence(self):
        """Refuse its writes to its boot volume, as Ceph fences a client."""
        # Asked of libvirt: there is no time for a client of OpenStack.
        image = next(
            disk.find('source').get('name')
            for disk in ElementTree.fromstring(
                self.run('virsh', 'dumpxml', self.server)
            ).iter('disk')
            if disk.find('target').get('dev') == 'vda'
        )
        watchers = json.loads(
            self.run('rbd', 'status', image, '--format', 'json')
        )['watchers']
        for watcher in watchers:
            self.run(
                'ceph',
                'osd',
                'blocklist',
                'add',
                watcher['address'],
                str(_BLOCKLISTED_SECONDS),
            )


class Fleet:
    """All guests, and what is to happen to them.

    :ivar faults: {guest: (event, slot, what is done to it then)}
    :ivar mute: guests whose results are damaged as they are printed
    """

    def __init__(
        self,
        environment,
        faults: dict[str, tuple[str, int | None, Callable[[Guest], None]]],
        mute=(),
    ):
        self.faults = dict(faults)
        self.mute = {name.encode() for name in mute}
        self._environment = environment
        self._instances = (
            pathlib.Path(environment['CINDER_TIERS_LAB']) / 'instances'
        )
        self._read_to = {}
        self._guests = {}

    def watch(self, over: threading.Event):
        """Provoke the faults when their time has come.

        :param over: set when the run has ended
        :returns: faults that never came about
        """
        threads = []
        while not over.wait(_POLL_SECONDS):
            for console in self._instances.glob('*/console.log'):
                self._read(console)
            for name, (event, slot, provoke) in list(self.faults.items()):
                guest = self._guests.get(name)
                if guest is not None and (event, slot) in guest.said:
                    del self.faults[name]
                    threads.append(
                        threading.Thread(target=provoke, args=(guest,))
                    )
                    threads[-1].start()
        for thread in threads:
            thread.join()
        return self.faults

    def _read(self, console):
        """Take in what is new of a console that a run began."""
        try:
            with console.open('r+b', buffering=0) as file:
                begin = self._read_to.get(console, 0)
                file.seek(begin)
                text = file.read()
                for frame in _FRAME.finditer(text):
                    self._read_to[console] = begin + frame.end()
                    self._take(console.parent.name, frame)
                    if frame[5] and frame[1] in self.mute:
                        file.seek(begin + frame.start(5))
                        file.write(b'#' * (len(frame[5]) // 2))
        except FileNotFoundError:
            return  # its server is deleted

    def _take(self, server, frame):
        guest = self._guests.setdefault(
            frame[1].decode(), Guest(server, self._environment)
        )
        if frame[3]:
            guest.said.add(
                (frame[3].decode(), int(frame[4]) if frame[4] else None)
            )
