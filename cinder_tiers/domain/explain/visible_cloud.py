# SPDX-License-Identifier: Apache-2.0

"""Facts of a request or a volume that the APIs show, or hide.

The input of `explanation`. Observing it applies no rule. Must
not know how an API is asked.
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
    """Something that the user may not see."""

    what: str
    #: The rule of the policy of Cinder, or of Glance, by which it is shown.
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
    #: Ids of the projects that may use it; None when all may.
    projects: frozenset[str] | None = None


@typing.final
@dataclasses.dataclass(frozen=True, kw_only=True)
class DefaultType:
    """The volume type of requests that name none."""

    volume_type: KnownType
    #: Whether it was set for the project, which counts as a wish, and not
    #: for the whole cloud, which does not; None when that is hidden.
    is_projects: bool | None


@typing.final
@dataclasses.dataclass(frozen=True, kw_only=True)
class KnownImage:
    """An image of today."""

    image_id: str
    name: str | None
    image: decision.Image
    #: Property cinder_img_volume_type, name or id of a volume type.
    type_ref: str | None = None
    #: An image of a server that booted from a volume: what is made from it
    #: is made from the snapshot that it names.
    stands_for_snapshot: bool = False
    #: Whether it holds the data of an encrypted volume.
    brings_key: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class KnownVolume:
    """A volume that exists."""

    volume_id: str
    name: str | None
    #: None: Cinder does not say.
    status: str | None
    project: str
    #: Name of its type; None for a volume without one.
    type_name: str | None
    #: Its type, where the user may see it.
    volume_type: KnownType | None
    #: host@backend#pool; None when it has none, or when that is hidden.
    host: str | None
    size_gib: int = 0
    #: The image that it was made from.
    image_id: str | None = None
    #: {key: value}, which the tenant writes.
    metadata: collections.abc.Mapping[str, str] = dataclasses.field(
        default_factory=dict, hash=False
    )
    fixed_by: decision.FixedBy | None = None
    #: The id that its driver stores it under, when that is another one, as
    #: after some migrations (Cinder's `name_id`); None: `volume_id`.
    stored_id: str | None = None
    #: Whether it is a member of a group, whatever else fixes its place.
    in_group: bool = False
    is_migrating: bool = False
    #: Whether it is what Cinder copies a volume to that it migrates; Cinder
    #: shows these to administrators only, and no quota has them.
    is_migration_target: bool = False
    #: Whether its driver replicates it to another backend.
    is_replicated: bool = False
    is_encrypted: bool = False
    #: None: Cinder does not say; as `updated_at`, in UTC.
    created_at: datetime.datetime | None = None
    #: When anything of its record was last changed, if that was; Cinder sets
    #: it whenever size, type or project change.
    updated_at: datetime.datetime | None = None
    #: How many servers have it.
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
    #: None when they are hidden.
    backends: tuple[backends.Backend, ...] | None
    hidden: tuple[Hidden, ...] = ()
    #: Normal forms of the tags that Glance shows to all, where Cinder hides
    #: those of tiers; None: they were not asked for, or are not published.
    published_tags: frozenset[str] | None = None

    def find_type(self, ref: str) -> KnownType | None:
        """A type by its id or else its name, as Cinder looks it up.

        :param ref: id or name.
        """
        return self._types_by_ref.get(ref)

    @functools.cached_property
    def _types_by_ref(self) -> collections.abc.Mapping[str, KnownType]:
        """Asked for each volume of an audit."""
        # Of several with a name the first counts, and an id before a name.
        return {
            **{one.name: one for one in reversed(self.types)},
            **{one.type_id: one for one in reversed(self.types)},
        }
