# SPDX-License-Identifier: Apache-2.0

"""Where a new volume would go, and what is said of it."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.explain.explanation import PlacementOutcome
from cinder_tiers.domain.explain import new_volume as explain_create
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.placement import decision
from tests.unit.domain import clouds

DEFAULTS = decision.Policy()
REFUSE = decision.Policy(on_no_access=decision.OnNoAccess.REFUSE)


def explain(
    image=None,
    *,
    known=clouds.CLOUD,
    policy=DEFAULTS,
    project=clouds.US,
    is_admin=False,
    requested=None,
    metadata=None,
):
    return explain_create.explain_create(
        known=known,
        policy=policy,
        question=explain_create.NewVolume(
            project=project,
            is_admin=is_admin,
            image=image,
            requested_type=requested,
            metadata=metadata or {},
        ),
    )


def verdicts(explained):
    """{name of a backend: (verdict, why)}"""
    return {
        one.backend.name.partition('#')[2]: (one.verdict.value, one.why)
        for one in explained.judged
    }


def alternatives(explained):
    return {one.tier: one.why for one in explained.alternatives}


class PlacedTestCase(testtools.TestCase):
    def test_a_tagged_image(self):
        explained = explain(clouds.image('database'))
        self.assertEqual(
            (PlacementOutcome.PLACED, 'database', 'general', 'database'),
            (
                explained.outcome,
                explained.tier,
                explained.overflow,
                explained.volume_type,
            ),
        )
        self.assertEqual(
            (
                'A volume from this image goes to tier database, or to tier '
                'general when that has no room.'
            ),
            explained.summary,
        )

    def test_every_other_tier_is_listed_with_why_it_is_not_the_one(self):
        explained = explain(clouds.image('database', 'premium', 'archive'))
        self.assertEqual(
            [
                (
                    'premium',
                    'the project has no access to the volume type of the tier',
                ),
                (
                    'archive',
                    (
                        'another selected tier has a higher priority '
                        '(found=10, wanted=20)'
                    ),
                ),
                (
                    'general',
                    (
                        'not selected; it takes the volume when tier '
                        'database has no room'
                    ),
                ),
            ],
            list(alternatives(explained).items()),
        )

    def test_a_blank_volume(self):
        explained = explain()
        self.assertEqual(
            (PlacementOutcome.PLACED, 'general'),
            (explained.outcome, explained.tier),
        )
        self.assertEqual(
            dict.fromkeys(
                ('premium', 'database', 'archive'),
                'not selected: the volume is not created from an image',
            ),
            alternatives(explained),
        )

    def test_an_image_whose_tags_do_not_count(self):
        explained = explain(
            clouds.image('database', owner=clouds.THEM, visibility='shared')
        )
        self.assertEqual('general', explained.tier)
        self.assertEqual(
            (
                'not selected: the tags of this image do not count for the '
                'project'
            ),
            alternatives(explained)['database'],
        )
        self.assertIn('must be a member of the image', explained.notes[0])

    def test_a_tier_that_no_tag_asks_for(self):
        self.assertEqual(
            {
                'premium': 'no tag of the image selects it',
                'database': 'no tag of the image selects it',
                'general': (
                    'the fallback serves only volumes that select no other '
                    'tier'
                ),
            },
            alternatives(explain(clouds.image('archive'))),
        )

    def test_an_administrator_may_use_every_tier(self):
        explained = explain(clouds.image('premium'), is_admin=True)
        self.assertEqual('premium', explained.tier)

    def test_each_backend_has_a_verdict(self):
        wanted = 'expected <or> on-database <or> on-general'
        explained = explain(clouds.image('database'))
        self.assertEqual(
            [
                ('database', ('own', '')),
                (
                    'general',
                    (
                        'overflow',
                        (
                            "serves tier general, used when the tier's own "
                            'backends have no room'
                        ),
                    ),
                ),
                (
                    'archive',
                    ('no', f'volume_backend_name is on-archive, {wanted}'),
                ),
                (
                    'premium',
                    ('no', f'volume_backend_name is on-premium, {wanted}'),
                ),
            ],
            list(verdicts(explained).items()),
        )

    def test_tiers_that_overflow_in_a_circle_come_to_an_end(self):
        """As TierWeigher has it; the catalog refuses such tiers."""
        both = '<or> on-a <or> on-b'
        known = dataclasses.replace(
            clouds.CLOUD,
            types=(
                clouds.tier('a', backend=both, tags='a', tiers_overflow='b'),
                clouds.tier('b', backend=both, tags='b', tiers_overflow='a'),
            ),
            backends=(clouds.backend('a'), clouds.backend('b')),
        )
        explained = explain(clouds.image('a'), known=known)
        self.assertEqual(
            {'overflow'}, {one[0] for one in verdicts(explained).values()}
        )

    def test_the_overflow_of_a_type_that_is_no_tier_is_named_as_such(self):
        """As where the tiers file has ``take_over: false`` for it."""
        known = dataclasses.replace(
            clouds.CLOUD,
            types=(
                clouds.DATABASE,
                clouds.volume_type('general', backend='on-general'),
            ),
        )
        explained = explain(clouds.image('database'), known=known)
        self.assertEqual(
            {
                'database': 'own',
                'general': 'overflow',
                'archive': 'no',
                'premium': 'no',
            },
            {name: one[0] for name, one in verdicts(explained).items()},
        )

    def test_hidden_backends_are_none_and_not_no_backends(self):
        explained = explain(
            clouds.image('database'),
            known=dataclasses.replace(clouds.MEMBERS, backends=None),
        )
        self.assertEqual(
            (PlacementOutcome.PLACED, None),
            (explained.outcome, explained.judged),
        )


class TypeTestCase(testtools.TestCase):
    def test_a_requested_type_wins_and_its_backends_are_judged(self):
        explained = explain(clouds.image('database'), requested=clouds.FAST)
        self.assertEqual(
            (PlacementOutcome.PLACED, None, 'fast'),
            (explained.outcome, explained.tier, explained.volume_type),
        )
        self.assertEqual('own', verdicts(explained)['archive'][0])
        self.assertEqual(
            'not considered: the requested type does not follow the image '
            '(found=fast)',
            alternatives(explained)['database'],
        )

    def test_the_type_of_a_tier_is_named_as_such(self):
        explained = explain(clouds.image('database'), requested=clouds.ARCHIVE)
        self.assertEqual('archive', explained.tier)
        self.assertIn(
            'its volume type belongs to tier archive', explained.summary
        )
        self.assertNotIn('archive', alternatives(explained))

    def test_a_requested_type_that_follows_the_image_is_no_wish(self):
        explained = explain(
            clouds.image('database', type_ref='fast'),
            requested=clouds.FOLLOWING,
        )
        self.assertEqual('database', explained.tier)

    def test_what_the_requested_type_gives_the_tier_must_give_too(self):
        both = clouds.volume_type(
            'image-tier',
            tiers_follow_image='<is> True',
            multiattach='<is> True',
        )
        general = clouds.tier(
            'general', tiers_fallback='<is> True', multiattach='<is> True'
        )
        known = dataclasses.replace(
            clouds.CLOUD, types=(clouds.DATABASE, general, both)
        )
        explained = explain(
            clouds.image('database'), known=known, requested=both
        )
        self.assertEqual('general', explained.tier)
        self.assertEqual(
            'the volume type of the tier lacks what the volume needs '
            '(wanted=multiattach)',
            alternatives(explained)['database'],
        )

    def test_the_image_comes_before_the_default_of_the_project(self):
        known = dataclasses.replace(
            clouds.CLOUD,
            default_type=(
                facts.DefaultType(volume_type=clouds.ARCHIVE, is_projects=True)
            ),
        )
        explained = explain(
            clouds.image('database', type_ref='id-of-fast'), known=known
        )
        self.assertEqual('fast', explained.volume_type)
        self.assertEqual(decision.Rule.IMAGE_TYPE, explained.reasons[0].rule)
        explained = explain(clouds.image('database'), known=known)
        self.assertEqual('archive', explained.volume_type)
        self.assertEqual(decision.Rule.PROJECT_TYPE, explained.reasons[0].rule)

    def test_the_default_of_the_cloud_is_nobody_s_wish(self):
        known = dataclasses.replace(
            clouds.CLOUD,
            default_type=(
                facts.DefaultType(volume_type=clouds.FAST, is_projects=False)
            ),
        )
        self.assertEqual(
            'database', explain(clouds.image('database'), known=known).tier
        )


@ddt.ddt
class NotPlacedTestCase(testtools.TestCase):
    def test_a_refused_tag(self):
        explained = explain(clouds.image('premium', 'database'), policy=REFUSE)
        self.assertEqual(
            (PlacementOutcome.NOT_PLACED, None, None),
            (explained.outcome, explained.tier, explained.judged),
        )
        self.assertIn(
            (
                'refused: a tag that selects a tier without access is '
                'refused (tier=premium)'
            ),
            explained.summary,
        )
        self.assertEqual(
            'selected, but the tier with the highest priority is refused',
            alternatives(explained)['database'],
        )

    def test_a_tier_without_a_backend_that_is_up(self):
        known = dataclasses.replace(
            clouds.CLOUD, backends=(clouds.backend('archive'),)
        )
        explained = explain(clouds.image('database'), known=known)
        self.assertEqual(
            (PlacementOutcome.NOT_PLACED, 'database'),
            (explained.outcome, explained.tier),
        )
        self.assertIn('no backend that is up qualifies', explained.summary)

    @ddt.data(
        # No tag selects a tier, and no fallback is applied.
        (clouds.FOLLOWING, 'the project may not use'),
        # As the type that Cinder itself makes.
        (clouds.volume_type('__DEFAULT__'), 'the type of none of them'),
    )
    @ddt.unpack
    def test_only_backends_of_private_tiers_are_left(self, requested, why):
        """TierFilter removes them where no tier is chosen."""
        known = dataclasses.replace(
            clouds.CLOUD,
            types=(clouds.PREMIUM, requested),
            backends=(clouds.backend('premium'),),
        )
        explained = explain(known=known, requested=requested)
        self.assertEqual(PlacementOutcome.NOT_PLACED, explained.outcome)
        verdict, reason = verdicts(explained)['premium']
        self.assertEqual('no', verdict)
        self.assertIn(why, reason)
        # Another backend is for all.
        known = dataclasses.replace(known, backends=clouds.CLOUD.backends)
        explained = explain(known=known, requested=requested)
        self.assertEqual(PlacementOutcome.PLACED, explained.outcome)
        self.assertEqual('no', verdicts(explained)['premium'][0])
        self.assertEqual('own', verdicts(explained)['archive'][0])
        self.assertEqual(
            'own',
            verdicts(explain(known=known, requested=requested, is_admin=True))[
                'premium'
            ][0],
        )

    def test_a_private_backend_is_open_to_its_project_by_a_following_type(
        self,
    ):
        known = dataclasses.replace(
            clouds.CLOUD,
            types=(clouds.PREMIUM, clouds.FOLLOWING),
            backends=(clouds.backend('premium'),),
        )
        explained = explain(
            known=known, requested=clouds.FOLLOWING, project=clouds.THEM
        )
        self.assertEqual(PlacementOutcome.PLACED, explained.outcome)

    def test_a_tier_that_cannot_be_read_leaves_its_backends_closed(self):
        known = dataclasses.replace(
            clouds.CLOUD,
            types=(
                clouds.tier('premium', priority='high', projects=['them']),
                clouds.FOLLOWING,
            ),
            backends=(clouds.backend('premium'),),
        )
        explained = explain(known=known, requested=clouds.FOLLOWING)
        self.assertEqual(PlacementOutcome.NOT_PLACED, explained.outcome)
        self.assertIn('no fallback tier is applied', explained.summary)

    def test_a_type_that_no_backend_serves(self):
        self.assertEqual(
            PlacementOutcome.NOT_PLACED,
            explain(requested=clouds.NOWHERE).outcome,
        )

    def test_a_type_that_the_image_names_and_that_is_not_there(self):
        explained = explain(clouds.image('database', type_ref='gone'))
        self.assertEqual(PlacementOutcome.NOT_PLACED, explained.outcome)
        self.assertIn(
            'names gone, a volume type that does not exist', explained.summary
        )

    def test_a_private_image_of_others(self):
        image = clouds.image('database', owner=clouds.THEM)
        explained = explain(image)
        self.assertEqual(PlacementOutcome.NOT_PLACED, explained.outcome)
        self.assertIn('not visible to this project', explained.summary)
        self.assertEqual('general', explain(image, is_admin=True).tier)

    def test_a_type_without_access(self):
        explained = explain(requested=clouds.PREMIUM)
        self.assertEqual(PlacementOutcome.NOT_PLACED, explained.outcome)
        self.assertIn('no access to volume type premium', explained.summary)
        self.assertEqual(
            PlacementOutcome.PLACED,
            explain(requested=clouds.PREMIUM, project=clouds.THEM).outcome,
        )


class CinderAloneTestCase(testtools.TestCase):
    def test_no_tiers(self):
        known = dataclasses.replace(
            clouds.CLOUD, types=(clouds.FAST,), default_type=None
        )
        explained = explain(clouds.image('database'), known=known)
        self.assertEqual(
            (PlacementOutcome.PLACED, None, ()),
            (explained.outcome, explained.tier, explained.alternatives),
        )
        self.assertIn(
            'Cinder without a tier: no tier is applied', explained.summary
        )
        self.assertEqual(
            {'unknown'}, {one[0] for one in verdicts(explained).values()}
        )

    def test_an_image_of_a_server_that_booted_from_a_volume(self):
        explained = explain(clouds.image('database', stands_for_snapshot=True))
        self.assertEqual(PlacementOutcome.PLACED, explained.outcome)
        self.assertIn('already fixed (found=snapshot)', explained.summary)

    def test_a_type_that_cannot_be_read_is_left_out_and_named(self):
        known = dataclasses.replace(
            clouds.CLOUD,
            types=(
                *clouds.CLOUD.types,
                clouds.tier('x', priority='high'),
                dataclasses.replace(clouds.ARCHIVE, name='zz', type_id='zz'),
            ),
        )
        explained = explain(known=known)
        self.assertEqual('general', explained.tier)
        self.assertEqual(2, len(explained.notes))
        self.assertIn("tiers:priority is 'high'", explained.notes[0])
        self.assertIn(
            "'zz' has the extra spec tiers:name='archive', and so has "
            "'archive'",
            explained.notes[1],
        )


@ddt.ddt
class UnknownTestCase(testtools.TestCase):
    """What a member cannot see is not guessed."""

    def assert_unknown(self, explained, *parts):
        self.assertEqual(
            (PlacementOutcome.UNKNOWN, None, ()),
            (explained.outcome, explained.tier, explained.alternatives),
        )
        for part in parts:
            self.assertIn(part, explained.summary)

    @ddt.data(None, clouds.image('database'))
    def test_without_extra_specs_nothing_is_known(self, image):
        explained = explain(image, known=clouds.TENANTS)
        self.assert_unknown(explained, 'hidden from this user')
        self.assertEqual(
            (
                'volume types that can be named instead: archive, database, '
                'fast, general, image-tier, nowhere',
            ),
            explained.notes,
        )

    def test_not_even_of_a_requested_type(self):
        requested = clouds.TENANTS.find_type('fast')
        self.assert_unknown(explain(known=clouds.TENANTS, requested=requested))

    def test_but_a_place_that_is_fixed_is(self):
        explained = explain(
            clouds.image('x', stands_for_snapshot=True), known=clouds.TENANTS
        )
        self.assertEqual(PlacementOutcome.PLACED, explained.outcome)

    def test_a_member_who_sees_extra_specs_is_told(self):
        explained = explain(
            clouds.image('premium', 'archive'), known=clouds.MEMBERS
        )
        self.assertEqual(
            (PlacementOutcome.PLACED, 'archive'),
            (explained.outcome, explained.tier),
        )
        self.assertNotIn(
            'premium',
            str(
                (
                    explained.summary,
                    explained.reasons,
                    explained.alternatives,
                    explained.notes,
                )
            ),
        )

    def test_but_not_where_a_hidden_tier_may_be_a_refusal(self):
        explained = explain(
            clouds.image('x'), known=clouds.MEMBERS, policy=REFUSE
        )
        self.assert_unknown(explained, 'such tiers are hidden')
        self.assertEqual(
            'general',
            explain(clouds.image(), known=clouds.MEMBERS, policy=REFUSE).tier,
        )

    def test_nor_where_the_fall_back_may_be_hidden(self):
        known = dataclasses.replace(clouds.MEMBERS, types=(clouds.DATABASE,))
        self.assert_unknown(explain(known=known), 'there may be hidden tiers')

    def test_nor_where_the_default_may_be_a_wish(self):
        known = dataclasses.replace(
            clouds.MEMBERS,
            default_type=(
                facts.DefaultType(volume_type=clouds.FAST, is_projects=None)
            ),
        )
        self.assert_unknown(explain(known=known), 'default volume type fast')
        self.assertEqual(
            'fast', explain(known=known, requested=clouds.FAST).volume_type
        )

    def test_nor_where_access_lists_are_hidden_and_matter(self):
        known = dataclasses.replace(
            clouds.CLOUD,
            hidden=(facts.TYPE_ACCESS,),
            types=tuple(
                dataclasses.replace(one, projects=one.projects and frozenset())
                for one in clouds.CLOUD.types
            ),
        )
        self.assert_unknown(
            explain(clouds.image('premium'), known=known),
            'which projects have access',
        )
        self.assert_unknown(
            explain(known=known, requested=known.find_type('premium'))
        )
        self.assertEqual(
            'archive', explain(clouds.image('archive'), known=known).tier
        )


class MetadataTestCase(testtools.TestCase):
    """What is said of a tier that metadata select, or do not."""

    POLICY = decision.Policy(metadata_key='tier')

    def alternatives(self, explained):
        return {one.tier: one.why for one in explained.alternatives}

    def test_other_tiers_are_not_the_ones_that_they_select(self):
        explained = explain(policy=self.POLICY, metadata={'tier': 'archive'})
        self.assertEqual('archive', explained.tier)
        self.assertEqual(
            {
                'premium': 'the metadata of the volume select another tier',
                'database': 'the metadata of the volume select another tier',
                'general': (
                    'the fallback serves only volumes that select no other '
                    'tier'
                ),
            },
            self.alternatives(explained),
        )

    def test_beside_an_image_they_come_second_or_do_not_count(self):
        for with_image, why, notes in (
            (
                True,
                'a tag of the image comes before the metadata of the volume',
                (),
            ),
            (
                False,
                'no tag of the image selects it',
                (
                    'metadata do not count for a volume from an image: '
                    'metadata_with_image is off',
                ),
            ),
        ):
            explained = explain(
                clouds.image('archive'),
                policy=dataclasses.replace(
                    self.POLICY, metadata_with_image=with_image
                ),
                metadata={'tier': 'database'},
            )
            self.assertEqual('archive', explained.tier)
            self.assertEqual(why, self.alternatives(explained)['database'])
            self.assertEqual(notes, explained.notes)

    def test_a_closed_default_type_that_is_last_refuses_no_tier(self):
        known = dataclasses.replace(
            clouds.CLOUD,
            default_type=facts.DefaultType(
                volume_type=clouds.PREMIUM, is_projects=True
            ),
        )
        for project_type, outcome, tier in (
            ('first', PlacementOutcome.NOT_PLACED, None),
            ('last', PlacementOutcome.PLACED, 'archive'),
        ):
            explained = explain(
                known=known,
                policy=dataclasses.replace(
                    self.POLICY,
                    project_type=decision.ProjectType(project_type),
                ),
                metadata={'tier': 'archive'},
            )
            self.assertEqual(
                (outcome, tier), (explained.outcome, explained.tier)
            )
        self.assertEqual(
            PlacementOutcome.NOT_PLACED,
            explain(
                known=known,
                policy=decision.Policy(project_type=decision.ProjectType.LAST),
            ).outcome,
        )
