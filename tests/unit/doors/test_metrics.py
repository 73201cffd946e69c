# SPDX-License-Identifier: Apache-2.0


"""What a door counts."""

import pathlib
import threading

import ddt

from cinder_tiers.domain.placement import decision
from cinder_tiers.doors import metrics
from tests.unit.doors import metrics_case

decided = metrics_case.decided
record_of = metrics_case.record_of


@ddt.ddt
class CountsTestCase(metrics_case.MetricsTestCase):
    def test_each_metric_has_a_type_and_a_text(self):
        families = self.written(record_of())
        self.assertEqual(
            {
                'cinder_tiers_decisions': 'counter',
                'cinder_tiers_errors': 'counter',
                'cinder_tiers_stale_images': 'counter',
                'cinder_tiers_decision_seconds': 'histogram',
                'cinder_tiers_glance_circuit_open': 'gauge',
                'cinder_tiers_applied_tiers': 'gauge',
                'cinder_tiers_applied_problems': 'gauge',
            },
            {name: family.type for name, family in families.items()},
        )
        for family in families.values():
            self.assertTrue(family.documentation.endswith('.'), family.name)

    def test_the_documentation_has_each_metric(self):
        page = (
            pathlib.Path(__file__).parents[3] / 'doc/source/admin/metrics.rst'
        ).read_text('utf-8')
        for family in self.written(record_of()).values():
            self.assertIn(
                f'``{family.name}{"_total" * (family.type == "counter")}', page
            )

    def test_decisions_by_verdict_rule_and_tier(self):
        fixed = decided(decision.RequestVerdict.NOT_OURS, decision.Rule.FIXED)
        lost = decided(
            decision.RequestVerdict.UNDECIDED,
            decision.Rule.NO_TIER_TAG,
            decision.Rule.NO_FALLBACK,
        )
        families = self.written(
            record_of(), record_of(), record_of(fixed), record_of(lost)
        )
        self.assertEqual(
            {
                ('fallback', 'general', 'tier'): 2.0,
                ('fixed', '', 'not_ours'): 1.0,
                ('no_fallback', '', 'undecided'): 1.0,
            },
            self.samples(families, 'decisions'),
        )

    @ddt.data(
        (('TAG', 'OVERFLOW'), 'tag'),
        (('TAG', 'OVERFLOW_MISSING'), 'tag'),
        (('TAG', 'TAG', 'LOWER_PRIORITY', 'OVERFLOW'), 'tag'),
        (('TAG', 'NO_ACCESS', 'FALLBACK', 'OVERFLOW'), 'fallback'),
        (('TAG', 'NO_ACCESS', 'ACCESS_NEEDED'), 'access_needed'),
        (('ERROR', 'NO_TIERS'), 'no_tiers'),
        (('OVERFLOW',), ''),
        ((), ''),
    )
    @ddt.unpack
    def test_the_rule_is_the_one_that_decided(self, rules, rule):
        families = self.written(
            record_of(
                decided(
                    decision.RequestVerdict.REFUSED,
                    *(decision.Rule[name] for name in rules),
                )
            )
        )
        self.assertEqual(
            {(rule, '', 'refused'): 1.0}, self.samples(families, 'decisions')
        )

    def test_errors_by_kind_those_of_clients_apart(self):
        families = self.written(
            record_of(),
            record_of(error='text', error_kind='KeyError'),
            record_of(error='text'),
            *[
                record_of(
                    error='text',
                    error_kind='ImageRefused',
                    is_clients_doing=True,
                )
            ]
            * 2,
        )
        self.assertEqual(
            {('KeyError',): 1.0, ('other',): 1.0, ('client',): 2.0},
            self.samples(families, 'errors'),
        )

    def test_old_answers_about_images(self):
        families = self.written(record_of())
        self.assertEqual({(): 0.0}, self.samples(families, 'stale_images'))
        families = self.written(
            record_of(image_age_s=0.0),
            record_of(),
            record_of(image_age_s=60.0),
        )
        self.assertEqual({(): 2.0}, self.samples(families, 'stale_images'))

    def test_the_time_is_a_histogram(self):
        families = self.written(
            *[
                record_of(seconds=seconds)
                for seconds in (0.0, 0.0001, 0.00011, 0.3, 10.0, 11.0)
            ]
        )
        samples = families['cinder_tiers_decision_seconds'].samples
        buckets = {
            sample.labels['le']: sample.value
            for sample in samples
            if sample.name.endswith('_bucket')
        }
        self.assertEqual(
            [2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 5, 6],
            list(buckets.values()),
        )
        self.assertEqual(
            ['0.0001', '10.0', '+Inf'],
            [list(buckets)[index] for index in (0, -2, -1)],
        )
        self.assertEqual(sorted(buckets, key=float), list(buckets))
        count, total = (
            next(
                sample.value
                for sample in samples
                if sample.name.endswith(f'_{which}')
            )
            for which in ('count', 'sum')
        )
        self.assertEqual(6, count)
        self.assertAlmostEqual(21.30021, total)

    def test_how_it_is_with_the_door(self):
        families = self.written(
            record_of(),
            counted=self.metrics(
                look=lambda: metrics.Gauges(
                    is_circuit_open=True, applied_tiers=5, applied_problems=2
                )
            ),
        )
        self.assertEqual(
            [{(): 1.0}, {(): 5.0}, {(): 2.0}],
            [
                self.samples(families, name)
                for name in (
                    'glance_circuit_open',
                    'applied_tiers',
                    'applied_problems',
                )
            ],
        )

    def test_there_are_not_too_many_series(self):
        records = [
            record_of(
                decided(
                    decision.RequestVerdict.TIER,
                    decision.Rule.TAG,
                    tier=f'tier{number}',
                ),
                error='any',
                error_kind=f'Error{number}',
            )
            for number in range(1500)
        ]
        families = self.written(*records, *records)
        tiers = self.samples(families, 'decisions')
        self.assertEqual(1001, len(tiers))
        self.assertEqual(1000.0, tiers['tag', 'other', 'tier'])
        self.assertEqual(2.0, tiers['tag', 'tier999', 'tier'])
        kinds = self.samples(families, 'errors')
        self.assertEqual((101, 2800.0), (len(kinds), kinds['other',]))

    def test_a_name_of_any_characters_is_one_label(self):
        name = 'a"b\\c\nd{}=,é'
        families = self.written(
            record_of(
                decided(
                    decision.RequestVerdict.TIER, decision.Rule.TAG, tier=name
                )
            )
        )
        self.assertEqual(
            {('tag', name, 'tier'): 1.0}, self.samples(families, 'decisions')
        )

    def test_none_is_lost_of_many_threads(self):
        counted = self.metrics()
        threads = [
            threading.Thread(
                target=lambda: [
                    counted.observe(record_of()) for _ in range(500)
                ]
            )
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(
            {('fallback', 'general', 'tier'): 4000.0},
            self.samples(self.written(counted=counted), 'decisions'),
        )
