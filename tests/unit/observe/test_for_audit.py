# SPDX-License-Identifier: Apache-2.0

"""What an audit is held against: all that could be read, and what could not.

The answers of Ceph are recorded ones; no Cinder and no Keystone answers.
"""

import errno

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain import errors
from cinder_tiers.files.tiers import reader
from cinder_tiers.observe import for_audit
from cinder_tiers.observe import for_plan
from tests.unit.observe.ceph import test_cluster
from tests.unit.observe.ceph import test_practice


class Session(test_cluster.Recording):
    """A recorded cluster, whose manager answers and whose OSDs are down."""

    def command(self, prefix, **arguments):
        if prefix == 'osd pool autoscale-status':
            return test_practice.ANSWERS['16.2.15'][prefix]
        if prefix == 'config dump':
            return []
        return super().command(prefix, **arguments)

    def tell(self, osd_id, prefix, **arguments):
        raise ceph_session.CephRefused('down', errno=errno.ENXIO)


class NoOpenStack:
    """A connection on which each request fails."""

    def __getattr__(self, name):
        raise errors.Unreachable('nobody answers')


class PoolWithoutIo(Session):
    """A cluster of which one pool serves no I/O."""

    def rbd_options(self, pool):
        if pool == 'tier-archive':
            raise errors.Unreachable(f'Pool {pool} did not complete I/O')
        return super().rbd_options(pool)


class ObserveTestCase(testtools.TestCase):
    def observed(self, session):
        return for_audit.observe(
            catalog=reader.read_file(str(test_cluster.SAMPLE)),
            connection=NoOpenStack(),
            clusters={'ceph': session},
        )

    def test_known_bad_practice_is_looked_for_in_clusters_that_answer(self):
        found = self.observed(Session())
        self.assertEqual(
            {'images', 'tier-database'},
            set(found.practice_facts['ceph'].pg_targets),
        )
        self.assertEqual(audit.Unread(reason='nobody answers'), found.cinder)

    def test_a_pool_without_io_hides_nothing_but_its_rbd_options(self):
        catalog = reader.read_file(str(test_cluster.SAMPLE))

        def findings(session):
            return {
                (one.tier, one.aspect, one.state, *one.current)
                for one in audit.audit(
                    catalog=catalog, observed=self.observed(session)
                )
            }

        whole, partial = findings(Session()), findings(PoolWithoutIo())
        self.assertEqual(
            {('archive', 'rbd options', audit.State.UNKNOWN)},
            partial - whole,
        )
        self.assertEqual(set(), whole - partial)
        self.assertTrue(
            [one for one in whole if one[:2] == ('archive', 'pool')], whole
        )

    def test_a_plan_needs_all_pools(self):
        error = self.assertRaises(
            errors.Unreachable,
            for_plan.observe_cluster,
            PoolWithoutIo(),
            reader.read_file(str(test_cluster.SAMPLE)),
        )
        self.assertIn('tier-archive did not complete I/O', str(error))

    def test_a_cluster_that_does_not_answer_is_not_asked_again(self):
        gone = audit.Unread(reason='it is down')
        found = self.observed(gone)
        self.assertEqual({'ceph': gone}, found.ceph)
        self.assertEqual({}, found.practice_facts)
