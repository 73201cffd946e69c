# SPDX-License-Identifier: Apache-2.0

"""Choice of the tier that serves a volume, as one pure function.

API middleware, filter and `openstack tier explain` call `decide()`, so an
explanation is what happens. Must not know where its arguments came from
(Cinder, Glance, a test), nor what a backend is: it picks a tier, its caller
finds the backends. Specified by tests/cases/placement.
"""

import collections.abc
import types

from cinder_tiers.domain.placement import decision
from cinder_tiers.domain.placement.decision import Feature
from cinder_tiers.domain.placement.decision import PlacementDecision
from cinder_tiers.domain.placement.decision import Reason
from cinder_tiers.domain.placement.decision import RequestVerdict
from cinder_tiers.domain.placement.decision import Rule
from cinder_tiers.domain import tags

#: Default policies of the operator.
DEFAULT_POLICY = decision.Policy()

#: {source of the type: rule by which its type overrides the image}
_TYPE_RULES = types.MappingProxyType(
    {
        decision.TypeSource.REQUEST: Rule.EXPLICIT_TYPE,
        decision.TypeSource.IMAGE: Rule.IMAGE_TYPE,
        decision.TypeSource.PROJECT: Rule.PROJECT_TYPE,
    }
)


def decide(
    *,
    tiers: collections.abc.Iterable[decision.AppliedTier],
    request: decision.Request,
    policy: decision.Policy = DEFAULT_POLICY,
    has_unreadable: bool = False,
) -> PlacementDecision:
    """Return the tier that serves a volume.

    A volume whose named type does not follow the image is left alone; one
    whose place is fixed goes there. Otherwise, the tier is the first of these:
    the tier of the highest priority that a tag of the image selects, that the
    project may use, that has a backend in the availability zone and gives what
    the volume needs; if the operator enables it, the same by the metadata of
    the volume, and then the default type of the project; the fallback tier of
    the zone. Without such a fallback (an apply under way) no tier is chosen. A
    project that may not even use the fallback is refused, and so is a volume
    that would lose its encryption key.

    :param tiers: all applied tiers, each name once, in any order. The catalog
        rejects equal priorities; here the tier whose volume type has its name
        wins, then the name that sorts first, so the answer never depends on
        the order.
    :param has_unreadable: whether a volume type claims to be a tier and cannot
        be read, so it is not among `tiers`.
    :returns: decision with all its reasons. No text in the arguments raises an
        error.
    """
    settled = _settled(request)
    is_last = settled is not None and _is_project_type_last(settled, policy)
    if settled is not None and not is_last:
        return settled
    ranked = _rank(tiers)
    if not ranked and not has_unreadable:
        return _not_ours(Reason(rule=Rule.NO_TIERS))
    if _lacks_key(request):
        return _refused([Reason(rule=Rule.KEY_NEEDED)])
    by_image, reasons = _asked_for(ranked, request, policy)
    by_metadata, more = _asked_by_metadata(ranked, request, policy)
    asked = by_image + [one for one in by_metadata if one not in by_image]
    reasons += more
    obstacles = [_obstacle(tier, request) for tier in asked]
    reasons += [obstacle for obstacle in obstacles if obstacle is not None]
    usable = [
        tier
        for tier, obstacle in zip(asked, obstacles, strict=True)
        if obstacle is None
    ]
    # Obstacles of the tiers before the chosen one.
    before = obstacles[: obstacles.index(None)] if usable else obstacles
    closed = [
        obstacle.tier
        for obstacle in before
        if obstacle is not None and obstacle.rule is Rule.NO_ACCESS
    ]
    if closed and policy.on_no_access is decision.OnNoAccess.REFUSE:
        return _refused(
            [*reasons, Reason(rule=Rule.ACCESS_NEEDED, tier=closed[0])]
        )
    if not usable and settled is not None:
        return _not_ours(*reasons, *settled.reasons)
    if not usable:
        return _fall_back(ranked, request, reasons)
    reasons += [
        Reason(rule=Rule.IMAGE_FIRST, tier=tier.name)
        if usable[0] in by_image and tier not in by_image
        else Reason(
            rule=Rule.LOWER_PRIORITY,
            tier=tier.name,
            found=tier.priority,
            wanted=usable[0].priority,
        )
        for tier in usable[1:]
    ]
    return _serve(usable[0], ranked, reasons)


