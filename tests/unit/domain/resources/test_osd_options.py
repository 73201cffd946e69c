# SPDX-License-Identifier: Apache-2.0

import ddt
import hypothesis
from hypothesis import strategies as st
import testtools

from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.state import ceph as ceph_state
from tests.unit.domain import catalogs as given

KINDS = ('str', 'uint', 'int', 'size', 'secs', 'float', 'bool')


def schema(kind, words=()):
    return ceph_state.OptionSchema(name='any', kind=kind, words=words)


@ddt.ddt
class NormalTestCase(testtools.TestCase):
    @ddt.data(
        ('size', '64M', '67108864'),
        ('size', '64MiB', '67108864'),
        ('size', '4k', '4096'),
        ('size', 0, '0'),
        ('size', '4Gi', '4294967296'),
        ('size', '4 GiB', '4294967296'),
        ('size', '4GB', '4294967296'),
        ('size', '12B', '12'),
        ('secs', 5, '5'),
        ('secs', '5s', '5'),
        ('secs', '1m 30s', '90'),
        ('secs', '2 hours', '7200'),
        ('millisecs', 250, '250'),
        ('float', 0.10, '0.1'),
        ('float', '5', '5'),
        ('float', 5, '5'),
        ('float', '0.69999999999999996', '0.7'),
        ('uint', '007', '7'),
        ('int', -1, '-1'),
        ('bool', True, 'true'),
        ('bool', 'False', 'false'),
        ('bool', 1, 'true'),
        ('bool', 'off', 'false'),
        ('str', 'wpq', 'wpq'),
    )
    @ddt.unpack
    def test_a_value_has_one_form(self, kind, value, form):
        self.assertEqual(form, osd_options.normal(schema(kind), value))

    @ddt.data(
        ('size', '64 apples'),
        ('size', True),
        ('size', 1.5),
        ('size', -1),
        ('size', '4i'),
        ('size', '4Gx'),
        ('size', ''),
        ('secs', '5 parsecs'),
        ('secs', '5 5'),
        ('secs', '1.5s'),
        ('secs', -5),
        ('secs', ''),
        ('secs', True),
        ('millisecs', '5s'),
        ('uint', -1),
        ('uint', '4K'),
        ('uint', 1.5),
        ('int', 'x'),
        ('float', 'nan'),
        ('float', 'inf'),
        ('float', 'x'),
        ('bool', 2),
        ('bool', 'perhaps'),
    )
    @ddt.unpack
    def test_what_is_no_value_is_told(self, kind, value):
        error = self.assertRaises(
            ValueError, osd_options.normal, schema(kind), value
        )
        self.assertNotEqual('', str(error))

    def test_a_word_is_one_of_those_that_ceph_knows(self):
        queue = schema('str', words=('wpq', 'mclock_scheduler'))
        self.assertEqual('wpq', osd_options.normal(queue, 'wpq'))
        error = self.assertRaises(
            ValueError, osd_options.normal, queue, 'mclock'
        )
        self.assertEqual('one of wpq, mclock_scheduler', str(error))

    @hypothesis.given(
        st.sampled_from(KINDS),
        st.one_of(
            st.text(max_size=8), st.integers(), st.floats(), st.booleans()
        ),
    )
    # Its form would be above all numbers.
    @hypothesis.example('float', 1.7976931348623151e308)
    def test_a_form_is_its_own_form(self, kind, value):
        try:
            form = osd_options.normal(schema(kind), value)
        except ValueError:
            return
        self.assertEqual(form, osd_options.normal(schema(kind), form))


@ddt.ddt
class ReasonTestCase(testtools.TestCase):
    @ddt.data(
        ({'mon': '5'}, 'a more specific section takes precedence'),
        ({'mon': '5', 'file': '3'}, 'ceph.conf on the host of the OSD'),
        ({'mon': '5', 'cmdline': '3', 'file': '2'}, 'the command line'),
        ({'mon': '5', 'override': '3'}, 'in the running OSD'),
        ({}, 'has not received it'),
    )
    @ddt.unpack
    def test_the_layer_that_wins_is_named(self, layers, reason):
        self.assertIn(
            reason,
            osd_options.reason('osd_max_scrubs', layers, op_queue='wpq'),
        )

    @ddt.data(
        ('osd_max_scrubs', 'in the running OSD'),
        ('osd_max_backfills', 'osd_mclock_override_recovery_settings: true'),
        ('osd_recovery_sleep_hdd', 'set osd_op_queue to wpq'),
    )
    @ddt.unpack
    def test_what_mclock_determines_is_told_from_other_overrides(
        self, name, remedy
    ):
        self.assertIn(
            remedy,
            osd_options.reason(
                name,
                {'mon': '5', 'override': '1'},
                op_queue='mclock_scheduler',
            ),
        )


@ddt.ddt
class EndangersDataTestCase(testtools.TestCase):
    @ddt.data(
        ('osd_find_best_info_ignore_history_les', True),
        ('bluestore_debug_omit_block_device_write', True),
        ('bluestore_ignore_data_csum', True),
        ('osd_debug_drop_ping_probability', True),
        ('bdev_inject_crash', True),
        ('filestore_debug_inject_read_err', True),
        # How much is logged, what a disk is taken for, and what tunes.
        ('debug_osd', False),
        ('bluestore_debug_enforce_settings', False),
        ('osd_op_num_shards', False),
        ('bluestore_csum_type', False),
    )
    @ddt.unpack
    def test_no_tier_may_have_what_loses_data(self, name, is_refused):
        tier = given.tier(rbd=given.rbd(osd_options={name: 'true'}))
        catalog = given.of(tier)
        found = list(osd_options.check(catalog))
        self.assertEqual(is_refused, bool(found), found)
        for one in found:
            self.assertIn(name, one.found)
