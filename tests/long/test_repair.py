# SPDX-License-Identifier: Apache-2.0

"""What `openstack tier repair` does to clients, and with data that move."""

from tests.functional import repairs
from tests.long import rbd_bench


class LongRepairTest(repairs.RepairCase):
    def test_a_client_feels_a_changed_limit_at_once(self):
        self.apply_limit(repairs.LIMIT)
        volume = self.make_volume(volume_type='database').id
        self.tier('repair', '--yes', expect=0)
        with rbd_bench.writing(
            f'{repairs.POOL}/volume-{volume}', env=self.environment
        ) as bench:
            before = rbd_bench.rate(bench, 8)
            self.apply_limit(repairs.LIMIT // 2)
            (row,) = self.tier('repair', '--yes', expect=0)
            self.assertEqual('done', row['Outcome'])
            after = rbd_bench.rate(bench, 12)
        # Of the tick of librbd's token buckets, and of the seconds of bench.
        self.assertLess(after, 0.75 * before)

    def test_a_volume_is_where_its_image_says_and_one_with_snapshots_stays(
        self,
    ):
        self.apply_limit(repairs.LIMIT)
        tag = 'database'
        image = self.make_image(tag)
        stays, moves = (
            self.make_volume(volume_type='image-tier', imageRef=image).id
            for _ in range(2)
        )
        self.make_snapshot(stays)
        self.member.image.update_image(image, tags=[])
        self.assertEqual(
            [],
            [
                row
                for row in self.tier('repair', expect=4)
                if row['Kind'] != 'limits'
            ],
        )
        rows = {
            row['Volume']: row
            for row in self.tier(
                'repair', '--kind', 'image', '--yes', expect=5
            )
        }
        self.assertEqual('done', rows[moves]['Outcome'])
        self.assertEqual('refused', rows[stays]['Outcome'])
        self.assertIn('snapshots', rows[stays]['Reason'])
        self.assertEqual(
            ('available', 'general', 'tier-general'), self.place_of(moves)
        )
        self.assertEqual(
            ('available', 'database', 'tier-database'), self.place_of(stays)
        )
