# SPDX-License-Identifier: Apache-2.0

"""Tiers that a project can choose, its usage of each, and what is left.

Computes only. Must not know how the data are read or shown.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.card import card as cards
from cinder_tiers.domain.card import lines
from cinder_tiers.domain.explain import explanation
from cinder_tiers.domain.explain import tier_list
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.state import type_succession
from cinder_tiers.domain import tags as image_tags
from cinder_tiers.domain import text
from cinder_tiers.observe.cinder import project_quota


@dataclasses.dataclass(frozen=True, kw_only=True)
class Offer:
    """A tier, or a volume type of which it is not known whether it is one."""

    name: str
    volume_type: str
    is_public: bool
    card: cards.Card
    #: Those that select it; empty, too, when they are hidden.
    tags: tuple[str, ...] = ()
    #: Names of the volume types that it had, and that volumes may still have.
    retired_types: tuple[str, ...] = ()

    @property
    def purpose(self) -> str:
        """The operator's words, made harmless."""
        return text.printable(self.card.purpose)

    @property
    def promised(self) -> list[str]:
        """Lines, as `openstack tier list` has them."""
        return [*map(text.printable, lines.promised(self.card))]

    @property
    def measured(self) -> list[str]:
        """Lines, as `openstack tier list` has them."""
        return [*map(text.printable, lines.measured(self.card))]

    @property
    def shown_name(self) -> str:
        """Name of the tier, made safe to show."""
        return text.printable(self.name)

    @property
    def shown_tags(self) -> str:
        """Its tags in a line."""
        return text.clipped_list(self.tags)


def offers(known: facts.VisibleCloud) -> list[Offer]:
    """Return the tiers that a user can choose, or else the volume types.

    :param known: the part of the cloud that the user may see.
    """
    retired: dict[str, list[str]] = {}
    for one in known.types:
        owner = type_succession.successor_of(one.name)
        if owner is not None:
            retired.setdefault(owner, []).append(one.name)
    if facts.EXTRA_SPECS in known.hidden:
        found = [
            Offer(
                name=offer.name,
                volume_type=offer.name,
                is_public=offer.is_public,
                card=offer.card,
            )
            for offer in tier_list.offered(known)
        ]
    else:
        found = [
            Offer(
                name=tier.name,
                volume_type=tier.volume_type,
                is_public=tier.is_public,
                card=tier.card,
                tags=tier.tags,
            )
            for tier in tier_list.applied(known)
        ]
    return [
        dataclasses.replace(
            one, retired_types=tuple(retired.get(one.volume_type, ()))
        )
        for one in found
    ]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Share:
    """A project's usage of a tier, and its remaining quota."""

    name: str
    volumes: int
    size_gib: int
    #: Under the quota of the volume type, and under that of the project;
    #: None: no limit.
    volumes_left: int | None
    size_left_gib: int | None


def share(
    offer: Offer,
    project: project_quota.Quota,
    of_types: collections.abc.Mapping[str, project_quota.Quota],
) -> Share:
    """Compute the share of a project, including retired volume types.

    :param project: the quota of the project.
    :param of_types: {name of a volume type: its quota}
    """
    own = of_types[offer.volume_type]
    retired = [
        of_types[name] for name in offer.retired_types if name in of_types
    ]
    return Share(
        name=offer.shown_name,
        volumes=sum(one.volumes.in_use for one in (own, *retired)),
        size_gib=sum(one.size_gib.in_use for one in (own, *retired)),
        volumes_left=_least(own.volumes.left, project.volumes.left),
        size_left_gib=_least(own.size_gib.left, project.size_gib.left),
    )


def _least(*limits: int | None) -> int | None:
    return min((each for each in limits if each is not None), default=None)


def visible_tags(known: facts.VisibleCloud) -> frozenset[str] | None:
    """Return the normal forms of tier tags; None if Cinder hides them.

    :param known: the part of the cloud that the user may see.
    """
    if facts.EXTRA_SPECS in known.hidden:
        return None
    return frozenset().union(
        *(tier.tags for tier in explanation.read_tiers(known.types).tiers)
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaggedImage:
    """An image of the project."""

    image_id: str
    name: str
    #: Normal forms of those that are of tiers, sorted.
    of_tiers: tuple[str, ...]
    #: The others, in a line.
    others: str

    @property
    def shown_of_tiers(self) -> list[str]:
        """Return the tags of tiers, made safe to show."""
        return [*map(text.printable, self.of_tiers)]


def tagged(
    image: facts.KnownImage, known_tags: collections.abc.Container[str]
) -> TaggedImage:
    """An image, with its tags told apart.

    :param known_tags: normal forms of the tags of tiers.
    """
    normal = {
        tag: image_tags.normalize_tag(tag) for tag in sorted(image.image.tags)
    }
    return TaggedImage(
        image_id=image.image_id,
        name=text.clipped(text.printable(image.name or '')),
        of_tiers=tuple(
            sorted({each for each in normal.values() if each in known_tags})
        ),
        others=text.clipped_list(
            [tag for tag, each in normal.items() if each not in known_tags]
        ),
    )


def retagged(
    present: collections.abc.Collection[str],
    shown: collections.abc.Collection[str],
    chosen: collections.abc.Collection[str],
) -> list[str]:
    """Compute the new tags of an image.

    Changes only the tags that the user changed: tags that others set or
    published while the form was open stay.

    :param present: current tags of the image.
    :param shown: normal forms of the tier tags that it had in the form.
    :param chosen: normal forms of the tier tags that the user selected.

    >>> retagged(['Database', 'linux'], ['database'], ['archive'])
    ['archive', 'linux']
    >>> retagged(['Database', 'web'], ['database'], ['database'])
    ['Database', 'web']
    """
    dropped = {*shown} - {*chosen}
    kept = {
        tag for tag in present if image_tags.normalize_tag(tag) not in dropped
    }
    there = set(map(image_tags.normalize_tag, kept))
    added = {*chosen} - {*shown} - there
    return sorted(kept | added)
