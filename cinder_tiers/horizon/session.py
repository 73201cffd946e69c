# SPDX-License-Identifier: Apache-2.0

"""A connection of openstacksdk as the user who is logged in to Horizon.

Horizon keeps the token and its catalog; Keystone is not asked again.
"""

from django.conf import settings
from django import http
from keystoneauth1 import access
from keystoneauth1.identity import access as access_plugin
import openstack.connection
from openstack_auth import utils as auth_utils

#: Seconds that a service may take to begin an answer: Horizon has few
#: processes, and a service that hangs must not take them all.
_TIMEOUT_S = 60


def connect(request: http.HttpRequest) -> openstack.connection.Connection:
    """Open a connection to the user's region, which the caller must close.

    An unclosed connection leaves its sockets open: openstacksdk keeps the last
    ones in a cache.

    :param request: request of a user who is logged in.
    """
    user = request.user
    known = access.AccessInfoV3(
        {
            'token': {
                'user': {
                    'id': user.id,
                    'name': user.username,
                    'domain': {'id': user.user_domain_id},
                },
                'project': {
                    'id': user.project_id,
                    'name': user.project_name,
                    'domain': {'id': user.token.project['domain_id']},
                },
                'roles': user.roles,
                'catalog': user.service_catalog,
            }
        },
        auth_token=user.token.id,
    )
    return openstack.connection.Connection(
        session=auth_utils.get_session(
            auth=access_plugin.AccessInfoPlugin(
                known, auth_url=settings.OPENSTACK_KEYSTONE_URL
            ),
            original_ip=auth_utils.get_client_ip(request),
            timeout=_TIMEOUT_S,
        ),
        region_name=user.services_region,
        interface=settings.OPENSTACK_ENDPOINT_TYPE,
        # A user who waits for a page tries again sooner.
        status_code_retries=1,
        app_name='cinder-tiers',
    )
