# SPDX-License-Identifier: Apache-2.0

"""Benchmarks are not tests, but each must run: here, at a tiny size."""

import contextlib
import io
import json
import math
import os
import pathlib
import runpy
import subprocess
import sys
from unittest import mock

import fixtures
import pyperf
import testtools

from benchmarks import create_throughput
from benchmarks import self_comparison
from benchmarks import tuning
from cinder_tiers.figures.result import result as run_result
from tests.unit.figures import results

TOP = pathlib.Path(__file__).resolve().parents[2]
CLOUDS = """
clouds:
  stand-in:
    auth_type: v3password
    region_name: one
    auth: {{auth_url: 'http://127.0.0.1:{port}/v3', user_id: u, password: p,
            project_id: p}}
"""


class BenchmarkTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.file = self.folder / 'values.json'

    def start_it(self, name, *arguments):
        """The lines that a benchmark prints, which sets up all of Cinder."""
        done = subprocess.run(
            [
                sys.executable,
                '-m',
                f'benchmarks.{name}',
                *arguments,
                '--json',
                str(self.file),
            ],
            cwd=TOP,
            capture_output=True,
            text=True,
        )
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout.splitlines()

    def run_it(self, name, *arguments, **environment):
        """The same of any other, which is run in this process.

        To start it would import again what is here already.
        """
        out = io.StringIO()
        with (
            mock.patch.object(
                sys, 'argv', [name, *arguments, '--json', str(self.file)]
            ),
            mock.patch.dict(os.environ, environment),
            contextlib.redirect_stdout(out),
        ):
            try:
                runpy.run_module(f'benchmarks.{name}', run_name='__main__')
            except SystemExit as end:
                self.assertIn(end.code, (None, 0), out.getvalue())
        return out.getvalue().splitlines()


class SweepEffectsTestCase(BenchmarkTestCase):
    def test_each_truth_has_a_row(self):
        heading, *rows = self.run_it(
            'sweep_effects', '--sweeps', '2', '--options', '2'
        )
        self.assertIn('truth', heading)
        self.assertEqual(2, len(rows))
        for row in json.loads(self.file.read_text('utf-8')):
            self.assertEqual(2, row['sweeps'])
            self.assertLessEqual(row['from %'], row['to %'])


class ProtocolsTestCase(BenchmarkTestCase):
    def test_each_protocol_has_a_row_of_each_noise(self):
        self.run_it(
            'protocols',
            *('--years', '1', '--sweeps', '2', '--curves', '2'),
            *('--tunings', '1', '--noises', 'AR(1)', 'an outlier'),
        )
        found = json.loads(self.file.read_text('utf-8'))
        self.assertEqual(
            {'gate', 'effects', 'headroom', 'tune'},
            {name.split()[0].rstrip(',') for name in found},
        )
        for row in found.values():
            self.assertEqual({'AR(1)', 'an outlier'}, set(row))


class LargeFleetTestCase(BenchmarkTestCase):
    def test_a_fleet_is_run_and_its_result_shown(self):
        lines = self.run_it(
            'large_fleet', '--guests-per-tier', '2', '--repeats', '1'
        )
        self.assertIn('36 turns of guests, each ', lines[0])
        found = json.loads(self.file.read_text('utf-8'))
        self.assertEqual({'run', 'result', 'report'}, set(found))
        self.assertEqual(0, found['report']['status'])
        self.assertIn('tier report: ', lines[-1])


class TuningTestCase(BenchmarkTestCase):
    def test_each_search_has_a_row_of_each_truth(self):
        heading, *rows = self.run_it('tuning', '--tunings', '1')
        self.assertIn('search', heading)
        found = json.loads(self.file.read_text('utf-8'))
        self.assertEqual(len(rows), len(found))
        self.assertEqual(
            {
                (search, truth)
                for search in ('tune', 'TPE', 'chance')
                for truth in tuning.WORLDS
            },
            {(row['search'], row['truth']) for row in found},
        )
        for row in found:
            self.assertLessEqual(row['near'], 1, row)
            self.assertLessEqual(row['missed'] + row['worse'], 1, row)
            self.assertLessEqual(row['from %'], row['to %'])


