# SPDX-License-Identifier: Apache-2.0

"""Plans, from plain values."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import plan
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.resources import cephx_user
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.resources import type_quota
from cinder_tiers.domain.resources import volume_type as volume_type_kind
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from tests.unit.domain import catalogs as given


def applied(catalog, **pool_changes):
    """The cloud in which a catalog is applied; pools changed in fields."""
    pools, rules, profiles, caches = {}, {}, {}, {}
    for tier in catalog.tiers:
        wanted = tier_pools.pools_of(tier.rbd)
        pools.update(
            {
                pool.name: dataclasses.replace(
                    pool,
                    **{'min_size': pool.first_min_size, **pool_changes},
                )
                for pool in wanted.pools
            }
        )
        rules.update({rule.name: rule for rule in wanted.crush_rules})
        profiles.update(
            {one.name: one for one in wanted.erasure_code_profiles}
        )
        if tier.rbd.cache:
            cache = cache_tier.cache_tier_of(
                tier.rbd.data_pool, tier.rbd.cache
            )
            caches[cache.name] = cache
    cluster = catalog.clusters['ceph']
    user = ceph_state.CephxUser(
        name='client.cinder',
        caps={
            daemon: ','.join(grants)
            for daemon, grants in cephx_user.grants_of(
                catalog, cluster
            ).items()
        },
    )
    return given.nothing(
        ceph=given.empty_cluster(
            crush_rules=rules,
            pools=pools,
            erasure_code_profiles=profiles,
            cache_tiers=caches,
            users={user.name: user},
        ),
        volume_types=[
            *(
                volume_type_kind.volume_type_of(
                    tier, overflow=catalog.tier(tier.overflow)
                )
                for tier in catalog.tiers
            ),
            *(
                volume_type_kind.follow_image_type(name)
                for name in catalog.follow_image_types
            ),
        ],
    )


def summary(made):
    return [
        (action.verb, action.key.kind, action.key.name)
        for action in made.actions
    ]


class PlanCase(testtools.TestCase):
    def make(self, catalog, actual):
        return plan.make(catalog=catalog, actual=actual)


@ddt.ddt
class PlanTestCase(PlanCase):
    def test_what_is_needed_comes_first(self):
        made = self.make(given.of(*given.three_tiers()), given.nothing())
        planned = {action.key for action in made.actions}
        before = set()
        for action in made.actions:
            self.assertEqual(set(), (action.needs & planned) - before)
            before.add(action.key)
        self.assertEqual(14, len(made.actions))

    def test_a_type_waits_for_its_pools_and_user(self):
        made = self.make(given.of(*given.three_tiers()), given.nothing())
        (archive,) = [one for one in made.actions if one.key.name == 'archive']
        self.assertEqual(
            {'tier-archive', 'tier-archive-data', 'client.cinder'},
            {key.name for key in archive.needs},
        )

    def test_no_consent_changes_the_kind_of_a_pool(self):
        catalog = given.of(given.tier())
        made = self.make(catalog, applied(catalog, kind='erasure'))
        (refused,) = made.refused
        self.assertIn('kind erasure -> ', refused.refusal.reason)
        self.assertFalse(refused.refusal.yields_to_consent)
        self.assertIn(actions.NOT_ALLOWABLE, refused.objection)

    def test_no_consent_changes_the_size_of_an_erasure_coded_pool(self):
        catalog = given.of(given.three_tiers()[2])
        actual = applied(catalog)
        pools = actual.ceph['ceph'].pools
        pools['tier-archive-data'] = dataclasses.replace(
            pools['tier-archive-data'], size=4
        )
        (refused,) = self.make(catalog, actual).refused
        self.assertFalse(refused.refusal.yields_to_consent)

    def test_a_rule_of_our_name_with_other_values_is_left_alone(self):
        catalog = given.of(given.tier())
        actual = applied(catalog)
        rule = actual.ceph['ceph'].crush_rules['tier-database']
        actual.ceph['ceph'].crush_rules['tier-database'] = dataclasses.replace(
            rule, device_class='hdd'
        )
        made = self.make(catalog, actual)
        self.assertEqual(
            [
                ('create', actions.Kind.CRUSH_RULE, 'tier-database-ssd-host'),
                ('update', actions.Kind.POOL, 'tier-database'),
            ],
            summary(made),
        )
        (refused,) = made.refused
        self.assertIn(
            'crush_rule tier-database -> tier-database-ssd-host',
            refused.refusal.reason,
        )

    @ddt.data('Database', 'DATABASE', 'd\u00e1tabase')
    def test_a_type_that_mariadb_takes_for_another_is_told_before(self, name):
        made = self.make(
            given.of(given.tier()),
            given.nothing(
                volume_types=[
                    cinder_state.VolumeType(name=name, extra_specs={}),
                    cinder_state.VolumeType(name='data base', extra_specs={}),
                ]
            ),
        )
        (refused,) = made.refused
        self.assertEqual('volume type database', str(refused.key))
        self.assertIn(f'a volume type "{name}" exists', str(refused.objection))
        # PostgreSQL tells them apart.
        granted = consent.grant(made, [str(refused.key)])
        self.assertEqual((), granted.refused)
        # A type that was created after the plan is not in it.
        (allowed,) = (one for one in granted.actions if one.consented)
        theirs = cinder_state.VolumeType(name='database', extra_specs={})
        self.assertNotEqual((), consent.changed_since_plan(allowed, theirs))
        for half_done in (None, allowed.after):
            self.assertEqual(
                (), consent.changed_since_plan(allowed, half_done)
            )

    def test_a_tier_that_got_another_case_is_told_before(self):
        catalog = given.of(given.tier('Database'))
        made = self.make(catalog, applied(given.of(given.tier())))
        self.assertEqual(
            {'create volume type Database', 'delete volume type database'},
            {
                f'{one.verb} {one.key}'
                for one in made.refused
                if one.key.kind is actions.Kind.VOLUME_TYPE
            },
        )

    def test_a_private_type_of_ours_is_not_opened(self):
        catalog = given.of(given.tier())
        actual = applied(catalog)
        types = actual.cinder.volume_types
        types['database'] = dataclasses.replace(
            types['database'], is_public=False
        )
        self.assertEqual(
            ['database'],
            [one.key.name for one in self.make(catalog, actual).refused],
        )

    def with_access(self, access, **changes):
        """The plan for a tier with access, of which the type was changed."""
        catalog = given.of(given.tier(access=access))
        actual = applied(given.of(given.tier()))
        types = actual.cinder.volume_types
        types['database'] = dataclasses.replace(types['database'], **changes)
        return self.make(
            catalog,
            dataclasses.replace(
                actual, projects={'one': frozenset('1'), 'two': frozenset('2')}
            ),
        )

    def test_a_private_type_with_its_projects_needs_nothing(self):
        self.assertEqual(
            (),
            self.with_access(
                ('two', 'one'), is_public=False, projects=frozenset('12')
            ).actions,
        )

    def test_all_that_is_refused_of_an_object_is_told_at_once(self):
        (refused,) = self.with_access(
            ('one',), is_public=False, projects=frozenset('2'), extra_specs={}
        ).refused
        self.assertIn('without the ownership marker', refused.refusal.reason)
        self.assertIn('away from projects: 2', refused.refusal.reason)
        self.assertTrue(refused.refusal.yields_to_consent)

    def test_a_project_is_added(self):
        made = self.with_access(
            ('one', 'two'), is_public=False, projects=frozenset('1')
        )
        (action,) = made.actions
        self.assertIsNone(action.refusal)
        self.assertEqual(frozenset('12'), action.after.projects)

    def test_access_in_words_opens_a_private_type(self):
        made = self.with_access(
            catalogs.PUBLIC, is_public=False, projects=frozenset('1')
        )
        (action,) = made.actions
        self.assertIsNone(action.refusal)
        self.assertEqual(
            (True, frozenset()),
            (action.after.is_public, action.after.projects),
        )

    def test_foreign_extra_specs_stay_and_ours_are_put_right(self):
        catalog = given.of(given.tier(tags=('database',), priority=1))
        actual = applied(catalog)
        types = actual.cinder.volume_types
        types['database'] = dataclasses.replace(
            types['database'],
            description='by hand',
            extra_specs={
                'tiers:name': 'database',
                'tiers:overflow': 'x',
                'multiattach': '<is> True',
            },
        )
        (action,) = self.make(catalog, actual).actions
        self.assertIsNone(action.refusal)
        self.assertEqual(
            {
                'tiers:name': 'database',
                'tiers:tags': 'database',
                'tiers:priority': '1',
                'multiattach': '<is> True',
                'volume_backend_name': 'tier-database',
            },
            action.after.extra_specs,
        )
        self.assertEqual('by hand', action.after.description)

    def test_a_tier_that_no_longer_names_a_backend_loses_its_name(self):
        before = cinder_state.VolumeType(
            name='a',
            extra_specs={
                'tiers:name': 'a',
                'volume_backend_name': 'lvm',
                'theirs': 'x',
            },
        )
        catalog = given.of(
            given.other_tier(
                'a', backend_name=None, extra_specs={'vendor_name': 'x'}
            ),
            follow_image_types=(),
        )
        (action,) = self.make(
            catalog, given.nothing(volume_types=[before])
        ).actions
        self.assertEqual(
            {'tiers:name': 'a', 'vendor_name': 'x', 'theirs': 'x'},
            action.after.extra_specs,
        )

    @ddt.data(
        (None, cinder_state.TypeQuota(name='a', volumes=5), None),
        (
            catalogs.Quotas(volumes=5),
            cinder_state.TypeQuota(name='a', volumes=5),
            None,
        ),
        (
            catalogs.Quotas(),
            cinder_state.TypeQuota(name='a', volumes=5),
            'update',
        ),
        (
            catalogs.Quotas(size_gib=9),
            cinder_state.TypeQuota(name='a'),
            'update',
        ),
        (catalogs.Quotas(), None, 'create'),
    )
    @ddt.unpack
    def test_quotas_are_put_right_where_the_catalog_has_them(
        self, quotas, before, verb
    ):
        made = type_quota.plan(
            catalog=given.of(given.tier('a', quotas=quotas)),
            actual=actual_state.ActualState(
                cinder=cinder_state.CinderState(
                    volume_types={},
                    quotas={} if before is None else {'a': before},
                ),
                ceph={},
            ),
        )
        self.assertEqual(
            [] if verb is None else [(verb, actions.Kind.TYPE_QUOTA, 'a')],
            [
                (action.verb, action.key.kind, action.key.name)
                for action in made
            ],
        )

    def test_a_tier_with_overflow_waits_for_the_pools_of_both(self):
        made = self.make(
            given.of(
                given.tier('a', overflow='b', fallback=True), given.tier('b')
            ),
            given.nothing(),
        )
        # The type to which the other overflows is there first.
        b, a = [one for one in made.actions if one.key.name in ('a', 'b')]
        self.assertEqual(
            {'tier-a', 'tier-b', 'client.cinder'},
            {key.name for key in a.needs},
        )
        self.assertEqual(
            {'tier-b', 'client.cinder'}, {key.name for key in b.needs}
        )

    def test_a_type_that_follows_the_image_names_no_backend(self):
        catalog = given.of(given.tier())
        actual = applied(catalog)
        types = actual.cinder.volume_types
        types['image-tier'] = cinder_state.VolumeType(
            name='image-tier',
            extra_specs={
                'tiers:follow_image': '<is> True',
                'volume_backend_name': 'x',
            },
        )
        (action,) = self.make(catalog, actual).actions
        self.assertEqual(
            {'tiers:follow_image': '<is> True'}, action.after.extra_specs
        )
