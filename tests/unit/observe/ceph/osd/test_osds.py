# SPDX-License-Identifier: Apache-2.0

"""The places and the weights of OSDs, from `osd tree`."""

import testtools

from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph.osd import osds


def bucket(ident, kind, name, *children):
    return {'id': ident, 'type': kind, 'name': name, 'children': children}


def osd(ident, **fields):
    return {
        'id': ident,
        'type': 'osd',
        'name': f'osd.{ident}',
        'device_class': 'ssd',
        'crush_weight': 1.0,
        'exists': 1,
        'status': 'up',
        'reweight': 1,
        'primary_affinity': 1,
        **fields,
    }


def parsed(*nodes, stray=()):
    """The state of a cluster with these nodes, and nothing else."""
    return ceph_state.CephState(
        crush_rules={},
        erasure_code_profiles={},
        pools={},
        users={},
        osds=osds.parse_osds({'nodes': list(nodes), 'stray': list(stray)}),
    )


def domains(ceph, kind, root):
    return dict(ceph.osds_in_buckets(kind=kind, root=root, device_class=None))


class ParseOsdsTestCase(testtools.TestCase):
    def test_a_host_that_is_linked_to_a_second_root_is_below_both(self):
        host = (bucket(-2, 'host', 'a', 0, 1), osd(0), osd(1))
        ceph = parsed(
            bucket(-9, 'root', 'fast', -2),
            *host,
            bucket(-1, 'root', 'default', -2),
            *host,
        )
        self.assertEqual([0, 1], [one.osd_id for one in ceph.osds])
        for root in ('default', 'fast'):
            self.assertEqual({'a': 2}, domains(ceph, 'host', root))
        self.assertEqual({'a'}, ceph.hosts)
        self.assertEqual(2, len(ceph.osds_by_host['a']))

    def test_a_root_below_a_root_is_a_place_of_its_own(self):
        ceph = parsed(
            bucket(-1, 'root', 'default', -3),
            bucket(-3, 'root', 'fast', -2),
            bucket(-2, 'host', 'a', 0),
            osd(0),
        )
        for root in ('default', 'fast'):
            self.assertEqual({'a': 1}, domains(ceph, 'host', root))

    def test_a_rack_in_a_rack_is_one_failure_domain(self):
        """CRUSH takes the first one that it meets."""
        ceph = parsed(
            bucket(-1, 'root', 'default', -3),
            bucket(-3, 'rack', 'outer', -4, -5),
            bucket(-4, 'rack', 'one', -2),
            bucket(-5, 'rack', 'two', -6),
            bucket(-2, 'host', 'a', 0),
            osd(0),
            bucket(-6, 'host', 'b', 1),
            osd(1),
        )
        self.assertEqual({'outer': 2}, domains(ceph, 'rack', 'default'))
        self.assertEqual({'a': 1}, domains(ceph, 'host', 'one'))

    def test_a_host_in_two_racks_counts_in_one_of_them(self):
        shared = (bucket(-2, 'host', 'a', 0), osd(0))
        alone = (bucket(-6, 'host', 'b', 1), osd(1))
        two_racks = (
            bucket(-1, 'root', 'default', -3, -4),
            bucket(-3, 'rack', 'one', -2, -6),
            *shared,
            *alone,
            bucket(-4, 'rack', 'two', -2),
            *shared,
        )
        self.assertEqual(
            {'one': 1, 'two': 1},
            domains(parsed(*two_racks), 'rack', 'default'),
        )
        lone_host = (
            bucket(-1, 'root', 'default', -3, -4),
            bucket(-3, 'rack', 'one', -2),
            *shared,
            bucket(-4, 'rack', 'two', -2),
            *shared,
        )
        self.assertEqual(
            1, len(domains(parsed(*lone_host), 'rack', 'default'))
        )

    def test_what_has_no_data_is_in_no_failure_domain(self):
        ceph = parsed(
            bucket(-1, 'root', 'default', -2, 4),
            bucket(-2, 'host', 'a', 0, 1, 2, 3),
            osd(0, crush_weight=0),
            osd(1, reweight=0, status='down'),
            osd(2, status='destroyed'),
            # It may come back any moment.
            osd(3, status='down'),
            osd(4),
            stray=[osd(5, crush_weight=0)],
        )
        self.assertEqual({'a': 1}, domains(ceph, 'host', 'default'))
        self.assertEqual(
            ['has weight 0', 'is out', 'is destroyed', '', '', 'has weight 0'],
            [one.no_data for one in ceph.osds],
        )
        rule = ceph_state.CrushRule(
            name='r',
            kind='replicated',
            root='default',
            device_class='ssd',
            failure_domain='host',
        )
        self.assertEqual(
            [3, 4], [one.osd_id for one in ceph.osds if rule.takes(one)]
        )

    def test_a_weight_in_one_of_two_places_counts(self):
        ceph = parsed(
            bucket(-1, 'root', 'default', 0),
            osd(0, crush_weight=1.0),
            bucket(-2, 'root', 'fast', 0),
            osd(0, crush_weight=0),
        )
        self.assertEqual('', ceph.osds[0].no_data)