class DoorCostTestCase(BenchmarkTestCase):
    def test_each_row_of_the_table_has_its_values(self):
        heading, *rows = self.start_it(
            'door_cost',
            '--pools',
            '5',
            '--threads',
            '1',
            '2',
            '--scenarios',
            'overflow',
            'typed',
            '--seconds',
            '0',
            '--notify',
        )
        self.assertIn('ours us/pool', heading)
        self.assertEqual(
            [
                [scenario, '5', threads, caches]
                for scenario in ('overflow', 'typed')
                for threads in '12'
                for caches in ('warm', 'cold')
            ],
            [row.split()[:4] for row in rows],
        )
        suite = pyperf.BenchmarkSuite.load(str(self.file))
        self.assertEqual(8 * 4, len(suite))
        for benchmark in suite:
            self.assertGreater(min(benchmark.get_values()), 0)


class AppliedReadTestCase(BenchmarkTestCase):
    def test_each_step_is_compared_with_cinder_itself(self):
        _heading, *rows = self.start_it(
            'applied_read',
            '--types',
            '3',
            '--access',
            '2',
            '--defaults',
            '4',
            '--rounds',
            '2',
        )
        found = json.loads(self.file.read_text('utf-8'))
        self.assertEqual(
            [
                "Cinder's own",
                'first read',
                'later read',
                'after a change',
                'default type',
            ],
            list(found),
        )
        self.assertEqual(
            [(name, '2') for name in found],
            [
                (row[:15].strip(), str(len(found[row[:15].strip()])))
                for row in rows
            ],
        )
        self.assertEqual('1.0000', rows[0].split()[-1])
        for values in found.values():
            self.assertGreater(min(values), 0)


class GlanceCallsTestCase(BenchmarkTestCase):
    def test_both_doors_ask_as_often_as_they_should(self):
        self.run_it(
            'glance_calls', '--concurrent', '4', '--glance-latency', '0.1'
        )
        self.assertEqual(
            [
                (door, caches, creates)
                for door in ('scheduler', 'api')
                for caches, creates in (('cold', 1), ('warm', 20), ('cold', 4))
            ],
            [
                (count['door'], count['caches'], count['creates'])
                for count in json.loads(self.file.read_text())
            ],
        )


class HostileTenantTestCase(BenchmarkTestCase):
    def test_each_kind_has_a_row(self):
        kinds = ['names', 'failing', 'missing', 'outage']
        self.run_it(
            'hostile_tenant',
            '--seconds',
            '1',
            '--projects',
            '2',
            '--kinds',
            *kinds,
        )
        self.assertEqual(
            [('alone', 0)]
            + [(kind, 0 if kind == 'outage' else 2) for kind in kinds],
            [
                (row['hostility'], row['projects'])
                for row in json.loads(self.file.read_text('utf-8'))
            ],
        )


class AuditTestCase(BenchmarkTestCase):
    def test_calls_grow_with_pages_and_all_volumes_are_judged(self):
        heading, *rows = self.run_it(
            'audit',
            '--volumes',
            '200',
            '2500',
            '--tiers',
            '5',
            '--images',
            '20',
        )
        self.assertIn('peak MiB', heading)
        self.assertEqual(2, len(rows))
        small, large = json.loads(self.file.read_text())
        self.assertEqual(
            [
                {'compliant': 196, 'non-compliant': 2, 'out of date': 2},
                {'compliant': 2450, 'non-compliant': 25, 'out of date': 25},
            ],
            [small['states'], large['states']],
        )
        self.assertEqual(2, large['calls'] - small['calls'])


class PlanTestCase(BenchmarkTestCase):
    def test_a_plan_of_all_and_one_of_nothing(self):
        heading, *rows = self.run_it('plan', '--tiers', '5', '20')
        self.assertIn('peak MiB', heading)
        self.assertEqual(4, len(rows))
        found = {
            (one['tiers'], one['plan']): one
            for one in json.loads(self.file.read_text())
        }
        self.assertEqual(
            [0, 0], [found[tiers, 'empty']['actions'] for tiers in (5, 20)]
        )
        # rule, pool, type, QoS spec and quota of each tier,
        # 3 more of 2 that are coded; of all: 2 classes, user, type for images
        self.assertEqual(20 * 5 + 2 * 3 + 4, found[20, 'first']['actions'])
        # access of 3 more private types; options of 15 more pools, 2 profiles
        self.assertEqual(
            [3, 15 + 2],
            [
                found[20, 'empty'][what] - found[5, 'empty'][what]
                for what in ('calls', 'ceph_commands')
            ],
        )


