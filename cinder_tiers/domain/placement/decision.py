# SPDX-License-Identifier: Apache-2.0

"""Values of placement: request, facts and decision.

They are plain values for `placement.decide()` and its callers. Must not know
any rule.
"""

import dataclasses
import enum
import typing


class RequestVerdict(enum.Enum):
    """Outcome of a request."""

    TIER = 'tier'
    """It is served by the decision's tier."""
    NOT_OURS = 'not_ours'
    """Its volume type does not leave the choice to the image, or there are no
    tiers: Cinder places it as without cinder-tiers."""
    UNDECIDED = 'undecided'
    """Its volume type leaves the choice to the image, but no tier was
    chosen: Cinder places it, except on backends that serve only tiers which
    the project may not use."""
    REFUSED = 'refused'
    """It is not served."""


class Feature(enum.Enum):
    """Property of volumes that a volume type gives, and another may lack."""

    ENCRYPTION = 'encryption'
    """Volumes of the type have an encryption key."""
    MULTIATTACH = 'multiattach'
    REPLICATION = 'replication'


class Rule(enum.Enum):
    """The rules of `decide()`; the value completes "... because"."""

    NO_TIERS = 'no tier is applied'
    FIXED = 'its place is already fixed'
    EXPLICIT_TYPE = 'the requested type does not follow the image'
    IMAGE_TYPE = 'the image names a type that does not follow the image'
    PROJECT_TYPE = 'the default type of the project does not follow the image'
    NO_IMAGE = 'the volume is not created from an image'
    FOREIGN_IMAGE = 'the tags of this image do not count for the project'
    NO_TIER_TAG = 'no tag of the image selects a tier'
    TAG = 'a tag of the image selects the tier'
    METADATA = 'the metadata of the volume selects the tier'
    NO_TIER_METADATA = 'the metadata of the volume selects no tier'
    LOWER_PRIORITY = 'another selected tier has a higher priority'
    IMAGE_FIRST = 'a tag of the image comes before the metadata of the volume'
    NO_ACCESS = 'the project has no access to the volume type of the tier'
    NOT_IN_ZONE = 'the tier has no backend in the availability zone'
    LACKS_FEATURE = 'the volume type of the tier lacks what the volume needs'
    KEY_NEEDED = 'the volume would be created without an encryption key'
    IMAGE_UNREAD = (
        'the image could not be read, and may name a volume type or have '
        'an encryption key'
    )
    IMAGE_REFUSED = 'Glance does not show the image to the project'
    TIERS_UNKNOWN = 'the applied tiers could not be read'
    ACCESS_NEEDED = 'a tag that selects a tier without access is refused'
    FALLBACK = 'the tier is the fallback'
    NO_FALLBACK = 'no fallback tier is applied'
    OVERFLOW = 'another tier may take the volume when this one has no room'
    OVERFLOW_MISSING = 'the overflow tier is not applied'
    ERROR = 'the tier could not be determined'


class FixedBy(enum.Enum):
    """Fact that leaves nothing to choose."""

    SOURCE_VOLUME = 'source volume'
    SNAPSHOT = 'snapshot'
    GROUP = 'group'
    EXISTING_VOLUME = 'existing volume'
    """It is worked on where it is: extended, managed, snapshot."""


class TypeSource(enum.Enum):
    """Sources that can name the volume type of a request, strongest first."""

    REQUEST = 'request'
    IMAGE = 'image'
    """The image property `cinder_img_volume_type`."""
    PROJECT = 'project'
    """The project's default type (`cinder default-type-set`)."""


class OnError(enum.Enum):
    """Policy for a request whose tier could not be determined."""

    FALLBACK = 'fallback'
    PASS = 'pass'  # noqa: S105 - no password
    FAIL = 'fail'


class OnNoAccess(enum.Enum):
    """Policy for a tag of a tier that the project may not use."""

    FALLBACK = 'fallback'
    """It counts as if it were not there."""
    REFUSE = 'refuse'


class TagTrust(enum.Enum):
    """Images whose tags count for a project."""

    OWN = 'own'
    OWN_AND_PUBLIC = 'own_and_public'
    ALL = 'all'


