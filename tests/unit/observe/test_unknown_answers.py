# SPDX-License-Identifier: Apache-2.0

"""Answers of Ceph in a form that nobody has seen, made from recorded ones.

Each key that is read is left out once, and is null or has a value of another
type once. What comes of it is a failure that names the command, or a plan all
the same; never a traceback.
"""

import copy

import testtools

from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph import practice
from tests.unit.observe.ceph import test_practice


class PracticeTestCase(testtools.TestCase):
    def test_an_early_ceph_16_has_no_flag_for_bulk(self):
        told = copy.deepcopy(test_practice.ANSWERS['16.2.15'])
        for one in told['osd pool autoscale-status']:
            one.pop('bulk', None)
        found = practice.parse_pg_targets(told['osd pool autoscale-status'])
        self.assertEqual({False}, {one.is_bulk for one in found.values()})

    def test_an_unknown_answer_of_the_autoscaler_is_a_text(self):
        for key in ('pool_name', 'pg_num_final', 'would_adjust'):
            session = test_practice.Session('16.2.15')
            session.answers = copy.deepcopy(session.answers)
            for one in session.answers['osd pool autoscale-status']:
                del one[key]
            found = practice.observe(
                session,
                test_practice.CATALOG,
                ceph_state.CephState(
                    crush_rules={},
                    erasure_code_profiles={},
                    pools={},
                    users={},
                    osds=(),
                ),
            )
            self.assertIn(
                '"osd pool autoscale-status" in a form that is not known',
                found.pg_targets_unread,
            )
            self.assertIn(key, found.pg_targets_unread)
