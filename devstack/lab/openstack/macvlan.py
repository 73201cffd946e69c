# SPDX-License-Identifier: Apache-2.0
"""How Neutron's DHCP agent reaches guests that Nova attaches by macvtap.

Neutron has interface drivers for Open vSwitch only. This one gives the agent
a macvlan interface on the link on which guests have their macvtap interfaces.
Runs inside the agent, in the lab's Python environment.
"""

from typing import Any

from neutron.agent.linux import interface
from neutron.agent.linux import ip_lib
from neutron.conf.plugins.ml2.drivers import macvtap
from neutron.privileged.agent.linux import ip_lib as privileged
from neutron_lib.utils import helpers
from oslo_config import cfg


class MacvlanInterfaceDriver(interface.LinuxInterfaceDriver):
    """Makes interfaces of namespaces on the only link that Neutron knows."""

    DEV_NAME_PREFIX = 'ns-'

    def __init__(self, conf: cfg.ConfigOpts, **kwargs: Any) -> None:
        """Find the link in the agent's configuration.

        :raises ValueError: it names no link, or more than one.
        """
        super().__init__(conf, **kwargs)
        macvtap.register_macvtap_opts(conf)
        (self._link,) = helpers.parse_mappings(
            conf.macvtap.physical_interface_mappings
        ).values()

    def plug_new(
        self,
        network_id: str,
        port_id: str,
        device_name: str,
        mac_address: str,
        bridge: str | None = None,
        namespace: str | None = None,
        prefix: str | None = None,
        mtu: int | None = None,
    ) -> None:
        """Make the interface of a port, in its namespace."""
        root = ip_lib.IPWrapper()
        if root.device(device_name).exists():
            # of an agent that was killed before the next step
            privileged.delete_interface(device_name, None)
        privileged.create_interface(
            device_name,
            None,
            'macvlan',
            physical_interface=self._link,
            macvlan_mode='bridge',
        )
        device = ip_lib.IPDevice(device_name)
        device.link.set_address(mac_address)
        if namespace:
            root.ensure_namespace(namespace).add_device_to_namespace(device)
        if mtu:
            self.set_mtu(device_name, mtu, namespace=namespace)
        device.link.set_up()

    def unplug(
        self,
        device_name: str,
        bridge: str | None = None,
        namespace: str | None = None,
        prefix: str | None = None,
    ) -> None:
        """Remove the interface of a port, if it is there."""
        device = ip_lib.IPDevice(device_name, namespace=namespace)
        if device.exists():
            device.link.delete()

    def set_mtu(
        self,
        device_name: str,
        mtu: int,
        namespace: str | None = None,
        prefix: str | None = None,
    ) -> None:
        """Set the largest packet of an interface, in bytes."""
        ip_lib.IPDevice(device_name, namespace=namespace).link.set_mtu(mtu)
