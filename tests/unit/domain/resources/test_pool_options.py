# SPDX-License-Identifier: Apache-2.0


import ddt
import hypothesis
from hypothesis import strategies as st
import testtools

from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.state import action as actions
from tests.unit.domain import catalogs as given

VALUES = st.one_of(
    st.text(max_size=8), st.integers(), st.floats(), st.booleans()
)
NEW_POOL = {
    'flags_names': 'hashpspool',
    'fast_read': False,
    'options': {},
    'quota_max_bytes': 0,
    'quota_max_objects': 0,
}


@ddt.ddt
class NormalTestCase(testtools.TestCase):
    @ddt.data(
        ('compression_required_ratio', 0.70, '0.7'),
        ('compression_min_blob_size', 8192, '8192'),
        ('compression_min_blob_size', 8192.0, '8192'),
        ('target_size_bytes', 2**50, str(2**50)),
        ('target_size_ratio', 0, 'unset'),
        ('csum_type', 'unset', 'unset'),
        ('nodelete', True, 'true'),
        ('quota_max_bytes', 0, '0'),
        ('quota_max_bytes', 2**60, str(2**60)),
        ('recovery_priority', -10, '-10'),
        ('recovery_priority', 10, '10'),
    )
    @ddt.unpack
    def test_a_value_has_one_form(self, name, value, form):
        self.assertEqual(form, pool_options.normal(name, value))

    @ddt.data(
        ('compression_mode', 'agressive'),
        ('compression_mode', 1),
        ('nodelete', 1),
        ('nodelete', 'true'),
        ('nodelete', 'unset'),
        ('quota_max_bytes', 'unset'),
        ('quota_max_bytes', 0.5),
        ('quota_max_bytes', -1),
        ('target_size_ratio', -0.1),
        ('target_size_ratio', float('nan')),
        ('target_size_ratio', float('inf')),
        ('target_size_ratio', '0.1'),
        ('recovery_priority', True),
        ('recovery_priority', -11),
        ('recovery_priority', 11),
        ('recovery_priority', 0.5),
        ('pg_num_min', 1.5),
        ('csum_max_block', 4096.5),
    )
    @ddt.unpack
    def test_what_is_no_value_is_told(self, name, value):
        error = self.assertRaises(ValueError, pool_options.normal, name, value)
        self.assertNotEqual('', str(error))

    @hypothesis.given(st.sampled_from(sorted(pool_options.KNOWN)), VALUES)
    def test_any_value_has_a_form_or_is_told(self, name, value):
        try:
            self.assertIsInstance(pool_options.normal(name, value), str)
        except ValueError:
            hypothesis.event('told')


@ddt.ddt
class PlannedTestCase(testtools.TestCase):
    @ddt.data('unset', 0, 0.0, 8, 8.0)
    def test_a_new_pool_that_ceph_chooses_pg_num_of(self, least):
        """Its placement groups are counted."""
        catalog = given.of(
            given.tier(
                rbd=given.rbd(pg_num=None, options={'pg_num_min': least})
            )
        )
        (made,) = (
            action
            for action in plans.make(
                catalog=catalog, actual=given.nothing(given.empty_cluster())
            ).actions
            if action.key.kind is actions.Kind.POOL
        )
        self.assertIsNone(made.refusal)
        self.assertEqual(
            str(int(least)) if least not in ('unset', 0) else 'unset',
            made.after.options['pg_num_min'],
        )


@ddt.ddt
class ObservedTestCase(testtools.TestCase):
    def test_a_new_pool_has_none(self):
        self.assertEqual(
            {
                name: '0'
                if name in pool_options.QUOTAS
                else 'false'
                if name in pool_options.BOOLEANS
                else 'unset'
                for name in pool_options.KNOWN
            },
            pool_options.observed(NEW_POOL),
        )

    @ddt.data(
        (
            {'options': {'compression_required_ratio': 0.69999999999999996}},
            'compression_required_ratio',
            0.7,
        ),
        ({'options': {'csum_type': 3}}, 'csum_type', 'xxhash64'),
        (
            {'options': {'scrub_min_interval': 86400.5}},
            'scrub_min_interval',
            86400.5,
        ),
        ({'flags_names': 'hashpspool,nodeep-scrub'}, 'nodeep-scrub', True),
        ({'fast_read': True}, 'fast_read', True),
        ({'quota_max_bytes': 10**12}, 'quota_max_bytes', 10**12),
    )
    @ddt.unpack
    def test_what_ceph_shows_is_what_was_declared(self, shown, name, declared):
        self.assertEqual(
            pool_options.normal(name, declared),
            pool_options.observed({**NEW_POOL, **shown})[name],
        )


class CommandTestCase(testtools.TestCase):
    def test_a_number_is_removed_by_zero_and_a_word_by_unset(self):
        self.assertEqual(
            (
                'osd pool set',
                {'pool': 'p', 'var': 'scrub_priority', 'val': '0'},
            ),
            pool_options.command_of('p', 'scrub_priority', 'unset'),
        )
        self.assertEqual(
            (
                'osd pool set',
                {'pool': 'p', 'var': 'csum_type', 'val': 'unset'},
            ),
            pool_options.command_of('p', 'csum_type', 'unset'),
        )

    def test_a_quota_has_a_command_of_its_own(self):
        self.assertEqual(
            (
                'osd pool set-quota',
                {'pool': 'p', 'field': 'max_bytes', 'val': '5'},
            ),
            pool_options.command_of('p', 'quota_max_bytes', '5'),
        )
