# SPDX-License-Identifier: Apache-2.0

"""Base of all tests: the tiers of the cloud, and objects of a tenant.

Each object is removed by `addCleanup`, and has a name by which `tempest
cleanup --prefix` finds it after a run that was killed.
"""

import collections.abc
import io
import json
import time
import typing

from oslo_log import log as logging
from tempest.common import waiters
from tempest import config
from tempest.lib.common.utils import data_utils
from tempest.lib.common.utils import test_utils
from tempest.lib import exceptions
from tempest import test

from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.tempest import expected

CONF = config.CONF
LOG = logging.getLogger(__name__)
JSON = 'application/json'
#: Bytes of an image; the least that a volume takes is a GiB anyway.
_IMAGE_BYTES = 1024
_SIZE_GIB = 1


def unique_name(what: str) -> str:
    """A name that `tempest cleanup --prefix` finds."""
    return data_utils.rand_name(
        f'cinder-tiers-{what}', prefix=CONF.resource_name_prefix
    )


class TierTest(test.BaseTestCase):
    """Tests of a tenant, `primary`; the admin only looks and prepares."""

    credentials: typing.ClassVar[tuple[str, ...]] = ('primary', 'admin')
    #: Whether the tests make no sense without admin credentials.
    needs_admin = False
    #: Whether they start servers.
    needs_network = False

    @classmethod
    def skip_checks(cls) -> None:
        """Needs Cinder and Glance, and an admin where `needs_admin`."""
        if not CONF.cinder_tiers.admin:
            cls.credentials = tuple(
                name for name in cls.credentials if name != 'admin'
            )
        super().skip_checks()
        for service in ('cinder', 'glance'):
            if not getattr(CONF.service_available, service):
                raise cls.skipException(
                    f'[service_available] {service} is False'
                )
        if cls.needs_admin and not CONF.cinder_tiers.admin:
            raise cls.skipException('[cinder_tiers] admin is False')

    @classmethod
    def setup_credentials(cls) -> None:
        """Asks for a network only where servers are started."""
        cls.set_network_resources(
            network=cls.needs_network,
            router=cls.needs_network,
            subnet=cls.needs_network,
            dhcp=cls.needs_network,
        )
        super().setup_credentials()

    @classmethod
    def setup_clients(cls) -> None:
        """The clients of tenant and admin."""
        super().setup_clients()
        cls.volumes = cls.os_primary.volumes_client_latest
        cls.images = cls.os_primary.image_client_v2
        cls.snapshots = cls.os_primary.snapshots_client_latest

    @classmethod
    def resource_setup(cls) -> None:
        """Finds the tiers; skips the tests of a cloud without them."""
        super().resource_setup()
        cls.types = []
        cls.pools = []
        if CONF.cinder_tiers.admin:
            # 'None' is how Cinder is asked for public and private ones.
            cls.types = (
                cls.os_admin.volume_types_client_latest.list_volume_types(
                    is_public='None'
                )['volume_types']
            )
            cls.pools = (
                cls.os_admin.volume_scheduler_stats_client_latest.list_pools(
                    detail=True
                )['pools']
            )
        given = CONF.cinder_tiers
        try:
            cls.tiers = expected.find_tiers(
                cls.types,
                {
                    name: getattr(given, name)
                    for name in (
                        'tag',
                        'tier_type',
                        'fallback_type',
                        'following_type',
                    )
                },
            )
        except expected.NotTestable as error:
            raise cls.skipException(str(error)) from error

    @classmethod
    def make_private_tier(
        cls, project: str
    ) -> collections.abc.Mapping[str, typing.Any]:
        """Makes a tier that has nothing but its volume type; needs an admin.

        Its name is its tag as well, and its backends are those of the tagged
        tier: what counts is the type. It is removed after the last test.

        :param project: id of the only one that may use it.
        :returns: the volume type.
        """
        types = cls.os_admin.volume_types_client_latest
        name = unique_name('private')
        specs = {
            cinder_state.NAME: name,
            cinder_state.TAGS: name,
            cinder_state.PRIORITY: '99',
        }
        backends = expected.backend_names(cls.types, cls.tiers.tier_type)
        if backends:
            specs[cinder_state.BACKEND] = ' '.join(
                f'{cinder_state.OR} {one}' for one in sorted(backends)
            )
        made = types.create_volume_type(
            name=name,
            extra_specs=specs,
            **{'os-volume-type-access:is_public': False},
        )['volume_type']
        cls.addClassResourceCleanup(types.delete_volume_type, made['id'])
        types.add_type_access(made['id'], project=project)
        time.sleep(CONF.cinder_tiers.applied_cache_seconds)
        return made

    def make_image(
        self, *tags: str, client: typing.Any = None, **properties: object
    ) -> str:
        """Make a private image of a tenant, and return its id.

        :param client: image client of the tenant; by default that of
            `primary`.
        :param properties: properties of the image; may include its name.
        """
        client = client or self.images
        image = client.create_image(
            **{
                'name': unique_name('image'),
                'container_format': 'bare',
                'disk_format': 'raw',
                'visibility': 'private',
                'tags': list(tags),
                **properties,
            }
        )
        self.addCleanup(self._remove_image, image['id'], client)
        client.store_image_file(image['id'], io.BytesIO(bytes(_IMAGE_BYTES)))
        waiters.wait_for_image_status(client, image['id'], 'active')
        return image['id']

    def _remove_image(self, image: str, client: typing.Any) -> None:
        """Removes an image, unless the storage still needs it.

        Cinder's RBD driver keeps a volume that was cloned for as long as it
        keeps a reference to the clone, in Cinder 29 also when both are
        deleted; with deferred deletion, any volume. Glance then refuses to
        delete the image, which says nothing about the tiers.
        """
        try:
            test_utils.call_and_ignore_notfound_exc(client.delete_image, image)
        except exceptions.Conflict as error:
            LOG.warning(
                'Image %s stays, for "tempest cleanup": %s', image, error
            )

    def make_volume(
        self, *, client: typing.Any = None, **request: object
    ) -> collections.abc.Mapping[str, typing.Any]:
        """Make a volume, and return it as Cinder shows it once available.

        :param client: volume client of the tenant; by default that of
            `primary`.
        :param request: keys of the request body.
        """
        client = client or self.volumes
        made = client.create_volume(
            **{'size': _SIZE_GIB, 'name': unique_name('volume'), **request}
        )['volume']
        self.remove_volume_later(made['id'], client)
        return self.available(made['id'], client)

    def remove_volume_later(self, volume: str, client: typing.Any) -> None:
        """Removes a volume after the test, and waits until it is gone."""
        self.addCleanup(client.wait_for_resource_deletion, volume)
        self.addCleanup(
            test_utils.call_and_ignore_notfound_exc,
            client.delete_volume,
            volume,
        )

    def available(
        self, volume: str, client: typing.Any = None
    ) -> collections.abc.Mapping[str, typing.Any]:
        """A volume as Cinder shows it, once it is available."""
        client = client or self.volumes
        waiters.wait_for_volume_resource_status(client, volume, 'available')
        return client.show_volume(volume)['volume']

    def make_snapshot(self, volume: str) -> str:
        """Makes a snapshot of a volume; its id."""
        made = self.snapshots.create_snapshot(
            volume_id=volume, name=unique_name('snapshot'), force=True
        )['snapshot']['id']
        self.addCleanup(self.snapshots.wait_for_resource_deletion, made)
        self.addCleanup(
            test_utils.call_and_ignore_notfound_exc,
            self.snapshots.delete_snapshot,
            made,
        )
        waiters.wait_for_volume_resource_status(
            self.snapshots, made, 'available'
        )
        return made

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        client: typing.Any = None,
        version: str | None = None,
        codec: str = 'utf-8',
        **headers: str,
    ) -> dict[str, typing.Any]:
        """Sends Cinder a request that Tempest's clients do not write.

        :param path: below the endpoint.
        :param body: sent as JSON in the encoding `codec`; None for no body.
        :param version: microversion; None for no header.
        :param headers: more of them; - is written _.
        :returns: the answer; empty if it is no JSON object.
        :raises exceptions.RestClientException: it was refused.
        """
        sent = {'Content-Type': JSON, 'Accept': JSON}
        if version:
            sent['OpenStack-API-Version'] = f'volume {version}'
        sent |= {
            name.replace('_', '-'): value for name, value in headers.items()
        }
        data = None if body is None else json.dumps(body).encode(codec)
        _, answer = (client or self.volumes).request(
            method, path, headers=sent, body=data
        )
        try:
            found = json.loads(answer)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def assert_on_tier(
        self,
        volume: collections.abc.Mapping[str, typing.Any],
        volume_type: str,
    ) -> None:
        """Assert that a volume has a tier's type and is on its backends.

        :param volume: the volume as the API shows it.
        :param volume_type: name of the volume type.
        """
        self.assertEqual(volume_type, volume['volume_type'])
        backends = expected.backend_names(self.types, volume_type)
        if not backends:
            return
        shown = self.os_admin.volumes_client_latest.show_volume(volume['id'])
        self.assertIn(
            shown['volume']['os-vol-host-attr:host'],
            expected.pools_of(self.pools, backends),
        )

    def wait_for(
        self, is_so: collections.abc.Callable[[], bool], what: str
    ) -> None:
        """Waits for something.

        :param what: said if it does not come.
        :raises exceptions.TimeoutException: it did not.
        """
        if not test_utils.call_until_true(
            is_so,
            duration=CONF.volume.build_timeout,
            sleep_for=CONF.volume.build_interval,
        ):
            raise exceptions.TimeoutException(
                f'not within {CONF.volume.build_timeout} s: {what}'
            )
