# SPDX-License-Identifier: Apache-2.0

"""Place of a new volume, from `decide()` and the answers of the APIs.

Reports which relevant facts are hidden from the user, and never guesses. Must
not know how an API is called, nor how the answer is shown.
"""

import collections.abc
import dataclasses
import typing

from cinder_tiers.domain.explain import explanation
from cinder_tiers.domain.explain.explanation import PlacementOutcome
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.placement import backends
from cinder_tiers.domain.placement import decide as placement
from cinder_tiers.domain.placement import decision
from cinder_tiers.domain.placement import metadata
from cinder_tiers.domain.placement import tier_specs
from cinder_tiers.domain import tags


@dataclasses.dataclass(frozen=True, kw_only=True)
class NewVolume:
    """A volume that does not exist yet."""

    #: Id of its project.
    project: str
    #: Whether an administrator creates it.
    is_admin: bool
    #: None for a blank volume.
    image: facts.KnownImage | None = None
    #: {key: value} of the volume.
    metadata: collections.abc.Mapping[str, str] = dataclasses.field(
        default_factory=dict, hash=False
    )
    #: The type that the request names.
    requested_type: facts.KnownType | None = None


#: Returns the type that a source names, (None,) for one that no user can see,
#: or None if it names none.
_Names = collections.abc.Callable[[], tuple[facts.KnownType | None] | None]


@typing.final
@dataclasses.dataclass(frozen=True, kw_only=True)
class _Named:
    """The effective volume type, and its source."""

    source: decision.TypeSource
    #: None if the user sees no type of that name.
    volume_type: facts.KnownType | None
    follows_image: bool

    @property
    def for_decision(self) -> decision.NamedType:
        """The type in the form of `decide()`."""
        return decision.NamedType(
            source=self.source,
            follows_image=self.follows_image,
            name=self.volume_type and self.volume_type.name,
            offers=tier_specs.features(self.volume_type.extra_specs)
            if self.volume_type
            else frozenset(),
        )


def explain_create(
    *, question: NewVolume, known: facts.VisibleCloud, policy: decision.Policy
) -> explanation.Explanation:
    """Explain where a new volume would go.

    :param question: volume to create.
    :param known: view of the user on the cloud.
    """
    named = _named_type(question, known)
    request = decision.Request(
        project=question.project,
        is_admin=question.is_admin,
        named_type=named and named.for_decision,
        fixed_by=(
            decision.FixedBy.SNAPSHOT
            if question.image and question.image.stands_for_snapshot
            else None
        ),
        image=question.image and question.image.image,
        metadata_tag=metadata.tag_in(question.metadata, policy),
    )
    applied = explanation.read_tiers(known.types)
    decided = placement.decide(
        tiers=applied.tiers,
        request=request,
        policy=policy,
        has_unreadable=bool(applied.marked),
    )
    notes = (
        *_image_notes(question),
        *_metadata_notes(question, policy),
        *applied.near_tags(
            request.image,
            known.published_tags or frozenset(),
            project=question.project,
            policy=policy,
        ),
        *applied.problems,
    )
    refusal = (
        None
        if request.fixed_by
        else _why_cinder_refuses(question, named, decided, known)
    )
    if refusal:
        return explanation.Explanation(
            outcome=PlacementOutcome.NOT_PLACED,
            notes=notes,
            summary=f'Cinder refuses the request: {refusal}.',
        )
    by_tags = _by_published_tags(decided, request, named, known, policy)
    if by_tags:
        return dataclasses.replace(by_tags, notes=(*notes, *by_tags.notes))
    unknown = _why_unknown(decided, request, named, known, policy)
    if unknown:
        return explanation.Explanation(
            outcome=PlacementOutcome.UNKNOWN,
            summary=f'cinder-tiers could not determine the tier: {unknown}.',
            notes=(*notes, *visible_types_note(known)),
        )
    volume_type = _type_of(decided, named, applied, known)
    judged = (
        None
        if decided.verdict is decision.RequestVerdict.REFUSED
        else applied.judge(volume_type, known)
    )
    if judged is not None and not question.is_admin:
        judged = _without_closed(
            judged, decided, volume_type, question.project, applied, known
        )
    outcome = _outcome(decided, judged)
    # A request for the type of a tier gets the tier, regardless of tags.
    tier = decided.tier or applied.tier_of(volume_type)
    overflow = applied.overflow_of(tier)
    return explanation.Explanation(
        outcome=outcome,
        summary=_summary(question, decided, tier, outcome),
        tier=tier and tier.name,
        overflow=overflow and overflow.name,
        volume_type=volume_type and volume_type.name,
        reasons=decided.reasons,
        judged=judged,
        notes=notes,
        alternatives=explanation.list_alternatives(
            applied, dataclasses.replace(decided, tier=tier)
        ),
    )