def decide_on_error(
    *,
    on_error: decision.OnError,
    tiers: (collections.abc.Iterable[decision.AppliedTier] | None),
    request: decision.Request,
    policy: decision.Policy = DEFAULT_POLICY,
) -> PlacementDecision:
    """Return the decision if `decide()` could not be called, or failed.

    A volume that moves is not sent to the fallback tier because of an error:
    the place that the administrator chose is as good. Nor does a volume get
    the type of the fallback tier if the image that could not be read may name
    a volume type of its own, or bring a key that the type would drop. It does
    so for an image that Glance refuses: Glance refuses it to Cinder, too,
    unless the tenant makes the image appear between both requests, and then
    the volume must not end without a tier. If this might drop a key, the
    request is refused.

    :param on_error: policy of the operator.
    :param tiers: applied tiers, in any order; None if they could not be read.
        Then the backends of private tiers are unknown, too, and
        cinder-scheduler refuses, because nothing after it keeps a volume off
        them.
    :param request: the request, as far as it is known.
    :param policy: other policies of the operator.
    :returns: decision with its reasons. The first is `Rule.ERROR` or
        `Rule.IMAGE_REFUSED`, unless there was nothing to decide.
    """
    settled = _settled(request)
    is_refused = request.is_refused and not request.moves
    error = Reason(rule=Rule.IMAGE_REFUSED if is_refused else Rule.ERROR)
    if settled is not None and (
        tiers is not None or settled.verdict is RequestVerdict.NOT_OURS
    ):
        if _is_project_type_last(settled, policy):
            return (
                _refused([error])
                if on_error is decision.OnError.FAIL
                else _not_ours(error, *settled.reasons)
            )
        # The type of the project does not count yet, as the image might name
        # one.
        if is_refused and settled.because_of(Rule.PROJECT_TYPE):
            return _not_ours(error, *settled.reasons)
        return settled
    if on_error is decision.OnError.FAIL:
        return _refused([error])
    if tiers is None:
        reasons = [error, Reason(rule=Rule.TIERS_UNKNOWN)]
        return _refused(reasons) if request.keeps_type else _undecided(reasons)
    if on_error is decision.OnError.PASS or request.moves:
        return _undecided([error])
    if request.may_name_type and not is_refused:
        return _undecided([error, Reason(rule=Rule.IMAGE_UNREAD)])
    decided = _fall_back(_rank(tiers), request, [error])
    if (
        request.may_bring_key
        and decided.tier is not None
        and Feature.ENCRYPTION not in decided.tier.offers
    ):
        return (
            _refused([error])
            if is_refused
            else _undecided([error, Reason(rule=Rule.IMAGE_UNREAD)])
        )
    return decided


def _settled(request: decision.Request) -> PlacementDecision | None:
    """Return the decision if the request leaves nothing to decide."""
    named = request.named_type
    other = named if named and not named.follows_image else None
    if request.fixed_by is not None:
        reason = Reason(rule=Rule.FIXED, found=request.fixed_by.value)
        if other is None and request.fixed_by is not (
            decision.FixedBy.EXISTING_VOLUME
        ):
            return _undecided([reason])
        return _not_ours(reason)
    if other is not None:
        return _not_ours(
            Reason(rule=_TYPE_RULES[other.source], found=other.name)
        )
    return None


def _is_project_type_last(
    settled: PlacementDecision, policy: decision.Policy
) -> bool:
    """Return whether the settled type yields to any selected tier."""
    return (
        policy.project_type is decision.ProjectType.LAST
        and settled.because_of(Rule.PROJECT_TYPE)
    )


def _lacks_key(request: decision.Request) -> bool:
    """Return whether a volume that keeps its type has no encryption key."""
    return request.keeps_type and (
        Feature.ENCRYPTION in request.needs - request.cinder_offers
    )


def _obstacle(
    tier: decision.AppliedTier,
    request: decision.Request,
) -> Reason | None:
    """Return why a tier cannot serve a request; None if it can."""
    # A tier in another zone does not count, regardless of access.
    if not tier.is_in_zone(request):
        return Reason(rule=Rule.NOT_IN_ZONE, tier=tier.name)
    if not tier.serves(request):
        return Reason(rule=Rule.NO_ACCESS, tier=tier.name)
    if request.keeps_type:
        return None
    lacking = request.needs - tier.offers
    if lacking:
        names = ', '.join(sorted(feature.value for feature in lacking))
        return Reason(rule=Rule.LACKS_FEATURE, tier=tier.name, wanted=names)
    return None


