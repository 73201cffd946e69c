# SPDX-License-Identifier: Apache-2.0

"""Repair of volumes: a step for each, or the reason why there is none.

The rules are those of Cinder, so that its refusals are known before anything
is touched. Pure. Must not know how volumes are read, nor how a step is
executed.
"""

import collections
import collections.abc
import dataclasses
import enum
import shlex

from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.audit import volume_limits
from cinder_tiers.domain.audit import volumes as audit_volumes
from cinder_tiers.domain.explain import explanation
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.state import cinder

#: Of a volume that nothing is done with at the moment (VolumeAPI.retype,
#: cinder/volume/api.py).
_AT_REST = ('available', 'in-use')
#: Of a volume that a server has; the latter while that is shelved.
_OF_SERVERS = ('in-use', 'reserved')
#: In which Cinder may be about to write limits, or to leave the image.
_MOVING = ('retyping', 'maintenance', 'extending')


class RepairKind(enum.Enum):
    """Kinds of repair."""

    TYPE = 'type'
    """The volume has the former type of a tier; its data stay."""
    PLACEMENT = 'placement'
    """The volume is not where its tier is; its data move."""
    LIMITS = 'limits'
    """Its RBD image has not the limits of its type."""
    IMAGE = 'image'
    """Its image selects another tier today; its data move."""
    RESIDENCY = 'residency'
    """It shares blocks with an image; Ceph gives it copies of its own."""
    RECOMMENDATION = 'recommendation'
    """It belongs on another tier, as a file says; its data move."""


class StepOutcome(enum.Enum):
    """Outcomes of a step."""

    DONE = 'done'
    FAILED = 'failed'
    REFUSED = 'refused'
    """The plan had said so; nothing was done."""
    CHANGED = 'changed'
    """The volume is not as the plan showed it; nothing was done."""
    NOT_STARTED = 'not started'
    """The repair ended first; nothing was done."""


#: What is wrong for certain; the type of a volume whose image selects another
#: tier may have been chosen on purpose.
CERTAIN = (RepairKind.TYPE, RepairKind.PLACEMENT, RepairKind.LIMITS)
#: What is found without a file.
FOUND = (*CERTAIN, RepairKind.IMAGE, RepairKind.RESIDENCY)


