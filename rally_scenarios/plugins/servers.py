# SPDX-License-Identifier: Apache-2.0

"""Volumes and servers of a fleet: make, wait for, delete.

Adapter between the scenario and the OpenStack clients; it decides nothing
about measuring.  All names come from the scenario, so that Rally's cleanup
knows them as its own whatever happens here.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
import functools
import math
import time
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from glanceclient import exc as glance_exceptions
from keystoneauth1 import exceptions as keystone_exceptions
from neutronclient.common import exceptions as neutron_exceptions
from novaclient import exceptions as nova_exceptions
from oslo_log import log as logging
from rally.common import utils as rally_utils
from rally import exceptions

from rally_scenarios.plugins import at_once

LOG = logging.getLogger(__name__)

# Block device mappings of one multi-attach volume at boot: Nova API
# microversion 2.60, "multiattach volumes".
NOVA_MICROVERSION = '2.60'
_POLL_SECONDS = 0.5
# A string: Rally's own boot helper takes lists only.
NO_NETWORK = {'nics': 'none'}
#: What clients raise if a service refuses a request, or does not answer it:
#: that is not of the client, but of the session below it.
REQUEST_FAILED = (
    cinder_exceptions.ClientException,
    glance_exceptions.ClientException,
    glance_exceptions.CommunicationError,
    keystone_exceptions.ClientException,
    neutron_exceptions.NeutronClientException,
    nova_exceptions.ClientException,
)
#: What clients raise if what answers is not the API: they have None where a
#: proxy in front of it sends a page.
NO_ANSWER_OF_THE_API = (
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
#: What to say of them.
NOT_THE_API = (
    'the answer is not one of the API, maybe of a proxy in front of it'
)


class FleetError(exceptions.RallyException):
    """The fleet could not be made, or did not do its work."""

    error_code = 1001


@dataclass(frozen=True, kw_only=True)
class Guest:
    """A server of the fleet."""

    #: how frames and tables call it
    name: str
    #: name of its tier
    tier: str
    #: Nova's
    server_id: str
    #: among the guests of its tier, from 0
    position: int = 0
    #: of the server as Nova names it to its project: a digest, the same for
    #: two guests on the same host; None if it did not say
    host: str | None = None


def find_images(glance: Any, names: Sequence[str]) -> dict[str, str]:
    """Look up images by name.

    :param glance: glanceclient v2
    :returns: {name: id}
    :raises FleetError: names every image that is missing or ambiguous
    """
    found, wrong = {}, []
    for name in sorted(set(names)):
        ids = [
            image.id
            for image in glance.images.list(
                filters={'name': name, 'status': 'active'}
            )
        ]
        if len(ids) == 1:
            found[name] = ids[0]
        elif ids:
            wrong.append(
                f'{len(ids)} active images are called {name!r}:'
                f' {", ".join(ids)}; expected one'
            )
        else:
            wrong.append(
                f'no active image is called {name!r}; upload it, or'
                f" name another one in the argument 'fleets'"
            )
    if wrong:
        raise FleetError('; '.join(wrong))
    return found


def check_volume_types(cinder: Any, names: Sequence[str]) -> None:
    """Look up volume types by name.

    :raises FleetError: names every one that the project cannot use
    """
    if not names:
        return
    found = {each.name for each in cinder.volume_types.list()}
    missing = sorted(set(names) - found)
    if missing:
        raise FleetError(
            f'no volume type {", ".join(map(repr, missing))} that this project'
            f' may use: found {", ".join(sorted(found)) or "none"}; name'
            f' another one as volume_type of the fleet, or give the project'
            f' access to it'
        )


def _wait(
    description: str,
    pending: Sequence[str],
    settled: Callable,
    timeout_seconds: float,
) -> None:
    """Ask ``settled(id)`` for all ids until each was true once.

    :raises FleetError: it took too long; says for what
    """
    left = list(pending)
    deadline = time.monotonic() + timeout_seconds
    while left:
        left = [each for each in left if not settled(each)]
        if left and time.monotonic() > deadline:
            raise FleetError(
                f'waited {timeout_seconds} s for {description}, still'
                f' waiting for {", ".join(left)}'
            )
        if left:
            rally_utils.interruptable_sleep(_POLL_SECONDS)


def wait_for_volumes(
    cinder: Any, volume_ids: Sequence[str], timeout_seconds: float
) -> None:
    """Wait until all volumes are available.

    :raises FleetError: one ended in an error, or it took too long
    """

    def settled(volume_id: str) -> bool:
        volume = cinder.volumes.get(volume_id)
        if volume.status.startswith('error'):
            raise FleetError(
                f'volume {volume.name} ({volume_id}) ended in status'
                f' {volume.status}: no backend took it, or the backend'
                f' failed; see `openstack volume message list`'
            )
        return volume.status == 'available'

    _wait('volumes to become available', volume_ids, settled, timeout_seconds)


def volume_types(cinder: Any, volume_ids: Sequence[str]) -> list[str | None]:
    """Names of the types that volumes have, in their order.

    :returns: None for a volume of which Cinder names no type
    """
    return [
        cinder.volumes.get(volume_id).volume_type for volume_id in volume_ids
    ]


def most_in_server_group(nova: Any) -> float:
    """Return how many servers Nova allows in a server group of the project.

    Must be read beforehand: Nova refuses one more only after it has reserved
    its volumes, and leaves them reserved (nova 34 compute/api.py
    _provision_instances), so that they cannot be used or deleted.

    :returns: infinity if there is no limit
    :raises FleetError: Nova does not report the limit
    """
    name = 'maxServerGroupMembers'
    try:
        limits = {each.name: each.value for each in nova.limits.get().absolute}
    except nova_exceptions.ClientException as error:
        raise FleetError(f'Nova does not list its limits: {error}') from error
    if name not in limits:
        raise FleetError(f'Nova lists no limit {name}')
    return math.inf if limits[name] < 0 else limits[name]


def create_server_group(nova: Any, name: str) -> str:
    """Ask for a group whose servers are to be on different hosts if possible.

    :raises FleetError: Nova refuses
    """
    try:
        return nova.server_groups.create(name, 'soft-anti-affinity').id
    except nova_exceptions.ClientException as error:
        raise FleetError(f'Nova refuses a server group: {error}') from error


def create_server(
    nova: Any,
    *,
    name: str,
    flavor_id: str,
    volume_ids: Sequence[str],
    user_data: str,
    group_id: str | None = None,
    options: Mapping[str, Any] = NO_NETWORK,
) -> str:
    """Request one guest, booted from its volume.

    :param nova: novaclient with at least ``NOVA_MICROVERSION``
    :param volume_ids: volumes, of which the first is booted
    :param group_id: id of a server group, or None
    :param options: further arguments of novaclient: networks, keys, and
        whether user data is on a config drive, which is the default
    :returns: id of the server, which is building
    """
    return nova.servers.create(
        name,
        None,
        flavor_id,
        block_device_mapping_v2=[
            {
                'boot_index': boot_index,
                'uuid': each,
                'source_type': 'volume',
                'destination_type': 'volume',
                'delete_on_termination': False,
            }
            for boot_index, each in zip(
                (0, *[-1] * (len(volume_ids) - 1)), volume_ids, strict=True
            )
        ],
        scheduler_hints=group_id and {'group': group_id},
        userdata=user_data,
        **{'config_drive': True, **options},
    ).id


def wait_for_attachment(
    nova: Any,
    cinder: Any,
    *,
    server_id: str,
    start_volume_id: str,
    timeout_seconds: float,
) -> None:
    """Wait until the start volume is attached, and free for the next server.

    Servers have to take it one after another: Cinder lets nobody reserve a
    multi-attach volume while it is being attached elsewhere (cinder 29
    volume/api.py _attachment_reserve).

    :raises FleetError: the server ended in an error, or it took too long
    """

    def settled(_server_id: str) -> bool:
        _fail_if_broken(nova.servers.get(server_id))
        return cinder.volumes.get(start_volume_id).status == 'in-use'

    _wait(
        'the start volume to be attached to a server',
        [server_id],
        settled,
        timeout_seconds,
    )


def _fail_if_broken(server: Any) -> None:
    if server.status == 'ERROR':
        fault = getattr(server, 'fault', {}).get('message', 'none given')
        raise FleetError(
            f'server {server.name} ({server.id}) ended in'
            f' status ERROR, fault: {fault}'
        )


def check_active(nova: Any, server_ids: Sequence[str]) -> None:
    """Check that all servers run.

    :raises FleetError: servers do not run; names them
    """
    found = [nova.servers.get(server_id) for server_id in server_ids]
    wrong = [
        f'{server.name} ({server.id}) is {server.status}'
        for server in found
        if server.status != 'ACTIVE'
    ]
    if wrong:
        raise FleetError(
            f'{len(wrong)} of {len(found)} servers are not active:'
            f' {"; ".join(wrong)}'
        )


def wait_for_servers(
    nova: Any, server_ids: Sequence[str], timeout_seconds: float
) -> None:
    """Wait until all servers are active.

    :raises FleetError: one ended in an error, or it took too long
    """

    def settled(server_id: str) -> bool:
        server = nova.servers.get(server_id)
        _fail_if_broken(server)
        return server.status == 'ACTIVE'

    _wait('servers to become active', server_ids, settled, timeout_seconds)


def hosts(nova: Any, server_ids: Sequence[str]) -> list[str | None]:
    """Return the hosts of servers, in their order; None if Nova hides one."""
    return [
        getattr(nova.servers.get(server_id), 'hostId', None) or None
        for server_id in server_ids
    ]


def _gone(manager: Any, not_found: type[Exception]) -> Callable:
    def settled(resource_id: str) -> bool:
        try:
            manager.get(resource_id)
        except not_found:
            return True
        return False

    return settled


def delete(
    manager: Any,
    ids: Sequence[str],
    not_found: type[Exception],
    timeout_seconds: float,
) -> None:
    """Delete servers, groups or volumes and wait until they are gone.

    One that cannot be deleted does not keep the others; some are asked for
    at the same time.

    :param manager: ``nova.servers``, ``nova.server_groups`` or
        ``cinder.volumes``
    :param not_found: the client's exception for what is gone
    :raises FleetError: some are still there
    """
    left = {}

    def ask(resource_id: str) -> None:
        try:
            manager.delete(resource_id)
        except not_found:
            return
        except REQUEST_FAILED as error:
            left[resource_id] = f'{resource_id}: {error}'

    at_once.ask_all([functools.partial(ask, each) for each in ids])
    if left:
        in_order = '; '.join(left[each] for each in ids if each in left)
        raise FleetError(f'not deleted: {in_order}')
    _wait('deletion', ids, _gone(manager, not_found), timeout_seconds)
