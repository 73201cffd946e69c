# SPDX-License-Identifier: Apache-2.0

"""Explanation of a placement: the answer of `openstack tier explain`.

Has plain values, and the common part of explanations of new and existing
volumes. Must not know what is explained, nor how it is shown.
"""

import collections.abc
import dataclasses
import enum
import functools

from cinder_tiers.domain.explain import near_tags
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.placement import backends
from cinder_tiers.domain.placement import decision
from cinder_tiers.domain.placement import private_backends
from cinder_tiers.domain.placement import tier_specs
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import type_succession


class PlacementOutcome(enum.Enum):
    """Outcome of an explanation."""

    PLACED = 'placed'
    """A new volume would get a place."""
    NOT_PLACED = 'not placed'
    """A new volume would be refused, or find no backend."""
    IN_PLACE = 'in place'
    """A volume is where it should be."""
    MISPLACED = 'misplaced'
    """A volume is not where it should be."""
    OUT_OF_DATE = 'out of date'
    """A volume has the retired type of a tier."""
    UNKNOWN = 'unknown'
    """It does not follow from what the user may see."""


class BackendVerdict(enum.Enum):
    """Role of a backend for a volume."""

    OWN = 'own'
    """It serves the tier, or the volume type."""
    OVERFLOW = 'overflow'
    """It takes the volume when the own ones have no room."""
    NO = 'no'
    UNKNOWN = 'unknown'
    """Cinder alone chooses, by a volume type that is not known."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Alternative:
    """A tier that does not serve the volume."""

    tier: str
    why: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class JudgedBackend:
    """A backend, and its role for the volume."""

    backend: backends.Backend
    verdict: BackendVerdict
    #: '' for an own backend.
    why: str = ''


def _turn(judged: JudgedBackend) -> tuple[int, str]:
    """Return the sort key of a backend: own ones first."""
    return list(BackendVerdict).index(judged.verdict), judged.backend.name


@dataclasses.dataclass(frozen=True, kw_only=True)
class Explanation:
    """Place of a volume, and the reasons."""

    outcome: PlacementOutcome
    #: The answer as a sentence.
    summary: str
    #: Name of the tier that serves the volume; None if no tier does, or if it
    #: is unknown.
    tier: str | None = None
    #: Name of the tier that may take the volume instead.
    overflow: str | None = None
    #: Name of the volume type that it has, or gets from the API middleware.
    volume_type: str | None = None
    #: Where an existing volume is: host@backend#pool.
    host: str | None = None
    reasons: tuple[decision.Reason, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    #: None if they are hidden.
    judged: tuple[JudgedBackend, ...] | None = None
    #: Name of the tier that the volume's image selects today, if the volume
    #: has the type of another tier.
    image_tier: str | None = None
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class AppliedTypes:
    """The tiers among the volume types."""

    tiers: tuple[decision.AppliedTier, ...]
    #: {name of a tier: its volume type}
    types: collections.abc.Mapping[str, facts.KnownType]
    #: A sentence for each managed volume type that is left out.
    problems: tuple[str, ...]
    #: All types with the mark of a tier, including retired and unreadable
    #: ones, but not those that an apply has not opened yet.
    marked: tuple[facts.KnownType, ...] = ()

    def tier_of(
        self,
        volume_type: facts.KnownType | None,
    ) -> decision.AppliedTier | None:
        """Return the tier of a volume type; None if it is not of a tier."""
        return next(
            (
                tier
                for tier in self.tiers
                if self.types[tier.name] is volume_type
            ),
            None,
        )

    def retired_tier(self, type_name: str | None) -> str | None:
        """Return the tier whose type this was until it was retired."""
        successor = type_succession.successor_of(type_name or '')
        return next(
            (
                tier
                for tier, one in self.types.items()
                if one.name == successor
            ),
            None,
        )

    @functools.cached_property
    def tier_of_tag(self) -> collections.abc.Mapping[str, str]:
        """{normal form of a tag: name of the tier that it selects}"""
        # If several tiers have a tag, the one with the highest priority
        # counts.
        return {
            tag: tier.name
            for tier in sorted(self.tiers, key=lambda one: one.priority)
            for tag in tier.tags
        }

    def near_tags(
        self,
        image: decision.Image | None,
        published: frozenset[str] = frozenset(),
        *,
        project: str,
        policy: decision.Policy,
    ) -> collections.abc.Iterator[str]:
        """Yield a note for each tag of an image that resembles one of a tier.

        An image whose tags do not count, or which also has a tag of a tier,
        gets no note.

        :param published: further tags of tiers, in normal form.
        :param project: id of the project of the volume.
        """
        if image is None or not image.is_trusted_by(project, policy.tag_trust):
            return
        for one in near_tags.find(
            image.tags, self.tier_of_tag.keys() | published
        ):
            yield (
                f'the tag {one.tag} of the image selects no tier; did you '
                f'mean {one.meant!r}?'
            )

    def overflow_of(
        self,
        tier: decision.AppliedTier | None,
    ) -> decision.AppliedTier | None:
        """Return the tier to which a tier overflows, or None."""
        return tier and next(
            (
                other
                for other in self.tiers
                if other.name == tier.overflow != tier.name
            ),
            None,
        )

    def judge(
        self, volume_type: facts.KnownType | None, known: facts.VisibleCloud
    ) -> tuple[JudgedBackend, ...] | None:
        """Return the role of each backend for a volume type, own ones first.

        :param volume_type: volume type; None if unknown.
        :param known: facts on the backends.
        :returns: backends and their roles; None if the backends are hidden.
        """
        if known.backends is None:
            return None
        if volume_type is not None:
            # An audit asks for each volume; the reference keeps the id in use.
            asked = id(known), volume_type.type_id
            if asked not in self._judged:
                self._judged[asked] = (
                    known,
                    self._judge(volume_type, known.backends),
                )
            return self._judged[asked][1]
        return tuple(
            JudgedBackend(
                backend=backend,
                verdict=BackendVerdict.UNKNOWN,
                why=(
                    'Cinder chooses by a volume type that is not known '
                    'to this command'
                ),
            )
            for backend in known.backends
        )

    def without_closed(
        self,
        judged: tuple[JudgedBackend, ...],
        known: facts.VisibleCloud,
        *,
        project: str,
        is_unbound: bool,
        volume_type: facts.KnownType | None,
    ) -> tuple[JudgedBackend, ...]:
        """Return the role of each backend for a volume without a tier.

        TierFilter keeps the volume off backends that serve only private tiers
        which the project may not use.

        :param judged: roles by the volume type alone.
        :param known: facts on access to types.
        :param project: id of the project; its members have no admin rights.
        :param is_unbound: whether the type names no backend and does not
            follow the image.
        :param volume_type: type of the volume.
        """
        closed = private_backends.closed_to(
            project,
            (
                private_backends.BackendClaim(
                    extra_specs=one.extra_specs,
                    projects=one.projects,
                    backends=frozenset(
                        each.backend.name
                        for each in judged
                        if backends.find_mismatch(
                            each.backend, one.extra_specs
                        )
                        is None
                    ),
                    is_own=one == volume_type,
                )
                for one in self.marked
                if private_backends.claims_backends(one.extra_specs)
            ),
            is_admin=False,
            is_unbound=is_unbound,
        )
        changed = [
            JudgedBackend(
                backend=one.backend,
                verdict=BackendVerdict.UNKNOWN,
                why='serves only private tiers; which projects may use them '
                'is hidden from this user',
            )
            if facts.TYPE_ACCESS in known.hidden and not is_unbound
            else JudgedBackend(
                backend=one.backend,
                verdict=BackendVerdict.NO,
                why='serves only private tiers, and the volume has the type '
                'of none of them'
                if is_unbound
                else 'serves only private tiers that the project may not use',
            )
            for one in judged
            if one.backend.name in closed
            and one.verdict is not BackendVerdict.NO
        ]
        names = {one.backend.name for one in changed}
        return tuple(
            sorted(
                (
                    *(one for one in judged if one.backend.name not in names),
                    *changed,
                ),
                key=_turn,
            )
        )

    @functools.cached_property
    def _judged(
        self,
    ) -> dict[
        tuple[int, str], tuple[facts.VisibleCloud, tuple[JudgedBackend, ...]]
    ]:
        return {}

    def owners(
        self, backend: str, known: facts.VisibleCloud
    ) -> tuple[str, ...]:
        """Return the tiers whose own backend this is, sorted by name.

        :param backend: name of the backend; one that does not exist has no
            tier.
        :param known: facts on the backends.
        """
        asked = id(known), backend
        if asked not in self._owners:
            self._owners[asked] = (
                known,
                tuple(
                    sorted(
                        tier.name
                        for tier in self.tiers
                        for one in self.judge(self.types[tier.name], known)
                        or ()
                        if one.backend.name == backend
                        and one.verdict is BackendVerdict.OWN
                    )
                ),
            )
        return self._owners[asked][1]

    @functools.cached_property
    def _owners(
        self,
    ) -> dict[tuple[int, str], tuple[facts.VisibleCloud, tuple[str, ...]]]:
        return {}

    def _judge(
        self,
        volume_type: facts.KnownType,
        those: tuple[backends.Backend, ...],
    ) -> tuple[JudgedBackend, ...]:
        own = self._own(volume_type, frozenset())
        judged = [
            self._judge_one(backend, volume_type, own) for backend in those
        ]
        return tuple(sorted(judged, key=_turn))

    def _judge_one(
        self,
        backend: backends.Backend,
        volume_type: facts.KnownType,
        own: collections.abc.Callable[[backends.Backend], bool],
    ) -> JudgedBackend:
        mismatch = backends.find_mismatch(backend, volume_type.extra_specs)
        if mismatch:
            return JudgedBackend(
                backend=backend, why=str(mismatch), verdict=BackendVerdict.NO
            )
        if own(backend):
            return JudgedBackend(backend=backend, verdict=BackendVerdict.OWN)
        return JudgedBackend(
            backend=backend,
            verdict=BackendVerdict.OVERFLOW,
            why=f'serves tier '
            f'{volume_type.extra_specs[cinder_state.OVERFLOW]}, used when '
            "the tier's own backends have no room",
        )

    def _own(
        self,
        volume_type: facts.KnownType,
        seen: frozenset[str],
    ) -> collections.abc.Callable[[backends.Backend], bool]:
        """Return a test whether a backend is a type's own, not its overflow.

        :param seen: tiers that overflow to this one, because volume types made
            by hand can overflow in a circle.
        """
        specs = volume_type.extra_specs
        name = specs.get(cinder_state.OVERFLOW)
        tier = specs.get(cinder_state.NAME, '')
        beyond: collections.abc.Callable[[backends.Backend], bool] | None
        if not name or name in (tier, *seen):
            beyond = None
        elif name in self.types:
            beyond = self._own(self.types[name], seen | {tier})
        else:
            beyond = functools.partial(_serves_last, specs)

        def is_own(backend: backends.Backend) -> bool:
            return backends.find_mismatch(backend, specs) is None and not (
                beyond and beyond(backend)
            )

        return is_own


def _serves_last(
    extra_specs: collections.abc.Mapping[str, str], backend: backends.Backend
) -> bool:
    """Return whether a backend belongs to an overflow tier not yet applied.

    It is the last alternative of the type, as for TierWeigher.
    """
    names = backends.alternatives(extra_specs.get(cinder_state.BACKEND))
    return bool(names) and (
        backend.capabilities.get(cinder_state.BACKEND) == names[-1]
    )


def read_type(one: facts.KnownType) -> tier_specs.TypeReading:
    """Read the tier of a volume type as API middleware and filter do."""
    return tier_specs.read_type(
        one.extra_specs,
        type_id=one.type_id,
        name=one.name,
        projects=one.projects,
        description=one.description,
    )


def read_tiers(
    types: collections.abc.Iterable[facts.KnownType],
) -> AppliedTypes:
    """Return the tiers of volume types, as API middleware and filter do.

    :param types: types in any order.
    """
    by_id = {one.type_id: one for one in types}
    readings = [read_type(one) for one in by_id.values()]
    read = tier_specs.read_tiers(readings)
    return AppliedTypes(
        tiers=read.tiers,
        types={name: by_id[one.type_id] for name, one in read.types.items()},
        problems=tuple(f'left out: {one}' for one in read.problems),
        marked=tuple(by_id[one.type_id] for one in readings if one.is_marked),
    )


def list_alternatives(
    applied: AppliedTypes,
    decided: decision.PlacementDecision,
) -> tuple[Alternative, ...]:
    """Return the other tiers by priority, and why each was not chosen."""
    return tuple(
        Alternative(tier=tier.name, why=_why_not(tier, decided))
        for tier in sorted(
            applied.tiers, key=lambda tier: (-tier.priority, tier.name)
        )
        if tier != decided.tier
    )


_LOST = (
    decision.Rule.NO_ACCESS,
    decision.Rule.LOWER_PRIORITY,
    decision.Rule.IMAGE_FIRST,
    decision.Rule.NOT_IN_ZONE,
    decision.Rule.LACKS_FEATURE,
)
#: Rules that apply when no tier is requested.
_NOT_ASKED = (decision.Rule.NO_IMAGE, decision.Rule.FOREIGN_IMAGE)


def _why_not(
    tier: decision.AppliedTier, decided: decision.PlacementDecision
) -> str:
    for reason in decided.reasons:
        if reason.tier == tier.name and reason.rule in _LOST:
            values = dataclasses.replace(reason, tier=None)
            return str(values)
    if decided.verdict is decision.RequestVerdict.NOT_OURS or (
        decided.because_of(decision.Rule.FIXED)
    ):
        return f'not considered: {decided.reasons[-1]}'
    if decided.because_of(decision.Rule.ACCESS_NEEDED) and any(
        reason.tier == tier.name for reason in decided.reasons
    ):
        return 'selected, but the tier with the highest priority is refused'
    if decided.tier and decided.overflow == tier:
        return (
            'not selected; it takes the volume when '
            f'tier {decided.tier.name} has no room'
        )
    by_tag, by_metadata = (
        decided.because_of(rule)
        for rule in (decision.Rule.TAG, decision.Rule.METADATA)
    )
    if by_tag or by_metadata:
        if tier.fallback:
            return 'the fallback serves only volumes that select no other tier'
        return (
            'no tag of the image selects it'
            if by_tag
            else 'the metadata of the volume select another tier'
        )
    return next(
        (
            f'not selected: {reason.rule.value}'
            for reason in decided.reasons
            if reason.rule in _NOT_ASKED
        ),
        'no tag of the image selects it',
    )
