# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Which tier serves a volume: the rules, as one pure function.

Both doors and `openstack tier explain` call `decide()`, so that what is
explained is what happens. Must not know where its arguments came from
(Cinder, Glance, a test) nor what a backend is: it picks a tier, its caller
finds the backends. Specified by tests/cases/placement.
"""

import collections.abc
import types

from cinder_tiers.domain import decision
from cinder_tiers.domain.decision import PlacementDecision
from cinder_tiers.domain.decision import Reason
from cinder_tiers.domain.decision import Rule
from cinder_tiers.domain.decision import Verdict
from cinder_tiers.domain import tags

#: The operator's choices where nothing is said.
DEFAULT_POLICY = decision.Policy()

#: {who named the type: the rule by which such a type wins over the image}
_TYPE_RULES = types.MappingProxyType({
    decision.TypeSource.REQUEST: Rule.EXPLICIT_TYPE,
    decision.TypeSource.IMAGE: Rule.IMAGE_TYPE,
    decision.TypeSource.PROJECT: Rule.PROJECT_TYPE})


def decide(*, tiers: collections.abc.Iterable[decision.AppliedTier],
           request: decision.Request,
           policy: decision.Policy = DEFAULT_POLICY) -> PlacementDecision:
    """The tier that serves a volume.

    A volume whose place is fixed, or whose type was named and does not
    follow the image, is not ours; else the tier of the highest priority
    among those that the image's tags ask for and the project may use; else
    the fall-back tier. Without tiers, or without a fall-back (an apply under
    way), Cinder alone decides. A project that may not even use the fall-back
    is refused: any other answer could give it a tier that is not its own.

    :param tiers: all applied tiers, each name once, in any order. Equal
        priorities are refused by the catalog; here the name that sorts first
        wins, so that the answer never depends on the order.
    :param request: the request.
    :param policy: the operator's choices.
    :returns: the decision with all its reasons. Never raises for any text in
        its arguments.
    """
    settled = _settled(request)
    if settled is not None:
        return _untouched(settled)
    ranked = _rank(tiers)
    if not ranked:
        return _untouched(Reason(rule=Rule.NO_TIERS))
    asked, reasons = _asked_for(ranked, request, policy)
    usable = [tier for tier in asked if tier.serves(request)]
    reasons += [Reason(rule=Rule.NO_ACCESS, tier=tier.name)
                for tier in asked if tier not in usable]
    if asked[:1] != usable[:1] and (
            policy.on_no_access is decision.OnNoAccess.REFUSE):
        reasons.append(Reason(rule=Rule.ACCESS_NEEDED, tier=asked[0].name))
        return _refused(reasons)
    if not usable:
        return _fall_back(ranked, request, reasons)
    reasons += [Reason(rule=Rule.LOWER_PRIORITY, tier=tier.name,
                       found=tier.priority, wanted=usable[0].priority)
                for tier in usable[1:]]
    return _serve(usable[0], ranked, reasons)


def decide_on_error(*, on_error: decision.OnError,
                    tiers: collections.abc.Iterable[decision.AppliedTier],
                    request: decision.Request) -> PlacementDecision:
    """The decision when `decide()` could not be asked, or failed.

    A volume that moves is not sent to the fall-back tier for an error: where
    an administrator sends it is as good a place.

    :param on_error: what the operator chose.
    :param tiers: the applied tiers as far as they are known, in any order.
    :param request: the request, as far as it is known.
    :returns: the decision with its reasons. The first is `Rule.ERROR`, unless
        there was nothing to decide.
    """
    settled = _settled(request)
    if settled is not None:
        return _untouched(settled)
    error = Reason(rule=Rule.ERROR)
    if on_error is decision.OnError.FAIL:
        return _refused([error])
    if on_error is decision.OnError.PASS or request.moves:
        return _untouched(error)
    ranked = _rank(tiers)
    if not ranked:
        return _untouched(error, Reason(rule=Rule.NO_TIERS))
    return _fall_back(ranked, request, [error])


def _settled(request: decision.Request) -> Reason | None:
    """What leaves nothing to decide, if anything does."""
    if request.fixed_by is not None:
        return Reason(rule=Rule.FIXED, found=request.fixed_by.value)
    named = request.named_type
    if named is not None and not named.follows_image:
        return Reason(rule=_TYPE_RULES[named.source], found=named.name)
    return None


def _rank(tiers: collections.abc.Iterable[decision.AppliedTier],
          ) -> list[decision.AppliedTier]:
    return sorted(tiers, key=lambda tier: (-tier.priority, tier.name))


def _untouched(*reasons: Reason) -> PlacementDecision:
    return PlacementDecision(verdict=Verdict.UNTOUCHED, reasons=reasons)


def _refused(reasons: list[Reason]) -> PlacementDecision:
    return PlacementDecision(verdict=Verdict.REFUSED, reasons=tuple(reasons))


def _serve(tier: decision.AppliedTier, ranked: list[decision.AppliedTier],
           reasons: list[Reason]) -> PlacementDecision:
    overflow = next((other for other in ranked
                     if other.name == tier.overflow != tier.name), None)
    if tier.overflow:
        reasons.append(Reason(
            rule=Rule.OVERFLOW if overflow else Rule.OVERFLOW_MISSING,
            tier=tier.name, found=tier.overflow))
    return PlacementDecision(verdict=Verdict.TIER, tier=tier,
                             overflow=overflow, reasons=tuple(reasons))


def _asked_for(ranked: list[decision.AppliedTier], request: decision.Request,
               policy: decision.Policy,
               ) -> tuple[list[decision.AppliedTier], list[Reason]]:
    """The tiers that an image asks for, and why these and no others."""
    image = request.image
    if image is None:
        return [], [Reason(rule=Rule.NO_IMAGE)]
    if not image.is_trusted_by(request.project, policy.tag_trust):
        return [], [Reason(rule=Rule.FOREIGN_IMAGE, found=image.visibility,
                           wanted=policy.tag_trust.value)]
    wanted = {tags.normalize_tag(tag) for tag in image.tags}
    asked = [tier for tier in ranked if tier.tags & wanted]
    if not asked:
        return [], [Reason(rule=Rule.NO_TIER_TAG, found=len(image.tags))]
    return asked, [Reason(rule=Rule.TAG, tier=tier.name,
                          found=tags.format_tags(tier.tags & wanted))
                   for tier in asked]


def _fall_back(ranked: list[decision.AppliedTier], request: decision.Request,
               reasons: list[Reason]) -> PlacementDecision:
    fallbacks = [tier for tier in ranked if tier.fallback]
    if not fallbacks:
        reasons.append(Reason(rule=Rule.NO_FALLBACK))
        return _untouched(*reasons)
    for tier in fallbacks:
        if tier.serves(request):
            reasons.append(Reason(rule=Rule.FALLBACK, tier=tier.name))
            return _serve(tier, ranked, reasons)
        reasons.append(Reason(rule=Rule.NO_ACCESS, tier=tier.name))
    return _refused(reasons)
