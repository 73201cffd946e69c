# SPDX-License-Identifier: Apache-2.0

"""Options and values that are known to be safe.

Other options and values need consent (`safety`). Ranges are for Ceph 16.2.15,
18.2.7 and 20.2.4. They lie around the defaults and within the bounds of `ceph
config help` (src/common/options/*.yaml.in); they are as wide as
doc/rados/configuration (osd-config-ref, bluestore-config-ref,
mclock-config-ref), doc/rbd/rbd-config-ref and doc/rados/operations/pools
recommend; and they include all values of the sweeps in etc/cinder-tiers and of
the papers that these repeat. Numbers are in the unit of the option: bytes for
a size, else seconds or counts. Pure, and only data.
"""

import collections.abc
import dataclasses
import itertools
import types


@dataclasses.dataclass(frozen=True, kw_only=True)
class Safe:
    """Values of an option that are known to be safe."""

    #: Ends of a range of numbers; None if only words are safe.
    least: float | None = None
    most: float | None = None
    #: Safe words, also outside the range; without a range and words, any value
    #: is safe.
    words: tuple[str, ...] = ()
    #: Whether the numbers are bytes.
    in_bytes: bool = False
    #: Harm of other values, as a clause.
    beyond: str


def _range(least: float, most: float, beyond: str, *words: str) -> Safe:
    return Safe(least=least, most=most, words=words, beyond=beyond)


def _bytes(least: int, most: int, beyond: str, *words: str) -> Safe:
    return Safe(
        least=least, most=most, words=words, beyond=beyond, in_bytes=True
    )


def _word(beyond: str, *words: str) -> Safe:
    return Safe(words=words, beyond=beyond)


#: End of a range without an upper bound.
UNBOUNDED = 2**63 - 1

_KI, _MI, _GI = 2**10, 2**20, 2**30
_HOUR_S, _DAY_S = 3600, 86400
_BOTH = ('false', 'true')

#: Below that, guests wait minutes for what one slow disk does in seconds, and
#: a full queue of 256 requests of 128 KiB waits longer than the 30 s after
#: which kernels give up on a SCSI command.
LEAST_IOPS, LEAST_BYTES_S = 50, 10**6
#: Room that a quota leaves: the smallest volume of Cinder, and as many RBD
#: objects; and the part of a quota that is used when Ceph calls an OSD nearly
#: full (mon_osd_nearfull_ratio).
LEAST_ROOM_BYTES, LEAST_ROOM_OBJECTS = _GI, 256
NEARLY_FULL = 0.85

_RECOVERY = (
    'with too little, data stays degraded until more disks fail; with too '
    'much, guests wait for recovery'
)
_PRIORITY = 'guests or recovery would starve'
_TRIM = 'space of deleted data is freed too late, or guests wait for it'
_SCRUB_OFTEN = (
    'too seldom, damaged copies are found when the last good one is lost; '
    'too often, guests wait for it'
)
_SCRUB_PACE = (
    'too slowly, scrubs never finish, and damaged data is not found; too '
    'fast, writes wait for them'
)
_QUEUES = 'OSDs would hold back guest I/O, or run out of memory'
_THREADS = 'OSDs would do almost nothing at once, or run out of threads'
_MEMORY = (
    'OSDs would read metadata from disk all the time, or be killed for lack '
    'of memory'
)
_ERRORS = 'writes and reads of guests would fail with I/O errors'
_LOST = 'objects would be given up that a disk still has'
_CHECKSUM = 'damaged data would be read as if it were sound'
_COMPRESSION = 'compression would waste space or CPU'
_CACHE_FLUSH = 'the cache tier would fill up, or starve guests'
_HISTORY = 'OSDs would hold too much in memory, or nothing to look at'
_HIDDEN = 'slow requests would no longer be reported'
_FLAPPING = (
    'OSDs would mark each other down without need, or guests wait long for '
    'one that has failed'
)
_SUICIDE = 'OSDs would kill themselves under load, or hang for ever'
_MAPS = 'OSDs would not keep up with changes of the cluster'
_FULL = 'disks would fill up until OSDs cannot start again'
_FIXED = (
    'it counts for OSDs that are created from now on, which cannot be undone'
)
_PLAUSIBLE = 'shares of mClock would follow from a wrong figure'
_FILESTORE = 'FileStore would hold back guest I/O, or run out of memory'

