# SPDX-License-Identifier: Apache-2.0

"""What every world does with an operator's consent.

Mixed into test cases beside `world_contract.WorldContract`.
"""

import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import cinder as cinder_state


def named(kind, name, cluster=None):
    return actions.Key(kind=kind, name=name, cluster=cluster)


class ConsentContract:
    """Tests of any world."""

    def granted(self, *names):
        return consent.grant(self.make_plan(), names)

    def edit(self, name, **fields):
        """Changes a tier of the catalog in fields."""
        self.catalog = dataclasses.replace(
            self.catalog,
            tiers=tuple(
                dataclasses.replace(tier, **fields)
                if tier.name == name
                else tier
                for tier in self.catalog.tiers
            ),
        )

    def without_consent(self, plan):
        """A plan that lost its refusals, as no planner makes it."""
        return plans.Plan(
            actions=tuple(
                dataclasses.replace(action, refusal=None, consented=None)
                for action in plan.actions
            )
        )

    def assert_done_with(self, *names):
        """The names are needed, and finish what they began.

        :param names: of the objects that the plan refuses, all of them.
        """
        plan = self.make_plan()
        self.assertEqual(set(names), {str(one.key) for one in plan.refused})
        before = {action.key: self.read(action.key) for action in plan.refused}
        results = self.carry_out(
            self.without_consent(plans.Plan(actions=plan.refused))
        )
        for result in results:
            self.assertIsNot(
                actions.Outcome.DONE, result.outcome, result.action.key
            )
        self.assertEqual(before, {key: self.read(key) for key in before})
        plan = self.granted(*names)
        half = plans.Plan(actions=plan.actions[: len(plan.actions) // 2])
        self.assert_all_done(self.carry_out(half))
        self.assert_all_done(self.carry_out(self.granted(*names)))
        self.assertEqual((), self.make_plan().actions)


class CinderConsentContract(ConsentContract):
    """Tests of worlds with Cinder.

    The test case gives `put(key, resource)`, which makes a volume type or a
    QoS spec as somebody else does. Its catalog is that of
    `catalogs.tiers_of_all_kinds`.
    """

    def type_of(self, name):
        return self.read(named(actions.Kind.VOLUME_TYPE, name))

    def spec_of(self, name):
        return self.read(named(actions.Kind.QOS_SPEC, name))

    def put_type(self, name, **fields):
        self.put(
            named(actions.Kind.VOLUME_TYPE, name),
            cinder_state.VolumeType(name=name, **fields),
        )

    def put_spec(self, name, *volume_types):
        self.put(
            named(actions.Kind.QOS_SPEC, name),
            cinder_state.QosSpec(
                name=name,
                consumer='front-end',
                specs={'total_iops_sec': '7'},
                volume_types=frozenset(volume_types),
            ),
        )

    def test_a_tier_that_is_not_declared_goes_with_its_limits(self):
        self.carry_out(self.make_plan())
        self.edit('database', overflow=None)
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.catalog = dataclasses.replace(
            self.catalog,
            tiers=tuple(
                tier for tier in self.catalog.tiers if tier.name != 'general'
            ),
            follow_image_types=(),
        )
        self.assertEqual(
            [actions.Kind.QOS_SPEC, *[actions.Kind.VOLUME_TYPE] * 2],
            [one.key.kind for one in self.make_plan().actions],
        )
        self.assert_done_with(
            'qos spec tier-general',
            'volume type general',
            'volume type image-tier',
        )
        self.assertIsNone(self.type_of('general'))
        self.assertIsNone(self.spec_of('tier-general'))

    def test_limits_that_are_not_declared_go(self):
        self.carry_out(self.make_plan())
        self.edit('database', qos=None)
        self.assert_done_with('qos spec tier-database')
        self.assertIsNone(self.spec_of('tier-database'))
        self.assertIsNotNone(self.type_of('database'))

    def test_a_type_without_our_mark_is_taken_over(self):
        self.put_type('lvm', extra_specs={'theirs': 'x'})
        self.put_type(
            'image-tier',
            is_public=False,
            extra_specs={'volume_backend_name': 'x'},
            projects=frozenset({'c' * 32}),
        )
        self.assert_done_with('volume type lvm', 'volume type image-tier')
        found = self.type_of('lvm').extra_specs
        self.assertEqual(('x', 'lvm'), (found['theirs'], found['tiers:name']))
        self.assertTrue(self.type_of('image-tier').is_public)

    def test_a_tier_is_given_up(self):
        self.carry_out(self.make_plan())
        self.edit('lvm', take_over=False)
        self.assert_done_with('volume type lvm')
        found = self.type_of('lvm').extra_specs
        self.assertEqual('backend-lvm', found['volume_backend_name'])
        self.assertEqual(
            [], [name for name in found if name.startswith(cinder_state.SCOPE)]
        )

    def test_a_private_type_without_our_mark_gets_the_projects(self):
        self.put_type(
            'archive',
            is_public=False,
            extra_specs={},
            projects=frozenset({'a' * 32, 'c' * 32}),
        )
        self.assertIn('c' * 32, self.make_plan().refused[0].refusal.reason)
        self.assert_done_with('volume type archive')
        self.assertEqual(
            {'a' * 32, 'b' * 32}, self.type_of('archive').projects
        )

    def test_a_public_type_is_made_private_and_back(self):
        self.carry_out(self.make_plan())
        self.edit('archive', access=('alpha',))
        self.assert_done_with('volume type archive')
        self.edit('archive', access=catalogs.PUBLIC)
        self.assert_all_done(self.carry_out(self.make_plan()))
        # Cinder has not forgotten alpha.
        self.edit('archive', access=('beta',))
        self.assert_done_with('volume type archive')
        self.assertEqual({'b' * 32}, self.type_of('archive').projects)

    def test_a_private_type_is_opened(self):
        self.carry_out(self.make_plan())
        self.edit('archive', access=None)
        # Executors open a type without consent, too: where the catalog says
        # public in words, none is needed.
        self.assertEqual(1, len(self.make_plan().refused))
        self.assert_all_done(
            self.carry_out(self.granted('volume type archive'))
        )
        self.assertEqual((), self.make_plan().actions)
        self.assertTrue(self.type_of('archive').is_public)

    def test_limits_of_others_make_room_and_stay(self):
        self.edit('database', qos=None)
        self.carry_out(self.make_plan())
        self.put_spec('gold', 'database', 'archive')
        self.edit(
            'database', qos=catalogs.Qos(front_end={'total_iops_sec': '500'})
        )
        self.assert_done_with('qos spec tier-database')
        self.assertEqual({'archive'}, self.spec_of('gold').volume_types)
        self.assertEqual(
            {'database'}, self.spec_of('tier-database').volume_types
        )

    def test_limits_of_our_name_without_a_type_are_taken_over(self):
        self.put_spec('tier-database')
        self.assert_done_with('qos spec tier-database')
        self.assertEqual(
            '500', self.spec_of('tier-database').specs['total_iops_sec']
        )

    def test_a_consent_does_not_count_for_what_came_up_since(self):
        self.put_type('lvm', extra_specs={'theirs': 'x'})
        self.put_spec('tier-database')
        self.edit('lvm', default_for=None)
        self.carry_out(
            self.granted('volume type lvm', 'qos spec tier-database')
        )
        self.catalog = dataclasses.replace(
            self.catalog,
            tiers=tuple(
                tier for tier in self.catalog.tiers if tier.name != 'lvm'
            ),
        )
        self.edit('database', qos=None)
        plan = self.granted('volume type lvm', 'qos spec tier-database')
        self.put_type('more', extra_specs={})
        self.associate('tier-database', 'more')
        self.describe('lvm', 'precious')
        for result in self.carry_out(plan):
            self.assertIs(actions.Outcome.FAILED, result.outcome)
            self.assertIn('since the plan was made', result.reason)
        self.assertEqual('precious', self.type_of('lvm').description)
        self.assertEqual(
            {'database', 'more'}, self.spec_of('tier-database').volume_types
        )


class PoolConsentContract(ConsentContract):
    """Tests of worlds with Ceph.

    The test case gives `replicated`, the name of a tier of two copies and 8
    placement groups, `other_rule`, the name of a replicated CRUSH rule, and
    `set_pool(name, field, value)` and `set_caps(user, **caps)`, which change
    a pool and make a cephx user, as somebody else does.
    """

    def test_grants_that_came_up_since_are_not_taken(self):
        plan = self.make_plan()
        (action,) = [
            one
            for one in plan.actions
            if one.key.kind is actions.Kind.CEPHX_USER
        ]
        self.set_caps(action.key.name, mon='allow r', mds='allow r')
        self.assertIn(
            str(action.key),
            [
                str(one.action.key)
                for one in self.carry_out(plan)
                if one.outcome is actions.Outcome.FAILED
            ],
        )
        self.assertEqual('allow r', self.read(action.key).caps['mds'])
        self.assert_done_with(str(action.key))
        self.assertEqual('allow r', self.read(action.key).caps['mds'])

    def pool_of(self, name):
        return self.read(named(actions.Kind.POOL, name, 'ceph'))

    def set_tier(self, **fields):
        rbd = self.catalog.tier(self.replicated).rbd
        self.edit(self.replicated, rbd=dataclasses.replace(rbd, **fields))
        return rbd.pool

    def test_the_size_of_a_pool_grows_and_shrinks(self):
        self.carry_out(self.make_plan())
        # Ceph chooses a min_size with each size, which is not to stay.
        for size, min_size in ((3, 2), (2, 2), (2, 1), (3, 1)):
            pool = self.set_tier(
                protection=catalogs.Replicated(
                    size=size,
                    min_size=min_size,
                    unprotected_writes=min_size == 1,
                )
            )
            self.assert_done_with(f'pool {pool} (ceph)')
            found = self.pool_of(pool)
            self.assertEqual((size, min_size), (found.size, found.min_size))

    def test_a_min_size_that_is_not_declared_stays_with_each_size(self):
        self.set_tier(protection=catalogs.Replicated(size=3))
        self.carry_out(self.make_plan())
        for size in (2, 3):
            pool = self.set_tier(protection=catalogs.Replicated(size=size))
            self.assert_done_with(f'pool {pool} (ceph)')
            found = self.pool_of(pool)
            self.assertEqual((size, 2), (found.size, found.min_size))

    def test_a_min_size_below_the_first_safe_one_is_found_and_raised(self):
        """As an apply leaves it that is cut off while it sets the size."""
        pool = self.set_tier(protection=catalogs.Replicated(size=2))
        self.carry_out(self.make_plan())
        self.set_pool(pool, 'min_size', '1')
        (action,) = self.make_plan().refused
        self.assertEqual(
            (1, 2), (action.before.min_size, action.after.min_size)
        )
        self.assertIn('may be lost with one disk', action.refusal.reason)
        self.assertIn('declare min_size: 1', action.refusal.remedy)
        self.assert_done_with(f'pool {pool} (ceph)')
        self.assertEqual(2, self.pool_of(pool).min_size)
        # One that is stricter than that is left to who set it.
        self.set_pool(pool, 'size', '3')
        self.set_tier(protection=catalogs.Replicated(size=3))
        self.set_pool(pool, 'min_size', '3')
        self.assertEqual((), self.make_plan().actions)

    def test_a_new_pool_of_two_copies_acknowledges_no_write_to_one(self):
        pool = self.set_tier(protection=catalogs.Replicated(size=2))
        self.assert_all_done(self.carry_out(self.make_plan()))
        self.assertEqual(2, self.pool_of(pool).min_size)

    def test_placement_groups_are_split_and_merged(self):
        self.carry_out(self.make_plan())
        for pg_num in (16, 8):
            pool = self.set_tier(pg_num=pg_num)
            self.assert_done_with(f'pool {pool} (ceph)')
            self.assertEqual(pg_num, self.pool_of(pool).pg_num)

    def test_a_pool_is_given_its_rule_again(self):
        self.carry_out(self.make_plan())
        pool = self.set_tier()
        rule = self.pool_of(pool).crush_rule
        self.set_pool(pool, 'crush_rule', self.other_rule)
        self.assert_done_with(f'pool {pool} (ceph)')
        self.assertEqual(rule, self.pool_of(pool).crush_rule)

    def test_a_guarded_pool_is_changed_and_guarded_again(self):
        guards = {'nosizechange': True, 'nopgchange': True}
        pool = self.set_tier(options=guards)
        self.carry_out(self.make_plan())
        for name in guards:
            self.set_pool(pool, name, 'false')
        self.set_tier(
            pg_num=16, protection=catalogs.Replicated(size=3, min_size=2)
        )
        self.assert_done_with(f'pool {pool} (ceph)')
        found = self.pool_of(pool)
        self.assertEqual(
            (3, 16, 'true'),
            (found.size, found.pg_num, found.options['nosizechange']),
        )
        self.set_tier(
            pg_num=8,
            options=dict.fromkeys(guards, False),
            protection=catalogs.Replicated(
                size=2, min_size=1, unprotected_writes=True
            ),
        )
        self.assert_done_with(f'pool {pool} (ceph)')
        self.assertEqual(8, self.pool_of(pool).pg_num)

    def test_the_autoscaler_is_steered(self):
        pool = self.set_tier(pg_num=None)
        self.carry_out(self.make_plan())
        self.set_pool(pool, 'pg_autoscale_mode', 'on')
        self.set_tier(options={'target_size_ratio': 0.1})
        self.assert_done_with(f'pool {pool} (ceph)')
        self.assertEqual(
            '0.1', self.pool_of(pool).options['target_size_ratio']
        )
