# SPDX-License-Identifier: Apache-2.0
"""Runs a Ceph cluster of the lab: a monitor, a manager and OSDs on fake hosts.

Brings whatever state it finds to "all of it runs": nothing there, an
interrupted first start, killed daemons, a machine that was switched off. All
of it lies in one folder; loop devices are known by files in that folder and
the cgroup by its name, so nothing else on the machine is touched. What tiers
are is not known here; only Glance's pool and user are made.
"""

import concurrent.futures
import contextlib
import dataclasses
import os
import pathlib
import signal
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from lab.ceph import bootstrap
from lab.ceph import errors
from lab.ceph import filestore
from lab.ceph import monitor_client
from lab.ceph import state
from lab.ceph import topology
from lab.host import loop_devices
from lab.host import throttle
from lab import private_file
from lab.processes import lab_processes
from lab.processes import supervisord

#: Debian's Ceph uses glibc's malloc (mallopt(3)), which keeps what many
#: threads free; hdd OSDs have grown to 590 MB under small writes.
_MALLOC = {'MALLOC_ARENA_MAX': '2', 'MALLOC_TRIM_THRESHOLD_': '131072'}

#: How long OSDs may take to be up before those that are not are restarted,
#: and how long after that.
_WAIT_SECONDS = (45, 60)


