# SPDX-License-Identifier: Apache-2.0

"""The catalog: the tiers that an operator declares.

Its values declare the wanted state. Must not know how the file is written, nor
what exists in Cinder or Ceph. Rules between the values are in
`validation.catalog`.
"""

import collections.abc
import dataclasses
import decimal
import functools

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain import errors
from cinder_tiers.domain import tags
from cinder_tiers.domain import units

#: {requirement: the only object store that it is about}.
STORE_OF = {
    'file_system': 'filestore',
    'fast_journal': 'filestore',
    'fast_db': 'bluestore',
    'fast_wal': 'bluestore',
    'alloc_size': 'bluestore',
    'rocksdb_compression': 'bluestore',
}

Value = str | int | float | bool


#: A place in the catalog: keys and list positions from its root.
Path = tuple[str | int, ...]

#: Appended to the pool of an erasure coded tier to name its data pool, where
#: the tiers file does not name it.
DATA_POOL_SUFFIX = '-data'
#: RBD image by which a tier is watched, and the RBD namespace it lies in.
WATCH_IMAGE = 'cinder-tiers-watch'

#: CRUSH root of a pool that names none, which Ceph creates in each cluster.
CRUSH_ROOT = 'default'

#: Hours of a month of prices: a twelfth of a year of 365 days.
HOURS_OF_MONTH = 730

#: Access for all projects, requested explicitly.
PUBLIC = 'public'


