# SPDX-License-Identifier: Apache-2.0

"""Options and limits that are not known to be safe ask for consent."""

import dataclasses
import pathlib

import ddt
import hypothesis
from hypothesis import strategies
import testtools
import yaml

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.resources import known_safe
from cinder_tiers.domain.resources import mclock
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.resources import safety
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import usage as usages
import tests
from tests.unit.domain import catalogs as given
from tests.unit.domain import test_plan

ETC = pathlib.Path(__file__).parents[3] / 'etc' / 'cinder-tiers'
GIB = 2**30

#: Each of them stops I/O, loses or hides data, or starves one of guests and
#: recovery, on a release of Ceph at least; the texts are as a file has them.
HARMFUL = """
    osd_max_object_size 1
    osd_max_object_size 4194303
    osd_max_object_name_len 10
    osd_max_object_namespace_len 1
    osd_max_attr_name_len 1
    osd_max_attr_size 1
    osd_max_write_size 4
    osd_max_omap_entries_per_request 1
    osd_max_omap_bytes_per_request 1
    osd_client_message_size_cap 1
    osd_client_message_cap 1
    osd_max_backfills 0
    osd_max_backfills 1000
    osd_recovery_max_active 1000
    osd_recovery_max_active_hdd 0
    osd_recovery_max_active_ssd 0
    osd_recovery_max_single_start 0
    osd_recovery_max_chunk 1
    osd_recovery_sleep 86400
    osd_recovery_sleep_hdd 3600
    osd_recovery_op_priority 255
    osd_recovery_delay_start 86400
    osd_min_recovery_priority 255
    osd_client_op_priority 1
    osd_backfill_retry_interval 86400
    osd_snap_trim_sleep 86400
    osd_delete_sleep_hdd 86400
    osd_max_trimming_pgs 0
    osd_max_scrubs 0
    osd_max_scrubs -1
    osd_max_scrubs 100
    osd_scrub_sleep 3600
    osd_scrub_load_threshold 0
    osd_scrub_min_interval 315360000
    osd_scrub_max_interval 315360000
    osd_deep_scrub_interval 315360000
    osd_deep_scrub_interval 1
    osd_scrub_chunk_max 100000
    osd_scrub_begin_hour 24
    osd_scrub_auto_repair true
    osd_skip_data_digest true
    osd_heartbeat_grace 1
    osd_heartbeat_grace 86400
    osd_heartbeat_interval 60
    osd_heartbeat_min_peers 0
    osd_op_thread_timeout 1
    osd_op_thread_suicide_timeout 1
    osd_op_complaint_time 86400
    osd_enable_op_tracker false
    osd_op_num_shards 1000
    osd_op_num_shards -1
    osd_op_num_threads_per_shard 1000
    osd_op_queue debug_random
    osd_op_queue_cut_off low
    osd_map_cache_size 1
    osd_failsafe_full_ratio 1
    osd_max_pg_per_osd_hard_ratio 100
    osd_memory_target 939524096
    osd_memory_target 1099511627776
    osd_auto_mark_unfound_lost true
    osd_use_stale_snap true
    osd_crush_update_on_start false
    osd_crush_initial_weight 0
    osd_class_load_list x
    osd_class_dir /tmp
    osd_objectstore memstore
    osd_data /tmp
    osd_numa_node 9
    osd_fast_fail_on_connection_refused false
    osd_allow_recovery_below_min_size false
    osd_read_ec_check_for_errors true
    osd_mclock_scheduler_client_lim 0.01
    osd_mclock_scheduler_client_res 1
    osd_mclock_scheduler_background_recovery_res 1
    osd_mclock_scheduler_client_wgt 0
    osd_mclock_max_sequential_bandwidth_hdd 1
    bluestore_csum_type none
    bluestore_csum_type crc32c_8
    bluestore_min_alloc_size 512
    bluestore_min_alloc_size_hdd 65536
    bluestore_cache_size 1
    bluestore_cache_kv_ratio 0.9
    bluestore_throttle_bytes 1
    bluestore_throttle_deferred_bytes 1
    bluestore_deferred_batch_ops_hdd 65535
    bluestore_prefer_deferred_size 1099511627776
    bluestore_compression_required_ratio 9
    bluestore_compression_min_blob_size_hdd 1
    bluestore_clone_cow false
    bluestore_retry_disk_reads 0
    bluestore_rocksdb_options compression=x
    bluestore_block_path /tmp/x
    bluestore_fsck_on_mount_deep true
    bluestore_sync_submit_transaction true
    bluefs_alloc_size 512
    bdev_aio false
    bdev_block_size 512
    bdev_enable_discard true
    rocksdb_cache_size 1
    filestore_queue_max_bytes 1
    filestore_fail_eio false
    journal_block_size 1
    journal_dio false
    """

