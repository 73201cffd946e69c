# SPDX-License-Identifier: Apache-2.0

"""What a tier promises: names, values, and what contradicts itself."""

import dataclasses
import math

import ddt
from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain.plan import plan
from tests.unit.domain import catalogs as given_catalogs

PLAIN = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats()
    | strategies.text(max_size=9),
    lambda inner: (
        strategies.lists(inner, max_size=3)
        | strategies.dictionaries(
            strategies.sampled_from(
                (
                    *expectations.NAMES,
                    'p99_ms_max',
                    'p0',
                    4,
                    'randwrite-4k',
                    None,
                )
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


def told(expected):
    return [
        f'{".".join(fault.path)}: {fault.found}; expected '
        f'{fault.expected}; {fault.remedy}'
        for fault in expectations.faults(expected)
    ]


@ddt.ddt
class ExpectationsTestCase(testtools.TestCase):
    def test_sound_expectations_have_no_fault(self):
        self.assertEqual(
            [],
            told(
                {
                    'randwrite-4k': {
                        'iops_min': 500,
                        'iops_max': 500,
                        'p99.9_ms_max': 50.5,
                        'mean_ms_max': 1,
                        'fairness_min': 1,
                        'iops_99.9_percent_of_time_min': 450,
                    },
                    '4k': {'p1_ms_max': 1},
                }
            ),
        )

    @ddt.data(
        ('x', 'found', 'a mapping of fio patterns'),
        ({'Random': {}}, "Random: pattern 'Random'", 'rename it'),
        ({4: {}}, "4: pattern '4'", 'rename it'),
        ({'a': 5}, "a: found '5'", 'a mapping of limits'),
        (
            {'a': {'iops_mni': 5}},
            "a.iops_mni: unknown limit 'iops_mni'",
            "did you mean 'iops_min'?",
        ),
        ({'a': {'p100_ms_max': 5}}, 'a.p100_ms_max: unknown', 'p99_ms_max'),
        ({'a': {'p0_ms_max': 5}}, 'a.p0_ms_max: unknown', 'p99_ms_max'),
        *(
            ({'a': {name: 5}}, f'a.{name}: unknown', 'of_time_min')
            for name in (
                'iops_100_percent_of_time_min',
                'iops_99_percent_of_time_max',
                'write_iops_99_percent_of_time_min',
                'p99_ms_99_percent_of_time_max',
            )
        ),
        (
            {'a': {'iops_99_percent_of_time_min': 0}},
            'a.iops_99_percent_of_time_min: ',
            'greater than 0',
        ),
        (
            {'a': {'iops_min': True}},
            'a.iops_min: iops_min is True',
            'greater than 0',
        ),
        (
            {'a': {'iops_min': math.inf}},
            'a.iops_min: iops_min is inf',
            'greater than 0',
        ),
        (
            {'a': {'iops_min': 0}},
            'a.iops_min: iops_min is 0',
            'greater than 0',
        ),
        (
            {'a': {'fairness_min': 1.1}},
            'a.fairness_min: fairness_min is 1.1',
            'at most 1',
        ),
        (
            {'a': {'iops_min': 9, 'iops_max': 5}},
            'a.iops_min: iops_min 9 is greater than iops_max 5',
            'fix one',
        ),
    )
    @ddt.unpack
    def test_a_fault_says_where_it_is_and_what_to_do(
        self, expected, where, advice
    ):
        (found,) = told(expected)
        self.assertIn(where, found)
        self.assertIn(advice, found)

    def test_all_faults_are_told_at_once(self):
        self.assertEqual(
            3, len(told({'a': {'x': 1, 'iops_min': -1}, 'B': {}}))
        )

    @given(PLAIN)
    def test_any_plain_value_gets_an_answer(self, value):
        for fault in expectations.faults(value):
            self.assertTrue(fault.found and fault.expected and fault.remedy)

    def test_a_limit_says_what_it_limits(self):
        self.assertEqual(
            expectations.Limit(
                metric='p99.9_ms', unit='ms', is_least=False, percent=99.9
            ),
            expectations.find('p99.9_ms_max'),
        )
        self.assertEqual(
            expectations.Limit(
                metric='guest_iops', unit='IOPS', is_least=True
            ),
            expectations.find('guest_iops_min'),
        )

    def test_a_limit_of_the_time_is_no_percentile_and_not_compared(self):
        self.assertEqual(
            expectations.Limit(
                metric='iops_99.5_percent_of_time',
                unit='IOPS',
                is_least=True,
                time_percent=99.5,
            ),
            expectations.find('iops_99.5_percent_of_time_min'),
        )
        self.assertIsNone(
            expectations.find_quantity('iops_99.5_percent_of_time')
        )

    @ddt.data(
        ('write_iops_min', 'write', 'iops', True),
        ('read_p99.9_ms_max', 'read', 'p99.9_ms', False),
        ('write_lat_longest_ms_max', 'write', 'lat_longest_ms', False),
        ('lat_mean_ms_max', None, 'lat_mean_ms', False),
    )
    @ddt.unpack
    def test_a_limit_may_be_of_reads_or_writes_alone(
        self, name, direction, metric, is_least
    ):
        found = expectations.find(name)
        self.assertEqual(
            (direction, metric, is_least, name[:-4]),
            (found.direction, found.metric, found.is_least, found.quantity),
        )
        self.assertEqual(found, expectations.find_quantity(name[:-4]))

    @ddt.data(
        'read_fairness_min',
        'write_guest_iops_min',
        'trim_iops_min',
        'read_write_iops_min',
        'write_iops',
        'lat_p99_ms_max',
        'lat_mean_ms_min',
    )
    def test_what_fio_does_not_tell_by_direction_is_no_limit(self, name):
        self.assertIsNone(expectations.find(name))
        ((where, advice),) = [
            (fault.path, fault.expected)
            for fault in expectations.faults({'mix': {name: 1}})
        ]
        self.assertEqual(('mix', name), where)
        self.assertIn('such as write_p99_ms_max', advice)

    def test_a_misspelled_direction_is_found_in_its_name(self):
        self.assertIn(
            "did you mean 'write_iops_min'?",
            told({'mix': {'wirte_iops_min': 1}})[0],
        )

    def test_limits_of_one_direction_may_not_contradict_each_other(self):
        wrong = told({'mix': {'write_iops_min': 9, 'write_iops_max': 5}})
        self.assertIn('greater than write_iops_max 5', wrong[0])
        self.assertEqual(
            [], told({'mix': {'write_iops_min': 9, 'read_iops_max': 5}})
        )

    @ddt.data('fairness', 'guest_iops', 'read_fairness', 'iops_min', '')
    def test_tiers_are_not_compared_by_it(self, name):
        self.assertIsNone(expectations.find_quantity(name))

    def test_a_promise_changes_only_what_tenants_read(self):
        def made(**changes):
            return plan.make(
                catalog=given_catalogs.of(
                    given_catalogs.tier(fallback=True, **changes)
                ),
                actual=given_catalogs.nothing(),
            ).actions

        changed = [
            (one.after, other.after)
            for one, other in zip(
                made(), made(expect={'4k': {'iops_min': 5}}), strict=True
            )
            if one != other
        ]
        ((before, after),) = changed
        self.assertEqual(
            dataclasses.replace(before, description=after.description), after
        )
        self.assertIn('4k iops at least 5', after.description)
