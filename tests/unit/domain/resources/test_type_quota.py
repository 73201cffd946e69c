# SPDX-License-Identifier: Apache-2.0

"""Default quotas that are lowered below what projects have."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import type_quota
from cinder_tiers.domain.state import cinder as cinder_state
from tests.unit.domain import catalogs as given

TYPE = cinder_state.VolumeType(
    name='a',
    extra_specs={'tiers:name': 'a', 'volume_backend_name': 'backend-a'},
    volumes=9,
    volumes_of={'p': 5, 'q': 4},
    gib_of={'p': 50, 'q': 90},
    snapshots_of={'q': 3},
)


@ddt.ddt
class ExceededTestCase(testtools.TestCase):
    def state(self, before, volume_type=TYPE):
        return cinder_state.CinderState(
            volume_types={'a': volume_type},
            quotas={'a': cinder_state.TypeQuota(name='a', **before)},
        )

    def action(self, quotas, **state):
        (action,) = type_quota.plan(
            given.of(given.other_tier('a', quotas=catalogs.Quotas(**quotas))),
            dataclasses.replace(given.nothing(), cinder=self.state(**state)),
        )
        return action

    @ddt.data(
        ({'volumes': 4}, {}, {'p'}, ['volumes 4', '(5 of project p)']),
        ({'volumes': 4}, {'volumes': 9}, {'p'}, ['(5 of project p)']),
        (
            {'volumes': 4, 'size_gib': 60},
            {},
            {'p', 'q'},
            ['(5 of project p)', 'gigabytes 60', '(90 of project q)'],
        ),
        ({'size_gib': 49}, {}, {'p', 'q'}, ['90 of project q, 50 of']),
        ({'volumes': 5, 'size_gib': 90}, {}, set(), None),
        ({'volumes': 4}, {'volumes': 3}, set(), None),
        ({}, {'volumes': 3}, set(), None),
        ({'snapshots': 2}, {}, {'q'}, ['snapshots 2', '(3 of project q)']),
        ({'snapshots': 3}, {}, set(), None),
    )
    @ddt.unpack
    def test_it_asks_for_consent(self, quotas, before, projects, said):
        action = self.action(quotas, before=before)
        self.assertEqual(projects, action.projects)
        if said is None:
            self.assertIsNone(action.refusal)
            return
        self.assertTrue(action.refusal.yields_to_consent)
        for part in said:
            self.assertIn(part, action.refusal.reason)

    def test_a_quota_of_0_is_told_once(self):
        reason = self.action({'volumes': 0}, before={}).refusal.reason
        self.assertIn('closes the tier', reason)
        self.assertNotIn('below what', reason)

    def test_nobody_has_volumes_of_a_type_that_takes_its_place(self):
        changed = dataclasses.replace(
            TYPE, extra_specs={**TYPE.extra_specs, 'tiers:tags': 'x'}
        )
        action = self.action({'volumes': 4}, before={}, volume_type=changed)
        self.assertIsNone(action.refusal)
        self.assertEqual(set(), action.projects)

    def test_of_many_projects_those_with_most_are_named(self):
        many = dataclasses.replace(
            TYPE, volumes_of={f'p{one}': 100 - one for one in range(30)}
        )
        reason = self.action(
            {'volumes': 4}, before={}, volume_type=many
        ).refusal.reason
        self.assertIn('91 of project p9, and 20 other projects)', reason)

    @ddt.data(
        ({'volumes': 4}, {}, {'a'}),
        ({'size_gib': 4}, {'size_gib': 5}, {'a'}),
        ({'volumes': 0}, {}, set()),
        ({'volumes': 4}, {'volumes': 4}, set()),
        ({'volumes': 4}, {'volumes': 3}, set()),
        ({'snapshots': 4}, {}, {'a'}),
        ({'snapshots': 4}, {'snapshots': 3}, set()),
        (None, {}, set()),
    )
    @ddt.unpack
    def test_volumes_are_listed_only_where_that_matters(
        self, quotas, before, names
    ):
        quotas = None if quotas is None else catalogs.Quotas(**quotas)
        self.assertEqual(
            names,
            type_quota.types_whose_usage_matters(
                given.of(given.other_tier('a', quotas=quotas)),
                self.state(before),
            ),
        )
