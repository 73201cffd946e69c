# SPDX-License-Identifier: Apache-2.0

"""What the administrator sees of the cloud in memory (fake_cloud.py)."""

import types


class Admin:
    """Clients of the administrator.

    :ivar qos: {volume type: its QoS specs}
    :ivar encryption: attributes of the encryption of all volume types
    :ivar backends: {volume type: host@backend#pool of its volumes}
    """

    def __init__(self, cloud):
        self._cloud = cloud
        self.qos = {}
        self.encryption = {}
        self.backends = {}

    def refresh_token_if_needed(self):
        """Do nothing: a token of here does not expire.

        rally-openstack after 4.1.0 asks for it.
        """

    def cinder(self):
        volumes = self._cloud.clients().cinder().volumes

        def get(volume_id):
            volume = volumes.get(volume_id)
            setattr(
                volume,
                'os-vol-host-attr:host',
                self.backends.get(volume.volume_type),
            )
            return volume

        named = types.SimpleNamespace
        return named(
            volumes=named(get=get),
            volume_types=named(
                list=lambda is_public: [
                    named(
                        id=name,
                        name=name,
                        qos_specs_id=spec.id,
                        extra_specs={
                            'volume_backend_name': 'ssd',
                            'tiers:name': 'fast',
                        },
                    )
                    for name, spec in self.qos.items()
                ]
            ),
            volume_encryption_types=named(
                get=lambda _type: named(**self.encryption)
            ),
            qos_specs=named(list=lambda: list(self.qos.values())),
            services=named(
                server_api_version=lambda: [
                    named(status='CURRENT', version='3.71')
                ]
            ),
        )

    def nova(self, version):
        servers = self._cloud.clients().nova(version).servers

        def get(server_id):
            server = servers.get(server_id)
            setattr(server, 'OS-EXT-SRV-ATTR:hypervisor_hostname', 'host-a')
            return server

        named = types.SimpleNamespace
        return named(
            servers=named(get=get),
            versions=named(
                get_current=lambda: named(status='CURRENT', version='2.104')
            ),
            hypervisors=named(
                list=lambda: [
                    named(
                        hypervisor_hostname=name,
                        hypervisor_type='QEMU',
                        hypervisor_version=7002022,
                    )
                    for name in ('host-a', 'host-b')
                ]
            ),
        )
