# SPDX-License-Identifier: Apache-2.0

"""Every task file at every size: Rally takes it, guests can be told it."""

import base64
import csv
import functools
import io
import json
import pathlib
import random

import ddt
from rally import exceptions
from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from cinder_tiers.figures.fleet import duration
from cinder_tiers.figures.profile import profile as named_profile
from cinder_tiers.figures.protocol import frames
from rally_scenarios.guest import orders
from rally_scenarios.plugins.fleet import arguments as fleet_arguments
from rally_scenarios.plugins.fleet import run_plan
from tests.unit.figures import recorded
from tests.unit.guest import console_text
from tests.unit.rally import test_tasks

REPOSITORY = pathlib.Path(__file__).parents[3]
TASKS = REPOSITORY / 'rally_scenarios' / 'tasks'
DURATIONS = REPOSITORY / 'doc' / 'source' / 'user' / 'tasks.csv'
NAMES = (
    'quick',
    'scaling',
    'meyer2016',
    'lin2013',
    'idcf2014',
    'ornl2013',
    'poat2016',
    'curve',
    'fault-idcf2014',
)
SIZES = tuple(size.value for size in named_profile.ProfileSize)
ALL = tuple((name, size) for name in NAMES for size in SIZES)
# nova/virt/libvirt/driver.py
MAX_CONSOLE_BYTES = 100 * 1024
# From one reading of a console to the next one of the same guest.
READING_SECONDS = 0.5


def render(name, **args):
    return test_tasks.render(file=TASKS / f'{name}.yaml', **args)


def scenarios(config):
    """Arguments of the scenario of each workload."""
    return [
        workload['scenario']['CinderTiers.fleet_fio']
        for subtask in config['subtasks']
        for workload in subtask['workloads']
    ]


def plans(name, **args):
    return [
        run_plan.planned(fleet_arguments.FleetArguments(**each))
        for each in scenarios(render(name, **args))
    ]


@functools.cache
def plans_of_size(name, size):
    """Half the tests of this module ask for each of them."""
    return tuple(plans(name, size=size))


def largest_result(runtime_seconds):
    """A result of reads and writes with all bins from 2 us to 2 s.

    The slowest disks and the fastest caches together would leave about that.
    """
    dice = random.Random(1)
    document = json.loads(recorded.text('randwrite-4k'))
    job = document['jobs'][0]
    for direction in ('read', 'write'):
        job[direction]['clat_ns']['bins'] = {
            str((64 + step) << octave): dice.randint(1, 10**5)
            for octave in range(5, 25)
            for step in range(64)
        }
    series = ''.join(
        f'{10**12 + 1000 * second + dice.randint(0, 9)},'
        f' {dice.randint(10**4, 10**6)}, {direction}\n'
        for second in range(runtime_seconds)
        for direction in (0, 1)
    )
    return json.dumps(document, indent=2).encode() + (
        b'\n@series\n' + series.encode()
    )


@functools.cache
def largest_chars(runtime_seconds):
    """How long it is on a console, from which it is heard whole."""
    output = largest_result(runtime_seconds)
    lines = console_text.result(999, output, run='0' * 16)
    heard = frames.GuestConsole(run='0' * 16, guest='g000')
    heard.feed(''.join(lines))
    if heard.result(999) != output:
        raise AssertionError(f'not heard as told: {runtime_seconds} s')
    return sum(map(len, lines))


