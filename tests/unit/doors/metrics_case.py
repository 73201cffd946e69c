# SPDX-License-Identifier: Apache-2.0


"""What the tests of the metrics share."""

import os
import pathlib
import threading
import time

from cinder import context as cinder_context
import fixtures
from oslo_config import cfg
from prometheus_client import parser
import testtools

from cinder_tiers import conf
from cinder_tiers.domain.placement import decision
from cinder_tiers.doors import metrics
from cinder_tiers.doors import record

OWN = f'cinder-tiers-api-{os.getpid()}.prom'
PID = str(os.getpid())
THREAD = 'cinder-tiers-metrics'


def decided(verdict=decision.RequestVerdict.TIER, *rules, tier=None):
    return decision.PlacementDecision(
        verdict=verdict,
        tier=tier and decision.AppliedTier(name=tier),
        reasons=tuple(decision.Reason(rule=rule, tier=tier) for rule in rules),
    )


GENERAL = decided(
    decision.RequestVerdict.TIER,
    decision.Rule.NO_IMAGE,
    decision.Rule.FALLBACK,
    tier='general',
)


def record_of(decided=GENERAL, **values):
    return record.DecisionRecord(
        **{
            'door': 'api',
            'decision': decided,
            'project': 'project',
            'volume_id': None,
            'image_id': None,
            'volume_type_id': None,
            'error': None,
            'seconds': 0.0002,
            'context': cinder_context.RequestContext(
                user_id='user', project_id='project', is_admin=False
            ),
            **values,
        }
    )


def metrics_of(directory, door='api', look=metrics.Gauges, **options):
    configuration = cfg.ConfigOpts()
    group = conf.register(configuration)
    configuration([])
    for name, value in {
        'metrics_directory': directory,
        'metrics_interval_seconds': 3600,
        **options,
    }.items():
        configuration.set_override(name, value, group=conf.GROUP)
    return metrics.Metrics(door, group, look=look)


class MetricsTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.log = self.useFixture(
            # Threads of other tests may log meanwhile.
            fixtures.FakeLogger(
                name=metrics.__name__, format='%(levelname)s %(message)s'
            )
        )

    def metrics(self, **options):
        return metrics_of(str(self.directory), **options)

    def written(self, *records, counted=None):
        """The families in the file, once some records were counted."""
        counted = counted or self.metrics()
        for each in records:
            counted.observe(each)
        counted.write()
        return self.read()

    def read(self, name=OWN):
        text = (self.directory / name).read_text('utf-8')
        return {
            family.name: family
            for family in parser.text_string_to_metric_families(text)
        }

    def samples(self, families, name):
        """{label values without those of each sample: value}"""
        found = {}
        for sample in families[f'cinder_tiers_{name}'].samples:
            labels = dict(sample.labels)
            self.assertEqual(
                ('api', PID), (labels.pop('door'), labels.pop('pid'))
            )
            found[tuple(labels[key] for key in sorted(labels))] = sample.value
        return found

    def wait_for(self, is_so):
        deadline = time.monotonic() + 60
        while not is_so():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def threads(self):
        return [
            thread for thread in threading.enumerate() if thread.name == THREAD
        ]
