# SPDX-License-Identifier: Apache-2.0

"""What is read of a cluster before a fault, from answers of Ceph."""

import testtools

from cinder_tiers.domain import errors
from cinder_tiers.loop.fault import facts as cluster_facts
from cinder_tiers.loop.fault import observed_facts
from tests.worlds import fault_cluster


class FaultFactsTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.cluster = fault_cluster.Cluster()
        self.reader = observed_facts.Reader(self.cluster)

    def facts(self, *osd_ids):
        return self.reader.facts('tier-a', lambda holders: osd_ids)

    def test_a_sound_cluster(self):
        found = self.facts(0)
        self.assertEqual(fault_cluster.FSID, found.fsid)
        self.assertTrue(found.health.is_ok)
        # 2147483647 stands for no OSD.
        self.assertEqual({0, 1, 2}, found.holders)
        self.assertEqual([0], list(found.pools_on))
        (pool,) = found.pools_on[0]
        self.assertEqual(
            ('tier-a', 3, 2, 1, 'host'),
            (
                pool.name,
                pool.size,
                pool.min_size,
                pool.least,
                pool.rule.failure_domain,
            ),
        )
        self.assertEqual({'sortbitwise', 'recovery_deletes'}, found.flags)
        self.assertEqual(0.85, found.usage.nearfull_ratio)
        self.assertEqual(
            ({}, frozenset()), (found.not_to_stop, found.upmapped)
        )

    def test_the_readers_osds_are_those_that_hold_the_tier(self):
        asked = []
        self.reader.facts(
            'tier-a', lambda holders: asked.append(holders) or []
        )
        self.assertEqual([frozenset({0, 1, 2})], asked)

    def test_an_erasure_coded_pool(self):
        self.cluster.pools[0] |= {'type': 3, 'erasure_code_profile': 'ec'}
        self.assertEqual(2, self.facts(0).pools_on[0][0].least)

    def test_health(self):
        self.cluster.checks = {'OSD_NEARFULL', 'BLUESTORE_SLOW'}
        self.cluster.osds[1].weight = 0.0
        found = self.reader.health()
        self.assertEqual(
            cluster_facts.Health(
                status='HEALTH_WARN',
                checks=('BLUESTORE_SLOW', 'OSD_NEARFULL'),
                unclean={'active+remapped': 1},
            ),
            found,
        )
        self.assertFalse(found.is_ok)
        self.assertEqual(
            'HEALTH_WARN: BLUESTORE_SLOW, OSD_NEARFULL, 1 placement groups '
            'active+remapped',
            str(found),
        )

    def test_flags_of_an_osd(self):
        self.cluster.osds[2].flags = {'noup', 'nodown'}
        self.assertEqual({'noup', 'nodown'}, self.reader.osds()[2].flags)

    def test_upmaps(self):
        self.cluster.upmaps = [
            {'pgid': '1.1', 'mappings': [{'from': 0, 'to': 3}]}
        ]
        self.assertEqual({3}, self.facts().upmapped)

    def test_what_ceph_says_against_a_stop(self):
        self.cluster.refuses_to_stop = True
        self.assertEqual(
            {1: '8 PGs are already too degraded'}, self.facts(1).not_to_stop
        )

    def test_an_osd_that_does_not_exist_is_not_asked_for(self):
        self.assertEqual({}, self.facts(99).pools_on)

    def test_an_answer_that_is_not_known(self):
        del self.cluster.pools[0]['min_size']
        error = self.assertRaises(errors.TiersError, self.facts, 0)
        self.assertIn("'min_size'", str(error))