class ServerState(enum.Enum):
    """State of a server before and after a repair."""

    ACTIVE = 'active'
    STOPPED = 'stopped'
    SHELVED = 'shelved'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Server:
    """A server that is shelved while its volumes change."""

    server_id: str
    state: ServerState
    #: Whether Nova saves its local disk as an image meanwhile.
    saves_image: bool = False
    #: Whether a repair that did not end has locked it.
    is_left: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class QosSpec:
    """The QoS spec of a volume type."""

    spec_id: str
    consumer: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Circumstances:
    """Facts on which Cinder's answer depends, apart from the volumes."""

    #: Ids of volumes that have snapshots.
    with_snapshots: frozenset[str]
    #: {name of a volume type: its QoS spec}, of those that have one.
    qos: collections.abc.Mapping[str, QosSpec]
    #: {host@backend#pool: GiB that are free}, of those that report to the
    #: scheduler; endless where the driver says so or does not know.
    free_gib: collections.abc.Mapping[str, float]
    #: {host@backend#pool: FSID of its Ceph cluster}, of those that say it.
    fsids: collections.abc.Mapping[str, str] = dataclasses.field(
        default_factory=dict
    )
    #: None: limits are not repaired.
    limits: volume_limits.VolumeLimits | None = None
    #: None: copy-on-write clones are not flattened.
    residency: audit_volumes.Residency | None = None
    #: {host@backend#pool: where its images are}, with `residency`.
    places: collections.abc.Mapping[str, volume_limits.ClusterPool] = (
        dataclasses.field(default_factory=dict)
    )
    #: Volume types, with the projects that may use them.
    types: tuple[facts.KnownType, ...] = ()
    #: {name of a volume type: its encryption, or why that is unknown}, of
    #: those that may have one and matter to a step.
    encryptions: collections.abc.Mapping[str, cinder.TypeEncryption | str] = (
        dataclasses.field(default_factory=dict)
    )
    #: host@backend#pool of those that say that their storage is not Ceph.
    not_ceph: frozenset[str] = frozenset()
    #: {host@backend#pool: its volume_backend_name}.
    backend_names: collections.abc.Mapping[str, str] = dataclasses.field(
        default_factory=dict
    )
    #: {id of a volume: its server, or why that is not shelved}, of those whose
    #: data are to move; None: no server is shelved.
    servers: collections.abc.Mapping[str, Server | str] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class RepairStep:
    """Step that repairs a volume."""

    kind: RepairKind
    volume: facts.KnownVolume
    tier: str
    #: What is wrong, as the audit says it; why another tier is better.
    reason: str
    #: The tier that a recommendation names.
    to_tier: str | None = None
    #: Name of the volume type that it gets; None: it keeps its own.
    retype_to: str | None = None
    #: host@backend#pool that it is migrated to, with its type.
    migrate_to: str | None = None
    #: The limits of its RBD image, and what they become.
    limits: volume_limits.ImageLimits | None = None
    #: Where its RBD image is, which is flattened.
    flattens: volume_limits.ClusterPool | None = None
    #: The server that is shelved for it.
    shelves: Server | None = None
    #: Why it is not done; empty: it is.
    refusal: str = ''

    @property
    def moved_gib(self) -> int:
        """Upper bound of the copied data, in GiB."""
        if self.kind in (RepairKind.TYPE, RepairKind.LIMITS):
            return 0
        return self.volume.size_gib


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wish:
    """The only step that is looked for at a volume."""

    kind: RepairKind
    #: Of a recommendation: the tier that the volume is of.
    tier: str
    #: Of a recommendation: the tier that it is to be of.
    to_tier: str | None = None
    #: Of a recommendation: why.
    reason: str = ''
    #: The backend that it is migrated to, if that is possible.
    migrate_to: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class RepairPlan:
    """Steps that repair volumes."""

    steps: tuple[RepairStep, ...]
    #: {why it is not known whether a volume is right: of how many}.
    unknown: collections.abc.Mapping[str, int]
    #: Servers that a repair that did not end has locked.
    left: tuple[Server, ...] = ()


def plan(
    listed: collections.abc.Iterable[audit_volumes.ListedVolume],
    *,
    circumstances: Circumstances,
    kinds: collections.abc.Container[RepairKind],
    tiers: collections.abc.Container[str] | None = None,
    volumes: collections.abc.Container[str] | None = None,
    wishes: collections.abc.Mapping[str, Wish] | None = None,
) -> RepairPlan:
    """The steps that make volumes compliant, in the order of the volumes.

    One step for a volume: with another type it gets the limits of that type.

    :param listed: volumes of all projects, with what is said of each.
    :param tiers: names of those whose volumes are repaired; None: all.
    :param volumes: ids of those that are repaired; None: all.
    :param wishes: {id: wish} of those that are repaired; None: all are, and
        each of the kinds is looked for.
    """
    planned: list[RepairStep] = []
    unknown: collections.Counter[str] = collections.Counter()
    free_gib = dict(circumstances.free_gib)
    types = {one.name: one for one in circumstances.types}
    applied = explanation.read_tiers(circumstances.types).types
    for one in listed:
        volume, verdict = one.volume, one.verdict
        if volumes is not None and volume.volume_id not in volumes:
            continue
        if tiers is not None and verdict.tier not in tiers:
            continue
        wish = None
        looked_for = kinds
        if wishes is not None:
            wish = wishes.get(volume.volume_id)
            if wish is None:
                continue
            looked_for = (wish.kind,)
            if wish.to_tier and wish.kind is RepairKind.RECOMMENDATION:
                planned.extend(
                    _recommended(
                        volume,
                        verdict,
                        wish,
                        wish.to_tier,
                        applied.get(wish.to_tier),
                        circumstances,
                    )
                )
                continue
        unknown.update(_unknown(volume, verdict, circumstances, looked_for))
        if verdict.tier is None:
            continue
        steps = [
            step
            for step in (
                *_moves(
                    volume,
                    verdict,
                    verdict.tier,
                    circumstances,
                    free_gib,
                    types,
                    preferred=wish.migrate_to if wish else None,
                ),
                *_limits(volume, verdict.tier, circumstances.limits),
                *_flattens(volume, verdict.tier, circumstances),
            )
            if step.kind in looked_for
        ]
        steps.sort(key=lambda step: bool(step.refusal))
        for step in steps[:1]:
            if step.migrate_to and not step.refusal:
                free_gib[step.migrate_to] -= volume.size_gib
            planned.append(step)
    return RepairPlan(steps=tuple(planned), unknown=unknown)