#: {option of OSDs: safe values}
OSD: collections.abc.Mapping[str, Safe] = types.MappingProxyType(
    {
        # Recovery and backfill.
        'osd_max_backfills': _range(1, 16, _RECOVERY),
        # 0: the next two count.
        'osd_recovery_max_active': _range(0, 32, _RECOVERY),
        'osd_recovery_max_active_hdd': _range(1, 32, _RECOVERY),
        'osd_recovery_max_active_ssd': _range(1, 32, _RECOVERY),
        'osd_recovery_max_single_start': _range(1, 8, _RECOVERY),
        'osd_recovery_max_chunk': _bytes(_MI, 64 * _MI, _RECOVERY),
        'osd_recovery_op_priority': _range(1, 63, _PRIORITY),
        'osd_recovery_priority': _range(1, 63, _PRIORITY),
        'osd_client_op_priority': _range(32, 63, _PRIORITY),
        **{
            f'osd_recovery_sleep{degraded}{medium}': _range(0, 2, _RECOVERY)
            for degraded, medium in itertools.product(
                ('', '_degraded'), ('', '_hdd', '_hybrid', '_ssd')
            )
        },
        'osd_backfill_retry_interval': _range(5, 300, _RECOVERY),
        'osd_recovery_retry_interval': _range(5, 300, _RECOVERY),
        'osd_min_recovery_priority': _range(0, 0, _RECOVERY),
        'osd_recovery_delay_start': _range(0, 60, _RECOVERY),
        # Deletion.
        **{
            f'osd_{what}_sleep{medium}': _range(0, 10, _TRIM)
            for what, medium in itertools.product(
                ('delete', 'snap_trim'), ('', '_hdd', '_hybrid', '_ssd')
            )
        },
        'osd_pg_max_concurrent_snap_trims': _range(1, 8, _TRIM),
        'osd_max_trimming_pgs': _range(1, 8, _TRIM),
        'osd_snap_trim_priority': _range(1, 63, _PRIORITY),
        'osd_pg_delete_priority': _range(1, 63, _PRIORITY),
        # Scrubbing.
        'osd_max_scrubs': _range(1, 8, _SCRUB_PACE),
        'osd_scrub_begin_hour': _range(0, 23, _SCRUB_OFTEN),
        'osd_scrub_end_hour': _range(0, 23, _SCRUB_OFTEN),
        'osd_scrub_begin_week_day': _range(0, 6, _SCRUB_OFTEN),
        'osd_scrub_end_week_day': _range(0, 6, _SCRUB_OFTEN),
        'osd_scrub_load_threshold': _range(0.1, 20, _SCRUB_OFTEN),
        'osd_scrub_min_interval': _range(_HOUR_S, 7 * _DAY_S, _SCRUB_OFTEN),
        'osd_scrub_max_interval': _range(_DAY_S, 28 * _DAY_S, _SCRUB_OFTEN),
        'osd_deep_scrub_interval': _range(_DAY_S, 35 * _DAY_S, _SCRUB_OFTEN),
        'osd_scrub_interval_randomize_ratio': _range(0, 1, _SCRUB_OFTEN),
        'osd_deep_scrub_interval_cv': _range(0, 0.4, _SCRUB_OFTEN),
        'osd_scrub_during_recovery': _word(_PRIORITY, *_BOTH),
        'osd_scrub_chunk_min': _range(1, 25, _SCRUB_PACE),
        'osd_scrub_chunk_max': _range(5, 50, _SCRUB_PACE),
        'osd_deep_scrub_stride': _bytes(128 * _KI, 8 * _MI, _SCRUB_PACE),
        'osd_scrub_sleep': _range(0, 1, _SCRUB_PACE),
        'osd_scrub_extended_sleep': _range(0, 1, _SCRUB_PACE),
        'osd_scrub_priority': _range(1, 63, _PRIORITY),
        'osd_scrub_max_preemptions': _range(0, 30, _SCRUB_PACE),
        # Requests of clients.
        'osd_client_message_cap': _range(25, 2560, _QUEUES),
        'osd_client_message_size_cap': _bytes(50 * _MI, 5000 * _MI, _QUEUES),
        'osd_op_num_shards': _range(0, 16, _THREADS),
        'osd_op_num_shards_hdd': _range(1, 16, _THREADS),
        'osd_op_num_shards_ssd': _range(1, 16, _THREADS),
        'osd_op_num_threads_per_shard': _range(0, 8, _THREADS),
        'osd_op_num_threads_per_shard_hdd': _range(1, 8, _THREADS),
        'osd_op_num_threads_per_shard_ssd': _range(1, 8, _THREADS),
        'osd_op_queue': _word(_PRIORITY, 'wpq', 'mclock_scheduler'),
        'osd_op_queue_cut_off': _word(_PRIORITY, 'high'),
        # Requests that clients may send at all; the first in MB, then in bytes
        # and letters.
        'osd_max_write_size': _range(90, 90, _ERRORS),
        'osd_max_object_size': _bytes(128 * _MI, 128 * _MI, _ERRORS),
        'osd_max_object_name_len': _range(2048, 2048, _ERRORS),
        'osd_max_object_namespace_len': _range(256, 256, _ERRORS),
        'osd_max_attr_name_len': _range(100, 100, _ERRORS),
        'osd_max_attr_size': _range(0, 0, _ERRORS),
        'osd_max_omap_entries_per_request': _range(1024, 131072, _ERRORS),
        'osd_max_omap_bytes_per_request': _bytes(_GI, _GI, _ERRORS),
        # Rescue of a cluster.
        'osd_auto_mark_unfound_lost': _word(_LOST, 'false'),
        'osd_recover_clone_overlap': _word(_FULL, 'true'),
        # Failure detection, and what OSDs report.
        'osd_heartbeat_grace': _range(20, 60, _FLAPPING),
        'osd_heartbeat_interval': _range(6, 10, _FLAPPING),
        'osd_heartbeat_min_peers': _range(10, 20, _FLAPPING),
        'osd_op_thread_timeout': _range(15, 60, _SUICIDE),
        'osd_op_thread_suicide_timeout': _range(150, 600, _SUICIDE),
        'osd_op_complaint_time': _range(1, 60, _HIDDEN),
        'osd_enable_op_tracker': _word(_HIDDEN, 'true'),
        'osd_op_history_size': _range(1, 1000, _HISTORY),
        'osd_op_history_duration': _range(1, _HOUR_S, _HISTORY),
        'osd_op_history_slow_op_size': _range(1, 1000, _HISTORY),
        'osd_op_history_slow_op_threshold': _range(0.1, 60, _HISTORY),
        'throttler_perf_counter': _word(_HISTORY, *_BOTH),
        'osd_map_cache_size': _range(50, 500, _MAPS),
        'osd_map_message_max': _range(10, 100, _MAPS),
        'osd_failsafe_full_ratio': _range(0.97, 0.97, _FULL),
        'osd_max_pg_per_osd_hard_ratio': _range(2, 5, _MEMORY),
        # Cache tiers.
        'osd_agent_max_ops': _range(1, 16, _CACHE_FLUSH),
        'osd_agent_max_low_ops': _range(1, 8, _CACHE_FLUSH),
        'osd_tier_promote_max_bytes_sec': _bytes(_MI, _GI, _CACHE_FLUSH),
        'osd_tier_promote_max_objects_sec': _range(5, 1000, _CACHE_FLUSH),
        # Memory. Ceph's documentation advises against less than 2 GiB; a sweep
        # also compares the sum of a host's OSDs with its memory.
        'osd_memory_target': _bytes(2 * _GI, 16 * _GI, _MEMORY),
        'bluestore_cache_size': _bytes(64 * _MI, 8 * _GI, _MEMORY, '0'),
        'bluestore_cache_size_hdd': _bytes(64 * _MI, 8 * _GI, _MEMORY),
        'bluestore_cache_size_ssd': _bytes(64 * _MI, 8 * _GI, _MEMORY),
        # An OSD does not start when their sum is above 1.
        'bluestore_cache_kv_ratio': _range(0.1, 0.45, _MEMORY),
        'bluestore_cache_meta_ratio': _range(0.1, 0.45, _MEMORY),
        'bluestore_cache_autotune': _word(_MEMORY, *_BOTH),
        # mClock; `mclock` has the plausible values of the first two.
        'osd_mclock_max_capacity_iops_hdd': _range(1, 10**7, _PLAUSIBLE),
        'osd_mclock_max_capacity_iops_ssd': _range(1, 10**7, _PLAUSIBLE),
        'osd_mclock_max_sequential_bandwidth_hdd': _bytes(
            50 * _MI, 600 * _MI, _PLAUSIBLE
        ),
        'osd_mclock_max_sequential_bandwidth_ssd': _bytes(
            200 * _MI, 16 * _GI, _PLAUSIBLE
        ),
        'osd_mclock_profile': _word(
            _PRIORITY,
            'balanced',
            'high_client_ops',
            'high_recovery_ops',
            'custom',
        ),
        'osd_mclock_override_recovery_settings': _word(_RECOVERY, *_BOTH),
        # Parts of a whole since Ceph 17, with the values of the profiles: 1
        # would leave nothing to others, and was one operation per second
        # before.
        **{
            f'osd_mclock_scheduler_{who}_{share}': known
            for who, most_reserved in (
                ('client', 0.7),
                ('background_recovery', 0.7),
                ('background_best_effort', 0.3),
            )
            for share, known in (
                ('res', _range(0, most_reserved, _PRIORITY)),
                ('wgt', _range(1, 10, _PRIORITY)),
                ('lim', _range(0.5, 0.99, _PRIORITY, '0')),
            )
        },
        'osd_mclock_scheduler_anticipation_timeout': _range(0, 0, _PRIORITY),
        # BlueStore.
        'bluestore_throttle_bytes': _bytes(6 * _MI, 640 * _MI, _QUEUES),
        'bluestore_throttle_deferred_bytes': _bytes(
            12 * _MI, 1280 * _MI, _QUEUES
        ),
        'bluestore_deferred_batch_ops': _range(0, 640, _QUEUES),
        'bluestore_deferred_batch_ops_hdd': _range(6, 640, _QUEUES),
        'bluestore_deferred_batch_ops_ssd': _range(1, 640, _QUEUES),
        'bluestore_prefer_deferred_size': _bytes(0, 4 * _MI, _QUEUES),
        'bluestore_prefer_deferred_size_hdd': _bytes(0, 4 * _MI, _QUEUES),
        'bluestore_prefer_deferred_size_ssd': _bytes(0, 4 * _MI, _QUEUES),
        'bluestore_csum_type': _word(
            _CHECKSUM, 'crc32c', 'xxhash32', 'xxhash64'
        ),
        'bluestore_clone_cow': _word(_FULL, 'true'),
        'bluestore_retry_disk_reads': _range(1, 10, _ERRORS),
        'bluestore_compression_mode': _word(
            _COMPRESSION, 'none', 'passive', 'aggressive', 'force'
        ),
        'bluestore_compression_algorithm': _word(
            _COMPRESSION, 'lz4', 'snappy', 'zlib', 'zstd'
        ),
        'bluestore_compression_required_ratio': _range(0.1, 1, _COMPRESSION),
        **{
            f'bluestore_compression_{end}_blob_size{medium}': _bytes(
                4 * _KI, _MI, _COMPRESSION, *(() if medium else ('0',))
            )
            for end, medium in itertools.product(
                ('min', 'max'), ('', '_hdd', '_ssd')
            )
        },
        'bluestore_default_buffered_read': _word(_MEMORY, *_BOTH),
        'bluestore_default_buffered_write': _word(_MEMORY, *_BOTH),
        'bluefs_buffered_io': _word(_MEMORY, *_BOTH),
        'bluestore_min_alloc_size': _word(_FIXED, '0'),
        'bluestore_min_alloc_size_hdd': _bytes(4 * _KI, 4 * _KI, _FIXED),
        'bluestore_min_alloc_size_ssd': _bytes(4 * _KI, 4 * _KI, _FIXED),
        # FileStore, of the papers; Ceph 18 removed it.
        'filestore_op_threads': _range(1, 8, _FILESTORE),
        'filestore_queue_max_bytes': _bytes(
            10 * 10**6, 1000 * _MI, _FILESTORE
        ),
        'filestore_queue_max_ops': _range(5, 5000, _FILESTORE),
        'filestore_wbthrottle_xfs_bytes_start_flusher': _bytes(
            4 * _MI, 400 * _MI, _FILESTORE
        ),
        'filestore_wbthrottle_xfs_ios_start_flusher': _range(
            50, 5000, _FILESTORE
        ),
        'filestore_wbthrottle_xfs_inodes_start_flusher': _range(
            50, 5000, _FILESTORE
        ),
        'journal_aio': _word(_FILESTORE, *_BOTH),
        'journal_max_write_bytes': _bytes(_MI, 100 * _MI, _FILESTORE),
        'journal_max_write_entries': _range(10, 10000, _FILESTORE),
    }
)

