# SPDX-License-Identifier: Apache-2.0
"""Consent by name, from plain values."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state

POOL = ceph_state.Pool(
    name='fast',
    kind='replicated',
    size=3,
    min_size=2,
    pg_num=8,
    pg_autoscale_mode='off',
    crush_rule='fast',
)
TYPE = cinder_state.VolumeType(
    name='fast',
    projects=frozenset('ab'),
    is_public=False,
    extra_specs={'x': '1', 'y': '1'},
)


def action(
    resource,
    cluster=None,
    *,
    after=None,
    refused=True,
    can_be_allowed=True,
    consented=None,
):
    """An action on a resource."""
    kind = (
        actions.Kind.POOL
        if isinstance(resource, ceph_state.Pool)
        else actions.Kind.VOLUME_TYPE
    )
    return actions.Action(
        key=actions.Key(kind=kind, cluster=cluster, name=resource.name),
        before=resource,
        after=after,
        why='any',
        consented=consented,
        refusal=actions.Refusal(
            reason='it would hurt',
            remedy='stop',
            yields_to_consent=can_be_allowed,
        )
        if refused
        else None,
    )


def plan(*several):
    return plans.Plan(actions=several)


TWO_CLUSTERS = plan(action(POOL, 'one'), action(POOL, 'two'), action(TYPE))


@ddt.ddt
class GrantTestCase(testtools.TestCase):
    def problems(self, made, *names):
        error = self.assertRaises(
            errors.ProblemsFound, consent.grant, made, names
        )
        return [str(one) for one in error.problems]

    def test_what_is_named_is_no_longer_refused_and_says_so(self):
        made = consent.grant(TWO_CLUSTERS, ['pool fast (two)'])
        self.assertEqual(
            ['pool fast (one)', 'volume type fast'],
            [str(one.key) for one in made.refused],
        )
        named = made.actions[1]
        self.assertEqual(
            'any\nallowed, although it would hurt', named.explanation
        )
        self.assertEqual(('pool fast (two)',), consent.names_of(made))

    def test_without_names_the_plan_is_the_same(self):
        self.assertEqual(TWO_CLUSTERS, consent.grant(TWO_CLUSTERS, []))

    @ddt.data('volume type fast', '  volume type fast ')
    def test_the_cluster_may_be_left_out_where_one_only_is_meant(self, name):
        self.assertEqual(2, len(consent.grant(TWO_CLUSTERS, [name]).refused))
        alone = plan(action(POOL, 'one'), action(POOL, 'two', refused=False))
        self.assertEqual((), consent.grant(alone, ['pool fast']).refused)

    def test_a_name_of_several_is_told(self):
        (problem,) = self.problems(TWO_CLUSTERS, 'pool fast')
        self.assertIn('name one of: pool fast (one), pool fast (two)', problem)

    def test_all_names_that_fit_nothing_are_told_with_what_could_be(self):
        first, second = self.problems(TWO_CLUSTERS, 'volume type fats', 'x')
        self.assertEqual(
            (
                "--allow 'volume type fats': no refused change in this "
                'plan has that name; expected one of: pool fast (one), '
                "pool fast (two), volume type fast; did you mean 'volume "
                "type fast'? omit it if the change has already been made"
            ),
            first,
        )
        self.assertIn('--allow x: ', second)

    def test_what_no_consent_helps_is_told(self):
        (problem,) = self.problems(
            plan(action(POOL, 'one', can_be_allowed=False)), 'pool fast'
        )
        self.assertIn(
            (
                'it would hurt; expected a refused change that --allow can '
                'permit; stop'
            ),
            problem,
        )

    def test_what_a_change_left_has_its_consent_until_it_is_refused(self):
        whole = action(TYPE)
        rest = dataclasses.replace(
            action(dataclasses.replace(TYPE, name='fast - retired 1')),
            continues=whole.key,
        )
        name = 'volume type fast'
        made = consent.grant(plan(rest), [name])
        self.assertEqual(
            ('volume type fast - retired 1',), consent.names_of(made)
        )
        self.assertEqual((), consent.not_needed(made, [name]))
        made = consent.grant(plan(whole, rest), [name])
        self.assertEqual((rest,), made.refused)
        # One that has a consent of its own is not meant by the other name.
        other = dataclasses.replace(
            action(dataclasses.replace(TYPE, name='fast - retired 2')),
            continues=whole.key,
        )
        self.assertIn(
            '2 refused objects', self.problems(plan(rest, other), name)[0]
        )
        for own in (str(other.key), f'{other.key}:delete'):
            made = consent.grant(plan(rest, other), [name, own])
            self.assertEqual((), made.refused)

    def test_what_was_done_already_is_no_error_when_nothing_is_left(self):
        names = ['volume type fast', 'volume type gone', 'pool fast']
        made = consent.grant(
            plan(action(TYPE), action(POOL, 'one', refused=False)), names
        )
        self.assertEqual((), made.refused)
        self.assertEqual(
            ('volume type gone', 'pool fast'), consent.not_needed(made, names)
        )

    def test_what_names_no_object_is_always_an_error(self):
        (problem,) = self.problems(plan(), 'fast')
        self.assertIn('not the name of an object; expected a kind', problem)

    def test_consents_of_a_saved_plan_are_given_where_they_fit(self):
        self.assertEqual(
            ['pool fast (two)', 'volume type fast'],
            [
                str(one.key)
                for one in consent.repeat(
                    TWO_CLUSTERS, ['pool fast (one)', 'pool gone (one)']
                ).refused
            ],
        )


@ddt.ddt
class AstrayTestCase(testtools.TestCase):
    """A type loses project b, and its spec x becomes 2."""

    after = dataclasses.replace(
        TYPE, projects=frozenset('a'), extra_specs={'x': '2', 'y': '1'}
    )

    def changed_since_plan(self, current, after=after):
        return [
            (one.field, one.before, one.after)
            for one in consent.changed_since_plan(
                action(TYPE, after=after), current
            )
        ]

    @ddt.data(
        {},
        {'extra_specs': {'x': '2', 'y': '1'}},
        {'projects': frozenset('a')},
        {'projects': frozenset()},
    )
    def test_what_a_killed_apply_leaves_is_on_the_way(self, changes):
        self.assertEqual(
            [], self.changed_since_plan(dataclasses.replace(TYPE, **changes))
        )

    def test_what_is_gone_or_done_is_on_the_way(self):
        self.assertEqual([], self.changed_since_plan(None))
        self.assertEqual([], self.changed_since_plan(self.after))
        self.assertEqual([], self.changed_since_plan(None, after=None))

    @ddt.data(
        ({'projects': frozenset('abc')}, 'projects', frozenset('abc')),
        ({'extra_specs': {'x': '3', 'y': '1'}}, 'extra_specs.x', '3'),
        ({'extra_specs': {'x': '1', 'y': '9'}}, 'extra_specs.y', '9'),
        (
            {'extra_specs': {'x': '1', 'y': '1', 'z': '1'}},
            'extra_specs.z',
            '1',
        ),
    )
    @ddt.unpack
    def test_what_came_up_since_the_plan_was_made_is_astray(
        self, changes, field, value
    ):
        found = dataclasses.replace(TYPE, **changes)
        self.assertEqual(
            [(field, value)],
            [one[:2] for one in self.changed_since_plan(found)],
        )
        self.assertEqual(
            [(field, value)],
            [one[:2] for one in self.changed_since_plan(found, after=None)],
        )

    def test_what_nobody_asks_for_may_change(self):
        now = dataclasses.replace(POOL, pg_num=64, options={'noscrub': '1'})
        self.assertEqual(
            (),
            consent.changed_since_plan(
                action(
                    POOL, after=dataclasses.replace(POOL, size=2, pg_num=None)
                ),
                now,
            ),
        )
