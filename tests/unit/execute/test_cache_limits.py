# SPDX-License-Identifier: Apache-2.0

"""A cache grows between the plan that lowers its limit and the apply."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import usage as usages
from cinder_tiers.execute.ceph import cache_tier

KEY = actions.Key(kind=actions.Kind.CACHE_TIER, name='base', cluster='ceph')
LIMITS = {'target_max_bytes': '1000', 'target_max_objects': '0'}


class Session:
    """Keeps the commands that it gets."""

    cluster = catalogs.Cluster(name='ceph')

    def __init__(self):
        self.sent = []

    def command(self, prefix, **arguments):
        """Keep a command."""
        self.sent.append((prefix, arguments))


def cache(settings):
    return ceph_state.CacheTier(
        name='base',
        cache_pool='quick',
        mode='writeback',
        overlay=True,
        settings=settings,
    )


def holding(stored_bytes, objects):
    return usages.ClusterUsage(
        pools={
            'quick': usages.PoolUsage(
                stored_bytes=stored_bytes,
                objects=objects,
                used_bytes=2 * stored_bytes,
                max_avail_bytes=10**15,
            )
        },
        osds={},
        nearfull_ratio=0.85,
        backfillfull_ratio=0.9,
        full_ratio=0.95,
    )


@ddt.ddt
class CacheLimitsTestCase(testtools.TestCase):
    def write(self, settings, usage, **named):
        session = Session()
        cache_tier.CacheTiers({'ceph': session}, lambda asked: usage).write(
            cache({**LIMITS, **settings}),
            key=KEY,
            current=cache(LIMITS),
            **named,
        )
        return [arguments['var'] for _, arguments in session.sent]

    @ddt.data(
        ({'target_max_bytes': '500'}, holding(500, 1), '500 B'),
        ({'target_max_objects': '16'}, holding(1, 17), '17 objects'),
        (
            {'target_max_bytes': '500'},
            usages.Unknown(reason='no manager'),
            'could not be determined: no manager',
        ),
        (
            {'target_max_bytes': '500'},
            dataclasses.replace(holding(1, 1), pools={}),
            'Ceph has no statistics of it',
        ),
    )
    @ddt.unpack
    def test_it_is_refused_unless_somebody_consented(
        self, settings, usage, reason
    ):
        refused = self.assertRaises(
            errors.ActionFailed, self.write, settings, usage
        )
        self.assertIn('is not changed: target_max_', str(refused))
        self.assertIn(reason, str(refused))
        self.assertEqual(
            [*settings], self.write(settings, usage, consented=True)
        )

    @ddt.data(
        ({'target_max_bytes': '500'}, holding(499, 1)),
        ({'target_max_bytes': '2000'}, holding(3000, 1)),
        ({'target_max_bytes': '0'}, holding(3000, 1)),
        ({'cache_min_flush_age': '60'}, usages.Unknown(reason='no manager')),
    )
    @ddt.unpack
    def test_others_are_free(self, settings, usage):
        self.assertEqual([*settings], self.write(settings, usage))
