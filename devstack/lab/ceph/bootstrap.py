# SPDX-License-Identifier: Apache-2.0
"""Makes the parts of the lab's Ceph that do not exist yet, on this machine.

Each part is made apart and then marked as done (a renamed folder, or the file
that Ceph itself writes last), so that one which was interrupted is known and
made again. Starts no daemon.
"""

import os
import pathlib
import shutil
import sys
import uuid

from lab.ceph import errors
from lab.ceph import filestore
from lab.ceph import keyrings
from lab.ceph import topology
from lab.host import commands
from lab.host import loop_devices
from lab import private_file
from lab.processes import lab_processes

_GIB = 2**30


def read_fsid(folder: pathlib.Path) -> uuid.UUID | None:
    """Return the identity of the cluster in a folder, None before it has
    one.

    :raises lab.ceph.errors.CephError: the file does not hold one.
    """
    file = folder / 'fsid'
    try:
        return uuid.UUID(file.read_text().strip())
    except FileNotFoundError:
        return None
    except ValueError as problem:
        raise errors.CephError(
            f'{file}: {problem}; expected the UUID of a '
            'cluster. Destroy the lab and start it anew.'
        ) from None


def write_configuration(layout: topology.CephLayout) -> None:
    """Write ceph.conf and make the folders that daemons expect."""
    for name in ('log', 'run', 'crash', 'disks'):
        (layout.folder / name).mkdir(parents=True, exist_ok=True)
    layout.manager_modules.mkdir(exist_ok=True)
    for name in topology.MANAGER_MODULES:
        source = topology.MANAGER_MODULES_SOURCE / name
        if source.exists():
            if name == topology.RBD_TASKS and not _survives_progress():
                source = copy_without_progress(
                    source, layout.manager_modules_copied
                )
            _link(layout.manager_modules / name, source)
    (layout.manager_modules / topology.MANAGER_STAND_IN).write_text('')
    private_file.write(layout.folder / 'fsid', f'{layout.fsid}\n')
    private_file.write(layout.conf, topology.conf_text(layout))
    # Holds no secret; services that do not run as root read it.
    layout.conf.chmod(0o644)


def _survives_progress() -> bool:
    """Return whether the manager survives RBD tasks that report progress.

    librbd calls back in the main interpreter, where Ceph before that option
    does not run its modules. Python since 3.12 does not bear it.
    """
    if sys.version_info < (3, 12):
        return True
    try:
        commands.query(
            *('ceph-conf', '--conf', '/dev/null'),
            *('--show-config-value', 'mgr_subinterpreter_modules'),
        )
    except commands.CommandFailed:
        return False
    return True


def copy_without_progress(
    source: pathlib.Path, folder: pathlib.Path
) -> pathlib.Path:
    """Copy the manager's module for RBD tasks, without reports of progress.

    :param source: folder of the module.
    :param folder: where to copy it to.
    :returns: folder of the copy.
    """
    copy = folder / source.name
    shutil.copytree(source, copy, dirs_exist_ok=True)
    tasks = copy / 'task.py'
    tasks.write_text(tasks.read_text().replace(topology.RBD_TASK_PROGRESS, ''))
    return copy


def is_made(layout: topology.CephLayout, daemon: str) -> bool:
    """Return whether a daemon's data folder is complete."""
    last = {'mon': 'store.db', 'mgr': 'keyring', 'osd': 'ready'}
    return (layout.data(daemon) / last[daemon.partition('.')[0]]).exists()


def check(layout: topology.CephLayout) -> None:
    """Refuse a cluster that has lost a part which cannot be made again.

    :raises lab.ceph.errors.CephError: lists what is lost.
    """
    lost = []
    made = [osd for osd in layout.osds if is_made(layout, osd.name)]
    if made and not is_made(layout, topology.MONITOR):
        lost.append(
            f"{layout.data(topology.MONITOR)}: the monitor's "
            'database is gone, but OSDs have data'
        )
    for osd in made:
        lost += [
            f'{layout.disk(osd, part)}: the disk of {osd.name} is gone'
            for part in osd.disk_sizes_gib
            if not layout.disk(osd, part).exists()
        ]
    if lost:
        raise errors.CephError(
            f'the cluster in {layout.folder} is damaged; expected it whole '
            'or absent. Destroy the lab and start it anew:\n'
            + '\n'.join(f'  * {line}' for line in lost)
        )


