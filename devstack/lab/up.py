# SPDX-License-Identifier: Apache-2.0
"""Starts the lab: the stages of ``up``, what they need, and their report."""

from collections.abc import Callable
import dataclasses
import os
import pathlib
import time

from lab.ceph import clusters
from lab.ceph import keyrings
from lab import guest_network
from lab.guests import accelerator
from lab.guests import boot_files
from lab.guests import image_file
from lab.guests.minimal import image
from lab.host import packages
from lab.infrastructure import libvirtd
from lab.infrastructure import mariadb
from lab.infrastructure import rabbitmq
from lab import layout
from lab.openstack import access
from lab.openstack import conf_files
from lab.openstack import rally
from lab.openstack import schema
from lab.openstack import services
from lab.openstack import tiers
from lab.processes import supervisord
from lab import scratch_disk
from lab import second_ceph
from lab import stages
from lab import status

#: The stage that starts the first cluster.
CEPH_STAGE = 'ceph'


def up(
    lab: layout.Layout,
    print_line: Callable[[str], None] = print,
    *,
    ceph_only: bool = False,
) -> None:
    """Start everything that does not run; may be called at any time.

    :param print_line: takes each line for the user.
    :param ceph_only: start the first Ceph cluster and nothing of OpenStack;
        what runs already is left running.
    :raises lab.stages.StagesFailed: a stage failed; what runs is left running.
    :raises lab.processes.supervisord.SupervisorError: a program does not stay
        up.
    """
    started = time.monotonic()

    def report(result: stages.StageResult) -> None:
        total = time.monotonic() - started
        outcome = 'FAILED' if result.problem else (result.remark or 'done')
        print_line(
            f'[{total:6.1f} s] {result.name:<15} {result.seconds:6.1f} s  '
            f'{outcome}'
        )

    wanted = all_stages(lab)
    if ceph_only:
        wanted = stages.needed_for(wanted, CEPH_STAGE)
    results = stages.run(wanted, report)
    supervisord.Supervisor(lab).wait_until_running()
    memory_gib = status.memory_gib(lab)
    slowest = max(results, key=lambda result: result.seconds)
    print_line(
        f'up after {time.monotonic() - started:.0f} s (longest stage: '
        f'{slowest.name}, {slowest.seconds:.0f} s); {memory_gib:.1f} GiB of '
        'memory in use by the lab'
    )


def all_stages(lab: layout.Layout) -> list[stages.Stage]:
    """Return the stages of ``up``; each may run again at any time."""
    supervisor = supervisord.Supervisor(lab)
    all_of_them = [
        *_machine_stages(lab, supervisor),
        *_control_stages(lab, supervisor),
        *_compute_stages(lab, supervisor),
    ]
    network = guest_network.find_stages(lab, supervisor)
    all_of_them = [
        *(
            # What is in the cloud needs all that serves it.
            dataclasses.replace(
                stage,
                needs=(*stage.needs, *(each.name for each in network)),
            )
            if stage.name == 'cloud'
            else stage
            for stage in all_of_them
        ),
        *network,
    ]
    if not lab.has_second_ceph:
        return all_of_them
    second = second_ceph.stage(lab, supervisor)
    # A catalog may have tiers on it.
    return [
        second,
        *(
            dataclasses.replace(stage, needs=(*stage.needs, second.name))
            if stage.name == 'tiers'
            else stage
            for stage in all_of_them
        ),
    ]


def wait_for_services(lab: layout.Layout) -> None:
    """Wait until Cinder's scheduler knows each backend, and Nova is up.

    :raises lab.host.commands.CommandFailed: something is missing; names it.
    """
    access.run_in_cloud(lab, 'services')


def _machine_stages(
    lab: layout.Layout,
    supervisor: supervisord.Supervisor,
) -> list[stages.Stage]:
    """Return the stages below OpenStack."""

    def ceph_packages() -> str | None:
        return packages.install_debian_packages(
            lab.log / 'apt.log', packages.CEPH_PACKAGES
        )

    def apt() -> str | None:
        return packages.install_debian_packages(lab.log / 'apt.log')

    def python() -> str | None:
        remark = packages.make_python_environment(lab)
        conf_files.write(lab)
        access.write_files(lab)
        rally.write_files(lab)
        return remark

    def start_supervisor() -> str | None:
        orphans = supervisor.start_daemon()
        return f'{len(orphans)} orphans ended' if orphans else None

    def probe() -> str | None:
        return _probe_accelerator(lab)

    return [
        stages.Stage(name='ceph-packages', run=ceph_packages),
        # After the others: one apt at a time.
        stages.Stage(name='packages', needs=('ceph-packages',), run=apt),
        stages.Stage(name='tools', run=lambda: packages.install_tools(lab)),
        stages.Stage(name='python', needs=('tools',), run=python),
        stages.Stage(
            name='bindings',
            needs=('packages', 'python'),
            run=lambda: packages.link_system_modules(lab),
        ),
        stages.Stage(
            name='supervisor', needs=('tools',), run=start_supervisor
        ),
        stages.Stage(
            name=CEPH_STAGE,
            needs=('ceph-packages', 'supervisor'),
            run=clusters.first(lab, supervisor).up,
        ),
        # After Ceph, which sets the limits of its own disks and no others.
        stages.Stage(
            name='scratch-disk',
            needs=('ceph',),
            run=lambda: scratch_disk.up(lab),
        ),
        stages.Stage(
            name='mariadb',
            needs=('packages', 'supervisor'),
            run=lambda: mariadb.start(lab, supervisor),
        ),
        stages.Stage(
            name='rabbitmq',
            needs=('packages', 'supervisor'),
            run=lambda: rabbitmq.start(lab, supervisor),
        ),
        stages.Stage(
            name='libvirt',
            needs=('packages', 'supervisor'),
            run=lambda: libvirtd.start(lab, supervisor),
        ),
        stages.Stage(
            name='guest-image',
            needs=('packages',),
            run=lambda: _build_guest_image(lab),
        ),
        stages.Stage(name='accelerator', needs=('guest-image',), run=probe),
    ]


