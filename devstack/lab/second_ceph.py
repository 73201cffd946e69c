# SPDX-License-Identifier: Apache-2.0
"""The second Ceph cluster, which a lab has on request.

A cluster of its own in every respect - identity, ports, keys, folder - that
shares nothing with the first but the machine: a monitor, a manager, an OSD
with BlueStore (class ``ssd``) and one with FileStore (class ``filestore``).
"""

from collections.abc import Callable
import shutil

from lab.ceph import bootstrap as ceph_parts
from lab.ceph import cluster as ceph
from lab.ceph import topology as ceph_layout
from lab.host import packages
from lab.host import preflight
from lab.infrastructure import daemons as infrastructure
from lab import layout as lab_layout
from lab.openstack import services
from lab.processes import supervisord as lab_supervisor
from lab import stages

STAGE = 'ceph-second'
#: The cephx user of Cinder and Nova. os-brick looks for keyrings in one folder
#: by their users' names, so it cannot be called as that of the first cluster.
CLIENT = 'cinder-second'
OSDS = (
    ceph_layout.Osd(id=0, host='second-a', device_class='ssd', data_gib=10),
    ceph_layout.Osd(
        id=1,
        host='second-b',
        device_class='filestore',
        data_gib=10,
        object_store='filestore',
    ),
)
#: One OSD of a class is enough for what is tried here, but Ceph wants to hear
#: that a pool may have a single copy.
FIRST_OPTIONS = {
    **ceph_layout.FIRST_OPTIONS,
    ('global', 'mon_allow_pool_size_one'): 'true',
    ('mon', 'mon_warn_on_pool_no_redundancy'): 'false',
    ('global', 'mon_warn_on_too_few_osds'): 'false',
}
_PACKAGES = ('xfsprogs',)
#: In the lab's folder: a cluster of which the rest is only to be deleted.
_REMOVED = 'ceph-second.removed'

Say = Callable[[str], None]


class SecondCephError(Exception):
    """The second cluster cannot be had, or not be removed, as things are."""


def up(layout: lab_layout.Layout, say: Say = print) -> None:
    """Have the second cluster in a lab that runs; ``up`` keeps it from now on.

    :param say: takes each line for the user; the last ones are what a catalog
        needs of the cluster.
    :raises SecondCephError: the lab does not run.
    :raises preflight.Unfit: somebody else has a port of it.
    :raises stages.StagesFailed: it does not start.
    """
    supervisor = _running(layout)
    if not any(
        supervisor.state(name).pid
        for name in cluster(layout, supervisor).programs()
    ):
        preflight.check(
            preflight.observe(layout.second_ceph_ports(), layout.root),
            root=layout.root,
            lab_exists=True,
        )
    stages.run(
        [stage(layout, supervisor, needs=())],
        lambda result: say(
            f'{result.name:<15} {result.seconds:6.1f} s  '
            f'{"FAILED" if result.problem else result.remark}'
        ),
    )
    say('For a catalog:\n' + catalog_entry(layout))


def destroy(layout: lab_layout.Layout, say: Say = print) -> None:
    """Stop the second cluster and remove it, with the volumes in it.

    :raises SecondCephError: the lab does not run, or Cinder still has
        backends in the cluster.
    :raises lab.host.commands.CommandFailed: a disk cannot be detached.
    """
    supervisor = _running(layout)
    users = [
        str(file)
        for file in services.cinder_files(layout)
        if str(layout.second_ceph / 'ceph.conf') in file.read_text()
    ]
    if users:
        raise SecondCephError(
            f'{", ".join(users)}: names backends in the second cluster, '
            'expected none. Delete their volumes, take the backends away, run '
            'devstack/lab.sh restart cinder-volume, and try again.'
        )
    is_there = layout.has_second_ceph
    doomed = cluster(layout, supervisor)
    doomed.down()
    supervisor.forget(doomed.programs())
    infrastructure.take_the_key_from_libvirt(layout, layout.second_secret_uuid)
    layout.ceph_conf.with_name(f'ceph.client.{CLIENT}.keyring').unlink(
        missing_ok=True
    )
    _remove_rest(layout)
    if is_there:
        # In one step: half of a cluster would be a damaged one.
        layout.second_ceph.rename(layout.root / _REMOVED)
        _remove_rest(layout)
    say(
        'second cluster removed'
        if is_there
        else 'no second cluster is there, nothing to do'
    )


def stage(
    layout: lab_layout.Layout,
    supervisor: lab_supervisor.Supervisor,
    needs: tuple[str, ...] = ('packages', 'ceph', 'libvirt'),
) -> stages.Stage:
    """Return the stage of ``up`` that has the cluster run."""
    return stages.Stage(
        name=STAGE, needs=needs, run=lambda: _start(layout, supervisor)
    )


def cluster(
    layout: lab_layout.Layout, supervisor: lab_supervisor.Supervisor
) -> ceph.CephCluster:
    """Return the cluster, whether it was made or not."""
    log = layout.log / 'ceph-second-set-up.log'

    def append(line: str) -> None:
        with log.open('a') as stream:
            stream.write(f'{line}\n')

    return ceph.CephCluster(
        layout.root,
        supervisor,
        append,
        folder=layout.second_ceph.name,
        osds=OSDS,
        first_options=FIRST_OPTIONS,
        images=False,
        mon_ports=tuple(layout.second_ceph_ports().values()),
        daemon_ports=layout.second_ceph_daemon_ports(),
    )


def catalog_entry(layout: lab_layout.Layout) -> str:
    """Return what a catalog says of the cluster, in YAML."""
    return (
        'clusters:\n'
        '  second:\n'
        f'    conf: {layout.second_ceph}/ceph.conf\n'
        f'    cinder_user: {CLIENT}\n'
        f'    secret_uuid: {layout.second_secret_uuid}'
    )


def _start(
    layout: lab_layout.Layout, supervisor: lab_supervisor.Supervisor
) -> str:
    packages.install_debian_packages(layout.log / 'apt.log', _PACKAGES)
    _remove_rest(layout)
    made = cluster(layout, supervisor)
    remark = made.up()
    keyring = made.have_rbd_client(CLIENT)
    lab_layout.write_private(
        layout.ceph_conf.with_name(keyring.name), keyring.read_text()
    )
    infrastructure.give_libvirt_the_key(
        layout,
        ceph_parts.key_of(keyring, f'client.{CLIENT}'),
        client=CLIENT,
        secret_uuid=layout.second_secret_uuid,
    )
    return remark


def _remove_rest(layout: lab_layout.Layout) -> None:
    rest = layout.root / _REMOVED
    if rest.exists():
        shutil.rmtree(rest)


def _running(layout: lab_layout.Layout) -> lab_supervisor.Supervisor:
    supervisor = lab_supervisor.Supervisor(layout)
    if not supervisor.is_up():
        raise SecondCephError(
            f'{layout.root}: nothing runs; start it with devstack/lab.sh up'
        )
    return supervisor
