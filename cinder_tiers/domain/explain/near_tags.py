# SPDX-License-Identifier: Apache-2.0

"""Tags of images that are nearly those of tiers. Pure."""

import collections.abc
import dataclasses

from cinder_tiers.domain import tags

#: Glance's default maximum for an image (image_tag_quota).
_MOST_COMPARED = 128


@dataclasses.dataclass(frozen=True, kw_only=True)
class NearTag:
    """A tag that selects no tier, and the tag that was probably meant."""

    #: Tag as typed.
    tag: str
    #: Tag in normal form.
    meant: str


def find(
    typed: collections.abc.Iterable[str],
    known: collections.abc.Set[str],
) -> tuple[NearTag, ...]:
    """Return the tags of an image that resemble tags of tiers.

    :param typed: all tags of an image.
    :param known: normal forms of the tags of tiers.
    :returns: tags, sorted; none for an image that also has a tag of a tier.
    """
    found = {tags.normalize_tag(tag): tag for tag in typed}
    if not known.isdisjoint(found):
        return ()
    of_tiers = frozenset(known)
    near = (
        (tag, tags.meant_by(normal, of_tiers))
        for normal, tag in sorted(found.items())[:_MOST_COMPARED]
    )
    return tuple(NearTag(tag=tag, meant=meant) for tag, meant in near if meant)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageTag:
    """A near tag, and the image that has it."""

    image_id: str
    name: str | None
    #: Id of the project of the image; None if Glance does not report it.
    project: str | None
    near: NearTag
    #: Name of the tier with the meant tag; None if unknown.
    tier: str | None