def make_monitor(layout: topology.CephLayout, log: pathlib.Path) -> None:
    """Make the first keys and the monitor's database.

    :raises lab.host.commands.CommandFailed: a tool of Ceph failed.
    """
    layout.initial_keyring.unlink(missing_ok=True)
    everything = {'mon': 'allow *', 'osd': 'allow *', 'mds': 'allow *'}
    for entity, capabilities in {
        'mon.': {'mon': 'allow *'},
        'client.admin': {**everything, 'mgr': 'allow *'},
        topology.MANAGER: {**everything, 'mon': 'allow profile mgr'},
    }.items():
        keyrings.create(layout.initial_keyring, entity, capabilities, log=log)
    for entity, keyring in (
        ('client.admin', layout.keyring('admin')),
        (topology.MANAGER, layout.data(topology.MANAGER) / 'keyring'),
    ):
        keyrings.copy_key(layout.initial_keyring, entity, keyring)
    final = layout.data(topology.MONITOR)
    unfinished = final.with_name(f'{final.name}.unfinished')
    for leftover in (unfinished, final):
        shutil.rmtree(leftover, ignore_errors=not leftover.exists())
    # Without a map of its own it would listen on the usual ports, whatever
    # mon_host says.
    monmap = layout.folder / 'monmap'
    name = final.suffix[1:]
    commands.run(
        [
            'monmaptool',
            '--create',
            '--clobber',
            '--fsid',
            str(layout.fsid),
            '--addv',
            name,
            f'[v2:127.0.0.1:{layout.ports.monitor_v2},'
            f'v1:127.0.0.1:{layout.ports.monitor_v1}]',
            monmap,
        ],
        log=log,
    )
    commands.run(
        [
            'ceph-mon',
            '--mkfs',
            '-i',
            name,
            '-c',
            layout.conf,
            '--monmap',
            monmap,
            '--mon-data',
            unfinished,
            '--keyring',
            layout.initial_keyring,
        ],
        log=log,
        environment=_marked(layout),
    )
    unfinished.rename(final)


def attach_disks(
    layout: topology.CephLayout, osd: topology.Osd
) -> loop_devices.LoopDevice:
    """Attach and link an OSD's disks; return its data disk.

    What an interrupted :func:`make_osd` left is thrown away before.

    :raises lab.host.commands.CommandFailed: losetup(8) refuses.
    """
    data = layout.data(osd.name)
    if not is_made(layout, osd.name):
        mine = {
            layout.disk(osd, part).resolve() for part in osd.disk_sizes_gib
        }
        for device in loop_devices.find_attached(layout.disks):
            if device.backing_file in mine:
                loop_devices.detach(device)
        for file in mine:
            file.unlink(missing_ok=True)
        if data.exists():
            shutil.rmtree(data)
        data.mkdir()
    devices = []
    for part, size_gib in osd.disk_sizes_gib.items():
        loop_devices.make_sparse(layout.disk(osd, part), size_gib * _GIB)
        devices.append(
            loop_devices.attach(
                layout.disk(osd, part),
                rotational=part == 'block' and osd.device_class == 'hdd',
            )
        )
        _link(data / part, devices[-1].path)
    return devices[0]


def make_osd(
    layout: topology.CephLayout, osd: topology.Osd, log: pathlib.Path
) -> None:
    """Make an OSD's key and its store, on disks that are attached.

    :raises lab.host.commands.CommandFailed: a tool of Ceph failed.
    """
    keyrings.create(layout.data(osd.name) / 'keyring', osd.name, log=log)
    argv: tuple[str, ...] = (
        'ceph-osd',
        '--mkfs',
        '-i',
        str(osd.id),
        '-c',
        str(layout.conf),
        '--osd-uuid',
        str(layout.osd_uuid(osd)),
        '--no-mon-config',
        # It was made this moment; reading all of it again costs a second.
        '--bluestore-fsck-on-mkfs=false',
    )
    if osd.object_store == 'filestore':
        disk, store = layout.file_store_disk(osd), layout.file_store(osd)
        filestore.format_disk(disk, log)
        store.mkdir(exist_ok=True)
        argv = filestore.with_mount(disk, store, argv)
    commands.run(argv, log=log, environment=_marked(layout))
    # Ceph's own is out of sight where a disk is mounted for the OSD alone.
    (layout.data(osd.name) / 'ready').touch()


def _marked(layout: topology.CephLayout) -> dict[str, str]:
    """Return an environment that marks a process as one of the lab."""
    return {**os.environ, lab_processes.MARK: str(layout.folder.parent)}


def _link(link: pathlib.Path, target: pathlib.Path) -> None:
    # A loop device may have another number after each start of the machine.
    if link.is_symlink() and link.readlink() == target:
        return
    link.unlink(missing_ok=True)
    link.symlink_to(target)
