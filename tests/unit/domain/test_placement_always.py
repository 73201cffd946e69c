# SPDX-License-Identifier: Apache-2.0

"""What holds of placement whatever is asked.

Plain values only: runs in an environment without Cinder.
"""

import dataclasses
import operator

from hypothesis import example
from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.domain.placement import decide as placement
from cinder_tiers.domain.placement import decision
from cinder_tiers.domain import tags

KNOWN_TAGS = ('x', 'y', 'z', 'caf\xe9')
PROJECTS = ('us', 'them')

#: Any characters, lone surrogates and control characters among them.
HOSTILE = strategies.text(strategies.characters(), max_size=255)
PRINTABLE = strategies.text(
    strategies.characters(exclude_categories=('C', 'Z')),
    min_size=1,
    max_size=8,
)
VISIBILITIES = strategies.sampled_from(
    ('public', 'community', 'shared', 'private')
)
ZONES = strategies.sampled_from(('az1', 'az2'))
SELDOM_ZONES = (
    strategies.none() | strategies.none() | (strategies.frozensets(ZONES))
)
FEATURES = strategies.frozensets(strategies.sampled_from(decision.Feature))
SELDOM = strategies.integers(0, 7).map(lambda number: number == 7)
#: What a tenant types: hostile, or a tag of a tier in one of its spellings.
TYPED_TAG = HOSTILE | strategies.sampled_from(
    KNOWN_TAGS + (' X ', 'Y\n', 'CAFE\u0301', 'x,y')
)
TYPED_TAGS = strategies.frozensets(TYPED_TAG, max_size=128)


def tiers(names=PRINTABLE):
    """Lists of tiers with different names, as the catalog makes them."""
    return strategies.lists(
        strategies.builds(
            decision.AppliedTier,
            name=names,
            tags=strategies.frozensets(strategies.sampled_from(KNOWN_TAGS)),
            priority=strategies.integers(-3, 3),
            fallback=strategies.booleans(),
            overflow=strategies.none() | names,
            projects=strategies.none()
            | strategies.frozensets(strategies.sampled_from(PROJECTS)),
            offers=FEATURES,
            type_zones=SELDOM_ZONES,
            backend_zones=SELDOM_ZONES,
        ),
        max_size=6,
        unique_by=lambda tier: tier.name,
    ).flatmap(link_overflows)


def link_overflows(found):
    """Lets most overflows name a tier that there is."""
    names = [tier.name for tier in found]
    return strategies.tuples(
        *(
            strategies.sampled_from([tier.overflow, *names]).map(
                lambda name, tier=tier: dataclasses.replace(
                    tier, overflow=name
                )
            )
            for tier in found
        )
    ).map(list)


def requests(visibilities=VISIBILITIES, type_names=PRINTABLE):
    """Requests, most of them for a volume of an image without a wish.

    :param visibilities: strategy of the visibility of images.
    :param type_names: strategy of the names of volume types.
    """
    owners = strategies.sampled_from(PROJECTS)
    return strategies.builds(
        decision.Request,
        project=owners | HOSTILE,
        is_admin=SELDOM,
        moves=strategies.booleans(),
        zone=strategies.none() | ZONES,
        default_zone=strategies.none() | ZONES,
        has=SELDOM.flatmap(
            lambda has: FEATURES if has else strategies.just(frozenset())
        ),
        cinder_offers=FEATURES,
        keeps_type=strategies.booleans(),
        may_name_type=SELDOM,
        may_bring_key=SELDOM,
        metadata_tag=strategies.none() | TYPED_TAG,
        fixed_by=SELDOM.flatmap(
            lambda is_fixed: (
                strategies.sampled_from(decision.FixedBy)
                if is_fixed
                else strategies.none()
            )
        ),
        named_type=strategies.none()
        | strategies.builds(
            decision.NamedType,
            source=strategies.sampled_from(decision.TypeSource),
            follows_image=SELDOM.map(operator.not_),
            name=strategies.none() | type_names,
        ),
        image=SELDOM.flatmap(
            lambda is_blank: (
                strategies.none()
                if is_blank
                else images(owners | HOSTILE, visibilities)
            )
        ),
    )


def images(owners, visibilities):
    return strategies.builds(
        decision.Image,
        owner=strategies.none() | owners,
        visibility=visibilities,
        tags=TYPED_TAGS,
        brings_key=SELDOM,
    )


POLICIES = strategies.builds(
    decision.Policy,
    tag_trust=strategies.sampled_from(decision.TagTrust),
    on_no_access=strategies.sampled_from(decision.OnNoAccess),
    metadata_key=strategies.none() | strategies.just('tier'),
    metadata_with_image=strategies.booleans(),
    project_type=strategies.sampled_from(decision.ProjectType),
)
ON_ERRORS = strategies.sampled_from(decision.OnError)