RBD_HARMFUL = """
    rbd_cache_writethrough_until_flush false
    rbd_cache_writethrough_until_flush 0
    rbd_blacklist_on_break_lock false
    rbd_blocklist_on_break_lock false
    rbd_blocklist_expire_seconds 1
    rbd_cache_size 1099511627776
    rbd_cache_max_dirty 1099511627776
    rbd_cache_max_dirty_age 86400
    rbd_disable_zero_copy_writes false
    rbd_persistent_cache_mode rwl
    rbd_default_features 1
    rbd_default_order 12
    rbd_op_threads 0
    rbd_concurrent_management_ops 1000
    rbd_read_from_replica_policy balance
    rbd_qos_iops_limit 1
    rbd_qos_read_iops_limit 5
    rbd_qos_bps_limit 4096
    rbd_qos_write_bps_limit 1
    rbd_qos_schedule_tick_min 100000
    rbd_readahead_max_bytes 1099511627776
    rbd_move_to_trash_on_remove true
    rbd_validate_pool false
    rbd_of_no_release 1
    """

POOL_HARMFUL = {
    'csum_type': 'none',
    'noscrub': True,
    'nodeep-scrub': True,
    'scrub_min_interval': 10**9,
    'scrub_max_interval': 10**9,
    'deep_scrub_interval': 10**9,
    'scrub_priority': 200,
    'recovery_op_priority': 200,
    'pg_num_max': 1,
    'pg_autoscale_bias': 1000,
    'target_size_ratio': 1000,
    'compression_required_ratio': 9,
    'compression_max_blob_size': 1,
    'compression_min_blob_size': 2**40,
    'csum_min_block': 1,
    'csum_max_block': 2**40,
    'quota_max_bytes': 12_000_000,
    'quota_max_objects': 5,
}


def pairs(text):
    return [
        line.split(maxsplit=1) for line in text.split('\n') if line.strip()
    ]


def holding(stored, objects):
    """A cluster of which the pool p holds that much."""
    return usages.ClusterUsage(
        pools={
            'p': usages.PoolUsage(
                stored_bytes=stored,
                objects=objects,
                used_bytes=3 * stored,
                max_avail_bytes=2**50,
            )
        },
        osds={},
        nearfull_ratio=0.85,
        backfillfull_ratio=0.9,
        full_ratio=0.95,
    )


def edges(safe):
    """{a value: whether it is safe} at both ends of a range."""
    if safe.least is None:
        return {}
    step = 1 if float(safe.least).is_integer() else 0.01
    found = {safe.least: True, safe.most: True, safe.least - step: False}
    if safe.most < known_safe.UNBOUNDED:
        found[safe.most + step] = False
    return {
        f'{value:.15g}' if value < 2**53 else str(int(value)): is_safe
        for value, is_safe in found.items()
        if value >= 0 and f'{value:.15g}' not in safe.words
    }


class Case(testtools.TestCase):
    def plan_of(self, rbd, **cluster):
        """The plan of one tier, in a cluster where it is applied.

        :param rbd: fields of the tier's pool.
        :param cluster: fields of the cluster.
        """
        plain = given.of(given.tier(rbd=given.rbd(pool='p')))
        actual = test_plan.applied(plain)
        ceph = dataclasses.replace(actual.ceph['ceph'], **cluster)
        return plans.make(
            catalog=given.of(given.tier(rbd=given.rbd(pool='p', **rbd))),
            actual=dataclasses.replace(actual, ceph={'ceph': ceph}),
        )

    def plan_of_osds(self, name, value, before='before', kind='str'):
        schema = ceph_state.OptionSchema(name=name, kind=kind)
        return self.plan_of(
            {'osd_options': {name: value}},
            option_schemas={name: schema},
            class_options={
                'ssd': ceph_state.OsdOptions(name='ssd', values={name: before})
            },
        )

    def assert_asks(self, plan, name):
        (action,) = plan.actions
        self.assertIsNotNone(action.refusal, name)
        self.assertIn(name, action.refusal.reason)
        self.assertTrue(action.refusal.yields_to_consent)
        granted = consent.grant(plan, [str(action.key)])
        self.assertEqual((), granted.refused)