def may_use(
    volume_type: facts.KnownType, project: str, *, is_admin: bool
) -> bool:
    """Return whether a project may use a volume type, as Cinder decides.

    :param project: id of the project.
    :param is_admin: whether an administrator uses it.
    """
    return (
        volume_type.projects is None
        or is_admin
        or project in volume_type.projects
    )


def visible_types_note(known: facts.VisibleCloud) -> tuple[str, ...]:
    """Return a note on the types that the user can name instead.

    :param known: view of the user on the cloud.
    """
    names = ', '.join(one.name for one in known.types)
    return (
        (f'volume types that can be named instead: {names}',) if names else ()
    )


def _named_type(
    question: NewVolume, known: facts.VisibleCloud
) -> _Named | None:
    """Return the named type and its source, but no default of Cinder."""
    default, image = known.default_type, question.image
    asked: dict[decision.TypeSource, _Names] = {
        decision.TypeSource.REQUEST: lambda: (
            (question.requested_type,) if question.requested_type else None
        ),
        # A named type counts even if no user can see it.
        decision.TypeSource.IMAGE: lambda: (
            (known.find_type(image.type_ref),)
            if image and image.type_ref
            else None
        ),
        decision.TypeSource.PROJECT: lambda: (
            (default.volume_type,) if default and default.is_projects else None
        ),
    }
    named = tier_specs.first_named(asked)
    if named is None:
        return None
    source, (found,) = named
    return _Named(
        source=source,
        volume_type=found,
        follows_image=found is not None
        and tier_specs.follows_image(found.extra_specs)
        and may_use(found, question.project, is_admin=question.is_admin),
    )


def _why_cinder_refuses(
    question: NewVolume,
    named: _Named | None,
    decided: decision.PlacementDecision,
    known: facts.VisibleCloud,
) -> str | None:
    """Return the reason for a 404 of Cinder, or None."""
    if (
        question.image
        and not question.is_admin
        and question.image.image.visibility == 'private'
        and question.image.image.owner != question.project
    ):
        return (
            'the image is a private image of another project, and not '
            'visible to this project'
        )
    # Cinder gets the type of the tier, and does not look up a default type.
    if named is None or (
        named.source is decision.TypeSource.PROJECT and decided.tier
    ):
        return None
    if named.volume_type is None:
        what = '' if known.is_admin else ', or that the project may not use'
        named_by = question.image and question.image.type_ref
        return (
            'the image property cinder_img_volume_type names '
            f'{named_by}, a volume type that does not '
            f'exist{what}'
        )
    if facts.TYPE_ACCESS not in known.hidden and not may_use(
        named.volume_type, question.project, is_admin=question.is_admin
    ):
        return (
            'the project has no access to volume type '
            f'{named.volume_type.name}'
        )
    return None


def _image_notes(question: NewVolume) -> tuple[str, ...]:
    image = question.image and question.image.image
    if question.image and question.image.brings_key:
        return (
            (
                'the image has the data of an encrypted volume; it needs a '
                'tier with an encrypted volume type, and only administrators '
                'can see whether a type is encrypted'
            ),
        )
    if (
        image
        and not question.is_admin
        and image.visibility == 'shared'
        and image.owner != question.project
    ):
        return (
            'the project must be a member of the image, see "openstack '
            'image member list"',
        )
    return ()


