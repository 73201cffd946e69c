# SPDX-License-Identifier: Apache-2.0

"""What known bad practice is looked for in, from recorded answers."""

import errno
import json
import pathlib

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.audit import practice
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.observe.ceph import practice as observed_practice
from tests.unit.domain import catalogs as given
from tests.unit.domain import test_plan

#: {version: {command: answer}}, of clusters of the lab.
ANSWERS = json.loads(
    pathlib.Path(__file__)
    .with_name('data')
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
    """

    cluster = catalogs.Cluster(name='ceph')

    def __init__(self, version, *, down=(), refuses=()):
        self.answers = ANSWERS[version]
        self.down = down
        self.refuses = refuses
        self.asked = set()

    def command(self, prefix):
        if prefix in self.refuses:
            raise ceph_session.CommandFailed('refused', errno=errno.EACCES)
        return self.answers[prefix]

    def tell(self, osd_id, prefix, **arguments):
        self.asked.add(osd_id)
        if osd_id in self.down:
            raise ceph_session.CommandFailed('down', errno=errno.ENXIO)
        return self.answers[prefix]


class ObserveTestCase(testtools.TestCase):
    def observed(self, session):
        ceph = test_plan.applied(CATALOG).ceph['ceph']
        return observed_practice.observe(session, CATALOG, ceph)

    def test_what_the_autoscaler_of_16_thinks(self):
        # No OSD of it is asked in this test.
        found = self.observed(Session('16.2.15', down=range(99)))
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
