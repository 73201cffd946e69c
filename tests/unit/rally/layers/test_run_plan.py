# SPDX-License-Identifier: Apache-2.0

"""The task file of layers, and what Rally is told before anything runs."""

import json
import pathlib

import ddt
import fixtures
from rally import exceptions
from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from cinder_tiers.figures.fleet import duration
from rally_scenarios.plugins.fleet import run_plan
from rally_scenarios.plugins.layers import run_plan as layers_run_plan
import rally_scenarios.plugins.layers.scenario  # noqa: F401
from tests.unit.rally import test_task_sizes
from tests.unit.rally import test_tasks

TASK = test_tasks.QUICK.with_name('layers.yaml')
SIZES = ('smoke', 'lab', 'paper')
PROGRAMS = ('fio', 'ceph', 'rados', 'rbd', 'wipefs')


def render(**args):
    return test_tasks.render(file=TASK, **args)


def arguments(**args):
    return test_tasks.workload(render(**args))['scenario'][
        'CinderTiers.layers'
    ]


def asked(**args):
    return layers_run_plan.LayersArguments(**arguments(**args))


def row(size):
    """The line of the documentation's table."""
    args = asked(size=size)
    plan = layers_run_plan.planned(args)
    guests = args.guests
    in_flight = max(each.in_flight_bytes for each in plan.patterns) // guests
    return ','.join(
        map(
            str,
            [
                '``layers``',
                f'``{size}``',
                guests,
                len(plan.patterns) * len(plan.chosen),
                duration.in_words(
                    layers_run_plan.expected_seconds(plan, args)
                ),
                guests * args.volume_size_gib,
                in_flight // 1024**2,
            ],
        )
    )


class HostCase(testtools.TestCase):
    """A host that has all programs; nothing of them but that is asked."""

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for name in PROGRAMS:
            program = self.folder / 'bin' / name
            program.parent.mkdir(exist_ok=True)
            program.write_text('#!/bin/sh\n')
            program.chmod(0o755)
        self.useFixture(
            fixtures.EnvironmentVariable('PATH', str(self.folder / 'bin'))
        )
        self.useFixture(fixtures.EnvironmentVariable('HOME', str(self.folder)))
        (self.folder / 'ceph.conf').touch()
        self.describe()

    def describe(self, **changed):
        host = self.folder / 'host.yaml'
        host.write_text(
            json.dumps(
                {
                    'version': 1,
                    'ceph': {'conf': str(self.folder / 'ceph.conf')},
                    'raw': [
                        {
                            'device_class': 'hdd',
                            'device': '/dev/sdx',
                            'may_be_overwritten': True,
                        }
                    ],
                    **changed,
                }
            )
        )
        self.useFixture(
            fixtures.EnvironmentVariable(
                layers_run_plan.HOST_VARIABLE, str(host)
            )
        )

    def refused(self, **args):
        return str(
            self.assertRaises(
                exceptions.InvalidTaskConfig, test_tasks.check, render(**args)
            )
        )


@ddt.ddt
class TaskTest(HostCase):
    @ddt.data(*SIZES)
    def test_rally_takes_it(self, size):
        test_tasks.check(render(size=size))

    def test_the_default_is_the_lab(self):
        self.assertEqual(render(size='lab'), render())

    def test_another_size_is_refused(self):
        error = self.assertRaises(KeyError, render, size='huge')
        self.assertIn("size: found 'huge'", str(error))

    @ddt.data(*SIZES)
    def test_guests_have_as_much_in_flight_as_each_layer_below(self, size):
        args = asked(size=size)
        plan = layers_run_plan.planned(args)
        fleet = run_plan.planned(
            layers_run_plan.to_fleet_arguments(plan, args)
        )
        self.assertEqual(
            [each.iodepth for each in plan.patterns],
            [each.iodepth * fleet.guests for each in fleet.chosen.patterns],
        )
        self.assertEqual(
            plan.method.region_mib, fleet.chosen.method.region_mib
        )

    def test_guests_of_a_member_start_by_their_clocks(self):
        args = asked(size='smoke', member=True)
        fleet = layers_run_plan.to_fleet_arguments(
            layers_run_plan.planned(args), args
        )
        self.assertEqual({'by': 'clock'}, fleet.start)

    def test_the_paper_has_its_numbers(self):
        """8 processes, each with 32 writes of 4 MB in flight."""
        plan = layers_run_plan.planned(asked(size='paper'))
        (large,) = (each for each in plan.patterns if each.name == 'write-4m')
        self.assertEqual(
            (8, 32), (plan.processes, large.iodepth / plan.processes)
        )

    def test_smoke_is_over_in_four_minutes(self):
        args = asked(size='smoke')
        self.assertLess(
            layers_run_plan.expected_seconds(
                layers_run_plan.planned(args), args
            ),
            240,
        )

    def test_the_durations_in_the_documentation_are_those_of_the_file(self):
        found = [
            line
            for line in test_task_sizes.DURATIONS.read_text().splitlines()
            if line.startswith('``layers``')
        ]
        self.assertEqual([row(size) for size in SIZES], found)

    def test_layers_may_be_left_out(self):
        (self.folder / 'host.yaml').unlink()
        self.useFixture(
            fixtures.EnvironmentVariable(layers_run_plan.HOST_VARIABLE)
        )
        test_tasks.check(render(layers=['guest']))
        config = render(layers=['guest', 'rados'], host='')
        self.assertIn(
            '/etc/ceph/ceph.conf is not there',
            str(
                self.assertRaises(
                    exceptions.InvalidTaskConfig, test_tasks.check, config
                )
            ),
        )

    def test_without_guests_no_cloud_resource_is_made(self):
        config = render(layers=['rados'])
        test_tasks.check(config)
        workload = test_tasks.workload(config)
        self.assertEqual({'users'}, set(workload['contexts']))
        self.assertNotIn('flavor', arguments(layers=['rados']))