def _metadata_notes(
    question: NewVolume, policy: decision.Policy
) -> tuple[str, ...]:
    key = policy.metadata_key
    if not question.metadata:
        return ()
    if key in question.metadata:
        return (
            (
                'metadata do not count for a volume from an image: '
                'metadata_with_image is off',
            )
            if question.image and not policy.metadata_with_image
            else ()
        )
    if key is None:
        return (
            'metadata do not count: metadata_key is not set in the group '
            '[cinder_tiers] of the configuration that was read',
        )
    return (f'of the metadata only the key {key} counts',)


def _why_unknown(
    decided: decision.PlacementDecision,
    request: decision.Request,
    named: _Named | None,
    known: facts.VisibleCloud,
    policy: decision.Policy,
) -> str | None:
    """Return why the user cannot determine the tier; None if the user can."""
    if decided.because_of(decision.Rule.FIXED):
        return None
    if facts.EXTRA_SPECS in known.hidden:
        return (
            'the tiers, and which volume types follow the image, are '
            'hidden from this user'
        )
    if facts.TYPE_ACCESS in known.hidden and (
        decided.because_of(decision.Rule.NO_ACCESS)
        or named
        and named.volume_type
        and not may_use(
            named.volume_type, request.project, is_admin=request.is_admin
        )
    ):
        return (
            'which projects have access to private volume types is '
            'hidden from this user'
        )
    # Its type wins, or only the tiers that the user sees matter.
    if (
        named
        and not named.follows_image
        and (
            named.source is not decision.TypeSource.PROJECT
            or policy.project_type is decision.ProjectType.FIRST
            or policy.on_no_access is decision.OnNoAccess.FALLBACK
        )
    ):
        return None
    default = known.default_type
    if (
        named is None
        and default is not None
        and default.is_projects is None
        and not tier_specs.follows_image(default.volume_type.extra_specs)
    ):
        return (
            f'the default volume type {default.volume_type.name} is '
            'either that of the project, which counts, or that of the '
            'cloud, which does not; which one is hidden from this user'
        )
    return (
        None
        if known.is_admin
        else why_hidden_tiers_matter(decided, request, policy)
    )


def _by_published_tags(
    decided: decision.PlacementDecision,
    request: decision.Request,
    named: _Named | None,
    known: facts.VisibleCloud,
    policy: decision.Policy,
) -> explanation.Explanation | None:
    """Explain an image by the tags of public tiers in Glance.

    :returns: explanation; None if Cinder shows the tiers themselves, the tags
        do not count, or they are not published.
    """
    image = request.image
    if (
        facts.EXTRA_SPECS not in known.hidden
        or known.published_tags is None
        or image is None
        or decided.because_of(decision.Rule.FIXED)
        or not image.is_trusted_by(request.project, policy.tag_trust)
        or named is not None
        and (
            named.source is not decision.TypeSource.PROJECT
            or policy.project_type is decision.ProjectType.FIRST
        )
    ):
        return None
    normal = {tags.normalize_tag(tag) for tag in image.tags}
    found = sorted(normal & known.published_tags)
    if not found:
        return explanation.Explanation(
            outcome=PlacementOutcome.UNKNOWN,
            summary='No tag of the image selects a public tier, and which '
            'tier serves volumes without such a tag is hidden from this user.',
            notes=visible_types_note(known),
        )
    tier = (
        f'the public tier with the tag {found[0]}'
        if len(found) == 1
        else 'the public tier that has the highest priority of those with '
        f'the tags {", ".join(found)}'
    )
    private = [one.name for one in known.types if one.projects is not None]
    others = normal - known.published_tags
    if others and (
        private or policy.on_no_access is decision.OnNoAccess.REFUSE
    ):
        return explanation.Explanation(
            outcome=PlacementOutcome.UNKNOWN,
            summary=f'A volume from this image goes to {tier}, unless another '
            'tag of the image selects a private tier, which is hidden from '
            'this user.',
            notes=visible_types_note(known),
        )
    default = known.default_type
    return explanation.Explanation(
        outcome=PlacementOutcome.PLACED,
        summary=f'A volume from this image goes to {tier}'
        + (
            f', unless {default.volume_type.name} is a default volume type '
            'of the project alone, which is hidden from this user'
            if default is not None
            and default.is_projects is None
            and policy.project_type is decision.ProjectType.FIRST
            else ''
        )
        + '.',
        notes=(
            'Glance shows the tags of public tiers to all, and not which tier '
            'has which; see what each is for in "openstack tier list"',
        ),
    )


