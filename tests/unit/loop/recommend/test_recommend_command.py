# SPDX-License-Identifier: Apache-2.0

"""`openstack tier recommend`, run by the real shell on real files."""

import json
import pathlib
import tempfile

import testtools

from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.recommend import counters
from tests.unit.cli import shell
from tests.unit.loop.recommend import test_recommendation

TIERS = """version: 1
follow_image_types: [image-tier]
clusters:
  ceph: {cinder_user: cinder}
tiers:
  database:
    tags: [database, oltp]
    priority: 20
    rbd:
      cluster: ceph
      pool: tier-database
      device_class: ssd
      failure_domain: host
      replicated: {size: 3, min_size: 2}
  general:
    fallback: true
    rbd:
      cluster: ceph
      pool: tier-general
      device_class: hdd
      failure_domain: host
      replicated: {size: 3, min_size: 2}
"""
JOB = """[global]
ioengine=libaio
direct=1
time_based
runtime=60
size=1g
[my-database]
rw=randwrite
bs=4k
iodepth=8
"""
EVIL = '\x1b[2Jx\u202e'


class RecommendCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.catalog = self.write('tiers.yaml', TIERS)
        self.result = self.write(
            'run.json',
            run_result.write(
                test_recommendation.run(test_recommendation.MovesTestCase.RUN)
            ),
        )

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def recommend(self, *options, results=None):
        return shell.openstack(
            'tier',
            'recommend',
            *(results or [self.result]),
            '--catalog',
            self.catalog,
            '--quantity',
            'iops',
            *options,
        )


