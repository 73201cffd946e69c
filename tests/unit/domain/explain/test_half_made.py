# SPDX-License-Identifier: Apache-2.0

"""Types that an apply has made and not opened, and those that look like it."""

import dataclasses

import testtools

from cinder_tiers.domain.explain import explanation
from cinder_tiers.domain.explain import tier_list
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.tempest import expected
from tests.unit.domain import clouds
from tests.unit.domain.explain import test_new_volume


def known(name='new', **fields):
    """The same as the API tells of it."""
    return dataclasses.replace(
        clouds.tier(name, tags='database', priority='99', **fields),
        description=cinder_state.HALF_MADE,
        projects=frozenset(),
    )


class ToldTestCase(testtools.TestCase):
    def test_explain_passes_over_it(self):
        types = (*clouds.CLOUD.types, known(backend='on-archive'))
        explained = test_new_volume.explain(
            clouds.image('database'),
            known=dataclasses.replace(clouds.CLOUD, types=types),
        )
        self.assertEqual('database', explained.tier)

    def test_explain_says_that_its_backend_is_open_to_all(self):
        explained = test_new_volume.explain(
            known=dataclasses.replace(
                clouds.CLOUD,
                types=(
                    clouds.PREMIUM,
                    clouds.NOWHERE,
                    known(backend='on-new'),
                ),
                backends=(clouds.backend('new'), clouds.backend('premium')),
            ),
            requested=clouds.volume_type('__DEFAULT__'),
        )
        self.assertEqual(
            {'new': 'own', 'premium': 'no'},
            {
                name: verdict
                for name, (verdict, _) in test_new_volume.verdicts(
                    explained
                ).items()
            },
        )

    def test_alone_it_is_as_if_there_were_no_tier(self):
        self.assertEqual((), explanation.read_tiers([known()]).marked)

    def list_with(self, *types):
        return tier_list.applied(
            dataclasses.replace(clouds.CLOUD, types=types)
        )

    def test_a_list_says_that_it_is_not_complete(self):
        (one,) = self.list_with(known(), clouds.FOLLOWING)
        self.assertEqual('new', one.name)
        self.assertIn('"openstack tier apply" has completed it', one.problem)

    def test_a_tier_with_a_successor_on_its_way_is_listed_once(self):
        standby = dataclasses.replace(
            known('database'), name='database - new', type_id='x'
        )
        (one,) = self.list_with(standby, clouds.DATABASE)
        self.assertEqual(('database', ''), (one.volume_type, one.problem))

    def test_tempest_passes_over_it(self):
        def document(one):
            return {
                'id': one.type_id,
                'name': one.name,
                'is_public': one.projects is None,
                'description': one.description,
                'extra_specs': one.extra_specs,
            }

        renamed = dataclasses.replace(clouds.DATABASE, name='db', type_id='db')
        found = expected.find_tiers(
            map(
                document,
                (known('database'), renamed, clouds.GENERAL, clouds.FOLLOWING),
            ),
            {},
        )
        self.assertEqual('db', found.tier_type)