#: As much as Glance accepts, and all of it unwelcome.
WORST_IMAGE = decision.Image(
    owner='\ud800\x00',
    visibility='public',
    tags=frozenset(
        f'{chr(0xD800 + number)}\r\n\x1b[2J\u202e'.ljust(255, '\U0010ffff')
        for number in range(128)
    ),
)


def both_decisions(found, request, policy, on_error):
    return (
        placement.decide(tiers=found, request=request, policy=policy),
        placement.decide_on_error(
            tiers=found, request=request, on_error=on_error, policy=policy
        ),
    )


def asked_by(request, policy):
    """Tags of a request that count, in normal form."""
    image = request.image
    if image is None or not image.is_trusted_by(
        request.project, policy.tag_trust
    ):
        return set()
    return {tags.normalize_tag(tag) for tag in image.tags}


def asked_in_turn(request, policy):
    """The same, of the image and then of the metadata."""
    yield asked_by(request, policy)
    if (
        policy.metadata_key is not None
        and request.metadata_tag is not None
        and (request.image is None or policy.metadata_with_image)
    ):
        yield {tags.normalize_tag(request.metadata_tag)}


class AlwaysTestCase(testtools.TestCase):
    @given(tiers(), requests(), POLICIES, ON_ERRORS)
    def test_no_project_gets_a_tier_that_it_may_not_use(
        self, found, request, policy, on_error
    ):
        for decided in both_decisions(found, request, policy, on_error):
            self.assertEqual(
                decided.verdict is decision.RequestVerdict.TIER,
                decided.tier is not None,
            )
            if decided.tier is not None:
                self.assertIn(decided.tier, found)
                self.assertTrue(
                    decided.tier.projects is None
                    or request.is_admin
                    or request.project in decided.tier.projects
                )

    @given(tiers(), requests(), POLICIES, ON_ERRORS, strategies.randoms())
    def test_the_order_of_tiers_does_not_matter(
        self, found, request, policy, on_error, random
    ):
        shuffled = random.sample(found, len(found))
        self.assertEqual(
            both_decisions(found, request, policy, on_error),
            both_decisions(shuffled, request, policy, on_error),
        )

    @given(tiers(), requests(), POLICIES, strategies.randoms())
    def test_the_order_of_tags_does_not_matter(
        self, found, request, policy, random
    ):
        """Sets of equal tags that were filled in different orders."""
        if request.image is None:
            return
        shuffled = sorted(request.image.tags)
        random.shuffle(shuffled)
        again = dataclasses.replace(
            request,
            image=dataclasses.replace(request.image, tags=frozenset(shuffled)),
        )
        self.assertEqual(
            placement.decide(tiers=found, request=request, policy=policy),
            placement.decide(tiers=found, request=again, policy=policy),
        )

    @given(
        tiers(names=HOSTILE),
        requests(visibilities=HOSTILE, type_names=HOSTILE),
        POLICIES,
        ON_ERRORS,
    )
    @example(
        [],
        decision.Request(project='\ud800', image=WORST_IMAGE),
        decision.Policy(),
        decision.OnError.FALLBACK,
    )
    @example(
        [decision.AppliedTier(name='\x00', fallback=True)],
        decision.Request(project='\ud800', image=WORST_IMAGE),
        decision.Policy(),
        decision.OnError.FALLBACK,
    )
    def test_no_text_makes_it_raise(self, found, request, policy, on_error):
        for decided in both_decisions(found, request, policy, on_error):
            self.assertNotEqual((), decided.reasons)
            self.assertIsInstance(str(decided), str)

    @given(tiers(), requests(), POLICIES, ON_ERRORS)
    @example(
        [decision.AppliedTier(name='general', fallback=True)],
        decision.Request(project='us', image=WORST_IMAGE),
        decision.Policy(),
        decision.OnError.FALLBACK,
    )
    def test_what_tenants_type_is_not_repeated(
        self, found, request, policy, on_error
    ):
        for decided in both_decisions(found, request, policy, on_error):
            self.assertTrue(str(decided).isprintable(), repr(str(decided)))
            for reason in decided.reasons:
                self.assertIn(
                    reason.tier, [None] + [tier.name for tier in found]
                )
                if reason.rule in (
                    decision.Rule.TAG,
                    decision.Rule.METADATA,
                ):
                    self.assertLessEqual(
                        set(reason.found.split(',')), set(KNOWN_TAGS)
                    )

    @given(tiers(), requests(), POLICIES)
    @example(
        [
            decision.AppliedTier(
                name='high',
                tags=frozenset('x'),
                priority=1,
                projects=frozenset(),
            ),
            decision.AppliedTier(name='low', tags=frozenset('x')),
        ],
        decision.Request(
            project='us',
            image=decision.Image(
                owner='us', visibility='private', tags=frozenset('x')
            ),
        ),
        decision.Policy(),
    )
    def test_a_refused_tag_is_never_served_by_a_lower_tier(
        self, found, request, policy
    ):
        policy = dataclasses.replace(
            policy, on_no_access=decision.OnNoAccess.REFUSE
        )
        decided = placement.decide(tiers=found, request=request, policy=policy)
        wanted = asked_by(request, policy)
        if decided.tier is None or not wanted:
            return
        for tier in found:
            if (
                tier.tags & wanted
                and not tier.serves(request)
                # One of another zone is not asked, nor does it refuse.
                and tier.is_in_zone(request)
            ):
                self.assertFalse(decided.tier.tags.isdisjoint(wanted))
                self.assertGreaterEqual(decided.tier.priority, tier.priority)

    @given(tiers(), requests(), POLICIES)
    def test_the_highest_usable_tier_that_is_asked_for_wins(
        self, found, request, policy
    ):
        decided = placement.decide(tiers=found, request=request, policy=policy)
        usable = [
            [
                tier.priority
                for tier in found
                if tier.tags & wanted
                and tier.serves(request)
                and tier.is_in_zone(request)
                and (request.keeps_type or request.needs <= tier.offers)
            ]
            for wanted in asked_in_turn(request, policy)
        ]
        first = next((one for one in usable if one), None)
        if decided.tier is not None:
            self.assertTrue(
                decided.tier.priority == max(first)
                if first
                else decided.tier.fallback
            )

    @given(tiers(), requests(), POLICIES, ON_ERRORS)
    def test_an_overflow_is_another_tier_that_the_tier_names(
        self, found, request, policy, on_error
    ):
        for decided in both_decisions(found, request, policy, on_error):
            self.assertEqual(
                decided.overflow is not None,
                decided.because_of(decision.Rule.OVERFLOW),
            )
            if decided.overflow is not None:
                self.assertIn(decided.overflow, found)
                self.assertEqual(decided.tier.overflow, decided.overflow.name)
                self.assertNotEqual(decided.tier, decided.overflow)

    @given(tiers(), requests(), POLICIES)
    def test_what_is_fixed_or_named_is_never_touched(
        self, found, request, policy
    ):
        decided = placement.decide(tiers=found, request=request, policy=policy)
        named = request.named_type
        if request.fixed_by or named and not named.follows_image:
            self.assertIn(
                decided.verdict,
                (
                    decision.RequestVerdict.NOT_OURS,
                    decision.RequestVerdict.UNDECIDED,
                ),
            )
        if named and not named.follows_image:
            self.assertIs(decision.RequestVerdict.NOT_OURS, decided.verdict)

    @given(tiers(), requests(), POLICIES, ON_ERRORS)
    def test_no_key_is_dropped(self, found, request, policy, on_error):
        """What needs a key is encrypted, or refused, or not ours."""
        decided = placement.decide(
            tiers=found, request=request, policy=policy, has_unreadable=True
        )
        encryption = decision.Feature.ENCRYPTION
        if encryption not in request.needs or request.fixed_by:
            return
        if decided.verdict is decision.RequestVerdict.UNDECIDED or (
            decided.tier is not None and request.keeps_type
        ):
            self.assertIn(encryption, request.cinder_offers)
        elif decided.tier is not None:
            self.assertIn(encryption, decided.tier.offers)

    @given(tiers(), requests(), POLICIES, ON_ERRORS)
    def test_a_tier_has_a_backend_in_the_zone(
        self, found, request, policy, on_error
    ):
        for decided in both_decisions(found, request, policy, on_error):
            if decided.tier is not None:
                self.assertTrue(decided.tier.is_in_zone(request))

    @given(requests(), ON_ERRORS)
    def test_without_tiers_cinder_scheduler_places_nothing_that_is_ours(
        self, request, on_error
    ):
        request = dataclasses.replace(request, keeps_type=True)
        decided = placement.decide_on_error(
            tiers=None, request=request, on_error=on_error
        )
        named = request.named_type
        if named is None or named.follows_image:
            self.assertIn(
                decided.verdict,
                (
                    decision.RequestVerdict.REFUSED,
                    decision.RequestVerdict.NOT_OURS,
                ),
            )
            self.assertEqual(
                decided.verdict is decision.RequestVerdict.NOT_OURS,
                request.fixed_by is decision.FixedBy.EXISTING_VOLUME,
            )

    @given(tiers(), requests(), POLICIES)
    def test_every_tier_has_at_most_one_reason_to_lose(
        self, found, request, policy
    ):
        decided = placement.decide(tiers=found, request=request, policy=policy)
        losers = [
            reason.tier
            for reason in decided.reasons
            if reason.rule is decision.Rule.LOWER_PRIORITY
        ]
        self.assertEqual(len(losers), len(set(losers)))
        if decided.tier is not None:
            self.assertNotIn(decided.tier.name, losers)