@ddt.ddt
class RefusedTest(HostCase):
    def test_without_a_host_file_the_raw_layer_cannot_be_had(self):
        self.useFixture(
            fixtures.EnvironmentVariable(layers_run_plan.HOST_VARIABLE)
        )
        told = self.refused()
        self.assertIn(
            str(self.folder / '.rally/cinder-tiers' / 'layers-host.yaml'), told
        )
        self.assertIn("leave raw out of 'layers'", told)

    def test_a_host_file_that_is_named_must_be_there(self):
        told = self.refused(host='/nowhere.yaml', layers=['rados'])
        self.assertIn('/nowhere.yaml', told)

    def test_a_host_file_that_is_no_yaml(self):
        (self.folder / 'host.yaml').write_text('a: [')
        self.assertIn('cannot read it', self.refused())

    def test_a_host_file_with_a_typing_error(self):
        self.describe(raww=[])
        self.assertIn('raww', self.refused())

    @ddt.data(('fio', 'package fio'), ('rados', 'package ceph-common'))
    @ddt.unpack
    def test_a_missing_program_is_told_with_its_package(self, name, told):
        (self.folder / 'bin' / name).unlink()
        self.assertIn(told, self.refused())

    def test_a_fio_without_librbd(self):
        (self.folder / 'bin' / 'fio').write_text('#!/bin/sh\nexit 1\n')
        self.assertIn('no engine rbd', self.refused())
        test_tasks.check(render(layers=['raw', 'osd', 'rados', 'guest']))

    @ddt.data(
        ({'processes': 3}, 'cannot be shared by 3 processes'),
        ({'guests': 5}, 'cannot be shared by 5 guests'),
        ({'region_mib': 2}, 'does not fit a region of 2 MiB'),
    )
    @ddt.unpack
    def test_what_does_not_fit(self, wrong, told):
        self.assertIn(told, self.refused(**wrong))

    @ddt.data(
        # The same as all layers, of which guests lack image and flavor.
        ({'layers': []}, 'no image is given'),
        ({'layers': ['rbd']}, 'rbd'),
        ({'runtime_seconds': 0}, 'runtime_seconds'),
    )
    @ddt.unpack
    def test_the_scenario_refuses_what_the_task_file_would(self, wrong, told):
        config = render(layers=['raw', 'osd', 'rados', 'librbd'])
        test_tasks.workload(config)['scenario']['CinderTiers.layers'].update(
            wrong
        )
        error = self.assertRaises(
            exceptions.InvalidTaskConfig, test_tasks.check, config
        )
        self.assertIn(told, str(error))

    def test_blocks_too_large_for_osd_bench(self):
        config = render()
        args = test_tasks.workload(config)['scenario']['CinderTiers.layers']
        args['region_mib'] = 512
        args['patterns'][0]['bs'] = '128m'
        self.assertIn(
            'OSD bench takes 64m at most',
            str(
                self.assertRaises(
                    exceptions.InvalidTaskConfig, test_tasks.check, config
                )
            ),
        )
