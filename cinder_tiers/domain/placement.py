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
finds the backends.
"""

import collections.abc
import dataclasses
import enum

from cinder_tiers.domain import tags


class Verdict(enum.Enum):
    """What becomes of a request."""

    TIER = 'tier'
    """It is served by the decision's tier."""
    UNTOUCHED = 'untouched'
    """It is not ours: Cinder alone places it."""
    REFUSED = 'refused'
    """No tier may serve it."""


class Rule(enum.Enum):
    """The rules of `decide()`; the value completes "... because"."""

    NO_TIERS = 'no tier is applied'
    EXPLICIT_TYPE = 'the requested type does not follow the image'
    NO_IMAGE = 'the volume is not made from an image'
    FOREIGN_IMAGE = 'tags of an image of another project do not count'
    NO_TIER_TAG = 'no tag of the image asks for a tier'
    TAG = 'a tag of the image asks for the tier'
    LOWER_PRIORITY = 'another tier that is asked for has a higher priority'
    NO_ACCESS = 'the project has no access to the volume type of the tier'
    FALLBACK = 'the tier is the fall-back'
    NO_FALLBACK = 'no fall-back tier is applied'
    ERROR = 'the tier could not be told'


class OnError(enum.Enum):
    """What becomes of a request whose tier could not be told."""

    FALLBACK = 'fallback'
    PASS = 'pass'  # noqa: S105 - no password
    FAIL = 'fail'


@dataclasses.dataclass(frozen=True, kw_only=True)
class AppliedTier:
    """A tier as it is applied, reduced to what placement needs."""

    name: str
    #: Tags that ask for the tier, in normal form.
    tags: frozenset[str] = frozenset()
    #: The highest wins when an image asks for several tiers.
    priority: int = 0
    fallback: bool = False
    #: Projects that may use the tier; None when all may.
    projects: frozenset[str] | None = None

    def serves(self, project: str) -> bool:
        """Whether a project, by id, may use the tier."""
        return self.projects is None or project in self.projects


@dataclasses.dataclass(frozen=True, kw_only=True)
class Image:
    """The parts of an image that placement looks at."""

    #: Project id of the owner; None for an image that nobody owns.
    owner: str | None
    #: public, community, shared or private, in Glance's words.
    visibility: str
    #: Tags as they were typed: hostile text.
    tags: frozenset[str] = frozenset()

    def is_trusted_by(self, project: str) -> bool:
        """Whether its tags may steer the volumes of a project.

        The owner of a shared or community image could retag it and so move
        the volumes of others; only who owns it or may publish it counts.
        """
        return self.owner == project or self.visibility == 'public'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """A request for a new volume."""

    #: Project id of the volume.
    project: str
    #: Whether its type leaves the choice to the image, or it has no type.
    follows_image: bool
    #: None for a volume that is not made from an image.
    image: Image | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reason:
    """A rule that applied, and the values that it looked at."""

    rule: Rule
    #: Name of the tier that the rule speaks of.
    tier: str | None = None
    #: What was found: known tags, a number of tags, a priority, a visibility.
    found: str | int | None = None
    #: What was needed instead.
    wanted: str | int | None = None

    def __str__(self) -> str:
        values = [f'{name}={value}' for name, value in (
            ('tier', self.tier), ('found', self.found),
            ('wanted', self.wanted)) if value is not None]
        return f"{self.rule.value} ({', '.join(values)})" if values else (
            self.rule.value)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlacementDecision:
    """What `decide()` decided, and why.

    The reasons explain and never steer. None holds text of an image, which
    may be hostile: tags are quoted from the tier that knows them.
    """

    verdict: Verdict
    #: Set when the verdict is TIER.
    tier: AppliedTier | None = None
    #: Every rule that applied, in the order of application.
    reasons: tuple[Reason, ...] = ()

    def __str__(self) -> str:
        what = self.verdict.value if self.tier is None else (
            f'{self.verdict.value} {self.tier.name}')
        return f"{what}: {'; '.join(str(reason) for reason in self.reasons)}"