_AUTOSCALER = (
    'the pool would have too few placement groups to use its OSDs, or more '
    'than they can hold'
)
_FLAG = 'the protection by this flag, which may be of another administrator'
#: {option of pools: safe values}; `pool_options.UNSET`, which leaves the value
#: to the OSDs, is safe for all options that can be unset.
POOL: collections.abc.Mapping[str, Safe] = types.MappingProxyType(
    {
        'noscrub': _word(_SCRUB_OFTEN, 'false'),
        'nodeep-scrub': _word(_SCRUB_OFTEN, 'false'),
        'scrub_min_interval': _range(_HOUR_S, 7 * _DAY_S, _SCRUB_OFTEN),
        'scrub_max_interval': _range(_DAY_S, 28 * _DAY_S, _SCRUB_OFTEN),
        'deep_scrub_interval': _range(_DAY_S, 35 * _DAY_S, _SCRUB_OFTEN),
        'scrub_priority': _range(1, 63, _PRIORITY),
        'recovery_op_priority': _range(1, 63, _PRIORITY),
        'recovery_priority': _range(-10, 10, _PRIORITY),
        # Without them, nothing is protected.
        **{
            name: _word(f'it would take away {_FLAG}', 'true')
            for name in ('nodelete', 'nopgchange', 'nosizechange')
        },
        'bulk': _word(_AUTOSCALER, *_BOTH),
        'pg_autoscale_bias': _range(0.5, 4, _AUTOSCALER),
        'pg_num_min': _range(1, 4096, _AUTOSCALER),
        'pg_num_max': _range(8, 65536, _AUTOSCALER),
        'target_size_ratio': _range(0.001, 1, _AUTOSCALER),
        'target_size_bytes': _bytes(1, 2**53, _AUTOSCALER),
        'csum_type': _word(_CHECKSUM, 'crc32c', 'xxhash32', 'xxhash64'),
        'compression_mode': OSD['bluestore_compression_mode'],
        'compression_algorithm': OSD['bluestore_compression_algorithm'],
        'compression_required_ratio': OSD[
            'bluestore_compression_required_ratio'
        ],
        'compression_min_blob_size': _bytes(4 * _KI, _MI, _COMPRESSION),
        'compression_max_blob_size': _bytes(4 * _KI, _MI, _COMPRESSION),
        'write_fadvise_dontneed': _word(_MEMORY, *_BOTH),
        'fast_read': _word(_QUEUES, *_BOTH),
        # `pool` asks for consent to the permanent value.
        'allow_ec_optimizations': _word(_ERRORS, *_BOTH),
        # `pool` compares them with the content of the pool.
        'quota_max_bytes': _bytes(0, UNBOUNDED, _FULL),
        'quota_max_objects': _range(0, UNBOUNDED, _FULL),
    }
)

