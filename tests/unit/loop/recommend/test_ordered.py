# SPDX-License-Identifier: Apache-2.0

"""Moves of volumes that are recommended, as orders of a repair."""

import json

from cinder_tiers.loop.repair import order
from cinder_tiers.loop.repair import order_file
from cinder_tiers.loop.repair import repair
from tests.unit.loop.recommend import test_recommend_command
from tests.unit.loop.recommend import test_recommendation


class OrderedTestCase(test_recommend_command.RecommendCase):
    def test_a_recommendation_is_saved_for_repair(self):
        wrong = test_recommendation.image(
            read_ops=0.0,
            read_bytes=0.0,
            write_bytes=400 * 4096.0,
            write_latency=20e6,
        )
        ident = '7c1f0a9e-53b4-4f0e-9a55-0d3c6a8b1e42'
        path = self.write(
            'iostat.json',
            json.dumps(
                [
                    {**wrong, 'image': f'volume-{ident}'},
                    {**wrong, 'image': 'volume-../etc'},
                    {
                        **wrong,
                        'image': f'volume-{ident}',
                        'pool': 'tier-database',
                    },
                ]
            ),
        )
        saved = str(self.folder / 'moves.json')
        ran = self.recommend('--volumes', path, '--out', saved)
        self.assertEqual(4, ran.status, ran.stderr)
        said = ' '.join(ran.stderr.split())
        self.assertIn('do not have the name of a volume: tier-general', said)
        found = order_file.read(saved)
        self.assertIs(order.Origin.RECOMMENDATION, found.origin)
        (step,) = found.steps
        self.assertEqual(
            (ident, repair.RepairKind.RECOMMENDATION, 'general', 'database'),
            (step.volume, step.kind, step.tier, step.to_tier),
        )
        self.assertIn('of rand-write better: ', step.reason)
        self.assertIn('seen in one interval only', step.reason)
        ran = self.recommend('--volumes', path, '--out', saved)
        self.assertEqual(4, ran.status)
        ran = self.recommend('--volumes', path, '--out', path)
        self.assertEqual(1, ran.status)
        self.assertIn('exists and was not replaced', ran.stderr)
        ran = self.recommend('--pattern', 'seq-write', '--out', saved)
        self.assertEqual(2, ran.status)
        self.assertIn('--out requires --volumes', ran.stderr)

    def test_two_clusters_may_have_a_pool_of_one_name(self):
        self.catalog = self.write(
            'two.yaml',
            test_recommend_command.TIERS.replace(
                'clusters:\n', 'clusters:\n  far: {cinder_user: cinder}\n'
            )
            .replace('cluster: ceph', 'cluster: far', 1)
            .replace('tier-database', 'tier-general'),
        )
        wrong = test_recommendation.image(
            read_ops=0.0,
            read_bytes=0.0,
            write_bytes=400 * 4096.0,
            write_latency=20e6,
        )
        path = self.write('iostat.json', json.dumps([wrong]))
        ran = self.recommend('--volumes', path, '-f', 'json')
        self.assertEqual(3, ran.status, ran.stderr)
        (row,) = json.loads(ran.stdout)
        self.assertIsNone(row['Tier'])
        self.assertIn('any of the tiers database, general', row['Reason'])
        for cluster, status in (('ceph', 4), ('far', 0), ('x', 1)):
            ran = self.recommend('--volumes', path, '--cluster', cluster)
            self.assertEqual(status, ran.status, ran.stderr)
        self.assertIn('expected one of ceph, far', ran.stderr)