def decide(*, tiers: collections.abc.Iterable[AppliedTier],
           request: Request) -> PlacementDecision:
    """The tier that serves a new volume.

    An explicit type that does not follow the image wins; else the tier of
    the highest priority among those that the image's tags ask for and the
    project may use; else the fall-back tier. Without tiers, or without a
    fall-back (an apply under way), Cinder alone decides. A project that may
    not even use the fall-back is refused: any other answer could give it a
    tier that is not its own.

    :param tiers: all applied tiers, in any order. Equal priorities are
        refused by the catalog; here the name that sorts first wins, so that
        the answer never depends on the order.
    :param request: the request.
    :returns: the decision with all its reasons.
    """
    if not request.follows_image:
        return _untouched(Reason(rule=Rule.EXPLICIT_TYPE))
    ranked = _rank(tiers)
    if not ranked:
        return _untouched(Reason(rule=Rule.NO_TIERS))
    asked, reasons = _asked_for(ranked, request)
    usable = [tier for tier in asked if tier.serves(request.project)]
    reasons += [Reason(rule=Rule.NO_ACCESS, tier=tier.name)
                for tier in asked if tier not in usable]
    if not usable:
        return _fall_back(ranked, request.project, reasons)
    reasons += [Reason(rule=Rule.LOWER_PRIORITY, tier=tier.name,
                       found=tier.priority, wanted=usable[0].priority)
                for tier in usable[1:]]
    return PlacementDecision(verdict=Verdict.TIER, tier=usable[0],
                             reasons=tuple(reasons))


def decide_on_error(*, on_error: OnError,
                    tiers: collections.abc.Iterable[AppliedTier],
                    project: str) -> PlacementDecision:
    """The decision when `decide()` could not be asked, or failed.

    :param on_error: what the operator chose.
    :param tiers: the applied tiers as far as they are known, in any order.
    :param project: id of the project of the volume.
    :returns: the decision with its reasons, the first of them `Rule.ERROR`.
    """
    error = Reason(rule=Rule.ERROR)
    if on_error is OnError.PASS:
        return _untouched(error)
    if on_error is OnError.FAIL:
        return PlacementDecision(verdict=Verdict.REFUSED, reasons=(error,))
    ranked = _rank(tiers)
    if not ranked:
        return _untouched(error, Reason(rule=Rule.NO_TIERS))
    return _fall_back(ranked, project, [error])


def _rank(tiers: collections.abc.Iterable[AppliedTier]) -> list[AppliedTier]:
    return sorted(tiers, key=lambda tier: (-tier.priority, tier.name))


def _untouched(*reasons: Reason) -> PlacementDecision:
    return PlacementDecision(verdict=Verdict.UNTOUCHED, reasons=reasons)


def _asked_for(ranked: list[AppliedTier],
               request: Request) -> tuple[list[AppliedTier], list[Reason]]:
    """The tiers that an image asks for, and why these and no others."""
    image = request.image
    if image is None:
        return [], [Reason(rule=Rule.NO_IMAGE)]
    if not image.is_trusted_by(request.project):
        return [], [Reason(rule=Rule.FOREIGN_IMAGE, found=len(image.tags))]
    wanted = {tags.normalize_tag(tag) for tag in image.tags}
    asked = [tier for tier in ranked if tier.tags & wanted]
    if not asked:
        return [], [Reason(rule=Rule.NO_TIER_TAG, found=len(image.tags))]
    return asked, [Reason(rule=Rule.TAG, tier=tier.name,
                          found=tags.format_tags(tier.tags & wanted))
                   for tier in asked]


def _fall_back(ranked: list[AppliedTier], project: str,
               reasons: list[Reason]) -> PlacementDecision:
    fallbacks = [tier for tier in ranked if tier.fallback]
    if not fallbacks:
        reasons.append(Reason(rule=Rule.NO_FALLBACK))
        return _untouched(*reasons)
    for tier in fallbacks:
        if tier.serves(project):
            reasons.append(Reason(rule=Rule.FALLBACK, tier=tier.name))
            return PlacementDecision(verdict=Verdict.TIER, tier=tier,
                                     reasons=tuple(reasons))
        reasons.append(Reason(rule=Rule.NO_ACCESS, tier=tier.name))
    return PlacementDecision(verdict=Verdict.REFUSED, reasons=tuple(reasons))
