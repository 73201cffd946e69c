# SPDX-License-Identifier: Apache-2.0

"""`openstack tier repeats`, run by the real shell on real result files."""

import dataclasses
import json
import pathlib
import tempfile

import testtools

from cinder_tiers.figures.result import result as run_result
from tests.unit.cli import shell
from tests.unit.loop.compare import test_repeats


class RepeatsTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / 'run.json'

    def repeats(self, *options, **iops_of_tiers):
        paths = []
        if iops_of_tiers:
            self.path.write_text(
                run_result.write(test_repeats.run(**iops_of_tiers))
            )
            paths = [str(self.path)]
        return shell.openstack('tier', 'repeats', *paths, *options)

    def test_former_runs_tell_runs_and_time(self):
        for number, iops in enumerate((100, 104, 97, 101, 99, 103)):
            (self.path.parent / f'{number}.json').write_text(
                run_result.write(
                    dataclasses.replace(
                        test_repeats.run(general=(iops, iops)),
                        run=f'{number:016x}',
                    )
                )
            )
        ran = self.repeats(
            str(self.path.parent), '--quantity', 'iops', '-f', 'json'
        )
        self.assertEqual(0, ran.status, ran.stderr)
        (row,) = json.loads(ran.stdout)
        self.assertEqual(
            ('general', 'x', 'iops'),
            (row['Tier'], row['Pattern'], row['Quantity']),
        )
        self.assertGreater(row['Runs'], 2)
        self.assertGreater(row['Takes'], 60 * row['Runs'])
        self.assertIn(f'to see 10 %: {row["Runs"]} runs of', ran.stderr)
        ran = self.repeats(general=(100, 104, 97))
        self.assertEqual(1, ran.status)
        self.assertIn('1 results: expected at least 6 runs', ran.stderr)

    def test_tiers_of_one_run_are_compared_within_repeats(self):
        ran = self.repeats(
            '--least-difference',
            '5',
            '--max-width',
            '160',
            database=(100, 150, 80),
            general=(101, 148, 82),
        )
        self.assertIn('general against database', ran.stdout)
        self.assertIn('in each of 2 claims', ran.stderr)

    def test_a_stated_noise_needs_no_result(self):
        ran = self.repeats('--variation', '10', '--claims', '16', '-f', 'json')
        self.assertEqual(0, ran.status, ran.stderr)
        (row,) = json.loads(ran.stdout)
        self.assertEqual((10.0, None), (row['Noise %'], row['Takes']))
        fewer = self.repeats('--variation', '10', '-f', 'json')
        self.assertLess(json.loads(fewer.stdout)[0]['Runs'], row['Runs'])

    def test_what_is_not_known_has_a_status_of_its_own(self):
        ran = self.repeats('--quantity', 'iops', general=(100,), fast=(1,))
        self.assertEqual(3, ran.status, ran.stderr)
        self.assertIn('measured once', ' '.join(ran.stdout.split()))
        self.assertIn('1 of 1 have no number', ran.stderr)

    def test_arguments_that_do_not_fit(self):
        for status, options, iops, said in (
            (2, (), {}, 'or give --variation'),
            (2, ('--claims', '2'), {'general': (1, 2)}, '--claims requires'),
            (2, ('--reference', 'x'), {'general': (1, 2)}, 'between tiers'),
            (
                1,
                ('--reference', 'x'),
                {'general': (1, 2), 'fast': (1, 2)},
                'expected x',
            ),
            (
                2,
                ('--variation', '5', '--quantity', 'iops'),
                {},
                'say by --claims',
            ),
            (1, ('--between', 'tiers'), {'general': (1, 2)}, 'two or more'),
        ):
            ran = self.repeats(*options, **iops)
            self.assertEqual(status, ran.status, options)
            self.assertIn(said, ' '.join(ran.stderr.split()))

    def test_arguments_that_are_none(self):
        for options in (
            ('--variation', '0'),
            ('--variation', '5', '--claims', '0'),
            ('--power', '1'),
            ('--difference', 'nan'),
            ('--least-difference', '100'),
            ('--quantity', 'foo'),
        ):
            ran = self.repeats(*options)
            self.assertEqual(2, ran.status, options)
            self.assertIn(f'{options[-1]!r}: expected', ran.stderr)
