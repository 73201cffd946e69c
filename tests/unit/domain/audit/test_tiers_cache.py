# SPDX-License-Identifier: Apache-2.0

"""Cache tiers in audits."""

import dataclasses

import testtools

from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.state import ceph as ceph_state
from tests.unit.domain.resources import test_cache_tier


class AuditTestCase(testtools.TestCase):
    def audit(self, **changes):
        found = test_cache_tier.actual(**changes)
        told = audit.audit(
            catalog=test_cache_tier.CATALOG,
            observed=audit.Observed(
                cinder=found.cinder, projects={}, ceph=found.ceph
            ),
        )
        # Its pools accept writes with one copy, which is a warning.
        fine = (audit.State.COMPLIANT, audit.State.WARNING)
        return [one for one in told if one.state not in fine]

    def test_what_differs_is_told_of_the_tier(self):
        (found,) = self.audit(
            cache_tiers={
                'base': test_cache_tier.cached(
                    mode='proxy', settings={'target_max_bytes': '1'}
                )
            }
        )
        self.assertEqual(
            ('database', 'cache tier', 'proxy', 'writeback', '1'),
            (
                found.tier,
                found.aspect,
                found.current['mode'],
                found.expected['mode'],
                found.current['settings.target_max_bytes'],
            ),
        )

    def test_the_cache_s_own_pool_is_the_tier_s(self):
        pools = dict(test_cache_tier.actual().ceph['ceph'].pools)
        pools['cache'] = dataclasses.replace(pools['cache'], min_size=2)
        (found,) = self.audit(pools=pools)
        self.assertEqual(
            ('database', 'pool', {'min_size': 2}),
            (found.tier, found.aspect, found.current),
        )

    def test_a_pool_that_serves_another_is_told_of_its_tier(self):
        (found,) = self.audit(
            cache_tiers={
                'base': test_cache_tier.cached(),
                'theirs': ceph_state.CacheTier(
                    name='theirs',
                    cache_pool='tier-other',
                    mode='writeback',
                    overlay=True,
                ),
            }
        )
        self.assertEqual(('other', 'cache tier'), (found.tier, found.aspect))
        self.assertIn(
            'pool tier-other is a cache of pool theirs', found.reason
        )
