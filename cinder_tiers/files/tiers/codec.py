# SPDX-License-Identifier: Apache-2.0

"""The tiers file, version 1: one table for its schema, reading and writing.

Each key is here once, with its attribute in the catalog, in the order in which
keys are written. Names, words and bounds are those of `domain.catalog.limits`.
Must not know YAML, nor the rules between tiers.
"""

import dataclasses
import decimal
import typing

from cinder_tiers.domain.catalog import limits
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.resources import erasure_code
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.state import glance as glance_state
from cinder_tiers.domain import units
from cinder_tiers.files.tiers import shapes

VERSION = 1

_NAME = shapes.text(limits.NAME, definition='name')
_POOL = shapes.text(limits.POOL, definition='pool')
_USER = shapes.text(limits.USER, definition='user')
_SWITCH = shapes.flag(definition='switch')
_RATIO = shapes.number(limits.RATIO, kind='number', definition='ratio')
# Only True: a requirement that does not apply is left out.
_REQUIRED = shapes.Constant(
    definition='required',
    value=True,
    means=True,
    expected='true; leave it out if it does not matter',
)
_OPTION = shapes.Scalar(
    definition='option',
    expected=limits.OPTION.expected,
    keywords=shapes.text_keywords(limits.OPTION, 'number', 'boolean'),
)
_OSD_OPTIONS = shapes.MapOf(
    definition='osd_options',
    expected='a mapping of options of OSDs, by their names in Ceph, to values',
    names=shapes.text(limits.OSD_OPTION),
    values=_OPTION,
)
_POOL_NUMBER = shapes.Scalar(
    definition='pool_number',
    expected='a number of 0 or more (in bytes or seconds where Ceph uses '
    f'them), or {pool_options.UNSET}',
    keywords={
        'type': ['number', 'string'],
        'minimum': 0,
        'pattern': shapes.whole(pool_options.UNSET),
    },
)
_RECOVERY_PRIORITY = shapes.Scalar(
    expected=pool_options.RECOVERY_PRIORITY_EXPECTED,
    keywords={
        'type': ['number', 'string'],
        'minimum': limits.RECOVERY_PRIORITY.least,
        'maximum': limits.RECOVERY_PRIORITY.most,
        'multipleOf': 1,
        'pattern': shapes.whole(pool_options.UNSET),
    },
)
_POOL_QUOTA = shapes.Scalar(
    definition='pool_quota',
    expected=f'an integer of 0 or more; {pool_options.NO_QUOTA} for no quota',
    keywords={'type': 'integer', 'minimum': 0},
)
_SCHEDULER = shapes.word(limits.IO_SCHEDULERS)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Size(shapes.Scalar):
    """Bytes; in the file a number, or text with a unit such as 64K."""

    def read(self, value: typing.Any) -> typing.Any:
        return units.size_bytes(str(value))

    def write(self, value: typing.Any) -> typing.Any:
        return f'{value // 1024}K'


