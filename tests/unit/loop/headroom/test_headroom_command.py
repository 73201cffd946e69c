# SPDX-License-Identifier: Apache-2.0

"""`openstack tier headroom`, run by the real shell on real result files.

What is sold is read from a real Cinder API; Keystone is a stand-in.
"""

import dataclasses
import json
import math
import pathlib
import tempfile
import uuid

import testtools

from cinder_tiers.clients import volume_types
from cinder_tiers.figures.fio import load_step
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.result import result as run_result
from tests.unit.cli import shell
from tests.unit.cli import tiers_file_case
from tests.unit.execute.cinder import test_volume_type
from tests.unit.figures import results
from tests.unit.loop.headroom import test_curve

CAPACITY = 160
STEPS = (20, 60, 100, 120, 140, 180)
TOLD = ('--per-volume-iops', '5', '--volumes', '10', '--load', '30')
P99 = ('--expect', 'p99_ms_max=100')
#: In M/M/1 of 160 IOPS the p99 is 100 ms at 160 - 10 ln(100) IOPS.
MOST = CAPACITY - 10 * math.log(100)


def curve_run(
    *, tier='database', name='w', factors=(0.99, 1, 1.01), sync_times=0
):
    """A run with the curve of M/M/1.

    :param sync_times: how many times the latency of a write that of the sync
        after it is; 0: there are none
    """
    base = fio_pattern.Pattern(
        name=name,
        rw='randwrite',
        bs='4k',
        fdatasync=1 if sync_times else None,
    )
    patterns = []
    for asked in STEPS:
        done = min(asked, 0.999 * CAPACITY)
        p99_ms = 1000 * math.log(100) / (CAPACITY - done)
        patterns.append(
            test_curve.paced(
                name,
                asked,
                [
                    results.slot(
                        [done],
                        clat_ms=[p99_ms * factor] * 1000,
                        sync_ms=[sync_times * p99_ms * factor] * 1000
                        if sync_times
                        else (),
                    )
                    for factor in factors
                ],
            )
        )
    found = results.run({tier: {}})
    return dataclasses.replace(
        found,
        profile=dataclasses.replace(
            found.profile, patterns=load_step.paced([base], STEPS)
        ),
        tiers=(dataclasses.replace(found.tiers[0], patterns=tuple(patterns)),),
    )


def other_run(**about):
    return dataclasses.replace(curve_run(**about), run='f' * 16)


def rows(ran):
    return {(row['Until'], row['By']): row for row in json.loads(ran.stdout)}


class Results:
    """Writes result files that are gone after the test."""

    def write_result(self, run, name='curve.json'):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / name
        path.write_text(run_result.write(run))
        return str(path)