_CACHE_FULL = 'the cache would be full at once, and all I/O of the tier wait'
#: {setting of a cache tier: safe values}; a count of 0 means none.
CACHE: collections.abc.Mapping[str, Safe] = types.MappingProxyType(
    {
        'target_max_bytes': _bytes(64 * _MI, UNBOUNDED, _CACHE_FULL, '0'),
        'target_max_objects': _range(16, UNBOUNDED, _CACHE_FULL, '0'),
        'cache_target_dirty_ratio': _range(0.1, 0.9, _CACHE_FULL),
        'cache_target_dirty_high_ratio': _range(0.1, 0.95, _CACHE_FULL),
        'cache_target_full_ratio': _range(0.1, 0.95, _CACHE_FULL),
        'cache_min_flush_age': _range(0, _HOUR_S, _CACHE_FULL),
        'cache_min_evict_age': _range(0, _HOUR_S, _CACHE_FULL),
        'hit_set_type': _word(
            _CACHE_FLUSH, 'bloom', 'explicit_hash', 'explicit_object'
        ),
        'hit_set_count': _range(1, 16, _CACHE_FLUSH),
        'hit_set_period': _range(60, _DAY_S, _CACHE_FLUSH),
        'min_read_recency_for_promote': _range(0, 16, _CACHE_FLUSH),
        'min_write_recency_for_promote': _range(0, 16, _CACHE_FLUSH),
    }
)