_ALLOC_SIZE = _Size(
    expected=f'a power of two from {limits.ALLOC_SIZES[0] // 1024}K to '
    f'{limits.ALLOC_SIZES[-1] // 1024}K',
    keywords={
        # JSON Schema treats 4096.0 as 4096.
        'type': ['integer', 'string'],
        'enum': [
            spelled
            for size in limits.ALLOC_SIZES
            for spelled in (
                size,
                *(f'{size // 1024}{unit}' for unit in ('K', 'Ki', 'KiB')),
            )
        ],
    },
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Bytes(shapes.Scalar):
    """Bytes; in the file a number, or text with a unit such as 4Gi."""

    def read(self, value: typing.Any) -> typing.Any:
        if isinstance(value, str) and value != pool_options.UNSET:
            return units.size_bytes(value)
        return value


_SIZE = '[0-9]{1,6} ?[KMGTP]i?B?'
_SIZE_EXAMPLES = 'a size such as 4G, 4Gi or 4 GiB (units of 1024)'
_POOL_BYTES = _Bytes(
    definition='pool_bytes',
    expected=f'a number of bytes of 0 or more, {_SIZE_EXAMPLES}, or '
    f'{pool_options.UNSET}',
    keywords={
        'type': ['number', 'string'],
        'minimum': 0,
        'pattern': shapes.whole(f'({pool_options.UNSET}|{_SIZE})'),
    },
)
_POOL_QUOTA_BYTES = _Bytes(
    definition='pool_quota_bytes',
    expected=f'an integer of bytes of 0 or more, or {_SIZE_EXAMPLES}; '
    f'{pool_options.NO_QUOTA} for no quota',
    keywords={
        'type': ['integer', 'string'],
        'minimum': 0,
        'pattern': shapes.whole(_SIZE),
    },
)

_POOL_OPTION_MEANINGS = {
    'allow_ec_optimizations': 'Fast erasure coding of Ceph 20 and later, for '
    'erasure coded pools with ``reed_sol_van`` only; Ceph never switches '
    'it off again.',
    'bulk': 'Tells the autoscaler that the pool will be large.',
    'compression_algorithm': 'The algorithm of the compression.',
    'compression_max_blob_size': 'Larger data is split into parts of this '
    'size before it is compressed.',
    'compression_min_blob_size': 'Smaller data is stored as it is.',
    'compression_mode': 'Which writes are compressed: all (``force``), all '
    'but those with the hint ``incompressible`` (``aggressive``), only those '
    'with the hint ``compressible`` (``passive``), or none.',
    'compression_required_ratio': 'Compressed size / size, above which the '
    'data is stored as it is.',
    'csum_max_block': 'The largest block with a checksum of its own.',
    'csum_min_block': 'The smallest block with a checksum of its own.',
    'csum_type': 'The checksums of the data.',
    'deep_scrub_interval': 'Seconds between deep scrubs of a placement group.',
    'fast_read': 'Reads from all chunks and uses the first ``k`` that '
    'arrive, for erasure coded pools only.',
    'nodeep-scrub': 'Stops deep scrubs of the pool.',
    'nodelete': 'Ceph refuses to delete the pool.',
    'nopgchange': 'Ceph refuses another number of placement groups.',
    'noscrub': 'Stops scrubs of the pool.',
    'nosizechange': 'Ceph refuses another ``size`` and ``min_size``.',
    'pg_autoscale_bias': 'Factor by which the autoscaler multiplies its '
    'number of placement groups.',
    'pg_num_max': 'The most placement groups that the autoscaler chooses.',
    'pg_num_min': 'The fewest placement groups that the autoscaler chooses.',
    'quota_max_bytes': 'Bytes at which the pool takes no more writes.',
    'quota_max_objects': 'Objects at which the pool takes no more writes.',
    'recovery_op_priority': 'Priority of recovery operations of the pool in '
    'an OSD.',
    'recovery_priority': 'The pool with the highest number recovers first.',
    'scrub_max_interval': 'Seconds after which a placement group is scrubbed '
    'regardless of the load.',
    'scrub_min_interval': 'Seconds between scrubs of a placement group while '
    'the load is low.',
    'scrub_priority': 'Priority of scrubs of the pool in an OSD.',
    'target_size_bytes': 'Bytes that the pool will hold, for the autoscaler.',
    'target_size_ratio': 'Share of the cluster that the pool will hold, '
    'relative to other pools with a ratio, for the autoscaler.',
    'write_fadvise_dontneed': 'OSDs do not keep in memory what clients wrote.',
}


def _pool_option(name: str) -> shapes.Shape:
    if name in pool_options.BOOLEANS:
        return _SWITCH
    if name in pool_options.IN_BYTES:
        return (
            _POOL_QUOTA_BYTES if name in pool_options.QUOTAS else _POOL_BYTES
        )
    if name in pool_options.QUOTAS:
        return _POOL_QUOTA
    if name == pool_options.RECOVERY_PRIORITY:
        return _RECOVERY_PRIORITY
    if name in pool_options.NUMBERS:
        return _POOL_NUMBER
    return shapes.word((*pool_options.WORDS[name], pool_options.UNSET))


def _cache_setting(name: str) -> shapes.Shape:
    if name in cache_tier.RATIOS:
        return _RATIO
    if name in cache_tier.COUNTS:
        return shapes.number(limits.cache_count(name))
    return shapes.word(cache_tier.HIT_SET_TYPES)


_CACHE_MEANINGS = {
    'hit_set_type': 'How use is recorded; without it '
    f'{cache_tier.DEFAULTS["hit_set_type"]}.',
    'hit_set_count': 'How many records of use are kept; without it '
    f'{cache_tier.DEFAULTS["hit_set_count"]}.',
    'hit_set_period': 'Seconds that each record covers; without it '
    f'{cache_tier.DEFAULTS["hit_set_period"]}.',
    'target_max_bytes': 'Bytes in the cache, copies not counted, to which '
    'the ratios refer.',
    'target_max_objects': 'Objects in the cache, copies not counted, to '
    'which the ratios refer.',
    'cache_target_dirty_ratio': 'Share of dirty data at which Ceph begins to '
    'flush.',
    'cache_target_dirty_high_ratio': 'Share of dirty data at which Ceph '
    'flushes faster, not below ``cache_target_dirty_ratio``.',
    'cache_target_full_ratio': 'Share of all data at which Ceph begins to '
    'evict, not below the two others.',
    'cache_min_flush_age': 'Seconds for which an object stays before it is '
    'flushed.',
    'cache_min_evict_age': 'Seconds for which an object stays before it is '
    'evicted.',
    'min_read_recency_for_promote': 'In how many of the latest records an '
    'object must be before a read brings it into the cache; 0: always.',
    'min_write_recency_for_promote': 'In how many of the latest records an '
    'object must be before a write brings it into the cache; 0: always.',
}

# Settings of a cache that belong together stand together in messages.
_CACHE_GROUPS = ('hit_set_', 'target_', 'cache_target_', 'cache_min_', 'min_')


def _in_groups(names: frozenset[str]) -> list[str]:
    """Return the settings of a cache by group, in the order of `cache_tier`.

    Settings without a group come last.
    """
    counted = (*cache_tier.COUNTS, *cache_tier.RATIOS)
    in_order = (*sorted(names.difference(counted)), *counted)

    def group(name: str) -> int:
        return next(
            (
                number
                for number, prefix in enumerate(_CACHE_GROUPS)
                if name.startswith(prefix)
            ),
            len(_CACHE_GROUPS),
        )

    return sorted(in_order, key=group)


_CLUSTER = shapes.Record(
    kind=catalogs.Cluster,
    definition='cluster',
    expected='a mapping of cluster settings; {} for all defaults',
    fields=(
        shapes.field(
            'conf',
            shapes.text(limits.CONF),
            'The ``ceph.conf`` of the cluster; without it '
            '``$CEPH_CONF``, then ``/etc/ceph/ceph.conf``, '
            "as for Ceph's own tools.",
        ),
        shapes.field(
            'user', _USER, 'The cephx user of ``plan`` and ``apply``.'
        ),
        shapes.field(
            'cinder_user',
            _USER,
            "The cephx user of cinder-volume and of Nova's "
            'libvirt, which ``apply`` creates and grants the '
            'pools of the tiers; with other capabilities it '
            'needs ``--allow`` once, and users of Ceph itself '
            'are refused.',
        ),
        shapes.field(
            'images_pool',
            _POOL,
            "Glance's pool, which must exist; "
            '``cinder_user`` may read it, so that volumes '
            'can be clones.',
        ),
        shapes.field(
            'secret_uuid',
            shapes.text(limits.SECRET_UUID),
            'The libvirt secret for ``backend-config``; '
            'without it that of ``--rbd-secret-uuid`` or '
            '``$CINDER_TIERS_RBD_SECRET_UUID``.',
        ),
        shapes.field(
            'host_osd_options',
            shapes.MapOf(
                expected='a mapping of CRUSH hosts to options of their OSDs',
                names=shapes.text(limits.HOST),
                values=_OSD_OPTIONS,
            ),
            'Options of all OSDs below a CRUSH host, for '
            'hosts that differ from the others.',
        ),
    ),
)

_COPIES = shapes.number(limits.COPIES, more=' copies')
_UNPROTECTED_WRITES = shapes.field(
    'unprotected_writes',
    shapes.flag(
        'true or false; true accepts a min_size with which a write may be '
        'lost with one disk'
    ),
    'Confirms a ``min_size`` with which a write may '
    'be lost with one disk: 1 of several copies, or '
    '``k`` chunks.',
)
_REPLICATED = shapes.Record(
    kind=catalogs.Replicated,
    definition='replicated',
    expected='a mapping with size and, optionally, min_size, single_copy, '
    'unprotected_writes, replicas_per_failure_domain and sub_failure_domain',
    required=('size',),
    fields=(
        shapes.field('size', _COPIES, 'Copies.'),
        shapes.field(
            'min_size',
            _COPIES,
            'Copies that must be available for I/O, at most '
            '``size``; without it a safe value stays, and a '
            'new pool gets half of ``size``, rounded up, but '
            'at least 2.',
        ),
        shapes.field(
            'single_copy',
            shapes.flag(
                'true or false; true accepts size 1, which loses data with '
                'the first failed disk'
            ),
            'Confirms a ``size`` of 1; refused with a larger ``size``.',
        ),
        _UNPROTECTED_WRITES,
        shapes.field(
            'replicas_per_failure_domain',
            shapes.number(
                limits.COPIES_PER_FAILURE_DOMAIN,
                more=' copies in each failure domain',
            ),
            'Copies in each failure domain, together with '
            '``sub_failure_domain``; without both, each copy '
            'has a failure domain of its own.',
        ),
        shapes.field(
            'sub_failure_domain',
            shapes.text(limits.SUB_FAILURE_DOMAIN),
            'The CRUSH bucket type that separates the copies '
            'within a failure domain.',
        ),
    ),
)
_ERASURE_CODED = shapes.Record(
    kind=catalogs.ErasureCoded,
    expected='a mapping with k and m and, optionally, min_size, '
    'unprotected_writes, plugin, technique, stripe_unit_bytes, '
    'failure_domains and osds_per_failure_domain',
    required=('k', 'm'),
    fields=(
        shapes.field(
            'k',
            shapes.number(limits.DATA_CHUNKS, more=' data chunks'),
            'Data chunks.',
        ),
        shapes.field(
            'm',
            shapes.number(limits.CODING_CHUNKS, more=' coding chunks'),
            'Coding chunks, at most ``k``; as many chunks may be lost.',
        ),
        shapes.field(
            'min_size',
            shapes.number(limits.CHUNKS, more=' chunks'),
            'Chunks that must be available for I/O, from '
            '``k`` to ``k + m``; without it the value stays, '
            'and a new pool gets ``k + 1``.',
        ),
        _UNPROTECTED_WRITES,
        shapes.field(
            'plugin',
            shapes.word(tuple(erasure_code.TECHNIQUES)),
            'The plugin that computes the chunks; without it '
            "Ceph's default, ``jerasure`` before Ceph 20 and "
            '``isa`` since.',
        ),
        shapes.field(
            'technique',
            shapes.word(erasure_code.ALL_TECHNIQUES),
            'The technique of ``plugin``, which it needs; '
            'without it ``reed_sol_van``, with which ``isa`` '
            'has an ``m`` up to 4. ``jerasure`` has all but '
            '``cauchy``, and ``reed_sol_r6_op`` an ``m`` of 2; '
            '``isa`` has ``reed_sol_van`` and ``cauchy``.',
        ),
        shapes.field(
            'stripe_unit_bytes',
            shapes.Scalar(
                expected='a multiple of 4096 (bytes) from '
                f'{limits.STRIPE_UNIT_BYTES.least} to '
                f'{limits.STRIPE_UNIT_BYTES.most}',
                keywords={
                    'type': 'integer',
                    'minimum': limits.STRIPE_UNIT_BYTES.least,
                    'maximum': limits.STRIPE_UNIT_BYTES.most,
                    'multipleOf': limits.STRIPE_UNIT_BYTES.least,
                },
            ),
            'Bytes of an image in one data chunk before the '
            'next one is used; without it Ceph uses 4096, and '
            'recommends 16384 for ``allow_ec_optimizations``. '
            'With a Cauchy technique of ``jerasure``, a '
            'multiple of 65536.',
        ),
        shapes.field(
            'failure_domains',
            shapes.number(limits.FAILURE_DOMAINS, more=' failure domains'),
            'Failure domains over which the chunks are '
            'spread, together with '
            '``osds_per_failure_domain``; without both, each '
            'chunk has one of its own.',
            attribute='num_failure_domains',
        ),
        shapes.field(
            'osds_per_failure_domain',
            shapes.number(
                limits.CHUNKS_PER_FAILURE_DOMAIN,
                more=' OSDs in each failure domain',
            ),
            'Chunks, each on an OSD of its own, that may '
            'share a failure domain; at most ``m``.',
        ),
    ),
)
# Values in place of invalid ones that were reported already.
_STAND_INS = {'protection': catalogs.Replicated(size=3)}
_POOL_FIELDS = (
    shapes.field(
        'pool',
        _POOL,
        'Name of the pool, which no other tier has, and '
        'which is not ``images_pool``.',
    ),
    shapes.field(
        'device_class',
        shapes.text(limits.DEVICE_CLASS, definition='device_class'),
        'The class of the OSDs of the pool, of which the '
        'cluster must have one; without it OSDs of every '
        "class hold the pool, as with Ceph's own "
        '``replicated_rule``.',
    ),
    shapes.field(
        'crush_root',
        shapes.text(limits.CRUSH_ROOT, definition='crush_root'),
        'The CRUSH root, or another bucket such as a rack, '
        'below which the OSDs of the pool are; the cluster '
        'must have an OSD there.',
    ),
    shapes.field(
        'failure_domain',
        shapes.text(limits.FAILURE_DOMAIN, definition='failure_domain'),
        'The CRUSH bucket type over which copies or chunks are spread.',
    ),
    shapes.field(
        'pg_num',
        shapes.number(
            limits.PG_NUM, more=', a power of two', definition='pg_num'
        ),
        'Number of placement groups, with which ``apply`` '
        "switches Ceph's autoscaler off for the pool; "
        'without it the autoscaler chooses.',
    ),
    shapes.field(
        'replicated',
        _REPLICATED,
        'Whole copies of each object.',
        attribute='protection',
    ),
)


def _make_cache(
    *, mode: str, stale_reads: bool, settings: dict, **pool: typing.Any
) -> catalogs.Cache:
    """Return a cache; its cluster is set when the tier is read."""
    return catalogs.Cache(
        rbd=catalogs.RbdPool(cluster='', **pool),
        mode=mode,
        stale_reads=stale_reads,
        settings=dict(sorted(settings.items())),
    )


def _take_cache(cache: catalogs.Cache) -> dict[str, object]:
    return {**vars(cache.rbd), **vars(cache)}


_CACHE = shapes.Record(
    kind=catalogs.Cache,
    definition='cache',
    expected='a mapping that describes a cache tier in front of the pool '
    'with the data',
    required=('pool', 'mode', 'replicated'),
    stand_ins=_STAND_INS,
    fields=(
        *_POOL_FIELDS,
        shapes.field(
            'mode',
            shapes.word(tuple(cache_tier.SAFE_MODES_BEFORE)),
            '``writeback``: clients read and write the '
            'cache, and Ceph moves out what is not used; '
            '``readonly``: clients write to the pool behind '
            'it, and objects in the cache are not refreshed.',
        ),
        shapes.field(
            'stale_reads',
            shapes.flag(
                'true or false; true accepts mode '
                f'{cache_tier.READONLY}, which may serve stale data'
            ),
            'Confirms the mode ``readonly``, which may serve '
            'stale data; refused for ``writeback``.',
        ),
        shapes.field(
            None,
            shapes.Settings(
                expected='settings of a cache',
                known={
                    name: _cache_setting(name)
                    for name in _in_groups(cache_tier.KNOWN)
                },
                meanings=_CACHE_MEANINGS,
            ),
            attribute='settings',
        ),
    ),
    more_defaults=lambda cache: {
        'device_class': catalogs.RbdPool.device_class,
        'crush_root': catalogs.RbdPool.crush_root,
        'failure_domain': catalogs.RbdPool.failure_domain,
        'pg_num': catalogs.RbdPool.pg_num,
        'stale_reads': catalogs.Cache.stale_reads,
    },
    make=_make_cache,
    take=_take_cache,
)


def _make_rbd(
    *, cache: catalogs.Cache | None = None, **attributes: typing.Any
) -> catalogs.RbdPool:
    if cache is not None:
        cache = dataclasses.replace(
            cache,
            rbd=dataclasses.replace(cache.rbd, cluster=attributes['cluster']),
        )
    return catalogs.RbdPool(cache=cache, **attributes)


_RBD = shapes.Record(
    kind=catalogs.RbdPool,
    definition='rbd',
    expected='a mapping that describes the Ceph pool of the tier',
    required=('cluster', 'pool'),
    one_of=('replicated', 'erasure_coded'),
    stand_ins=_STAND_INS,
    fields=(
        shapes.field(
            'cluster',
            shapes.any_text('a name under clusters'),
            'The Ceph cluster of the pool.',
        ),
        *_POOL_FIELDS,
        shapes.field(
            'primary_device_class',
            shapes.text(limits.PRIMARY_DEVICE_CLASS),
            'The class of the OSD with the first copy, from '
            'which clients read; without it ``device_class``.',
        ),
        shapes.field(
            'erasure_coded',
            _ERASURE_CODED,
            'Data and coding chunks in place of copies.',
            attribute='protection',
        ),
        shapes.field(
            'data_pool',
            _POOL,
            'Name of the erasure coded pool of a tier with '
            '``erasure_coded``; without it ``<pool>-data``.',
            attribute='data_pool_name',
        ),
        shapes.field(
            'pool_options',
            shapes.Settings(
                expected='settings of the pool that holds the data, by their '
                'names in Ceph',
                known={
                    name: _pool_option(name)
                    for name in sorted(pool_options.KNOWN)
                },
                meanings=_POOL_OPTION_MEANINGS,
            ),
            'Settings of the pool that holds the data.',
            attribute='options',
        ),
        shapes.field(
            'osd_options',
            _OSD_OPTIONS,
            'Options of the OSDs of ``device_class``, by '
            'their names in ``ceph config set``.',
        ),
        shapes.field(
            'primary_affinity',
            _RATIO,
            'Primary affinity of each OSD of '
            '``device_class``, with at most four decimals.',
        ),
        shapes.field(
            'osd_requirements',
            shapes.Record(
                kind=catalogs.Requirements,
                definition='osd_requirements',
                expected='a mapping of required properties of the OSDs of '
                'the device class, at least one',
                not_empty=True,
                fields=(
                    shapes.field(
                        'object_store',
                        shapes.word(limits.OBJECT_STORES),
                        'The object store of the OSD.',
                    ),
                    shapes.field(
                        'rotational',
                        _SWITCH,
                        'Whether the data disk is rotational.',
                    ),
                    shapes.field(
                        'file_system',
                        shapes.word(limits.FILE_SYSTEMS),
                        'The file system under FileStore.',
                    ),
                    shapes.field(
                        'fast_db',
                        _REQUIRED,
                        'The database of BlueStore has a disk of its own '
                        'that is not rotational.',
                    ),
                    shapes.field(
                        'fast_wal',
                        _REQUIRED,
                        'The write-ahead log of BlueStore has such a '
                        'disk, or lies with a database that has one.',
                    ),
                    shapes.field(
                        'fast_journal',
                        _REQUIRED,
                        'The journal of FileStore has such a disk.',
                    ),
                    shapes.field(
                        'io_scheduler',
                        shapes.ListOf(
                            expected=f'{_SCHEDULER.expected}, or a list of '
                            'different ones',
                            items=_SCHEDULER,
                            min_items=1,
                            alone=f'({"|".join(limits.IO_SCHEDULERS)})',
                            alone_is_item=True,
                        ),
                        'The Linux I/O scheduler; each data disk must '
                        'use one of these.',
                    ),
                    shapes.field(
                        'alloc_size',
                        _ALLOC_SIZE,
                        'The unit in which BlueStore allocates on the data '
                        'disk since the OSD was created '
                        '(``bluestore_min_alloc_size``); until Ceph 15 it '
                        'was 64K on rotational disks, which wastes space '
                        'in erasure coded pools.',
                        attribute='alloc_size_bytes',
                    ),
                    shapes.field(
                        'rocksdb_compression',
                        shapes.word(limits.ROCKSDB_COMPRESSIONS),
                        'How the database of BlueStore compresses, by '
                        '``bluestore_rocksdb_options`` and '
                        '``bluestore_rocksdb_options_annex`` since the OSD '
                        'started: by default ``none`` in Ceph 16.2.15, '
                        '``lz4`` in 18.2.7 and 20.2.4. What is stored '
                        'already is compressed by ``ceph tell osd.N '
                        'compact``.',
                    ),
                ),
            ),
            'Properties that the OSDs of ``device_class`` '
            'must have, which no command sets.',
        ),
        shapes.field(
            'rbd_options',
            shapes.MapOf(
                expected='options of librbd, by their names, for all clients '
                'of the pool',
                names=shapes.text(limits.RBD_OPTION),
                values=_OPTION,
            ),
            'Options of librbd for all clients of the pool, '
            'by their names in ``rbd config pool set``.',
        ),
        shapes.field(
            'cache',
            _CACHE,
            'A Ceph cache tier in front of the pool that holds the data.',
        ),
    ),
    make=_make_rbd,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _QosLimit(shapes.Scalar):
    """Text for Cinder; in the file a number if it means the same text."""

    def read(self, value: typing.Any) -> typing.Any:
        # Cinder keeps text, so 500 and "500" are the same.
        return str(value)

    def write(self, value: typing.Any) -> typing.Any:
        is_number = (
            value.isascii()
            and value.isdecimal()
            and len(value) < 20
            and int(value) in limits.INTEGER
            and str(int(value)) == value
        )
        return int(value) if is_number else value


_QOS_SPECS = shapes.MapOf(
    definition='qos_specs',
    expected='a mapping of keys of a QoS spec, such as total_iops_sec, to '
    'values, at least one',
    not_empty=True,
    names=shapes.text(limits.QOS_KEY),
    values=_QosLimit(
        expected=limits.QOS_LIMIT.expected,
        keywords={
            **shapes.text_keywords(limits.QOS_LIMIT, 'integer'),
            'minimum': limits.INTEGER.least,
            'maximum': limits.INTEGER.most,
        },
    ),
)
_QUOTA = shapes.number(
    limits.QUOTA,
    definition='quota',
    expected=f'an integer from 0 to {limits.QUOTA.most}, or '
    f'{limits.QUOTA.least} for unlimited',
)
_ENCRYPTION = shapes.Record(
    kind=catalogs.Encryption,
    expected='a mapping with provider, and cipher, key_size_bits, '
    'control_location or some of them',
    required=('provider',),
    fields=(
        shapes.field(
            'provider',
            shapes.text(limits.ENCRYPTION_PROVIDER),
            'The format, such as ``luks``.',
        ),
        shapes.field(
            'cipher',
            shapes.text(limits.CIPHER),
            'The cipher, such as ``aes-xts-plain64``; '
            'without it Cinder chooses.',
        ),
        shapes.field(
            'key_size_bits',
            shapes.number(limits.KEY_SIZE_BITS, more=' bits'),
            'Size of the key, such as 256; without it Cinder chooses.',
        ),
        shapes.field(
            'control_location',
            shapes.word(limits.CONTROL_LOCATIONS),
            '``front-end``: the hypervisor encrypts; '
            '``back-end``: the storage does.',
        ),
    ),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Price(shapes.Scalar):
    """A decimal number; in the file a number, or text with more digits."""

    def read(self, value: typing.Any) -> typing.Any:
        # The shortest text of a float is what was typed; + 0 of -0 is 0.
        return decimal.Decimal(str(value)) + 0

    def write(self, value: typing.Any) -> typing.Any:
        if value == value.to_integral_value():
            return int(value)
        plain = float(value)
        return plain if self.read(plain) == value else f'{value:f}'


_PRICE = _Price(
    definition='price',
    expected=limits.PRICE_TEXT.expected,
    keywords={
        **shapes.text_keywords(limits.PRICE_TEXT, 'number'),
        'minimum': limits.PRICE.least,
        'maximum': limits.PRICE.most,
    },
)
_COST = shapes.Record(
    kind=catalogs.TierCost,
    expected='a mapping with currency, per_gib_month and, optionally, '
    'per_1000_iops_month',
    required=('currency', 'per_gib_month'),
    fields=(
        shapes.field(
            'currency',
            shapes.text(limits.CURRENCY),
            'The currency of the prices, which is shown behind them.',
        ),
        shapes.field(
            'per_gib_month',
            _PRICE,
            f'Price of a GiB for a month of {catalogs.HOURS_OF_MONTH} hours.',
        ),
        shapes.field(
            'per_1000_iops_month',
            _PRICE,
            'Price of 1,000 IOPS of the limits of volumes for such a month; '
            'without it IOPS have no price of their own.',
        ),
    ),
)
_TIER = shapes.Record(
    kind=catalogs.Tier,
    definition='tier',
    expected='a mapping of tier settings',
    fields=(
        shapes.field(
            'take_over',
            shapes.flag(
                'true or false; false: the volume type exists, is not '
                'managed, and is left alone'
            ),
            '``false`` leaves alone an existing volume type '
            'that is not managed.',
        ),
        shapes.field(
            'volume_type',
            shapes.text(limits.TYPE_NAME),
            'Name of the volume type, for one that cannot be '
            'the name of a tier, such as ``Super Fast (EU)``; '
            'before you change it, rename the type with '
            '``openstack volume type set --name NEW OLD``.',
            attribute='volume_type_name',
        ),
        shapes.field(
            'description',
            shapes.text(limits.DESCRIPTION),
            'Description of the volume type; without it the '
            'present one stays.',
        ),
        shapes.field(
            'tags',
            shapes.ListOf(
                expected='a list of image tags',
                items=shapes.text(limits.TAG),
                # The rules of tags also report tags that only look different.
                unique=False,
            ),
            'Image tags that select this tier; a tag belongs '
            'to one tier only, and has no comma.',
        ),
        shapes.field(
            'priority',
            shapes.number(limits.PRIORITY, more='; the highest wins'),
            'Decides when an image has tags of several tiers; '
            'no two tiers with tags have the same, so only one '
            'of them can leave it out.',
        ),
        shapes.field(
            'fallback',
            shapes.flag(),
            'Whether the tier serves blank volumes and those '
            'of untagged images.',
        ),
        shapes.field(
            'overflow',
            shapes.any_text('the name of another tier'),
            'The tier that may take a volume when this one has '
            'no room; without it such a create is refused. The '
            'overflow of that tier does not count for it, and '
            'a loop is refused.',
        ),
        shapes.field(
            'access',
            shapes.ListOf(
                expected=f'{catalogs.PUBLIC}, or a list of different projects '
                '(names or IDs)',
                items=shapes.text(limits.PROJECT),
                alone=catalogs.PUBLIC,
            ),
            'The projects that may use the tier, by default all; with a list '
            'the volume type is private, and ``[]`` leaves it to '
            'administrators.',
        ),
        shapes.field(
            'default_for',
            shapes.ListOf(
                expected='a list of different projects (names or IDs), of '
                'which the volume type is the default type',
                items=shapes.text(limits.PROJECT),
            ),
            'Projects whose default type is the volume type of the tier.',
        ),
        shapes.field(
            'qos',
            shapes.Record(
                kind=catalogs.Qos,
                expected='a mapping with front_end, back_end or both',
                not_empty=True,
                fields=(
                    shapes.field(
                        'name',
                        shapes.text(limits.QOS_NAME),
                        'Name of the QoS spec, for one that exists; '
                        'without it ``tier-<name of the tier>``.',
                    ),
                    shapes.field(
                        'front_end',
                        _QOS_SPECS,
                        'Keys and values that the hypervisor enforces.',
                    ),
                    shapes.field(
                        'back_end',
                        _QOS_SPECS,
                        'Keys and values that the storage driver enforces.',
                    ),
                ),
            ),
            'Limits of each volume.',
        ),
        shapes.field(
            'quotas',
            shapes.Record(
                kind=catalogs.Quotas,
                expected='a mapping with volumes, gigabytes, snapshots or '
                'some of them',
                not_empty=True,
                fields=(
                    shapes.field(
                        'volumes', _QUOTA, 'Volumes of the tier in a project.'
                    ),
                    shapes.field(
                        'gigabytes',
                        _QUOTA,
                        'GiB of its volumes and snapshots in a project.',
                        attribute='size_gib',
                    ),
                    shapes.field(
                        'snapshots',
                        _QUOTA,
                        'Snapshots of its volumes in a project.',
                    ),
                ),
            ),
            'Limits of each project; without them the present ones stay.',
        ),
        shapes.field(
            'encryption',
            _ENCRYPTION,
            'Encryption of the volumes; without it the present one stays.',
        ),
        shapes.field(
            'expect',
            shapes.MapOf(
                expected='a mapping of at least one fio pattern name to '
                'limits',
                not_empty=True,
                names=shapes.text(limits.FIO_PATTERN),
                values=shapes.MapOf(
                    definition='limits',
                    expected='a mapping of limits to numbers, at least one',
                    not_empty=True,
                    names=shapes.text(limits.EXPECTATION),
                    values=shapes.Scalar(
                        expected='a number greater than 0',
                        keywords={'type': 'number', 'exclusiveMinimum': 0},
                    ),
                ),
            ),
            'What a measurement in guests must find, by fio pattern.',
        ),
        shapes.field(
            'cost',
            _COST,
            'Price of the tier, for ``usage`` and ``recommend``.',
        ),
        shapes.field(
            'backend',
            shapes.text(limits.BACKEND),
            'Existing storage of any driver, by its '
            '``volume_backend_name`` in ``cinder.conf``; '
            'with ``rbd``, the backend that already serves '
            'this pool.',
            attribute='backend_name',
        ),
        shapes.field(
            'extra_specs',
            shapes.MapOf(
                expected='a mapping of extra specs of the volume type',
                names=shapes.text(limits.EXTRA_SPEC_KEY),
                values=shapes.text(limits.EXTRA_SPEC),
            ),
            'More extra specs of the volume type, such as '
            'those that drivers read.',
        ),
        shapes.field(
            'rbd', _RBD, 'A Ceph pool that ``apply`` creates or adopts.'
        ),
    ),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Include(shapes.ListOf):
    """Included files, which `includes` has read before the catalog is made."""

    def is_of(self, value: object) -> bool:
        """Return False: nothing is written."""
        return False


#: The whole file.
CATALOG = shapes.Record(
    kind=catalogs.Catalog,
    expected='a mapping with version, tiers and, for tiers with rbd, clusters',
    required=('version', 'tiers'),
    stand_ins={'tiers': ()},
    fields=(
        shapes.Field(
            key='version',
            attribute=None,
            shape=shapes.Constant(
                expected=f'the version of this format, {VERSION}',
                value=VERSION,
            ),
            meaning='Format of the file.',
        ),
        shapes.Field(
            key='include',
            attribute=None,
            shape=_Include(
                expected=limits.INCLUDE.expected,
                items=shapes.text(limits.INCLUDE),
                min_items=1,
            ),
            meaning='Files that this one includes, and may override in parts.',
        ),
        shapes.field(
            'follow_image_types',
            shapes.ListOf(
                expected='a list of different volume types that follow the '
                "image; Cinder's default type should be one of "
                'them',
                items=shapes.text(limits.TYPE_NAME),
            ),
            'Volume types that follow the image.',
        ),
        shapes.field(
            'fallback',
            shapes.Constant(
                expected='none: no tier serves untagged images and blank '
                "volumes; they get Cinder's default type",
                value='none',
                means=True,
            ),
            'No tier serves untagged images and blank volumes, which get '
            "Cinder's default type; excludes ``fallback: true`` in a tier.",
            attribute='without_fallback',
        ),
        shapes.field(
            'publish_tags',
            shapes.flag(),
            'Whether Glance shows everybody the tags of public tiers, in the '
            f'namespace ``{glance_state.NAMESPACE}``; without it, Glance is '
            'not asked.',
        ),
        shapes.field(
            'clusters',
            shapes.Named(
                expected='the Ceph clusters by name, at least one',
                not_empty=True,
                names=_NAME,
                values=_CLUSTER,
            ),
            'Ceph clusters by a name of your choice; tiers '
            'with ``rbd`` need one.',
        ),
        shapes.field(
            'tiers',
            shapes.Named(
                expected='the tiers by name; {} for none',
                names=_NAME,
                values=_TIER,
                in_tuple=True,
            ),
            'Tiers by name, which is the name of the volume type as well.',
        ),
    ),
    more_defaults=lambda catalog: {'clusters': {}},
)


def schema() -> dict[str, object]:
    """Return the JSON schema (draft 2020-12) of a tiers file."""
    definitions: shapes.Definitions = {}
    described = CATALOG.schema(definitions)
    return {
        '$schema': 'https://json-schema.org/draft/2020-12/schema',
        'title': f'Storage tiers file (cinder-tiers), version {VERSION}',
        **described,
        '$defs': dict(sorted(definitions.items())),
    }


def read(
    value: dict[str, object], *, source: catalogs.CatalogSource
) -> catalogs.Catalog:
    """Return the catalog of plain values.

    :param value: values that are valid by the schema, or lack invalid parts.
    :param source: places of the values in the file.
    """
    return CATALOG.read(value, source=source)


def write(catalog: catalogs.Catalog) -> dict[str, object]:
    """Return the plain values of a catalog, without its defaults.

    :param catalog: sound catalog.
    """
    return CATALOG.write(catalog)
