# SPDX-License-Identifier: Apache-2.0
"""The network of guests: what ``up --network`` adds, and what takes it away.

A link of virtual interfaces, the agents of Neutron, and Nova's metadata
service.
"""

from lab.host import guest_link
from lab.host import packages
from lab import layout
from lab.openstack import access
from lab.openstack import services
from lab.processes import lab_processes
from lab.processes import supervisord
from lab import stages

#: The stage that makes the link.
LINK_STAGE = 'guest-link'
#: The stage that starts what is between the API of Neutron and the link.
AGENTS_STAGE = 'neutron-agents'
METADATA_STAGE = 'nova-metadata'


class GuestNetworkError(Exception):
    """The network of guests cannot be removed as things are."""


def find_stages(
    lab: layout.Layout, supervisor: supervisord.Supervisor
) -> list[stages.Stage]:
    """Return the stages of ``up``; none if it is nothing to the lab."""
    if lab.gives_up_network:
        return [
            stages.Stage(
                name=LINK_STAGE,
                needs=('packages', 'supervisor', 'python'),
                run=lambda: _remove(lab, supervisor),
            )
        ]
    if not lab.has_network:
        return []

    def make_link() -> str:
        packages.install_debian_packages(
            lab.log / 'apt.log', guest_link.PACKAGES
        )
        return guest_link.set_up(lab)

    return [
        stages.Stage(name=LINK_STAGE, needs=('packages',), run=make_link),
        stages.Stage(
            name=METADATA_STAGE,
            needs=('nova-db', 'placement', 'neutron', 'rabbitmq'),
            run=lambda: services.start_api(lab, supervisor, METADATA_STAGE),
        ),
        stages.Stage(
            name=AGENTS_STAGE,
            needs=('neutron', LINK_STAGE),
            run=lambda: services.start_workers(
                lab, supervisor, services.NETWORK_WORKERS
            ),
        ),
    ]


def choose(
    lab: layout.Layout,
    supervisor: supervisord.Supervisor,
    wanted: bool | None,
) -> None:
    """Choose whether guests have a network after the next ``up``.

    :param wanted: None: as before.
    :raises GuestNetworkError: it is to be removed, but the lab is down.
    :raises lab.host.commands.CommandFailed: it is to be removed, but servers
        are in it.
    """
    if wanted is None:
        return
    if not wanted and lab.has_network:
        if not supervisor.is_up():
            raise GuestNetworkError(
                'Neutron, which is down, has to remove the network first: '
                'run devstack/lab.sh up, then this again.'
            )
        access.run_in_cloud(lab, 'no-network')
    lab.choose_network(wanted)


def detach(lab: layout.Layout) -> None:
    """Remove the link of a lab that is down; ``up`` makes it again.

    :raises lab.host.commands.CommandFailed: ip(8) refuses.
    """
    if lab.has_network or lab.gives_up_network:
        guest_link.remove(lab)


def _remove(lab: layout.Layout, supervisor: supervisord.Supervisor) -> str:
    supervisor.remove_programs(
        [*services.NETWORK_WORKERS, f'{METADATA_STAGE}-api']
    )
    # The agent ends its servers with their network, unless it was killed.
    folder = lab.dhcp_folder.parent
    lab_processes.stop(
        [
            process
            for process in lab_processes.find_marked(lab.root)
            if f'{folder}/' in process.command
        ]
    )
    guest_link.remove(lab)
    lab.forget_network()
    return 'removed'
