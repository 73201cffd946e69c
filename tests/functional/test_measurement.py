# SPDX-License-Identifier: Apache-2.0
"""Rally with our plugins, against real guests of the lab."""

import json
import pathlib

import fixtures

import tests
from tests.functional import lab
from tests.functional import start_watch

QUICK = str(lab.REPOSITORY / 'rally_scenarios' / 'tasks' / 'quick.yaml')
#: One guest a tier and the shortest slots: these tests are of the chain, on
#: machines of which others take what they like. So no start is late.
LATE_AFTER_MS = 4000
SMALL = {
    'guests_per_tier': 1,
    'region_mib': 8,
    'ramp_seconds': 1,
    'runtime_seconds': 3,
    'gap_seconds': 8,
    'late_after_ms': LATE_AFTER_MS,
}
#: What guests do; tests/long: all that quick has.
PATTERNS = tests.share(
    (
        {'name': 'randwrite-4k', 'rw': 'randwrite', 'bs': '4k', 'iodepth': 32},
        {'name': 'write-1m', 'rw': 'write', 'bs': '1m', 'iodepth': 4},
    )
)
#: Between the guest's reading of its clock and its console on the host, at
#: most. How long it usually takes: doc/source/contributor/benchmarks.rst.
CONSOLE_MS = 5000


def is_of_rally(name):
    return name.startswith('c_rally_')


class MeasurementCase(lab.LabTestCase):
    """Starts a task and sees that nothing of it is left."""

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def start(self, expect=0, task=QUICK, **arguments):
        before = self.leftovers()
        output, errors = self.run_command(
            'rally',
            'task',
            'start',
            task,
            '--task-args',
            json.dumps({**SMALL, **arguments}),
            expect=expect,
        )
        self.assertEqual(before, self.leftovers(), 'not all was cleaned up')
        return output + errors

    def leftovers(self):
        """What a task could leave behind, names and numbers."""
        storage = self.admin.block_storage
        images = sorted(
            image
            for pool in lab.POOLS
            for image in self.run_command('rbd', 'ls', pool)[0].split()
        )
        return (
            sorted(
                one.id for one in self.admin.compute.servers(all_projects=True)
            ),
            sorted(one.id for one in storage.volumes(all_projects=True)),
            # private ones, too
            sorted(one.name for one in storage.types(is_public='None')),
            sorted(one.name for one in self.admin.identity.projects()),
            images,
        )

    def outputs(self):
        """{title: data} of the complete outputs of the last task."""
        report, _ = self.run_command('rally', 'task', 'report', '--json')
        workload = json.loads(report)['tasks'][0]['subtasks'][0]['workloads'][
            0
        ]
        return {
            output['title']: output['data']
            for iteration in workload['data']
            for output in iteration['output']['complete']
        }


class MeasurementTest(MeasurementCase):
    def test_our_plugins_are_listed_without_a_warning(self):
        output, errors = self.run_command('rally', 'plugin', 'list')
        self.assertIn('CinderTiers.fleet_fio', output)
        # rally-openstack has warnings of its own
        ours = [
            line
            for line in (output + errors).splitlines()
            if 'warn' in line.lower()
            and any(
                name in line
                for name in ('CinderTiers', 'cinder_tiers', 'rally_scenarios')
            )
        ]
        self.assertEqual([], ours)

    def check_starts(self, watch, row):
        """Guests say of their starts what the host's clock says of them.

        :param row: names the result file
        """
        result = json.loads(pathlib.Path(row[1]).read_text())
        errors_ms = {
            guest['guest']: guest['clock_error_ms']
            for guest in result['guests']
        }
        self.assertNotIn(None, errors_ms.values())
        slots = [
            slot
            for tier in result['tiers']
            for pattern in tier['patterns']
            for slot in pattern['slots']
        ]
        for slot in slots:
            told_ms = {
                guest['guest']: guest['started_ms'] for guest in slot['guests']
            }
            seen = watch.of_slot(slot['number'])
            self.assertEqual(told_ms.keys(), seen.keys())
            # From the leader's clock to the host's, the same for all guests.
            least_ms, most_ms = (
                [
                    1000 * getattr(seen[guest], which)
                    - told_ms[guest]
                    + sign * errors_ms[guest]
                    for guest in seen
                ]
                for which, sign in (('since_seconds', -1), ('seconds', 1))
            )
            self.assertLess(max(least_ms) - min(most_ms), CONSOLE_MS, seen)

    def test_quick_measures_all_tiers_and_leaves_nothing(self):
        others = lab.connect(self.environment, lab.OTHER)
        self.addCleanup(others.close)
        types = {}

        def on_start(start):
            if not types:
                types['all'], types['of others'] = (
                    {one.name for one in each}
                    for each in (
                        self.admin.block_storage.types(is_public='None'),
                        others.block_storage.types(),
                    )
                )

        with start_watch.StartWatch(
            self.root / 'instances', on_start
        ) as watch:
            self.start(guests_per_tier=2, patterns=PATTERNS)
        # of the disk that gives guests their start
        self.assertTrue(any(map(is_of_rally, types['all'])), types)
        self.assertFalse(any(map(is_of_rally, types['of others'])), types)
        outputs = self.outputs()
        (row,) = outputs['CinderTiers: the result file']['rows']
        self.check_starts(watch, row)
        table = outputs['CinderTiers: figures of each tier']
        rows = [
            dict(zip(table['cols'], row, strict=True)) for row in table['rows']
        ]
        self.assertEqual(
            {
                (tier, pattern['name'])
                for tier in ('database', 'general', 'archive')
                for pattern in PATTERNS
            },
            {(row['tier'], row['pattern']) for row in rows},
        )
        for row in rows:
            self.assertEqual('complete', row['verdict'])
            self.assertGreater(row['IOPS'], 0)
        report = self.folder / 'report.html'
        self.run_command(
            'rally', 'task', 'report', '--html-static', '--out', str(report)
        )
        self.assertIn('figures of each tier', report.read_text())
