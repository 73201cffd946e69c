# SPDX-License-Identifier: Apache-2.0

"""The usage of tiers as metrics of Prometheus."""

import os
import pathlib
import tempfile

from prometheus_client import parser
import yaml

from tests.unit.loop.usage import test_usage_command


PAGE = pathlib.Path(__file__).parents[4] / 'doc/source/admin/usage.rst'


class MetricsTestCase(test_usage_command.UsageCommandCase):
    def test_metrics_hold_hostile_names(self):
        self.add('database', test_usage_command.BETA, 10)
        folder = self.enterContext(tempfile.TemporaryDirectory())
        path = os.path.join(folder, 'usage.prom')
        self.rows(self.usage('--metrics', path), 'Tier')
        text = pathlib.Path(path).read_text()
        self.assertNotIn('\x1b', text)
        samples = {
            sample.name.removeprefix('cinder_tiers_usage_'): sample
            for family in parser.text_string_to_metric_families(text)
            for sample in family.samples
        }
        self.assertEqual(
            {
                'tier': 'database',
                'volume_type': 'database',
                'project_id': test_usage_command.BETA,
                'project_name': 'be"ta\\n\\x1b[2J\\',
            },
            samples['volumes'].labels,
        )
        self.assertEqual(
            (1, 10 * 2**30, 500, 1.15, 'EUR'),
            (
                samples['volumes'].value,
                samples['size_bytes'].value,
                samples['iops_limit'].value,
                samples['price_per_month'].value,
                samples['price_per_month'].labels['currency'],
            ),
        )
        self.assertIn('timestamp_seconds', samples)
        # CloudKitty groups by labels, also by that of the project.
        example = PAGE.read_text('utf-8').partition('.. code-block:: yaml')[2]
        rated = yaml.safe_load(example.partition('\n\nCreate ')[0])['metrics']
        self.assertEqual(2, len(rated))
        for name, metric in rated.items():
            labels = samples[name.removeprefix('cinder_tiers_usage_')].labels
            self.assertLessEqual({*metric['groupby'], 'project_id'}, {*labels})
        ran = self.usage('--metrics', os.path.join(folder, 'no', 'x.prom'))
        self.assertEqual((1, ''), (ran.status, ran.stdout))
        self.assertIn('name another file with --metrics', ran.stderr)
