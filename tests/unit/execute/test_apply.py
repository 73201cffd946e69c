# SPDX-License-Identifier: Apache-2.0

"""Carrying out plans, in a cloud in memory."""

import dataclasses

import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.execute import apply
from tests.contract import consent_contract
from tests.contract import world_contract
from tests.unit.domain import catalogs as given
from tests.worlds import in_memory


def key(kind, name):
    cluster = None if kind is actions.Kind.VOLUME_TYPE else 'ceph'
    return actions.Key(kind=kind, cluster=cluster, name=name)


class InMemoryWorldTestCase(
    world_contract.WorldContract,
    consent_contract.CinderConsentContract,
    consent_contract.PoolConsentContract,
    testtools.TestCase,
):
    settle_s = 0.0
    replicated = 'database'
    other_rule = 'tier-general'

    def setUp(self):
        super().setUp()
        self.catalog = dataclasses.replace(
            given.of(
                *given.tiers_of_all_kinds(),
                host_osd_options={'b': {'osd_max_backfills': 3}},
            ),
            publish_tags=True,
        )
        self.set_tier(
            pg_num=8, protection=catalogs.Replicated(size=2, min_size=1)
        )
        self.world = in_memory.World(osds=given.osds())
        self.executors = self.world.executors
        self.read = self.world.read

    def observe(self):
        known = {'alpha': 'a' * 32, 'beta': 'b' * 32}
        return dataclasses.replace(
            self.world.observe(),
            projects={
                name: frozenset({known.get(name, name)})
                for name in self.catalog.projects
            },
        )

    def put(self, one, resource):
        self.world.objects[one] = resource

    def set_caps(self, user, **caps):
        self.world.objects[key(actions.Kind.CEPHX_USER, user)] = (
            ceph_state.CephxUser(name=user, caps=caps)
        )

    def set_pool(self, name, field, value):
        pool = key(actions.Kind.POOL, name)
        found = self.world.objects[pool]
        self.world.objects[pool] = dataclasses.replace(
            found,
            **(
                {field: type(getattr(found, field))(value)}
                if hasattr(found, field)
                else {'options': {**found.options, field: value}}
            ),
        )

    def associate(self, spec, volume_type):
        one = consent_contract.named(actions.Kind.QOS_SPEC, spec)
        found = self.world.objects[one]
        self.world.objects[one] = dataclasses.replace(
            found, volume_types=found.volume_types | {volume_type}
        )

    def describe(self, volume_type, text):
        one = key(actions.Kind.VOLUME_TYPE, volume_type)
        self.world.objects[one] = dataclasses.replace(
            self.world.objects[one], description=text
        )


class ApplyTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.catalog = given.of(*given.three_tiers())
        self.world = in_memory.World(osds=given.osds())
        self.reported = []

    def make_plan(self):
        return plans.make(catalog=self.catalog, actual=self.world.observe())

    def carry_out(self, plan):
        return apply.apply(
            plan=plan,
            executors=self.world.executors,
            read=self.world.read,
            report=self.reported.append,
        )

    def outcomes(self, results):
        return {one.action.key.name: one.outcome for one in results}

    def test_cut_off_after_any_action_the_next_apply_finishes(self):
        complete = in_memory.World(osds=given.osds())
        plan = self.make_plan()
        apply.apply(
            plan=plan,
            executors=complete.executors,
            read=complete.read,
            report=self.reported.append,
        )
        for count in range(len(plan.actions) + 1):
            self.world.objects.clear()
            self.carry_out(plans.Plan(actions=plan.actions[:count]))
            self.carry_out(self.make_plan())
            self.assertEqual(complete.objects, self.world.objects, count)

    def test_cut_off_while_a_cache_is_set_up_the_next_apply_finishes(self):
        self.catalog = given.of(
            given.tier(
                rbd=given.rbd(cache=given.cache(), primary_affinity=0.5)
            )
        )
        self.test_cut_off_after_any_action_the_next_apply_finishes()

    def test_a_failure_takes_with_it_what_needs_it_and_nothing_else(self):
        self.world.broken.add(
            key(actions.Kind.CRUSH_RULE, 'tier-archive-data')
        )
        results = self.carry_out(self.make_plan())
        by_outcome = {}
        for one in results:
            by_outcome.setdefault(one.outcome, []).append(
                (one.action.key.kind, one.action.key.name)
            )
        self.assertEqual(
            [(actions.Kind.CRUSH_RULE, 'tier-archive-data')],
            by_outcome[actions.Outcome.FAILED],
        )
        self.assertEqual(
            [
                (actions.Kind.POOL, 'tier-archive-data'),
                (actions.Kind.POOL, 'tier-archive'),
                (actions.Kind.VOLUME_TYPE, 'archive'),
            ],
            by_outcome[actions.Outcome.SKIPPED],
        )
        self.assertIn(
            key(actions.Kind.VOLUME_TYPE, 'database'), self.world.objects
        )

    def test_after_the_cause_is_gone_apply_goes_on(self):
        broken = key(actions.Kind.POOL, 'tier-general')
        self.world.broken.add(broken)
        self.carry_out(self.make_plan())
        self.world.broken.clear()
        self.carry_out(self.make_plan())
        self.assertEqual((), self.make_plan().actions)

    def test_a_write_that_was_ignored_is_a_failure(self):
        self.carry_out(self.make_plan())
        pool = key(actions.Kind.POOL, 'tier-general')
        in_effect = self.world.objects[pool]
        self.world.objects[pool] = ceph_state.Pool(
            name=in_effect.name,
            kind=in_effect.kind,
            size=in_effect.size,
            min_size=in_effect.min_size,
            pg_num=in_effect.pg_num,
            pg_autoscale_mode='warn',
            crush_rule=in_effect.crush_rule,
        )
        self.world.ignored.add(pool)
        (result,) = self.carry_out(self.make_plan())
        self.assertEqual(actions.Outcome.FAILED, result.outcome)
        self.assertIn('pg_autoscale_mode is warn, not off', result.reason)

    def test_an_object_that_was_not_made_is_a_failure(self):
        self.world.ignored.add(key(actions.Kind.CRUSH_RULE, 'tier-general'))
        results = self.carry_out(self.make_plan())
        (failed,) = [
            one for one in results if one.outcome is actions.Outcome.FAILED
        ]
        self.assertIn('does not exist', failed.reason)

    def test_a_type_that_others_changed_since_the_plan_stays_so(self):
        self.carry_out(self.make_plan())
        one = key(actions.Kind.VOLUME_TYPE, 'database')
        applied = self.world.objects[one]
        planned = dataclasses.replace(
            applied, extra_specs={**applied.extra_specs, 'tiers:tags': 'old'}
        )
        self.world.objects[one] = planned
        plan = self.make_plan()
        self.assertEqual([one], [action.key for action in plan.actions])
        for changed, named in (
            (
                dataclasses.replace(planned, is_public=False),
                'is_public is False, not True',
            ),
            (
                dataclasses.replace(
                    planned,
                    extra_specs={
                        **planned.extra_specs,
                        'multiattach': '<is> True',
                    },
                ),
                'extra_specs.multiattach is <is> True, not None',
            ),
            (
                dataclasses.replace(planned, description='closed'),
                'description is closed',
            ),
        ):
            self.world.objects[one] = changed
            (result,) = self.carry_out(plan)
            self.assertEqual(actions.Outcome.FAILED, result.outcome)
            self.assertIn(named, result.reason)
            self.assertEqual(changed, self.world.objects[one])
        # An interrupted apply left it so: this is not drift.
        self.world.objects[one] = applied
        (result,) = self.carry_out(plan)
        self.assertEqual(actions.Outcome.DONE, result.outcome)

    def test_an_encryption_that_others_set_since_the_plan_stays_so(self):
        self.catalog = given.of(
            *(
                dataclasses.replace(
                    tier, encryption=catalogs.Encryption(provider='luks')
                )
                for tier in given.three_tiers()
            )
        )
        plan = self.make_plan()
        one = actions.Key(kind=actions.Kind.TYPE_ENCRYPTION, name='database')
        theirs = cinder_state.TypeEncryption(
            name='database',
            provider='luks2',
            cipher='aes-xts-plain64',
            key_size_bits=512,
            control_location='front-end',
        )
        self.world.objects[one] = theirs
        (failed,) = [
            result
            for result in self.carry_out(plan)
            if result.outcome is actions.Outcome.FAILED
        ]
        self.assertEqual(one, failed.action.key)
        self.assertIn('provider is luks2', failed.reason)
        self.assertEqual(theirs, self.world.objects[one])
        # One that an interrupted apply set does not count as changed.
        self.world.objects[one] = dataclasses.replace(theirs, provider='luks')
        (result,) = [
            result
            for result in self.carry_out(plan)
            if result.action.key == one
        ]
        self.assertEqual(actions.Outcome.DONE, result.outcome)

    def test_with_a_refused_action_nothing_is_changed(self):
        foreign = key(actions.Kind.VOLUME_TYPE, 'database')
        self.world.objects[foreign] = cinder_state.VolumeType(
            name='database', extra_specs={}
        )
        before = dict(self.world.objects)
        plan = self.make_plan()
        error = self.assertRaises(errors.ActionFailed, self.carry_out, plan)
        self.assertIn('without the ownership marker', str(error))
        self.assertEqual(before, self.world.objects)
        self.assertEqual([], self.reported)

    def test_each_result_is_reported_once_in_order(self):
        results = self.carry_out(self.make_plan())
        self.assertEqual(list(results), self.reported)