class ToldTestCase(Results, testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.result = self.write_result(curve_run())

    def told(self, *arguments, **environment):
        """Without a cloud."""
        return shell.openstack('tier', 'headroom', *arguments, **environment)

    def test_what_is_told_needs_no_cloud(self):
        ran = self.told('database', self.result, *P99, *TOLD, '-f', 'json')
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        found = rows(ran)
        row = found['p99_ms_max 100', 'sold']
        self.assertEqual(
            (50, 5, 'room'),
            (row['In use'], row['Of a volume'], row['Finding']),
        )
        self.assertAlmostEqual(MOST, row['Load at most']['iops'], 0)
        self.assertEqual(
            math.floor((MOST - 50) / 5), row['More volumes']['volumes']
        )
        self.assertLess(
            row['More volumes']['at_least'], row['More volumes']['at_most'] + 1
        )
        self.assertIn('3 repeats of 6 steps', row['Rests on'])
        self.assertIn('10 volumes as given by --volumes', row['Rests on'])
        row = found['p99_ms_max 100', 'carried']
        self.assertEqual(
            math.floor((MOST - 30) / 5), row['More volumes']['volumes']
        )
        self.assertIn('as given by --load', row['Rests on'])
        row = found['70 % of the most', 'sold']
        self.assertAlmostEqual(
            0.7 * 0.999 * CAPACITY, row['Load at most']['iops'], 2
        )
        self.assertEqual(6, len(found))

    def test_what_a_database_waits_for_is_planned_by_its_syncs(self):
        """A tier keeps the limit of writes when that of syncs is broken."""
        path = self.write_result(curve_run(sync_times=2), 'syncs.json')
        limits = (*P99, '--expect', 'sync_p99_ms_max=100')
        ran = self.told('database', path, *limits, *TOLD, '-f', 'json')
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        found = rows(ran)
        # A sync takes twice as long as a write: 50 ms of a write.
        for until, most in (
            ('p99_ms_max 100', MOST),
            ('sync_p99_ms_max 100', CAPACITY - 20 * math.log(100)),
        ):
            row = found[until, 'sold']
            self.assertAlmostEqual(most, row['Load at most']['iops'], 0)
            self.assertEqual(
                math.floor((most - 50) / 5), row['More volumes']['volumes']
            )
        self.assertIn(('knee of sync p99', 'sold'), found)
        self.assertEqual(10, len(found))
        # Of more volumes than its syncs allow, none is left.
        ran = self.told(
            *('database', path, *limits, '--load', '0', '-f', 'json'),
            *('--per-volume-iops', '5', '--volumes', '20'),
        )
        self.assertEqual(4, ran.status, ran.stderr)
        self.assertEqual(
            ('room', 'none left'),
            tuple(
                rows(ran)[f'{each}_max 100', 'sold']['Finding']
                for each in ('p99_ms', 'sync_p99_ms')
            ),
        )

    def test_a_pattern_without_syncs_has_none_to_plan_by(self):
        ran = self.told(
            *('database', self.result, '--expect', 'sync_p99_ms_max=10'),
            *TOLD,
        )
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn('it has no sync_p99_ms', ran.stderr)

    def test_csv_and_value_have_the_text_of_the_table(self):
        options = ('-c', 'Load at most', '-c', 'In use', '-c', 'More volumes')
        for form, line in (
            ('csv', '"113.9 (111.7 to 116.2)","50.0","12 (12 to 13)"'),
            ('value', '113.9 (111.7 to 116.2) 50.0 12 (12 to 13)'),
        ):
            ran = self.told(
                *('database', self.result, *P99, *TOLD, '-f', form, *options)
            )
            self.assertEqual((0, ''), (ran.status, ran.stderr))
            self.assertIn(line, ran.stdout.splitlines())
            self.assertNotIn('{', ran.stdout)

    def test_a_tier_that_is_full_has_a_status_of_its_own(self):
        ran = self.told(
            *('database', self.result, *P99, '--load', '30'),
            *('--per-volume-iops', '5', '--volumes', '30'),
        )
        self.assertEqual(4, ran.status, ran.stderr)
        self.assertIn('none left', ran.stdout)
        self.assertIn('room', ran.stdout)

    def test_a_tier_is_answered_whatever_another_one_lost(self):
        sound = curve_run()
        (lost,) = curve_run(tier='archive').tiers
        *steps, last = lost.patterns
        lost = dataclasses.replace(
            lost,
            patterns=(
                *steps,
                test_curve.paced(
                    'w',
                    STEPS[-1],
                    [results.slot([9.0], without=1) for _ in range(3)],
                ),
            ),
        )
        for tiers in ((lost, *sound.tiers), (*sound.tiers, lost)):
            path = self.write_result(dataclasses.replace(sound, tiers=tiers))
            ran = shell.openstack(
                *('tier', 'headroom', 'database', path),
                *(*TOLD, *P99, '-f', 'json'),
            )
            self.assertEqual(0, ran.status, ran.stderr)
        ran = shell.openstack('tier', 'headroom', 'archive', path, *TOLD, *P99)
        self.assertEqual(1, ran.status)
        self.assertIn('archive w: no repeat has all guests', ran.stderr)

    def test_each_limit_has_a_row_and_a_curve_is_shown_once(self):
        ran = self.told(
            *('database', self.result, *P99, '--expect', 'p99_ms_max=20'),
            *(*TOLD, '--curve', 'w', '--curve', 'w', '-f', 'json'),
        )
        found = json.loads(ran.stdout)
        self.assertEqual(
            ['p99_ms_max 100'] * 2
            + ['p99_ms_max 20'] * 2
            + ['knee of p99'] * 2
            + ['70 % of the most'] * 2,
            [row['Until'] for row in found],
        )
        # The exit status is about the second limit, too.
        self.assertEqual(
            4 if 'none left' in ran.stdout else 0, ran.status, ran.stderr
        )

    def test_one_repeat_tells_nothing(self):
        one = self.write_result(curve_run(factors=(1,)), 'one.json')
        ran = self.told('database', one, *P99, *TOLD)
        self.assertEqual(3, ran.status, ran.stderr)
        self.assertIn('one repeat has no interval', ran.stderr)

        for limit in ('p99_ms_max=100000', 'p99_ms_max=1'):
            ran = self.told('database', one, '--expect', limit, *TOLD)
            self.assertEqual(3, ran.status, ran.stderr)
            self.assertIn('one repeat has no interval', ran.stderr)

    def test_a_limit_that_breaks_at_the_first_step_leaves_nothing(self):
        broken = ('database', self.result, '--expect', 'p99_ms_max=1')
        ran = self.told(
            *(*broken, '--per-volume-iops', '5', '--volumes', '100'),
            *('--load', '500', '-f', 'json'),
        )
        self.assertEqual(4, ran.status, ran.stderr)
        row = rows(ran)['p99_ms_max 1', 'sold']
        self.assertEqual(
            ('none left', 20, -96),
            (
                row['Finding'],
                row['Load at most']['at_most_iops'],
                row['More volumes']['at_most'],
            ),
        )
        self.assertIn('add steps of less load', row['Rests on'])
        ran = self.told(*broken, *TOLD[:2], '--volumes', '0', '--load', '0')
        self.assertEqual(3, ran.status, ran.stderr)
        self.assertIn('less than 20 IOPS', ran.stdout)
        self.assertIn('up to 4', ran.stdout)

    def test_runs_of_one_curve_are_its_repeats(self):
        one = self.write_result(curve_run(factors=(1,)), 'one.json')
        two = self.write_result(other_run(factors=(1.01,)), 'two.json')
        ran = self.told('database', one, two, *P99, *TOLD, '-f', 'json')
        self.assertEqual((0, ''), (ran.status, ran.stderr))
        self.assertIn('2 repeats of 6', ran.stdout)

    def test_curves_of_other_ios_are_no_repeats_and_refused(self):
        other = other_run()
        patterns = tuple(
            dataclasses.replace(each, bs='64k', iodepth=16)
            for each in other.profile.patterns
        )
        other = dataclasses.replace(
            other,
            profile=dataclasses.replace(other.profile, patterns=patterns),
        )
        path = self.write_result(other, 'other.json')
        ran = self.told('database', self.result, path, *P99, *TOLD)
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        for each in (
            'the pattern is not the same: bs 4k in run 0123456789abcdef, 64k'
            ' in run ffffffffffffffff',
            'iodepth 1 in run',
            'name results of the same task',
        ):
            self.assertIn(each, ran.stderr)

    def test_what_else_was_not_the_same_is_told(self):
        other = dataclasses.replace(other_run(), guests_per_tier=2)
        path = self.write_result(other, 'other.json')
        ran = self.told('database', self.result, path, *P99, *TOLD)
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertIn(
            'guests per tier: 1 in the first, 2 in the second', ran.stderr
        )

    def test_a_copy_of_a_run_is_no_further_repeat(self):
        copy = self.write_result(curve_run(), 'copy.json')
        ran = self.told('database', self.result, copy, *P99, *TOLD)
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn(f'{self.result}, {copy}: are results of', ran.stderr)

    def test_what_it_cannot_answer_it_refuses(self):
        plain = self.write_result(
            results.run({'database': {'w': [results.slot([1])]}}), 'p.json'
        )
        for status, arguments, message in (
            (1, ('database', plain), 'found no load curve'),
            (1, ('general', self.result), 'found no load curve'),
            (1, ('database', self.result, '--curve', 'r'), 'found w'),
            (
                2,
                ('database', self.result, '--volumes', '9'),
                '--volumes requires --per-volume-iops',
            ),
        ):
            ran = self.told(*arguments, *P99)
            self.assertEqual((status, ''), (ran.status, ran.stdout))
            self.assertIn(message, ran.stderr)
        for wrong in ('iops_min=5', 'p99_ms_max', 'p99_ms_max=-1', 'x=1'):
            ran = self.told('database', self.result, '--expect', wrong)
            self.assertEqual((2, ''), (ran.status, ran.stdout))


class FromTheCloudTestCase(Results, tiers_file_case.TiersFileTestCase):
    def test_what_the_tiers_file_promises_of_syncs_is_planned(self):
        path = self.write_result(curve_run(sync_times=2))
        self.write(
            self.text.replace(
                '  general:',
                '    expect: {w: {p99_ms_max: 100, sync_p99_ms_max: 40}}\n'
                '  general:',
            )
        )
        ran = self.run_tier('headroom', 'database', path, *TOLD, '-f', 'json')
        # 160 - 50 ln(100) IOPS, and less than the volumes there are.
        self.assertEqual(4, ran.status, ran.stderr)
        self.assertEqual(
            ('room', 'none left'),
            tuple(
                rows(ran)[until, 'sold']['Finding']
                for until in ('p99_ms_max 100', 'sync_p99_ms_max 40')
            ),
        )

    def test_a_curve_of_which_nothing_is_expected_is_left_out(self):
        runs = [curve_run(name=name) for name in ('w', 'v')]
        path = self.write_result(
            dataclasses.replace(
                runs[0],
                profile=dataclasses.replace(
                    runs[0].profile,
                    patterns=tuple(
                        each for run in runs for each in run.profile.patterns
                    ),
                ),
                tiers=(
                    dataclasses.replace(
                        runs[0].tiers[0],
                        patterns=tuple(
                            each
                            for run in runs
                            for each in run.tiers[0].patterns
                        ),
                    ),
                ),
            )
        )
        ran = self.run_tier('headroom', 'database', path, *TOLD, '-f', 'json')
        self.assertEqual(3, ran.status, ran.stderr)
        self.assertIn('expects no latency of w, v', ran.stderr)
        self.assertEqual(
            {
                (curve, until)
                for curve in ('w', 'v')
                for until in ('knee of p99', '70 % of the most')
            },
            {(row['Curve'], row['Until']) for row in json.loads(ran.stdout)},
        )
        self.write(
            self.text.replace(
                '  general:', '    expect: {w: {p99_ms_max: 100}}\n  general:'
            )
        )
        ran = self.run_tier('headroom', 'database', path, *TOLD, '-f', 'json')
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertIn('no latency of v: only the knee', ran.stderr)
        ran = self.run_tier(
            'headroom', 'database', path, *TOLD, '--curve', 'v'
        )
        self.assertEqual(3, ran.status, ran.stderr)

    def test_what_is_sold_and_expected_comes_from_the_cloud(self):
        self.result = self.write_result(curve_run())
        ran = self.run_tier('headroom', 'database', self.result)
        self.assertEqual(1, ran.status, ran.stderr)
        self.assertIn('expects no latency of w', ran.stderr)
        self.assertIn("has no volume type 'database'", ran.stderr)
        self.write(
            self.text.replace(
                'total_iops_sec: 500', 'write_iops_sec: 8'
            ).replace(
                '  general:',
                '    expect: {w: {p99_ms_max: 100, iops_min: 9}}\n  general:',
            )
        )
        allowed = ('--allow', 'qos spec tier-database')
        self.assertEqual(0, self.run_tier('apply', *allowed).status)
        connection = test_volume_type.connect(self.api)
        self.addCleanup(connection.close)
        ids = {
            one.name: one.id
            for one in volume_types.list_all(connection.block_storage)
        }
        for name in ('database', 'database', 'database', 'general'):
            self.api.add_volume(
                host='node@ssd#x', volume_type_id=ids[name], size=7
            )
        # Attached to two servers; and volumes that cannot be attached, or
        # take the place of another.
        two = [str(uuid.uuid4()) for _ in range(2)]
        for about in (
            {'status': 'in-use', 'servers': two},
            {'status': 'error'},
            {'status': 'deleting'},
            {'status': 'error_deleting'},
            {'migration_status': f'target:{uuid.uuid4()}'},
        ):
            self.api.add_volume(
                host='node@ssd#x', volume_type_id=ids['database'], **about
            )
        ran = self.run_tier(
            *('headroom', 'database', self.result, '-f', 'json'),
        )
        # The tier has no pool in Ceph, and --load does not say either.
        self.assertEqual(3, ran.status, ran.stderr)
        found = rows(ran)
        row = found['p99_ms_max 100', 'sold']
        self.assertEqual(
            (40, 8, math.floor((MOST - 40) / 8), 'room'),
            (
                row['In use'],
                row['Of a volume'],
                row['More volumes']['volumes'],
                row['Finding'],
            ),
        )
        self.assertIn('4 volumes in Cinder', row['Rests on'])
        row = found['p99_ms_max 100', 'carried']
        self.assertIn('no Ceph pool; or give it with --load', row['Rests on'])
        ran = self.run_tier(
            *('headroom', 'database', self.result, '--load', '0'),
        )
        self.assertEqual(0, ran.status, ran.stderr)
        # A type without a limit has no sum.
        general = self.write_result(curve_run(tier='general'), 'g.json')
        ran = self.run_tier(
            *('headroom', 'general', general, *P99, '--load', '0')
        )
        self.assertEqual(3, ran.status, ran.stderr)
        self.assertIn('has no IOPS limit', ran.stderr)
        for line in ran.stdout.splitlines():
            self.assertLessEqual(len(line), 120)
        ran = self.run_tier('headroom', 'nobody', general, *P99)
        self.assertEqual(1, ran.status)
