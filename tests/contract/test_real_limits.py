# SPDX-License-Identifier: Apache-2.0

"""Limits of RBD images, on a real Ceph cluster. Run as test_real_ceph."""

import concurrent.futures
import itertools
import os
import signal

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import ceph_access
from cinder_tiers.observe.cinder import volumes
from tests.contract import commands
from tests.contract import real_ceph
from tests.contract import test_real_watch
from tests.functional import commands as forked
from tests.unit.execute import test_cinder_world

VOLUME = 'volume-contract'
SIZE = 2**22
LIMIT, BURST = 'rbd_qos_iops_limit', 'rbd_qos_iops_burst'
#: Of a tier with limits by size.
TIERS = """
MARK-limited:
  fallback: true
  rbd:
    cluster: ceph
    pool: MARK-limited
    pg_num: 8
    device_class: CLASS
    failure_domain: osd
    replicated: {size: 2, min_size: 1, unprotected_writes: true}
  qos: {back_end: {total_iops_sec_per_gb: 60, total_iops_sec_max: 150}}
"""
#: {size in GiB: limit of the tier}
BY_SIZE = {1: '60', 2: '120', 3: '150'}
VOLUMES = 40
STALE = '5'
REPAIR = ('--kind', 'limits', '--concurrency', '8', '--yes')
KILLED = -signal.SIGKILL


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RealLimitsTestCase(test_real_watch.WatchedPoolsCase):
    def setUp(self):
        super().setUp()
        self.repairer = self.session_of(
            ceph_access.repairer(self.catalog, self.catalog.clusters['ceph']),
            'repairer',
        )

    def make_image(self, rbd_pool):
        ioctx = self.session._handle.open_ioctx(rbd_pool.pool)
        self.addCleanup(ioctx.close)
        self.rbd.RBD().create(
            ioctx, VOLUME, SIZE, data_pool=rbd_pool.data_pool
        )
        self.addCleanup(self.rbd.RBD().remove, ioctx, VOLUME)
        return ioctx

    def test_who_repairs_sets_limits_and_reads_no_data(self):
        for tier in self.catalog.tiers:
            pool = tier.rbd.pool
            ioctx = self.make_image(tier.rbd)
            with self.rbd.Image(ioctx, VOLUME) as client:
                client.write(b'of a tenant', 0)
                client.metadata_set('conf_rbd_cache', 'false')
                self.repairer.set_image_options(
                    pool, VOLUME, {LIMIT: '40', BURST: '80'}
                )
                # Whoever has the image open gets on with it.
                client.write(b'of a tenant', 0)
                self.assertEqual(
                    {LIMIT: '40', BURST: '80', 'rbd_cache': 'false'},
                    self.repairer.image_options(pool, VOLUME),
                )
                self.assertEqual(
                    {'contract': {LIMIT: '40', BURST: '80'}},
                    volumes._read_limits(self.repairer, pool),
                )
                self.repairer.set_image_options(
                    pool, VOLUME, {LIMIT: '20', BURST: None}
                )
                self.assertEqual(
                    {
                        one['name']: one['value']
                        for one in client.config_list()
                        if one['name'] in (LIMIT, BURST)
                    },
                    {LIMIT: '20', BURST: '0'},
                )
            # What is not set may be removed.
            self.repairer.set_image_options(pool, VOLUME, {BURST: None})
            with self.repairer._handle.open_ioctx(pool) as as_repairer:
                image = self.rbd.Image(as_repairer, VOLUME, read_only=True)
                self.addCleanup(image.close)
                self.assertRaises(self.rbd.PermissionError, image.read, 0, 11)
                self.assertRaises(
                    self.rbd.PermissionError,
                    self.rbd.RBD().create,
                    as_repairer,
                    'volume-other',
                    SIZE,
                )
            self.assertIsNone(self.repairer.image_options(pool, 'volume-gone'))
            for name, value, said in (
                ('volume-gone', '1', 'has no image volume-gone'),
                (VOLUME, '1e3', "refused rbd_qos_iops_limit '1e3'"),
            ):
                error = self.assertRaises(
                    errors.ActionFailed,
                    self.repairer.set_image_options,
                    *(pool, name, {LIMIT: value}),
                )
                self.assertIn(said, str(error))


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class KilledRepairTestCase(commands.CommandsCase):
    """Many images with the limits of another day, and a real Cinder API."""

    #: How many are repaired before the command is killed, each time.
    kills = (15,)

    def setUp(self):
        super().setUp()
        self.rbd = ceph_session.import_binding('rbd')
        (device_class, *_) = self.session.command('osd crush class ls')
        self.declare(TIERS.replace('CLASS', device_class))
        self.arguments = self.api.arguments_of('admin')
        self.tier('apply')
        self.pool = f'{self.mark}-limited'
        fsid = self.session.command('mon dump')['fsid']
        host = self.api.add_backend(
            f'tier-{self.pool}',
            storage_protocol='ceph',
            location_info=f'ceph:{real_ceph.CONF}:{fsid}:{self.mark}:'
            f'{self.pool}',
        )
        self.ioctx = self.session._handle.open_ioctx(self.pool)
        self.addCleanup(self.ioctx.close)
        self.rbd.RBD().pool_init(self.ioctx, True)
        with test_cinder_world.log_in(self.api) as connection:
            (type_id,) = (
                one.id
                for one in connection.block_storage.types(is_public='None')
                if one.name == self.pool
            )
        #: {id of a volume: the limit that its type gives it}
        self.wanted = {}
        for size_gib in itertools.islice(itertools.cycle(BY_SIZE), VOLUMES):
            ident = self.api.add_volume(
                host=host, volume_type_id=type_id, size=size_gib
            )
            self.wanted[ident] = BY_SIZE[size_gib]
        # They go with their pool: a killed client is taken for gone, and its
        # image can be removed, after half a minute.
        self.for_each(self.make_image)

    def for_each(self, work):
        """{id of a volume: result of some work}, done side by side."""
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            return dict(
                zip(self.wanted, threads.map(work, self.wanted), strict=True)
            )

    def make_image(self, ident):
        self.rbd.RBD().create(self.ioctx, f'volume-{ident}', SIZE)
        self.make_stale(ident)

    def make_stale(self, ident):
        with self.rbd.Image(self.ioctx, f'volume-{ident}') as image:
            image.metadata_set(f'conf_{LIMIT}', STALE)

    def limit_of(self, ident):
        with self.rbd.Image(
            self.ioctx, f'volume-{ident}', read_only=True
        ) as image:
            return image.metadata_get(f'conf_{LIMIT}')

    def limits(self):
        """{id of a volume: the limit that its image has}"""
        return self.for_each(self.limit_of)

    def named(self, *, expect):
        """Ids of the volumes that the audit names for their limits."""
        return {
            row['Object'].removeprefix('volume ')
            for row in self.tier(
                'audit', '--volumes', '--limits', expect=expect
            )
            if row['Aspect'] == 'limits' and row['Expected']
        }

    def repair_until_killed(self, repaired):
        with forked.started(
            (
                'openstack',
                *self.arguments,
                *('tier', 'repair', '--catalog', str(self.path)),
                *REPAIR,
            ),
            environment=dict(os.environ),
        ) as command:
            said = []
            for line in command.stderr:
                said.append(line)
                if line.startswith(f'{repaired} of {VOLUMES}: '):
                    command.kill()
                    break
        self.assertEqual(KILLED, command.returncode, said)

    def test_who_repairs_after_a_kill_does_exactly_the_rest(self):
        # As it is of a driver that passes over them, ...
        said = ' '.join(self.run_tier('plan').stderr.split())
        self.assertIn('does not report qos_per_gb_support', said)
        self.assertIn('--driver tiered', said)
        # ... all have other limits.
        self.assertEqual(set(self.wanted), self.named(expect=4))
        for repaired in self.kills:
            self.for_each(self.make_stale)
            self.repair_until_killed(repaired)
            rest = self.rest_after(repaired)
        self.assertTrue(rest)
        rows = self.tier('repair', *REPAIR)
        self.assertEqual(
            {(ident, 'limits', 'done') for ident in rest},
            {(row['Volume'], row['Kind'], row['Outcome']) for row in rows},
        )
        self.assertEqual(self.wanted, self.limits())
        self.assertEqual(set(), self.named(expect=0))
        self.assertEqual([], self.tier('repair', *REPAIR))

    def rest_after(self, repaired):
        """Ids of the volumes that a killed command has not repaired."""
        found = self.limits()
        rest = {ident for ident in found if found[ident] == STALE}
        # Each image has one of the two.
        self.assertEqual(
            {
                ident: STALE if ident in rest else self.wanted[ident]
                for ident in found
            },
            found,
        )
        self.assertLessEqual(len(rest), VOLUMES - repaired)
        self.assertEqual(rest, self.named(expect=4 if rest else 0))
        return rest
