# SPDX-License-Identifier: Apache-2.0
"""Tiers whose data is erasure coded, and overwritten in place."""

import json
import pathlib

import fixtures
import yaml

from tests.functional import volumes

NAME = 'erasure'
POOL, DATA_POOL = 'tier-erasure', 'tier-erasure-data'
TIER = {
    'tags': [NAME],
    'priority': 93,
    'rbd': {
        'cluster': 'ceph',
        'pool': POOL,
        'device_class': 'ssd',
        'failure_domain': 'host',
        'pg_num': 8,
        'erasure_coded': {'k': 2, 'm': 1},
    },
}
#: What qemu-io does: write, write over a part that is not a stripe, read all.
OVERWRITTEN = (
    'write -P 17 0 64k',
    'write -P 34 10k 3k',
    'read -P 17 0 10k',
    'read -P 34 10k 3k',
    'read -P 17 13k 51k',
)


class ErasureCodingTest(volumes.VolumesTestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def ceph(self, *words):
        return json.loads(self.run_command('ceph', *words, '-f', 'json')[0])

    def pool(self, name):
        (found,) = [
            pool
            for pool in self.ceph('osd', 'pool', 'ls', 'detail')
            if pool['pool_name'] == name
        ]
        return found

    def assert_overwritten(self, pool, image, data_pool):
        """Overwrite a part of an image; its data is in the data pool."""
        words = [word for command in OVERWRITTEN for word in ('-c', command)]
        output, errors = self.run_command(
            'qemu-io',
            '-f',
            'raw',
            *words,
            f'rbd:{pool}/{image}:id=admin:'
            f'conf={self.environment["CEPH_CONF"]}',
        )
        self.assertNotIn('verification failed', output + errors)
        self.assertEqual(3, output.count('read '), output)
        info = json.loads(
            self.run_command(
                'rbd', 'info', '--format', 'json', f'{pool}/{image}'
            )[0]
        )
        self.assertEqual(data_pool, info['data_pool'])
        objects = self.run_command('rados', '-p', data_pool, 'ls')[0].split()
        self.assertNotEqual(
            [], [name for name in objects if info['id'] in name]
        )

    def apply_tier(self):
        """Apply the lab's catalog and one more tier; return its path."""
        content = yaml.safe_load(
            pathlib.Path(self.environment['CINDER_TIERS_CATALOG']).read_text()
        )
        content['tiers'][NAME] = TIER
        path = self.folder / 'tiers.yaml'
        path.write_text(yaml.safe_dump(content, sort_keys=False))
        self.addCleanup(self.remove_tier)
        self.run_command('openstack', 'tier', 'apply', '--catalog', str(path))
        return str(path)

    def remove_tier(self):
        self.run_command(
            'openstack', 'volume', 'type', 'delete', NAME, expect=None
        )
        for pool in (POOL, DATA_POOL):
            self.run_command(
                'ceph',
                'osd',
                'pool',
                'delete',
                pool,
                pool,
                '--yes-i-really-really-mean-it',
            )
        for rule in self.ceph('osd', 'crush', 'rule', 'ls'):
            if NAME in rule:
                self.run_command('ceph', 'osd', 'crush', 'rule', 'rm', rule)
        for profile in self.ceph('osd', 'erasure-code-profile', 'ls'):
            if NAME in profile:
                self.run_command(
                    'ceph', 'osd', 'erasure-code-profile', 'rm', profile
                )

    def audited(self, catalog, expect):
        """{aspect: row} of the audit of the tier, without warnings."""
        return {
            row['Aspect']: row
            for row in self.ask(
                'openstack',
                'tier',
                'audit',
                '--catalog',
                catalog,
                expect=expect,
            )
            if row['Object'] == f'tier {NAME}' and row['State'] != 'warning'
        }

    def test_a_tier_is_applied_in_effect_and_watched(self):
        catalog = self.apply_tier()
        data = self.pool(DATA_POOL)
        self.assertIn('ec_overwrites', data['flags_names'])
        profile = self.ceph(
            'osd', 'erasure-code-profile', 'get', data['erasure_code_profile']
        )
        self.assertEqual(
            ('2', '1', 'ssd', 'host'),
            tuple(
                profile[key]
                for key in (
                    'k',
                    'm',
                    'crush-device-class',
                    'crush-failure-domain',
                )
            ),
        )
        self.assertEqual(
            {'all': 'compliant'},
            {
                aspect: row['State']
                for aspect, row in self.audited(catalog, 0).items()
            },
        )
        self.assertEqual(
            [], self.ask('openstack', 'tier', 'plan', '--catalog', catalog)
        )
        self.run_command('rbd', 'create', '--size', '8M', f'{POOL}/image')
        self.assert_overwritten(POOL, 'image', DATA_POOL)
        self.run_command(
            'rbd', 'config', 'pool', 'remove', POOL, 'rbd_default_data_pool'
        )
        row = self.audited(catalog, 4)['pool']
        self.assertEqual(
            (
                'non-compliant',
                {'rbd_default_data_pool': None},
                {'rbd_default_data_pool': DATA_POOL},
            ),
            (row['State'], row['Current'], row['Expected']),
        )
        self.run_command('openstack', 'tier', 'apply', '--catalog', catalog)
        self.assertEqual(
            [], self.ask('openstack', 'tier', 'plan', '--catalog', catalog)
        )

    def test_a_volume_is_written_where_its_tier_says(self):
        volume = self.make_volume(
            imageRef=self.image_of_lab('cinder-tiers-guest-archive')
        )
        self.assertEqual(
            ('available', 'archive', 'tier-archive'), self.place_of(volume.id)
        )
        self.assert_overwritten(
            'tier-archive', f'volume-{volume.id}', 'tier-archive-data'
        )
