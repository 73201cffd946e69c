# SPDX-License-Identifier: Apache-2.0

"""Whether a cluster balances reads."""

import dataclasses
import errno

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph.osd import osds
from cinder_tiers.observe.ceph.osd import read_balancer
from tests.unit.domain import catalogs as given


class Balancer:
    """A cluster with a balancer.

    :param status: of it; None: there is no manager.
    :param chosen: OSD ids that were made primaries.
    """

    def __init__(self, status, chosen=()):
        self.status = status
        self.chosen = chosen

    def command(self, prefix):
        if prefix == 'osd dump':
            return {
                'pg_upmap_primaries': [
                    {'pgid': f'2.{number:x}', 'primary_osd': osd_id}
                    for number, osd_id in enumerate(self.chosen)
                ]
            }
        if prefix == 'balancer status' and self.status:
            # As Ceph 18.2.7 and 20.2.4 answer, without the plans.
            return {
                'last_optimize_duration': '',
                'no_optimization_needed': False,
                **self.status,
            }
        raise ceph_session.CephRefused('no manager', errno=errno.EACCES)


class ReadBalancerTestCase(testtools.TestCase):
    def test_what_chooses_primaries(self):
        for status, mode in (
            ({'active': True, 'mode': 'upmap'}, ''),
            ({'active': True, 'mode': 'upmap-read'}, 'upmap-read'),
            ({'active': True, 'mode': 'read'}, 'read'),
            ({'active': False, 'mode': 'read'}, ''),
            (None, ''),
        ):
            self.assertEqual(
                ceph_state.ReadBalancer(mode=mode, primaries={3: 2, 1: 1}),
                read_balancer.observe(Balancer(status, [3, 1, 3]), 18),
            )

    def test_a_release_without_one_is_not_asked(self):
        for release in (None, 16, 17):
            self.assertIsNone(read_balancer.observe(Balancer(None), release))

    def test_it_is_asked_where_a_tier_declares_an_affinity(self):
        class Cluster(Balancer):
            cluster = catalogs.Cluster(name='ceph')

            def command(self, prefix):
                if prefix == 'osd tree':
                    return {'nodes': []}
                return super().command(prefix)

        found = dataclasses.replace(given.empty_cluster(), release=19)
        for affinity, asked in ((None, False), (0.5, True)):
            self.assertEqual(
                asked,
                'read_balancer'
                in osds.observe(
                    Cluster({'active': True, 'mode': 'read'}),
                    given.of(
                        given.tier(rbd=given.rbd(primary_affinity=affinity))
                    ),
                    found,
                ),
            )
