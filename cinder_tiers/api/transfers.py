# SPDX-License-Identifier: Apache-2.0

"""POST volume-transfers/{id}/accept: no private tier comes as a gift."""

import collections.abc

from cinder.api.openstack import wsgi
from cinder.api.schemas import volume_transfer
from cinder.db import api as db_api
from cinder import exception
from cinder import objects
import webob.exc

from cinder_tiers.api import outcome
from cinder_tiers.api import request as requests
from cinder_tiers.doors import door
from cinder_tiers.doors.volume_types import named_types

PATHS = ('volume-transfers/{id}/accept', 'os-volume-transfer/{id}/accept')
_NO_ACCESS = (
    'The volume lies on a storage tier that this project may not use. '
    'Ask the cloud administrator for access to the tier.'
)


def schemas() -> collections.abc.Iterable[requests.Schema]:
    """Cinder's own."""
    return ((None, None, volume_transfer.accept),)


def steer(request: requests.ApiRequest) -> outcome.RequestOutcome:
    """Refuse a volume of a private tier to a project without access.

    Cinder does not ask whether who accepts may use the volume's type
    (transfer/api.py, `accept`, 29.0.0).

    :raises Exception: whatever Cinder's database layer raises.
    """
    context = request.context
    admin = context.elevated()
    try:
        transfer = db_api.transfer_get(admin, request.ident)
        volume = objects.Volume.get_by_id(admin, transfer['volume_id'])
    except exception.NotFound:
        return outcome.PASS
    api = door.of_process('api')
    found = volume.volume_type_id and api.types.find(
        admin, volume.volume_type_id
    )
    if found and named_types.is_closed(found, context, context.project_id):
        return outcome.RequestOutcome(
            answer=wsgi.Fault(webob.exc.HTTPForbidden(explanation=_NO_ACCESS))
        )
    return outcome.PASS
