# SPDX-License-Identifier: Apache-2.0

"""State of Cinder, existing or declared.

The builder of these values normalises defaults first. Must not know how they
are read or written.
"""

import collections.abc
import dataclasses
import types
import unicodedata

from cinder_tiers.domain.state import difference
from cinder_tiers.domain.state import glance as glance_state

#: Extra specs with this scope are managed; unscoped keys would be matched
#: against backends by Cinder's CapabilitiesFilter.
SCOPE = 'tiers:'
NAME = 'tiers:name'
TAGS = 'tiers:tags'
PRIORITY = 'tiers:priority'
FALLBACK = 'tiers:fallback'
OVERFLOW = 'tiers:overflow'
FOLLOW_IMAGE = 'tiers:follow_image'
#: The ownership markers: one of them makes a volume type managed.
MARKS = frozenset({NAME, FOLLOW_IMAGE})
BACKEND = 'volume_backend_name'
#: Notation of a boolean in an extra spec of Cinder.
TRUE = '<is> True'
#: Word before each alternative in an extra spec of Cinder.
OR = '<or>'
#: The description of a type that is not opened yet, see `type_opening`.
HALF_MADE = (
    'Not complete: "openstack tier apply" makes it, and opens it last. Apply '
    'again if that was interrupted.'
)
#: The volume type that Cinder itself creates (DEFAULT_VOLUME_TYPE).
DEFAULT_TYPE = '__DEFAULT__'
#: Unlimited quota in Cinder.
UNLIMITED = -1


def as_databases_compare(name: str) -> str:
    """Return a text that is equal for names equal in MySQL and MariaDB.

    Cinder's tables have the collation of the database, which usually ignores
    case, accents, and blanks at the end.

    >>> as_databases_compare('Größe ') == as_databases_compare('GROSSE')
    True
    """
    return (
        ''.join(
            char
            for char in unicodedata.normalize('NFKD', name)
            if not unicodedata.combining(char)
        )
        .casefold()
        .rstrip(' ')
    )


def has_mark(extra_specs: collections.abc.Iterable[str]) -> bool:
    """Return whether a volume type with these extra specs is managed."""
    return not MARKS.isdisjoint(extra_specs)


def is_half_made(
    description: str | None, *, projects: collections.abc.Set[str] | None
) -> bool:
    """Return whether apply created a managed volume type and not opened it.

    A type that a project may use is open: the description alone, which anybody
    can copy to a working private type, does not count.

    :param projects: projects with access to the type; None for a public type.
    """
    return projects is not None and not projects and description == HALF_MADE


@dataclasses.dataclass(frozen=True, kw_only=True)
class VolumeType:
    """A volume type of Cinder."""

    name: str
    description: str = ''
    is_public: bool = True
    #: Ids of the projects that may use a private type; empty for a public
    #: type, and if they were not read, as for unmanaged types that the catalog
    #: does not name.
    projects: frozenset[str] = frozenset()
    extra_specs: collections.abc.Mapping[str, str]
    #: Number of its volumes in all projects; None if it was not read.
    volumes: int | None = dataclasses.field(
        default=None, metadata=difference.IS_NOTE
    )
    #: {id of a project: number of its volumes}; empty if only the sum matters.
    volumes_of: collections.abc.Mapping[str, int] = dataclasses.field(
        default_factory=dict, metadata=difference.IS_NOTE, compare=False
    )
    #: {id of a project: size of these volumes and their snapshots, in GiB};
    #: empty if only the sum matters.
    gib_of: collections.abc.Mapping[str, int] = dataclasses.field(
        default_factory=dict, metadata=difference.IS_NOTE, compare=False
    )
    #: {id of a project: number of snapshots of these volumes}; empty if only
    #: the sum matters.
    snapshots_of: collections.abc.Mapping[str, int] = dataclasses.field(
        default_factory=dict, metadata=difference.IS_NOTE, compare=False
    )
    #: UUID of Cinder; None if it does not exist yet.
    type_id: str | None = dataclasses.field(
        default=None, metadata=difference.IS_NOTE, compare=False
    )

    @property
    def has_volumes(self) -> bool:
        """True if it is known to have volumes."""
        return bool(self.volumes)

    @property
    def use(self) -> tuple[str, ...]:
        """Clause on its volumes and their projects; empty without volumes."""
        if not self.volumes:
            return ()
        by_project = ', '.join(
            f'{count} of project {ident}'
            for ident, count in sorted(
                self.volumes_of.items(), key=lambda one: (-one[1], one[0])
            )
        )
        return (
            f'{self.volumes} volume{"" if self.volumes == 1 else "s"} '
            f'{"has" if self.volumes == 1 else "have"} volume type '
            f'{self.name}{": " if by_project else ""}{by_project}',
        )

    @property
    def is_half_made(self) -> bool:
        """True if apply created it, and has not opened it yet."""
        return self.is_ours and is_half_made(
            self.description,
            projects=None if self.is_public else self.projects,
        )

    @property
    def is_ours(self) -> bool:
        """True if it is managed: it has the mark that allows changes."""
        return has_mark(self.extra_specs)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SuccessorType(VolumeType):
    """A wanted volume type that replaces one with volumes.

    Cinder does not change extra specs of the old type, which is retired; see
    `type_succession`. Existing state never has a SuccessorType.
    """


