# SPDX-License-Identifier: Apache-2.0

"""State of Glance, existing or declared.

Must not know how it is read or written.
"""

import dataclasses

from cinder_tiers.domain.state import difference

#: The only metadata definition namespace in which tags are published.
NAMESPACE = 'CinderTiers::StorageTiers'
#: Characters of a tag in a namespace (glance/api/v2/metadef_tags.py, 32.0.0);
#: a tag of an image may have 255.
MOST_TAG_CHARACTERS = 80
#: Ownership marker: a part of the description. A namespace has no free field
#: for it except properties, which Horizon offers for images.
MARK = 'Written by "openstack tier apply".'


@dataclasses.dataclass(frozen=True, kw_only=True)
class TagNamespace:
    """A metadata definition namespace of Glance that lists image tags."""

    name: str = NAMESPACE
    #: Name in Horizon.
    display_name: str = ''
    description: str = ''
    is_public: bool
    #: Whether it is about images, for clients that ask for such namespaces.
    is_for_images: bool
    tags: frozenset[str]
    #: Names of the properties and objects that others added.
    others: frozenset[str] = dataclasses.field(
        default=frozenset(), metadata=difference.IS_NOTE, compare=False
    )

    @property
    def is_ours(self) -> bool:
        """True if it is managed: it has the mark that allows changes."""
        return MARK in self.description
