# SPDX-License-Identifier: Apache-2.0

"""Moves of volumes that are recommended, as orders of a repair."""

import json

from cinder_tiers.figures.result import result as run_result
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
                        'image': 'volume-of-another',
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

    def test_a_series_of_looks(self):
        busy = test_recommendation.image(
            read_ops=0.0,
            read_bytes=0.0,
            write_bytes=400 * 4096.0,
            write_latency=20e6,
        )
        reads = test_recommendation.image()
        idents = [f'7c1f0a9e-53b4-4f0e-9a55-0d3c6a8b1e4{n}' for n in range(5)]
        steady, mixed, moved, now_and_then, idle = (
            f'volume-{ident}' for ident in idents
        )
        fast = {'pool': 'tier-database'}
        looks = [
            [
                {**busy, 'image': steady},
                {**(busy if number % 3 else reads), 'image': mixed},
                {**busy, 'image': moved, **(fast if number > 5 else {})},
                {**busy, 'image': idle, 'write_ops': 0.5},
            ]
            + [{**busy, 'image': now_and_then}] * (number == 4)
            for number in range(10)
        ]
        # One odd look of ten says nothing.
        looks[7][0] = {**reads, 'image': steady}
        path = self.write('looks.json', ''.join(map(json.dumps, looks)))
        saved = str(self.folder / 'moves.json')
        ran = self.recommend('--volumes', path, '--out', saved, '-f', 'json')
        self.assertEqual(4, ran.status, ran.stderr)
        rows = {row['Volume']: row for row in json.loads(ran.stdout)}
        self.assertEqual(
            {
                f'tier-general/{steady}': 'wrong tier',
                f'tier-general/{mixed}': 'wrong tier',
                f'tier-database/{moved}': 'right tier',
                f'tier-general/{now_and_then}': 'wrong tier',
                f'tier-general/{idle}': 'idle',
            },
            {name: row['Finding'] for name, row in rows.items()},
        )
        self.assertIn(
            'seen in 9 of 10 looks with load, and in none otherwise (10 in '
            'all): with 95 %, so in 60 % or more of the time',
            rows[f'tier-general/{steady}']['Reason'],
        )
        self.assertIn(
            'seen in 1 of 1 looks with load, and in none otherwise (10 in '
            'all): with 95 %, so in 5 % or more',
            rows[f'tier-general/{now_and_then}']['Reason'],
        )
        reasons = {
            step.volume: step.reason for step in order_file.read(saved).steps
        }
        self.assertEqual({idents[0], idents[1], idents[3]}, set(reasons))
        self.assertIn('seen in 6 of 10 looks with load', reasons[idents[1]])

    def test_an_image_in_two_pools_is_not_ordered(self):
        """While Cinder migrates a volume, its copy has the same name."""
        busy = test_recommendation.image(
            image='volume-7c1f0a9e-53b4-4f0e-9a55-0d3c6a8b1e42',
            read_ops=0.0,
            read_bytes=0.0,
            write_bytes=400 * 4096.0,
            write_latency=20e6,
        )
        self.catalog = self.write(
            'two.yaml',
            test_recommend_command.TIERS
            + test_recommend_command.TIERS.partition('  general:\n')[2]
            .join(['  archive:\n', ''])
            .replace('    fallback: true\n', '')
            .replace('tier-general', 'tier-archive'),
        )
        tiers = test_recommendation.MovesTestCase.RUN
        self.result = self.write(
            'three.json',
            run_result.write(
                test_recommendation.run({**tiers, 'archive': tiers['general']})
            ),
        )
        both = [busy, {**busy, 'pool': 'tier-archive'}]
        saved = self.folder / 'moves.json'
        for looks in ([both], [[busy], both, []]):
            path = self.write('looks.json', ''.join(map(json.dumps, looks)))
            ran = self.recommend(
                '--volumes', path, '--out', str(saved), '-f', 'json'
            )
            self.assertEqual(3, ran.status, ran.stderr)
            self.assertEqual((), order_file.read(str(saved)).steps)
            rows = json.loads(ran.stdout)
            self.assertEqual(2, len(rows))
            for row in rows:
                self.assertEqual('cannot tell', row['Finding'])
                self.assertIn(
                    'in pools tier-archive and tier-general', row['Reason']
                )
        # One of both pools is left after the migration.
        path = self.write(
            'looks.json', ''.join(map(json.dumps, [both, [busy]]))
        )
        ran = self.recommend('--volumes', path, '--out', str(saved))
        self.assertEqual(4, ran.status, ran.stderr)
        self.assertEqual(1, len(order_file.read(str(saved)).steps))

    def test_looks_that_contradict_each_other_do_not_tell(self):
        random = test_recommendation.image(
            read_ops=0.0,
            read_bytes=0.0,
            write_bytes=400 * 4096.0,
            write_latency=20e6,
        )
        mix = test_recommendation.image(
            read_ops=200.0,
            read_bytes=200 * 8192.0,
            write_ops=200.0,
            write_bytes=200 * 8192.0,
            write_latency=10e6,
            read_latency=10e6,
        )
        tiers = test_recommendation.MovesTestCase.RUN
        self.result = self.write(
            'mix.json',
            run_result.write(
                test_recommendation.run(
                    {
                        'general': {
                            **tiers['general'],
                            'mix': (300, 302, 301, 303),
                        },
                        'database': {
                            **tiers['database'],
                            'mix': (100, 102, 101, 103),
                        },
                    }
                )
            ),
        )
        for looks, reason in (
            (
                [random, mix, mix],
                'of 3 looks with load, 3 tell; 2 that its tier is right; 1 '
                'that database is better',
            ),
            (
                [random, test_recommendation.image()],
                'of 2 looks with load, 1 tell; 1 that database is better',
            ),
        ):
            path = self.write(
                'looks.json', ''.join(json.dumps([one]) for one in looks)
            )
            ran = self.recommend('--volumes', path, '-f', 'json')
            self.assertEqual(3, ran.status, ran.stderr)
            (row,) = json.loads(ran.stdout)
            self.assertEqual('cannot tell', row['Finding'])
            self.assertIn(reason, row['Reason'])

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
