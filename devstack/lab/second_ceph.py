# SPDX-License-Identifier: Apache-2.0
"""Adds a second Ceph cluster to a lab that runs, or removes it."""

from collections.abc import Callable
import shutil

from lab.ceph import clusters
from lab.ceph import keyrings
from lab.host import packages
from lab.host import preflight
from lab.infrastructure import libvirtd
from lab import layout
from lab.openstack import conf_files
from lab import private_file
from lab.processes import supervisord
from lab import stages

STAGE = 'ceph-second'
_PACKAGES = ('xfsprogs',)
#: In the lab's folder: a cluster of which the rest is only to be deleted.
_REMOVED = 'ceph-second.removed'


class SecondCephError(Exception):
    """The second cluster cannot be removed as things are."""


def up(lab: layout.Layout, print_line: Callable[[str], None] = print) -> None:
    """Start the second cluster; from now on, the command ``up`` does so, too.

    :param print_line: takes each line for the user; the last ones are what a
        catalog needs of the cluster.
    :raises lab.host.preflight.UnsuitableMachineError: another program has one
        of its ports.
    :raises lab.processes.supervisord.SupervisorError: the lab does not run.
    :raises lab.stages.StagesFailed: it does not start.
    """
    supervisor = supervisord.Supervisor(lab)
    supervisor.check_up()
    if not any(
        supervisor.state(name).pid
        for name in clusters.second(lab, supervisor).programs()
    ):
        preflight.check(
            preflight.observe(lab.second_ceph_ports(), lab.root),
            root=lab.root,
            lab_exists=True,
        )
    stages.run(
        [stage(lab, supervisor, needs=())],
        lambda result: print_line(
            f'{result.name:<15} {result.seconds:6.1f} s  '
            f'{"FAILED" if result.problem else result.remark}'
        ),
    )
    print_line('For a tiers file:\n' + catalog_entry(lab))


def destroy(
    lab: layout.Layout, print_line: Callable[[str], None] = print
) -> None:
    """Stop the second cluster and remove it, with the volumes in it.

    :raises SecondCephError: Cinder still has backends in the cluster.
    :raises lab.host.commands.CommandFailed: a disk cannot be detached.
    :raises lab.processes.supervisord.SupervisorError: the lab does not run.
    """
    supervisor = supervisord.Supervisor(lab)
    supervisor.check_up()
    users = [
        str(file)
        for file in conf_files.read_by(lab, 'cinder')
        if str(lab.second_ceph / 'ceph.conf') in file.read_text()
    ]
    if users:
        raise SecondCephError(
            f'{", ".join(users)}: names backends in the second cluster, '
            'expected none. Delete their volumes, take the backends away, run '
            'devstack/lab.sh restart cinder-volume, and try again.'
        )
    is_there = lab.has_second_ceph
    second = clusters.second(lab, supervisor)
    second.down()
    supervisor.remove_programs(second.programs())
    libvirtd.remove_cephx_secret(lab, lab.second_secret_uuid)
    lab.ceph_conf.with_name(
        f'ceph.client.{clusters.SECOND_CLIENT}.keyring'
    ).unlink(missing_ok=True)
    _remove_rest(lab)
    if is_there:
        # In one step: half of a cluster would be a damaged one.
        lab.second_ceph.rename(lab.root / _REMOVED)
        _remove_rest(lab)
    print_line(
        'second cluster removed'
        if is_there
        else 'no second cluster is there, nothing to do'
    )


def stage(
    lab: layout.Layout,
    supervisor: supervisord.Supervisor,
    needs: tuple[str, ...] = ('packages', 'ceph', 'libvirt'),
) -> stages.Stage:
    """Return the stage of ``up`` that has the cluster run."""
    return stages.Stage(
        name=STAGE, needs=needs, run=lambda: _start(lab, supervisor)
    )


def catalog_entry(lab: layout.Layout) -> str:
    """Return what a catalog says of the cluster, in YAML."""
    return (
        'clusters:\n'
        '  second:\n'
        f'    conf: {lab.second_ceph}/ceph.conf\n'
        f'    cinder_user: {clusters.SECOND_CLIENT}\n'
        f'    secret_uuid: {lab.second_secret_uuid}'
    )


def _start(lab: layout.Layout, supervisor: supervisord.Supervisor) -> str:
    packages.install_debian_packages(lab.log / 'apt.log', _PACKAGES)
    _remove_rest(lab)
    second = clusters.second(lab, supervisor)
    remark = second.up()
    keyring = second.ensure_rbd_client(clusters.SECOND_CLIENT)
    private_file.write(
        lab.ceph_conf.with_name(keyring.name), keyring.read_text()
    )
    libvirtd.define_cephx_secret(
        lab,
        keyrings.read_key(keyring, f'client.{clusters.SECOND_CLIENT}'),
        client=clusters.SECOND_CLIENT,
        secret_uuid=lab.second_secret_uuid,
    )
    return remark


def _remove_rest(lab: layout.Layout) -> None:
    rest = lab.root / _REMOVED
    if rest.exists():
        shutil.rmtree(rest)