class LargeCloudTestCase(BenchmarkTestCase):
    def test_each_command_has_a_row_and_does_its_work(self):
        heading, *rows = self.run_it(
            'large_cloud',
            *('--osds', '240', '--tiers', '20'),
            *('--types', '40', '--volumes', '300'),
            '--check',
        )
        self.assertIn('peak MiB', heading)
        self.assertEqual(
            ['plan', 'apply', 'audit', 'export'],
            [row.split()[0] for row in rows],
        )
        plan, apply, audit, export = json.loads(self.file.read_text())[1::2]
        # Each OSD once, and what a cluster has one of.
        self.assertEqual(
            (0, 240), (plan['actions'], plan['ceph_kinds']['tell config diff'])
        )
        # rule, pool, type, QoS spec and quota of three tiers; two device
        # classes and the user
        self.assertEqual(
            (3 * 5 + 3, []), (apply['actions'], apply['not_done'])
        )
        self.assertEqual(1, audit['kinds']['GET volumes/detail'])
        self.assertEqual(39, export['exported_types'])


class CreateThroughputTestCase(BenchmarkTestCase):
    def setUp(self):
        super().setUp()
        cloud = subprocess.Popen(
            [sys.executable, '-m', 'tests.unit.cloud_stand_in'],
            cwd=TOP,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(cloud.wait)
        self.addCleanup(cloud.stdin.close)
        self.addCleanup(cloud.stdout.close)
        clouds = self.folder / 'clouds.yaml'
        clouds.write_text(CLOUDS.format(port=cloud.stdout.readline().strip()))
        self.lab = self.folder / 'lab'
        self.overrides = self.lab / 'etc' / 'cinder.d'
        self.overrides.mkdir(parents=True)
        self.environment = {
            'OS_CLIENT_CONFIG_FILE': str(clouds),
            'CINDER_TIERS_LAB': str(self.lab),
        }

    def measure(self, *arguments):
        # What a restart reads is kept, one file for each.
        restart = (
            f'sh -c \'cat "$0"/* >"$1/restart$(ls "$1" | wc -l)"; '
            f"true' {self.overrides} {self.folder}"
        )
        return self.run_it(
            'create_throughput',
            '--cloud',
            'stand-in',
            '--image',
            'tagged',
            '--pairs',
            '2',
            '--creates',
            '4',
            '--clients',
            '2',
            '--poll',
            '0.01',
            '--restart',
            restart,
            *arguments,
            **self.environment,
        )

    def test_blocks_take_turns_and_the_lab_is_left_as_it_was(self):
        *_, creates, posts = self.measure()
        self.assertIn('creates per second, on/off: ', creates)
        self.assertIn('2 pairs', posts)
        blocks = json.loads(self.file.read_text())
        self.assertEqual(
            ['on', 'off'] * 2, [block['doors'] for block in blocks]
        )
        restarts = [
            file.read_text()
            for file in sorted(
                self.folder.glob('restart*'),
                key=lambda file: int(file.name.removeprefix('restart')),
            )
        ]
        self.assertEqual(
            [False, True, True, False, False],
            ['TierFilter' in configuration for configuration in restarts],
        )
        self.assertEqual('', restarts[-1])
        self.assertEqual([], list(self.overrides.iterdir()))

    def test_the_interval_is_that_of_student(self):
        def pair(logarithm):
            return (
                create_throughput.Block(
                    doors='on', creates_per_s=math.exp(logarithm), post_s=1.0
                ),
                create_throughput.Block(
                    doors='off', creates_per_s=1.0, post_s=1.0
                ),
            )

        # Two values 0.2 apart: half a width of 12.706 (one degree of
        # freedom) standard errors of 0.1.
        ratio = create_throughput.ratio_of(
            [pair(0.1), pair(0.3)], 'creates_per_s'
        )
        for expected, found in zip(
            (0.2, 0.2 - 1.2706, 0.2 + 1.2706),
            map(math.log, ratio),
            strict=True,
        ):
            self.assertAlmostEqual(expected, found, places=4)


class DriverTestCase(BenchmarkTestCase):
    def test_reports_and_lists_are_timed(self):
        lines = self.start_it(
            *('driver', 'stats', 'manageable', '--repeats', '2'),
            *('--pools', '12', '--images', '30', '--check'),
        )
        self.assertEqual(3, len(lines), lines)
        values = json.loads(self.file.read_text())
        self.assertEqual(2, len(values['stats']))
        self.assertEqual(
            {'tiered': 2, 'cinder': 2},
            {name: len(found) for name, found in values['manageable'].items()},
        )


class HostileCatalogsTestCase(BenchmarkTestCase):
    def test_each_text_is_refused_and_has_a_row(self):
        rows = self.run_it('hostile_catalogs', '--tiers', '20')
        found = json.loads(self.file.read_text('utf-8'))
        self.assertEqual(len(found) + 2, len(rows))


class InvariantsTestCase(BenchmarkTestCase):
    def test_so_many_examples_are_tried(self):
        *_, last = self.run_it('invariants', '--examples', '5', '--seed', '1')
        self.assertIn('no counterexample', last)
        found = json.loads(self.file.read_text('utf-8'))
        self.assertEqual((5, {}), (found['examples'], found['broken']))


class SelfComparisonTestCase(BenchmarkTestCase):
    def test_a_tier_that_changes_on_the_way_is_not_covered(self):
        found = self_comparison.compared(
            [100 + repeat + repeat % 2 for repeat in range(60)], 20
        )
        self.assertLess(found['covered'], 5)

    def test_a_result_file_gives_a_row_for_each_figure(self):
        self.file.write_text(
            run_result.write(
                results.run(
                    {
                        'general': {
                            'randwrite-4k': [
                                results.slot([100, 60 + repeat])
                                for repeat in range(40)
                            ]
                        }
                    }
                )
            ),
            'utf-8',
        )
        heading, iops, p99, together = self.run_it(
            'self_comparison', str(self.file)
        )
        self.assertEqual(heading.split()[0], 'tier')
        self.assertEqual(
            ['general', 'randwrite-4k', 'IOPS', '2', '179.5'], iops.split()[:5]
        )
        self.assertEqual('p99', p99.split()[2])
        self.assertIn('15 comparisons of 2 claims together', together)


class ResultMergeTestCase(BenchmarkTestCase):
    def test_all_outputs_are_read(self):
        _heading, row = self.run_it(
            'result_merge', '--guests', '3', '--patterns', '6', '--runs', '2'
        )
        found = json.loads(self.file.read_text('utf-8'))
        self.assertEqual('36', row.split()[0])
        self.assertGreater(found['bins_each'], 100)
        self.assertGreater(found['ios'], found['outputs'])


class ResultCompareTestCase(BenchmarkTestCase):
    def test_two_large_files_are_compared(self):
        size, cost, *_findings = self.run_it(
            'result_compare', '--guests', '3', '--patterns', '2'
        )
        self.assertIn('3 guests, 2 patterns, 9 repeats', size)
        self.assertIn('MiB', cost)
        found = json.loads(self.file.read_text('utf-8'))
        # One of each pattern, and one of all of them.
        self.assertEqual(3, found['findings']['iops cannot tell'])
        self.assertGreater(found['peak_mib'], 1)


class ConsoleReadingTestCase(BenchmarkTestCase):
    def test_each_run_hears_all_that_answer(self):
        heading, *rows = self.run_it(
            'console_reading',
            *('--guests', '3', '--slots', '1', '--slot-seconds', '1'),
            *('--readers', '2', '--silence', '1'),
        )
        self.assertIn('CPU ms', heading)
        self.assertEqual(3, len(rows))
        # START and END of each that answers
        self.assertEqual(
            [(3, 1, 0, 6), (3, 2, 0, 6), (3, 2, 1, 4)],
            [
                tuple(
                    found[what]
                    for what in ('guests', 'readers', 'silent', 'events')
                )
                for found in json.loads(self.file.read_text())
            ],
        )
