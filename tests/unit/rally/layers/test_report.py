# SPDX-License-Identifier: Apache-2.0

"""Layers as a table and a chart of Rally's report."""

import jsonschema
from rally import plugins
import testtools

plugins.load()  # rally_openstack cannot be imported before

from cinder_tiers.figures.layers import model
from rally_scenarios.plugins.layers import report as layers_report
from tests.unit.figures.layers import test_model
from tests.unit.rally.layers import test_scenario


class ReportTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.judged = model.judge(
            [
                test_model.measurement('raw', 160),
                test_model.measurement('osd', 480),
                test_model.measurement('rados', 150),
                test_model.measurement('librbd', None),
                test_model.measurement('guest', 60),
            ],
            test_model.THREE_COPIES,
        )

    def test_one_table_says_which_layer_loses(self):
        table, chart = layers_report.outputs('general', self.judged)
        jsonschema.Draft4Validator(test_scenario.OUTPUT_SCHEMA).validate(
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
                [test_model.measurement('rados', 150)],
                test_model.THREE_COPIES,
            ),
        )
        self.assertEqual(
            [layers_report.TITLE], [each['title'] for each in found]
        )
