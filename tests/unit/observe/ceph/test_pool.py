# SPDX-License-Identifier: Apache-2.0

"""Pools and rules that change while they are read."""

import testtools

from cinder_tiers.domain import errors
from cinder_tiers.observe.ceph import pool as observed_pool
from tests.unit.observe.ceph import test_cluster


class RuleThatGoes(test_cluster.Recording):
    """A pool and its rule are deleted between the first two commands."""

    def __init__(self, times):
        super().__init__()
        self.times = times

    def command(self, prefix, **arguments):
        answer = super().command(prefix, **arguments)
        if prefix == 'osd crush rule dump' and self.times:
            self.times -= 1
            return []
        return answer


class ChangingClusterTestCase(testtools.TestCase):
    def test_pools_and_rules_that_do_not_fit_are_read_once_more(self):
        self.assertEqual(
            observed_pool.read_pools(
                test_cluster.Recording(), with_rbd_options=set()
            ),
            observed_pool.read_pools(RuleThatGoes(1), with_rbd_options=set()),
        )
        changing = self.assertRaises(
            errors.Unreachable,
            observed_pool.read_pools,
            RuleThatGoes(2),
            with_rbd_options=set(),
        )
        self.assertIn('changed while it was read', str(changing))
