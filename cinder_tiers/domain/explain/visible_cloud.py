# SPDX-License-Identifier: Apache-2.0

"""Facts of a request or a volume that the APIs show, or hide.

They are the input of `explanation`. Observing them applies no rule. Must not
know how an API is called.
"""

import collections.abc
import dataclasses
import datetime
import functools
import typing

from cinder_tiers.domain.placement import backends
from cinder_tiers.domain.placement import decision


@dataclasses.dataclass(frozen=True, kw_only=True)
class Hidden:
    """A fact that the user may not see."""

    what: str
    #: Policy rule of Cinder or Glance that shows it.
    policy: str


EXTRA_SPECS = Hidden(
    what='the extra specs of volume types, which define the tiers',
    policy='volume_extension:types_extra_specs:read_sensitive',
)
TYPE_ACCESS = Hidden(
    what='which projects have access to private volume types',
    policy='volume_extension:volume_type_access:get_all_for_type',
)
PROJECT_DEFAULT = Hidden(
    what='whether the project has a default volume type',
    policy='volume_extension:default_get_all',
)
BACKENDS = Hidden(
    what='the backends, their capabilities and their free space',
    policy='scheduler_extension:scheduler_stats:get_pools',
)
PUBLISHED_TAGS = Hidden(
    what='the tags of tiers that Glance shows to all, if there are any',
    policy='get_metadef_namespace',
)
HOST = Hidden(
    what='the backend of the volume',
    policy='volume_extension:volume_host_attribute',
)


@typing.final
@dataclasses.dataclass(frozen=True, kw_only=True)
class KnownType:
    """A volume type."""

    type_id: str
    name: str
    description: str = ''
    #: {key: value}, as far as the user may see them.
    extra_specs: collections.abc.Mapping[str, str]
    #: Ids of the projects that may use it; None for all.
    projects: frozenset[str] | None = None


@typing.final
@dataclasses.dataclass(frozen=True, kw_only=True)
class DefaultType:
    """The volume type of requests that name none."""

    volume_type: KnownType
    #: Whether it was set for the project, and so is a choice, not for the
    #: whole cloud; None if that is hidden.
    is_projects: bool | None


@typing.final
@dataclasses.dataclass(frozen=True, kw_only=True)
class KnownImage:
    """An image in its current state."""

    image_id: str
    name: str | None
    image: decision.Image
    #: Property cinder_img_volume_type, name or id of a volume type.
    type_ref: str | None = None
    #: Whether it is an image of a server that booted from a volume, whose
    #: snapshot a new volume is created from.
    stands_for_snapshot: bool = False
    #: Whether it holds the data of an encrypted volume.
    brings_key: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class KnownVolume:
    """An existing volume."""

    volume_id: str
    name: str | None
    #: None if Cinder does not report it.
    status: str | None
    project: str
    #: Name of its type; None for a volume without one.
    type_name: str | None
    #: Its type, where the user may see it.
    volume_type: KnownType | None
    #: host@backend#pool; None without a place, or if it is hidden.
    host: str | None
    size_gib: int = 0
    #: The image that it was made from.
    image_id: str | None = None
    #: {key: value}, which the tenant writes.
    metadata: collections.abc.Mapping[str, str] = dataclasses.field(
        default_factory=dict, hash=False
    )
    fixed_by: decision.FixedBy | None = None
    #: Id under which its driver stores it, if it differs, as after some
    #: migrations (Cinder's `name_id`); None: `volume_id`.
    stored_id: str | None = None
    #: Whether it is a member of a group, even if something else fixes its
    #: place.
    in_group: bool = False
    is_migrating: bool = False
    #: Whether Cinder copies a migrating volume to it; Cinder shows these to
    #: administrators only, and no quota counts them.
    is_migration_target: bool = False
    #: Whether its driver replicates it to another backend.
    is_replicated: bool = False
    is_encrypted: bool = False
    is_multiattach: bool = False
    #: None if Cinder does not report it; in UTC, like `updated_at`.
    created_at: datetime.datetime | None = None
    #: Time of the last change of its record, if any; Cinder sets it whenever
    #: size, type or project change.
    updated_at: datetime.datetime | None = None
    #: Number of servers that have it.
    servers: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class VisibleCloud:
    """View of a user on a cloud, as far as placement needs it."""

    #: Id of the user's project.
    project: str
    #: Whether the user has Cinder's admin rights, and sees all types.
    is_admin: bool
    #: Sorted by name.
    types: tuple[KnownType, ...]
    default_type: DefaultType | None
    #: None if they are hidden.
    backends: tuple[backends.Backend, ...] | None
    hidden: tuple[Hidden, ...] = ()
    #: Normal forms of the tags that Glance publishes, for users from whom
    #: Cinder hides those of tiers; None if they were not read, or are not
    #: published.
    published_tags: frozenset[str] | None = None

    def find_type(self, ref: str) -> KnownType | None:
        """Return a type by its id or else its name, as Cinder looks it up.

        :param ref: id or name.
        """
        return self._types_by_ref.get(ref)

    @functools.cached_property
    def _types_by_ref(self) -> collections.abc.Mapping[str, KnownType]:
        """{name or id: type}, which an audit reads for each volume."""
        # The first of several types with a name counts, and an id before a
        # name.
        return {
            **{one.name: one for one in reversed(self.types)},
            **{one.type_id: one for one in reversed(self.types)},
        }
