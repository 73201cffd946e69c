# SPDX-License-Identifier: Apache-2.0

"""Limits of RBD images and hints of compression, of all clients of a pool."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.audit import practice
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.resources import rbd_options
from cinder_tiers.domain.validation import catalog as catalog_rules
from cinder_tiers.domain.validation import rules
from cinder_tiers.domain.validation import warnings
from tests.unit.domain import catalogs as given
from tests.unit.domain.plan import test_plan

LIMIT, BURST = 'rbd_qos_iops_limit', 'rbd_qos_iops_burst'
SECONDS = 'rbd_qos_iops_burst_seconds'


def texts(options):
    """Each fault in one line."""
    return [': '.join(one) for one in rbd_options.faults(options)]


@ddt.ddt
class FaultsTestCase(testtools.TestCase):
    @ddt.data(
        {},
        {'rbd_cache': False, 'rbd_qos': 'of another name'},
        {LIMIT: 500},
        # A limit that is taken back.
        {LIMIT: 0, BURST: 0},
        {LIMIT: 500, BURST: 500, SECONDS: 1},
        {LIMIT: '500', BURST: 500},
        {'rbd_qos_write_bps_limit': 2**40, 'rbd_qos_schedule_tick_min': 10},
        {'rbd_qos_exclude_ops': 'read, discard'},
        {'rbd_compression_hint': 'none'},
        {'rbd_compression_hint': 'incompressible'},
    )
    def test_what_librbd_can_use(self, options):
        self.assertEqual([], texts(options))

    @ddt.data(
        # As a well-known page spells it.
        ('rbd_qos_iops_read_limit', 5, "did you mean 'rbd_qos_read_iops_"),
        ('rbd_qos_iops_max', 5, 'librbd has no option'),
        (LIMIT, -1, 'an integer of 0 or more: operations in a second, 0 for'),
        (LIMIT, 1.5, 'an integer of 0 or more'),
        (LIMIT, True, 'an integer of 0 or more'),
        # Digits to Python, and not to Ceph.
        (LIMIT, '٥٠٠', 'an integer of 0 or more'),
        (LIMIT, 2**63, 'an integer of 0 or more, at most 9223372036854775807'),
        (LIMIT, '9' * 999, 'at most 9223372036854775807'),
        ('rbd_qos_bps_limit', '10M', 'bytes in a second, 0 for no limit'),
        ('rbd_qos_read_bps_limit', '-1', 'bytes in a second'),
        ('rbd_qos_schedule_tick_min', 0, 'of 1 or more: milliseconds'),
        ('rbd_qos_schedule_tick_min', '50ms', 'of 1 or more: milliseconds'),
        ('rbd_qos_exclude_ops', 'reads', "did you mean 'read'?"),
        ('rbd_compression_hint', 'compress', "did you mean 'compressible'?"),
        ('rbd_compression_hint', True, 'one of none, compressible'),
    )
    @ddt.unpack
    def test_what_it_would_pass_over(self, name, value, told):
        (text,) = texts({name: value})
        self.assertTrue(text.startswith(f'{name}: '), text)
        self.assertIn(told, text)

    @ddt.data(
        ({LIMIT: 500, BURST: 499}, BURST, f'499 below {LIMIT} 500'),
        ({BURST: 499}, BURST, f'499 without {LIMIT}'),
        ({LIMIT: 0, BURST: 499}, BURST, f'499 without {LIMIT}'),
        ({LIMIT: 9, SECONDS: 5}, SECONDS, f'5 without {BURST}'),
        ({LIMIT: 9, BURST: 0, SECONDS: 5}, SECONDS, f'5 without {BURST}'),
        ({'rbd_qos_bps_limit': 9, BURST: 499}, BURST, f'without {LIMIT}'),
    )
    @ddt.unpack
    def test_what_has_no_effect_together(self, options, name, told):
        (text,) = texts(options)
        self.assertTrue(text.startswith(f'{name}: '), text)
        self.assertIn(told, text)

    def test_a_broken_limit_is_told_once(self):
        self.assertEqual(1, len(texts({LIMIT: '5k', BURST: 499})))
        self.assertEqual(1, len(texts({LIMIT: 5, BURST: 'x', SECONDS: 2})))

    def test_it_is_a_problem_of_the_file(self):
        catalog = given.of(
            given.tier(rbd=given.rbd(rbd_options={LIMIT: 500, BURST: 1}))
        )
        self.assertIn(
            f'1 below {LIMIT} 500', str(catalog_rules.check(catalog))
        )


@ddt.ddt
class HintTestCase(testtools.TestCase):
    def catalog(self, hint, mode):
        return given.of(
            given.tier(
                rbd=given.rbd(
                    pool='fast',
                    rbd_options={'rbd_compression_hint': hint},
                    options={'compression_mode': mode} if mode else {},
                )
            )
        )

    MODES = (
        ('compressible', 'passive', None),
        ('compressible', 'none', 'passive'),
        ('compressible', 'aggressive', 'passive'),
        ('compressible', 'force', 'passive'),
        ('compressible', 'unset', 'passive'),
        ('incompressible', 'aggressive', None),
        ('incompressible', 'passive', 'aggressive'),
        ('incompressible', 'none', 'aggressive'),
        ('none', 'none', None),
    )

    @ddt.data(*MODES)
    @ddt.unpack
    def test_validate_warns_where_the_mode_is_declared(
        self, hint, mode, needed
    ):
        found = [
            one.expected
            for one in warnings.check(self.catalog(hint, mode))
            if one.rule == rules.COMPRESSION_HINT
        ]
        self.assertEqual(
            [f'compression_mode {needed}'] if needed else [], found
        )

    def test_of_a_mode_that_is_not_declared_it_knows_nothing(self):
        found = warnings.check(self.catalog('compressible', None))
        self.assertNotIn(rules.COMPRESSION_HINT, [one.rule for one in found])

    @ddt.data(*MODES)
    @ddt.unpack
    def test_an_audit_warns_of_the_mode_of_the_pool(self, hint, mode, needed):
        catalog = self.catalog(hint, None)
        actual = test_plan.applied(catalog)
        ceph = actual.ceph['ceph']
        pool = dataclasses.replace(
            ceph.pools['fast'], options={'compression_mode': mode}
        )
        findings = audit.audit(
            catalog=catalog,
            observed=audit.Observed(
                cinder=actual.cinder,
                projects={},
                ceph={'ceph': dataclasses.replace(ceph, pools={'fast': pool})},
            ),
        )
        found = [
            one.expected
            for one in findings
            if one.aspect == practice.COMPRESSION
        ]
        self.assertEqual(
            [{'compression_mode of pool fast': needed}] if needed else [],
            found,
        )
