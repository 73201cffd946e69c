# SPDX-License-Identifier: Apache-2.0

"""An identifier that distinguishes clouds. Writes nothing."""

import urllib.parse

from keystoneauth1 import identity
import openstack.connection

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.domain import errors


def identity_of(connection: openstack.connection.Connection) -> str:
    """A text that is the same for all who reach this Cinder.

    It is the id of the service in Keystone's catalog and the region, since
    its URL differs by interface and by project. Without a catalog it is the
    URL without the project.

    :raises errors.Unreachable: when Keystone does not answer, or refuses, or
        has no block storage.
    """
    try:
        service = connection.block_storage
        if isinstance(connection.session.auth, identity.BaseIdentityPlugin):
            found = connection.session.auth.get_endpoint_data(
                connection.session,
                service_type='block-storage',
                interface=service.interface,
                region_name=service.region_name,
                skip_discovery=True,
            )
            if found and found.service_id:
                return f'{found.service_id} {found.region_name}'
        url = service.get_endpoint()
    except openstack_client.API_ERRORS as error:
        raise errors.Unreachable(
            f'Keystone did not return the endpoint of Cinder: {error}'
        ) from error
    if not url:
        raise errors.NotVisible(
            f'Keystone has no block storage in region {service.region_name}; '
            'choose another with --os-region-name or OS_REGION_NAME'
        )
    parts = urllib.parse.urlsplit(url)
    return f'{parts.netloc}{parts.path.partition("/v3")[0]}'
