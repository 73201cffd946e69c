# SPDX-License-Identifier: Apache-2.0

"""The scenario against a cloud in memory (fake_cloud.py)."""

from importlib import resources
import pathlib
import re

import fixtures
from rally.common.objects import task as task_objects
from rally import plugins

plugins.load()  # rally_openstack cannot be imported before

from cinder_tiers.figures.result import result as run_result
from rally_scenarios.plugins.fleet import report as fleet_report
from rally_scenarios.plugins.report import tables
from rally_scenarios.plugins import servers
from tests.unit.guest import console_text
from tests.unit.rally import fake_cloud
from tests.unit.rally import fleet_fio_case

OUTPUT_SCHEMA = task_objects.TASK_SCHEMA['definitions']['output']
ARGS = {
    'fleets': [
        {'tier': 'database', 'image': 'db'},
        {'tier': 'general', 'image': 'plain'},
    ],
    'patterns': fleet_fio_case.PATTERNS,
    'flavor': '1',
    'guests_per_tier': 2,
    'listen_every_seconds': 0,
}


class FleetFioCase(fleet_fio_case.FleetFioCase):
    args = ARGS

    def result(self):
        (file,) = self.results.iterdir()
        self.assertEqual('.json', file.suffix)
        return run_result.read(file.read_bytes())

    def failure(self, **args):
        return str(
            self.assertRaises(servers.FleetError, self.run_scenario, **args)
        )

    def output(self, title):
        return next(
            found
            for found in self.scenario._output['complete']
            if found['title'] == title
        )

    def rows(self, title):
        return self.output(title)['data']['rows']

    def assert_nothing_is_left(self):
        self.assertEqual({}, self.cloud.servers_by_id)
        self.assertEqual({}, self.cloud.volumes_by_id)

    def other(self):
        return str(self.results.parent / 'other')


