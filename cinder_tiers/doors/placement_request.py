# SPDX-License-Identifier: Apache-2.0

"""Requests to a door and its answers: values, without any rule."""

import dataclasses
import typing

from cinder import context as cinder_context

from cinder_tiers.domain.placement import decision
from cinder_tiers.doors.images import glance
from cinder_tiers.doors.volume_types import applied as applied_tiers
from cinder_tiers.doors.volume_types import backend_zones


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlacementRequest:
    """A request as a door reads it."""

    context: cinder_context.RequestContext
    #: Project id of the volume.
    project: str
    #: None for a volume that has no id yet.
    volume_id: str | None = None
    #: UUID or name of the image; None for a volume not made from one.
    image_ref: str | None = None
    #: Metadata of the volume, of which nothing is checked: {key: value}.
    metadata: object = None
    #: The type that the request names; None when it names none.
    named_type: decision.NamedType | None = None
    fixed_by: decision.FixedBy | None = None
    #: Whether the volume exists and is to move.
    moves: bool = False
    #: Availability zone that the request names, and the one without a name.
    zone: str | None = None
    default_zone: str | None = None
    #: What the volume has already and must keep.
    has: frozenset[decision.Feature] = frozenset()
    #: What the type gives that the volume has, for one that keeps its type.
    type_offers: frozenset[decision.Feature] = frozenset()
    #: Whether the volume has its type for good: at the scheduler door.
    keeps_type: bool = False
    #: Whether Cinder, for this version of its API, makes a volume from the
    #: snapshot that an image of Nova names, and not from the image.
    takes_boot_snapshots: bool = False

    @property
    def is_ours(self) -> bool:
        """Return whether no type is named, or one that follows the image."""
        return self.named_type is None or self.named_type.follows_image

    def for_decision(self, **known: typing.Any) -> decision.Request:
        """The request in the words of `decide()`.

        :param known: fields that are known better than from the request.
        """
        return decision.Request(
            **{
                'project': self.project,
                # An administrator who moves a volume does not own it.
                'is_admin': bool(self.context.is_admin) and not self.moves,
                'named_type': self.named_type,
                'fixed_by': self.fixed_by,
                'moves': self.moves,
                'zone': self.zone,
                'default_zone': self.default_zone,
                'has': self.has,
                'keeps_type': self.keeps_type,
                'cinder_offers': self.type_offers,
                **known,
            }
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Placement:
    """A decision, and where its tier's volume type is."""

    decision: decision.PlacementDecision
    #: Set when the verdict is TIER.
    tier_type: applied_tiers.VolumeType | None = None
    image_id: str | None = None
    #: The image, as it was when it was read.
    facts: glance.ImageFacts | None = None
    #: Whether the image is gone, or not to be seen by who asks.
    is_image_refused: bool = False
    #: From what it was decided; None when the tiers could not be read.
    state: applied_tiers.AppliedState | None = None
    #: The zones of backends that were known then; None without tiers.
    zones: backend_zones.Zones | None = None

    @property
    def chosen(
        self,
    ) -> tuple[applied_tiers.VolumeType, applied_tiers.AppliedState]:
        """The volume type of the tier, and the state that has it.

        :raises ValueError: no tier was chosen.
        """
        if self.tier_type is None or self.state is None:
            raise ValueError('no tier was chosen')
        return self.tier_type, self.state


@dataclasses.dataclass(frozen=True, kw_only=True)
class Retype:
    """A volume that is to get a private volume type."""

    context: cinder_context.RequestContext
    #: Project id of the volume.
    project: str
    type_id: str | None
