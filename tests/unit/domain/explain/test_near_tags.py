# SPDX-License-Identifier: Apache-2.0

"""Which tags are taken for typing errors, and which for other words."""

import testtools

from cinder_tiers.domain.explain import explanation
from cinder_tiers.domain.explain import near_tags
from tests.unit.domain import clouds

TIERS = frozenset(
    {
        'archive',
        'caf\xe9-db',
        'centos8',
        'database',
        'db',
        'fast',
        'general',
        'gold',
        'hot-storage',
        'light',
        'mariadb',
        'mysql',
        'performance',
        'postgresql',
        'silver',
        'ssd1',
        'web',
    }
)


class FindTestCase(testtools.TestCase):
    def test_each_tag_of_an_image_is_compared(self):
        self.assertEqual(
            (
                near_tags.NearTag(tag='achive', meant='archive'),
                near_tags.NearTag(tag='Databse', meant='database'),
            ),
            near_tags.find(['Databse', 'debian', 'achive'], TIERS),
        )

    def test_an_image_with_a_tag_of_a_tier_is_left_alone(self):
        self.assertEqual((), near_tags.find(['databse', 'WEB'], TIERS))

    def test_a_tag_is_of_the_tier_that_it_selects(self):
        """As in `decide()`: whatever the names of the types."""
        types = [
            clouds.tier(name, tags='fast', priority=priority)
            for name, priority in (('a', '10'), ('b', '30'), ('c', '20'))
        ]
        self.assertEqual(
            {'fast': 'b'}, explanation.read_tiers(types).tier_of_tag
        )
