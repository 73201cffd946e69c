# SPDX-License-Identifier: Apache-2.0

"""Whether a volume is where it should be, and what is said of it."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.explain import existing_volume as explain_volume
from cinder_tiers.domain.explain.explanation import PlacementOutcome
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.placement import decision
from tests.unit.domain import clouds

DEFAULTS = decision.Policy()
REFUSE = decision.Policy(on_no_access=decision.OnNoAccess.REFUSE)


def volume(volume_type, on, **fields):
    return facts.KnownVolume(
        **{
            'volume_id': 'id-of-volume',
            'name': 'volume',
            'status': 'available',
            'project': clouds.US,
            'volume_type': volume_type,
            'type_name': volume_type and volume_type.name,
            'host': on and clouds.host(on),
            **fields,
        }
    )


def of_image(on, **fields):
    """A volume that follows its image."""
    return volume(
        clouds.FOLLOWING, on, **{'image_id': 'id-of-image', **fields}
    )


def explain(a_volume, image=None, *, known=clouds.CLOUD, policy=DEFAULTS):
    return explain_volume.explain_volume(
        volume=a_volume, image=image, known=known, policy=policy
    )


class MetadataTestCase(testtools.TestCase):
    """What the tenant wrote into the metadata of the volume."""

    POLICY = decision.Policy(metadata_key='tier')

    def explain(self, on, tag, image=None, **policy):
        metadata = {'tier': tag}
        return explain(
            volume(clouds.GENERAL, on, metadata=metadata)
            if image is None
            else volume(
                clouds.GENERAL,
                on,
                metadata=metadata,
                image_id=image.image_id,
            ),
            image,
            policy=dataclasses.replace(self.POLICY, **policy),
        )

    def test_a_later_change_of_them_moves_nothing(self):
        explained = self.explain('general', 'database')
        self.assertEqual(
            (PlacementOutcome.IN_PLACE, 'general', None),
            (explained.outcome, explained.tier, explained.image_tier),
        )
        self.assertIn(
            'its metadata currently select tier database; they count when a '
            'volume is created, or retyped to a type that follows the image, '
            'and a later change of them moves nothing',
            explained.notes,
        )

    def test_they_are_not_spoken_of_where_they_do_not_count(self):
        for explained in (
            self.explain('general', 'database', metadata_key=None),
            self.explain('general', 'general'),
            self.explain('general', 'nothing'),
        ):
            self.assertNotIn('metadata', ' '.join(explained.notes))

    def test_a_volume_that_follows_goes_by_them(self):
        explained = explain(
            volume(clouds.FOLLOWING, 'general', metadata={'tier': 'database'}),
            policy=self.POLICY,
        )
        self.assertEqual('database', explained.tier)
        self.assertIn(
            'its metadata currently select tier database', explained.summary
        )
        self.assertNotIn('which currently selects', explained.summary)

    def test_metadata_beside_an_image_are_not_the_choice_of_the_image(self):
        """Or a repair would move what its metadata placed."""
        image = clouds.image()
        explained = explain(
            volume(
                clouds.DATABASE,
                'database',
                image_id=image.image_id,
                metadata={'tier': 'database'},
            ),
            image,
            policy=dataclasses.replace(self.POLICY, metadata_with_image=True),
        )
        self.assertIsNone(explained.image_tier)

    def test_whether_they_count_may_not_be_known(self):
        assumed = decision.Policy(is_known=False)
        for written, expected in (
            ({'any': ' Database '}, PlacementOutcome.UNKNOWN),
            ({'any': 'nothing', 'database': 'x'}, PlacementOutcome.IN_PLACE),
            ({}, PlacementOutcome.IN_PLACE),
        ):
            follows = volume(clouds.FOLLOWING, 'general', metadata=written)
            self.assertEqual(
                expected, explain(follows, policy=assumed).outcome, written
            )
            self.assertEqual(
                PlacementOutcome.IN_PLACE,
                explain(follows, policy=DEFAULTS).outcome,
                written,
            )
        image = clouds.image()
        beside = volume(
            clouds.DATABASE,
            'database',
            image_id=image.image_id,
            metadata={'any': 'database'},
        )
        self.assertIsNone(explain(beside, image, policy=assumed).image_tier)
        self.assertEqual(
            'general', explain(beside, image, policy=DEFAULTS).image_tier
        )

    def test_the_fallback_tier_is_not_told_beside_a_default_that_is_last(self):
        image = clouds.image()
        for project_type, tier in (('first', 'general'), ('last', None)):
            explained = explain(
                volume(clouds.DATABASE, 'database', image_id=image.image_id),
                image,
                policy=decision.Policy(
                    project_type=decision.ProjectType(project_type)
                ),
            )
            self.assertEqual(tier, explained.image_tier)


class TierTypeTestCase(testtools.TestCase):
    """The type that the API door gave, or that was asked for."""

    def test_on_its_own_backend(self):
        explained = explain(volume(clouds.DATABASE, 'database'))
        self.assertEqual(
            (PlacementOutcome.IN_PLACE, 'database', 'general'),
            (explained.outcome, explained.tier, explained.overflow),
        )
        self.assertEqual(
            (
                'Its volume type database belongs to tier database. It is on '
                'node@database#database, which serves its tier: it is where '
                'it should be.'
            ),
            explained.summary,
        )
        self.assertIn('its backend serves tier database', explained.notes)

    def test_on_the_overflow(self):
        explained = explain(volume(clouds.DATABASE, 'general'))
        self.assertEqual(PlacementOutcome.IN_PLACE, explained.outcome)
        self.assertIn(
            'which serves its overflow tier, general: it is where it may be',
            explained.summary,
        )
        self.assertIn('its backend serves tier general', explained.notes)

    def test_elsewhere(self):
        explained = explain(volume(clouds.ARCHIVE, 'database'))
        self.assertEqual(PlacementOutcome.MISPLACED, explained.outcome)
        self.assertIn(
            'which does not qualify: volume_backend_name is '
            'on-database, expected on-archive',
            explained.summary,
        )

    def test_what_its_image_asks_for_today_is_a_note(self):
        explained = explain(
            volume(clouds.ARCHIVE, 'archive', image_id='x'),
            clouds.image('database'),
        )
        self.assertEqual(PlacementOutcome.IN_PLACE, explained.outcome)
        self.assertIn(
            (
                'its type was chosen by the request, or by earlier tags: a '
                'new volume from its image would currently go to tier '
                'database'
            ),
            explained.notes,
        )

    def test_a_clone_says_so(self):
        explained = explain(
            volume(
                clouds.ARCHIVE,
                'archive',
                fixed_by=decision.FixedBy.SOURCE_VOLUME,
            )
        )
        self.assertEqual(PlacementOutcome.IN_PLACE, explained.outcome)
        self.assertIn(
            'it is a clone, created where its source was', explained.notes
        )


@ddt.ddt
class FollowingTestCase(testtools.TestCase):
    def test_on_the_tier_of_its_image(self):
        explained = explain(of_image('archive'), clouds.image('archive'))
        self.assertEqual(
            (PlacementOutcome.IN_PLACE, 'archive'),
            (explained.outcome, explained.tier),
        )
        self.assertIn(
            'which currently selects tier archive', explained.summary
        )

    def test_elsewhere_since_the_image_was_tagged_later(self):
        explained = explain(of_image('general'), clouds.image('archive'))
        self.assertEqual(
            (PlacementOutcome.MISPLACED, 'archive', 'image-tier'),
            (explained.outcome, explained.tier, explained.volume_type),
        )
        self.assertIn('its backend serves tier general', explained.notes)
        self.assertIn(
            (
                'stored with the volume: its type, its backend, the image '
                'ID; current values, not those at its creation: the tiers, '
                'the backends, the tags of the image'
            ),
            explained.notes,
        )

    def test_on_the_overflow(self):
        explained = explain(of_image('general'), clouds.image('database'))
        self.assertEqual(PlacementOutcome.IN_PLACE, explained.outcome)
        self.assertIn('overflow tier, general', explained.summary)

    def test_a_blank_one(self):
        explained = explain(of_image('general', image_id=None))
        self.assertEqual(
            (PlacementOutcome.IN_PLACE, 'general'),
            (explained.outcome, explained.tier),
        )

    def test_its_project_counts_and_not_who_asks(self):
        explained = explain(of_image('premium'), clouds.image('premium'))
        self.assertEqual(
            (PlacementOutcome.MISPLACED, 'general'),
            (explained.outcome, explained.tier),
        )
        explained = explain(
            of_image('premium', project=clouds.THEM),
            clouds.image('premium', owner=clouds.THEM),
        )
        self.assertEqual(PlacementOutcome.IN_PLACE, explained.outcome)

    def test_none_would_serve_it_today(self):
        explained = explain(
            of_image('premium'), clouds.image('premium'), policy=REFUSE
        )
        self.assertEqual(
            (PlacementOutcome.MISPLACED, None),
            (explained.outcome, explained.tier),
        )
        self.assertIn('No tier serves it today', explained.summary)

    def test_its_image_is_gone(self):
        explained = explain(of_image('archive'))
        self.assertEqual(
            (PlacementOutcome.UNKNOWN, clouds.host('archive')),
            (explained.outcome, explained.host),
        )
        self.assertIn('id-of-image does not exist any more', explained.summary)

    @ddt.data(*decision.FixedBy)
    def test_what_fixed_its_place_makes_it_right(self, fixed_by):
        if fixed_by is decision.FixedBy.EXISTING_VOLUME:
            return
        explained = explain(of_image('premium', fixed_by=fixed_by))
        self.assertEqual(PlacementOutcome.IN_PLACE, explained.outcome)
        self.assertIn('Its type follows the image, but it', explained.summary)

    def test_cinder_alone_placed_it_before_there_were_tiers(self):
        known = dataclasses.replace(clouds.CLOUD, types=(clouds.FOLLOWING,))
        explained = explain(
            of_image('archive'), clouds.image('archive'), known=known
        )
        self.assertEqual(PlacementOutcome.IN_PLACE, explained.outcome)


class OtherTypeTestCase(testtools.TestCase):
    def test_its_type_decides(self):
        explained = explain(volume(clouds.FAST, 'archive'))
        self.assertEqual(
            (PlacementOutcome.IN_PLACE, None),
            (explained.outcome, explained.tier),
        )
        self.assertEqual(
            PlacementOutcome.MISPLACED,
            explain(volume(clouds.FAST, 'database')).outcome,
        )


class NoAnswerTestCase(testtools.TestCase):
    def test_a_volume_without_a_backend(self):
        explained = explain(volume(clouds.DATABASE, None, status='error'))
        self.assertEqual(PlacementOutcome.MISPLACED, explained.outcome)
        self.assertIn('It has no backend (status error)', explained.summary)

    def test_a_backend_that_does_not_report(self):
        known = dataclasses.replace(
            clouds.CLOUD, backends=(clouds.backend('general'),)
        )
        explained = explain(volume(clouds.ARCHIVE, 'archive'), known=known)
        self.assertEqual(PlacementOutcome.UNKNOWN, explained.outcome)
        self.assertIn('does not report to the scheduler', explained.summary)

    def test_a_tenant_who_sees_next_to_nothing(self):
        explained = explain(
            volume(clouds.TENANTS.find_type('database'), None),
            known=clouds.TENANTS,
        )
        self.assertEqual(
            (PlacementOutcome.UNKNOWN, 'database'),
            (explained.outcome, explained.volume_type),
        )
        self.assertIn('hidden from this user', explained.summary)

    def test_a_member_who_sees_all_but_the_host(self):
        explained = explain(
            volume(clouds.DATABASE, None), known=clouds.MEMBERS
        )
        self.assertEqual(
            (PlacementOutcome.UNKNOWN, 'database'),
            (explained.outcome, explained.tier),
        )
        self.assertIn('Its location is hidden', explained.summary)

    def test_a_member_who_sees_the_host_but_no_backends(self):
        explained = explain(
            volume(clouds.DATABASE, 'database'),
            known=dataclasses.replace(clouds.MEMBERS, backends=None),
        )
        self.assertEqual(PlacementOutcome.UNKNOWN, explained.outcome)

    def test_a_member_whose_fall_back_may_be_hidden(self):
        explained = explain(
            of_image('general', image_id=None),
            known=dataclasses.replace(
                clouds.MEMBERS, types=(clouds.ARCHIVE, clouds.FOLLOWING)
            ),
        )
        self.assertEqual(PlacementOutcome.UNKNOWN, explained.outcome)

    def test_a_type_that_is_not_visible(self):
        explained = explain(volume(None, 'general', type_name='secret'))
        self.assertEqual(PlacementOutcome.UNKNOWN, explained.outcome)
        self.assertIn('secret is not visible', explained.summary)
