# SPDX-License-Identifier: Apache-2.0

"""Our matching of backends says what Cinder's own filter says."""

import types

from cinder.scheduler.filters import capabilities_filter
from hypothesis import example
from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.domain.placement import backends
import tests

NAMES = strategies.sampled_from(['a', 'b', 'capabilities'])
WORDS = strategies.sampled_from(
    [
        '',
        'a',
        'b',
        'True',
        'yes',
        '0',
        '1',
        '1.5',
        'nan',
        '<or>',
        '<in>',
        '<is>',
        '=',
        '==',
        '!=',
        '>=',
        '<=',
        's==',
        's!=',
        's<',
        's<=',
        's>',
        's>=',
    ]
)
KEYS = strategies.lists(
    NAMES | strategies.just('tiers'), min_size=1, max_size=3
).map(':'.join)
SPECS = strategies.dictionaries(
    KEYS,
    strategies.lists(WORDS, max_size=5).map(' '.join) | strategies.none(),
    max_size=3,
)
VALUES = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers(0, 2)
    | strategies.sampled_from(['', 'a', 'ab', 'True', '1', '1.5', '=']),
    lambda values: (
        strategies.lists(values, max_size=2)
        | strategies.dictionaries(NAMES, values, max_size=2)
    ),
    max_leaves=4,
)
CAPABILITIES = strategies.dictionaries(NAMES, VALUES, max_size=3)


def passes_cinder(capabilities, specs):
    """What Cinder's filter says; an error is not a backend, too."""
    try:
        return capabilities_filter.CapabilitiesFilter().backend_passes(
            types.SimpleNamespace(capabilities=capabilities),
            {'resource_type': {'extra_specs': specs}},
        )
    except (AttributeError, IndexError, TypeError):
        return False


class AsCinderTestCase(testtools.TestCase):
    @tests.examples(500)
    @given(CAPABILITIES, SPECS)
    @example({'a': 'b'}, {'a': '<or> a <or> b'})
    @example({'a': True}, {'a': '<is> True'})
    def test_both_say_the_same(self, capabilities, specs):
        mismatch = backends.find_mismatch(
            backends.Backend(name='x', capabilities=capabilities), specs
        )
        self.assertEqual(passes_cinder(capabilities, specs), mismatch is None)
