# SPDX-License-Identifier: Apache-2.0
"""Runs Neutron's macvtap agent, as ``python -m lab.openstack.macvtap_agent``.

Neutron 29's agent asks its privsep daemon for the interfaces of the host, and
only then forks the process that does the work. There the thread that takes
the daemon's answers does not exist, so the first question is never answered,
and the agent never reports to Neutron. It is root's process here, which needs
no daemon: what is privileged runs in the process itself.
"""

from neutron.cmd.plugins import macvtap_neutron_agent
from neutron import privileged


def main() -> None:
    """Run the agent until it is stopped."""
    for context in (privileged.default, privileged.link_cmd):
        context.set_client_mode(False)
    macvtap_neutron_agent.main()


if __name__ == '__main__':
    main()
