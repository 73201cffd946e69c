# SPDX-License-Identifier: Apache-2.0

"""Two clusters of a tiers file that are one: nothing is written to it."""

import contextlib
import copy
import pathlib
import tempfile

import testtools

from cinder_tiers.domain import errors
from cinder_tiers.files.tiers import reader
from cinder_tiers import workflow
from tests.unit.execute import test_cinder_world
from tests.worlds import cinder_api
from tests.worlds import placing_cluster

HOSTS = dict.fromkeys('abcd', ('ssd', 'hdd'))
#: Without the conf of the second zone, which then is the first one.
ZONES = """version: 1
clusters:
  north: {conf: /etc/ceph/ceph.conf}
  south: {}
tiers:
  general-north:
    fallback: true
    extra_specs: {'RESKEY:availability_zones': north}
    rbd:
      cluster: north
      pool: tier-general
      device_class: hdd
      replicated: {size: 3}
  general-south:
    fallback: true
    extra_specs: {'RESKEY:availability_zones': south}
    rbd:
      cluster: south
      pool: tier-general
      device_class: ssd
      replicated: {size: 3}
"""


class TwoNamesTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        api = cinder_api.CinderApi()
        self.addCleanup(api.stop)
        self.connection = test_cinder_world.log_in(api)
        self.addCleanup(self.connection.close)
        self.folder = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory())
        )
        self.catalog = reader.read_text(ZONES, file='tiers.yaml')
        self.ceph = placing_cluster.Cluster(
            self.catalog.clusters['north'], HOSTS
        )

    @contextlib.contextmanager
    def session(self, cluster):
        """Another session with the one cluster."""
        session = copy.copy(self.ceph)
        session.cluster = cluster
        yield session

    @contextlib.contextmanager
    def clusters(self, catalog):
        with contextlib.ExitStack() as stack:
            yield {
                one.name: stack.enter_context(self.session(one))
                for one in catalog.clusters_in_use
            }

    def plan(self):
        return workflow.plan(
            connection=self.connection,
            catalog=self.catalog,
            open_clusters=self.clusters,
        )

    def apply(self):
        return workflow.apply(
            connection=self.connection,
            wanted=self.catalog,
            lock=workflow.Lock(url=f'file://{self.folder}/locks'),
            agree=lambda planned: None,
            report=lambda result: None,
            open_clusters=self.clusters,
        )

    def test_neither_is_planned_nor_applied(self):
        for refused in (self.plan, self.apply):
            error = self.assertRaises(errors.ProblemsFound, refused)
            self.assertIn(
                "tiers.yaml:4: clusters 'north' (tiers.yaml:3) and 'south' "
                '(tiers.yaml:4) are one Ceph cluster, with the fsid '
                f'{self.ceph.fsid}; expected one name for each',
                str(error),
            )
        self.assertEqual({}, self.ceph.pools)
        self.assertEqual(['replicated_rule'], list(self.ceph.rules))
        types = self.connection.block_storage.types(is_public='None')
        self.assertEqual(['__DEFAULT__'], [one.name for one in types])
