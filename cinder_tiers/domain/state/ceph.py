# SPDX-License-Identifier: Apache-2.0

"""State of a Ceph cluster, existing or declared.

The same values describe both sides, so a difference is a plain comparison.
Their builder normalises defaults first. Must not know how they are read or
written.
"""

import collections
import collections.abc
import dataclasses
import functools
import types
import typing

from cinder_tiers.domain.state import difference
from cinder_tiers.domain.state import usage as usages


@typing.final
@dataclasses.dataclass(frozen=True, kw_only=True)
class CrushRule:
    """A CRUSH rule.

    It takes a root, chooses and emits; or it has a first part for one copy on
    OSDs of another class; or it has two levels: it chooses failure domains,
    and places several copies in each. A rule that was written by hand may have
    another form; then `root` and `failure_domain` are None, and it equals no
    rule that apply would create.
    """

    name: str
    #: replicated or erasure.
    kind: str
    root: str | None
    #: None when the rule takes every class.
    device_class: str | None
    failure_domain: str | None
    #: For a multi-step retry rule (MSR): number of failure domains, and of
    #: OSDs in each; None: one OSD in each of as many as the pool needs.
    num_failure_domains: int | None = None
    osds_per_failure_domain: int | None = None
    #: For a rule of two levels: copies in each failure domain, and the bucket
    #: type in which no two of them may be; None: it has one level.
    replicas_per_failure_domain: int | None = None
    sub_failure_domain: str | None = None
    #: Device class of the first copy; None if the rule does not set one.
    primary_device_class: str | None = None
    #: Copies or chunks that it places regardless of the size of a pool; None:
    #: as many as the pool has.
    number: int | None = None
    #: Description of the rule, to follow its name, if `root` is None.
    other_form: str = dataclasses.field(
        default='', metadata=difference.IS_NOTE
    )

    @property
    def needs_crush_map(self) -> bool:
        """True if no command of Ceph creates it, so the map must be set."""
        return (
            self.primary_device_class is not None
            or self.replicas_per_failure_domain is not None
        )

    @property
    def per_failure_domain(self) -> int:
        """Copies or chunks in each failure domain, which are lost with it."""
        return (
            self.replicas_per_failure_domain
            or self.osds_per_failure_domain
            or 1
        )

    def failure_domains_for(self, size: int) -> int:
        """Return the number of failure domains over which a pool is spread.

        :param size: number of copies or chunks of the pool.
        """
        return self.num_failure_domains or -(-size // self.per_failure_domain)

    def placing(self, size: int) -> 'CrushRule':
        """Return the rule in its form for a pool with this size."""
        return (
            dataclasses.replace(self, number=None)
            if self.number == size
            else self
        )

    def takes(self, osd: 'Osd') -> bool:
        """Return whether it may choose an OSD.

        A rule written by hand chooses none; no rule chooses an OSD to which
        CRUSH gives no data.
        """
        return (
            self.root is not None
            and not osd.no_data
            and osd.is_below(self.root)
            and (
                self.device_class in (None, osd.device_class)
                or self.primary_device_class == osd.device_class is not None
            )
        )


@typing.final
@dataclasses.dataclass(frozen=True, kw_only=True)
class ErasureCodeProfile:
    """An erasure code profile: the code, and the places of its chunks."""

    name: str
    k: int
    m: int
    root: str
    device_class: str | None
    failure_domain: str
    #: Declared None leaves it to Ceph, whose default differs by release.
    plugin: str | None = dataclasses.field(
        default=None, metadata=difference.NONE_IS_ANY
    )
    #: Declared None leaves it to the plugin.
    technique: str | None = dataclasses.field(
        default=None, metadata=difference.NONE_IS_ANY
    )
    #: None: the default of the monitors when a pool is created; declared None:
    #: any.
    stripe_unit_bytes: int | None = dataclasses.field(
        default=None, metadata=difference.NONE_IS_ANY
    )
    #: As in the rule created from it.
    num_failure_domains: int | None = None
    osds_per_failure_domain: int | None = None


#: Key in the metadata of the application rbd of a pool (`ceph osd pool
#: application get POOL rbd`) that marks the pool as managed. Its value names
#: the manager.
OWNERSHIP_KEY = 'managed_by'
OWNERSHIP_VALUE = 'cinder-tiers'


@typing.final
@dataclasses.dataclass(frozen=True, kw_only=True)
class Pool:
    """A Ceph pool."""

    name: str
    #: replicated or erasure.
    kind: str
    #: Copies, or k + m.
    size: int
    #: Copies or chunks required for I/O; declared None leaves it as it is.
    min_size: int | None = dataclasses.field(metadata=difference.NONE_IS_ANY)
    #: Target number, even if it is not reached yet; declared None leaves it to
    #: Ceph.
    pg_num: int | None = dataclasses.field(metadata=difference.NONE_IS_ANY)
    #: on, warn or off; declared None leaves it to Ceph.
    pg_autoscale_mode: str | None = dataclasses.field(
        metadata=difference.NONE_IS_ANY
    )
    #: Name of the CRUSH rule.
    crush_rule: str
    #: None for a replicated pool.
    erasure_code_profile: str | None = None
    #: Bytes of one chunk times data chunks, 0 for a replicated pool; fixed at
    #: creation. Declared None leaves it to Ceph.
    stripe_width_bytes: int | None = dataclasses.field(
        default=None, metadata=difference.NONE_IS_ANY
    )
    #: Names of the applications that use it, such as rbd.
    applications: frozenset[str] = frozenset({'rbd'})
    #: Whether it has the ownership marker, `OWNERSHIP_KEY` in the metadata of
    #: its application rbd.
    managed: bool = True
    #: RBD needs it on an erasure coded pool.
    ec_overwrites: bool = False
    #: Pool that takes the data of new RBD images; None for this pool.
    rbd_default_data_pool: str | None = None
    #: {name: value} in the form of `pool_options`; declared: only declared
    #: options.
    options: collections.abc.Mapping[str, str] = dataclasses.field(
        default_factory=dict, metadata=difference.ABSENT_IS_ANY
    )
    #: {librbd option: value} for all clients of the pool, None if the pool
    #: does not set it; declared: only declared options.
    rbd_options: collections.abc.Mapping[str, str | None] = dataclasses.field(
        default_factory=dict, metadata=difference.ABSENT_IS_ANY
    )
    #: Reason why `rbd_options` and `rbd_default_data_pool` are unknown, as for
    #: a pool that serves no I/O, or ''.
    rbd_options_unread: str = dataclasses.field(
        default='', metadata=difference.IS_NOTE
    )
    #: Declared: min_size of a new pool, if the tiers file has none.
    first_min_size: int | None = dataclasses.field(
        default=None, metadata=difference.IS_NOTE
    )
    #: Declared: whether the CRUSH rule is set before the size, because the old
    #: rule would leave fewer copies in too few failure domains.
    is_rule_first: bool = dataclasses.field(
        default=False, metadata=difference.IS_NOTE
    )
    #: Declared: least min_size of an existing pool, if the tiers file has
    #: none.
    least_min_size: int | None = dataclasses.field(
        default=None, metadata=difference.IS_NOTE
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class CacheTier:
    """A cache in front of a pool."""

    #: Pool whose objects it caches.
    name: str
    #: Pool of the cache; several pools are joined by `SEVERAL`.
    cache_pool: str
    #: Ceph's name of the mode, such as writeback.
    mode: str
    #: Whether I/O of the clients of the pool goes through it.
    overlay: bool
    #: {name: value} in the form of `resources.cache_tier`; declared: only
    #: declared settings.
    settings: collections.abc.Mapping[str, str] = dataclasses.field(
        default_factory=dict, metadata=difference.ABSENT_IS_ANY
    )

    SEVERAL: typing.ClassVar[str] = ', '

    @property
    def cache_pools(self) -> tuple[str, ...]:
        """Pools of the cache; Ceph allows several, clients use one."""
        return tuple(self.cache_pool.split(self.SEVERAL))


@dataclasses.dataclass(frozen=True, kw_only=True)
class OsdOptions:
    """Effective options of the OSDs of a device class or host."""

    #: The device class, or the CRUSH host.
    name: str
    #: {option: value}; if OSDs differ, all values with their OSDs. Declared:
    #: only declared options; None for one that should not be set.
    values: collections.abc.Mapping[str, str | None] = dataclasses.field(
        metadata=difference.ABSENT_IS_ANY
    )
    #: {option: reason why a value for all of them is not in effect
    #: everywhere}.
    reasons: collections.abc.Mapping[str, str] = dataclasses.field(
        default_factory=dict, metadata=difference.IS_NOTE
    )
    #: {option that running OSDs ignore: its value after a restart}.
    after_restart: collections.abc.Mapping[str, str] = dataclasses.field(
        default_factory=dict, metadata=difference.IS_NOTE
    )
    #: Ids of the OSDs with the mClock queue.
    mclock_osds: tuple[int, ...] = dataclasses.field(
        default=(), metadata=difference.IS_NOTE
    )
    #: Ids of the OSDs with another queue.
    other_queue_osds: tuple[int, ...] = dataclasses.field(
        default=(), metadata=difference.IS_NOTE
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class OsdCapacity:
    """IOPS that an OSD with mClock assumes for its disk."""

    #: hdd or ssd: the assumed medium of its data.
    medium: str
    #: Random writes of 4 KiB per second; None if it was not measured or set,
    #: and the default of the release counts.
    iops: float | None
    #: Whether the figure in the monitors is for this OSD alone, as a measured
    #: one is.
    is_own: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mclock:
    """The figures by which OSDs with mClock share their I/O."""

    #: {OSD id: figure}, for OSDs configured with this queue.
    capacities: collections.abc.Mapping[int, OsdCapacity]
    #: {hdd or ssd: the least and the most IOPS of a figure}.
    plausible_iops: collections.abc.Mapping[str, tuple[float, float]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class PrimaryAffinity:
    """Primary affinity of the OSDs of a device class."""

    #: The device class.
    name: str
    #: 0 to 1 in the form of `primary_affinity`; if OSDs differ, all values
    #: with their OSDs.
    value: str
    #: {OSD id: its value}; empty if declared.
    by_osd: collections.abc.Mapping[int, str] = dataclasses.field(
        default_factory=dict, metadata=difference.IS_NOTE
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReadBalancer:
    """Choices of primaries by Ceph's read balancer."""

    #: Mode of the balancer, if it is on and chooses primaries; else ''.
    mode: str
    #: {OSD id: placement groups with it as chosen primary} (pg-upmap-primary),
    #: by the balancer or by hand.
    primaries: collections.abc.Mapping[int, int]


@dataclasses.dataclass(frozen=True, kw_only=True)
class CephxUser:
    """A cephx user without its key, which never enters this program."""

    #: Name with its type, such as client.cinder.
    name: str
    #: {daemon type, such as osd: text of its capabilities}.
    caps: collections.abc.Mapping[str, str]
    #: Declared: grants that tiers need, by daemon type; all others in `caps`
    #: were held when the plan was made.
    needed: collections.abc.Mapping[str, tuple[str, ...]] = dataclasses.field(
        default_factory=dict, metadata=difference.IS_NOTE
    )
    #: Declared: grants of a user that may belong to another service, so that a
    #: change needs consent, each with its daemon type.
    of_others: tuple[str, ...] = dataclasses.field(
        default=(), metadata=difference.IS_NOTE
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Osd:
    """An OSD and its places in the CRUSH tree."""

    osd_id: int
    #: None for an OSD without one.
    device_class: str | None
    #: {bucket type: bucket name}, including itself and its root.
    location: collections.abc.Mapping[str, str]
    #: Further locations of an OSD below several buckets of a type: a bucket
    #: may be linked to several others, and a root may be in another one.
    other_locations: tuple[collections.abc.Mapping[str, str], ...] = ()
    #: Primary affinity, from 0 to 1.
    primary_affinity: float = 1.0
    #: Reason why CRUSH gives it no data, such as `is out`, or ''.
    no_data: str = ''

    @property
    def locations(self) -> tuple[collections.abc.Mapping[str, str], ...]:
        """Places in the CRUSH tree."""
        return self.location, *self.other_locations

    def is_below(self, bucket: str) -> bool:
        """Return whether it lies in a CRUSH bucket; names are unique."""
        return any(bucket in one.values() for one in self.locations)

    def buckets_of(self, kind: str, *, root: str | None) -> frozenset[str]:
        """Return the CRUSH buckets of a type in which it lies.

        :param kind: bucket type, such as host.
        :param root: only buckets below this one; None for any.
        """
        return frozenset(
            one[kind]
            for one in self.locations
            if kind in one and (root is None or root in one.values())
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class OsdMemory:
    """Host of an OSD, and its memory target."""

    #: Host name by its kernel, which may differ from its CRUSH host; None if
    #: the OSD never reported one.
    host: str | None = None
    #: Memory of the host in bytes; None if unknown.
    host_bytes: int | None = None
    #: osd_memory_target in effect; None if unknown.
    target_bytes: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class OptionSchema:
    """Description of an option by a cluster (`ceph config help`)."""

    name: str
    #: Ceph's type: str, uint, int, size, secs, millisecs, float, bool, ...
    kind: str
    #: The only values of an option with a fixed set of words; else empty.
    words: tuple[str, ...] = ()
    #: Default of the daemons, as Ceph writes it.
    default: str = ''
    #: Whether a running OSD uses a new value.
    at_runtime: bool = True
    #: Intended audience in Ceph: basic, advanced or dev.
    level: str = 'advanced'


@dataclasses.dataclass(frozen=True, kw_only=True)
class CephState:
    """The state of one Ceph cluster that concerns tiers, keyed by name."""

    crush_rules: collections.abc.Mapping[str, CrushRule]
    erasure_code_profiles: collections.abc.Mapping[str, ErasureCodeProfile]
    pools: collections.abc.Mapping[str, Pool]
    users: collections.abc.Mapping[str, CephxUser]
    osds: tuple[Osd, ...]
    #: Options that the catalog declares, keyed by device class.
    class_options: collections.abc.Mapping[str, OsdOptions] = (
        dataclasses.field(default_factory=dict)
    )
    #: Options that the catalog declares, keyed by CRUSH host.
    host_options: collections.abc.Mapping[str, OsdOptions] = dataclasses.field(
        default_factory=dict
    )
    #: {option that the catalog declares: its schema}; the cluster does not
    #: know an absent one.
    option_schemas: collections.abc.Mapping[str, OptionSchema] = (
        dataclasses.field(default_factory=dict)
    )
    #: Usage, from which only the effects of a plan are estimated.
    usage: usages.ClusterUsage | usages.Unknown = usages.Unknown(
        reason='the cluster usage was not read'
    )

    #: {pool: cache tier in front of it}, for all pools that have one.
    cache_tiers: collections.abc.Mapping[str, CacheTier] = dataclasses.field(
        default_factory=dict
    )
    #: Identifier of the cluster, in lower case; None if it was not read.
    fsid: str | None = None
    #: Major release that all monitors have (min_mon_release), such as 18; None
    #: if it was not read.
    release: int | None = None
    #: Namespace of Kubernetes in which Rook runs the cluster; None if Rook
    #: does not, or if it was not read.
    rook_namespace: str | None = None
    #: Whether cephadm sets osd_memory_target by host; read if the catalog
    #: declares it, and for an export if the monitors have it.
    cephadm_tunes_memory: bool = False
    #: Maximum of placement groups per OSD on average (mon_max_pg_per_osd);
    #: None if it was not read.
    max_pg_per_osd: int | None = None
    #: Ciphers of the keys of new cephx users; empty if Ceph has no choice (up
    #: to 19), and if the user of Cinder exists.
    key_ciphers: tuple[str, ...] = ()
    #: Whether its monitors know cache tiers; read if the catalog declares one.
    has_cache_tiering: bool = True
    #: {pool: number of objects}; read if the catalog declares a cache.
    objects_in: collections.abc.Mapping[str, int] = dataclasses.field(
        default_factory=dict
    )
    #: Oldest client release that it must serve (require_min_compat_client);
    #: None if it was not read, which is done only if the catalog has MSR
    #: rules.
    min_compat_client: str | None = None
    #: {mask of OSDs, such as class:ssd: {option: value in the monitors}};
    #: empty if the catalog declares no option.
    configured_options: collections.abc.Mapping[
        str, collections.abc.Mapping[str, str]
    ] = dataclasses.field(default_factory=dict)
    #: None if it was not read, as in releases in which no OSD has mClock by
    #: default (up to Ceph 16).
    mclock: Mclock | None = None
    #: Read if the catalog declares a primary affinity, or a class for first
    #: copies; None in releases without a read balancer (up to Ceph 17).
    read_balancer: ReadBalancer | None = None

    @functools.cached_property
    def device_classes(self) -> collections.abc.Mapping[str, int]:
        """{device class: number of OSDs}, sorted by name."""
        classes = collections.Counter(
            osd.device_class
            for osd in self.osds
            if osd.device_class is not None
        )
        return types.MappingProxyType(dict(sorted(classes.items())))

    @functools.cached_property
    def hosts(self) -> frozenset[str]:
        """Names of the CRUSH hosts with an OSD."""
        return frozenset(self.osds_by_host)

    @functools.cached_property
    def bucket_types(self) -> tuple[str, ...]:
        """Types of the CRUSH buckets with an OSD, sorted by name."""
        return tuple(
            sorted(
                {
                    kind
                    for osd in self.osds
                    for location in osd.locations
                    for kind in location
                }
            )
        )

    @functools.cached_property
    def osds_by_host(self) -> collections.abc.Mapping[str, tuple[Osd, ...]]:
        """{CRUSH host: its OSDs} for hosts with an OSD."""
        found: dict[str, list[Osd]] = {}
        for osd in self.osds:
            for host in osd.buckets_of('host', root=None):
                found.setdefault(host, []).append(osd)
        return types.MappingProxyType(
            {name: tuple(osds) for name, osds in found.items()}
        )

    def buckets(
        self, *, kind: str, root: str, device_class: str | None = None
    ) -> frozenset[str]:
        """Return the CRUSH buckets of a type with an OSD that has data.

        :param kind: bucket type, such as host.
        :param root: only buckets below this one.
        :param device_class: only buckets with an OSD of it; None for any.
        """
        return frozenset(
            self.osds_in_buckets(
                kind=kind, root=root, device_class=device_class
            )
        )

    def osds_in_buckets(
        self,
        *,
        kind: str,
        root: str,
        device_class: str | None,
        apart: str | None = None,
    ) -> collections.abc.Mapping[str, int]:
        """Return {CRUSH bucket: number of OSDs in it}, see `buckets`.

        An OSD in several buckets counts in the one with the fewest, because it
        cannot have two copies of an object.

        :param apart: bucket type, such as host, of which counted OSDs must not
            share a bucket; None to count all OSDs.
        """
        # Many tiers need the same result.
        asked = kind, root, device_class, apart
        if asked not in self._osds_in_buckets:
            places: dict[object, set[str]] = {}
            for osd in self.osds:
                if osd.no_data or device_class not in (None, osd.device_class):
                    continue
                for place in osd.locations:
                    if kind in place and root in place.values():
                        # CRUSH never reaches an OSD without a bucket of that
                        # type.
                        one = place.get(apart) if apart else osd.osd_id
                        places.setdefault(one, set()).add(place[kind])
            places.pop(None, None)
            count: dict[str, int] = {}
            for names in sorted(places.values(), key=len):
                fewest = min(sorted(names), key=lambda one: count.get(one, 0))
                count[fewest] = count.get(fewest, 0) + 1
            self._osds_in_buckets[asked] = types.MappingProxyType(count)
        return self._osds_in_buckets[asked]

    @functools.cached_property
    def _osds_in_buckets(
        self,
    ) -> dict[
        tuple[str, str, str | None, str | None],
        collections.abc.Mapping[str, int],
    ]:
        return {}