@ddt.ddt
class OsdOptionsTestCase(Case):
    def test_each_that_harms_asks(self):
        self.assertGreater(len(pairs(HARMFUL)), 79)
        for name, value in pairs(HARMFUL):
            self.assert_asks(self.plan_of_osds(name, value), name)

    def test_each_range_ends_where_it_says(self):
        seen = 0
        for name, safe in known_safe.OSD.items():
            for value, is_safe in edges(safe).items():
                seen += 1
                found = safety.objection(known_safe.OSD, name, value)
                self.assertEqual(is_safe, found is None, (name, value))
            for word in safe.words:
                self.assertIsNone(
                    safety.objection(known_safe.OSD, name, word), name
                )
        self.assertGreater(seen, 200)

    def test_ceph_has_each_of_them(self):
        self.assertEqual(
            set(), known_safe.OSD.keys() - osd_options.releases_with().keys()
        )
        for name in known_safe.OSD:
            self.assertIsNone(osd_options.ENDANGERS_DATA.fullmatch(name))

    @hypothesis.given(
        strategies.sampled_from(
            sorted({*osd_options.releases_with(), *known_safe.OSD})
        ).filter(lambda name: not osd_options.ENDANGERS_DATA.fullmatch(name)),
        strategies.integers(-(2**40), 2**40).map(str)
        | strategies.floats().map(str)
        | strategies.sampled_from(
            ('true', 'false', 'none', 'nan', '1e999', '\u0661', '1_0', '4K')
        ),
    )
    @tests.examples(2000)
    def test_nothing_else_is_free(self, name, value):
        safe = known_safe.OSD.get(name)
        plan = self.plan_of_osds(name, value)
        if plan.refused:
            return
        self.assertIsNotNone(safe, name)
        if value in safe.words:
            return
        number = float(value.replace('4K', '4096'))
        self.assertTrue(safe.least <= number <= safe.most, value)

    @ddt.data('true', '', 'nan', '4K', '1e999')
    def test_a_capacity_that_is_no_number_is_not_free(self, value):
        for name in mclock.CAPACITIES.values():
            self.assertNotEqual((), self.plan_of_osds(name, value).refused)

    def test_what_is_in_effect_asks_no_more(self):
        plan = self.plan_of_osds('osd_max_object_size', '1', before='1')
        self.assertEqual((), plan.actions)

    def test_a_field_may_be_named(self):
        plan = self.plan_of_osds('osd_max_object_size', '1')
        name = 'osd options ssd:values.osd_max_object_size'
        self.assertEqual((), consent.grant(plan, [name]).refused)

    def test_those_for_developers_say_so_where_they_are_not_known(self):
        for name, asks in (
            ('osd_max_pg_log_entries', True),
            # Documented for operators, whatever its level.
            ('bluestore_cache_size_ssd', False),
        ):
            plan = self.plan_of(
                {'osd_options': {name: 2**30}},
                option_schemas={
                    name: ceph_state.OptionSchema(
                        name=name, kind='size', level='dev'
                    )
                },
                class_options={
                    'ssd': ceph_state.OsdOptions(name='ssd', values={})
                },
            )
            self.assertEqual(asks, bool(plan.refused))
            if asks:
                self.assertIn('level dev', plan.refused[0].refusal.reason)

    def test_what_sweeps_of_papers_try_is_free(self):
        tried = 0
        for path in ETC.glob('sweep-*.yaml'):
            sweep = yaml.safe_load(path.read_text())
            for treatment in sweep.get('treatments', {}).values():
                for name, value in treatment.get('osd_options', {}).items():
                    tried += 1
                    self.assertIsNone(
                        safety.objection(known_safe.OSD, name, str(value)),
                        path,
                    )
        self.assertGreater(tried, 20)

    @ddt.data(
        ('filestore_op_threads', 1, 8),
        ('filestore_wbthrottle_xfs_bytes_start_flusher', 4194304, 419430400),
        ('filestore_wbthrottle_xfs_ios_start_flusher', 50, 5000),
        ('filestore_wbthrottle_xfs_inodes_start_flusher', 50, 5000),
        ('filestore_queue_max_bytes', 10485760, 1048576000),
        # Of the documentation.
        ('osd_recovery_sleep', 0, 0.5),
        ('osd_scrub_load_threshold', 0.3, 0.5),
        ('bluestore_cache_size_hdd', 4 * GIB, 4 * GIB),
        ('osd_mclock_max_capacity_iops_ssd', 21000, 21000),
        ('osd_max_backfills', 1, 4),
    )
    @ddt.unpack
    def test_what_papers_and_documentation_use_is_free(self, name, *values):
        for value in values:
            self.assertEqual(
                (), self.plan_of_osds(name, str(value)).refused, name
            )

    def test_options_of_hosts_are_held_to_the_same(self):
        catalog = given.of(given.tier(rbd=given.rbd(pool='p')))
        actual = test_plan.applied(catalog)
        name = 'osd_max_object_size'
        host = min(actual.ceph['ceph'].hosts)
        cluster = dataclasses.replace(
            catalog.clusters['ceph'], host_osd_options={host: {name: '1'}}
        )
        ceph = dataclasses.replace(
            actual.ceph['ceph'],
            option_schemas={
                name: ceph_state.OptionSchema(name=name, kind='size')
            },
            host_options={host: ceph_state.OsdOptions(name=host, values={})},
        )
        plan = plans.make(
            catalog=dataclasses.replace(catalog, clusters={'ceph': cluster}),
            actual=dataclasses.replace(actual, ceph={'ceph': ceph}),
        )
        (refused,) = [
            one
            for one in plan.refused
            if one.key.kind.value.startswith('host')
        ]
        self.assertIn(name, refused.refusal.reason)


