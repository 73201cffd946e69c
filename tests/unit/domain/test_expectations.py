# SPDX-License-Identifier: Apache-2.0

"""What a tier promises: names, values, and what contradicts itself."""

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
                quantity='p99.9_ms', unit='ms', is_least=False, percent=99.9
            ),
            expectations.find('p99.9_ms_max'),
        )
        self.assertEqual(
            expectations.Limit(
                quantity='guest_iops', unit='IOPS', is_least=True
            ),
            expectations.find('guest_iops_min'),
        )

    def test_a_promise_changes_nothing_in_the_plan(self):
        def made(**changes):
            return plan.make(
                catalog=given_catalogs.of(
                    given_catalogs.tier(fallback=True, **changes)
                ),
                actual=given_catalogs.nothing(),
            )

        self.assertEqual(made(), made(expect={'4k': {'iops_min': 5}}))