def _unknown(
    volume: facts.KnownVolume,
    verdict: audit_volumes.VolumeVerdict,
    circumstances: Circumstances,
    kinds: collections.abc.Container[RepairKind],
) -> collections.abc.Iterator[str]:
    """Explain why the state of a volume is not known."""
    limits, residency = circumstances.limits, circumstances.residency
    if verdict.state is audit.State.UNKNOWN and (
        RepairKind.TYPE in kinds or RepairKind.PLACEMENT in kinds
    ):
        yield verdict.reason
    if verdict.image_problem and RepairKind.IMAGE in kinds:
        yield verdict.image_problem
    if limits and verdict.tier and RepairKind.LIMITS in kinds:
        found = audit_volumes.limits_of(volume, limits)
        if isinstance(found, str):
            yield found
    if residency and verdict.tier and RepairKind.RESIDENCY in kinds:
        reason = residency.unread.get(verdict.tier)
        if reason:
            yield reason


def _moves(
    volume: facts.KnownVolume,
    verdict: audit_volumes.VolumeVerdict,
    tier: str,
    circumstances: Circumstances,
    free_gib: collections.abc.Mapping[str, float],
    types: collections.abc.Mapping[str, facts.KnownType],
    *,
    preferred: str | None,
) -> collections.abc.Iterator[RepairStep]:
    is_wrong = verdict.state in (
        audit.State.OUT_OF_DATE,
        audit.State.NON_COMPLIANT,
    )
    migrate_to = None
    if is_wrong and verdict.retype_to:
        retype_to = verdict.retype_to
        # Where a volume may stay, the verdict names no backend.
        kind = (
            RepairKind.TYPE
            if verdict.state is audit.State.OUT_OF_DATE and not verdict.allowed
            else RepairKind.PLACEMENT
        )
        reason = verdict.reason
    elif is_wrong:
        retype_to, kind, reason = None, RepairKind.PLACEMENT, verdict.reason
        migrate_to = _target(volume, verdict, free_gib, preferred)
    elif verdict.image_type:
        retype_to, kind = verdict.image_type, RepairKind.IMAGE
        reason = f'its image now selects tier {verdict.image_tier}'
    else:
        return
    target = types.get(retype_to or '')
    yield RepairStep(
        kind=kind,
        volume=volume,
        tier=tier,
        reason=reason,
        retype_to=retype_to,
        migrate_to=migrate_to,
        shelves=shelved_for(volume, kind, circumstances),
        refusal='; '.join(
            [
                *(not_entitled(volume, target) if target else ()),
                *objections(
                    volume,
                    kind,
                    retype_to=retype_to,
                    migrate_to=migrate_to,
                    targets=verdict.allowed
                    if kind is RepairKind.PLACEMENT
                    else circumstances.free_gib,
                    circumstances=circumstances,
                ),
            ]
        ),
    )


