# SPDX-License-Identifier: Apache-2.0
"""Restarts services of the running lab, each by the stage that starts it.

A stage knows how to see that its service answers, and what depends on it.
"""

from collections.abc import Callable, Collection
import dataclasses

from lab import guest_network
from lab.infrastructure import rabbitmq
from lab import layout
from lab.openstack import services
from lab.processes import supervisord
from lab import second_ceph
from lab import stages
from lab import up

#: Services that take their requests from the message bus.
WORKERS = (
    'cinder-scheduler',
    'cinder-volume',
    'nova-compute',
    'nova-conductor',
    'nova-scheduler',
    *services.NETWORK_WORKERS,
)


class UnknownServiceError(Exception):
    """The lab has no service of that name."""


def restart(
    lab: layout.Layout,
    names: Collection[str],
    print_line: Callable[[str], None] = print,
) -> None:
    """Restart services; return when they serve requests again.

    They read their configuration as it is now, but the tiers are not applied.

    :param names: as ``lab.sh status`` shows them.
    :raises UnknownServiceError: a name is none of them; nothing was restarted.
    :raises lab.host.commands.CommandFailed: Cinder's scheduler does not know
        each backend again.
    :raises lab.processes.readiness.NotReady: one does not answer.
    :raises lab.stages.StagesFailed: one does not start.
    :raises lab.processes.supervisord.SupervisorError: one does not stay up, or
        the lab is down.
    """
    supervisor = supervisord.Supervisor(lab)
    supervisor.check_up()
    known = [state.name for state in supervisor.states()]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UnknownServiceError(
            f'no service is called {", ".join(unknown)}; '
            f'there are: {", ".join(known)}'
        )
    supervisor.stop_together(names)
    wanted = {stage for name in names for stage in find_stages(name)}
    stages.run(
        [
            dataclasses.replace(
                stage,
                needs=tuple(need for need in stage.needs if need in wanted),
            )
            for stage in up.all_stages(lab)
            if stage.name in wanted
        ],
        lambda result: None,
    )
    supervisor.wait_until_running()
    if any(not name.endswith('-api') for name in names):
        rabbitmq.wait_for_consumers(
            lab,
            [
                queue
                for name in WORKERS
                if name in known
                for queue in services.find_queues(lab, name)
            ],
        )
    if {'cinder-scheduler', 'cinder-volume', 'neutron-api'} & set(names):
        up.wait_for_services(lab)
    print_line(f'restarted: {", ".join(names)}')


def find_stages(name: str) -> tuple[str, ...]:
    """Return the stages of ``up`` that start a service and its dependents."""
    if name.startswith(f'{second_ceph.STAGE}-'):
        return (second_ceph.STAGE,)
    if name.startswith('ceph-'):
        return ('ceph',)
    if name in services.NETWORK_WORKERS:
        return (guest_network.AGENTS_STAGE,)
    if name in ('nova-conductor', 'nova-scheduler'):
        return ('nova-control',)
    return {
        'epmd': ('rabbitmq',),
        'libvirtd': ('libvirt', 'nova-compute'),
    }.get(name, (name.removesuffix('-api'),))
