# SPDX-License-Identifier: Apache-2.0

"""`tier tune` as a process and in this one, with a real Cinder API.

The command that measures copies results that were made before: the truth is
known.
"""

import json
import os
import stat
import subprocess
import sys

import yaml

from rally_scenarios.bench.result import result as run_result
from tests.unit.bench import test_recommend
from tests.unit.cli import test_sweep
from tests.unit.cli import test_two_applies

SPACE = """version: 1
tier: {tier}
seed: 7
slot_minutes: 0.02
factors:
  qos:
    front_end:
      read_iops_sec: ['100', '200']
"""
#: The first value of the first option doubles IOPS in a world with a truth.
MEASURES = """#!/bin/sh -e
kind=slow
case $CINDER_TIERS_SWEEP_TREATMENT in candidate-1) kind=$1 ;; esac
noise=$(( ($(date +%N | sed 's/^0*//') / 1000) % 5 ))
cp "$2/$kind-$noise.json" "$CINDER_TIERS_SWEEP_RESULT"
"""


class TuneTestCase(test_sweep.SweptCloudTestCase):
    def setUp(self):
        super().setUp()
        # Without a seed, as most files are.
        space = SPACE.format(tier='limited').replace('seed: 7\n', '')
        self.file.write_text(space, 'utf-8')
        self.script = self.folder / 'measure.sh'
        self.script.write_text(MEASURES, 'utf-8')
        for kind, iops in (('slow', 1000), ('fast', 2000)):
            for noise in range(5):
                run = test_recommend.run(
                    {'limited': {'rand-write': (iops * (1 + noise / 100),)}}
                )
                (self.folder / f'{kind}-{noise}.json').write_text(
                    run_result.write(run), 'utf-8'
                )

    def arguments_of(self, *command, budget='30m', tier='limited'):
        return (
            *('--goal', 'iops', '--budget', budget),
            *('--out', str(self.folder / 'out')),
            *(tier, str(self.file), '--', *command),
        )

    def measure(self, kind):
        return ('sh', str(self.script), kind, str(self.folder))

    def tune(self, *command, **about):
        return self.tier('tune', *self.arguments_of(*command, **about))

    def assert_cloud_as_before(self):
        self.assertEqual(self.before, self.world())
        self.assertEqual([], list(self.state.glob('sweep-*')))

    def test_what_doubles_is_proposed_and_all_comes_back(self):
        ran = self.tune(*self.measure('fast'))
        self.assertEqual(0, ran.status, ran.stderr)
        self.assert_cloud_as_before()
        (found,) = [
            row
            for row in json.loads(ran.stdout)
            if row['Finding'] == 'proposed'
        ]
        self.assertIn('read_iops_sec=100', found['Candidate'])
        self.assertIn('better than the default, and confirmed', ran.stderr)
        proposal = yaml.safe_load(
            (self.folder / 'out' / 'proposal.yaml').read_text()
        )
        self.assertEqual(
            '100',
            proposal['tiers']['limited']['qos']['front_end']['read_iops_sec'],
        )
        (journal,) = self.state.glob('tune-*')
        self.assertEqual(0o600, stat.S_IMODE(os.stat(journal).st_mode))
        # It is over: nothing is measured again.
        blocks = len(list((self.folder / 'out').glob('block-*')))
        self.assertEqual(0, self.tune(*self.measure('fast')).status)
        self.assertEqual(
            blocks, len(list((self.folder / 'out').glob('block-*')))
        )

    def test_where_nothing_is_better_it_says_so(self):
        ran = self.tune(*self.measure('slow'))
        self.assertIn(ran.status, (0, 3), ran.stderr)
        self.assertIn('nothing better than the default', ran.stderr)
        self.assertFalse((self.folder / 'out' / 'proposal.yaml').exists())
        self.assert_cloud_as_before()

    def test_killed_it_is_restored_and_goes_on(self):
        killed = subprocess.run(
            [
                sys.executable,
                '-c',
                test_two_applies.SCRIPT,
                *self.api.arguments_of('admin'),
                *('tune', '--catalog', str(self.catalog)),
                *self.arguments_of(*test_sweep.kills(2)),
            ],
            cwd=test_two_applies.TOP,
            text=True,
            capture_output=True,
            check=False,
            env={
                **{
                    name: value
                    for name, value in os.environ.items()
                    if not name.startswith('OS_')
                },
                'OS_CINDER_DISABLE_EVENTLET_PATCHING': '1',
                **self.environment,
            },
        )
        self.assertEqual(-9, killed.returncode, killed.stderr)
        ran = self.tune(*self.measure('fast'))
        self.assertEqual(1, ran.status)
        self.assertIn('tier sweep --restore', ran.stderr)
        self.assertEqual(0, self.tier('sweep', '--restore').status)
        self.assert_cloud_as_before()
        ran = self.tune(*self.measure('fast'))
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertTrue((self.folder / 'out' / 'block-0001-2').exists())
        self.assert_cloud_as_before()

    def test_a_command_without_a_figure_ends_the_search(self):
        ran = self.tune('true')
        self.assertEqual(1, ran.status)
        self.assertIn('3 blocks in a row have no sound figure', ran.stderr)
        self.assert_cloud_as_before()

    def test_what_is_no_space(self):
        for text, said in (
            (
                SPACE.replace('seed: 7', 'vary: product').format(
                    tier='limited'
                )
                + "      write_bytes_sec: ['5']\n",
                'vary: one_at_a_time',
            ),
            (
                SPACE.format(tier='limited').replace(
                    'slot_minutes: 0.02\n', ''
                ),
                'no slot_minutes',
            ),
            (SPACE.format(tier='plain'), "one of 'limited'"),
        ):
            self.file.write_text(text, 'utf-8')
            ran = self.tune('true')
            self.assertEqual(1, ran.status, text)
            self.assertIn(said, ran.stderr)
        self.assertEqual(2, self.tune('true', budget='0h').status)
        self.assert_cloud_as_before()
