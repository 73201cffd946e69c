# SPDX-License-Identifier: Apache-2.0

"""Boot from volume: Nova makes the volume, and names no type."""

from tempest.common import compute
from tempest.common import waiters
from tempest import config
from tempest.lib.common.utils import test_utils
from tempest.lib import decorators

from cinder_tiers.tempest.tests import tier_test

CONF = config.CONF


class BootFromVolumeTest(tier_test.TierTest):
    """A server whose disk Nova has Cinder make of a tagged image."""

    needs_network = True

    @classmethod
    def skip_checks(cls) -> None:
        """Needs Nova."""
        super().skip_checks()
        if not CONF.service_available.nova:
            raise cls.skipException('[service_available] nova is False')

    @decorators.idempotent_id('40976105-6d36-4709-a82f-9c95bff3e0ba')
    @decorators.attr(type='smoke')
    def test_the_disk_of_a_server_is_on_the_tier_of_its_image(self) -> None:
        """The guest need not start: its image has no system."""
        image = self.make_image(self.tiers.tag)
        server, _ = compute.create_test_server(
            self.os_primary,
            tenant_network=self.get_tenant_network(),
            name=tier_test.unique_name('server'),
            wait_until='ACTIVE',
            image_id='',
            block_device_mapping_v2=[
                {
                    'uuid': image,
                    'source_type': 'image',
                    'destination_type': 'volume',
                    'volume_size': 1,
                    'boot_index': 0,
                    'delete_on_termination': True,
                }
            ],
        )
        servers = self.os_primary.servers_client
        self.addCleanup(
            waiters.wait_for_server_termination, servers, server['id']
        )
        self.addCleanup(
            test_utils.call_and_ignore_notfound_exc,
            servers.delete_server,
            server['id'],
        )
        [attached] = servers.list_volume_attachments(server['id'])[
            'volumeAttachments'
        ]
        self.assert_on_tier(
            self.volumes.show_volume(attached['volumeId'])['volume'],
            self.tiers.tier_type,
        )
