# SPDX-License-Identifier: Apache-2.0

"""The audit of volumes: the place of each against its tier or image.

The answer is that of `explain_volume`, so `tier explain --volume` shows the
reason. Volumes come as a stream and are not kept, only counts and one verdict
for each kind of volume (type, place, image). Pure. Must not know how anything
is read or shown.
"""

import collections
import collections.abc
import dataclasses
import shlex

from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.audit import volume_limits
from cinder_tiers.domain import errors
from cinder_tiers.domain.explain import existing_volume as explain_volume
from cinder_tiers.domain.explain import explanation
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.placement import decision
from cinder_tiers.domain.placement import metadata
from cinder_tiers.domain.placement import tier_specs as extra_specs

State = audit.State
PLACEMENT, IMAGE, RESIDENCY = 'placement', 'image', 'residency'
LIMITS = 'limits'
#: Aspect of the limits that Nova keeps for servers with a volume.
ATTACHED = 'attached limits'
#: Status of a volume that a server has.
_IN_USE = 'in-use'
#: Statuses of a volume that has no image, or may have none.
WITHOUT_IMAGE = ('creating', 'deleting', 'error', 'error_deleting')
#: States in which each volume is named; others are only counted.
_NAMED = (
    State.UNKNOWN,
    State.WARNING,
    State.OUT_OF_DATE,
    State.NON_COMPLIANT,
)
_OWN = (explanation.BackendVerdict.OWN,)
_ALLOWED = (*_OWN, explanation.BackendVerdict.OVERFLOW)
_CLONE = (
    'it is a copy-on-write clone of an image: blocks that were never '
    'written are read from the images pool; their number is not known'
)
#: Remedy where the volume is encrypted, with the options of the command.
_ENCRYPTED = (
    'see what "openstack tier repair{}" says of it, and do not retype it with '
    'on-demand or migrate it by hand: it is encrypted, and the end of its '
    'data may be lost'
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Residency:
    """Volumes that share blocks with an image."""

    #: {id of the stored volume: pool/image of which it is a clone}.
    clones: collections.abc.Mapping[str, str]
    #: {tier: reason why the images pool of its cluster could not be read, or
    #: ''}; an absent tier has no images pool, so its volumes are not clones.
    unread: collections.abc.Mapping[str, str]
    #: {tier: its pool}
    pools: collections.abc.Mapping[str, str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class VolumeVerdict:
    """Finding on the place of a volume."""

    state: State
    #: Name of the volume's tier, or None.
    tier: str | None = None
    #: Names of the backends on which it may lie.
    allowed: tuple[str, ...] = ()
    #: Backends of these that serve its tier; the others serve its overflow.
    own: tuple[str, ...] = ()
    reason: str = ''
    remedy: str = ''
    #: Name of the volume type that would make it compliant; None if another
    #: type would not.
    retype_to: str | None = None
    #: Name of the tier that the volume's image selects today, if it is not the
    #: tier of its type.
    image_tier: str | None = None
    #: Name of the volume type of that tier.
    image_type: str | None = None
    #: Reason why that tier is unknown; '' if it is known, or if the place of
    #: the volume depends on it.
    image_problem: str = ''


def audit_volumes(
    *,
    volumes: collections.abc.Iterable[facts.KnownVolume],
    known: facts.VisibleCloud,
    find_image: collections.abc.Callable[[str], facts.KnownImage | None],
    policy: decision.Policy,
    residency: Residency | None = None,
    limits: volume_limits.VolumeLimits | None = None,
    tiers: collections.abc.Container[str] | None = None,
) -> collections.abc.Iterator[audit.Finding]:
    """Yield findings on volumes, then counts of volumes by tier and state.

    :param volumes: volumes to audit; each is used once.
    :param known: view of an administrator on the cloud.
    :param find_image: returns an image by id, None if it is gone; raises an
        errors.TiersError if that cannot be determined.
    :param residency: volumes that are clones of images; None to skip the audit
        of residency.
    :param limits: limits of the images of volumes; None to skip their audit.
    :param tiers: names of the tiers to audit, to which volumes of an unknown
        tier may belong; None for all.
    :returns: findings as they are made. If the stream breaks off, an unknown
        finding before the counts says so.
    """
    applied = explanation.read_tiers(known.types)
    counts: collections.Counter = collections.Counter()
    #: {key of counts: reason} for findings that are only counted.
    reasons: dict[tuple, str] = {}
    broken = None
    try:
        for volume, _image, verdict in _judged(
            volumes, known, find_image, policy, applied
        ):
            if not _is_asked_for(verdict, tiers):
                continue
            for finding in (
                _place(volume, verdict),
                *_selected(volume, verdict),
                *_home(volume, verdict, residency),
                *_limited(volume, verdict, limits),
                *_attached(volume, verdict, limits),
            ):
                key = finding.tier, finding.aspect, finding.state
                counts[key] += 1
                if (
                    finding.aspect in (IMAGE, LIMITS, ATTACHED)
                    and not finding.current
                ):
                    reasons.setdefault(key, finding.reason)
                if finding.state in _NAMED and finding.current:
                    yield finding
    except errors.TiersError as error:
        broken = str(error)
    if broken:
        yield audit.Finding(
            object_name='volumes',
            tier=None,
            state=State.UNKNOWN,
            aspect=PLACEMENT,
            current={'volumes': _seen(counts)},
            reason=broken,
            remedy='only the volumes counted here were audited',
        )
    yield from _counted(counts, residency, reasons)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ListedVolume:
    """A volume and its verdict."""

    volume: facts.KnownVolume
    verdict: VolumeVerdict
    #: A sentence for each tag of its image that resembles one of a tier.
    near_tags: tuple[str, ...] = ()

    @property
    def is_wrong(self) -> bool:
        """Return whether it is, or may be, on another tier than wanted."""
        return bool(
            self.verdict.state
            in (State.OUT_OF_DATE, State.NON_COMPLIANT, State.UNKNOWN)
            or self.verdict.image_tier
            or self.near_tags
        )


def list_volumes(
    *,
    volumes: collections.abc.Iterable[facts.KnownVolume],
    known: facts.VisibleCloud,
    find_image: collections.abc.Callable[[str], facts.KnownImage | None],
    policy: decision.Policy,
) -> collections.abc.Iterator[ListedVolume]:
    """Yield each volume with its verdict; parameters as `audit_volumes`.

    :raises errors.TiersError: raised by `volumes`.
    """
    applied = explanation.read_tiers(known.types)
    near: dict[tuple[frozenset[str], bool], tuple[str, ...]] = {}
    for volume, image, verdict in _judged(
        volumes, known, find_image, policy, applied
    ):
        notes: tuple[str, ...] = ()
        if isinstance(image, facts.KnownImage):
            one = image.image
            key = (
                one.tags,
                one.is_trusted_by(volume.project, policy.tag_trust),
            )
            if key not in near:
                near[key] = tuple(
                    applied.near_tags(
                        one, project=volume.project, policy=policy
                    )
                )
            notes = near[key]
        yield ListedVolume(volume=volume, verdict=verdict, near_tags=notes)


def _judged(
    volumes: collections.abc.Iterable[facts.KnownVolume],
    known: facts.VisibleCloud,
    find_image: collections.abc.Callable[[str], facts.KnownImage | None],
    policy: decision.Policy,
    applied: explanation.AppliedTypes,
) -> collections.abc.Iterator[
    tuple[
        facts.KnownVolume,
        facts.KnownImage | audit.Unread | None,
        VolumeVerdict,
    ]
]:
    verdicts: dict[tuple, VolumeVerdict] = {}
    for volume in volumes:
        image = _image_of(volume, find_image, applied)
        key = _key(volume, image, applied, policy)
        if key not in verdicts:
            verdicts[key] = judge(
                volume=volume,
                image=image,
                known=known,
                policy=policy,
                applied=applied,
            )
        yield volume, image, verdicts[key]


def _image_of(
    volume: facts.KnownVolume,
    find_image: collections.abc.Callable[[str], facts.KnownImage | None],
    applied: explanation.AppliedTypes,
) -> facts.KnownImage | audit.Unread | None:
    """Return the image of a volume of a tier; None if it has none."""
    if (
        volume.image_id is None
        or volume.fixed_by is not None
        or not (_follows(volume) or applied.tier_of(volume.volume_type))
    ):
        return None
    try:
        return find_image(volume.image_id)
    except errors.TiersError as error:
        # The place of a volume whose type does not follow the image does not
        # depend on it.
        return audit.Unread(reason=str(error))


def _follows(volume: facts.KnownVolume) -> bool:
    return volume.volume_type is not None and extra_specs.follows_image(
        volume.volume_type.extra_specs
    )


def judge(
    *,
    volume: facts.KnownVolume,
    image: facts.KnownImage | audit.Unread | None,
    known: facts.VisibleCloud,
    policy: decision.Policy,
    applied: explanation.AppliedTypes | None = None,
) -> VolumeVerdict:
    """Return the finding on the place of a volume.

    :param image: current image that it follows; None if there is none, or if
        it is gone.
    :param known: view of an administrator on the cloud.
    :param applied: tiers of the types in `known`, if they were read already.
    """
    applied = applied or explanation.read_tiers(known.types)
    tier = applied.tier_of(volume.volume_type)
    if volume.type_name and volume.volume_type is None:
        return VolumeVerdict(
            state=State.UNKNOWN,
            reason=(f'Cinder did not list its volume type {volume.type_name}'),
            remedy='run the audit again',
        )
    follows = _follows(volume)
    if (
        tier is None
        and not follows
        and not applied.retired_tier(volume.type_name)
    ):
        return VolumeVerdict(state=State.NOT_APPLICABLE)
    if volume.host is None and (tier or follows):
        return VolumeVerdict(
            state=State.NOT_APPLICABLE, tier=tier and tier.name
        )
    problem = ''
    if isinstance(image, audit.Unread):
        if follows:
            return VolumeVerdict(
                state=State.UNKNOWN,
                reason=image.reason,
                remedy='run the audit again',
            )
        problem = image.reason
        image = None
    explained = explain_volume.explain_volume(
        volume=volume, image=image, known=known, policy=policy, applied=applied
    )
    verdict = _verdict(volume, explained, follows, applied, known)
    # Each remedy for a place is a retype or a migration.
    return dataclasses.replace(
        verdict,
        remedy=_ENCRYPTED.format('')
        if verdict.remedy and volume.is_encrypted
        else verdict.remedy,
        image_problem=problem,
    )


def _verdict(
    volume: facts.KnownVolume,
    explained: explanation.Explanation,
    follows: bool,
    applied: explanation.AppliedTypes,
    known: facts.VisibleCloud,
) -> VolumeVerdict:
    if (
        explained.outcome is explanation.PlacementOutcome.OUT_OF_DATE
        and explained.tier is not None
    ):
        successor = applied.types[explained.tier]
        name = successor.name
        # Cinder checks the rights of the user who retypes.
        closed = (
            ''
            if successor.projects is None
            else '; first see that its project has access to that private '
            'volume type, which Cinder does not check for an administrator'
        )
        judged = applied.judge(successor, known) or ()
        if judged and volume.host not in _names(judged, _ALLOWED):
            return VolumeVerdict(
                state=State.OUT_OF_DATE,
                tier=explained.tier,
                retype_to=name,
                allowed=_names(judged, _ALLOWED),
                own=_names(judged, _OWN),
                reason=f'its type was the type of tier {explained.tier} until '
                'the tier was changed, and the backend that it is on does '
                'not serve the tier',
                remedy=f'run "{_retype(name)} on-demand" on it, which moves '
                f'it{closed}',
            )
        return VolumeVerdict(
            state=State.OUT_OF_DATE,
            tier=explained.tier,
            retype_to=name,
            reason=f'its type was the type of tier {explained.tier} until the '
            'tier was changed',
            remedy=f'run "{_retype(name)} never" on it, which moves no data '
            f'if both types have the same backend{closed}',
        )
    state = {
        explanation.PlacementOutcome.IN_PLACE: State.COMPLIANT,
        explanation.PlacementOutcome.UNKNOWN: State.UNKNOWN,
        explanation.PlacementOutcome.MISPLACED: (
            State.NON_COMPLIANT if follows else State.OUT_OF_DATE
        ),
    }[explained.outcome]
    if state is State.COMPLIANT and explained.tier is None:
        # Its source fixed the place, or Cinder alone chose it.
        state = State.NOT_APPLICABLE
    is_wrong = state in (State.NON_COMPLIANT, State.OUT_OF_DATE)
    retype_to = (
        applied.types[explained.tier].name
        if is_wrong and follows and explained.tier
        else None
    )
    retype = (
        f'run "{_retype(retype_to)} on-demand" on it'
        if retype_to
        else 'run "openstack volume migrate" to a backend of its type'
    )
    return VolumeVerdict(
        state=state,
        tier=explained.tier,
        reason=explained.summary,
        image_tier=explained.image_tier,
        image_type=explained.image_tier
        and applied.types[explained.image_tier].name,
        allowed=_names(explained.judged or (), _ALLOWED),
        own=_names(explained.judged or (), _OWN),
        retype_to=retype_to,
        remedy=retype if is_wrong else '',
    )


def _retype(name: str) -> str:
    """Return the command that retypes a volume, up to the policy."""
    word = shlex.quote(name)
    return f'openstack volume set --type {word} --migration-policy'


def _names(
    judged: collections.abc.Iterable[explanation.JudgedBackend],
    verdicts: collections.abc.Container[explanation.BackendVerdict],
) -> tuple[str, ...]:
    """Return the names of the backends with one of the verdicts."""
    return tuple(one.backend.name for one in judged if one.verdict in verdicts)


def _key(
    volume: facts.KnownVolume,
    image: facts.KnownImage | audit.Unread | None,
    applied: explanation.AppliedTypes,
    policy: decision.Policy,
) -> tuple:
    """Return the key of a verdict, which equal volumes share."""
    type_id = volume.volume_type and volume.volume_type.type_id
    key = (type_id, volume.type_name, volume.host, volume.is_encrypted)
    if not _follows(volume) and image is None:
        return key
    may_use = frozenset(
        tier.name
        for tier in applied.tiers
        if tier.projects is not None and volume.project in tier.projects
    )
    metadata_tag = metadata.known_tag_in(
        volume.metadata, policy, applied.tier_of_tag
    )
    may_select = metadata.may_select(
        volume.metadata, policy, applied.tier_of_tag
    )
    if not isinstance(image, facts.KnownImage):
        return (
            *key,
            may_use,
            metadata_tag,
            may_select,
            volume.fixed_by,
            volume.image_id,
        )
    return (
        *key,
        may_use,
        metadata_tag,
        may_select,
        image.image.tags,
        image.image.visibility,
        image.image.owner == volume.project,
    )


def _is_asked_for(
    verdict: VolumeVerdict, tiers: collections.abc.Container[str] | None
) -> bool:
    if tiers is None or verdict.tier in tiers:
        return True
    return verdict.tier is None and verdict.state is State.UNKNOWN


def _place(volume: facts.KnownVolume, verdict: VolumeVerdict) -> audit.Finding:
    return audit.Finding(
        object_name=f'volume {volume.volume_id}',
        tier=verdict.tier,
        state=verdict.state,
        aspect=PLACEMENT,
        current={'type': volume.type_name, 'backend': volume.host},
        expected={'backend': ', '.join(verdict.allowed)}
        if verdict.allowed
        else {},
        reason=verdict.reason,
        remedy=verdict.remedy,
    )


def _selected(
    volume: facts.KnownVolume, verdict: VolumeVerdict
) -> collections.abc.Iterator[audit.Finding]:
    """Yield a volume whose image selects another tier now, or may do so."""
    if verdict.image_problem:
        yield audit.Finding(
            object_name=f'volume {volume.volume_id}',
            tier=verdict.tier,
            state=State.UNKNOWN,
            aspect=IMAGE,
            reason=verdict.image_problem,
        )
    if verdict.image_tier is None or verdict.image_type is None:
        return
    yield audit.Finding(
        object_name=f'volume {volume.volume_id}',
        tier=verdict.tier,
        state=State.WARNING,
        aspect=IMAGE,
        current={'tier': verdict.tier},
        expected={'tier': verdict.image_tier},
        reason=f'its image now selects tier {verdict.image_tier}: the tags '
        'were changed since, or the request named a type',
        remedy='unless its type was chosen on purpose, '
        + (
            _ENCRYPTED.format(' --kind image')
            if volume.is_encrypted
            else f'run "{_retype(verdict.image_type)} on-demand" on it, which '
            'moves it'
        ),
    )


def _home(
    volume: facts.KnownVolume,
    verdict: VolumeVerdict,
    residency: Residency | None,
) -> list[audit.Finding]:
    """Return the finding on blocks that a volume shares with an image.

    A finding without a current value is only counted.
    """
    if residency is None or verdict.tier is None or volume.host is None:
        return []
    state = State.COMPLIANT
    current: dict[str, str] = {}
    expected: dict[str, str] = {}
    parent = residency.clones.get(volume.stored_id or volume.volume_id)
    if verdict.tier not in residency.unread:
        state = State.NOT_APPLICABLE
    elif parent:
        state, current = State.UNKNOWN, {'parent': parent}
        expected = {'pool': residency.pools[verdict.tier]}
    elif residency.unread[verdict.tier]:
        state = State.UNKNOWN
    return [
        audit.Finding(
            object_name=f'volume {volume.volume_id}',
            tier=verdict.tier,
            state=state,
            aspect=RESIDENCY,
            current=current,
            expected=expected,
            reason=_CLONE if parent else '',
            remedy=(
                'run "openstack tier repair --kind residency", or "rbd '
                'flatten" on it, to give it its own copy of all blocks'
            )
            if parent
            else '',
        )
    ]


def limits_of(
    volume: facts.KnownVolume, limits: volume_limits.VolumeLimits
) -> volume_limits.ImageLimits | str | None:
    """Return the limits of the image of a volume of a tier.

    :returns: the limits; a reason if they are unknown; None if the volume has
        no image in Ceph at present.
    """
    place = limits.places.get(volume.host or '')
    if (
        place is None
        or volume.volume_type is None
        or volume.status in WITHOUT_IMAGE
    ):
        return None
    images = limits.images[place]
    if isinstance(images, str):
        return images
    spec = limits.types.get(volume.volume_type.type_id)
    has = images.get(volume.stored_id or volume.volume_id)
    if spec is None:
        return f'Cinder did not list its volume type {volume.type_name}'
    if has is None:
        return f'pool {place.pool} has no image of it'
    if faults := volume_limits.faults_of(spec):
        return _faulty(volume, faults)
    wanted = volume_limits.of_image(spec, volume.size_gib)
    return volume_limits.ImageLimits(
        place=place,
        has=has,
        changes=volume_limits.difference(has, wanted),
    )


def _faulty(
    volume: facts.KnownVolume, faults: collections.abc.Iterable[str]
) -> str:
    return (
        f'the QoS spec of its volume type {volume.type_name} has '
        f'{"; ".join(faults)}'
    )


def _limited(
    volume: facts.KnownVolume,
    verdict: VolumeVerdict,
    limits: volume_limits.VolumeLimits | None,
) -> list[audit.Finding]:
    """Compare the limits of the image of a volume with those of its type.

    A finding without a current value is only counted.
    """
    found = limits_of(volume, limits) if limits and verdict.tier else None
    if found is None:
        return []
    state, reason = State.COMPLIANT, ''
    current: dict[str, str | None] = {}
    expected: dict[str, str | None] = {}
    if isinstance(found, str):
        state, reason = State.UNKNOWN, found
    elif found.changes:
        expected = dict(found.changes)
        state = State.OUT_OF_DATE
        current = {option: found.has.get(option) for option in expected}
        reason = (
            'its image does not have the limits of its volume type: Cinder '
            'sets them when a volume is created or retyped only, and not all '
            'drivers set limits by size'
        )
    return [
        audit.Finding(
            object_name=f'volume {volume.volume_id}',
            tier=verdict.tier,
            state=state,
            aspect=LIMITS,
            current=current,
            expected=expected,
            reason=reason,
            remedy='run "openstack tier repair --kind limits"'
            if expected
            else '',
        )
    ]


def _attached(
    volume: facts.KnownVolume,
    verdict: VolumeVerdict,
    limits: volume_limits.VolumeLimits | None,
) -> collections.abc.Iterator[audit.Finding]:
    """Compare the limits of the servers that have a volume with its type.

    A finding without a current value is only counted.
    """
    if limits is None or verdict.tier is None or volume.volume_type is None:
        return
    if isinstance(limits.attached, str):
        # Other volumes have no server.
        if volume.status == _IN_USE:
            yield _of_servers(volume, verdict, reason=limits.attached)
        return
    servers = limits.attached.get(volume.volume_id, ())
    spec = limits.types.get(volume.volume_type.type_id)
    if spec is None or not servers:
        # If the type is not listed, the place is unknown as well.
        return
    try:
        wanted = volume_limits.of_server(spec, volume.size_gib)
    except ValueError as error:
        yield _of_servers(
            volume, verdict, reason=_faulty(volume, [str(error)])
        )
        return
    for one in servers:
        if one.has is None:
            yield _of_servers(
                volume,
                verdict,
                reason='Cinder has no record of the limits that Nova got',
            )
            continue
        changes = volume_limits.difference(one.has, wanted)
        yield audit.Finding(
            object_name=f'volume {volume.volume_id}',
            tier=verdict.tier,
            state=State.OUT_OF_DATE if changes else State.COMPLIANT,
            aspect=ATTACHED,
            current={'server': one.server}
            | {key: one.has.get(key) for key in changes}
            if changes
            else {},
            expected=changes,
            reason='the server has other front-end limits than the volume '
            'type gives: Nova keeps those of the moment when the volume was '
            'attached, also when the volume grows'
            if changes
            else '',
            remedy=f'live-migrate server {one.server}, or shelve and unshelve '
            'it, or detach the volume and attach it again; a reboot keeps the '
            'old limits'
            if changes
            else '',
        )


def _of_servers(
    volume: facts.KnownVolume, verdict: VolumeVerdict, *, reason: str
) -> audit.Finding:
    """Return the finding of a volume whose server limits are unknown."""
    return audit.Finding(
        object_name=f'volume {volume.volume_id}',
        tier=verdict.tier,
        state=State.UNKNOWN,
        aspect=ATTACHED,
        reason=reason,
    )


def _seen(counts: collections.Counter) -> int:
    return sum(
        number
        for (_, aspect, _), number in counts.items()
        if aspect == PLACEMENT
    )


def _counted(
    counts: collections.Counter,
    residency: Residency | None,
    reasons: collections.abc.Mapping[tuple, str],
) -> collections.abc.Iterator[audit.Finding]:
    """Yield a finding for each tier, aspect and state that has volumes."""
    order = list(State)
    for tier, aspect, state in sorted(
        counts, key=lambda one: (one[0] or '', one[1], order.index(one[2]))
    ):
        unread = (
            residency.unread.get(tier, '')
            if residency and aspect == RESIDENCY and state is State.UNKNOWN
            else ''
        )
        yield audit.Finding(
            object_name=f'volumes of {f"tier {tier}" if tier else "no tier"}',
            tier=tier,
            state=state,
            aspect=aspect,
            reason=unread or reasons.get((tier, aspect, state), ''),
            current={'volumes': counts[tier, aspect, state]},
        )