def _control_stages(
    lab: layout.Layout,
    supervisor: supervisord.Supervisor,
) -> list[stages.Stage]:
    """Return the stages of Keystone, Glance, Cinder and the tiers."""

    def database(service: str) -> stages.Stage:
        return stages.Stage(
            name=f'{service}-db',
            needs=('python', 'mariadb'),
            run=lambda: schema.create(lab, service),
        )

    def api(service: str, *needs: str) -> stages.Stage:
        return stages.Stage(
            name=service,
            needs=(f'{service}-db', *needs),
            run=lambda: services.start_api(lab, supervisor, service),
        )

    def apply_tiers() -> None:
        tiers.apply(lab)
        keyring = clusters.first(lab, supervisor).write_client_keyring(
            'cinder'
        )
        libvirtd.define_cephx_secret(
            lab,
            keyrings.read_key(keyring, 'client.cinder'),
            client='cinder',
            secret_uuid=lab.secret_uuid,
        )

    return [
        *map(
            database,
            ('keystone', 'glance', 'cinder', 'placement', 'neutron', 'nova'),
        ),
        api('keystone'),
        stages.Stage(
            name='identity',
            needs=('keystone',),
            run=lambda: access.run_in_cloud(lab, 'identity'),
        ),
        api('glance', 'identity', 'ceph', 'bindings'),
        stages.Stage(
            name='backend-config',
            needs=('python',),
            run=lambda: tiers.write_backends(lab),
        ),
        api('cinder', 'identity', 'rabbitmq', 'backend-config'),
        stages.Stage(
            name='cinder-scheduler',
            needs=('cinder',),
            run=lambda: services.start_workers(
                lab, supervisor, ['cinder-scheduler']
            ),
        ),
        stages.Stage(
            name='tiers',
            needs=('cinder', 'ceph', 'libvirt', 'bindings'),
            run=apply_tiers,
        ),
        stages.Stage(
            name='cinder-volume',
            needs=('tiers', 'glance'),
            run=lambda: services.start_workers(
                lab, supervisor, ['cinder-volume']
            ),
        ),
        stages.Stage(
            name='rally',
            needs=('python',),
            run=lambda: rally.set_up(lab),
        ),
        api('placement', 'identity'),
        api('neutron', 'identity', 'rabbitmq'),
    ]


def _compute_stages(
    lab: layout.Layout,
    supervisor: supervisord.Supervisor,
) -> list[stages.Stage]:
    """Return the stages of Nova and of what the cloud holds."""

    def compute() -> None:
        conf_files.write(lab)
        services.start_workers(lab, supervisor, ['nova-compute'])

    return [
        stages.Stage(
            name='nova',
            needs=('nova-db', 'placement', 'neutron'),
            run=lambda: services.start_api(lab, supervisor, 'nova'),
        ),
        stages.Stage(
            name='nova-control',
            needs=('nova-db', 'rabbitmq', 'placement'),
            run=lambda: services.start_workers(
                lab, supervisor, ['nova-conductor', 'nova-scheduler']
            ),
        ),
        stages.Stage(
            name='nova-compute',
            # Its start and mapping take 20 s: not after the guest's image.
            needs=('nova-control', 'tiers'),
            run=compute,
        ),
        stages.Stage(
            name='compute-host',
            needs=('nova-compute',),
            run=lambda: schema.map_compute_host(lab),
        ),
        stages.Stage(
            name='virt-type',
            # Without a known accelerator it is "qemu": it starts anew with
            # another one only.
            needs=('compute-host', 'accelerator'),
            run=compute,
        ),
        stages.Stage(
            name='cloud',
            needs=(
                'glance',
                'nova',
                'neutron',
                'cinder-scheduler',
                'cinder-volume',
                'virt-type',
            ),
            run=lambda: access.run_in_cloud(lab, 'resources'),
        ),
    ]


def _build_guest_image(lab: layout.Layout) -> str:
    remark = image_file.build_with_current_lists(
        lambda: image.build(
            work_directory=lab.cache / 'guest-work',
            output=lab.guest_image,
            log=lab.log / 'guest-image.log',
        ),
        lab.log / 'apt.log',
    )
    boot_files.copy(
        lab.guest_image,
        kernel=lab.guest_kernel,
        initramfs=lab.guest_initramfs,
        arguments=lab.guest_kernel_arguments,
    )
    return remark


def _probe_accelerator(lab: layout.Layout) -> str:
    """Find out how guests run; asked again after the machine has rebooted."""
    answer = lab.root / 'accelerator'
    boot = pathlib.Path('/proc/sys/kernel/random/boot_id').read_text().strip()
    device = 'kvm-device' if os.path.exists('/dev/kvm') else 'no-kvm-device'
    if answer.exists() and f'{boot} {device}' in answer.read_text():
        return answer.read_text().splitlines()[0]
    found = accelerator.probe(lab.guest_image, log_directory=lab.log)
    line = f'{found.name}: {found.reason}'
    answer.write_text(f'{line}\n{boot} {device}\n')
    return line