@ddt.ddt
class TaskSizesTest(testtools.TestCase):
    def assert_refused(self, name, wrong):
        """By its template, or by what Rally asks of the result."""
        self.assertRaises(
            (KeyError, exceptions.InvalidTaskConfig),
            lambda: test_tasks.check(render(name, **wrong)),
        )

    @ddt.data(*ALL)
    @ddt.unpack
    def test_rally_takes_it(self, name, size):
        test_tasks.check(render(name, size=size))

    @ddt.data(*NAMES)
    def test_the_default_is_the_lab(self, name):
        self.assertEqual(render(name, size='lab'), render(name))

    @ddt.data(*NAMES)
    def test_another_size_is_refused(self, name):
        def start():
            test_tasks.check(render(name, size='huge'))

        self.assertRaises(KeyError, start)

    def test_each_has_the_guests_that_it_is_for(self):
        found = {
            (name, size): max(
                plan.guests for plan in plans_of_size(name, size)
            )
            for name, size in ALL
        }
        self.assertEqual(
            {
                ('quick', 'smoke'): 6,
                ('quick', 'lab'): 9,
                ('quick', 'paper'): 30,
                ('scaling', 'smoke'): 4,
                ('scaling', 'lab'): 12,
                ('scaling', 'paper'): 100,
                ('meyer2016', 'smoke'): 4,
                ('meyer2016', 'lab'): 12,
                ('meyer2016', 'paper'): 12,
                ('lin2013', 'smoke'): 4,
                ('lin2013', 'lab'): 8,
                ('lin2013', 'paper'): 8,
                ('idcf2014', 'smoke'): 4,
                ('idcf2014', 'lab'): 12,
                ('idcf2014', 'paper'): 100,
                ('ornl2013', 'smoke'): 4,
                ('ornl2013', 'lab'): 8,
                ('ornl2013', 'paper'): 8,
                ('poat2016', 'smoke'): 4,
                ('poat2016', 'lab'): 10,
                ('poat2016', 'paper'): 10,
                ('curve', 'smoke'): 2,
                ('curve', 'lab'): 3,
                ('curve', 'paper'): 10,
                ('fault-idcf2014', 'smoke'): 2,
                ('fault-idcf2014', 'lab'): 4,
                ('fault-idcf2014', 'paper'): 10,
            },
            found,
        )

    def test_papers_have_their_numbers(self):
        (meyer,) = plans('meyer2016', size='paper')
        self.assertEqual(16 * 9, len(meyer.slots.slots))
        (idcf,) = plans('idcf2014', size='paper')
        self.assertEqual(
            {1, 10, 20, 50, 100}, {slot.guests for slot in idcf.slots.slots}
        )
        self.assertEqual(
            [
                'lin2013-iodepth',
                'lin2013-block-size',
                'lin2013-parallel',
                'lin2013-stability',
            ],
            [plan.chosen.name for plan in plans('lin2013', size='paper')],
        )
        rados, ior = plans('ornl2013', size='paper')
        self.assertEqual(
            {('4m', 32)},
            {(each.bs, each.iodepth) for each in rados.chosen.patterns},
        )
        self.assertEqual(
            (8, {1, 2, 4, 8}),
            (rados.guests, {slot.guests for slot in ior.slots.slots}),
        )
        drives, threads, writers = plans('poat2016', size='paper')
        self.assertEqual(
            ({1, 10}, {1, 5, 10, 15, 20}, {1, 10}),
            tuple(
                {each.numjobs for each in plan.chosen.patterns}
                for plan in (drives, threads, writers)
            ),
        )
        self.assertEqual(
            {1, 10}, {slot.guests for slot in writers.slots.slots}
        )
        self.assertEqual(
            {1, 4, 16, 64, 256, 1024},
            {
                each.size_mib // each.numjobs
                for each in writers.chosen.patterns
            },
        )

    @ddt.data(*ALL)
    @ddt.unpack
    def test_every_guest_can_be_told_its_orders(self, name, size):
        for plan in plans_of_size(name, size):
            fleet = orders.FleetOrders(
                run='0' * 32,
                guests=plan.guests,
                schedule=plan.slots,
                profile=plan.chosen.method,
                start_serial='0' * 36,
                prep_seconds=99999,
                ready_seconds=99999,
            )
            for number in {0, plan.guests - 1}:
                text = orders.script(
                    fleet,
                    number=number,
                    tier=plan.slots.slots[0].tier,
                    position=number,
                    environment=orders.GuestEnvironment(),
                )
                self.assertLess(len(base64.b64encode(text.encode())), 65536)

    @ddt.data(*ALL)
    @ddt.unpack
    def test_a_console_keeps_results_until_they_are_read(self, name, size):
        for plan in plans_of_size(name, size):
            chars = largest_chars(plan.chosen.method.runtime_seconds)
            away_seconds = 2 + READING_SECONDS * plan.guests
            slots = 1 + -(
                -away_seconds // min(slot.seconds for slot in plan.slots.slots)
            )
            self.assertLess(slots * chars, MAX_CONSOLE_BYTES)

    def test_the_disks_of_the_lab_are_not_taken_for_those_of_a_large_cloud(
        self,
    ):
        for size, has_disks in (('lab', True), ('paper', False)):
            (fleet,) = scenarios(render('idcf2014', size=size))[0]['fleets']
            self.assertEqual(has_disks, 'disks' in fleet, size)
        (fleet,) = scenarios(render('idcf2014', size='paper', disks=54))[0][
            'fleets'
        ]
        self.assertEqual(54, fleet['disks']['disks'])

    def test_the_estimate_from_the_disks_may_be_left_out(self):
        config = render('idcf2014', disks=0)
        test_tasks.check(config)
        self.assertNotIn('disks', scenarios(config)[0]['fleets'][0])

    def test_a_curve_has_a_pattern_for_each_step(self):
        (plan,) = plans('curve', size='lab')
        self.assertEqual(
            [
                f'{name}.r{step}'
                for name in ('randwrite-4k', 'randread-4k')
                for step in (8, 16, 24, 32, 40, 48)
            ],
            [each.name for each in plan.chosen.patterns],
        )
        config = render('curve', load_steps=[5, 7], guests_per_tier=1)
        test_tasks.check(config)
        (plan,) = plans('curve', load_steps=[5, 7], guests_per_tier=1)
        self.assertEqual(
            [5, 7] * 2, [each.rate_iops for each in plan.chosen.patterns]
        )

    @ddt.data(
        {'load_steps': [4, 4]},
        {'load_steps': []},
        {'load_steps': [0, 1]},
        {'patterns': [{'name': 'x', 'rw': 'randrw', 'bs': '4k'}]},
        {'patterns': [{'name': 'x', 'rw': 'read', 'bssplit': '4k/100'}]},
    )
    def test_rally_refuses_a_curve(self, wrong):
        self.assert_refused('curve', wrong)

    def test_arguments_override_the_size(self):
        config = render(
            'scaling',
            size='smoke',
            guest_steps=[2, 5],
            repeats=1,
            fleets=[
                {'tier': 'a', 'image': "it's"},
                {'tier': 'b', 'image': 'y'},
            ],
            start_volume_type='shared',
        )
        test_tasks.check(config)
        (args,) = scenarios(config)
        self.assertEqual(
            ([2, 5], "it's", 'shared'),
            (
                args['guest_steps'],
                args['fleets'][0]['image'],
                args['start_volume_type'],
            ),
        )
        for name in ('meyer2016', 'lin2013', 'idcf2014'):
            config = render(name, repeats=1)
            test_tasks.check(config)
            self.assertEqual(
                {1}, {each['repeats'] for each in scenarios(config)}
            )
        self.assertEqual(
            ['lin2013-parallel'],
            [
                each['profile']
                for each in scenarios(render('lin2013', parts=['parallel']))
            ],
        )

    def test_one_client_gets_more_and_more_volumes(self):
        config = render('lin2013', parts=['one-client'], size='paper')
        test_tasks.check(config)
        self.assertEqual(
            [
                ('lin2013-parallel', 1, 'data', 'image', volumes)
                for volumes in (1, 2, 4, 8)
            ],
            [
                (
                    each['profile'],
                    each['guests_per_tier'],
                    each['volume']['kind'],
                    each['volume']['source'],
                    each['volume']['per_guest'],
                )
                for each in scenarios(config)
            ],
        )
        blank = {'kind': 'data', 'source': 'blank'}
        self.assertEqual(
            [{**blank, 'per_guest': 3}],
            [
                each['volume']
                for each in scenarios(
                    render(
                        'lin2013',
                        parts=['one-client'],
                        volume_steps=[3],
                        volume=blank,
                    )
                )
            ],
        )

    @ddt.data(
        *(
            (name, size)
            for name in ('lin2013', 'idcf2014', 'ornl2013', 'poat2016')
            for size in SIZES
        )
    )
    @ddt.unpack
    def test_what_a_paper_found_can_be_claimed(self, name, size):
        """Rally takes each claim: it is about patterns and tiers that run."""
        config = render(
            name,
            size=size,
            check_claims=True,
            fleets=[
                {'tier': 'two', 'image': 'x'},
                {'tier': 'three', 'image': 'y'},
            ],
        )
        test_tasks.check(config)
        claimed = [
            workload['sla']['cinder_tiers']
            for subtask in config['subtasks']
            for workload in subtask['workloads']
            if 'cinder_tiers' in workload['sla']
        ]
        self.assertEqual(
            {'lin2013': 3, 'idcf2014': 1, 'poat2016': 2}.get(
                name, len(config['subtasks'])
            ),
            len(claimed),
        )
        self.assertEqual({'pass'}, {each['when_unsure'] for each in claimed})
        (first, *_rest) = render(name)['subtasks'][0]['workloads']
        self.assertNotIn('cinder_tiers', first['sla'])

    def test_copies_are_compared_with_a_tier_of_each_number(self):
        config = render(
            'idcf2014',
            fleets=[
                {'tier': 'two', 'image': 'x', 'replicas': 2},
                {'tier': 'three', 'image': 'y', 'replicas': 3},
            ],
        )
        self.assertEqual(
            [('two', 2), ('three', 3)],
            [
                (each['tier'], each['disks']['replicas'])
                for each in scenarios(config)[0]['fleets']
            ],
        )

    @ddt.data(
        {'disks': -1},
        {'iops_per_disk': 0},
        {'replicas': 0},
        {'disk_writes_per_write': 0.5},
        {'guest_steps': [4, 1]},
        {'guest_steps': [0]},
        {'tier_mib_per_second': 0},
    )
    def test_rally_refuses(self, wrong):
        self.assert_refused('idcf2014', wrong)


