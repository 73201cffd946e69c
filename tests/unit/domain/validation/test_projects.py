# SPDX-License-Identifier: Apache-2.0

"""Projects that a tier names and Keystone does not have, or has twice."""

import dataclasses

import ddt

from cinder_tiers.domain import errors
from tests.unit.domain import catalogs as given
from tests.unit.domain.plan import test_plan


@ddt.ddt
class ProjectsTestCase(test_plan.PlanCase):
    def test_projects_that_are_none_or_two_are_problems(self):
        catalog = given.of(given.tier(access=('gone', 'two', 'one')))
        actual = dataclasses.replace(
            given.nothing(),
            projects={
                'gone': frozenset(),
                'two': frozenset('12'),
                'one': frozenset('1'),
            },
        )
        error = self.assertRaises(
            errors.ProblemsFound, self.make, catalog, actual
        )
        self.assertEqual(
            ["unknown project 'gone'", "2 projects with the name 'two': 1, 2"],
            [problem.found for problem in error.problems],
        )