_LIVED_WITH = 'no guest can live with so little I/O'
_FENCED = (
    'a client that lost its lock could still write, and two guests damage '
    'one image'
)
_UNFLUSHED = 'guests that never flush would lose writes that were acknowledged'
_CLIENT_MEMORY = 'each volume would take that much memory of its hypervisor'
_CACHE = 'the cache would have no effect, or hold what a crash loses'
_OLD_IMAGES = 'new images would lack what clients or backups rely on'
_READS = 'guests would read too little ahead, or flood OSDs with it'
_OTHER_COPIES = (
    'reads go to other copies than the first, which all OSDs and clients '
    'have to support'
)
#: {option of librbd: safe values}
RBD: collections.abc.Mapping[str, Safe] = types.MappingProxyType(
    {
        'rbd_cache': _word(_CACHE, *_BOTH),
        'rbd_cache_policy': _word(
            _CACHE, 'writearound', 'writeback', 'writethrough'
        ),
        'rbd_cache_writethrough_until_flush': _word(_UNFLUSHED, 'true'),
        'rbd_cache_size': _bytes(_MI, 256 * _MI, _CLIENT_MEMORY),
        'rbd_cache_max_dirty': _bytes(0, 192 * _MI, _CACHE),
        'rbd_cache_target_dirty': _bytes(0, 128 * _MI, _CACHE),
        'rbd_cache_max_dirty_age': _range(0, 5, _CACHE),
        'rbd_blacklist_on_break_lock': _word(_FENCED, 'true'),
        'rbd_blocklist_on_break_lock': _word(_FENCED, 'true'),
        'rbd_blacklist_expire_seconds': _word(_FENCED, '0'),
        'rbd_blocklist_expire_seconds': _word(_FENCED, '0'),
        'rbd_disable_zero_copy_writes': _word(_CHECKSUM, 'true'),
        'rbd_persistent_cache_mode': _word(
            'writes on the disk of a hypervisor are lost with it', 'disabled'
        ),
        'rbd_default_features': _word(
            _OLD_IMAGES,
            '61',
            'layering,exclusive-lock,object-map,fast-diff,deep-flatten',
        ),
        'rbd_default_format': _word(_OLD_IMAGES, '2'),
        'rbd_default_order': _range(22, 23, _OLD_IMAGES),
        'rbd_readahead_max_bytes': _bytes(4 * _KI, 4 * _MI, _READS, '0'),
        'rbd_readahead_trigger_requests': _range(1, 100, _READS),
        'rbd_readahead_disable_after_bytes': _bytes(0, 2**40, _READS),
        'rbd_sparse_read_threshold_bytes': _bytes(0, 4 * _MI, _READS),
        'rbd_read_from_replica_policy': _word(_OTHER_COPIES, 'default'),
        'rbd_concurrent_management_ops': _range(1, 20, _QUEUES),
        'rbd_op_threads': _range(1, 1, _THREADS),
        'rbd_io_scheduler': _word(_QUEUES, 'none', 'simple'),
        'rbd_skip_partial_discard': _word(_TRIM, *_BOTH),
        'rbd_discard_granularity_bytes': _bytes(4 * _KI, 4 * _MI, _TRIM),
        'rbd_enable_alloc_hint': _word(_COMPRESSION, *_BOTH),
        'rbd_compression_hint': _word(
            _COMPRESSION, 'none', 'compressible', 'incompressible'
        ),
        **{
            f'rbd_qos_{direction}{unit}_{part}': known
            for direction in ('', 'read_', 'write_')
            for unit, least in (('iops', LEAST_IOPS), ('bps', LEAST_BYTES_S))
            for part, known in (
                ('limit', _range(least, UNBOUNDED, _LIVED_WITH, '0')),
                ('burst', _range(least, UNBOUNDED, _LIVED_WITH, '0')),
                ('burst_seconds', _range(1, _DAY_S, _LIVED_WITH)),
            )
        },
        'rbd_qos_schedule_tick_min': _range(1, 1000, _LIVED_WITH),
        # An excluded operation is not limited, which harms no guest;
        # `rbd_options` has the words.
        'rbd_qos_exclude_ops': Safe(beyond=_LIVED_WITH),
    }
)

#: {limit in Cinder's QoS specs for libvirt: safe values}, also for the minimum
#: that limits by size give a volume of 1 GiB.
LIMITS: collections.abc.Mapping[str, Safe] = types.MappingProxyType(
    {
        **{
            f'{direction}_{unit}_sec': _range(
                least, UNBOUNDED, _LIVED_WITH, '0'
            )
            for direction in ('total', 'read', 'write')
            for unit, least in (
                ('iops', LEAST_IOPS),
                ('bytes', LEAST_BYTES_S),
            )
        },
        # A request counts once for each multiple of these bytes.
        'size_iops_sec': _bytes(4 * _KI, _GI, _LIVED_WITH, '0'),
    }
)
