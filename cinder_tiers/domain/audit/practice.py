# SPDX-License-Identifier: Apache-2.0

"""Known bad practice: state that is as declared, and still a risk.

None of it is a difference from the tiers file, and nothing is changed because
of it. Each piece of advice says what was found, why it is a risk, and what to
do. Objects that do not exist yet or could not be read give no advice. Pure.
Must not know how advice is shown, nor its effect on an exit status.
"""

import collections.abc
import dataclasses
import re

from cinder_tiers.domain.audit import pool_osds
from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.resources import failure_domains
from cinder_tiers.domain.resources import known_safe
from cinder_tiers.domain.resources import mclock
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.resources import pool as pool_kind
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.resources import primary_affinity
from cinder_tiers.domain.resources import rbd_options
from cinder_tiers.domain.resources import safety
from cinder_tiers.domain.resources import type_quota
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import usage as usages

#: Aspects, one for each practice.
REDUNDANCY = 'redundancy'
FAILURE_DOMAINS = 'failure domains'
IMAGE_CLONES = 'image clones'
SHARED_OSDS = 'shared osds'
MCLOCK = 'mclock'
COMPRESSION = 'compression'
DEPRECATED = 'deprecated'
PG_TARGET = 'pg target'
EC_RECOVERY = 'ec recovery'
READ_BALANCE = 'read balance'
OPTIONS = 'options'

#: Below this share of the placement groups of its OSDs, a target set for a
#: pool counts as a mistake.
LEAST_SHARE = 0.02
#: First version in which mClock throttles reads for the recovery of erasure
#: coded pools; see `_ec_recovery`.
FIRST_WITH_HELD_BACK_READS = (20, 2, 4)
#: Score from which Ceph's documentation calls primaries unbalanced; 1 is best.
LEAST_UNBALANCED = 1.5
#: The first release whose manager balances reads by itself.
FIRST_WITH_ONLINE_READ_BALANCER = 19