class PoolOptionsTestCase(Case):
    USAGE = holding(0, 0)

    def test_each_that_harms_asks_in_a_pool_that_exists(self):
        for name, value in POOL_HARMFUL.items():
            plan = self.plan_of(
                {'options': {name: value}, 'pg_num': None}, usage=self.USAGE
            )
            self.assert_asks(plan, name)

    def test_each_that_harms_asks_in_a_new_pool(self):
        for name, value in POOL_HARMFUL.items():
            plan = self.plan_of(
                {'options': {name: value}, 'pg_num': None}, pools={}
            )
            (pool,) = plan.refused
            self.assertIn(name, pool.refusal.reason)
            self.assertTrue(pool.refusal.yields_to_consent)

    def test_each_option_of_librbd_that_harms_asks(self):
        for name, value in pairs(RBD_HARMFUL):
            rbd = {'rbd_options': {name: value}}
            self.assert_asks(self.plan_of(rbd), name)
            (new,) = self.plan_of(rbd, pools={}).refused
            self.assertIn(name, new.refusal.reason)

    def test_each_range_ends_where_it_says(self):
        for known in (
            known_safe.POOL,
            known_safe.RBD,
            known_safe.CACHE,
            known_safe.LIMITS,
        ):
            for name, safe in known.items():
                for value, is_safe in edges(safe).items():
                    found = safety.objection(known, name, value)
                    self.assertEqual(is_safe, found is None, (name, value))

    def test_what_a_new_pool_has_anyway_is_free(self):
        for name in pool_options.KNOWN:
            value = pool_options.of_new_pool(name)
            declared = {'true': True, 'false': False, '0': 0}.get(value, value)
            plan = self.plan_of(
                {'options': {name: declared}, 'pg_num': None}, pools={}
            )
            self.assertEqual((), plan.refused, name)

    def test_settings_of_a_cache_that_stop_the_tier_ask(self):
        self.assertEqual(cache_tier.KNOWN, known_safe.CACHE.keys())
        for name, value, asks in (
            ('target_max_bytes', 1, True),
            ('target_max_objects', 1, True),
            ('cache_target_full_ratio', 1, True),
            ('cache_min_evict_age', 10**9, True),
            ('target_max_objects', 1000, False),
            ('target_max_objects', 0, False),
        ):
            plain = given.cache()
            cache = dataclasses.replace(
                plain, settings={**plain.settings, name: value}
            )
            refused = [
                one
                for one in self.plan_of({'cache': cache}).refused
                if one.key.kind.value == 'cache tier'
            ]
            self.assertEqual(asks, bool(refused), name)
            for one in refused:
                self.assertIn(name, one.refusal.reason)
                self.assertTrue(one.refusal.yields_to_consent)

    def test_a_protection_is_not_taken_away_unasked(self):
        for name in ('nodelete', 'nopgchange', 'nosizechange'):
            pool = (
                test_plan.applied(
                    given.of(given.tier(rbd=given.rbd(pool='p')))
                )
                .ceph['ceph']
                .pools['p']
            )
            there = dataclasses.replace(pool, options={name: 'true'})
            plan = self.plan_of({'options': {name: False}}, pools={'p': there})
            self.assert_asks(plan, name)
            self.assertEqual(
                (), self.plan_of({'options': {name: True}}).refused
            )

    def test_what_is_in_effect_asks_no_more(self):
        (pool,) = self.plan_of(
            {'options': {'noscrub': True}, 'rbd_options': {'rbd_a': 1}}
        ).actions
        plan = self.plan_of(
            {'options': {'noscrub': True}, 'rbd_options': {'rbd_a': 1}},
            pools={'p': pool.after},
        )
        self.assertEqual((), plan.actions)

    def test_a_quota_needs_room_above_what_is_stored(self):
        for stored, quota, asks in (
            (11 * 10**6, 12 * 10**6, True),
            (0, GIB - 1, True),
            (0, GIB, False),
            (100 * GIB, 110 * GIB, True),
            (100 * GIB, 118 * GIB, False),
        ):
            plan = self.plan_of(
                {'options': {'quota_max_bytes': quota}},
                usage=holding(stored, 1),
            )
            self.assertEqual(asks, bool(plan.refused), (stored, quota))


