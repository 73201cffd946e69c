# SPDX-License-Identifier: Apache-2.0

"""The scenario of layers: guests of a cloud in memory, tables of all layers.

Layers below guests need Ceph: see the functional tests.
"""

import json
import pathlib

import fixtures
import jsonschema
from novaclient import exceptions as nova_exceptions
from rally.common.objects import task as task_objects
from rally import plugins

plugins.load()  # rally_openstack cannot be imported before

from rally_scenarios.plugins.layers import process
from rally_scenarios.plugins.layers import report as layers_report
from rally_scenarios.plugins.layers import scenario as layers_scenario
from tests.unit.figures.layers import test_ceph_output
from tests.unit.rally import fleet_fio_case

PATTERNS = fleet_fio_case.PATTERNS

OUTPUT_SCHEMA = task_objects.TASK_SCHEMA['definitions']['output']


class LayersCase(fleet_fio_case.FleetFioCase):
    # Guests have the order of the layers below.
    turns = {}
    args = {
        'tier': 'database',
        'pool': 'tier-database',
        'layers': ['guest'],
        'image': 'db',
        'flavor': '1',
        'guests': 2,
        'listen_every_seconds': 0,
        'patterns': fleet_fio_case.PATTERNS,
    }

    def setUp(self):
        super().setUp()
        fleet = self.scenario
        self.scenario = layers_scenario.Layers(
            context=fleet.context, clients=self.cloud.clients()
        )

    def rows(self):
        return {
            row[1]: dict(zip(layers_report.COLUMNS, row, strict=True))
            for each in self.scenario._output['complete']
            if each['title'] == layers_report.TITLE
            for row in each['data']['rows']
        }

    def file(self):
        (file,) = self.results.glob('layers-*.json')
        return json.loads(file.read_text())


class GuestsAloneTest(LayersCase):
    def test_their_figures_are_those_of_the_fleet(self):
        self.run_scenario()
        row = self.rows()['randwrite-4k']
        self.assertEqual(
            ('guest', 16, 1000.5, 'the lowest layer'),
            (row['layer'], row['in flight'], row['IOPS'], row['verdict']),
        )
        self.assertGreater(row['p99 ms'], 0)
        jsonschema.Draft4Validator(OUTPUT_SCHEMA).validate(
            self.scenario._output
        )
        self.assertEqual({}, self.cloud.servers_by_id)

    def test_the_file_names_the_result_of_the_guests(self):
        self.run_scenario()
        found = self.file()
        self.assertEqual(
            (1, 'database', None),
            (found['version'], found['tier'], found['pool']),
        )
        (guests,) = (
            path
            for path in self.results.glob('*.json')
            if not path.name.startswith('layers-')
        )
        self.assertEqual(str(guests), found['guests_result'])
        self.assertEqual(
            [('guest', 'randwrite-4k'), ('guest', 'write-1m')],
            [
                (
                    each['measured']['layer'],
                    each['measured']['pattern']['name'],
                )
                for each in found['layers']
            ],
        )

    def test_guests_that_did_not_do_it_fail_the_iteration_after_the_table(
        self,
    ):
        error = self.assertRaises(
            process.LayerError, self.run_scenario, image='no-such-image'
        )
        self.assertIn('no-such-image', str(error))
        row = self.rows()['randwrite-4k']
        self.assertIn('not measured: no active image', row['verdict'])
        self.assertEqual('-', row['IOPS'])
        self.assertIsNone(self.file()['guests_result'])


class LayersBelowTest(LayersCase):
    """OSD bench below guests, by tools that play what real ones have said."""

    args = {
        **LayersCase.args,
        'layers': ['osd', 'guest'],
        'pool': 'tier-general',
        'patterns': [PATTERNS[0]],
        'settle_seconds': 0,
        'runtime_seconds': 1,
        'ramp_seconds': 0,
    }

    def setUp(self):
        super().setUp()
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.tools = folder / 'tools'
        self.tools.mkdir()
        (folder / 'ceph.conf').touch()
        (folder / 'host.yaml').write_text(
            f'version: 1\nceph: {{conf: {folder / "ceph.conf"}}}\n'
        )
        self.args = {**self.args, 'host': str(folder / 'host.yaml')}
        answers = {
            '"osd pool ls detail"': 'pools',
            '"osd tree"': 'tree',
            '"pg ls-by-pool"': 'groups',
            'bench': 'osd-bench-4k',
        }
        for name in answers.values():
            (folder / name).write_bytes(test_ceph_output.recorded(name))
        self.tool(
            'ceph',
            'case "$*" in\n'
            + ''.join(
                f'*{words}*) cat {folder / name} ;;\n'
                for words, name in answers.items()
            )
            + 'esac',
        )
        self.tool('rbd', '')
        self.tool('rados', '')
        self.useFixture(
            fixtures.EnvironmentVariable('PATH', f'{self.tools}:/usr/bin:/bin')
        )

    def tool(self, name, script):
        (self.tools / name).write_text(f'#!/bin/sh\n{script}\n')
        (self.tools / name).chmod(0o755)

    def measured(self):
        """{layer: whether it has figures} of the file."""
        return {
            each['measured']['layer']: each['measured']['figures'] is not None
            for each in self.file()['layers']
        }

    def test_what_cannot_be_removed_costs_no_figure(self):
        self.tool(
            'rbd',
            'case "$*" in\n'
            '*" ls "*) sed -n "s/.*\\(cinder-tiers-layers-[0-9a-f]*\\).*/'
            f'\\1/p" {self.results}/layers-unfinished-* ;;\n'
            '*) echo image still has watchers >&2; exit 16 ;;\n'
            'esac',
        )
        error = self.assertRaises(
            process.LayerError, self.run_scenario, layers=['osd']
        )
        self.assertIn('image still has watchers', str(error))
        (note,) = self.results.glob('layers-unfinished-*')
        note.unlink()
        self.assertEqual({'osd': True}, self.measured())
        self.assertTrue(self.rows())

    def test_what_ends_the_measurements_ends_it_though_nothing_is_removed(
        self,
    ):
        self.tool('rbd', 'echo no answer >&2; exit 110')
        # What no clock can wait for.
        error = self.assertRaises(
            process.LayerError, self.run_scenario, settle_seconds=-1
        )
        self.assertIn('no answer', str(error))
        self.assertIsInstance(error.__context__, ValueError)
        self.assertEqual([], self.cloud.everything_made)

    def test_a_quota_of_guests_costs_no_figure_of_the_layers_below(self):
        self.cloud.most_servers = 1
        self.assertRaises(nova_exceptions.Forbidden, self.run_scenario)
        self.assertEqual({'osd': True, 'guest': False}, self.measured())
        self.assertIn('Quota exceeded', json.dumps(self.file()))
        self.assertEqual({}, self.cloud.servers_by_id)
