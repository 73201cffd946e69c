# SPDX-License-Identifier: Apache-2.0

"""A hundred volumes that are wrong in ten ways, on a real Ceph.

What can be repaired is, by a real cinder-volume with the driver; what the plan
refuses is not touched, and the audit then names nothing else.
"""

import uuid

import testtools

from tests.contract import real_ceph
from tests.long import real_cloud

EACH = 10
KINDS = ('type', 'placement', 'limits', 'residency')
REPAIR = ('repair', *(word for kind in KINDS for word in ('--kind', kind)))


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class PlantedTestCase(real_cloud.CloudCase):
    def setUp(self):
        super().setUp()
        # As before the take-over: one backend for one tier.
        self.api.add_volume_service(
            'old',
            'cinder.volume.drivers.rbd.RBDDriver',
            volume_backend_name='old',
            rbd_pool=f'{self.mark}-slow',
            **self.options,
        )
        images = self.ioctxs['images']
        self.rbd.RBD().create(images, 'image', real_cloud.GIB)
        with self.rbd.Image(images, 'image') as image:
            image.create_snap('snap')
            image.protect_snap('snap')

    def many(self, *arguments, **options):
        return [self.plant(*arguments, **options) for _ in range(EACH)]

    def parent(self):
        """(pool, image, snapshot) of a volume that is where it should be."""
        ident = self.plant('slow', 'slow', snapshots=1)
        name = f'volume-{ident}'
        with self.rbd.Image(self.ioctxs['slow'], name) as image:
            (snapshot,) = (one['name'] for one in image.list_snaps())
        return 'slow', name, snapshot

    def test_a_hundred_volumes_that_are_wrong_in_ten_ways(self):
        wrong = 'fast', 'slow'
        repaired = {
            'snapshots': self.many(real_cloud.FOLLOWS, 'fast', snapshots=3),
            'clones': self.many(*wrong, parent=self.parent()),
            'encrypted': self.many(
                *wrong, encryption_key_id=str(uuid.uuid4())
            ),
            'multi-attach': self.many(*wrong, multiattach=True),
            'other backend': self.many(*wrong, host='node@old#old'),
            'limits': self.many('fast', 'fast', limit='5'),
            'residency': self.many(
                'slow', 'slow', parent=('images', 'image', 'snap')
            ),
        }
        refused = {
            'it is attached': self.many(
                *wrong, status='in-use', servers=[str(uuid.uuid4())]
            ),
            'it is in a group': self.many(
                *wrong, group_id=self.api.add_group(host=self.hosts['slow'])
            ),
            'its status is error': self.many(*wrong, status='error'),
        }
        can, cannot = (
            {one for ids in some.values() for one in ids}
            for some in (repaired, refused)
        )
        self.assertEqual(10 * EACH, len(can) + len(cannot))
        self.assertEqual(can | cannot, self.wrong())
        before = self.volumes()

        planned = self.tier(*REPAIR, expect=4)
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

        # More at once, and the database of this API is locked too long.
        done = self.tier(*REPAIR, '--yes', '--concurrency', '4', expect=5)
        self.assertEqual(
            {**dict.fromkeys(can, ('done', '')), **dict.fromkeys(cannot)},
            {
                row['Volume']: (row['Outcome'], row['Reason'])
                if row['Outcome'] != 'refused'
                else None
                for row in done
            },
        )
        self.settle()
        self.assertEqual(cannot, self.wrong())
        after, found = self.volumes(), self.find_all()
        moved = (
            set(repaired['snapshots']),
            can
            - {
                *repaired['snapshots'],
                *repaired['residency'],
            },
        )
        for ident, pool in self.planted.items():
            if ident in moved[0]:
                pool = 'slow'
            elif ident in moved[1]:
                pool = 'fast'
            elif ident in cannot:
                self.assertEqual(before[ident], after[ident])
            self.assertEqual(
                ([pool], real_cloud.LIMITS[pool])
                if ident not in cannot
                else ([pool], '400'),
                found[ident],
                ident,
            )
            if ident in can:
                self.assertEqual(self.hosts[pool], after[ident].host)