class FleetFioTest(FleetFioCase):
    def test_a_fleet_is_measured_and_leaves_nothing_behind(self):
        self.run_scenario()
        rows = self.rows(tables.TIER_TABLE_TITLE)
        self.assertEqual(
            [
                ('database', 'randwrite-4k', 2, 1000.5, 'complete'),
                ('database', 'write-1m', 2, 200.9, 'complete'),
                ('general', 'randwrite-4k', 2, 1000.5, 'complete'),
                ('general', 'write-1m', 2, 200.9, 'complete'),
            ],
            [(*row[:4], row[-1]) for row in rows],
        )
        self.assertEqual(8, len(self.rows(tables.GUEST_TABLE_TITLE)))
        self.assert_nothing_is_left()

    def test_a_request_to_delete_that_nobody_answers_does_not_fail_a_run(self):
        """Figures are there, and Rally's cleanup follows."""
        self.cloud.deletes_unanswered = 1
        self.run_scenario()
        self.assertEqual(
            {'complete'}, {guest.verdict for guest in self.result().guests}
        )
        self.assertIn(
            'Left to the cleanup of Rally: not deleted: ', self.log.output
        )
        self.assertEqual(1, len(self.cloud.servers_by_id))

    def test_turns_are_drawn_and_the_seed_is_kept(self):
        orders = []
        for seed in (None, None, None, 11, 11):
            self.run_scenario(turn_order='random', seed=seed, repeats=4)
            result = self.result()
            self.assertEqual(
                ['database', 'general'], [tier.tier for tier in result.tiers]
            )
            for tier in result.tiers:
                self.assertEqual(
                    ['randwrite-4k', 'write-1m'],
                    [pattern.pattern for pattern in tier.patterns],
                )
            self.assertIsInstance(result.seed, int)
            orders.append([run.slot.number for run in result.runs])
            next(self.results.iterdir()).unlink()
        self.assertEqual(orders[3], orders[4])
        self.assertGreater(len(set(map(str, orders))), 1)
        self.run_scenario()
        self.assertIsNone(self.result().seed)

    def test_the_time_it_took_is_kept_beside_what_was_told(self):
        self.run_scenario()
        cost = self.result().cost
        self.assertEqual(8, cost.told.volumes)
        self.assertEqual(40, cost.told.boot)
        self.assertGreaterEqual(cost.volumes_s, 0)
        self.assertGreater(cost.measure_s, 0)
        # Of the recorded guests; the file is written again after deleting.
        self.assertGreater(cost.turns_s, 30)
        self.assertGreaterEqual(cost.delete_s, 0)
        rows = self.rows(fleet_report.COST_TITLE)
        self.assertEqual(['volumes', 8], rows[0][:2])
        self.assertEqual(['together', cost.told.seconds], rows[-1][:2])
        self.run_scenario(start={'by': 'clock'}, result_folder=self.other())
        (file,) = pathlib.Path(self.other()).iterdir()
        self.assertIsNone(run_result.read(file.read_bytes()).cost.prepare_s)

    def test_tiers_that_share_no_disk_run_at_the_same_time(self):
        self.run_scenario(side_by_side=True)
        found = self.result()
        self.assertTrue(found.side_by_side)
        self.assertIn(
            '4 runs of fio of all tiers side by side', self.log.output
        )
        self.assertIn(
            'tiers at the same time', [each.about for each in found.doubts]
        )
        turns = {
            (run.tier.tier, run.name): run.slot.guests[0].planned_ms
            for run in found.runs
        }
        for name in ('randwrite-4k', 'write-1m'):
            self.assertEqual(
                turns['database', name] - turns['general', name], 0
            )
        error = self.assertRaises(
            ValueError,
            self.run_scenario,
            side_by_side=True,
            fleets=self.args['fleets'][:1],
        )
        self.assertIn('side_by_side with the tier', str(error))

    def test_a_former_result_says_how_fast_the_cloud_is(self):
        self.run_scenario()
        (file,) = self.results.iterdir()
        self.run_scenario(cost_from=str(file), result_folder=self.other())
        (newer,) = pathlib.Path(self.other()).iterdir()
        told = run_result.read(newer.read_bytes()).cost.told
        self.assertEqual(self.result().run, told.rates_of)
        # The cloud is made of recordings, and takes no time.
        self.assertLess(told.boot, 40)
        for wrong, text in (
            ('/nowhere', 'cannot read it'),
            ('~no-such-user/run.json', 'cannot read it'),
            # It has no end.
            ('/dev/zero', 'cannot read it'),
        ):
            error = self.assertRaises(
                ValueError, self.run_scenario, cost_from=wrong
            )
            self.assertIn(f"cost_from '{wrong}': {text}", str(error))

    def test_a_seed_without_a_random_order_is_refused(self):
        error = self.assertRaises(ValueError, self.run_scenario, seed=3)
        self.assertIn('seed 3 with the turn_order', str(error))

    def preconditioned(self, *kib):
        """A change of a guest's lines: it wrote these rounds."""

        def change(lines):
            run, guest = lines[0].split()[2:4]
            return [
                *lines[:2],
                *(
                    console_text.event(
                        900 + number,
                        f'ROUND round={number} kib={each}',
                        guest=guest,
                        run=run,
                    )
                    for number, each in enumerate(kib, 1)
                ),
                *lines[2:],
            ]

        return change

    def test_rounds_before_the_first_turn_are_kept_and_judged(self):
        rounds = {'round_seconds': 10, 'most_rounds': 7}
        steady = self.preconditioned(900, 500, 300, 290, 310, 300, 300)
        for guest in ('g000', 'g001', 'g002'):
            self.cloud.guests_do[guest] = steady
        self.cloud.guests_do['g003'] = self.preconditioned(
            *range(900, 200, -100)
        )
        self.run_scenario(precondition=rounds)
        found = self.result()
        self.assertEqual(
            ('randwrite', '4k', 10, 7),
            (
                found.precondition.pattern.rw,
                found.precondition.pattern.bs,
                found.precondition.round_seconds,
                found.precondition.most_rounds,
            ),
        )
        self.assertEqual(
            [True, True, True, False],
            [each.preconditioned.is_steady for each in found.guests],
        )
        (caveat,) = [
            each for each in found.doubts if each.about == 'preconditioning'
        ]
        self.assertIn(
            'general: 1 of 2 guests did not become steady in 7 rounds',
            caveat.text,
        )
        self.assertIn('such as g003: last 5 of 7 rounds', caveat.text)
        self.assertIn('precondition at most 84 s', self.log.output)
        self.assertEqual(
            [
                'region filled, then 7 to 7 rounds of 10 s randwrite 4k;'
                f' {steady} of 2 guests steady'
                for steady in (2, 1)
            ],
            [row[4] for row in self.rows(fleet_report.FLEET_TABLE_TITLE)],
        )

    def test_rounds_that_cannot_be_written_are_refused(self):
        for wrong, told in (
            ({'most_rounds': 3}, 'most_rounds 3: expected 5'),
            ({'bs': '64m'}, 'does not fit'),
            ({'bs': '1000'}, 'multiples of 512'),
        ):
            error = self.assertRaises(
                ValueError,
                self.run_scenario,
                precondition=wrong,
                region_mib=32,
            )
            self.assertIn(told, str(error))

    def test_rounds_need_an_engine_for_their_depth(self):
        error = self.assertRaises(
            ValueError, self.run_scenario, precondition={}, ioengine='psync'
        )
        self.assertIn('iodepth 16 with the engine psync', str(error))

    def test_rounds_that_cannot_end_before_the_start_are_refused(self):
        error = self.assertRaises(
            ValueError,
            self.run_scenario,
            precondition={'round_seconds': 60},
            start={'by': 'clock', 'after_seconds': 120},
        )
        self.assertIn('the fewest rounds take 310 s', str(error))
        self.assertEqual({}, self.cloud.volumes_by_id)

    def test_a_gap_shorter_than_the_launch_of_fio_is_refused(self):
        (early,) = re.findall(
            r'^early=(\d+)000$',
            resources.files('rally_scenarios.guest')
            .joinpath('fleet.sh')
            .read_text(),
            re.MULTILINE,
        )
        error = self.assertRaises(
            ValueError, self.run_scenario, gap_seconds=int(early) - 1
        )
        self.assertIn(f'expected at least {early}', str(error))
        self.run_scenario(gap_seconds=int(early))

    def test_a_guest_that_is_missing_is_a_caveat(self):
        self.cloud.guests_do['g003'] = lambda lines: lines[:5]
        self.cloud.guests_stop.add('g003')
        self.failure()
        self.assertEqual(
            [
                [
                    'guests missing',
                    f'general {pattern}: in 1 of 1 repeats, which'
                    f' are in no interval: g003 (lost)',
                ]
                for pattern in ('randwrite-4k', 'write-1m')
            ],
            [
                row
                for row in self.rows(tables.CAVEAT_TABLE_TITLE)
                if row[0] == 'guests missing'
            ],
        )

    def test_a_lost_guest_is_in_the_file_and_in_no_figure(self):
        self.cloud.guests_do['g003'] = lambda lines: lines[:5]
        self.cloud.guests_stop.add('g003')
        self.failure()
        found = self.result()
        self.assertEqual(
            ['complete'] * 3 + ['lost'],
            [guest.verdict for guest in found.guests],
        )
        pattern = found.tiers[1].patterns[0]
        self.assertEqual((0, None), (pattern.complete_repeats, pattern.iops))
        self.assertEqual(1, pattern.slots[0].merged.guests)
        self.assertEqual(
            ['last reported START'],
            [
                guest.reason
                for guest in pattern.slots[0].guests
                if guest.verdict == 'lost'
            ],
        )

    def test_a_guest_that_stood_still_is_in_no_figure(self):
        """By its own clock it did all at the right time."""
        self.cloud.guests_behind['g003'] = 30
        self.assertIn(
            'g003 (general): wrong clock: its clock is at least',
            self.failure(),
        )
        found = self.result()
        self.assertEqual(
            ['complete'] * 3 + ['wrong clock'],
            [guest.verdict for guest in found.guests],
        )
        self.assertEqual(1, found.tiers[1].patterns[0].slots[0].merged.guests)

    def test_a_volume_on_the_wrong_tier_is_in_no_figure(self):
        self.cloud.types_of_volumes = {
            'image-db': ['fast', 'slow'],
            'image-plain': ['slow', 'slow'],
        }
        failure = self.failure(
            fleets=[
                {
                    'tier': 'database',
                    'image': 'db',
                    'expected_volume_type': 'fast',
                },
                {'tier': 'general', 'image': 'plain'},
            ]
        )
        self.assertIn(
            'g001 (database): wrong tier: its volume has the volume'
            ' type slow, expected fast',
            failure,
        )
        found = self.result()
        self.assertEqual(
            ['complete', 'wrong tier', 'complete', 'complete'],
            [guest.verdict for guest in found.guests],
        )
        self.assertEqual('fast, slow', found.tiers[0].volume_types.value)

    def test_the_patterns_may_come_from_a_job_file(self):
        path = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'x'
        path.write_text(
            '[global]\ndirect=1\ntime_based\nsize=32m\nruntime=6\n'
            'ioengine=libaio\n[randwrite-4k]\nrw=randwrite\niodepth=16\n'
            '[write-1m]\nstonewall\nrw=write\nbs=1m\niodepth=4\n'
        )
        self.run_scenario(patterns=None, job_file=str(path))
        self.assertEqual(
            {'randwrite-4k', 'write-1m'},
            {row[1] for row in self.rows(tables.TIER_TABLE_TITLE)},
        )

    def test_boot_volumes_name_no_type_and_all_names_are_rallys(self):
        self.run_scenario()
        made = self.cloud.everything_made
        boot = [v for v in made if getattr(v, 'image', None)]
        self.assertEqual(
            [('image-db', None)] * 2 + [('image-plain', None)] * 2,
            # They are made side by side.
            sorted((volume.image, volume.volume_type) for volume in boot),
        )
        self.assertEqual(
            [['image-db']] * 2 + [['image-plain']] * 2,
            [
                [v.image for v in server.boots_from]
                for server in made
                if hasattr(server, 'boots_from')
            ],
        )
        self.assertEqual(
            [],
            [
                each.name
                for each in made
                if not each.name.startswith('s_rally_')
            ],
        )

    def test_a_guest_whose_server_stopped_is_not_waited_for(self):
        self.cloud.guests_do['g003'] = lambda lines: lines[:5]
        self.cloud.guests_stop.add('g003')
        self.assertIn(
            'g003 (general): lost: last reported START', self.failure()
        )
        self.assertEqual(
            ['complete'] * 2 + ['1 of 2 guests'] * 2,
            [row[-1] for row in self.rows(tables.TIER_TABLE_TITLE)],
        )
        self.assert_nothing_is_left()

    def test_a_guest_whose_fio_died_fails_the_run_and_not_the_others(self):
        def fio_dies(lines):
            run = lines[0].split()[2]
            return [
                line
                for line in lines
                if 'END slot=3' not in line and ' data 3 ' not in line
            ] + [
                fake_cloud.console_text.event(
                    91,
                    'FIO-FAILED slot=3 rc=1 : no space left',
                    guest='g002',
                    run=run,
                )
            ]

        self.cloud.guests_do['g002'] = fio_dies
        self.assertEqual(
            '1 of 4 guests are not complete: g002 (general): fio failed: fio'
            ' ended with 1 on write-1m: no space left',
            self.failure(),
        )
        self.assertEqual(
            ['complete', 'complete', 'complete', '1 of 2 guests'],
            [row[-1] for row in self.rows(tables.TIER_TABLE_TITLE)],
        )
        self.assertEqual(
            [('g002', 'write-1m', 'fio failed')],
            [
                (row[0], row[2], row[-2])
                for row in self.rows(tables.GUEST_TABLE_TITLE)
                if row[-2] != 'complete'
            ],
        )
        console = self.output(fleet_report.CONSOLE_TITLE)['data']
        self.assertEqual(
            [],
            [
                line
                for line in console
                if not line.startswith('g002: ') or ' data ' in line
            ],
        )
        self.assertIn('FIO-FAILED slot=3 rc=1 : no space left', console[-1])
        self.assertIn(
            'FIO-FAILED slot=3 rc=1 : no space left', self.log.output
        )
        self.assertEqual([], self.scenario._output['additive'])
        self.assert_nothing_is_left()

    def test_a_result_cut_off_on_the_console_is_named(self):
        self.cloud.guests_do['g001'] = lambda lines: [
            line for line in lines if ' data 0 2/' not in line
        ]
        self.assertIn(
            'g001 (database): damaged result: result of'
            ' randwrite-4k: 1 of 6 lines are missing',
            self.failure(),
        )
        self.assert_nothing_is_left()

    @staticmethod
    def finds_no_start_disk(lines):
        return [
            lines[0],
            fake_cloud.console_text.event(
                2,
                'FAILED : found no disk',
                guest='g000',
                run=lines[0].split()[2],
            ),
        ]

    def test_a_fleet_that_nobody_leads_has_no_figures(self):
        self.cloud.guests_do['g000'] = self.finds_no_start_disk
        for name in ('g001', 'g002', 'g003'):
            self.cloud.guests_do[name] = lambda lines: lines[:3]
        message = self.failure(timeouts_seconds={'ready': 1, 'prepare': 1})
        self.assertIn('g000 (database): broken: found no disk', message)
        self.assertIn('g003 (general): lost: last reported READY', message)
        self.assertEqual(
            [0] * 4, [row[2] for row in self.rows(tables.TIER_TABLE_TITLE)]
        )
        self.assert_nothing_is_left()

    def test_another_guest_may_lead(self):
        self.cloud.guests_do['g000'] = self.finds_no_start_disk
        self.cloud.guests_do['g001'] = lambda lines: [
            *lines[:3],
            fake_cloud.console_text.event(
                90, 'LEADING missing=0', guest='g001', run=lines[0].split()[2]
            ),
            *lines[3:],
        ]
        self.assertIn('1 of 4 guests are not complete', self.failure())
        self.assertEqual(
            [1, 1, 2, 2],
            [row[2] for row in self.rows(tables.TIER_TABLE_TITLE)],
        )
        self.assert_nothing_is_left()

    def test_all_unusable_images_are_named_before_anything_is_made(self):
        self.cloud.images_by_name = {'db': ['a', 'b']}
        message = self.failure()
        self.assertIn("no active image is called 'plain'", message)
        self.assertIn("2 active images are called 'db': a, b", message)
        self.assertEqual([], self.cloud.everything_made)

    def test_a_volume_that_no_backend_takes_is_named_and_all_is_deleted(self):
        self.cloud.failing_images = {'image-plain'}
        self.assertIn(
            'ended in status error: no backend took it', self.failure()
        )
        self.assertEqual(5, len(self.cloud.everything_made))
        self.assert_nothing_is_left()