class RecommendTestCase(RecommendCase):
    def test_a_job_gets_a_tier_and_its_tags(self):
        ran = self.recommend(
            '--job', self.write('mine.fio', JOB), '-f', 'json'
        )
        self.assertEqual(0, ran.status, ran.stderr)
        best, other = json.loads(ran.stdout)
        self.assertNotIn('Cost', best)
        self.assertEqual(
            ('my-database', 'database', ['database', 'oltp'], 'recommended'),
            tuple(best[key] for key in ('Load', 'Tier', 'Tags', 'Finding')),
        )
        self.assertAlmostEqual(302, best['Measured'], delta=1)
        self.assertIsNone(best['Against best'])
        self.assertEqual(
            ('general', 'worse'), (other['Tier'], other['Finding'])
        )
        change = other['Against best']
        self.assertAlmostEqual(-67, change['percent'], delta=1)
        self.assertLess(change['low_percent'], change['percent'])

    def test_a_choice_has_its_cost(self):
        priced = TIERS.replace(
            '    tags: [database, oltp]\n',
            '    tags: [database, oltp]\n    cost: {currency: EUR, '
            'per_gib_month: 0.10, per_1000_iops_month: "1.50"}\n',
        )
        self.catalog = self.write('priced.yaml', priced)
        ran = self.recommend('--pattern', 'seq-write', '-f', 'json')
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertEqual(
            [
                {
                    'currency': 'EUR',
                    'per_gib_month': '0.1',
                    'per_1000_iops_month': '1.50',
                },
                None,
            ],
            [row['Cost'] for row in json.loads(ran.stdout)],
        )
        ran = self.recommend('--pattern', 'seq-write', '-f', 'csv')
        self.assertIn(
            '"0.1 EUR a GiB, 1.50 EUR for 1,000 IOPS, a month"', ran.stdout
        )
        wrong = test_recommendation.image(
            read_ops=0.0, read_bytes=0.0, write_bytes=400 * 4096.0
        )
        path = self.write('iostat.json', json.dumps([wrong]))
        ran = self.recommend('--volumes', path, '-f', 'json')
        row = json.loads(ran.stdout)[0]
        self.assertIsNone(row['Cost'])
        self.assertEqual('0.1', row['Cost there']['per_gib_month'])

    def test_a_job_that_is_nearly_what_was_measured(self):
        job = self.write('mine.fio', JOB.replace('4k', '8k'))
        ran = self.recommend('--job', job)
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertIn(
            'my-database is like rand-write: writes of 8192 bytes, measured '
            'with 4096',
            ran.stderr,
        )

    def test_a_pattern_of_the_results(self):
        ran = self.recommend('--pattern', 'seq-write', '-f', 'json')
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertEqual('database', json.loads(ran.stdout)[0]['Tier'])
        ran = self.recommend('--pattern', 'nothing')
        self.assertEqual(1, ran.status)
        self.assertIn('mix, rand-read, rand-write, seq-write', ran.stderr)

    def test_what_was_not_measured_has_a_status_of_its_own(self):
        ran = self.recommend('--pattern', 'rand-read', '-f', 'json')
        self.assertEqual(3, ran.status, ran.stderr)
        (row,) = json.loads(ran.stdout)
        self.assertEqual(('cannot tell', '-'), (row['Finding'], row['Tier']))
        self.assertIn('nothing like it was measured', row['Reason'])

    def test_outputs_that_are_too_long_lose_the_oldest(self):
        path = self.folder / 'looks.json'
        with path.open('wb') as file:
            file.truncate(counters.MAX_BYTES + 1)
        for option, said in (
            ('--volumes', 'remove the oldest outputs'),
            ('--diagnostics', 'name another file'),
        ):
            ran = self.recommend(option, str(path))
            self.assertEqual(1, ran.status, ran.stderr)
            self.assertIn(
                f'has more than {counters.MAX_BYTES} bytes; {said}',
                ' '.join(ran.stderr.split()),
            )

    def test_volumes_on_the_wrong_tier(self):
        wrong = test_recommendation.image(
            read_ops=0.0,
            read_bytes=0.0,
            write_bytes=400 * 4096.0,
            write_latency=20e6,
        )
        volumes = [
            wrong,
            {**wrong, 'pool': 'tier-database', 'image': 'volume-2'},
            {**wrong, 'image': 'sleeper', 'write_ops': 0.1},
        ]
        path = self.write('iostat.json', json.dumps(volumes))
        ran = self.recommend('--volumes', path, '-f', 'json')
        self.assertEqual(4, ran.status, ran.stderr)
        rows = json.loads(ran.stdout)
        self.assertEqual(
            [
                ('wrong tier', 'database', 'rand-write'),
                ('wrong tier', 'database', 'seq-write'),
                ('right tier', None, '-'),
                ('idle', None, '-'),
            ],
            [(r['Finding'], r['Move to'], r['Pattern']) for r in rows],
        )
        self.assertEqual('general', rows[0]['Tier'])
        self.assertAlmostEqual(200, rows[0]['Gain']['percent'], delta=5)
        self.assertIn('400 IOPS, 0 % reads, 4 KiB, 8 in fl', rows[0]['Does'])
        path = self.write('right.json', json.dumps(volumes[1:]))
        self.assertEqual(0, self.recommend('--volumes', path).status)

    def test_a_tier_that_is_not_there_is_an_error(self):
        path = self.folder / 'server.json'
        path.write_bytes(test_recommendation.diagnostics())
        ran = self.recommend('--diagnostics', str(path), '--on', 'genral')
        self.assertEqual(1, ran.status)
        self.assertIn('expected one of database, general', ran.stderr)

    def test_disks_of_a_server(self):
        disk = test_recommendation.disk(
            read_requests=0, read_bytes=0, write_bytes=3000 * 4096
        )
        path = self.folder / 'server.json'
        path.write_bytes(test_recommendation.diagnostics(disks=[disk]))
        ran = self.recommend(
            '--diagnostics', str(path), '--on', 'general', '-f', 'json'
        )
        self.assertEqual(4, ran.status, ran.stderr)
        self.assertEqual('disk 1', json.loads(ran.stdout)[0]['Volume'])
        ran = self.recommend('--diagnostics', str(path), '-f', 'json')
        self.assertEqual(3, ran.status, ran.stderr)

    def test_a_disk_that_was_counted_once_need_not_be_idle(self):
        paths = []
        for number in range(2):
            path = self.folder / f'{number}.json'
            path.write_bytes(
                test_recommendation.diagnostics(86400 + 60 * number)
            )
            paths += ['--diagnostics', str(path)]
        for arguments, expected in (
            (paths[:2], (3, 'cannot tell')),
            (paths, (0, 'idle')),
        ):
            ran = self.recommend(*arguments, '--on', 'general', '-f', 'json')
            (row,) = json.loads(ran.stdout)
            self.assertEqual(expected, (ran.status, row['Finding']))

    def test_nothing_of_others_steers_the_terminal(self):
        image = test_recommendation.image(image=EVIL, pool='tier-general')
        job = JOB.replace('my-database', EVIL).replace('libaio', EVIL)
        for options in (
            ('--volumes', self.write('a', json.dumps([image]))),
            ('--volumes', self.write('b', EVIL)),
            ('--volumes', self.write('c', json.dumps([{'pool': EVIL}]))),
            ('--diagnostics', self.write('d', json.dumps({EVIL: EVIL}))),
            ('--job', self.write('e', job)),
            ('--job', self.write('f', f'{JOB}\n{EVIL}=1\n')),
            ('--job', self.write('g', f'{JOB}\nexec_prerun=touch /tmp/x\n')),
        ):
            ran = self.recommend(*options)
            self.assertNotIn('Traceback', ran.stderr)
            for line in (*ran.stdout.splitlines(), *ran.stderr.splitlines()):
                self.assertTrue(line.isprintable(), repr(line))
            self.assertNotEqual(0, ran.status, options)

    def test_a_tier_that_the_file_does_not_have_is_not_recommended(self):
        self.catalog = self.write(
            'other.yaml', TIERS.replace('database:', 'oltp:', 1)
        )
        ran = self.recommend('--pattern', 'rand-write')
        self.assertEqual(1, ran.status)
        self.assertIn('the tiers file does not have them', ran.stderr)

    def test_arguments_that_do_not_fit(self):
        for options, status, said in (
            ((), 2, 'one of the arguments'),
            (('--pattern', 'x', '--on', 'general'), 2, '--on requires'),
            (('--pattern', 'x', '--cluster', 'c'), 2, '--cluster requires'),
            (('--job', '/nowhere'), 1, 'cannot read /nowhere'),
            (('--volumes', str(self.folder)), 1, 'cannot read'),
            (('--volumes', self.catalog), 1, 'line 1: found no JSON'),
            (
                ('--diagnostics', self.result, '--on', 'general'),
                1,
                'run.json: found no disk_details',
            ),
            (('--pattern', 'mix', '--quantity', 'x'), 2, 'expected iops'),
            (
                ('--pattern', 'mix', '--least-difference', '100'),
                2,
                'less than 100',
            ),
        ):
            ran = self.recommend(*options)
            self.assertEqual(status, ran.status, (options, ran.stderr))
            self.assertIn(said, ' '.join(ran.stderr.split()))
