# SPDX-License-Identifier: Apache-2.0

"""The scenario of layers: guests of a cloud in memory, tables of all layers.

Layers below guests need Ceph: see the functional tests.
"""

import json

import jsonschema
from rally.common.objects import task as task_objects
from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from rally_scenarios.bench.layers import model
from rally_scenarios.plugins.layers import process
from rally_scenarios.plugins.layers import report as layers_report
from rally_scenarios.plugins.layers import scenario as layers_scenario
from tests.unit.bench import test_layers
from tests.unit.rally import fleet_fio_case

OUTPUT_SCHEMA = task_objects.TASK_SCHEMA['definitions']['output']


class GuestsAloneTest(fleet_fio_case.FleetFioCase):
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


class ReportTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.judged = model.judge(
            [
                test_layers.measurement('raw', 160),
                test_layers.measurement('osd', 480),
                test_layers.measurement('rados', 150),
                test_layers.measurement('librbd', None),
                test_layers.measurement('guest', 60),
            ],
            test_layers.THREE_COPIES,
        )

    def test_one_table_says_which_layer_loses(self):
        table, chart = layers_report.outputs('general', self.judged)
        jsonschema.Draft4Validator(OUTPUT_SCHEMA).validate(
            {'complete': [table, chart], 'additive': []}
        )
        rows = {row[0]: row for row in table['data']['rows']}
        self.assertEqual(
            [
                'raw',
                'randwrite-4k',
                16,
                160,
                0.62,
                '-',
                '-',
                '-',
                160.0,
                'the lowest layer',
            ],
            rows['raw'],
        )
        self.assertEqual(
            [31.2, 33.3, 160.0, '94 % of what layer osd allows'],
            rows['rados'][-4:],
        )
        self.assertEqual('not measured: told', rows['librbd'][-1])
        self.assertEqual(
            [
                40.0,
                100.0,
                160.0,
                '40 % of what layer rados allows; loses most',
            ],
            rows['guest'][-4:],
        )

    def test_the_chart_is_of_what_the_disks_allow(self):
        _table, chart = layers_report.outputs('general', self.judged)
        self.assertEqual(
            [['randwrite-4k', [[1, 100.0], [2, 100.0], [3, 93.8], [5, 37.5]]]],
            chart['data'],
        )
        self.assertIn('3 rados', chart['description'])

    def test_without_a_raw_disk_there_is_no_chart(self):
        found = layers_report.outputs(
            'general',
            model.judge(
                [test_layers.measurement('rados', 150)],
                test_layers.THREE_COPIES,
            ),
        )
        self.assertEqual(
            [layers_report.TITLE], [each['title'] for each in found]
        )