def _recommended(
    volume: facts.KnownVolume,
    verdict: audit_volumes.VolumeVerdict,
    wish: Wish,
    to_tier: str,
    target: facts.KnownType | None,
    circumstances: Circumstances,
) -> collections.abc.Iterator[RepairStep]:
    """The retype to a tier that somebody recommends."""
    if verdict.tier == to_tier:
        return
    refusals: list[str] = []
    if verdict.tier != wish.tier:
        refusals.append(
            f'it is of {f"tier {verdict.tier}" if verdict.tier else "no tier"}'
            f', and the recommendation is for a volume of tier {wish.tier}'
        )
    if target is None:
        refusals.append(f'tier {to_tier} is not applied')
    else:
        refusals += [
            *not_entitled(volume, target),
            *objections(
                volume,
                RepairKind.RECOMMENDATION,
                retype_to=target.name,
                migrate_to=None,
                targets=circumstances.free_gib,
                circumstances=circumstances,
            ),
        ]
    yield RepairStep(
        kind=RepairKind.RECOMMENDATION,
        volume=volume,
        tier=wish.tier,
        reason=wish.reason,
        to_tier=to_tier,
        retype_to=target and target.name,
        shelves=shelved_for(volume, RepairKind.RECOMMENDATION, circumstances),
        refusal='; '.join(refusals),
    )


def not_entitled(
    volume: facts.KnownVolume, target: facts.KnownType
) -> collections.abc.Iterator[str]:
    """Explain why a volume must not have a type; Cinder checks the user."""
    if target.projects is not None and volume.project not in target.projects:
        yield f'its project may not use the volume type {target.name}'


def _target(
    volume: facts.KnownVolume,
    verdict: audit_volumes.VolumeVerdict,
    free_gib: collections.abc.Mapping[str, float],
    preferred: str | None,
) -> str | None:
    """The backend with the most space, of its tier before its overflow."""
    for names in (verdict.own, verdict.allowed):
        room = {
            name: free_gib[name]
            for name in sorted(names)
            if free_gib.get(name, 0.0) >= volume.size_gib
        }
        if preferred in room:
            return preferred
        if room:
            return max(room, key=lambda name: room[name])
    return None


def objections(
    volume: facts.KnownVolume,
    kind: RepairKind,
    *,
    retype_to: str | None,
    migrate_to: str | None,
    targets: collections.abc.Collection[str],
    circumstances: Circumstances,
) -> collections.abc.Iterator[str]:
    """Yield reasons why Cinder would refuse or not complete a step.

    :param retype_to: name of the new volume type; None: the type stays.
    :param migrate_to: backend to which the volume is migrated with its type.
    :param targets: backends on which it may lie afterwards.
    """
    if not (retype_to or migrate_to):
        yield (
            'no backend that reports to the scheduler serves its tier and has '
            f'{volume.size_gib} GiB free'
        )
    if volume.status not in _AT_REST and not shelved_for(
        volume, kind, circumstances
    ):
        yield f'its status is {volume.status}, expected available or in-use'
    if volume.is_migrating:
        yield 'it is being migrated'
    if volume.is_replicated and kind is not RepairKind.TYPE:
        yield 'it is replicated, and Cinder does not migrate such volumes'
    if volume.in_group:
        yield 'it is in a group, which Cinder keeps on one backend'
    if (
        retype_to
        and volume.status in _OF_SERVERS
        and not _takes_limits_attached(
            volume.type_name, retype_to, circumstances.qos
        )
    ):
        yield (
            'it is attached, and Cinder does not change front-end limits of '
            'an attached volume: detach it, or declare the limits of both '
            'tiers under back_end'
        )
    if retype_to:
        yield from _encrypted(volume, kind, retype_to, targets, circumstances)
    if kind is RepairKind.TYPE:
        return
    if volume.status in _OF_SERVERS:
        yield from _not_shelved(volume, retype_to, circumstances)
    if migrate_to:
        yield from _cut_off(volume, migrate_to, circumstances)
    # Cinder asks the driver before it copies if the other pool is of the same
    # backend; "volume migrate" refuses snapshots in any case.
    if volume.volume_id in circumstances.with_snapshots and (
        migrate_to or not _may_stay(volume, targets)
    ):
        yield (
            'it has snapshots, and Cinder does not copy these to another '
            'backend: delete them first'
        )