@ddt.ddt
class LimitsTestCase(testtools.TestCase):
    def action_of(self, **tier):
        catalog = given.of(given.other_tier('t', **tier))
        (action,) = [
            one
            for one in plans.make(
                catalog=catalog, actual=given.nothing()
            ).actions
            if one.key.kind.value in ('qos spec', 'default quota')
        ]
        return action

    @ddt.data(
        {'total_iops_sec': '1'},
        {'read_iops_sec': '49'},
        {'total_iops_sec': '500', 'total_iops_sec_max': '1'},
        {'write_bytes_sec': '65536'},
        {'total_iops_sec_per_gb': '1'},
        {'total_iops_sec_per_gb': '3', 'total_iops_sec_per_gb_min': '10'},
        {'read_bytes_sec_per_gb': '1024'},
        {'total_iops_sec': '500', 'size_iops_sec': '1'},
    )
    def test_nobody_can_live_with(self, specs):
        action = self.action_of(qos=catalogs.Qos(front_end=specs))
        self.assertIn('no guest can live', action.refusal.reason)
        self.assertTrue(action.refusal.yields_to_consent)

    @ddt.data(
        {'total_iops_sec': '50'},
        {'total_iops_sec': '0'},
        {'write_bytes_sec': '1000000'},
        {'total_iops_sec_per_gb': '1', 'total_iops_sec_per_gb_min': '400'},
        {'total_iops_sec_per_gb': '50'},
        {'maxIOPS': '1'},
    )
    def test_guests_can_live_with(self, specs):
        self.assertIsNone(
            self.action_of(qos=catalogs.Qos(front_end=specs)).refusal
        )

    @ddt.data(
        ({'volumes': 0}, 'volumes 0'),
        ({'size_gib': 0}, 'gigabytes 0'),
        ({'snapshots': 0}, 'snapshots 0'),
        ({'volumes': 1, 'size_gib': -1}, None),
    )
    @ddt.unpack
    def test_a_quota_of_0_closes_the_tier(self, quotas, said):
        action = self.action_of(quotas=catalogs.Quotas(**quotas))
        if said is None:
            self.assertIsNone(action.refusal)
            return
        self.assertIn(said, action.refusal.reason)
        self.assertTrue(action.refusal.yields_to_consent)

    def test_a_quota_that_is_0_already_asks_no_more(self):
        catalog = given.of(
            given.other_tier(
                't', quotas=catalogs.Quotas(volumes=0, size_gib=9)
            )
        )
        actual = given.nothing()
        before = cinder_state.TypeQuota(name='t', volumes=0)
        plan = plans.make(
            catalog=catalog,
            actual=dataclasses.replace(
                actual,
                cinder=dataclasses.replace(
                    actual.cinder, quotas={'t': before}
                ),
            ),
        )
        self.assertEqual((), plan.refused)
