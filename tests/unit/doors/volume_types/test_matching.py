# SPDX-License-Identifier: Apache-2.0


"""Our verdicts on backends are those of Cinder's own CapabilitiesFilter.

Whatever extra specs and capabilities say, and whatever was asked before: the
verdicts that a matcher remembers must not show. Cinder's matching raises for
some values; then ours raises the same.
"""

from cinder.scheduler.filters import capabilities_filter
from cinder.scheduler import weights
import hypothesis
from hypothesis import strategies as st
import testtools

from cinder_tiers.doors.volume_types import matching
import tests
from tests.worlds import cinder_fixture

# Few names and values, so that specs and capabilities often meet.
NAMES = st.sampled_from(
    ('volume_backend_name', 'thin', 'size', 'nested', 'capabilities', '')
)
WORDS = st.sampled_from(
    ('a', 'thin', 'True', 'true', '1', '1.0', '0', 'None', '<or>', '<is>', '')
)
REQUIREMENTS = st.one_of(
    st.none(),
    WORDS,
    st.builds(
        '{} {}'.format,
        st.sampled_from(
            (
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
                '<or>',
            )
        ),
        WORDS,
    ),
    st.lists(WORDS, min_size=1, max_size=3).map(
        lambda words: ' '.join(f'<or> {word}' for word in words)
    ),
)
KEYS = st.one_of(
    NAMES,
    st.builds('capabilities:{}'.format, NAMES),
    st.builds('{}:{}'.format, st.sampled_from(('tiers', 'vendor', '')), NAMES),
    st.builds('capabilities:{}:{}'.format, NAMES, NAMES),
)
EXTRA_SPECS = st.dictionaries(KEYS, REQUIREMENTS, max_size=3)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 2),
    WORDS,
    st.sampled_from((0.0, -0.0, 1.0, float('nan'), float('inf'))),
)
CAPABILITIES = st.dictionaries(
    NAMES,
    st.recursive(
        SCALARS,
        lambda values: st.one_of(
            st.lists(values, max_size=2),
            st.lists(values, max_size=2).map(tuple),
            st.dictionaries(NAMES, values, max_size=2),
        ),
        max_leaves=4,
    ),
    max_size=4,
)


#: The interesting cases are rare.
thorough = tests.examples(200)


def outcome(verdict, *arguments):
    """What a function returns, or the class of what it raises."""
    try:
        return verdict(*arguments)
    except Exception as error:  # noqa: BLE001 - whatever Cinder raises
        return type(error)


def passes(matcher, backend):
    return bool(matcher.keep([backend]))


def verdicts(matcher, *backends):
    return [
        weight == 0.0
        for weight in matcher.weights(
            [weights.WeighedHost(backend, 0.0) for backend in backends]
        )
    ]


def cinder_passes(backend, extra_specs):
    return capabilities_filter.CapabilitiesFilter().backend_passes(
        backend, {'resource_type': {'extra_specs': extra_specs}}
    )


def add_backend(capabilities):
    return cinder_fixture.host_manager.BackendState(
        'node@any#pool', None, capabilities
    )


