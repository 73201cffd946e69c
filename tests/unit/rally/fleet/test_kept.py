# SPDX-License-Identifier: Apache-2.0

"""A fleet that several runs use, against a cloud in memory."""

import copy
import re

import fixtures

from rally import plugins

plugins.load()  # rally_openstack cannot be imported before

from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.compare import circumstances
from rally_scenarios.plugins.fleet import arguments as fleet_arguments
from rally_scenarios.plugins.fleet import report as fleet_report
from rally_scenarios.plugins.fleet import run
from rally_scenarios.plugins.fleet import run_plan
from rally_scenarios.plugins import servers
from tests.unit.rally.fleet import test_run
from tests.unit.rally import fleet_fio_case

ARGS = {
    **test_run.ARGS,
    'start_volume_type': 'c_rally_start',
    'keep': {'name': 'nightly'},
}
LAST = {'keep': {'name': 'nightly', 'last': True}}


class KeptFleetTest(fleet_fio_case.FleetFioCase):
    args = ARGS

    def setUp(self):
        super().setUp()
        self.scenario.context['config'] = {'existing_users': [{'user': 'u'}]}

    def results_in_order(self):
        return sorted(
            (
                run_result.read(path.read_bytes())
                for path in self.results.glob('*.json')
            ),
            key=lambda result: result.run_of_fleet,
        )

    def made(self):
        """Ids of servers and volumes that are there."""
        return set(self.cloud.servers_by_id), set(self.cloud.volumes_by_id)

    def failure(self, **args):
        return str(
            self.assertRaises(servers.FleetError, self.run_scenario, **args)
        )

    def test_the_next_run_uses_the_same_guests(self):
        self.run_scenario()
        first = self.made()
        self.assertEqual((4, 5), tuple(map(len, first)))
        (path,) = self.results.glob('*.kept-fleet')
        # With what it has, commands can be run in the guests.
        self.assertEqual(0o600, path.stat().st_mode & 0o777)
        (rows,) = (
            each['data']['rows']
            for each in self.scenario._output['complete']
            if each['title'] == fleet_report.COST_TITLE
        )
        self.assertEqual(
            {'delete': '-'},
            {part: taken for part, _told, taken in rows if part == 'delete'},
        )
        self.run_scenario(patterns=fleet_fio_case.PATTERNS[:1])
        self.assertEqual(first, self.made())
        self.assertEqual({}, self.cloud.image_contents)
        one, two = self.results_in_order()
        self.assertEqual((1, 2), (one.run_of_fleet, two.run_of_fleet))
        self.assertNotEqual(one.run, two.run)
        self.assertEqual(
            ['randwrite-4k'],
            [each.pattern for each in two.tiers[0].patterns],
        )
        self.assertEqual({'complete'}, {guest.verdict for guest in two.guests})
        # It says nothing of runs that make what they need.
        self.assertIsNotNone(one.cost)
        self.assertIsNone(two.cost)
        # Nor does it say how long deleting takes, which it did not do.
        self.assertIsNone(one.cost.delete_s)
        self.assertIn(
            'guests: made for the run in the first, kept from a former run in'
            ' the second',
            map(
                str,
                circumstances.of_runs(
                    one, two, {tier.tier: tier.tier for tier in one.tiers}
                ),
            ),
        )

    def test_the_time_that_is_told_is_that_of_what_is_left_to_do(self):
        def told(**args):
            log = self.useFixture(fixtures.FakeLogger(run.LOG.name))
            self.run_scenario(**args)
            return re.search(
                r'volumes (\d+) s, boot (\d+) s, prepare (\d+) s,.*'
                r' delete (\d+) s',
                log.output,
            ).groups()

        self.assertNotIn('0', told())
        self.assertEqual(('0',) * 4, told())
        volumes, boot, prepare, delete = told(region_mib=64)
        self.assertEqual(('0', '0', '0'), (volumes, boot, delete))
        self.assertNotEqual('0', prepare)
        volumes, boot, _prepare, delete = told(**LAST)
        self.assertEqual(('0', '0'), (volumes, boot))
        self.assertNotEqual('0', delete)

    def test_orders_that_leave_no_room_to_keep_guests_are_refused(self):
        def errors(repeats, **args):
            given = {
                **ARGS,
                'profile': 'meyer2016',
                'patterns': None,
                'repeats': repeats,
                'volume_size_gib': 20,
                **args,
            }
            try:
                run_plan.check_orders(
                    run_plan.planned(fleet_arguments.FleetArguments(**given)),
                    keep=given['keep'] is not None,
                )
            except ValueError as error:
                return str(error)
            return ''

        least = next(repeats for repeats in range(2, 40) if errors(repeats))
        self.assertIn('order fewer slots', errors(least))
        self.assertEqual('', errors(least, keep=None))

    def test_the_last_run_deletes_it(self):
        self.run_scenario()
        self.run_scenario(**LAST)
        self.assertEqual((set(), set()), self.made())
        self.assertEqual([], list(self.results.glob('*.kept-fleet')))
        # Then there is none, and one is made.
        self.run_scenario()
        self.assertEqual(1, self.results_in_order()[1].run_of_fleet)

    def test_names_are_none_that_rally_cleans_up(self):
        self.run_scenario()
        for made in (
            *self.cloud.servers_by_id.values(),
            *self.cloud.volumes_by_id.values(),
            *self.cloud.groups_by_id.values(),
        ):
            self.assertTrue(
                made.name.startswith('cinder-tiers-kept-nightly-'), made.name
            )
        before = len(self.cloud.everything_made)
        self.run_scenario()
        image, disk = self.cloud.everything_made[before:]
        for made in (image, disk):
            self.assertTrue(made.name.startswith('s_rally_'), made.name)

    def test_regions_are_filled_once_unless_more_is_wanted(self):
        self.run_scenario(region_mib=32)
        for region_mib, fills in ((32, False), (16, False), (64, True)):
            self.run_scenario(region_mib=region_mib)
            server = next(iter(self.cloud.servers_by_id.values()))
            self.assertEqual(fills, bool(server.orders['CT_PREP']), region_mib)

    def test_a_fleet_with_a_guest_that_failed_is_not_kept(self):
        self.cloud.guests_do['g001'] = lambda lines: lines[:4]
        self.cloud.guests_stop.add('g001')
        self.failure()
        self.assertEqual((set(), set()), self.made())
        self.assertEqual([], list(self.results.glob('*.kept-fleet')))

    def test_what_cannot_be_deleted_is_told_and_not_forgotten(self):
        self.run_scenario()
        self.cloud.deletes_unanswered = 1
        self.run_scenario(**LAST)
        # One that is not deleted does not keep the other servers.
        self.assertEqual(1, len(self.cloud.servers_by_id))
        for text in (
            'Rally will not clean it up',
            'no answer',
            'whose names are cinder-tiers-kept-nightly- and 12 hexadecimal',
        ):
            self.assertIn(text, self.log.output)
        self.assertNotIn('the cleanup of Rally', self.log.output)
        self.assertIn('gone, or belongs to another project', self.failure())

    def test_a_fleet_that_cannot_be_remembered_is_deleted(self):
        """No run would find its guests, and no cleanup knows them."""
        for runs_before in (0, 1):
            for _ in range(runs_before):
                self.run_scenario()
            obstacle = self.results / 'nightly.partial'
            obstacle.mkdir(parents=True)
            self.run_scenario()
            self.assertEqual((set(), set()), self.made())
            self.assertEqual([], list(self.results.glob('*.kept-fleet')))
            obstacle.rmdir()
        self.assertIn(
            'Fleet nightly cannot be remembered, and is deleted',
            self.log.output,
        )

    def test_a_server_that_stopped_meanwhile_ends_the_fleet(self):
        self.run_scenario()
        server = next(iter(self.cloud.servers_by_id.values()))
        server.status = 'SHUTOFF'
        self.assertIn(f'{server.id}) is SHUTOFF', self.failure())
        self.assertEqual((set(), set()), self.made())
        self.run_scenario()

    def test_a_fleet_of_another_project_is_left_alone(self):
        self.run_scenario()
        there = copy.copy(self.cloud.servers_by_id)
        self.cloud.servers_by_id.clear()
        self.assertIn('gone, or belongs to another project', self.failure())
        self.cloud.servers_by_id.update(there)
        self.assertEqual(5, len(self.cloud.volumes_by_id))
        self.run_scenario()
        self.assertEqual(2, self.results_in_order()[1].run_of_fleet)

    def test_a_task_that_asks_for_another_fleet_is_refused(self):
        self.run_scenario()
        before = self.made()
        told = self.failure(flavor='2', volume_size_gib=2)
        for text in (
            'flavor: it has 1, the task asks for 2',
            'boot volumes: it has 1 GiB, the task asks for 2 GiB',
            'whose names are cinder-tiers-kept-nightly- and 12 hexadecimal',
        ):
            self.assertIn(text, told)
        self.assertEqual(before, self.made())

    def test_a_project_that_rally_deletes_cannot_keep_one(self):
        self.scenario.context['config'] = {'users': {'tenants': 1}}
        self.assertIn('existing users', self.failure())
        self.assertEqual((set(), set()), self.made())

    def test_a_file_that_is_none_is_told(self):
        self.run_scenario()
        (path,) = self.results.glob('*.kept-fleet')
        for text in ('{', '{"version": 1}', '[]'):
            path.write_text(text)
            self.assertIn('not the file of a kept fleet', self.failure())

    def test_what_cannot_be_kept_is_refused_before_anything_is_made(self):
        found = str(
            self.assertRaises(
                ValueError,
                run_plan.planned,
                fleet_arguments.FleetArguments(
                    **{
                        **ARGS,
                        'keep': {'name': '../x'},
                        'start': {'by': 'clock'},
                        'start_volume_type': None,
                        'stop_when': {'interval_percent': 5},
                        'transport': {'kind': 'ssh', 'user': 'u'},
                    }
                ),
            )
        )
        for text in (
            "name '../x'",
            'a start by clock',
            'no start_volume_type',
            'stop_when',
            'transport',
        ):
            self.assertIn(text, found)
