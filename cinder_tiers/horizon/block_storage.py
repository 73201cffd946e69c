# SPDX-License-Identifier: Apache-2.0

"""Names of the Cinder service in Horizon's catalog."""

#: Any one of these types of service; as Horizon's own panels of volumes.
PERMISSIONS = (
    (
        'openstack.services.block-storage',
        'openstack.services.block-store',
        'openstack.services.volume',
        'openstack.services.volumev3',
    ),
)
