# SPDX-License-Identifier: Apache-2.0

"""Cache tiers in plans and audits: what is refused, and what to do then."""

import dataclasses

import testtools

from cinder_tiers.domain.plan import effects
from cinder_tiers.domain.plan import plan
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from tests.unit.domain import catalogs as given
from tests.unit.domain.plan import test_plan

CACHED = given.tier(
    'database',
    rbd=given.rbd(pool='base', device_class='hdd', cache=given.cache('cache')),
)
PLAIN = dataclasses.replace(
    CACHED, rbd=dataclasses.replace(CACHED.rbd, cache=None)
)
CATALOG = given.of(CACHED, given.tier('other'))
STOPPED = 'with all clients stopped, run '


def actual(catalog=CATALOG, **changes):
    """The cloud in which a catalog is applied, changed in its cluster."""
    found = test_plan.applied(catalog)
    ceph = dataclasses.replace(found.ceph['ceph'], **changes)
    return dataclasses.replace(found, ceph={'ceph': ceph})


def cached(**changes):
    plain = cache_tier.cache_tier_of(CACHED.rbd.data_pool, CACHED.rbd.cache)
    return dataclasses.replace(plain, **changes)


class PlanCacheTestCase(testtools.TestCase):
    def refusal(self, catalog=CATALOG, found=None):
        (refused,) = plan.make(
            catalog=catalog, actual=found or actual()
        ).refused
        return refused.refusal

    def test_what_is_applied_needs_nothing(self):
        self.assertEqual(
            (), plan.make(catalog=CATALOG, actual=actual()).actions
        )

    def test_clients_use_the_cache_when_its_pool_and_their_grant_are_there(
        self,
    ):
        made = plan.make(catalog=CATALOG, actual=given.nothing())
        (action,) = [
            one
            for one in made.actions
            if one.key.kind is actions.Kind.CACHE_TIER
        ]
        self.assertEqual(
            {'base', 'cache', 'client.cinder'},
            {key.name for key in action.needs},
        )
        before = made.actions[: made.actions.index(action)]
        self.assertLessEqual(action.needs, {one.key for one in before})
        self.assertEqual(
            'tier database; I/O of base goes through cache', action.why
        )

    def test_the_type_waits_for_the_cache(self):
        made = plan.make(catalog=CATALOG, actual=given.nothing())
        (database,) = [
            one for one in made.actions if one.key.name == 'database'
        ]
        self.assertIn(
            actions.Key(
                kind=actions.Kind.CACHE_TIER, name='base', cluster='ceph'
            ),
            database.needs,
        )

    def test_a_writeback_cache_is_flushed_before_it_goes(self):
        catalog = given.of(PLAIN, given.tier('other'))
        refusal = self.refusal(catalog)
        self.assertTrue(refusal.yields_to_consent)
        self.assertIn('may be in pool cache only', refusal.reason)
        self.assertEqual(
            (
                'set the mode of cache to proxy',
                'flush and evict all objects of cache',
                'see that cache is empty; objects that clients watch, such '
                'as headers of open images, cannot be evicted, and apply '
                'stops here while there are any',
                'redirect clients to base',
                'set the mode of cache to none',
                'remove cache as a cache of base; the pool is kept',
            ),
            self.steps(catalog, actual()),
        )

    def test_what_was_done_of_a_removal_is_no_step(self):
        catalog = given.of(PLAIN, given.tier('other'))
        for changes, first, count in (
            ({'mode': 'proxy'}, 'flush and evict all objects of cache', 5),
            (
                {'mode': 'proxy', 'overlay': False},
                'set the mode of cache to none',
                2,
            ),
            ({'mode': 'readonly'}, 'redirect clients to base', 2),
        ):
            found = actual(cache_tiers={'base': cached(**changes)})
            steps = self.steps(catalog, found)
            self.assertEqual((first, count), (steps[0], len(steps)))

    def steps(self, catalog, found):
        made = plan.make(catalog=catalog, actual=found)
        (effect,) = effects.of_plan(made.actions, found.ceph).values()
        return effect.statements

    def test_a_readonly_cache_holds_nothing_to_flush(self):
        remedy = self.refusal(
            found=actual(cache_tiers={'base': cached(mode='readonly')})
        ).remedy
        self.assertNotIn('flush', remedy)
        self.assertIn('remove-overlay', remedy)

    def test_a_stale_cache_is_not_flushed(self):
        refusal = self.refusal(
            found=actual(
                objects_in={'cache': 2},
                cache_tiers={'base': cached(overlay=False)},
            )
        )
        self.assertIn('holds 2 objects that may be older', refusal.reason)
        self.assertNotIn('flush', refusal.remedy)

    def test_each_of_several_caches_is_named(self):
        refusal = self.refusal(
            found=actual(
                cache_tiers={'base': cached(cache_pool='cache, more')}
            )
        )
        self.assertIn(
            'pool base already has another cache, cache, more', refusal.reason
        )
        for pool in ('cache', 'more'):
            self.assertIn(
                f'"ceph osd tier remove base {pool}"', refusal.remedy
            )

    def test_the_grant_that_running_clients_lack_is_a_command(self):
        held = {
            daemon: text.replace(', profile rbd pool=cache', '').replace(
                ',profile rbd pool=cache', ''
            )
            for daemon, text in actual()
            .ceph['ceph']
            .users['client.cinder']
            .caps.items()
        }
        refusal = self.refusal(
            found=actual(
                cache_tiers={},
                objects_in={'base': 5},
                users={
                    'client.cinder': ceph_state.CephxUser(
                        name='client.cinder', caps=held
                    )
                },
            )
        )
        self.assertIn('client.cinder', refusal.remedy)
        self.assertRegex(
            refusal.remedy,
            'ceph auth caps client.cinder mgr '
            "'profile rbd pool=base.*profile rbd pool=cache'",
        )
        self.assertIn('auth_service_ticket_ttl', refusal.remedy)
