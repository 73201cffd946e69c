# SPDX-License-Identifier: Apache-2.0

"""What a cluster does with commands for pools, by itself and unasked.

`tests/unit/execute/placing_cluster.py` keeps it, and so does Ceph.
"""

import errno
import json
import time

from cinder_tiers.clients import ceph as ceph_session

#: Until a pool is there.
MOST_SECONDS = 60


class PlacingContract:
    """Mixed into test cases that give `session` and `mark`."""

    def make_pool(self, size=3, **more):
        self.session.command(
            'osd crush rule create-replicated',
            name=self.mark,
            root='default',
            type='osd',
        )
        self.session.command(
            'osd pool create',
            pool=self.mark,
            pool_type='replicated',
            rule=self.mark,
            size=size,
            **{'pg_num': 8, 'pgp_num': 8, 'autoscale_mode': 'off'} | more,
        )
        # The cluster changes the pool once more by itself, when it is there.
        deadline = time.monotonic() + MOST_SECONDS
        while 'creating' in self.pool().get('flags_names', '').split(','):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.2)

    def set_pool(self, var, val):
        self.session.command('osd pool set', pool=self.mark, var=var, val=val)

    def pool(self):
        (found,) = (
            one
            for one in self.session.command('osd pool ls', detail='detail')
            if one['pool_name'] == self.mark
        )
        return found

    def assert_refused(self, code, prefix, **arguments):
        before = json.dumps(self.pool(), sort_keys=True)
        refused = self.assertRaises(
            ceph_session.CephRefused,
            self.session.command,
            prefix,
            **arguments,
        )
        self.assertEqual(code, refused.errno, refused)
        self.assertEqual(before, json.dumps(self.pool(), sort_keys=True))

    def test_a_size_chooses_a_min_size(self):
        for size in (2, 3, 4):
            with self.subTest(size):
                self.make_pool()
                self.set_pool('size', str(size))
                self.assertEqual(
                    (size, size - size // 2),
                    (self.pool()['size'], self.pool()['min_size']),
                )

    def test_a_pool_that_exists_is_not_made_again(self):
        self.make_pool(size=2)
        self.set_pool('noscrub', 'true')
        before = self.pool()
        self.make_pool(size=3)
        self.assertEqual(before, self.pool())

    def test_a_min_size_above_the_size_is_refused(self):
        self.make_pool()
        self.assert_refused(
            errno.EINVAL,
            'osd pool set',
            pool=self.mark,
            var='min_size',
            val='4',
        )

    def test_a_guarded_pool_keeps_size_and_groups(self):
        self.make_pool()
        for guard, var, val in (
            ('nosizechange', 'size', '2'),
            ('nopgchange', 'pg_num', '16'),
        ):
            self.set_pool(guard, 'true')
            self.assert_refused(
                errno.EPERM, 'osd pool set', pool=self.mark, var=var, val=val
            )

    def test_a_second_application_is_refused(self):
        self.make_pool()
        enable = {'pool': self.mark}
        self.session.command(
            'osd pool application enable', **enable, app='cephfs'
        )
        self.assert_refused(
            errno.EPERM, 'osd pool application enable', **enable, app='rbd'
        )

    def test_capabilities_are_replaced(self):
        user = f'client.{self.mark}'
        self.session.command(
            'auth get-or-create',
            entity=user,
            caps=['mon', 'allow r', 'osd', 'allow r pool=a'],
        )
        self.session.command('auth caps', entity=user, caps=['mon', 'allow r'])
        (found,) = self.session.command('auth get', entity=user)
        self.assertEqual({'mon': 'allow r'}, dict(found['caps']))