class ProjectType(enum.Enum):
    """Rank of the default type of a project."""

    FIRST = 'first'
    """Before the tags of the image, as in Cinder."""
    LAST = 'last'
    """In place of the fallback tier."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Policy:
    """Policies that the operator chose."""

    tag_trust: TagTrust = TagTrust.OWN_AND_PUBLIC
    on_no_access: OnNoAccess = OnNoAccess.FALLBACK
    #: Metadata key of a volume whose value is a tag, or None.
    metadata_key: str | None = None
    #: Whether it also counts for volumes created from an image.
    metadata_with_image: bool = False
    project_type: ProjectType = ProjectType.FIRST
    #: Whether it was read from Cinder's configuration; else it is assumed.
    is_known: bool = True


@typing.final
@dataclasses.dataclass(frozen=True, kw_only=True)
class AppliedTier:
    """An applied tier, reduced to the fields that placement needs."""

    name: str
    #: Tags that select the tier, in normal form.
    tags: frozenset[str] = frozenset()
    #: The highest wins when the tags of an image select several tiers.
    priority: int = 0
    fallback: bool = False
    #: Name of the tier that may take a volume when this one is full.
    overflow: str | None = None
    #: Ids of the projects that may use the tier; None for all.
    projects: frozenset[str] | None = None
    #: Properties of volumes of its volume type.
    offers: frozenset[Feature] = frozenset()
    #: Availability zones to which its volume type is restricted (extra spec
    #: `RESKEY:availability_zones`); None for all.
    type_zones: frozenset[str] | None = None
    #: Availability zones in which it has backends; None if unknown.
    backend_zones: frozenset[str] | None = None
    #: Whether its volume type has another name, as a copy has; such a tier
    #: comes last among equals.
    is_renamed: bool = False

    def is_in_zone(self, request: 'Request') -> bool:
        """Return whether the tier has a backend in the zone of the volume.

        As in Cinder, a request without a zone goes to any zone of a type that
        is restricted to some, else to the default zone.
        """
        zones = [
            zones
            for zones in (self.type_zones, self.backend_zones)
            if zones is not None
        ]
        if not zones:
            return True
        found = frozenset.intersection(*zones)
        if request.zone is not None:
            return request.zone in found
        if self.type_zones is not None or request.default_zone is None:
            return bool(found)
        return request.default_zone in found

    def serves(self, request: 'Request') -> bool:
        """Return whether a request may use the tier's volume type.

        As in Cinder, an administrator may use every type.
        """
        return (
            self.projects is None
            or request.is_admin
            or request.project in self.projects
        )


@typing.final
@dataclasses.dataclass(frozen=True, kw_only=True)
class Image:
    """The parts of an image that placement considers."""

    #: Project id of the owner; None for an image without an owner.
    owner: str | None
    #: public, community, shared or private, as in Glance.
    visibility: str
    #: Tags as typed, which is hostile text.
    tags: frozenset[str] = frozenset()
    #: Whether it holds the data of an encrypted volume, together with the id
    #: of its key (property `cinder_encryption_key_id`).
    brings_key: bool = False

    def is_trusted_by(self, project: str, trust: TagTrust) -> bool:
        """Return whether its tags may steer the volumes of a project.

        The owner of a shared or community image could retag it and so move the
        volumes of others. So only images of the project and public ones count,
        unless the operator chooses otherwise.
        """
        return (
            trust is TagTrust.ALL
            or self.owner == project
            or trust is TagTrust.OWN_AND_PUBLIC
            and self.visibility == 'public'
        )


@typing.final
@dataclasses.dataclass(frozen=True, kw_only=True)
class NamedType:
    """The volume type that a request names, and the source of the name."""

    source: TypeSource
    #: Whether it leaves the choice to the image.
    follows_image: bool
    #: Name of the type; None if it is unknown or must not be repeated.
    name: str | None = None
    #: Properties of its volumes, which a tier that replaces it must also give.
    offers: frozenset[Feature] = frozenset()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """A request for a place of a volume, new or moving."""

    #: Project id of the volume.
    project: str
    #: Whether the request has Cinder's admin rights.
    is_admin: bool = False
    #: None if no type was named, so the volume follows the image.
    named_type: NamedType | None = None
    fixed_by: FixedBy | None = None
    #: Whether an existing volume moves: a retype or a migration.
    moves: bool = False
    #: None for a volume that is not created from an image.
    image: Image | None = None
    #: Tag named by the metadata of the volume, which is hostile text, or None.
    metadata_tag: str | None = None
    #: Availability zone that the request names.
    zone: str | None = None
    #: Availability zone of a volume without a named one; None if unknown.
    default_zone: str | None = None
    #: Properties that the volume has and must keep.
    has: frozenset[Feature] = frozenset()
    #: Properties of the volume type that Cinder uses if no tier is chosen.
    cinder_offers: frozenset[Feature] = frozenset()
    #: Whether the volume keeps its type, as in cinder-scheduler; a tier then
    #: determines its place, but not its properties.
    keeps_type: bool = False
    #: Whether Glance does not show the image to the project, and so not to
    #: Cinder.
    is_refused: bool = False
    #: Whether the image, which could not be read, may name a volume type, and
    #: no stronger source does.
    may_name_type: bool = False
    #: Whether the image, which could not be read, may bring a key.
    may_bring_key: bool = False

    @property
    def needs(self) -> frozenset[Feature]:
        """Properties that a tier must provide to serve the request."""
        needs = self.has
        if self.named_type is not None:
            needs |= self.named_type.offers
        else:
            # A volume that Cinder alone would encrypt is encrypted.
            needs |= self.cinder_offers & {Feature.ENCRYPTION}
        if self.image is not None and self.image.brings_key:
            needs |= {Feature.ENCRYPTION}
        return needs


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reason:
    """A rule that applied, and the values that it used."""

    rule: Rule
    #: Name of the tier that the rule is about.
    tier: str | None = None
    #: Value found: known tags, a number of tags, a priority, a visibility.
    found: str | int | None = None
    #: Value needed instead.
    wanted: str | int | None = None

    @property
    def values(self) -> dict[str, str | int]:
        """Return the values that are set, by name."""
        return {
            name: value
            for name, value in (
                ('tier', self.tier),
                ('found', self.found),
                ('wanted', self.wanted),
            )
            if value is not None
        }

    def __str__(self) -> str:
        values = ', '.join(
            f'{name}={value}' for name, value in self.values.items()
        )
        return f'{self.rule.value} ({values})' if values else self.rule.value


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlacementDecision:
    """The decision of `decide()`, and its reasons.

    Reasons explain and never steer. They quote no text of an image, which may
    be hostile, only tags of tiers.
    """

    verdict: RequestVerdict
    #: Set if the verdict is TIER.
    tier: AppliedTier | None = None
    #: Tier that may take the volume when `tier` is full.
    overflow: AppliedTier | None = None
    #: Every rule that applied, in the order of application.
    reasons: tuple[Reason, ...] = ()

    def because_of(self, rule: Rule) -> bool:
        """Return whether a rule is among the reasons."""
        return any(reason.rule is rule for reason in self.reasons)

    def __str__(self) -> str:
        what = (
            self.verdict.value
            if self.tier is None
            else (f'{self.verdict.value} {self.tier.name}')
        )
        return f'{what}: {"; ".join(str(reason) for reason in self.reasons)}'