def attached(
    steps: collections.abc.Iterable[RepairStep],
) -> list[facts.KnownVolume]:
    """Return the volumes of servers whose data are to move."""
    return [
        one.volume
        for one in steps
        if one.moved_gib and one.retype_to and one.volume.status in _OF_SERVERS
    ]


def shelved_for(
    volume: facts.KnownVolume, kind: RepairKind, circumstances: Circumstances
) -> Server | None:
    """Return the server that is shelved while a volume changes; None: none."""
    found = (circumstances.servers or {}).get(volume.volume_id)
    is_needed = kind is not RepairKind.TYPE and volume.status in _OF_SERVERS
    return found if is_needed and isinstance(found, Server) else None


def _not_shelved(
    volume: facts.KnownVolume,
    retype_to: str | None,
    circumstances: Circumstances,
) -> collections.abc.Iterator[str]:
    """Explain why the data of an attached volume do not move."""
    if circumstances.servers is None:
        # Of others it is said that they are not at rest.
        if volume.status == 'in-use':
            yield (
                'it is attached, and its data do not move in place while a '
                'server may write them: shelve the server with --shelve, or '
                'detach it'
            )
    elif not (retype_to and _is_in_place(volume, retype_to, circumstances)):
        yield (
            'it is attached, and would be copied: only TieredRBDDriver changes'
            ' volumes of a shelved server, and only within its backend; '
            'detach it'
        )
    else:
        found = circumstances.servers.get(
            volume.volume_id, 'it is attached to no server'
        )
        if isinstance(found, str):
            yield found


def _is_in_place(
    volume: facts.KnownVolume, retype_to: str, circumstances: Circumstances
) -> bool:
    """Return whether a type has only other pools of a volume's backend.

    No driver but the tiered one has several pools in Ceph.
    """
    here = volume.host or ''
    if here not in circumstances.fsids:
        return False
    specs = {one.name: one.extra_specs for one in circumstances.types}
    wanted = specs.get(retype_to, {}).get('volume_backend_name', '').split()
    targets = {
        host
        for host, name in circumstances.backend_names.items()
        if not wanted or name in wanted
    }
    backend = here.partition('#')[0]
    return bool(targets - {here}) and {
        one.partition('#')[0] for one in targets
    } == {backend}


def _encrypted(
    volume: facts.KnownVolume,
    kind: RepairKind,
    retype_to: str,
    targets: collections.abc.Collection[str],
    circumstances: Circumstances,
) -> collections.abc.Iterator[str]:
    """Explain why a volume that is encrypted, or would be, gets no new type.

    If one of the two types has an encryption, the same or not, Cinder does not
    ask the driver (VolumeManager.retype, 29.0.0): it refuses, or copies. A
    copy from or to an image of Ceph fails if the encryption changes, as librbd
    has no device for dm-crypt. Else it ends at the size of the volume, and an
    image of Ceph is longer by its LUKS header: that much of the end is lost.
    """
    keeps = kind is RepairKind.TYPE
    from_ceph = (volume.host or '') not in circumstances.not_ceph
    to_ceph = not (targets and circumstances.not_ceph.issuperset(targets))
    found = [
        circumstances.encryptions.get(name)
        for name in (volume.type_name or '', retype_to)
    ]
    for one in found:
        if isinstance(one, str):
            if keeps or from_ceph or to_ceph:
                yield one
            return
    before, after = (
        dataclasses.replace(one, name='')
        if isinstance(one, cinder.TypeEncryption)
        else None
        for one in found
    )
    if not (volume.is_encrypted or before or after):
        return
    effect = 'which fails'
    if before == after:
        words, effect = 'it is encrypted', 'without the end of its data'
    elif not before:
        words = f'it is not encrypted, and the volume type {retype_to} is'
    elif not after:
        words = f'it is encrypted, and the volume type {retype_to} is not'
    else:
        words = f'the volume type {retype_to} encrypts in another way'
    words += ': to change the type, Cinder copies all of the volume, '
    if from_ceph or (to_ceph and before != after and not keeps):
        yield (
            f'{words}in Ceph {effect}. Attach a new volume of type {retype_to}'
            ' to a server, and copy the data there'
        )
    elif keeps and (before or after):
        yield (
            f'{words}and this step moves no data. Detach it, and run '
            f'"openstack volume set --type {shlex.quote(retype_to)} '
            f'--migration-policy on-demand {volume.volume_id}"'
        )