def _row(name, size):
    found = plans_of_size(name, size)
    args = scenarios(render(name, size=size))
    volumes_gib = max(
        plan.guests * each['volume_size_gib']
        for plan, each in zip(found, args, strict=True)
    )
    in_flight = max(
        pattern.in_flight_bytes
        for plan in found
        for pattern in plan.chosen.patterns
    )
    return [
        f'``{name}``',
        f'``{size}``',
        str(max(plan.guests for plan in found)),
        str(sum(len(plan.slots.slots) for plan in found)),
        duration.in_words(sum(plan.expected.seconds for plan in found)),
        str(volumes_gib),
        str(-(-in_flight // 1024**2)),
    ]


def table():
    """The file that the documentation shows."""
    text = io.StringIO()
    csv.writer(text, lineterminator='\n').writerows(
        _row(name, size)
        for name in NAMES
        for size in ('smoke', 'lab', 'paper')
    )
    return text.getvalue()


class DocumentationTest(testtools.TestCase):
    def test_the_durations_in_the_documentation_are_those_of_the_files(self):
        # Those of layers, which need a host file: test_layers_task.
        of_fleets = ''.join(
            line
            for line in DURATIONS.read_text().splitlines(keepends=True)
            if not line.startswith('``layers``')
        )
        self.assertEqual(table(), of_fleets, table())