def why_hidden_tiers_matter(
    decided: decision.PlacementDecision,
    request: decision.Request,
    policy: decision.Policy,
) -> str | None:
    """Return why a member cannot rely on a decision; None if it is right.

    A member does not see the tiers that the project may not use. With the
    default policy these change nothing: their tags are ignored.

    :param decided: decision on the tiers that the member sees.
    """
    if decided.verdict is not decision.RequestVerdict.TIER:
        return (
            'this user sees no tier that serves the volume, but there '
            'may be hidden tiers'
        )
    image = request.image
    if policy.on_no_access is decision.OnNoAccess.REFUSE and (
        (
            image
            and image.tags
            and image.is_trusted_by(request.project, policy.tag_trust)
        )
        or (
            request.metadata_tag is not None
            and (image is None or policy.metadata_with_image)
        )
    ):
        return (
            'a tag that selects a tier without access is refused, and '
            'such tiers are hidden from this user'
        )
    return None


def _type_of(
    decided: decision.PlacementDecision,
    named: _Named | None,
    applied: explanation.AppliedTypes,
    known: facts.VisibleCloud,
) -> facts.KnownType | None:
    if decided.tier is not None:
        return applied.types[decided.tier.name]
    if (
        decided.verdict is decision.RequestVerdict.REFUSED
        or decided.because_of(decision.Rule.FIXED)
    ):
        return None
    if named is not None:
        return named.volume_type
    return known.default_type and known.default_type.volume_type


def _without_closed(
    judged: tuple[explanation.JudgedBackend, ...],
    decided: decision.PlacementDecision,
    volume_type: facts.KnownType | None,
    project: str,
    applied: explanation.AppliedTypes,
    known: facts.VisibleCloud,
) -> tuple[explanation.JudgedBackend, ...]:
    """Return the backends that TierFilter leaves to Cinder's choice."""
    if decided.because_of(decision.Rule.FIXED):
        return judged
    is_unbound = (
        decided.tier is None
        and volume_type is not None
        and not tier_specs.follows_image(volume_type.extra_specs)
    )
    if (
        volume_type is not None
        and (decided.tier is not None or is_unbound)
        and backends.names_backend(volume_type.extra_specs)
    ):
        return judged
    return applied.without_closed(
        judged,
        known,
        project=project,
        is_unbound=is_unbound,
        volume_type=volume_type,
    )


def _outcome(
    decided: decision.PlacementDecision,
    judged: tuple[explanation.JudgedBackend, ...] | None,
) -> PlacementOutcome:
    if decided.verdict is decision.RequestVerdict.REFUSED or (
        judged is not None
        and all(one.verdict is explanation.BackendVerdict.NO for one in judged)
    ):
        return PlacementOutcome.NOT_PLACED
    return PlacementOutcome.PLACED


def _summary(
    question: NewVolume,
    decided: decision.PlacementDecision,
    tier: decision.AppliedTier | None,
    outcome: PlacementOutcome,
) -> str:
    what = 'A volume from this image' if question.image else 'A blank volume'
    if decided.verdict is decision.RequestVerdict.REFUSED:
        return f'{what} is refused: {decided.reasons[-1]}.'
    if decided.tier is None:
        text = (
            f'{what} is placed by Cinder without a tier: {decided.reasons[-1]}'
        )
        if tier is not None:
            text += f'; its volume type belongs to tier {tier.name}'
    else:
        text = f'{what} goes to tier {decided.tier.name}'
        if decided.overflow is not None:
            text += (
                f', or to tier {decided.overflow.name} when that has no room'
            )
    if outcome is PlacementOutcome.NOT_PLACED:
        return f'{text}. However, no backend that is up qualifies.'
    return f'{text}.'