def _cut_off(
    volume: facts.KnownVolume,
    migrate_to: str,
    circumstances: Circumstances,
) -> collections.abc.Iterator[str]:
    """Explain why an encrypted volume does not leave its cluster.

    Within it, the driver copies all of the image (RBDDriver.migrate_volume).
    """
    host = volume.host or ''
    if not volume.is_encrypted or host in circumstances.not_ceph:
        return
    here, there = map(circumstances.fsids.get, (host, migrate_to))
    if here is None:
        yield (
            'it is encrypted, and it is not known whether both backends are '
            'of one Ceph cluster, because its own does not report one to the '
            'scheduler: enable it first, and see that its cluster answers'
        )
    elif here != there:
        yield (
            'it is encrypted, and Cinder copies such a volume out of its Ceph '
            'cluster without the end of its data: attach a new volume to a '
            'server, and copy the data there'
        )


def _may_stay(
    volume: facts.KnownVolume, targets: collections.abc.Iterable[str]
) -> bool:
    """Return whether the volume's backend has another pool for it."""
    backend = (volume.host or '').partition('#')[0]
    return any(
        name.partition('#')[0] == backend and name != volume.host
        for name in targets
    )


def is_same_place(one: str | None, other: str | None) -> bool:
    """Return whether two hosts of Cinder are the same backend and pool.

    In a cluster of cinder-volumes, another host may have moved a volume.

    >>> is_same_place('a@ceph#fast', 'b@ceph#fast')
    True
    """
    return (one or '').partition('@')[2] == (other or '').partition('@')[2]


def _takes_limits_attached(
    before: str | None,
    after: str,
    qos: collections.abc.Mapping[str, QosSpec],
) -> bool:
    """Apply `volume_qos_allows_retype` (cinder/db/sqlalchemy/api.py)."""
    specs = [qos.get(name) for name in (before or '', after)]
    return specs[0] == specs[1] or all(
        spec is None or spec.consumer == 'back-end' for spec in specs
    )


def _limits(
    volume: facts.KnownVolume,
    tier: str,
    limits: volume_limits.VolumeLimits | None,
) -> collections.abc.Iterator[RepairStep]:
    found = audit_volumes.limits_of(volume, limits) if limits else None
    if found is None or isinstance(found, str) or not found.changes:
        return
    yield RepairStep(
        kind=RepairKind.LIMITS,
        volume=volume,
        tier=tier,
        reason='; '.join(
            f'{option} is {found.has.get(option, "not set")}, expected '
            f'{"not set" if value is None else value}'
            for option, value in found.changes.items()
        ),
        limits=found,
        refusal=limits_objection(volume),
    )


def limits_objection(volume: facts.KnownVolume) -> str:
    """Explain why the limits of an image are not set; empty if they are."""
    # Cinder may set them at any time, or leave the image.
    if volume.status in _MOVING:
        return f'its status is {volume.status}'
    return 'it is being migrated' if volume.is_migrating else ''


def _flattens(
    volume: facts.KnownVolume, tier: str, circumstances: Circumstances
) -> collections.abc.Iterator[RepairStep]:
    residency = circumstances.residency
    parent = (
        residency.clones.get(volume.stored_id or volume.volume_id)
        if residency
        else None
    )
    if parent is None or volume.status in audit_volumes.WITHOUT_IMAGE:
        return
    place = circumstances.places.get(volume.host or '')
    yield RepairStep(
        kind=RepairKind.RESIDENCY,
        volume=volume,
        tier=tier,
        reason=f'it is a copy-on-write clone of {parent}, from which blocks '
        'that were never written are read',
        flattens=place,
        refusal=limits_objection(volume)
        if place
        else 'its backend does not report a pool of a cluster of the tiers '
        'file',
    )
