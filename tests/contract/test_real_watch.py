# SPDX-License-Identifier: Apache-2.0

"""The watch of a tier, on a real Ceph cluster. Run as test_real_ceph."""

import contextlib
import dataclasses
import tempfile
import threading

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import ceph_access
from cinder_tiers.execute import apply
from cinder_tiers.loop.watch import files
from cinder_tiers.loop.watch import use_case
from tests.contract import probe_contract
from tests.contract import real_ceph
from tests.contract import test_real_reader


def without_settings(catalog, tiers):
    """A catalog with tiers of which nothing but their pools are declared."""
    return dataclasses.replace(
        catalog,
        clusters={
            name: dataclasses.replace(one, host_osd_options={})
            for name, one in catalog.clusters.items()
        },
        tiers=tuple(
            dataclasses.replace(
                tier,
                rbd=dataclasses.replace(
                    tier.rbd,
                    options={},
                    rbd_options={},
                    osd_options={},
                    primary_affinity=None,
                ),
            )
            for tier in tiers
        ),
    )


class WatchedPoolsCase(test_real_reader.CephUsersCase):
    """The pools of the catalog, and who may watch them."""

    #: Of the only tier that is there; None: all are.
    number = None

    def setUp(self):
        super().setUp()
        self.rbd = ceph_session.import_binding('rbd')
        tiers = self.catalog.tiers
        self.catalog = without_settings(
            self.catalog,
            tiers if self.number is None else (tiers[self.number],),
        )
        apply.apply(
            plan=test_real_reader.RealReaderTestCase.make_plan(self),
            executors=self.executors,
            read=self.read,
            report=lambda result: None,
            settle_s=self.settle_s,
        )

    def ioctx(self):
        return self.session._handle.open_ioctx(self.pool)


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RealProbeTestCase(probe_contract.ProbeContract, WatchedPoolsCase):
    """Of a replicated pool."""

    number = 0

    def setUp(self):
        super().setUp()
        (tier,) = self.catalog.tiers
        rbd = tier.rbd
        self.pool, self.data_pool = rbd.pool, rbd.data_pool


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RealErasureCodedProbeTestCase(RealProbeTestCase):
    """Of an erasure coded tier."""

    number = 1


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class RealWatchTestCase(WatchedPoolsCase):
    def test_who_watches_needs_no_more_than_is_printed(self):
        cluster = self.catalog.clusters['ceph']
        watcher = self.session_of(
            ceph_access.watcher(self.catalog, cluster), 'watcher'
        )
        for tier in self.catalog.tiers:
            with self.session._handle.open_ioctx(tier.rbd.data_pool) as ioctx:
                self.rbd.RBD().pool_init(ioctx, False)
            with self.session._handle.open_ioctx(tier.rbd.pool) as ioctx:
                self.rbd.RBD().namespace_create(ioctx, catalogs.WATCH_IMAGE)
            with watcher._handle.open_ioctx(tier.rbd.pool) as ioctx:
                self.assertRaises(
                    self.rbd.PermissionError, self.rbd.RBD().list, ioctx
                )
        folder = self.enterContext(tempfile.TemporaryDirectory())
        found = use_case.watch(
            catalog=self.catalog,
            tiers=self.catalog.tiers,
            kept=files.SeriesFiles(folder),
            windows=2,
            stop=threading.Event(),
            report=lambda found: None,
            complain=lambda failure: None,
            window_s=10.0,
            open_session=lambda cluster: contextlib.nullcontext(watcher),
        )
        self.assertEqual(
            {tier.name for tier in self.catalog.tiers},
            {each.kept.tier for each in found},
        )
        for each in found:
            self.assertEqual((0, ''), (each.last.failed, each.last.pending))
            self.assertTrue(each.last.write_ms and each.last.read_ms)
            unread = {
                name
                for name, value in dataclasses.asdict(each.last.status).items()
                if value is None
            }
            self.assertEqual(set(), unread)
