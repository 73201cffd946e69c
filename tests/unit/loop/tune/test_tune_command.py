# SPDX-License-Identifier: Apache-2.0

"""`tier tune` as a process and in this one, with a real Cinder API.

The command that measures copies results that were made before: the truth is
known.
"""

import json
import os
import stat
import subprocess

import yaml

from cinder_tiers.figures.result import result as run_result
from tests.unit.cli import processes
from tests.unit.loop.recommend import test_recommendation
from tests.unit.loop.sweep import test_sweep_command

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
#: The noise is the same each time: of twenty other ones, one may be claimed.
MEASURES = """#!/bin/sh -e
kind=slow
case $CINDER_TIERS_SWEEP_TREATMENT in candidate-1) kind=$1 ;; esac
block=$(basename "$(dirname "$CINDER_TIERS_SWEEP_RESULT")")
noise=$(echo "$block $CINDER_TIERS_SWEEP_TREATMENT" | cksum | cut -d ' ' -f 1)
noise=$((noise % 5))
cp "$2/$kind-$noise.json" "$CINDER_TIERS_SWEEP_RESULT"
"""


#: Counts the slots of all starts; a file says in which the parent is killed,
#: and how many seconds after it.
KILLED = """#!/bin/sh
slot=$(($(cat "$2/slot" 2>/dev/null || echo 0) + 1))
echo $slot > "$2/slot"
if [ -e "$2/kill-$slot" ]; then
    case $(cat "$2/kill-$slot") in
    0) kill -9 $PPID ;;
    *) setsid sh -c "sleep $(cat "$2/kill-$slot"); kill -9 $PPID" \\
        >/dev/null 2>&1 & ;;
    esac
fi
"""


