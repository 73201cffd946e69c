# SPDX-License-Identifier: Apache-2.0

"""The reason for the place of a volume, and whether it is right.

Stored with the volume are its type, its place and the id of its image; tags,
tiers and backends are those of today. Must not know how an API is called, nor
how the answer is shown.
"""

import dataclasses

from cinder_tiers.domain.explain import explanation
from cinder_tiers.domain.explain.explanation import BackendVerdict
from cinder_tiers.domain.explain.explanation import PlacementOutcome
from cinder_tiers.domain.explain import new_volume as explain_create
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.placement import decide as placement
from cinder_tiers.domain.placement import decision
from cinder_tiers.domain.placement import metadata
from cinder_tiers.domain.placement import tier_specs as extra_specs

_IN_PLACE = {
    BackendVerdict.OWN: PlacementOutcome.IN_PLACE,
    BackendVerdict.OVERFLOW: PlacementOutcome.IN_PLACE,
    BackendVerdict.NO: PlacementOutcome.MISPLACED,
}
_FIXED = {
    decision.FixedBy.SOURCE_VOLUME: (
        'it is a clone, created where its source was'
    ),
    decision.FixedBy.SNAPSHOT: (
        'it was created from a snapshot, where that was'
    ),
    decision.FixedBy.GROUP: (
        'it belongs to a group, and is placed with the group'
    ),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Should:
    """The place where a volume should be."""

    decided: decision.PlacementDecision
    #: Begin of the summary.
    text: str
    tier: decision.AppliedTier | None = None
    overflow: decision.AppliedTier | None = None
    #: Type that backends must match; None if any place is right.
    volume_type: facts.KnownType | None = None
    #: Name of the tier that the image selects today, if it is another one.
    image_tier: str | None = None
    notes: tuple[str, ...] = ()


def explain_volume(
    *,
    volume: facts.KnownVolume,
    image: facts.KnownImage | None,
    known: facts.VisibleCloud,
    policy: decision.Policy,
    applied: explanation.AppliedTypes | None = None,
) -> explanation.Explanation:
    """Explain whether a volume is where it should be.

    :param image: current state of the image that it was made from; None if
        there is none, or none that the user can see.
    :param known: view of the user on the cloud.
    :param applied: tiers of the types in `known`, if they were read already,
        as for many volumes.
    """
    applied = applied or explanation.read_tiers(known.types)
    near = tuple(
        applied.near_tags(
            image and image.image,
            known.published_tags or frozenset(),
            project=volume.project,
            policy=policy,
        )
    )
    unknown = _why_unknown(volume, image, known)
    if unknown:
        return _unknown(
            volume, unknown, (*near, *applied.problems, *_today(volume, image))
        )
    retired = applied.retired_tier(volume.type_name)
    if retired:
        return explanation.Explanation(
            outcome=PlacementOutcome.OUT_OF_DATE,
            summary=f'Its volume type {volume.type_name} was the type of tier '
            f'{retired} until the tier was changed. The volume keeps it, and '
            'its limits, until it is retyped.',
            tier=retired,
            volume_type=volume.type_name,
            host=volume.host,
            notes=(
                *_tiers_at(volume, applied, known),
                *applied.problems,
                *_today(volume, image),
            ),
        )
    if (
        _follows(volume)
        and volume.fixed_by is None
        and metadata.may_select(volume.metadata, policy, applied.tier_of_tag)
    ):
        return _unknown(
            volume,
            'its metadata name the tag of a tier, and whether they count '
            'depends on metadata_key in cinder.conf; name that file with '
            '--config-file',
            _today(volume, image),
        )
    request = _request(volume, image, policy)
    decided = placement.decide(
        tiers=applied.tiers,
        request=request,
        policy=policy,
        has_unreadable=bool(applied.marked),
    )
    unknown = _why_undecided(decided, request, known, policy)
    if unknown:
        return _unknown(volume, unknown, (*near, *_today(volume, image)))
    should = _should(volume, image, decided, applied, policy)
    judged = (
        applied.judge(should.volume_type, known)
        if (should.volume_type)
        else None
    )
    outcome, text = _hold_against(volume, should, judged, known)
    is_on = _tiers_at(volume, applied, known)
    return explanation.Explanation(
        outcome=outcome,
        summary=f'{should.text} {text}',
        tier=should.tier and should.tier.name,
        overflow=should.overflow and should.overflow.name,
        volume_type=volume.type_name,
        host=volume.host,
        reasons=should.decided.reasons,
        judged=judged,
        alternatives=explanation.list_alternatives(
            applied, dataclasses.replace(should.decided, tier=should.tier)
        ),
        image_tier=should.image_tier,
        notes=(
            *is_on,
            *should.notes,
            *near,
            *applied.problems,
            *_today(volume, image),
        ),
    )


def _unknown(
    volume: facts.KnownVolume,
    why: str,
    notes: tuple[str, ...],
) -> explanation.Explanation:
    return explanation.Explanation(
        outcome=PlacementOutcome.UNKNOWN,
        host=volume.host,
        summary=(
            'cinder-tiers could not determine whether the volume is where it '
            f'should be: {why}.'
        ),
        volume_type=volume.type_name,
        notes=notes,
    )


def _why_unknown(
    volume: facts.KnownVolume,
    image: facts.KnownImage | None,
    known: facts.VisibleCloud,
) -> str | None:
    if facts.EXTRA_SPECS in known.hidden:
        return (
            'the tiers, and the requirements of the volume type, are '
            'hidden from this user'
        )
    if volume.type_name and volume.volume_type is None:
        return f'its volume type {volume.type_name} is not visible'
    if (
        _follows(volume)
        and volume.image_id
        and image is None
        and volume.fixed_by is None
    ):
        return (
            f'its type follows the image, and image {volume.image_id} '
            'does not exist any more or is not visible to this user, so '
            'its tags are not known'
        )
    return None


def _follows(volume: facts.KnownVolume) -> bool:
    return volume.volume_type is None or extra_specs.follows_image(
        volume.volume_type.extra_specs
    )


def _request(
    volume: facts.KnownVolume,
    image: facts.KnownImage | None,
    policy: decision.Policy,
) -> decision.Request:
    """Return the volume as a request of today, by a member of its project."""
    return decision.Request(
        project=volume.project,
        image=image and image.image,
        metadata_tag=metadata.tag_in(volume.metadata, policy),
        named_type=volume.volume_type
        and decision.NamedType(
            source=decision.TypeSource.REQUEST,
            name=volume.volume_type.name,
            follows_image=_follows(volume),
        ),
        fixed_by=volume.fixed_by if _follows(volume) else None,
    )


def _why_undecided(
    decided: decision.PlacementDecision,
    request: decision.Request,
    known: facts.VisibleCloud,
    policy: decision.Policy,
) -> str | None:
    if facts.TYPE_ACCESS in known.hidden and decided.because_of(
        decision.Rule.NO_ACCESS
    ):
        return (
            'which projects have access to private volume types is '
            'hidden from this user'
        )
    if (
        known.is_admin
        or request.fixed_by is not None
        or request.named_type
        and not request.named_type.follows_image
    ):
        return None
    return explain_create.why_hidden_tiers_matter(decided, request, policy)


def _should(
    volume: facts.KnownVolume,
    image: facts.KnownImage | None,
    decided: decision.PlacementDecision,
    applied: explanation.AppliedTypes,
    policy: decision.Policy,
) -> _Should:
    """Return the place of a volume by its type, or by its image."""
    own = volume.volume_type
    if own is not None and not _follows(volume):
        return _by_type(volume, own, image, decided, applied, policy)
    if volume.fixed_by and decided.because_of(decision.Rule.FIXED):
        return _Should(
            decided=decided,
            text=(
                f'Its type follows the image, but {_FIXED[volume.fixed_by]}.'
            ),
        )
    if decided.tier is None:
        return _Should(
            decided=decided,
            text=(
                'No tier serves it today: '
                if decided.verdict is decision.RequestVerdict.REFUSED
                else 'Cinder places it without a tier: '
            )
            + f'{decided.reasons[-1]}.',
        )
    return _Should(
        decided=decided,
        tier=decided.tier,
        overflow=decided.overflow,
        volume_type=applied.types[decided.tier.name],
        text=(
            'Its type follows the image; its metadata currently select '
            f'tier {decided.tier.name}.'
            if _selecting(decided) is decision.Rule.METADATA
            else 'Its type follows the image, which currently selects '
            f'tier {decided.tier.name}.'
        ),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Selected:
    """The tier that a new volume of this kind would get today."""

    tier: str
    by_image: bool

    @property
    def note(self) -> str:
        """Note on a volume that would go to another tier today."""
        if self.by_image:
            return (
                'its type was chosen by the request, or by earlier tags: a '
                'new volume from its image would currently go to tier '
                f'{self.tier}'
            )
        return (
            f'its metadata currently select tier {self.tier}; they count when '
            'a volume is created, or retyped to a type that follows the '
            'image, and a later change of them moves nothing'
        )


def _selected_today(
    volume: facts.KnownVolume,
    image: facts.KnownImage | None,
    applied: explanation.AppliedTypes,
    policy: decision.Policy,
) -> _Selected | None:
    tag = metadata.tag_in(volume.metadata, policy)
    if image is None and (tag is None or volume.image_id):
        return None
    today = placement.decide(
        tiers=applied.tiers,
        policy=policy,
        request=decision.Request(
            project=volume.project,
            image=image and image.image,
            metadata_tag=tag,
        ),
    )
    if today.tier is None:
        return None
    selecting = _selecting(today)
    if selecting is not None:
        return _Selected(
            tier=today.tier.name,
            by_image=selecting is decision.Rule.TAG,
        )
    # The default type of another project, which would replace the fallback
    # tier, is unknown.
    if (
        image is None
        or policy.project_type is decision.ProjectType.LAST
        or metadata.may_select(volume.metadata, policy, applied.tier_of_tag)
    ):
        return None
    return _Selected(tier=today.tier.name, by_image=True)


def _selecting(decided: decision.PlacementDecision) -> decision.Rule | None:
    """Return the rule that selected the tier; None for the fallback."""
    rules = {
        reason.rule
        for reason in decided.reasons
        if decided.tier and reason.tier == decided.tier.name
    }
    return next(
        (
            rule
            for rule in (decision.Rule.TAG, decision.Rule.METADATA)
            if rule in rules
        ),
        None,
    )


def _by_type(
    volume: facts.KnownVolume,
    volume_type: facts.KnownType,
    image: facts.KnownImage | None,
    decided: decision.PlacementDecision,
    applied: explanation.AppliedTypes,
    policy: decision.Policy,
) -> _Should:
    name = volume_type.name
    notes: tuple[str, ...] = ()
    if volume.fixed_by:
        notes = (_FIXED[volume.fixed_by],)
    tier = applied.tier_of(volume_type)
    if tier is None:
        return _Should(
            decided=decided,
            volume_type=volume_type,
            notes=notes,
            text=(
                f'Its volume type {name} does not belong to a tier and does '
                'not follow the image.'
            ),
        )
    selected = _selected_today(volume, image, applied, policy)
    image_tier = None
    if selected and selected.tier != tier.name:
        if selected.by_image:
            image_tier = selected.tier
        notes += (selected.note,)
    return _Should(
        decided=decided,
        volume_type=volume_type,
        tier=tier,
        overflow=applied.overflow_of(tier),
        image_tier=image_tier,
        notes=notes,
        text=f'Its volume type {name} belongs to tier {tier.name}.',
    )


def _hold_against(
    volume: facts.KnownVolume,
    should: _Should,
    judged: tuple[explanation.JudgedBackend, ...] | None,
    known: facts.VisibleCloud,
) -> tuple[PlacementOutcome, str]:
    """Return whether the place is right, and the end of the summary."""
    if volume.host is None:
        if not known.is_admin:
            return (
                PlacementOutcome.UNKNOWN,
                'Its location is hidden from this user.',
            )
        return (
            PlacementOutcome.MISPLACED,
            f'It has no backend (status {volume.status}).',
        )
    if should.volume_type is None:
        if should.decided.verdict is decision.RequestVerdict.REFUSED:
            return PlacementOutcome.MISPLACED, f'It is on {volume.host}.'
        return PlacementOutcome.IN_PLACE, (
            f'It is on {volume.host}, where it should be.'
        )
    if judged is None:
        return (
            PlacementOutcome.UNKNOWN,
            (
                f'It is on {volume.host}; whether that backend qualifies is '
                'hidden from this user.'
            ),
        )
    here = next(
        (one for one in judged if one.backend.name == volume.host), None
    )
    if here is None:
        return (
            PlacementOutcome.UNKNOWN,
            f'It is on {volume.host}, which does not '
            'report to the scheduler: see "openstack volume service '
            'list".',
        )
    text = {
        BackendVerdict.OWN: (
            'which serves its tier: it is where it should be.'
        ),
        BackendVerdict.OVERFLOW: (
            'which serves its overflow '
            f'tier, {should.overflow and should.overflow.name}: it is where '
            'it may be.'
        ),
        BackendVerdict.NO: f'which does not qualify: {here.why}.',
    }[here.verdict]
    return _IN_PLACE[here.verdict], f'It is on {volume.host}, {text}'


def _tiers_at(
    volume: facts.KnownVolume,
    applied: explanation.AppliedTypes,
    known: facts.VisibleCloud,
) -> tuple[str, ...]:
    """Name the tiers whose own backend has the volume."""
    names = volume.host and applied.owners(volume.host, known)
    return (f'its backend serves tier {", ".join(names)}',) if names else ()


def _today(
    volume: facts.KnownVolume,
    image: facts.KnownImage | None,
) -> tuple[str, ...]:
    """List the facts stored with the volume, and those of today."""
    stored = 'its type, its backend'
    today = 'the tiers, the backends'
    if volume.image_id:
        stored += ', the image ID'
        today += ', the tags of the image' if image else ''
    return (
        (
            f'stored with the volume: {stored}; current values, not those at '
            f'its creation: {today}'
        ),
    )
