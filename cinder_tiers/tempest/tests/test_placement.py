# SPDX-License-Identifier: Apache-2.0

"""Placement of volumes by their image, and by a named type."""

import time

from tempest import config
from tempest.lib import decorators

from cinder_tiers.tempest.tests import tier_test

CONF = config.CONF


class PlacementTest(tier_test.TierTest):
    """Creates of one tenant."""

    @decorators.idempotent_id('af262e94-abf0-4fde-be75-03518682d9a8')
    @decorators.attr(type='smoke')
    def test_a_tagged_image_chooses_the_tier(self) -> None:
        """The door gives the request the type, and the tier its backend."""
        volume = self.make_volume(imageRef=self.make_image(self.tiers.tag))
        self.assert_on_tier(volume, self.tiers.tier_type)

    @decorators.idempotent_id('2cce9a45-cc44-4680-9d98-0f117278c38b')
    def test_without_a_tag_it_is_the_fallback(self) -> None:
        """Covers an untagged image, an unknown tag, and a blank volume."""
        for request in (
            {'imageRef': self.make_image()},
            {'imageRef': self.make_image(tier_test.unique_name('tag'))},
            {},
        ):
            self.assert_on_tier(
                self.make_volume(**request), self.tiers.fallback_type
            )

    @decorators.idempotent_id('763494e2-e618-45c7-99cf-54ae9f9b5cbe')
    def test_the_following_type_asks_the_image(self) -> None:
        """Horizon does the same: it names the default type."""
        volume = self.make_volume(
            imageRef=self.make_image(self.tiers.tag),
            volume_type=self.tiers.following_type,
        )
        self.assert_on_tier(volume, self.tiers.tier_type)

    @decorators.idempotent_id('ad9d589c-6a81-404d-b73c-a326ceda6d31')
    def test_a_named_type_wins_over_the_tag(self) -> None:
        """Named by the request, and by the image."""
        image = self.make_image(
            self.tiers.tag,
            cinder_img_volume_type=self.tiers.fallback_type,
        )
        for request in (
            {
                'imageRef': self.make_image(self.tiers.tag),
                'volume_type': self.tiers.fallback_type,
            },
            {'imageRef': image},
        ):
            self.assert_on_tier(
                self.make_volume(**request), self.tiers.fallback_type
            )

    @decorators.idempotent_id('36f49db1-0aa9-4aaa-afad-3cb5fc38e4e7')
    def test_a_new_tag_is_followed(self) -> None:
        """Volumes that exist stay; later ones follow the new tag."""
        image = self.make_image()
        before = self.make_volume(imageRef=image)
        self.assert_on_tier(before, self.tiers.fallback_type)
        self.images.add_image_tag(image, self.tiers.tag)
        time.sleep(CONF.cinder_tiers.image_cache_seconds)
        self.assert_on_tier(
            self.make_volume(imageRef=image), self.tiers.tier_type
        )
        self.assert_on_tier(
            self.available(before['id']), self.tiers.fallback_type
        )
        self.images.delete_image_tag(image, self.tiers.tag)
        time.sleep(CONF.cinder_tiers.image_cache_seconds)
        self.assert_on_tier(
            self.make_volume(imageRef=image), self.tiers.fallback_type
        )
