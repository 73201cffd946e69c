# SPDX-License-Identifier: Apache-2.0
"""The Ceph clusters of a lab: the first, and a second one on request.

They share nothing but the machine: each has its own identity, ports, keys and
folder. The second has a monitor, a manager, an OSD with BlueStore (class
``ssd``) and one (class ``journaled``) with FileStore, where Ceph still has it.
"""

from collections.abc import Callable
import pathlib
import platform

from lab.ceph import cluster
from lab.ceph import topology
from lab import layout
from lab.processes import supervisord

#: The cephx user of Cinder and Nova in the second cluster. os-brick looks for
#: keyrings in one folder by the names of their users, so it cannot have the
#: name of the first cluster's user.
SECOND_CLIENT = 'cinder-second'
#: The last Debian with a Ceph, 16, that makes OSDs with FileStore.
LAST_WITH_FILESTORE = 'bookworm'
#: One OSD of a class is enough for what is tried here; Ceph allows pools with
#: a single copy only if it is asked to.
SECOND_INITIAL_OPTIONS = {
    **topology.INITIAL_OPTIONS,
    ('global', 'mon_allow_pool_size_one'): 'true',
    ('mon', 'mon_warn_on_pool_no_redundancy'): 'false',
    ('global', 'mon_warn_on_too_few_osds'): 'false',
}


def second_osds(codename: str) -> tuple[topology.Osd, ...]:
    """Return the OSDs of the second cluster.

    :param codename: of the Debian whose Ceph it is.
    """
    return (
        topology.Osd(id=0, host='second-a', device_class='ssd', data_gib=10),
        topology.Osd(
            id=1,
            host='second-b',
            device_class='journaled',
            data_gib=10,
            object_store=(
                'filestore' if codename == LAST_WITH_FILESTORE else 'bluestore'
            ),
        ),
    )


def first(
    lab: layout.Layout, supervisor: supervisord.Supervisor
) -> cluster.CephCluster:
    """Return the first cluster, whether it was made or not."""
    return cluster.CephCluster(
        lab.root,
        supervisor,
        _append_to(lab.log / 'ceph-set-up.log'),
        folder=lab.ceph_conf.parent.name,
        osds=topology.six_osds(),
        ports=_ports(lab, 'ceph', lab.ceph_daemon_ports()),
        initial_options=topology.INITIAL_OPTIONS,
        images=True,
    )


def second(
    lab: layout.Layout, supervisor: supervisord.Supervisor
) -> cluster.CephCluster:
    """Return the second cluster, whether it was made or not."""
    return cluster.CephCluster(
        lab.root,
        supervisor,
        _append_to(lab.log / 'ceph-second-set-up.log'),
        folder=lab.second_ceph.name,
        osds=second_osds(
            platform.freedesktop_os_release().get('VERSION_CODENAME', '')
        ),
        ports=_ports(lab, 'ceph-second', lab.second_ceph_daemon_ports()),
        initial_options=SECOND_INITIAL_OPTIONS,
        images=False,
    )


def _ports(
    lab: layout.Layout, name: str, others: tuple[int, int]
) -> topology.Ports:
    """Return the ports of a cluster.

    :param name: with which the names of its monitor's ports begin.
    :param others: first and last port of the other daemons.
    """
    first_port, last_port = others
    return topology.Ports(
        monitor_v2=lab.port(f'{name}-mon-v2'),
        monitor_v1=lab.port(f'{name}-mon-v1'),
        first=first_port,
        last=last_port,
    )


def _append_to(log: pathlib.Path) -> Callable[[str], None]:
    """Return what writes a line to a file, which it makes if need be."""

    def append(line: str) -> None:
        with log.open('a') as stream:
            stream.write(f'{line}\n')

    return append