#: {(cluster, device class, CRUSH root): doubtful figures of their OSDs}
_Doubts = dict[tuple[str, str, str], collections.abc.Mapping[str, str]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class PgTarget:
    """Judgement of Ceph's autoscaler on the placement groups of a pool."""

    #: on, warn or off.
    mode: str
    pg_num: int
    #: Number that the autoscaler would choose.
    wanted_pg_num: int
    #: Part of its OSDs that it fills, or should fill by its target, from 0 to
    #: 1.
    share: float
    #: Whether its expected size is set, as a ratio or in bytes.
    has_target: bool
    #: Whether it is marked as a large pool (flag bulk).
    is_bulk: bool
    #: Whether the numbers differ by the factor at which Ceph acts (3).
    is_far_off: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class OpQueue:
    """Operation queue of an OSD."""

    osd_id: int
    #: osd_op_queue in effect.
    queue: str
    #: Version of the OSD, such as 18.2.7.
    version: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class PracticeFacts:
    """Facts of a cluster that only the audit reads."""

    #: {pool: judgement of the autoscaler}, without pools whose CRUSH rules
    #: overlap, which it skips.
    pg_targets: collections.abc.Mapping[str, PgTarget]
    #: Reason why that could not be read, or ''.
    pg_targets_unread: str = ''
    #: {erasure coded pool: the queue of one of its OSDs}.
    op_queues: collections.abc.Mapping[str, OpQueue] = dataclasses.field(
        default_factory=dict
    )
    #: Read if a pool of a tier has a quota; None otherwise, or if it could not
    #: be read.
    usage: usages.ClusterUsage | None = None
    #: {OSD id: {option: value}}, as the monitors have them for it.
    osd_options: collections.abc.Mapping[
        int, collections.abc.Mapping[str, str]
    ] = dataclasses.field(default_factory=dict)
    #: {pool: its read_balance_score} for pools with a score: replicated ones
    #: since Ceph 18.
    read_balance: collections.abc.Mapping[str, float] = dataclasses.field(
        default_factory=dict
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Advice:
    """A risk of a tier, and its remedy."""

    #: Name of the tier.
    tier: str
    #: One of the aspects of this module.
    aspect: str
    #: {object: current state}.
    current: collections.abc.Mapping[str, str]
    #: {object: state without risk}.
    expected: collections.abc.Mapping[str, str]
    #: Reason why it is a risk.
    reason: str
    #: Remedy as an imperative.
    remedy: str


def advise(
    catalog: catalogs.Catalog,
    ceph: collections.abc.Mapping[str, ceph_state.CephState],
    facts: collections.abc.Mapping[str, PracticeFacts],
    cinder: cinder_state.CinderState | None = None,
) -> collections.abc.Iterator[Advice]:
    """Yield advice on the managed tiers.

    :param ceph: {name of a cluster: its state}; tiers of other clusters are
        skipped.
    :param facts: {name of a cluster: further facts}; missing facts are not
        judged.
    :param cinder: state of Cinder; None if it could not be read.
    :returns: advice tier by tier, in the order of the file.
    """
    osds = {name: pool_osds.PoolOsds(state) for name, state in ceph.items()}
    doubts: _Doubts = {}
    for tier in catalog.ours:
        if cinder is not None:
            yield from _limits(tier, cinder)
        if (
            not isinstance(tier, catalogs.CephTier)
            or tier.rbd.cluster not in ceph
        ):
            continue
        state, lie_on = ceph[tier.rbd.cluster], osds[tier.rbd.cluster]
        yield from _redundancy(tier, state)
        yield from _failure_domains(tier, state)
        yield from _image_clones(tier, catalog, lie_on)
        yield from _shared_osds(tier, catalog, lie_on)
        yield from _two_that_choose_primaries(tier, state)
        yield from _mclock_figures(tier, state, doubts)
        yield from _mclock_unused(tier, state)
        yield from _unheeded_hint(tier, state)
        yield from _cache_tier(tier, state)
        if tier.rbd.cluster in facts:
            seen = facts[tier.rbd.cluster]
            yield from _pg_target(tier, state, lie_on, seen)
            yield from _ec_recovery(tier, seen)
            yield from _read_balance(tier, state, lie_on, seen)
            yield from _pool_options(tier, state, seen)
            yield from _osd_options(tier, lie_on, seen)


def _redundancy(
    tier: catalogs.CephTier, ceph: ceph_state.CephState
) -> collections.abc.Iterator[Advice]:
    """Yield advice on pools that accept writes without redundancy.

    With min_size 1, and with min_size k of an erasure coded pool, a write is
    acknowledged when no disk more than necessary has it (ceph doc/rados/
    operations/pools.rst and erasure-code.rst: min_size k + 1 "to prevent loss
    of writes and data"). A read-only cache holds nothing that the pool behind
    it lacks.
    """
    names = tier.rbd.pools
    if tier.rbd.cache and tier.rbd.cache.mode == cache_tier.READONLY:
        names = tier.rbd.own_pools
    current, expected = {}, {}
    for name in names:
        pool = ceph.pools.get(name)
        if pool is None or pool.min_size is None:
            continue
        enough = _enough_to_read(tier.rbd, pool, ceph)
        if pool.min_size > enough:
            continue
        key = f'pool {name}'
        current[key] = f'size {pool.size}, min_size {pool.min_size}'
        expected[key] = (
            f'min_size {enough + 1} or more'
            if pool.size > enough + 1
            else f'size {enough + 2} or more, min_size {enough + 1} or more'
        )
    if current:
        yield Advice(
            tier=tier.name,
            aspect=REDUNDANCY,
            current=current,
            expected=expected,
            reason=(
                'writes are acknowledged when only as many disks have them '
                'as are needed to read them; if one of these disks fails '
                'before the others have recovered, the writes are lost'
            ),
            remedy=(
                'declare these values in the tiers file and run "openstack '
                'tier plan", which says what consent it needs'
            ),
        )


def _enough_to_read(
    rbd: catalogs.RbdPool,
    pool: ceph_state.Pool,
    ceph: ceph_state.CephState,
) -> int:
    """Return the number of copies or chunks from which an object is read."""
    if pool.erasure_code_profile is None:
        return 1
    profile = ceph.erasure_code_profiles.get(pool.erasure_code_profile)
    if profile is not None:
        return profile.k
    # Only profiles named in the tiers file are read.
    protection = rbd.protection
    if (
        isinstance(protection, catalogs.ErasureCoded)
        and protection.size == pool.size
    ):
        return protection.k
    return 1


def _failure_domains(
    tier: catalogs.CephTier, ceph: ceph_state.CephState
) -> collections.abc.Iterator[Advice]:
    """Yield advice on pools whose min_size does not fit failure domains."""
    for name in tier.rbd.pools:
        pool = ceph.pools.get(name)
        if pool is None or pool.min_size is None:
            continue
        rule = ceph.crush_rules.get(pool.crush_rule)
        if rule is None:
            continue
        each, domain = rule.per_failure_domain, rule.failure_domain
        sizes = pool.size, pool.min_size, each
        is_coded = pool.kind != 'replicated'
        if failure_domains.stops_io(*sizes):
            expected = (
                f'at least {pool.min_size + each} chunks'
                if is_coded
                else f'min_size {pool.size - each} or less'
            )
            reason = (
                f'the loss of one {domain} leaves fewer copies or chunks than '
                'min_size, and all I/O stops until it is back'
            )
        elif not is_coded and failure_domains.may_hold_all(*sizes):
            expected = f'min_size from {each + 1} to {pool.size - each}'
            reason = (
                'writes are acknowledged when as many disks have them as one '
                f'{domain} has of each object; if all of these are in one '
                f'{domain}, and it is lost, the writes are lost'
            )
        else:
            continue
        key = f'pool {name}'
        yield Advice(
            tier=tier.name,
            aspect=FAILURE_DOMAINS,
            current={
                key: f'size {pool.size}, min_size {pool.min_size}, {each} in '
                f'each {domain}'
            },
            expected={key: expected},
            reason=reason,
            remedy=(
                'name another pool with a larger m in the tiers file and '
                'retype the volumes'
                if is_coded
                else 'declare it in the tiers file and run "openstack tier '
                'plan", which says what consent it needs'
            ),
        )


def _image_clones(
    tier: catalogs.CephTier,
    catalog: catalogs.Catalog,
    lie_on: pool_osds.PoolOsds,
) -> collections.abc.Iterator[Advice]:
    """Yield advice on an images pool that is on other OSDs than the tier.

    Cinder's RBD driver makes a volume from a raw image of the same cluster as
    a copy-on-write clone and never flattens it (cinder/volume/drivers/rbd.py,
    clone_image), so that blocks that were not written since are read where
    the image lies. The image-volume cache of Cinder is not used for what can
    be cloned.
    """
    images = catalog.clusters[tier.rbd.cluster].images_pool
    if images is None:
        return
    own = lie_on.of_reads(tier.rbd.data_pool)
    if not own or lie_on.of_reads(images) <= own:
        return
    key = f'pool {images}'
    yield Advice(
        tier=tier.name,
        aspect=IMAGE_CLONES,
        current={key: lie_on.described(images)},
        expected={key: lie_on.described(tier.rbd.data_pool)},
        reason=(
            'volumes made from raw images are copy-on-write clones: blocks '
            'that were never written are read from the pool of the images, '
            'at the speed of its OSDs and not of the tier, and with the load '
            'on them'
        ),
        remedy=(
            'give the pool of the images a CRUSH rule of the tier that boots '
            'most (moves data), or run "rbd flatten" on volumes for which it '
            'matters; "openstack tier audit --volumes --residency" lists them'
        ),
    )


def _shared_osds(
    tier: catalogs.CephTier,
    catalog: catalogs.Catalog,
    lie_on: pool_osds.PoolOsds,
) -> collections.abc.Iterator[Advice]:
    """Yield advice on a tier with expected minimums on shared OSDs.

    No Ceph release up to 20 can reserve anything for a pool: mClock has one
    class for all clients (ceph doc/rados/configuration/mclock-config-ref.rst,
    "mClock Client Types").
    """
    promised = {
        f'{pattern}.{name}': f'{value:g}'
        for pattern, limits in tier.expect.items()
        for name, value in limits.items()
        if _is_floor(name)
    }
    if not promised:
        return
    others = [
        other.name
        for other in catalog.tiers_of(tier.rbd.cluster)
        if other.name != tier.name
        and lie_on.share(tier.rbd.pools, other.rbd.pools)
    ]
    if not others:
        return
    yield Advice(
        tier=tier.name,
        aspect=SHARED_OSDS,
        current={
            **{f'expect.{name}': value for name, value in promised.items()},
            'other tiers on its OSDs': spelling.listed(others),
        },
        expected={'other tiers on its OSDs': 'none'},
        reason=(
            'Ceph reserves nothing for a pool: all clients of an OSD share '
            'it, so what the tier promises depends on the load of the others'
        ),
        remedy=(
            'give the tier OSDs of its own, with a device class or a CRUSH '
            'root; or limit the others with qos and promise what was '
            'measured while they were under load'
        ),
    )


def _is_floor(name: str) -> bool:
    """Return whether the load of other tiers can break a limit.

    >>> [_is_floor(name) for name in ('iops_min', 'p99_ms_max', 'iops_max')]
    [True, True, False]
    """
    limit = expectations.find(name)
    return limit is not None and (limit.is_least or limit.unit == 'ms')


def _mclock_figures(
    tier: catalogs.CephTier, ceph: ceph_state.CephState, doubts: _Doubts
) -> collections.abc.Iterator[Advice]:
    """Yield advice on capacities by which OSDs with mClock share their I/O.

    :param doubts: doubts of earlier tiers, to which new ones are added.
    """
    if ceph.mclock is None or tier.rbd.device_class is None:
        return
    key = (tier.rbd.cluster, tier.rbd.device_class, tier.rbd.crush_root)
    if key not in doubts:
        doubts[key] = mclock.doubts(
            ceph.mclock,
            (
                osd.osd_id
                for osd in ceph.osds
                if osd.device_class == tier.rbd.device_class
                and osd.is_below(tier.rbd.crush_root)
            ),
        )
    for name, text in doubts[key].items():
        yield Advice(
            tier=tier.name,
            aspect=MCLOCK,
            current={name: text},
            expected={
                name: 'measured, plausible, and alike on all OSDs of the '
                f'{tier.rbd.device_class} class'
            },
            reason=(
                'OSDs with the queue mClock give clients and recovery parts '
                'of this figure; where it is too low, clients wait for a '
                'disk that is idle, and where it is too high, recovery takes '
                'what clients need'
            ),
            remedy=mclock.MEASURE.format(name=name),
        )


def _mclock_unused(
    tier: catalogs.CephTier, ceph: ceph_state.CephState
) -> collections.abc.Iterator[Advice]:
    """Yield advice on options of mClock on OSDs with another queue."""
    used = ceph.class_options.get(tier.rbd.device_class or '')
    names = [
        name for name in tier.rbd.osd_options if name.startswith(mclock.PREFIX)
    ]
    if used and names and used.other_queue_osds:
        yield Advice(
            tier=tier.name,
            aspect=MCLOCK,
            current={
                mclock.OP_QUEUE: f'not {mclock.QUEUE} '
                f'({spelling.osds(used.other_queue_osds)})'
            },
            expected={mclock.OP_QUEUE: mclock.QUEUE},
            reason=f'these OSDs show {", ".join(names)} and do not use it',
            remedy=f'set {mclock.OP_QUEUE} to {mclock.QUEUE} for each of '
            'these OSDs and restart them, or remove these options from the '
            'tiers file',
        )


def _pg_target(
    tier: catalogs.CephTier,
    ceph: ceph_state.CephState,
    lie_on: pool_osds.PoolOsds,
    facts: PracticeFacts,
) -> collections.abc.Iterator[Advice]:
    """Yield advice on too few placement groups, or a missing autoscaler.

    What the autoscaler chooses, and which pools it passes over, is in
    src/pybind/mgr/pg_autoscaler/module.py (identify_subtrees_and_overlaps and
    _get_pool_pg_targets, Ceph 16.2.15 to 20.2.4).
    """
    name = tier.rbd.data_pool
    pool = ceph.pools.get(name)
    if pool is None:
        return
    key = f'pool {name}'
    if facts.pg_targets_unread:
        yield Advice(
            tier=tier.name,
            aspect=PG_TARGET,
            current={},
            expected={},
            reason=(
                'the number of placement groups that the Ceph autoscaler '
                f'wants is not known: {facts.pg_targets_unread}'
            ),
            remedy='',
        )
        return
    target = facts.pg_targets.get(name)
    if target is None:
        yield from _not_scaled(tier, pool, ceph, lie_on)
    elif (
        target.has_target
        and not target.is_bulk
        and target.share <= LEAST_SHARE
    ):
        yield Advice(
            tier=tier.name,
            aspect=PG_TARGET,
            current={
                key: f'{target.share:.1%} of its OSDs by its target, '
                f'{target.wanted_pg_num} placement groups'
            },
            expected={key: f'more than {LEAST_SHARE:.0%}'},
            reason=(
                'Ceph gives a pool placement groups in proportion to the '
                'share of its OSDs that the pool is expected to fill; '
                'with so few, some disks hold no data of the tier and '
                'others too much'
            ),
            remedy=(
                'set the pool options target_size_ratio or target_size_bytes '
                'to what the tier will hold, or declare pg_num'
            ),
        )
    elif (
        target.is_far_off
        and target.mode != 'on'
        and (
            target.has_target
            or target.is_bulk
            or target.pg_num < target.wanted_pg_num
        )
    ):
        # An autoscaler that is on will adjust it; too many do no harm to a
        # pool that will fill up.
        yield Advice(
            tier=tier.name,
            aspect=PG_TARGET,
            current={key: f'{target.pg_num} placement groups'},
            expected={key: f'{target.wanted_pg_num} placement groups'},
            reason=(
                'for the data in the pool, or for its target, the number '
                'is so far off that Ceph would change it, but autoscaling '
                f'is {target.mode}: data and load are spread unevenly, or '
                'OSDs have more placement groups than they need'
            ),
            remedy=(
                f'declare pg_num: {target.wanted_pg_num} (moves data), or '
                'remove pg_num from the tiers file and run "ceph osd pool '
                f'set {name} pg_autoscale_mode on"'
            ),
        )


def _not_scaled(
    tier: catalogs.CephTier,
    pool: ceph_state.Pool,
    ceph: ceph_state.CephState,
    lie_on: pool_osds.PoolOsds,
) -> collections.abc.Iterator[Advice]:
    """Yield advice on a pool that the autoscaler is on for, but skips."""
    if pool.pg_autoscale_mode == 'off':
        return
    others = sorted(
        name for name in ceph.pools if lie_on.overlap(pool.name, name)
    )
    if not others:
        return
    key = f'pool {pool.name}'
    yield Advice(
        tier=tier.name,
        aspect=PG_TARGET,
        current={
            key: f'autoscaling {pool.pg_autoscale_mode}, '
            f'{pool.pg_num} placement groups',
            'pools with overlapping CRUSH rules': spelling.listed(others),
        },
        expected={'pools with overlapping CRUSH rules': 'none'},
        reason=(
            'the Ceph autoscaler skips pools that share some, but not '
            'all, of their OSDs with other pools, so the number of '
            'placement groups does not change, however much the pool holds'
        ),
        remedy=(
            'give the other pools a CRUSH rule of one device class (moves '
            'their data), or declare pg_num'
        ),
    )


def _ec_recovery(
    tier: catalogs.CephTier, facts: PracticeFacts
) -> collections.abc.Iterator[Advice]:
    """Yield advice on OSDs that do not throttle erasure coded recovery.

    With mClock, what recovery and backfill read of erasure coded pools goes
    past the queue, into the one for what cannot wait, and may starve clients
    (ceph doc/rados/configuration/mclock-config-ref.rst, the warning at the
    top; tracker 71655). Ceph pull request 64618 fixes it in main, 69773 in 20;
    that for 19, 69806, is not merged, and there is none for older ones. The
    reservation for background_best_effort that comes with it is there in
    20.2.4 (0.05 of the balanced profile) and not in 18.2.7 (0).
    """
    name = tier.rbd.data_pool
    seen = facts.op_queues.get(name)
    if (
        seen is None
        or seen.queue != mclock.QUEUE
        or _numbers(seen.version) >= FIRST_WITH_HELD_BACK_READS
    ):
        return
    key = f'osd.{seen.osd_id}'
    first = '.'.join(map(str, FIRST_WITH_HELD_BACK_READS))
    yield Advice(
        tier=tier.name,
        aspect=EC_RECOVERY,
        current={key: f'Ceph {seen.version}, osd_op_queue {seen.queue}'},
        expected={key: f'osd_op_queue wpq, or Ceph {first} or later'},
        reason=(
            f'pool {name} is erasure coded: in this version mClock does '
            'not limit the reads of its recovery, and guest I/O may '
            'become slow while OSDs are drained or backfilled'
        ),
        remedy=(
            'run "ceph config set osd osd_op_queue wpq" and restart the OSDs, '
            'one failure domain at a time'
        ),
    )


def _read_balance(
    tier: catalogs.CephTier,
    ceph: ceph_state.CephState,
    lie_on: pool_osds.PoolOsds,
    facts: PracticeFacts,
) -> collections.abc.Iterator[Advice]:
    """Yield advice on a pool with unevenly distributed primaries.

    The score is the highest number of primaries of an OSD, divided by the
    number for an even distribution (OSDMap::calc_read_balance_score; ceph
    doc/rados/operations/read-balancer.rst, which calls 1.5 unbalanced).
    Skipped are pools that cannot be balanced, with fewer placement groups than
    OSDs, and pools that are uneven on purpose: with first copies on a class of
    their own, or a declared primary affinity.
    """
    name = tier.rbd.data_pool
    pool, score = ceph.pools.get(name), facts.read_balance.get(name)
    if (
        pool is None
        or score is None
        or score < LEAST_UNBALANCED
        or (pool.pg_num or 0) < len(lie_on.of([name]))
        or lie_on.has_class_of_first_copies(name)
        or tier.rbd.primary_affinity not in (None, 1)
    ):
        return
    key = f'pool {name}'
    yield Advice(
        tier=tier.name,
        aspect=READ_BALANCE,
        current={key: f'read_balance_score {score:.2f}'},
        expected={key: f'less than {LEAST_UNBALANCED}, best 1'},
        reason=(
            'primaries serve all reads of guests, and one OSD has '
            f'{score:.2f} times as many of them as it would have if they '
            'were spread evenly: reads of the tier are as slow as that OSD'
        ),
        remedy=(
            'run "ceph balancer mode upmap-read", or declare more placement '
            'groups'
            if (ceph.release or 0) >= FIRST_WITH_ONLINE_READ_BALANCER
            else 'run "ceph osd getmap -o om" and "osdmaptool om --read '
            f'out --read-pool {name}" and then the commands in the '
            'file out, or declare more placement groups'
        )
        + '; the read balancer needs "ceph osd '
        'set-require-min-compat-client reef", which locks out kernel '
        'clients',
    )


def _two_that_choose_primaries(
    tier: catalogs.CephTier, ceph: ceph_state.CephState
) -> collections.abc.Iterator[Advice]:
    """Yield advice on a read balancer with a declared primary affinity.

    The plan refuses to set a primary affinity while the balancer is on, but
    cannot prevent that the balancer is enabled later.
    """
    yield from _first_copies_that_are_passed_over(tier, ceph)
    device_class, declared = tier.rbd.device_class, tier.rbd.primary_affinity
    if device_class is None or declared is None:
        return
    value = primary_affinity.normal(declared)
    reason = primary_affinity.conflict(ceph, device_class, value)
    if reason:
        yield Advice(
            tier=tier.name,
            aspect=READ_BALANCE,
            current={'primary_affinity': value},
            expected={'primary_affinity': '1, or a read balancer that is off'},
            reason=reason,
            remedy=primary_affinity.REMEDY,
        )


def _first_copies_that_are_passed_over(
    tier: catalogs.CephTier, ceph: ceph_state.CephState
) -> collections.abc.Iterator[Advice]:
    """Yield advice on a balancer that ignores a class of first copies.

    The read balancer gives each OSD of a pool the same number of primaries
    (OSDMap::calc_desired_primary_distribution), regardless of its class.
    """
    first, balancer = tier.rbd.primary_device_class, ceph.read_balancer
    if first is None or balancer is None:
        return
    moved = sum(
        number
        for osd in ceph.osds
        if osd.device_class == tier.rbd.device_class
        for number in (balancer.primaries.get(osd.osd_id, 0),)
    )
    if not balancer.mode and not moved:
        return
    yield Advice(
        tier=tier.name,
        aspect=READ_BALANCE,
        current={
            'balancer mode': balancer.mode or 'off for reads',
            f'primaries chosen among {tier.rbd.device_class} OSDs': str(moved),
        },
        expected={
            'balancer mode': 'one that leaves primaries alone',
            f'primaries chosen among {tier.rbd.device_class} OSDs': '0',
        },
        reason=(
            f'the first copy is on {first} OSDs so that these serve '
            'reads; the read balancer gives all OSDs of a pool the same '
            'number of primaries, including the OSDs of class '
            f'{tier.rbd.device_class}'
        ),
        remedy=primary_affinity.LEAVE_PRIMARIES,
    )


def _numbers(version: str) -> tuple[int, ...]:
    """Return a version as numbers, for comparison.

    >>> _numbers('18.2.7'), _numbers('20.2.4-0ubuntu1')
    ((18, 2, 7), (20, 2, 4))
    """
    return tuple(map(int, re.findall(r'\d+', version)[:3]))


def _unheeded_hint(
    tier: catalogs.CephTier, ceph: ceph_state.CephState
) -> collections.abc.Iterator[Advice]:
    """Yield advice on a compression hint that the data pool ignores."""
    pool = ceph.pools.get(tier.rbd.data_pool)
    if pool is None:
        return
    mode = pool.options.get('compression_mode', pool_options.UNSET)
    needed = rbd_options.unheeded_hint(tier.rbd.rbd_options, mode)
    if needed:
        key = f'compression_mode of pool {pool.name}'
        yield Advice(
            tier=tier.name,
            aspect=COMPRESSION,
            current={key: mode},
            expected={key: needed},
            reason=(
                f'{rbd_options.HINT} '
                f'{tier.rbd.rbd_options[rbd_options.HINT]} has no effect '
                'with another mode'
            ),
            remedy='declare this mode in pool_options, or remove the hint',
        )


def _cache_tier(
    tier: catalogs.CephTier, ceph: ceph_state.CephState
) -> collections.abc.Iterator[Advice]:
    """Yield advice on a cache tier of a Ceph release that deprecates it."""
    front = ceph.cache_tiers.get(tier.rbd.data_pool)
    if (
        front is None
        or ceph.release is None
        or ceph.release < cache_tier.DEPRECATED_SINCE
    ):
        return
    key = f'cache of pool {front.name}'
    yield Advice(
        tier=tier.name,
        aspect=DEPRECATED,
        current={key: f'{front.cache_pool}, on Ceph {ceph.release}'},
        expected={key: 'none'},
        reason=(
            'Ceph deprecated cache tiers in '
            f'{cache_tier.DEPRECATED_SINCE}, no longer tests them, and '
            'may remove them'
        ),
        remedy=(
            'declare a tier on faster OSDs and retype the volumes to it; or '
            'remove cache from the tiers file, and run the commands that '
            '"openstack tier plan" then shows'
        ),
    )


def _options_advice(
    tier: catalogs.Tier,
    current: collections.abc.Mapping[str, str],
    objections: collections.abc.Iterable[str],
    undo: str,
) -> collections.abc.Iterator[Advice]:
    """Yield advice on options in effect that are not known to be safe."""
    if current:
        yield Advice(
            tier=tier.name,
            aspect=OPTIONS,
            current=current,
            expected=dict.fromkeys(
                current, 'a value that is known to be safe'
            ),
            reason='; '.join(dict.fromkeys(objections)),
            remedy=undo,
        )


def _pool_options(
    tier: catalogs.CephTier, ceph: ceph_state.CephState, facts: PracticeFacts
) -> collections.abc.Iterator[Advice]:
    """Yield advice on effective options of pools, declared or not."""
    current, objections = {}, []
    for name in tier.rbd.pools:
        pool = ceph.pools.get(name)
        if pool is None:
            continue
        for option, value, text in safety.of_pool(None, pool):
            # Options in no table are only judged if the tier declares them.
            if (
                option in pool_options.KNOWN
                or option in known_safe.RBD
                or option in tier.rbd.rbd_options
            ):
                current[f'{option} of pool {name}'] = value
                objections.append(text)
        if facts.usage is None or name not in facts.usage.pools:
            continue
        for option in sorted(pool_options.QUOTAS & pool.options.keys()):
            for text in pool_kind.full_quotas(
                dataclasses.replace(pool, options={}),
                dataclasses.replace(
                    pool, options={option: pool.options[option]}
                ),
                facts.usage,
            ):
                current[f'{option} of pool {name}'] = pool.options[option]
                objections.append(text)
    yield from _options_advice(
        tier,
        current,
        objections,
        'declare a value that is known to be safe, or undo it with "ceph osd '
        'pool set", "ceph osd pool set-quota" or "rbd config pool remove"',
    )


def _osd_options(
    tier: catalogs.CephTier, lie_on: pool_osds.PoolOsds, facts: PracticeFacts
) -> collections.abc.Iterator[Advice]:
    """Yield advice on options of the OSDs of a tier, declared or not.

    The values are those in the configuration of the monitors. An option that
    is not in the table, such as the path of a log, is judged only if the tier
    declares it.
    """
    seen: dict[str, dict[int, str]] = {}
    for osd_id in sorted(lie_on.of(tier.rbd.pools)):
        for option, value in facts.osd_options.get(osd_id, {}).items():
            if (
                option in known_safe.OSD
                or option in tier.rbd.osd_options
                or osd_options.ENDANGERS_DATA.fullmatch(option)
            ):
                seen.setdefault(option, {})[osd_id] = value
    current, objections = {}, []
    for option, values in sorted(seen.items()):
        unsafe = {
            osd_id: value
            for osd_id, value in values.items()
            if safety.objection(known_safe.OSD, option, value)
        }
        if unsafe:
            current[option] = osd_options.shown(unsafe)
            objections += [
                safety.objection(known_safe.OSD, option, value) or ''
                for value in unsafe.values()
            ]
    yield from _options_advice(
        tier,
        current,
        objections,
        'declare a value that is known to be safe, or undo it with "ceph '
        'config rm" where "ceph config dump" shows it',
    )


def _limits(
    tier: catalogs.Tier, cinder: cinder_state.CinderState
) -> collections.abc.Iterator[Advice]:
    """Yield advice on limits and quotas that make volumes unusable."""
    current, objections = {}, []
    for spec in cinder.qos_specs.values():
        if tier.type_name in spec.volume_types:
            for key, value, text in safety.of_limits(spec.specs):
                current[f'{key} of QoS spec {spec.name}'] = value
                objections.append(text)
    quota = cinder.quotas.get(tier.type_name)
    if quota is not None:
        for key, text in type_quota.closed(None, quota):
            current[f'default quota of {key}'] = '0'
            objections.append(text)
    yield from _options_advice(
        tier,
        current,
        objections,
        'declare other values in the tiers file and apply it, or change them '
        'in Cinder',
    )
