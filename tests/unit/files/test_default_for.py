# SPDX-License-Identifier: Apache-2.0

"""Default types of projects: rules of the file, and the plan."""

import dataclasses

import testtools

from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.resources import volume_type as volume_type_kind
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.validation import rules
from cinder_tiers.files.tiers import reader
from tests.unit.domain import catalogs as given

ONE, TWO, THREE = '1' * 32, '2' * 32, '3' * 32
PROJECTS = {'one': ONE, 'two': TWO, 'three': THREE, ONE: ONE}
FILE = """version: 1
tiers:
  gold:
    backend: gold
    {gold}
  plain:
    backend: plain
    fallback: true
    {plain}
"""


def read(gold, plain='priority: 0'):
    return reader.read_text(
        FILE.format(gold=gold, plain=plain), file='tiers.yaml'
    )


def cloud(catalog, defaults, *, more=()):
    """The cloud in which a catalog is applied.

    :param defaults: {name of a volume type: ids of projects}.
    :param more: other volume types.
    """
    actual = given.nothing(
        volume_types=(
            *(
                volume_type_kind.volume_type_of(
                    tier,
                    projects=frozenset(PROJECTS[one] for one in tier.projects),
                )
                for tier in catalog.tiers
            ),
            *more,
        ),
        projects=PROJECTS,
    )
    return dataclasses.replace(
        actual,
        cinder=dataclasses.replace(
            actual.cinder,
            project_defaults={
                name: cinder_state.ProjectDefaults(
                    name=name, default_for=frozenset(projects)
                )
                for name, projects in defaults.items()
            },
        ),
    )


def changes(catalog, defaults, **changed):
    """{object: (before, after, whether it is refused)} of a plan."""
    actual = cloud(catalog, defaults, **changed)
    return {
        str(one.key): (
            sorted(one.before.default_for) if one.before else None,
            sorted(one.after.default_for),
            one.refusal is not None,
        )
        for one in plans.make(catalog=catalog, actual=actual).actions
        if isinstance(one.after, cinder_state.ProjectDefaults)
    }


class RulesTestCase(testtools.TestCase):
    def problems(self, gold, plain='priority: 0'):
        error = self.assertRaises(errors.ProblemsFound, read, gold, plain)
        return error.problems

    def test_two_tiers_do_not_claim_one_project(self):
        (problem,) = self.problems('default_for: [one]', 'default_for: [one]')
        self.assertEqual('tiers.yaml:9', problem.where)
        self.assertIn('(tiers.yaml:5)', problem.found)
        self.assertIn("project 'one', which tier 'gold' has", problem.found)
        self.assertEqual('project-defaults', problem.rule)
        self.assertIn(problem.rule, rules.ALL)

    def test_a_project_may_use_its_default_type(self):
        (problem,) = self.problems(
            'access: [one]\n    default_for: [one, two]'
        )
        self.assertEqual('tiers.yaml:6', problem.where)
        self.assertIn(
            "project 'two', which is not under access", problem.found
        )
        self.assertIn('(tiers.yaml:5)', problem.found)

    def test_a_name_and_an_id_may_be_one_project(self):
        catalog = read(f'access: ["{ONE}"]\n    default_for: [one]')
        self.assertEqual(
            {'project defaults gold': (None, [ONE], False)},
            changes(catalog, {}),
        )

    def test_keystone_tells_that_they_are_not(self):
        for gold, plain, found in (
            (
                f'access: ["{ONE}"]\n    default_for: [two]',
                'priority: 0',
                'which is not under access',
            ),
            (
                'default_for: [one]',
                f'default_for: ["{ONE}"]',
                "which tier 'gold' has as well",
            ),
            ('default_for: [nobody]', 'priority: 0', 'unknown project'),
        ):
            catalog = read(gold, plain)
            actual = given.nothing(projects=PROJECTS)
            error = self.assertRaises(
                errors.ProblemsFound,
                plans.make,
                catalog=catalog,
                actual=actual,
            )
            self.assertIn(found, str(error))


class PlanTestCase(testtools.TestCase):
    def test_a_project_moves_and_another_is_left(self):
        self.assertEqual(
            {
                'project defaults gold': ([ONE, TWO], [], False),
                'project defaults plain': (None, [TWO], False),
            },
            changes(
                read('default_for: []', 'default_for: [two]'),
                {'gold': [ONE, TWO]},
            ),
        )

    def test_no_tier_with_the_key_leaves_all(self):
        self.assertEqual({}, changes(read('priority: 0'), {'gold': [ONE]}))

    def test_a_tier_without_the_key_is_asked_about(self):
        self.assertEqual(
            {'project defaults plain': ([TWO], [], True)},
            changes(
                read('default_for: [one]'), {'gold': [ONE], 'plain': [TWO]}
            ),
        )

    def test_what_is_not_ours_is_refused_and_what_is_ours_is_not(self):
        for mark, is_refused in (({}, True), ({'tiers:name': 'x'}, False)):
            theirs = cinder_state.VolumeType(
                name='gold - new', extra_specs=mark
            )
            found = changes(
                read('default_for: [one]'),
                {'gold - new': [ONE]},
                more=[theirs],
            )
            self.assertEqual(
                (None, [ONE], is_refused), found['project defaults gold']
            )

    def test_a_type_that_goes_is_no_default_type_any_more(self):
        ours = cinder_state.VolumeType(
            name='old', extra_specs={'tiers:name': 'old'}
        )
        self.assertEqual(
            {'project defaults old': ([ONE], [], False)},
            changes(read('priority: 0'), {'old': [ONE]}, more=[ours]),
        )

    def test_a_retired_type_keeps_them(self):
        retired = cinder_state.VolumeType(
            name='gold - retired 12345678',
            extra_specs={'tiers:name': 'gold'},
        )
        self.assertEqual(
            {},
            changes(
                read('default_for: []'), {retired.name: [ONE]}, more=[retired]
            ),
        )

    def test_a_tier_that_is_not_managed_is_left_alone(self):
        self.assertEqual(
            {},
            changes(read('take_over: false\n    default_for: [one]'), {}),
        )
