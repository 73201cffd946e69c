# SPDX-License-Identifier: Apache-2.0

"""What is published of a catalog, and when."""

import dataclasses

import testtools

from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.plan import removals
from cinder_tiers.domain.resources import tag_namespace
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import glance as glance_state
from tests.unit.domain import catalogs as given


def catalog(publish_tags=True, **access):
    """Three tiers of backends that exist.

    :param access: {name of a tier: its projects}.
    """
    return dataclasses.replace(
        given.of(
            *(
                given.other_tier(
                    name,
                    tags=(f'Tag of {name}', name),
                    access=access.get(name),
                    take_over=name != 'theirs',
                    fallback=name == 'general',
                )
                for name in ('database', 'premium', 'general', 'theirs')
            )
        ),
        publish_tags=publish_tags,
    )


def planned(declared, found=None):
    """The actions of all kinds."""
    return plans.make(
        catalog=declared,
        actual=actual_state.ActualState(
            cinder=cinder_state.CinderState(
                volume_types={},
                tag_namespaces={found.name: found} if found else {},
            ),
            ceph={},
            projects={'a-project': frozenset({'1' * 32})},
        ),
    ).actions


class TagNamespaceTestCase(testtools.TestCase):
    def namespace_action(self, *arguments):
        return next(
            (
                one
                for one in planned(*arguments)
                if one.key.kind is actions.Kind.TAG_NAMESPACE
            ),
            None,
        )

    def test_it_has_the_tags_of_public_tiers_that_are_managed(self):
        one = self.namespace_action(catalog(premium=('a-project',)))
        self.assertEqual(
            {'tag of database', 'database', 'tag of general', 'general'},
            one.after.tags,
        )
        self.assertNotIn('premium', str(one))

    def test_it_comes_after_the_types_that_its_tags_select(self):
        whole = planned(catalog(premium=('a-project',)))
        self.assertEqual(actions.Kind.TAG_NAMESPACE, whole[-1].key.kind)
        self.assertEqual(
            {'volume type database', 'volume type general'},
            {str(one) for one in whole[-1].needs},
        )

    def test_what_is_published_is_left_alone(self):
        declared = catalog()
        found = tag_namespace.namespace_of(declared)
        self.assertIsNone(self.namespace_action(declared, found))

    def test_a_tag_that_goes_is_taken_away(self):
        found = tag_namespace.namespace_of(catalog())
        one = self.namespace_action(catalog(database=('a-project',)), found)
        self.assertEqual(
            'tag database, tag tag of database of tag namespace '
            f'{glance_state.NAMESPACE}',
            removals.removed_by(one),
        )

    def test_silence_leaves_all_as_it_is(self):
        found = tag_namespace.namespace_of(catalog())
        self.assertIsNone(self.namespace_action(catalog(None)))
        self.assertIsNone(self.namespace_action(catalog(None), found))

    def test_only_what_is_ours_is_deleted(self):
        found = tag_namespace.namespace_of(catalog())
        self.assertIsNone(self.namespace_action(catalog(False)))
        one = self.namespace_action(catalog(False), found)
        self.assertEqual(('delete', None), (one.verb, one.refusal))
        one = self.namespace_action(
            catalog(False),
            dataclasses.replace(found, others=frozenset({'theirs'})),
        )
        self.assertIn('theirs', one.refusal.reason)
        theirs = dataclasses.replace(found, description='Theirs.')
        self.assertIsNone(self.namespace_action(catalog(False), theirs))
        one = self.namespace_action(catalog(), theirs)
        self.assertTrue(one.refusal.yields_to_consent)

    def test_tags_that_a_database_takes_for_one_are_a_problem(self):
        """Glance answers 409 to them where its database is MySQL's."""
        accented = dataclasses.replace(
            given.of(
                given.other_tier('one', tags=('cafe', 'Cafe', 'web')),
                given.other_tier('two', tags=('caf\xe9', 'web')),
                given.other_tier('secret', tags=('w\xe9b',), access=('p',)),
            ),
            publish_tags=True,
        )
        (problem,) = tag_namespace.check(accented)
        self.assertEqual(
            "the tag 'caf\xe9', and the tag 'cafe'", problem.found
        )
        self.assertEqual(
            [],
            [
                *tag_namespace.check(
                    dataclasses.replace(accented, publish_tags=None)
                )
            ],
        )

    def test_a_longer_tag_than_glance_keeps_is_a_problem(self):
        tiers = (given.other_tier('a', tags=('ok', 'x' * 80, 'y' * 81)),)
        declared = dataclasses.replace(catalog(), tiers=tiers)
        (problem,) = tag_namespace.check(declared)
        self.assertIn("'yyyy", problem.found)
        self.assertEqual(
            [],
            [
                *tag_namespace.check(
                    dataclasses.replace(declared, publish_tags=None)
                )
            ],
        )
