# SPDX-License-Identifier: Apache-2.0

"""What an operator, a request or a cluster says of pools."""

import ddt
import testtools

from cinder_tiers.driver import pools

POOLS = pools.parse(['tier-a:a', 'tier-b:b'])


def found(name, **values):
    """A pool as Ceph lists it."""
    return {
        'pool_name': name,
        'type': 1,
        'application_metadata': {'rbd': {}},
        'flags_names': 'hashpspool',
        **values,
    }


@ddt.ddt
class PoolsTestCase(testtools.TestCase):
    @ddt.data(
        '', 'tier-a', ':a', 'tier-a:', 'a:b:c', 'a/b:c', 'a#b:c', 'a:b c'
    )
    def test_an_entry_that_is_none_is_quoted(self, entry):
        error = self.assertRaises(pools.Invalid, pools.parse, [entry])
        self.assertIn(repr(entry), str(error))

    @ddt.data(
        (['a:x', 'a:y'], 'a:x and a:y name one pool of Cinder'),
        (['a:x', 'b:x'], 'a:x and b:x name one RADOS pool'),
    )
    @ddt.unpack
    def test_two_entries_of_one_pool_are_named(self, entries, expected):
        error = self.assertRaises(pools.Invalid, pools.parse, entries)
        self.assertIn(expected, str(error))

    @ddt.data(None, '', 'node@ceph', 'node@ceph#', 'node@ceph#other')
    def test_a_host_without_a_known_pool_is_refused(self, host):
        error = self.assertRaises(
            pools.Invalid, pools.pool_of, host, ['tier-a', 'tier-b']
        )
        self.assertIn('tier-a, tier-b', str(error))