class MatcherTestCase(testtools.TestCase):
    def assert_same(self, matcher, backend, extra_specs):
        """Asked by a filter, and by a weigher, which may be the first."""
        expected = outcome(cinder_passes, backend, extra_specs)
        if isinstance(expected, bool):
            self.assertEqual([expected], verdicts(matcher, backend))
        self.assertEqual(
            expected,
            outcome(passes, matcher, backend),
            (extra_specs, backend.capabilities),
        )

    @thorough
    @hypothesis.given(EXTRA_SPECS, st.lists(CAPABILITIES, max_size=6))
    def test_each_verdict_is_cinders(self, extra_specs, reports):
        matcher = matching.Matcher(extra_specs)
        for report in reports:
            self.assert_same(matcher, add_backend(report), extra_specs)
        # From memory, as far as it remembers.
        for report in reports:
            self.assert_same(matcher, add_backend(report), extra_specs)

    @thorough
    @hypothesis.given(
        EXTRA_SPECS, st.lists(CAPABILITIES, min_size=2, max_size=4)
    )
    def test_a_backend_that_changes_gets_a_new_verdict(
        self, extra_specs, reports
    ):
        matcher = matching.matcher_of(extra_specs)
        backend = add_backend({})
        for report in reports:
            backend.update_capabilities(report)
            self.assert_same(matcher, backend, extra_specs)

    @thorough
    @hypothesis.given(EXTRA_SPECS, st.lists(CAPABILITIES, max_size=6))
    def test_the_order_of_the_backends_is_kept(self, extra_specs, reports):
        backends = [add_backend(report) for report in reports]
        kept = outcome(matching.Matcher(extra_specs).keep, backends)
        verdicts = [
            outcome(cinder_passes, backend, extra_specs)
            for backend in backends
        ]
        if isinstance(kept, list):
            self.assertEqual(
                [
                    backend
                    for backend, passes in zip(backends, verdicts, strict=True)
                    if passes
                ],
                kept,
            )
        else:
            self.assertIn(kept, verdicts)

    def test_equal_values_of_several_types(self):
        """1, True and '1' are three values to Cinder, and 1.0 is a fourth."""
        for required in ('1', 'True', '<is> True', '<in> 1', 's== 1', '== 1'):
            specs = {'thin': required}
            matcher = matching.Matcher(specs)
            for _ in range(2):
                for value in (1, True, '1', 1.0, 'True', [1], [True], ['1']):
                    self.assert_same(
                        matcher, add_backend({'thin': value}), specs
                    )

    def test_a_bare_capabilities_looks_at_all_of_them(self):
        specs = {'capabilities': '<in> thin'}
        matcher = matching.Matcher(specs)
        for report in ({}, {'thin': 'a'}, {'capabilities': 'a'}, {}):
            self.assert_same(matcher, add_backend(report), specs)

    def test_what_cinder_cannot_match_is_reached_when_cinder_reaches_it(self):
        backend = add_backend({'thin': 'b', 'size': 1})
        for specs in (
            {'thin': 'a', 'size': '<in> a'},
            {'size': '<in> a', 'thin': 'a'},
        ):
            self.assert_same(matching.matcher_of(specs), backend, specs)

    def test_more_values_than_are_remembered(self):
        specs = {'a': 's>= 5', 'b': '<in> 7'}
        matcher = matching.Matcher(specs)
        backends = [
            add_backend({'a': str(number), 'b': str(number)})
            for number in range(10100)
        ]
        for backend in backends:
            matcher.keep([backend])
        for backend in backends[::500]:
            self.assert_same(matcher, backend, specs)

    def test_a_backend_without_capabilities(self):
        for specs in ({}, {'tiers:name': 'a'}, {'thin': 'a'}):
            backend = add_backend({})
            self.assert_same(matching.Matcher(specs), backend, specs)
            backend.capabilities = None
            self.assert_same(matching.Matcher(specs), backend, specs)


class BackendNameTestCase(testtools.TestCase):
    """Backends whose attributes are there, too, as in cinder-scheduler."""

    def backend(self, name, attribute=None):
        backend = add_backend({'volume_backend_name': name})
        backend.volume_backend_name = attribute or name
        return backend

    def setUp(self):
        super().setUp()
        self.matcher = matching.Matcher({'volume_backend_name': 'own'})
        self.own, self.other = self.backend('own'), self.backend('other')
        self.matcher.keep([self.own, self.other])

    def test_the_name_decides(self):
        backends = [self.other, self.own, self.other, self.own]
        self.assertEqual([self.own, self.own], self.matcher.keep(backends))

    def test_one_that_is_no_longer_own_is_never_kept(self):
        renamed = self.backend('other', attribute='own')
        for backends in ([renamed], [renamed, self.own]):
            self.assertEqual(
                [one for one in backends if one is self.own],
                self.matcher.keep(backends),
            )

    def test_one_that_has_just_become_own_is_kept_if_it_is_the_only_one(self):
        renamed = self.backend('own', attribute='other')
        self.assertEqual([renamed], self.matcher.keep([renamed, self.other]))

    def test_a_weigher_is_told_of_each(self):
        new = self.backend('new')
        for backends in (
            (self.other, self.own, self.other),
            (self.own, new, self.other),
        ):
            self.assertEqual(
                [one is self.own for one in backends],
                verdicts(self.matcher, *backends),
            )

    def test_a_name_never_seen_is_looked_at(self):
        self.assertEqual(
            [self.own], self.matcher.keep([self.backend('new'), self.own])
        )
