# SPDX-License-Identifier: Apache-2.0

"""A hundred volumes that are wrong in ten ways, against a real Cinder API.

What can be repaired is, what the plan refuses is not touched, and the audit
then names nothing else.
"""

import json

from cinder_tiers.domain.state import type_succession
from tests.unit.cli import shell
from tests.unit.cli import tiers_file_case
from tests.unit.execute.cinder import test_volume_type
from tests.unit.loop.repair import cinder_volume

EACH = 10
#: Its servers are elsewhere.
SERVER = '5' * 8 + '-0000-4000-8000-' + '5' * 12
IMAGE = '6' * 8 + '-0000-4000-8000-' + '6' * 12


class PlantedTestCase(tiers_file_case.TiersFileTestCase):
    text = tiers_file_case.TIERS.replace('access: [alpha]', 'access: public')

    def setUp(self):
        super().setUp()
        self.begin_applied()
        self.connection = test_volume_type.connect(self.api)
        self.addCleanup(self.connection.close)
        storage = self.connection.block_storage
        self.types = {
            one.name: one.id for one in storage.types(is_public='None')
        }
        retired = type_succession.retired_name(
            'database', self.types['database']
        )
        made = storage.create_type(
            name=retired,
            extra_specs={
                'volume_backend_name': 'ssd',
                'tiers:name': 'database',
                'tiers:tags': 'database',
                'tiers:priority': '20',
            },
        )
        self.types['former'] = made.id
        self.ssd, self.tape, self.lvm = (
            self.api.add_backend(name, free_capacity_gb='unknown')
            for name in ('ssd', 'tape', 'lvm')
        )

    def plant(self, volume_type, host, **fields):
        return [
            self.api.add_volume(
                host=host, volume_type_id=self.types[volume_type], **fields
            )
            for _ in range(EACH)
        ]

    def tier(self, command, *arguments):
        ran = shell.openstack(
            *self.api.arguments_of('admin'),
            *('tier', command, '--catalog', self.path, '-f', 'json'),
            *arguments,
        )
        self.assertNotEqual('', ran.stdout, ran.stderr)
        return ran, json.loads(ran.stdout)

    def wrong(self):
        """Ids of the volumes that the audit names."""
        _ran, rows = self.tier('audit', '--volumes')
        return {
            row['Object'].removeprefix('volume ')
            for row in rows
            if row['Object'].startswith('volume ')
            and row['State'] in ('non-compliant', 'out of date', 'unknown')
        }

    def test_a_hundred_volumes_that_are_wrong_in_ten_ways(self):
        moved = {'host': self.ssd}
        retyped = {'volume_type_id': self.types['database']}
        repaired = {
            'elsewhere': (self.plant('database', self.tape), moved),
            'former type': (self.plant('former', self.ssd), retyped),
            'former type elsewhere': (
                self.plant('former', self.tape),
                {**moved, **retyped},
            ),
            'follows its image, elsewhere': (
                self.plant('image-tier', self.tape),
                {
                    'host': self.lvm,
                    'volume_type_id': self.types['general'],
                },
            ),
        }
        refused = {
            'has snapshots': self.plant('database', self.tape),
            'it is attached': self.plant(
                'database', self.tape, status='in-use', servers=[SERVER]
            ),
            'front-end limits': self.plant(
                'former', self.ssd, status='in-use'
            ),
            'it is being migrated': self.plant(
                'database', self.tape, migration_status='migrating'
            ),
            'it is replicated': self.plant(
                'database', self.tape, replication_status='enabled'
            ),
            'its status is error': self.plant(
                'database', self.tape, status='error'
            ),
        }
        for one in refused['has snapshots']:
            self.api.add_snapshot(volume_id=one, volume_size=1)
        right = self.plant('database', self.ssd)
        can = {one for ids, _ in repaired.values() for one in ids}
        cannot = {one for ids in refused.values() for one in ids}
        self.assertEqual(100, len(can) + len(cannot))
        self.assertEqual(can | cannot, self.wrong())
        before = {
            one.id: one for one in self.connection.block_storage.volumes()
        }

        ran, planned = self.tier('repair')
        self.assertEqual(4, ran.status)
        self.assertEqual(
            {
                **dict.fromkeys(can, 'planned'),
                **dict.fromkeys(cannot, 'refused'),
            },
            {row['Volume']: row['Outcome'] for row in planned},
        )
        reasons = {row['Volume']: row['Reason'] for row in planned}
        for words, ids in refused.items():
            for one in ids:
                self.assertIn(words, reasons[one])

        works = cinder_volume.CinderVolume(
            self.api,
            {
                **{one: end for ids, end in repaired.values() for one in ids},
                # What nobody asked for would be seen.
                **dict.fromkeys((*cannot, *right), {}),
            },
        )
        self.addCleanup(works.stop)
        # More at once, and the database of this API is locked too long.
        ran, done = self.tier('repair', '--yes', '--concurrency', '4')
        self.assertEqual(5, ran.status, ran.stderr)
        self.assertEqual(
            {**dict.fromkeys(can, 'done'), **dict.fromkeys(cannot, 'refused')},
            {row['Volume']: row['Outcome'] for row in done},
        )
        self.assertEqual(can, set(works.ended))
        self.assertEqual(len(can), len(works.ended))
        self.assertEqual(cannot, self.wrong())
        for one in self.connection.block_storage.volumes():
            if one.id not in can:
                self.assertEqual(before[one.id], one)
