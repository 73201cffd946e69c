# SPDX-License-Identifier: Apache-2.0

"""Answers of Ceph that are nearly JSON, and what is none."""

import testtools

from cinder_tiers.clients import ceph as ceph_session


class AnswerTestCase(testtools.TestCase):
    def test_a_number_that_is_not_finite_is_no_error(self):
        # As Ceph's formatter writes the score of a pool without primaries.
        self.assertEqual(
            [{'a': float('inf'), 'b': ['inf', -float('inf'), ': nan']}],
            ceph_session.parse(b'[{"a":inf, "b": ["inf", -inf, ": nan"]}]'),
        )

    def test_what_is_no_json_is_an_error(self):
        self.assertRaises(ValueError, ceph_session.parse, b'{"a": infinite}')
