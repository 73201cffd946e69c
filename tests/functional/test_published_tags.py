# SPDX-License-Identifier: Apache-2.0

"""A member finds the tags of tiers in Glance, and its own wrong ones.

tests/unit/cli/test_published_tags.py has all cases, with a stand-in.
"""

import contextlib
import pathlib

import fixtures
import openstack.exceptions
import yaml

from cinder_tiers.domain.state import glance as glance_state
from tests.functional import lab
from tests.functional import volumes

NAMESPACE = glance_state.NAMESPACE
OBJECT = f'tag namespace {NAMESPACE}'


class PublishedTagsTest(volumes.VolumesTestCase):
    def setUp(self):
        super().setUp()
        self.path = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'tiers.yaml'
        )
        self.addCleanup(self.remove_namespace)

    def remove_namespace(self):
        with contextlib.suppress(openstack.exceptions.NotFoundException):
            self.admin.image.delete_metadef_namespace(
                NAMESPACE, ignore_missing=False
            )

    def declare(self, publish_tags):
        content = yaml.safe_load(
            pathlib.Path(self.environment['CINDER_TIERS_CATALOG']).read_text()
        )
        content['publish_tags'] = publish_tags
        self.path.write_text(yaml.safe_dump(content, sort_keys=False))
        return {
            tag
            for tier in content['tiers'].values()
            if not isinstance(tier.get('access'), list)
            for tag in tier.get('tags', ())
        }

    def tier(self, verb, *words, expect=0):
        return self.ask(
            'openstack',
            'tier',
            verb,
            *words,
            '--catalog',
            str(self.path),
            expect=expect,
        )

    def as_member(self, *words, expect=0):
        return self.ask('openstack', *words, cloud=lab.MEMBER, expect=expect)

    def test_tags_are_found_and_wrong_ones_named(self):
        tags = self.declare(publish_tags=True)
        self.assertEqual(
            [OBJECT],
            [one['Object'] for one in self.tier('plan', expect=4)],
        )
        self.tier('apply')
        self.assertEqual([], self.tier('plan'))
        shown = self.as_member(
            'image', 'metadef', 'namespace', 'show', NAMESPACE
        )
        self.assertEqual(tags, {one['name'] for one in shown['tags']})
        image = self.make_image('databse')
        self.assertIn(
            (image, 'databse', 'database', None),
            {
                (one['Image'], one['Tag'], one['Meant'], one['Tier'])
                for one in self.as_member('tier', 'lint-images', expect=4)
            },
        )
        self.assertIn(
            "did you mean 'database'?",
            str(self.as_member('tier', 'explain', '--image', image, expect=3)),
        )
        right = self.make_image('database')
        self.assertIn(
            'goes to the public tier with the tag database',
            self.as_member('tier', 'explain', '--image', right)['summary'],
        )
        self.assertIn(
            (image, 'database'),
            {
                (one['Image'], one['Tier'])
                for one in self.ask(
                    'openstack', 'tier', 'lint-images', '--all', expect=4
                )
            },
        )
        self.admin.image.remove_tags_from_metadef_namespace(NAMESPACE)
        self.assertEqual(
            ['non-compliant'],
            [
                one['State']
                for one in self.tier('audit', expect=4)
                if one['Object'] == OBJECT
            ],
        )
        self.declare(publish_tags=False)
        self.tier('apply')
        with self.assertRaises(openstack.exceptions.NotFoundException):
            self.admin.image.get_metadef_namespace(NAMESPACE)
