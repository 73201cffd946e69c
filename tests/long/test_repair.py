# SPDX-License-Identifier: Apache-2.0

"""What `openstack tier repair` does to clients, and with data that move."""

import json
import signal
import subprocess

import yaml

from cinder_tiers.loop.repair import order
from cinder_tiers.loop.repair import order_file
from cinder_tiers.loop.repair import repair
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

    def test_a_recommendation_is_followed_at_a_pace_and_taken_back(self):
        self.apply_limit(repairs.LIMIT)
        made = [self.make_volume(volume_type='database').id for _ in range(2)]
        for one, amount in zip(made, ('8M', '16M'), strict=True):
            self.run_command(
                *('rbd', 'bench', '--io-type', 'write', '--io-size', '64K'),
                *('--io-total', amount, f'{repairs.POOL}/volume-{one}'),
            )
        sums = [self.sum_of('database', one) for one in made]
        self.assertNotEqual(*sums)
        advice, record = (str(self.path.with_name(one)) for one in 'ar')
        order_file.write(
            advice,
            order.Orders(
                origin=order.Origin.RECOMMENDATION,
                steps=tuple(
                    order.Order(
                        volume=one,
                        kind=repair.RepairKind.RECOMMENDATION,
                        tier='database',
                        to_tier='general',
                        reason='it does little',
                    )
                    for one in made
                ),
            ),
        )
        # A GiB in 40 s.
        budget = ('--max-bytes-per-second', str(2**30 // 40))
        with self.watched() as folder:
            shown, said = self.run_command(
                *('openstack', 'tier', 'repair', '--catalog', str(self.path)),
                *(advice, '--yes', '--record', record, '-f', 'json'),
                *('--watch', folder, *budget),
            )
        self.assertEqual(
            dict.fromkeys(made, 'done'),
            {row['Volume']: row['Outcome'] for row in json.loads(shown)},
        )
        self.assertRegex(said, 'waiting (3[5-9]|40) s, so that no more than')
        for one, before in zip(made, sums, strict=True):
            self.assertEqual(
                ('available', 'general', 'tier-general'), self.place_of(one)
            )
            self.assertEqual(before, self.sum_of('general', one))
        self.assertEqual([], self.tier('repair', advice, '--yes', expect=0))
        self.tier('repair', '--undo', record, '--yes', expect=0)
        for one, before in zip(made, sums, strict=True):
            self.assertEqual(
                ('available', 'database', 'tier-database'), self.place_of(one)
            )
            self.assertEqual(before, self.sum_of('database', one))

    def test_no_volume_is_begun_while_a_tier_is_not_as_expected(self):
        self.apply_limit(repairs.LIMIT)
        volume = self.make_volume(volume_type='database').id
        self.apply_limit(repairs.RAISED)
        content = yaml.safe_load(self.path.read_text())
        # No disk is so fast.
        content['tiers']['general']['expect'] = {
            'probe': {'lat_longest_ms_max': 0.001}
        }
        self.path.write_text(yaml.safe_dump(content, sort_keys=False))
        with (
            self.watched() as folder,
            subprocess.Popen(
                ('openstack', 'tier', 'repair', '--yes', '--watch', folder)
                + ('--catalog', str(self.path)),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=self.environment,
            ) as running,
        ):
            for line in running.stderr:
                if line.startswith('paused: '):
                    break
            self.assertIn('tier general: expectation broken since', line)
            running.send_signal(signal.SIGINT)
            shown, _ = running.communicate(timeout=60)
        self.assertEqual(130, running.returncode)
        self.assertIn('not started', shown)
        self.assertEqual(
            str(repairs.LIMIT), self.limits_of(volume)['iops_limit']
        )
