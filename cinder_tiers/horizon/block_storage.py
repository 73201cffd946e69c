# SPDX-License-Identifier: Apache-2.0

"""What Horizon knows Cinder by."""

#: Any one of these types of service; as Horizon's own panels of volumes.
PERMISSIONS = (
    (
        'openstack.services.block-storage',
        'openstack.services.block-store',
        'openstack.services.volume',
        'openstack.services.volumev3',
    ),
)