class TuneTestCase(test_sweep_command.SweptCloudTestCase):
    def setUp(self):
        super().setUp()
        # Without a seed, as most files are.
        space = SPACE.format(tier='limited').replace('seed: 7\n', '')
        self.file.write_text(space, 'utf-8')
        self.script = self.folder / 'measure.sh'
        self.script.write_text(MEASURES, 'utf-8')
        for kind, iops in (('slow', 1000), ('fast', 2000)):
            for noise in range(5):
                run = test_recommendation.run(
                    {'limited': {'rand-write': (iops * (1 + noise / 100),)}}
                )
                (self.folder / f'{kind}-{noise}.json').write_text(
                    run_result.write(run), 'utf-8'
                )

    def arguments_of(self, *command, budget='30min', tier='limited'):
        return (
            *(tier, str(self.file)),
            *('--goal', 'iops', '--budget', budget),
            *('--out', str(self.folder / 'out')),
            *('--', *command),
        )

    def measure(self, kind):
        return ('sh', str(self.script), kind, str(self.folder))

    def tune(self, *command, **about):
        first = ()
        if command[:1] == ('--dry-run',):
            first, command = command[:1], command[1:]
        return self.tier('tune', *first, *self.arguments_of(*command, **about))

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
        subprocess.run(
            ['git', 'apply', str(self.folder / 'out' / 'proposal.patch')],
            cwd=self.folder,
            check=True,
            env={'GIT_CEILING_DIRECTORIES': str(self.folder.parent)},
        )
        (planned,) = json.loads(self.tier('plan').stdout)
        self.assertEqual(
            ('qos spec tier-limited', {'specs.read_iops_sec': '100'}),
            (planned['Object'], planned['After']),
        )
        self.catalog.write_text(test_sweep_command.TIERS, 'utf-8')
        (journal,) = self.state.glob('tune-*')
        self.assertEqual(0o600, stat.S_IMODE(os.stat(journal).st_mode))
        # It is over: nothing is measured again.
        blocks = len(list((self.folder / 'out').glob('block-*')))
        self.assertEqual(0, self.tune(*self.measure('fast')).status)
        self.assertEqual(
            blocks, len(list((self.folder / 'out').glob('block-*')))
        )
        self.assert_lost_journal_is_made_up_for(journal)

    def assert_lost_journal_is_made_up_for(self, journal):
        """A process may end between its last slot and the own journal."""
        lines = journal.read_text().splitlines(keepends=True)
        first = next(
            number for number, line in enumerate(lines) if '"block 1"' in line
        )
        journal.write_text(''.join(lines[:first]))
        before = self.tuning()
        blocks = self.complete_blocks()
        ran = self.tune('false')
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertEqual(blocks, self.complete_blocks())
        for one, other in zip(
            before['history']['blocks'],
            self.tuning()['history']['blocks'],
            strict=True,
        ):
            self.assertEqual(one['outcomes'], other['outcomes'])
        self.assert_cloud_as_before()

    def test_where_nothing_is_better_it_says_so(self):
        ran = self.tune(*self.measure('slow'))
        self.assertIn(ran.status, (0, 3), ran.stderr)
        self.assertIn('nothing better than the default', ran.stderr)
        self.assertFalse((self.folder / 'out' / 'proposal.yaml').exists())
        self.assert_cloud_as_before()

    def started(self, *command):
        """A tuning as a process of its own, which its command may end."""
        return processes.run(
            *self.api.arguments_of('admin'),
            *('tier', 'tune', '--catalog', str(self.catalog)),
            *self.arguments_of(*command),
            **self.environment,
        )

    def complete_blocks(self):
        """Numbers of blocks, each as often as all of it was measured."""
        found = []
        for path in (self.folder / 'out').glob('block-*/sweep.json'):
            results = json.loads(path.read_text())
            if len(results['slots']) == results['number_of_slots']:
                found.append(int(path.parent.name.split('-')[1]))
        return sorted(found)

    def test_killed_it_is_restored_and_goes_on(self):
        """Within a slot, and at moments after one that chance gives."""
        # {slot, counted over all starts: when the command is killed}
        for slot, when in {2: '0', 9: '0.3'}.items():
            (self.folder / f'kill-{slot}').write_text(when)
        self.script.write_text(KILLED + MEASURES, 'utf-8')
        kills = refused = 0
        while (ran := self.started(*self.measure('fast'))).returncode == -9:
            kills += 1
            if list(self.state.glob('sweep-*')):
                again = self.tune(*self.measure('fast'))
                self.assertEqual(1, again.status)
                self.assertIn('tier sweep --restore', again.stderr)
                self.assertEqual(0, self.tier('sweep', '--restore').status)
                refused += 1
            self.assert_cloud_as_before()
        self.assertEqual(0, ran.returncode, ran.stderr)
        self.assertEqual(2, kills)
        self.assertGreaterEqual(refused, 1)
        self.assert_cloud_as_before()
        blocks = self.complete_blocks()
        tuning = self.tuning()
        self.assertEqual(
            list(range(1, len(tuning['history']['blocks']) + 1)), blocks
        )
        self.assertTrue((self.folder / 'out' / 'block-0001-2').exists())
        self.assertIn('proposed', ran.stdout)

    def tuning(self):
        return json.loads((self.folder / 'out' / 'tune.json').read_text())

    def test_a_folder_with_links_and_of_another_tuning(self):
        """Links are not followed; then the folder is of another tuning."""
        out = self.folder / 'out'
        out.mkdir()
        kept = self.folder / 'kept'
        kept.write_text('mine')
        for name in ('proposal.yaml', 'proposal.patch', 'block-0001'):
            (out / name).symlink_to(kept)
        self.assertEqual(0, self.tune(*self.measure('fast')).status)
        self.assertEqual('mine', kept.read_text())
        self.assertTrue((out / 'block-0001-2').is_dir())
        self.assertFalse((out / 'proposal.yaml').is_symlink())

        # What a user removes is written again by the journal.
        text = (out / 'tune.json').read_text()
        (out / 'tune.json').unlink()
        self.assertEqual(0, self.tune(*self.measure('fast')).status)
        self.assertEqual(text, (out / 'tune.json').read_text())

        (journal,) = self.state.glob('tune-*')
        journal.unlink()
        ran = self.tune(*self.measure('fast'))
        self.assertEqual(1, ran.status)
        self.assertIn('is of another tuning', ran.stderr)
        # Without it, its blocks would pass for those of the new search.
        (out / 'tune.json').unlink()
        ran = self.tune(*self.measure('fast'))
        self.assertEqual(1, ran.status)
        self.assertIn(f'{out}/block-0001-2 has results of a', ran.stderr)
        self.assertFalse((out / 'tune.json').exists())
        (out / 'tune.json').write_text('[]')
        ran = self.tune(*self.measure('fast'))
        self.assertEqual(1, ran.status)
        self.assertIn('expected the file of a tuning', ran.stderr)
        self.assert_cloud_as_before()

    def test_a_dry_run_says_what_the_budget_is_enough_for(self):
        ran = self.tune('--dry-run', budget='30min')
        self.assertEqual(0, ran.status, ran.stderr)
        self.assertEqual(
            [
                ('qos.front_end.read_iops_sec', value)
                for value in ('100', '200')
            ],
            [(row['Option'], row['Value']) for row in json.loads(ran.stdout)],
        )
        self.assertIn(
            ['qos spec tier-limited: specs.read_iops_sec is 500, not 100'],
            [row['Changes'] for row in json.loads(ran.stdout)],
        )
        self.assertIn(
            'options: 1, combinations of their values: 3; 1500 slots of 0.02 '
            'min, 30 min in all: up to 6 candidates in 6 blocks of the '
            'search, and 14 slots to confirm the best',
            ran.stderr,
        )
        ran = self.tune('--dry-run', budget='20s')
        self.assertEqual(3, ran.status, ran.stderr)
        self.assertIn('a search needs at least 18 slots', ran.stderr)
        self.assertFalse((self.folder / 'out').exists())
        self.assertFalse(self.state.exists())
        self.assertEqual(self.before, self.world())
        self.assertEqual(2, self.tune().status)

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
            (
                SPACE.format(tier='limited').replace("'200'", "'500'"),
                'read_iops_sec 500, which the tiers file has',
            ),
        ):
            self.file.write_text(text, 'utf-8')
            ran = self.tune('true')
            self.assertEqual(1, ran.status, text)
            self.assertIn(said, ran.stderr)
        self.assertEqual(2, self.tune('true', budget='0h').status)
        self.assert_cloud_as_before()
