# SPDX-License-Identifier: Apache-2.0

"""The disk on which a kept fleet gets the orders of another run.

A project has no other way to hand bytes to a server that runs without a
network: user data is fixed, and Cinder fills volumes from images only.
"""

from collections.abc import Callable
import io
from typing import Any

from cinderclient import exceptions as cinder_exceptions
from oslo_log import log as logging

from rally_scenarios.plugins import servers

LOG = logging.getLogger(__name__)


class OrdersDisk:
    """An image, a volume made from it, and its attachment to one server."""

    def __init__(
        self,
        *,
        glance: Any,
        cinder: Any,
        nova: Any,
        new_name: Callable[[], str],
    ) -> None:
        """Begin with nothing made.

        :param glance: glanceclient v2
        :param cinder: cinderclient
        :param nova: novaclient
        :param new_name: gives names that Rally's cleanup knows as its own
        """
        self._glance = glance
        self._cinder = cinder
        self._nova = nova
        self._new_name = new_name
        self._image = ''
        self._volume = ''
        self._server = ''

    def attach(
        self,
        content: bytes,
        *,
        server_id: str,
        volume_type: str,
        zone: str | None,
        timeout_seconds: float,
    ) -> None:
        """Create the disk and attach it.

        :param content: content of its first bytes
        :param server_id: id of the server that gets it
        :param zone: availability zone of the volume; None: Cinder's choice
        :raises servers.FleetError: it took too long, or a service refused
        """
        try:
            self._image = self._glance.images.create(
                name=self._new_name(),
                disk_format='raw',
                container_format='bare',
                visibility='private',
            ).id
            self._glance.images.upload(self._image, io.BytesIO(content))
            self._volume = self._cinder.volumes.create(
                1,
                name=self._new_name(),
                imageRef=self._image,
                volume_type=volume_type,
                **({} if zone is None else {'availability_zone': zone}),
            ).id
            servers.wait_for_volumes(
                self._cinder, [self._volume], timeout_seconds
            )
            self._nova.volumes.create_server_volume(server_id, self._volume)
            self._server = server_id
            servers.wait_for_attachment(
                self._nova,
                self._cinder,
                server_id=server_id,
                start_volume_id=self._volume,
                timeout_seconds=timeout_seconds,
            )
        except servers.REQUEST_FAILED as error:
            raise servers.FleetError(
                f'the kept fleet cannot be given its orders: {error}'
            ) from error

    def delete(self, timeout_seconds: float) -> None:
        """Detach and delete what was made; what cannot be is logged.

        Rally's cleanup knows the names of the volume and the image.
        """
        try:
            if self._server:
                self._nova.volumes.delete_server_volume(
                    self._server, self._volume
                )
                servers.wait_for_volumes(
                    self._cinder, [self._volume], timeout_seconds
                )
            if self._volume:
                servers.delete(
                    self._cinder.volumes,
                    [self._volume],
                    cinder_exceptions.NotFound,
                    timeout_seconds,
                )
            if self._image:
                self._glance.images.delete(self._image)
        except (servers.FleetError, *servers.REQUEST_FAILED) as error:
            LOG.warning('The disk with orders is left to Rally: %s', error)
