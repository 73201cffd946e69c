# SPDX-License-Identifier: Apache-2.0

"""What known bad practice is looked for in, as Ceph answers."""

import dataclasses
import errno
import json
import pathlib

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.audit import practice
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph.osd import osds
from cinder_tiers.observe.ceph.osd import read_balancer
from cinder_tiers.observe.ceph import practice as observed_practice
from tests.unit.domain import catalogs as given
from tests.unit.domain import test_plan

#: {version: {command: answer}}, of clusters of the lab.
ANSWERS = json.loads(
    pathlib.Path(__file__)
    .parents[1]
    .joinpath('data')
    .joinpath('practice.json')
    .read_text('utf-8')
)
CATALOG = given.of(
    given.tier(
        rbd=given.rbd(
            pool='archive',
            device_class='hdd',
            protection=catalogs.ErasureCoded(k=2, m=1),
        )
    ),
    given.tier('copies'),
)


class Session:
    """A cluster of a version, of which some OSDs are down.

    :param refuses: commands that it refuses.
    :param may_tell: whether the user may ask OSDs.
    """

    cluster = catalogs.Cluster(name='ceph')

    def __init__(self, version, *, down=(), refuses=(), may_tell=True):
        self.answers = {'config dump': [], **ANSWERS[version]}
        self.down = down
        self.refuses = refuses
        self.may_tell = may_tell
        self.asked = set()

    def command(self, prefix, **arguments):
        name = ' '.join([prefix, *map(str, arguments.values())])
        if prefix == 'osd metadata':
            # All OSDs are of one version.
            name = prefix
        if name in self.refuses:
            raise ceph_session.CephRefused('refused', errno=errno.EACCES)
        return self.answers[name]

    def tell(self, osd_id, prefix, **arguments):
        self.asked.add(osd_id)
        if not self.may_tell:
            raise ceph_session.CephRefused('no', errno=errno.EACCES)
        if osd_id in self.down:
            raise ceph_session.CephRefused('down', errno=errno.ENXIO)
        return self.answers[prefix]