@dataclasses.dataclass(frozen=True, kw_only=True)
class CatalogSource:
    """Places in the file of the values of a catalog, for messages."""

    file: str = 'catalog'
    #: {place: file} of values in included files.
    files: collections.abc.Mapping[Path, str] = dataclasses.field(
        default_factory=dict
    )
    #: {place: line, from 1}.
    lines: collections.abc.Mapping[Path, int] = dataclasses.field(
        default_factory=dict
    )

    def where(self, path: Path) -> str:
        """Return `file:line` of a place, or of the nearest place around it.

        :returns: only the file if no place around it has a line.
        """
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                place = path[:length]
                file = self.files.get(place, self.file)
                return f'{file}:{self.lines[place]}'
        return self.file

    def below(self, path: Path) -> collections.abc.Callable[[str], str]:
        """Return a function that gives `where` of a name below a place."""
        return lambda name: self.where((*path, name))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cluster:
    """A Ceph cluster that tiers may use."""

    name: str
    #: cephx user of plan and apply, without `client.`.
    user: str = 'admin'
    #: cephx user of cinder-volume, which apply gives access to the pools.
    cinder_user: str = 'cinder'
    #: Pool of Glance that `cinder_user` may read, for copy-on-write clones.
    images_pool: str | None = None
    #: Path of ceph.conf; None for Ceph's default search.
    conf: str | None = None
    #: libvirt secret that holds the key of `cinder_user`.
    secret_uuid: str | None = None
    #: {CRUSH host: {option: value}} of its OSDs, regardless of their class.
    host_osd_options: collections.abc.Mapping[
        str, collections.abc.Mapping[str, Value]
    ] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Replicated:
    """Whole copies of each object."""

    #: Copies.
    size: int
    #: Copies required for I/O; None leaves it as it is.
    min_size: int | None = None
    #: Whether a single copy, lost with the first disk, is accepted explicitly.
    single_copy: bool = False
    #: Whether it is accepted explicitly that one copy is enough for I/O, so a
    #: write may be lost with one disk.
    unprotected_writes: bool = False
    #: Copies in each failure domain, with `sub_failure_domain`; None for one.
    replicas_per_failure_domain: int | None = None
    #: CRUSH bucket type below the failure domain, in which no two copies may
    #: be; None if no two copies share a failure domain.
    sub_failure_domain: str | None = None

    @property
    def per_failure_domain(self) -> int:
        """Copies in each failure domain, which are lost with it."""
        return self.replicas_per_failure_domain or 1

    @property
    def failure_domains(self) -> int:
        """Failure domains needed to place all copies."""
        return -(-self.size // self.per_failure_domain)

    @property
    def least_min_size(self) -> int:
        """Least min_size with which no write depends on one disk."""
        return min(2, self.size)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ErasureCoded:
    """Each object split into k chunks, with m more to recover lost ones."""

    k: int
    m: int
    #: Chunks required for I/O; None leaves it as it is.
    min_size: int | None = None
    #: Whether it is accepted explicitly that k chunks are enough for I/O, so a
    #: write may be lost with one disk.
    unprotected_writes: bool = False
    #: Erasure code plugin of Ceph; None leaves it to Ceph.
    plugin: str | None = None
    #: Algorithm of the plugin; None leaves it to the plugin.
    technique: str | None = None
    #: Bytes of one chunk before the next one gets data; None leaves it to
    #: Ceph.
    stripe_unit_bytes: int | None = None
    #: Failure domains over which the chunks are spread, with
    #: `osds_per_failure_domain`; None: one for each chunk.
    num_failure_domains: int | None = None
    #: Chunks, each on an OSD of its own, that may share a failure domain.
    osds_per_failure_domain: int | None = None

    @property
    def size(self) -> int:
        """Number of chunks of an object."""
        return self.k + self.m

    @property
    def least_min_size(self) -> int:
        """Least min_size with which no write depends on one disk."""
        return self.k + 1

    @property
    def failure_domains(self) -> int:
        """Failure domains needed to place all chunks."""
        return self.num_failure_domains or self.size

    @property
    def per_failure_domain(self) -> int:
        """Chunks in each failure domain, which are lost with it."""
        return self.osds_per_failure_domain or 1

    @property
    def domains_to_lose(self) -> int:
        """Failure domains that may be lost without loss of data."""
        return self.m // self.per_failure_domain


@dataclasses.dataclass(frozen=True, kw_only=True)
class Requirements:
    """Requirements of a tier for each of its OSDs.

    A field that is None, False or empty requires nothing.
    """

    object_store: str | None = None
    #: Whether the disk with the data is rotational.
    rotational: bool | None = None
    #: File system of FileStore.
    file_system: str | None = None
    #: BlueStore's database is on a disk of its own, which is not rotational.
    fast_db: bool = False
    #: The same for its write-ahead log, or the database with the log.
    fast_wal: bool = False
    #: The same for FileStore's journal.
    fast_journal: bool = False
    #: I/O schedulers, of which the disks with the data must use one.
    io_scheduler: tuple[str, ...] = ()
    #: Allocation unit of BlueStore, fixed when the OSD was created.
    alloc_size_bytes: int | None = None
    #: Compression of BlueStore's database, such as lz4, or none.
    rocksdb_compression: str | None = None

    @property
    def declared(self) -> collections.abc.Mapping[str, str]:
        """{requirement: its value as text} of declared requirements."""
        values = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
        }
        return {
            name.removesuffix('_bytes'): (
                ' or '.join(value)
                if isinstance(value, tuple)
                else units.size_text(value)
                if name.endswith('_bytes')
                else str(value).lower()
            )
            for name, value in values.items()
            if value is not None
            and value != ()
            and (value or name == 'rotational')
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class RbdPool:
    """The Ceph pool behind a tier."""

    cluster: str
    pool: str
    #: CRUSH device class, such as ssd; None for OSDs of all classes.
    device_class: str | None = None
    #: Class of the OSDs with the first copy, which serves reads; the other
    #: copies are on `device_class`. None: `device_class` has all copies.
    primary_device_class: str | None = None
    #: CRUSH bucket, usually a root, above its OSDs.
    crush_root: str = CRUSH_ROOT
    protection: Replicated | ErasureCoded
    #: Pool for the data of an erasure coded tier; None: named after `pool`.
    data_pool_name: str | None = None
    #: CRUSH bucket type in which no two copies may be.
    failure_domain: str = 'host'
    #: Placement groups; None leaves the number to Ceph's autoscaler.
    pg_num: int | None = None
    #: {name: value} of the pool that holds the data, see `pool_options`.
    options: collections.abc.Mapping[str, Value] = dataclasses.field(
        default_factory=dict
    )
    #: {option: value} of the OSDs of the device class.
    osd_options: collections.abc.Mapping[str, Value] = dataclasses.field(
        default_factory=dict
    )
    #: 0 to 1, for the OSDs of the device class; None leaves it as it is.
    primary_affinity: float | None = None
    #: Requirements for the OSDs of the device class; None for none.
    osd_requirements: Requirements | None = None
    #: {librbd option: value} for all clients of the pool.
    rbd_options: collections.abc.Mapping[str, Value] = dataclasses.field(
        default_factory=dict
    )

    #: Cache tier in front of `data_pool`; None if none is declared.
    cache: 'Cache | None' = None

    @property
    def data_pool(self) -> str:
        """The Ceph pool that holds the data of images."""
        if isinstance(self.protection, ErasureCoded):
            return self.data_pool_name or self.pool + DATA_POOL_SUFFIX
        return self.pool

    @property
    def own_pools(self) -> tuple[str, ...]:
        """Ceph pools without the cache; the first is the pool in Cinder."""
        return tuple(dict.fromkeys((self.pool, self.data_pool)))

    @property
    def pools(self) -> tuple[str, ...]:
        """Ceph pools, also of the cache; the first is the pool in Cinder."""
        return self.own_pools + (self.cache.rbd.pools if self.cache else ())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cache:
    """A cache tier of Ceph, in front of the pool with a tier's data."""

    #: Replicated pool of the cache, without a cache of its own.
    rbd: RbdPool
    #: `cache_tier.WRITEBACK` or `READONLY`.
    mode: str
    #: Whether stale data, which `READONLY` may serve, is explicitly accepted.
    stale_reads: bool = False
    #: {name: value}, see `resources.cache_tier`.
    settings: collections.abc.Mapping[str, Value] = dataclasses.field(
        default_factory=dict
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Qos:
    """Limits of volumes, in the form of Cinder's QoS specs."""

    #: Name of the QoS spec; None to name it after the tier.
    name: str | None = None
    #: {key: value} for the hypervisor; None for none.
    front_end: collections.abc.Mapping[str, str] | None = None
    #: {key: value} for the storage driver; None for none. Equal to `front_end`
    #: if both are given.
    back_end: collections.abc.Mapping[str, str] | None = None

    @property
    def consumer(self) -> str:
        """Consumer of the limits, in Cinder's terms."""
        if self.front_end and self.back_end:
            return 'both'
        return 'front-end' if self.front_end else 'back-end'

    @property
    def specs(self) -> collections.abc.Mapping[str, str]:
        """{key: value} of the QoS spec in Cinder."""
        return self.front_end or self.back_end or {}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Quotas:
    """Quotas of each project for a tier; -1 is unlimited."""

    volumes: int = -1
    #: Size of volumes and snapshots together.
    size_gib: int = -1
    snapshots: int = -1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Encryption:
    """Encryption of the volumes of a tier."""

    #: Encryption format, such as luks.
    provider: str
    #: Cipher, such as aes-xts-plain64; None leaves it to Cinder.
    cipher: str | None = None
    #: None leaves it to Cinder.
    key_size_bits: int | None = None
    #: front-end: the hypervisor encrypts; back-end: the storage does.
    control_location: str = 'front-end'


@dataclasses.dataclass(frozen=True, kw_only=True)
class TierCost:
    """Price of a tier; it changes nothing in the cloud."""

    #: Currency after each price, such as EUR.
    currency: str
    #: Price of a GiB for `HOURS_OF_MONTH`.
    per_gib_month: decimal.Decimal
    #: Price of an IOPS limit of 1,000 for `HOURS_OF_MONTH`; None if IOPS have
    #: no price.
    per_1000_iops_month: decimal.Decimal | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tier:
    """A tier, which becomes a volume type; with `rbd`, it is a `CephTier`."""

    name: str
    #: Name of its volume type; None for that of the tier.
    volume_type_name: str | None = None
    #: False: the volume type exists and is not managed. Nothing of the tier is
    #: changed or in effect while this is set.
    take_over: bool = True
    #: None leaves the volume type's description as it is.
    description: str | None = None
    #: Image tags that select the tier, as typed, in the order of the file.
    tags: tuple[str, ...] = ()
    #: The highest wins when the tags of an image select several tiers.
    priority: int = 0
    #: Serves untagged images and blank volumes.
    fallback: bool = False
    #: Name of the tier that may take a volume when this one is full; None
    #: refuses it.
    overflow: str | None = None
    #: Names or ids of the only projects that may use it, each once; `PUBLIC`
    #: for all projects. None: all projects, but a private type is not opened.
    access: str | tuple[str, ...] | None = None
    #: Names or ids of the projects whose default type is its volume type, each
    #: once. None leaves them as they are if no tier has any, see
    #: `resources.project_defaults`.
    default_for: tuple[str, ...] | None = None
    #: None leaves an unmanaged QoS spec as it is.
    qos: Qos | None = None
    #: None leaves the quotas as they are.
    quotas: Quotas | None = None
    #: None leaves the encryption as it is.
    encryption: Encryption | None = None
    #: {fio pattern: {limit: value}} for guests, see `expectations`. It changes
    #: nothing; measurements are compared with it.
    expect: expectations.Expectations = dataclasses.field(default_factory=dict)
    #: None if it has no price.
    cost: TierCost | None = None
    #: Ceph pool of the tier; None if the storage exists already, and
    #: `backend_name` or `extra_specs` select it.
    rbd: RbdPool | None = None
    #: `volume_backend_name` of an existing backend; with `rbd`, of one that
    #: serves the pool, or None if it will be created.
    backend_name: str | None = None
    #: Further extra specs of its volume type; without `rbd` and `backend_name`
    #: they select the backends.
    extra_specs: collections.abc.Mapping[str, str] = dataclasses.field(
        default_factory=dict
    )

    def __new__(
        cls, *, rbd: RbdPool | None = None, **fields: object
    ) -> 'Tier':
        """Create a `CephTier` if the tier has a pool."""
        if cls is Tier and rbd is not None:
            return super().__new__(CephTier)
        return super().__new__(cls)

    @property
    def type_name(self) -> str:
        """Name of its volume type."""
        return self.volume_type_name or self.name

    @property
    def qos_spec_name(self) -> str:
        """Name of its QoS spec, if it has one."""
        return (self.qos and self.qos.name) or f'tier-{self.name}'

    @property
    def is_public(self) -> bool:
        """True if all projects may use it."""
        return not isinstance(self.access, tuple)

    @property
    def projects(self) -> tuple[str, ...]:
        """Projects under `access`; none if all projects may use it."""
        return self.access if isinstance(self.access, tuple) else ()

    @property
    def default_projects(self) -> tuple[str, ...]:
        """Projects under `default_for`; none if it is absent."""
        return self.default_for or ()

    @property
    def backend(self) -> str | None:
        """`volume_backend_name`; None if extra specs select backends."""
        return self.backend_name

    @property
    def section(self) -> str:
        """Name of its section of cinder.conf, if it needs a new one.

        It is also the `volume_backend_name` of that section.
        """
        return f'tier-{self.name}'

    @property
    def storages(self) -> tuple[tuple[Path, RbdPool], ...]:
        """(place in the catalog, pool) of its pool and its cache."""
        if self.rbd is None:
            return ()
        place = ('tiers', self.name, 'rbd')
        cache = self.rbd.cache
        return (
            (place, self.rbd),
            *([((*place, 'cache'), cache.rbd)] if cache else ()),
        )

    @property
    def normal_tags(self) -> frozenset[str]:
        """Tags in the form in which they are compared."""
        normal = (tags.normalize_tag(tag) for tag in self.tags)
        return frozenset(tag for tag in normal if tag)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CephTier(Tier):
    """A tier whose pool is managed in a Ceph cluster."""

    rbd: RbdPool

    @property
    def backend(self) -> str:
        """`volume_backend_name`; by default the name of its section."""
        return self.section if self.backend_name is None else self.backend_name

    def without_pool(self) -> Tier:
        """Return the tier as if its storage existed, with the same backend."""
        return Tier(
            **{**vars(self), 'rbd': None, 'backend_name': self.backend}
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Catalog:
    """Declarations of the operator."""

    tiers: tuple[Tier, ...]
    clusters: collections.abc.Mapping[str, Cluster]
    #: Volume types that follow the image.
    follow_image_types: tuple[str, ...] = ()
    #: Whether it is accepted explicitly that no tier serves untagged images
    #: and blank volumes.
    without_fallback: bool = False
    #: Whether the tags of public tiers are published in Glance; None leaves
    #: published tags as they are.
    publish_tags: bool | None = None
    source: CatalogSource = dataclasses.field(
        default_factory=CatalogSource, compare=False
    )

    def tier(self, name: str | None) -> Tier | None:
        """Return the tier with a name, or None."""
        return self._by_name.get(name)

    @functools.cached_property
    def _by_name(self) -> collections.abc.Mapping[str | None, Tier]:
        # If a rule rejects two tiers with a name, the first one counts.
        return {tier.name: tier for tier in reversed(self.tiers)}

    def chosen(self, names: collections.abc.Sequence[str]) -> tuple[Tier, ...]:
        """Return the tiers that --tier names, or all without --tier.

        :raises errors.ProblemsFound: some names are not of a tier.
        """
        have = ', '.join(tier.name for tier in self.tiers)
        missing = [
            errors.Problem(
                where=self.source.file,
                found=f'tier {name!r} does not exist',
                expected=f'one of {have}',
                remedy='fix --tier',
            )
            for name in names
            if self.tier(name) is None
        ]
        if missing:
            raise errors.ProblemsFound(missing)
        return tuple(
            tier for tier in self.tiers if not names or tier.name in names
        )

    def tier_of_type(self, name: str | None) -> Tier | None:
        """Return the tier whose volume type has a name, or None."""
        return self._by_type_name.get(name)

    @functools.cached_property
    def _by_type_name(self) -> collections.abc.Mapping[str | None, Tier]:
        return {tier.type_name: tier for tier in reversed(self.tiers)}

    @property
    def ours(self) -> tuple[Tier, ...]:
        """Managed tiers, in the order of the file."""
        return tuple(tier for tier in self.tiers if tier.take_over)

    @property
    def ceph_tiers(self) -> tuple[CephTier, ...]:
        """Tiers with a pool, in the order of the file."""
        return tuple(tier for tier in self.tiers if isinstance(tier, CephTier))

    def tiers_of(self, cluster: str) -> tuple[CephTier, ...]:
        """Return the managed tiers with a pool in a cluster, in file order."""
        return tuple(
            tier
            for tier in self.ceph_tiers
            if tier.take_over and tier.rbd.cluster == cluster
        )

    @property
    def projects(self) -> tuple[str, ...]:
        """Names or ids of all projects of managed tiers, each once."""
        return tuple(
            dict.fromkeys(
                name
                for tier in self.ours
                for name in (*tier.projects, *tier.default_projects)
            )
        )

    @property
    def has_project_defaults(self) -> bool:
        """True if a managed tier has `default_for`, even an empty one."""
        return any(tier.default_for is not None for tier in self.ours)

    @property
    def volume_types(self) -> tuple[str, ...]:
        """Names of all volume types that it declares."""
        return (
            *(tier.type_name for tier in self.tiers),
            *self.follow_image_types,
        )

    @property
    def clusters_in_use(self) -> tuple[Cluster, ...]:
        """Clusters with the pool of a managed tier, in file order."""
        return tuple(
            cluster
            for name, cluster in self.clusters.items()
            if self.tiers_of(name)
        )