#: What is applied first.
OLD = (
    given.other_tier(
        'old',
        fallback=True,
        tags=('web', 'db'),
        priority=2,
        qos=catalogs.Qos(
            front_end={'read_iops_sec': '50', 'write_iops_sec': '50'}
        ),
    ),
    given.other_tier('gone', tags=('gone',), priority=3),
)
#: What takes from it, and replaces what it takes.
NEW = (
    given.other_tier(
        'old',
        tags=('web',),
        priority=2,
        qos=catalogs.Qos(front_end={'read_iops_sec': '50'}),
    ),
    given.tier(
        'new', fallback=True, tags=('db', 'gone'), priority=4, qos=OLD[0].qos
    ),
)
ALLOWED = ('volume type gone',)


class RemovalsTestCase(testtools.TestCase):
    """What takes away waits until what replaces it is there."""

    def setUp(self):
        super().setUp()
        self.world = in_memory.World(osds=given.osds())
        self.apply(OLD)
        self.before = dict(self.world.objects)

    def plan(self, tiers):
        plan = plans.make(
            catalog=given.of(*tiers, follow_image_types=()),
            actual=self.world.observe(),
        )
        wanted = {str(one.key) for one in plan.refused} & set(ALLOWED)
        return consent.grant(plan, sorted(wanted))

    def apply(self, tiers, **how):
        return apply.apply(
            plan=self.plan(tiers),
            executors=self.world.executors,
            read=self.world.read,
            report=lambda result: None,
            **how,
        )

    def served(self):
        """Tags that lead to a tier, and whether there is a fallback."""
        specs = [
            one.extra_specs
            for one in self.world.objects.values()
            if isinstance(one, cinder_state.VolumeType)
        ]
        return {
            tag
            for one in specs
            for tag in one.get('tiers:tags', '').split(',')
        } | {name for one in specs for name in one if name.endswith('back')}

    def test_it_is_complete(self):
        served = self.served()
        self.apply(NEW)
        self.assertEqual(served, self.served())
        self.assertEqual((), self.plan(NEW).actions)
        self.assertNotIn(
            key(actions.Kind.VOLUME_TYPE, 'gone'), self.world.objects
        )

    def test_after_any_failure_all_tags_and_the_fallback_are_served(self):
        served = self.served()
        planned = self.plan(NEW).actions
        self.assertGreater(len(planned), 5)
        for action in planned:
            self.world.objects.clear()
            self.world.objects.update(self.before)
            self.world.broken = {action.key}
            self.apply(NEW)
            self.assertEqual(served, self.served(), action.key)
            self.world.broken = set()
            self.apply(NEW)
            self.assertEqual((), self.plan(NEW).actions, action.key)

    def test_at_any_interruption_all_tags_and_the_fallback_are_served(self):
        served = self.served()
        for count in range(len(self.plan(NEW).actions) + 1):
            self.world.objects.clear()
            self.world.objects.update(self.before)
            stop = iter([False] * count + [True] * 99)
            self.apply(NEW, is_to_stop=lambda stop=stop: next(stop))
            self.assertEqual(served, self.served(), count)

    def test_it_says_what_waits_for_what(self):
        self.world.broken = {key(actions.Kind.POOL, 'tier-new')}
        reasons = {
            str(one.action.key): one.reason
            for one in self.apply(NEW)
            if one.outcome is actions.Outcome.SKIPPED
        }
        failed = 'pool tier-new (ceph), which comes first, failed'
        self.assertEqual(
            {
                'volume type new': 'it needs pool tier-new (ceph)',
                'qos spec tier-new': 'it needs volume type new',
                'volume type old': 'it removes extra spec tiers:fallback, '
                f'tag db of volume type old, and {failed}',
                'qos spec tier-old': 'it needs volume type old',
                'volume type gone': 'it removes volume type gone, '
                f'and {failed}',
            },
            reasons,
        )
        for name in ('old', 'gone'):
            one = key(actions.Kind.VOLUME_TYPE, name)
            self.assertEqual(self.before[one], self.world.objects[one])

    def test_a_deletion_that_fails_stops_no_other(self):
        self.apply(NEW)
        self.world.broken = {key(actions.Kind.VOLUME_TYPE, 'new')}
        plan = self.plan(())
        results = apply.apply(
            plan=consent.grant(plan, [str(one.key) for one in plan.refused]),
            executors=self.world.executors,
            read=self.world.read,
            report=lambda result: None,
        )
        self.assertIn(
            ('volume type old', actions.Outcome.DONE),
            [(str(one.action.key), one.outcome) for one in results],
        )