@dataclasses.dataclass(frozen=True, kw_only=True)
class QosSpec:
    """A QoS spec of Cinder."""

    name: str
    #: front-end, back-end or both.
    consumer: str
    specs: collections.abc.Mapping[str, str]
    #: Names of its volume types; a type has one QoS spec at most.
    volume_types: frozenset[str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReplacingQosSpec(QosSpec):
    """A wanted QoS spec for types that have another one.

    Existing state never has a ReplacingQosSpec.
    """

    #: Names of the QoS specs from which its types are taken first.
    replaces: frozenset[str] = dataclasses.field(metadata=difference.IS_NOTE)

    @classmethod
    def names_in(cls, wanted: QosSpec) -> frozenset[str]:
        """Return the QoS specs that a wanted one replaces."""
        return wanted.replaces if isinstance(wanted, cls) else frozenset()


#: {field of a TypeQuota: Cinder's resource, before `_` and the type's name}.
QUOTA_RESOURCES = types.MappingProxyType(
    {'volumes': 'volumes', 'size_gib': 'gigabytes', 'snapshots': 'snapshots'}
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TypeQuota:
    """Default quotas of a type, for projects without their own."""

    #: Name of the volume type.
    name: str
    volumes: int = UNLIMITED
    #: Size of volumes and snapshots together.
    size_gib: int = UNLIMITED
    snapshots: int = UNLIMITED
    #: Declared: ids of the projects that already use more.
    exceeded_by: frozenset[str] = dataclasses.field(
        default=frozenset(), metadata=difference.IS_NOTE, compare=False
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TypeEncryption:
    """Encryption of the volumes of a volume type."""

    #: Name of the volume type.
    name: str
    #: Encryption format, such as luks.
    provider: str
    #: Cipher, such as aes-xts-plain64; declared None leaves it to Cinder.
    cipher: str | None = dataclasses.field(metadata=difference.NONE_IS_ANY)
    #: Declared None leaves it to Cinder.
    key_size_bits: int | None = dataclasses.field(
        metadata=difference.NONE_IS_ANY
    )
    #: front-end: the hypervisor encrypts; back-end: the storage does.
    control_location: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProjectDefaults:
    """Projects with a volume type as their default type."""

    #: Name of the volume type.
    name: str
    #: Ids of the projects; the field has the name of the key in the tiers
    #: file.
    default_for: frozenset[str]
    #: Declared: {id of a project that will have it: name of its present
    #: default type, which is not managed}.
    replaces: collections.abc.Mapping[str, str] = dataclasses.field(
        default_factory=dict, metadata=difference.IS_NOTE, compare=False
    )
    #: Declared: projects that lose it only with consent.
    kept_unless_allowed: frozenset[str] = dataclasses.field(
        default=frozenset(), metadata=difference.IS_NOTE, compare=False
    )
    #: Declared: {id of a project that will lose it: name of its next default
    #: type}.
    replaced_by: collections.abc.Mapping[str, str] = dataclasses.field(
        default_factory=dict, metadata=difference.IS_NOTE, compare=False
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class CinderState:
    """The state of Cinder and Glance that concerns tiers."""

    #: {name: volume type}, including private ones.
    volume_types: collections.abc.Mapping[str, VolumeType]
    #: {name: QoS spec}, including unmanaged ones.
    qos_specs: collections.abc.Mapping[str, QosSpec] = dataclasses.field(
        default_factory=dict
    )
    #: {name of a volume type: its default quota}.
    quotas: collections.abc.Mapping[str, TypeQuota] = dataclasses.field(
        default_factory=dict
    )
    #: {name of a volume type: its encryption}, for types in question.
    encryptions: collections.abc.Mapping[str, TypeEncryption] = (
        dataclasses.field(default_factory=dict)
    )
    #: {name of a volume type: projects with it as default type}; empty if it
    #: was not read.
    project_defaults: collections.abc.Mapping[str, ProjectDefaults] = (
        dataclasses.field(default_factory=dict)
    )
    #: {name: Glance namespace with published tags}; empty if it was not read.
    tag_namespaces: collections.abc.Mapping[str, glance_state.TagNamespace] = (
        dataclasses.field(default_factory=dict)
    )
