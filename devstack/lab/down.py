# SPDX-License-Identifier: Apache-2.0
"""Stops the lab, and removes it.

Only what the lab made is touched: guests of its own libvirtd, processes that
carry its mark, loop devices whose backing file is in its folder, its cgroup,
and network interfaces that bear its name.
"""

from collections.abc import Callable
import pathlib
import shutil

from lab.ceph import clusters
from lab import guest_network
from lab.host import loop_devices
from lab import layout
from lab.processes import lab_processes
from lab.processes import supervisord
from lab import scratch_disk


def down(
    lab: layout.Layout, print_line: Callable[[str], None] = print
) -> None:
    """Stop everything; the cloud's data stays for the next ``up``.

    :raises RuntimeError: something would not stop; says what.
    """
    supervisor = supervisord.Supervisor(lab)
    try:
        is_up = supervisor.is_up()
    except supervisord.SupervisorError:
        # It cannot be asked to stop anything, so all of it is ended at once.
        supervisor.stop_daemon()
        is_up = False
    if is_up:
        # Ceph's clients before Ceph, and Nova before its guests
        supervisor.stop_all_but('ceph-')
    guests = lab_processes.find_guests(lab.libvirt_folder)
    lab_processes.stop(guests)
    if guests:
        print_line(f'{len(guests)} guests ended')
    scratch_disk.detach(lab)
    clusters.first(lab, supervisor).down()
    if lab.has_second_ceph:
        clusters.second(lab, supervisor).down()
    supervisor.stop_daemon()
    guest_network.detach(lab)
    in_use = ', '.join(
        str(device.path) for device in loop_devices.find_attached(lab.root)
    )
    if in_use:
        # losetup(8) reports success of one that another program has open.
        print_line(
            f'services stopped, cgroup released; {in_use}: open in another '
            'program, and released when that closes it'
        )
    else:
        print_line('services stopped, loop devices and cgroup released')


def destroy(
    root: pathlib.Path,
    *,
    keep_downloads: bool,
    print_line: Callable[[str], None] = print,
) -> None:
    """Stop everything and remove the lab's folder.

    May be repeated after it was interrupted.

    :param keep_downloads: leave the Python environments, the guest image and
        the package cache, so that the next ``up`` is quicker.
    :raises lab.layout.LayoutError: the folder holds something else.
    :raises RuntimeError: something would not stop; says what.
    """
    lab = layout.load(root)
    if lab:
        down(lab, print_line)
    elif not layout.holds_downloads_only(root):
        print_line(f'{root}: no lab is there, nothing to do')
        return
    kept = layout.DOWNLOADS if keep_downloads else ()
    # The description goes last: as long as it is there this can be repeated.
    for entry in sorted(
        root.iterdir(), key=lambda path: path.name == layout.DESCRIPTION
    ):
        if entry.name in kept:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    if kept:
        print_line(f'{root} emptied, but for {" and ".join(kept)}')
    else:
        root.rmdir()
        print_line(f'{root} removed')