class CephCluster:
    """A cluster in a folder of the lab.

    :param root: folder of the lab.
    :param supervisor: runs the daemons.
    :param log: takes a line for each step.
    :param folder: name of its folder in ``root``; its daemons are called by
        that name, too. Only one cluster of a lab may have disks that are held
        to a speed.
    :param osds: what the cluster is made of; fixed once it is made.
    :param ports: on which its daemons listen.
    :param initial_options: (section, option) -> value, see ``topology``.
    :param images: whether Glance keeps images in it.
    """

    def __init__(
        self,
        root: pathlib.Path,
        supervisor: supervisord.Supervisor,
        log: Callable[[str], None],
        *,
        folder: str,
        osds: Sequence[topology.Osd],
        ports: topology.Ports,
        initial_options: Mapping[tuple[str, str], str],
        images: bool,
    ) -> None:
        self._root = root
        self._folder = root / folder
        self._initial_options = initial_options
        self._images = images
        self._supervisor = supervisor
        self._log = log
        self._throttle = throttle.Throttle(throttle.name_for(root))
        self._layout = topology.CephLayout(
            folder=self._folder,
            osds=tuple(osds),
            # up() reads or makes it; to stop a cluster needs none
            fsid=uuid.UUID(int=0),
            ports=ports,
        )
        self._tool_log = self._folder / 'log' / 'set-up.log'

    def up(self) -> str:
        """Make what is missing, start what does not run, wait for all.

        :returns: a remark: how long it took and what Ceph says of itself.
        :raises lab.ceph.errors.CephError: it is damaged, or a daemon does not
            come up.
        :raises lab.host.throttle.ThrottleError: no way to slow disks down.
        :raises lab.host.commands.CommandFailed: a tool ended with an error.
        :raises lab.processes.supervisord.SupervisorError: a daemon does not
            start.
        """
        started = time.monotonic()
        self._layout = layout = dataclasses.replace(
            self._layout,
            fsid=bootstrap.read_fsid(self._folder) or uuid.uuid4(),
        )
        bootstrap.write_configuration(layout)
        bootstrap.check(layout)
        # Left by an interrupted start; they hold the disks.
        lab_processes.stop(
            [
                process
                for process in self._daemons()
                if ' --mkfs ' in process.command
            ]
        )
        if not bootstrap.is_made(layout, topology.MONITOR):
            bootstrap.make_monitor(layout, self._tool_log)
            self._log('monitor made')
        unmade = [
            osd
            for osd in layout.osds
            if not bootstrap.is_made(layout, osd.name)
        ]
        self._attach_disks()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            making = [
                pool.submit(bootstrap.make_osd, layout, osd, self._tool_log)
                for osd in unmade
            ]
            self._start([topology.MONITOR])
            with self._monitor() as monitor:
                state.set_initial_options(monitor, self._initial_options)
                self._start([topology.MANAGER])
                for made in making:
                    made.result()
                state.register_osds(monitor, layout)
                self._start([osd.name for osd in layout.osds])
                self._wait_until_ready(monitor)
                if self._images:
                    state.make_images_pool(monitor)
                status = monitor.query({'prefix': 'status'})
        if self._images:
            self.write_client_keyring(state.IMAGES_CLIENT)
        remark = (
            f'{status["health"]["status"]}, '
            f'{status["osdmap"]["num_up_osds"]} OSDs, '
            f'{len(unmade)} made now'
        )
        self._log(f'up after {time.monotonic() - started:.1f} s: {remark}')
        return remark

    def ensure_rbd_client(self, name: str) -> pathlib.Path:
        """Make a cephx user of RBD if need be; return the file with its key.

        :param name: of the user, without ``client.``.
        :raises lab.ceph.monitor_client.MonitorError: no answer in time.
        """
        with monitor_client.connect(self._layout.conf) as monitor:
            state.ensure_rbd_user(monitor, f'client.{name}')
        return self.write_client_keyring(name)

    def write_client_keyring(self, name: str) -> pathlib.Path:
        """Write the key of an existing cephx user to a file that only root
        may read; return the file.

        :param name: of the user, without ``client.``.
        :raises lab.ceph.errors.CephError: there is no such user.
        :raises lab.ceph.monitor_client.MonitorError: no answer in time.
        """
        with monitor_client.connect(self._layout.conf) as monitor:
            text = state.keyring_text(monitor, f'client.{name}')
        keyring = self._layout.keyring(name)
        private_file.write(keyring, text)
        return keyring

    def down(self) -> None:
        """Stop all daemons; detach their disks; lift the limits.

        Data stays. Clients should be gone before: they would wait forever.

        :raises RuntimeError: a daemon survives SIGKILL.
        :raises lab.host.throttle.ThrottleError: the cgroup is in use.
        :raises lab.host.commands.CommandFailed: a disk cannot be detached.
        """
        if self._supervisor.is_up():
            monitor, *others = self.programs()
            # The monitor last: an OSD reports its end to it, and waits.
            _in_parallel(self._supervisor.stop, others)
            self._supervisor.stop(monitor)
        lab_processes.stop(self._daemons())
        for device in loop_devices.find_attached(self._layout.disks):
            loop_devices.detach(device)
        if self._has_slow_disks():
            self._throttle.remove()

    def programs(self) -> list[str]:
        """Return its daemons' names in the supervisor, the monitor first."""
        return [
            self._program_name(daemon)
            for daemon in (
                topology.MONITOR,
                topology.MANAGER,
                *(osd.name for osd in self._layout.osds),
            )
        ]

    def _daemons(self) -> list[lab_processes.Process]:
        """Return the Ceph processes of this lab, supervised or not."""
        conf = f' -c {self._layout.conf} '
        return [
            process
            for process in lab_processes.find_marked(self._root)
            if conf in f'{process.command} '
            and process.command.split()[0].rpartition('/')[2]
            in ('ceph-mon', 'ceph-mgr', 'ceph-osd')
        ]

    def _has_slow_disks(self) -> bool:
        return any(osd.speed for osd in self._layout.osds)

    def _program_name(self, daemon: str) -> str:
        return f'{self._folder.name}-{daemon}'

    def _program(self, daemon: str) -> supervisord.Program:
        argv = self._layout.argv(daemon)
        for osd in self._layout.osds:
            if osd.name == daemon and osd.object_store == 'filestore':
                argv = filestore.with_mount(
                    self._layout.file_store_disk(osd),
                    self._layout.file_store(osd),
                    argv,
                )
            if osd.name == daemon and osd.speed:
                argv = self._throttle.wrap(argv)
        return supervisord.Program(
            name=self._program_name(daemon),
            argv=argv,
            stop_wait_seconds=20,
            environment=_MALLOC,
        )

    def _attach_disks(self) -> None:
        speeds = {}
        for osd in self._layout.osds:
            device = bootstrap.attach_disks(self._layout, osd)
            if osd.speed:
                speeds[device.number] = osd.speed
        if self._has_slow_disks():
            self._throttle.apply(speeds)

    def _start(self, daemons: Sequence[str]) -> None:
        self._supervisor.ensure(map(self._program, daemons))
        for daemon in daemons:
            pid = self._supervisor.state(self._program_name(daemon)).pid
            if pid and _is_stopped(pid):
                # by a test of hung daemons that did not live to continue it
                os.kill(pid, signal.SIGCONT)
                self._log(f'{daemon} was stopped (SIGSTOP): continued')

    @contextlib.contextmanager
    def _monitor(self) -> Iterator[monitor_client.Monitor]:
        with contextlib.ExitStack() as stack:
            try:
                monitor = stack.enter_context(
                    monitor_client.connect(self._layout.conf)
                )
            except monitor_client.MonitorError as problem:
                raise errors.CephError(
                    f'{problem}\n' + self._last_lines([topology.MONITOR])
                ) from None
            yield monitor

    def _wait_until_ready(self, monitor: monitor_client.Monitor) -> None:
        for attempt, seconds in enumerate(_WAIT_SECONDS):
            deadline = time.monotonic() + seconds
            while True:
                daemons = state.observe(monitor, self._layout)
                for osd in daemons.out:
                    monitor.command({'prefix': 'osd in', 'ids': [osd]})
                if daemons.is_ready():
                    return
                if time.monotonic() > deadline:
                    break
                time.sleep(0.2)
            if not attempt:
                self._restart(daemons.missing)
        raise errors.CephError(
            f'{daemons} after {sum(_WAIT_SECONDS)} s and a restart; '
            'expected all OSDs up and in, and the manager active.\n'
            + self._last_lines(daemons.missing)
        )

    def _restart(self, daemons: Iterable[str]) -> None:
        for daemon in daemons:
            self._log(f'{daemon} runs but does not answer: restarted')
        _in_parallel(
            self._supervisor.restart, map(self._program_name, daemons)
        )

    def _last_lines(self, daemons: Iterable[str]) -> str:
        return '\n'.join(
            f'The end of {file}:\n' + '\n'.join(_tail(file))
            for file in map(self._layout.log_file, daemons)
        )


def _in_parallel(act: Callable[[str], None], names: Iterable[str]) -> None:
    """Do something for each name at once.

    The first error, if any, is raised when all have ended.
    """
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        futures = [pool.submit(act, name) for name in names]
    for future in futures:
        future.result()


def _is_stopped(pid: int) -> bool:
    # proc(5): the state follows the command name, which is in parentheses.
    text = pathlib.Path(f'/proc/{pid}/stat').read_text()
    return text.rpartition(')')[2].split()[0] == 'T'


def _tail(file: pathlib.Path, count: int = 8) -> list[str]:
    if not file.exists():
        return ['(no log)']
    return file.read_text(errors='replace').splitlines()[-count:]