def _rank(
    tiers: collections.abc.Iterable[decision.AppliedTier],
) -> list[decision.AppliedTier]:
    return sorted(
        tiers,
        key=lambda tier: (-tier.priority, tier.is_renamed, tier.name),
    )


def _not_ours(*reasons: Reason) -> PlacementDecision:
    return PlacementDecision(verdict=RequestVerdict.NOT_OURS, reasons=reasons)


def _undecided(reasons: list[Reason]) -> PlacementDecision:
    return PlacementDecision(
        verdict=RequestVerdict.UNDECIDED, reasons=tuple(reasons)
    )


def _refused(reasons: list[Reason]) -> PlacementDecision:
    return PlacementDecision(
        verdict=RequestVerdict.REFUSED, reasons=tuple(reasons)
    )


def _serve(
    tier: decision.AppliedTier,
    ranked: list[decision.AppliedTier],
    reasons: list[Reason],
) -> PlacementDecision:
    overflow = next(
        (
            other
            for other in ranked
            if other.name == tier.overflow != tier.name
        ),
        None,
    )
    if tier.overflow:
        reasons.append(
            Reason(
                rule=Rule.OVERFLOW if overflow else Rule.OVERFLOW_MISSING,
                tier=tier.name,
                found=tier.overflow,
            )
        )
    return PlacementDecision(
        verdict=RequestVerdict.TIER,
        tier=tier,
        overflow=overflow,
        reasons=tuple(reasons),
    )


def _asked_for(
    ranked: list[decision.AppliedTier],
    request: decision.Request,
    policy: decision.Policy,
) -> tuple[list[decision.AppliedTier], list[Reason]]:
    """Return the tiers that an image selects, and the reasons."""
    image = request.image
    if image is None:
        return [], [Reason(rule=Rule.NO_IMAGE)]
    if not image.is_trusted_by(request.project, policy.tag_trust):
        return [], [
            Reason(
                rule=Rule.FOREIGN_IMAGE,
                found=image.visibility,
                wanted=policy.tag_trust.value,
            )
        ]
    wanted = {tags.normalize_tag(tag) for tag in image.tags}
    asked = [tier for tier in ranked if tier.tags & wanted]
    if not asked:
        return [], [Reason(rule=Rule.NO_TIER_TAG, found=len(image.tags))]
    return asked, [
        Reason(
            rule=Rule.TAG,
            tier=tier.name,
            found=tags.format_tags(tier.tags & wanted),
        )
        for tier in asked
    ]


def _asked_by_metadata(
    ranked: list[decision.AppliedTier],
    request: decision.Request,
    policy: decision.Policy,
) -> tuple[list[decision.AppliedTier], list[Reason]]:
    """Return the tiers that volume metadata select, and the reasons."""
    if (
        policy.metadata_key is None
        or request.metadata_tag is None
        or (request.image is not None and not policy.metadata_with_image)
    ):
        return [], []
    wanted = tags.normalize_tag(request.metadata_tag)
    asked = [tier for tier in ranked if wanted in tier.tags]
    if not asked:
        return [], [Reason(rule=Rule.NO_TIER_METADATA)]
    return asked, [
        Reason(rule=Rule.METADATA, tier=tier.name, found=wanted)
        for tier in asked
    ]


def _fall_back(
    ranked: list[decision.AppliedTier],
    request: decision.Request,
    reasons: list[Reason],
) -> PlacementDecision:
    """Return the decision for the fallback tier, or without one."""
    zone = request.zone or request.default_zone
    # Tiers restricted to the zone come first, those of other zones last.
    fallbacks = sorted(
        (tier for tier in ranked if tier.fallback),
        key=lambda tier: (
            1
            if tier.type_zones is None
            else 0
            if zone is None or zone in tier.type_zones
            else 2,
            tier.is_renamed,
        ),
    )
    if not fallbacks:
        reasons.append(Reason(rule=Rule.NO_FALLBACK))
    is_closed = False
    for tier in fallbacks:
        obstacle = _obstacle(tier, request)
        if obstacle is None:
            reasons.append(Reason(rule=Rule.FALLBACK, tier=tier.name))
            return _serve(tier, ranked, reasons)
        reasons.append(obstacle)
        is_closed |= obstacle.rule is Rule.NO_ACCESS
    if is_closed:
        return _refused(reasons)
    if Feature.ENCRYPTION in request.needs - request.cinder_offers:
        return _refused([*reasons, Reason(rule=Rule.KEY_NEEDED)])
    return _undecided(reasons)
