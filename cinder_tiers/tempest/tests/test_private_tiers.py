# SPDX-License-Identifier: Apache-2.0

"""A private tier serves only projects with access to its volume type."""

import contextlib
import functools
import json

from tempest.common import waiters
from tempest import config
from tempest.lib.common.utils import test_utils
from tempest.lib import decorators
from tempest.lib import exceptions

from cinder_tiers.tempest.tests import tier_test

CONF = config.CONF


class PrivateTierTest(tier_test.TierTest):
    """`primary` has no access; `alt` is given it where we make the tier."""

    credentials = ('primary', 'alt', 'admin')

    @classmethod
    def resource_setup(cls) -> None:
        """Takes the private tier that is given, or makes one.

        Skips the tests if none is given and there is no admin.
        """
        super().resource_setup()
        given = CONF.cinder_tiers
        cls.is_made = False
        cls.private_type = cls.private_id = given.private_type
        cls.private_tag = given.private_tag
        if given.private_type:
            for one in cls.types:
                if one['name'] == given.private_type:
                    cls.private_id = one['id']
            return
        if not given.admin:
            raise cls.skipException(
                '[cinder_tiers] has neither admin nor private_type'
            )
        made = cls.make_private_tier(
            cls.os_alt.volumes_client_latest.project_id
        )
        cls.is_made = True
        cls.private_type, cls.private_id = made['name'], made['id']
        cls.private_tag = made['name']

    def volume_of_alt(self) -> str:
        """A volume of the project that has access, on the tier; its id."""
        if not self.is_made:
            raise self.skipException(
                'only a private tier that the tests make has a project with '
                'access: unset [cinder_tiers] private_type'
            )
        client = self.os_alt.volumes_client_latest
        volume = self.make_volume(client=client, volume_type=self.private_id)
        self.assertEqual(self.private_type, volume['volume_type'])
        return volume['id']

    def _is_made_or_refused(self, volume: str) -> bool:
        found = self.volumes.show_volume(volume)['volume']
        return found['status'] in ('available', 'error')

    def assert_not_private(self, **request: object) -> None:
        """A create is refused, or its volume has another type."""
        try:
            volume = self.make_volume(**request)
        except exceptions.ClientRestClientException:
            return
        self.assertNotEqual(self.private_type, volume['volume_type'])

    @decorators.idempotent_id('45170677-1f97-4d70-8ed5-74fefc1c10cf')
    def test_the_tag_serves_a_project_with_access(self) -> None:
        """Without this, what the others are refused proves nothing."""
        self.volume_of_alt()
        image = self.make_image(
            self.private_tag, client=self.os_alt.image_client_v2
        )
        volume = self.make_volume(
            client=self.os_alt.volumes_client_latest, imageRef=image
        )
        self.assertEqual(self.private_type, volume['volume_type'])

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('081ce1a2-d4f6-4513-8cb1-4876c02ead95')
    def test_the_tag_serves_no_other_project(self) -> None:
        """Covers requests without a type, and with a type that follows it."""
        image = self.make_image(self.private_tag)
        for request in ({}, {'volume_type': self.tiers.following_type}):
            volume = self.make_volume(imageRef=image, **request)
            self.assert_on_tier(volume, self.tiers.fallback_type)

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('e1cb8ff2-0825-4d1c-a3a1-892c1669ac83')
    def test_its_name_and_its_id_serve_no_other_project(self) -> None:
        """Given by the request, and by the image."""
        for named in (
            self.private_type,
            self.private_type.upper(),
            f'{self.private_type} ',
            self.private_id,
        ):
            self.assert_not_private(volume_type=named)
            self.assert_not_private(
                imageRef=self.make_image(cinder_img_volume_type=named)
            )

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('edcb3217-ab8f-4896-bf68-601adc4524eb')
    def test_no_retype_leads_onto_it(self) -> None:
        """By name and id, and by an image id written into the metadata."""
        volume = self.make_volume(imageRef=self.make_image(self.tiers.tag))
        for named in (self.private_type, self.private_id):
            self.retype(volume['id'], named)
            self.assert_on_tier(
                self.available(volume['id']), self.tiers.tier_type
            )
        image = self.make_image(self.private_tag)
        self.volumes.update_volume_image_metadata(volume['id'], image_id=image)
        self.retype(volume['id'], self.tiers.following_type)
        self.assertNotEqual(
            self.private_type, self.available(volume['id'])['volume_type']
        )

    def retype(self, volume: str, new_type: str) -> None:
        """Asks for another type, which may be refused at once or later."""
        with contextlib.suppress(exceptions.ClientRestClientException):
            self.volumes.retype_volume(
                volume, new_type=new_type, migration_policy='on-demand'
            )

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('677aa6d1-454f-46f1-a023-3d60d629229e')
    def test_a_transfer_of_its_volume_is_not_accepted(self) -> None:
        """The project that would get it has no access."""
        volume = self.volume_of_alt()
        offers = self.os_alt.volume_transfers_client_latest
        offer = offers.create_volume_transfer(volume_id=volume)['transfer']
        self.addCleanup(
            waiters.wait_for_volume_resource_status,
            self.os_alt.volumes_client_latest,
            volume,
            'available',
        )
        self.addCleanup(
            test_utils.call_and_ignore_notfound_exc,
            offers.delete_volume_transfer,
            offer['id'],
        )
        accept = self.os_primary.volume_transfers_client_latest
        self.assertRaises(
            exceptions.ClientRestClientException,
            accept.accept_volume_transfer,
            offer['id'],
            auth_key=offer['auth_key'],
        )

    @decorators.attr(type=['negative'])
    @decorators.idempotent_id('2cd2ac37-ce3f-415f-934a-02ec70a6aa8b')
    def test_an_image_of_nova_with_a_snapshot_leads_nowhere(self) -> None:
        """Its image names a snapshot as its disk; Cinder's code takes it."""
        source = self.make_volume(imageRef=self.make_image(self.tiers.tag))
        devices = json.dumps(
            [
                {
                    'source_type': 'snapshot',
                    'boot_index': 0,
                    'snapshot_id': self.make_snapshot(source['id']),
                    'destination_type': 'volume',
                }
            ]
        )
        image = self.make_image(self.private_tag, block_device_mapping=devices)
        for version in (None, '3.45', '3.46'):
            volume = {
                'size': 1,
                'name': tier_test.unique_name('volume'),
                'imageRef': image,
            }
            try:
                made = self.ask(
                    'POST', 'volumes', {'volume': volume}, version=version
                )['volume']['id']
            except exceptions.ClientRestClientException:
                continue
            self.remove_volume_later(made, self.volumes)
            self.wait_for(
                functools.partial(self._is_made_or_refused, made),
                'a volume is made or refused',
            )
            self.assertNotEqual(
                self.private_type,
                self.volumes.show_volume(made)['volume']['volume_type'],
            )