class ObserveTestCase(testtools.TestCase):
    def observed(self, session, configured=None):
        ceph = dataclasses.replace(
            test_plan.applied(CATALOG).ceph['ceph'], mclock=configured
        )
        return observed_practice.observe(session, CATALOG, ceph)

    def test_what_the_autoscaler_of_16_thinks(self):
        found = self.observed(Session('16.2.15'))
        self.assertEqual({'images', 'tier-database'}, set(found.pg_targets))
        self.assertEqual(
            practice.PgTarget(
                mode='off',
                pg_num=32,
                wanted_pg_num=32,
                share=0.003710954636335373,
                has_target=False,
                is_bulk=False,
                is_far_off=False,
            ),
            found.pg_targets['images'],
        )

    def test_pools_that_overlap_are_passed_over(self):
        found = self.observed(Session('18.2.7'))
        self.assertEqual(({}, ''), (found.pg_targets, found.pg_targets_unread))

    def test_without_a_manager_the_rest_is_looked_at(self):
        found = self.observed(
            Session('20.2.4', refuses=['osd pool autoscale-status'])
        )
        self.assertEqual(
            ({}, 'refused'), (found.pg_targets, found.pg_targets_unread)
        )
        self.assertEqual({'archive-data'}, set(found.op_queues))

    def test_the_first_osd_that_answers_stands_for_its_pool(self):
        # hdd are 1, 3 and 5.
        session = Session('18.2.7', down=[1])
        self.assertEqual(
            {
                'archive-data': practice.OpQueue(
                    osd_id=3, queue='mclock_scheduler', version='18.2.7'
                )
            },
            self.observed(session).op_queues,
        )
        self.assertEqual({1, 3}, session.asked)
        self.assertEqual(
            {}, self.observed(Session('18.2.7', down=[1, 3, 5])).op_queues
        )

    def test_whoever_may_not_ask_osds_is_told_what_is_configured(self):
        capacity = ceph_state.OsdCapacity(medium='hdd', iops=None)
        for configured, queue in (
            ({1: capacity}, 'mclock_scheduler'),
            ({3: capacity}, 'wpq'),
        ):
            found = self.observed(
                Session('18.2.7', may_tell=False),
                ceph_state.Mclock(capacities=configured, plausible_iops={}),
            )
            self.assertEqual(
                practice.OpQueue(osd_id=1, queue=queue, version='18.2.7'),
                found.op_queues['archive-data'],
            )
        unknown = self.observed(Session('16.2.15', may_tell=False))
        self.assertEqual({}, unknown.op_queues)

    def test_scores_are_there_since_18(self):
        self.assertEqual(
            [
                {},
                {'.mgr': 6, 'images': 1.4099999666213989},
                {'.mgr': 6, 'images': 1.309999942779541},
            ],
            [
                self.observed(Session(version)).read_balance
                for version in ('16.2.15', '18.2.7', '20.2.4')
            ],
        )

    def test_scores_that_ceph_could_not_compute_are_left_out(self):
        self.assertEqual(
            {'good': 1.2},
            observed_practice.parse_scores(
                [
                    {'pool_name': name, 'read_balance': seen}
                    for name, seen in {
                        'good': {'score_acting': 1.2},
                        'none': {'score_acting': 0},
                        'endless': {'score_acting': float('inf')},
                        'odd': {'score_acting': 1.2, 'error_message': 'x'},
                    }.items()
                ]
            ),
        )

    def test_an_option_is_that_of_the_narrowest_section_and_mask(self):
        osds = [
            ceph_state.Osd(
                osd_id=osd_id,
                device_class=device_class,
                location={'host': host, 'rack': 'r', 'root': 'default'},
            )
            for osd_id, device_class, host in (
                (0, 'ssd', 'a'),
                (1, 'ssd', 'b'),
                (2, 'hdd', 'b'),
            )
        ]
        dumped = [
            {'section': section, 'mask': mask, 'name': name, 'value': value}
            for section, mask, name, value in (
                ('osd.1', '', 'osd_x', 'own'),
                ('osd', 'host:b', 'osd_x', 'host'),
                ('osd', 'rack:r', 'osd_y', 'rack'),
                ('osd', 'class:hdd', 'osd_y', 'class'),
                ('osd', 'class:ssd', 'osd_x', 'class'),
                ('osd', 'host:a/class:hdd', 'osd_x', 'neither'),
                ('osd', '', 'osd_x', 'osd'),
                ('global', 'host:b', 'osd_x', 'global'),
                ('global', '', 'osd_z', 'global'),
                ('global', '', 'mon_x', 'of others'),
                ('mon', '', 'osd_z', 'of others'),
            )
        ]
        self.assertEqual(
            {
                0: {'osd_x': 'class', 'osd_y': 'rack', 'osd_z': 'global'},
                1: {'osd_x': 'own', 'osd_y': 'rack', 'osd_z': 'global'},
                2: {'osd_x': 'host', 'osd_y': 'rack', 'osd_z': 'global'},
            },
            observed_practice.parse_osd_options(dumped, osds),
        )

    def test_without_scores_the_rest_is_looked_at(self):
        found = self.observed(
            Session('20.2.4', refuses=['osd pool ls detail'])
        )
        self.assertEqual({}, found.read_balance)
        self.assertEqual({'archive-data'}, set(found.op_queues))


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


class AnswerTestCase(testtools.TestCase):
    def test_a_number_that_is_not_finite_is_no_error(self):
        # As Ceph's formatter writes the score of a pool without primaries.
        self.assertEqual(
            [{'a': float('inf'), 'b': ['inf', -float('inf'), ': nan']}],
            ceph_session.parse(b'[{"a":inf, "b": ["inf", -inf, ": nan"]}]'),
        )

    def test_what_is_no_json_is_an_error(self):
        self.assertRaises(ValueError, ceph_session.parse, b'{"a": infinite}')
