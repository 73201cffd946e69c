# SPDX-License-Identifier: Apache-2.0

"""What is of somebody else, or has gone, on a real Ceph.

Pools without their marker, users with other capabilities, volumes whose pool
is not where the tiers file says, and what a removed tier leaves.
"""

import shlex
import uuid

import ddt
import keystoneauth1.session
from keystoneauth1 import token_endpoint
import testtools

from tests.contract import commands
from tests.contract import real_ceph

TIER = """
    MARK:
      fallback: true
      rbd:
        cluster: ceph
        pool: MARK
        device_class: ssd
        failure_domain: osd
        pg_num: 8
        replicated: {size: 2}
    """
SECOND = TIER.replace('fallback: true', 'tags: [second]').replace(
    'MARK', 'MARK-second'
)
WITH_DATA = """
    MARK:
      fallback: true
      rbd:
        cluster: ceph
        pool: MARK
        device_class: ssd
        failure_domain: osd
        pg_num: 8
        erasure_coded: {k: 2, m: 1}
    """
REFUSED = 5


@ddt.ddt
@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class OwnershipTestCase(commands.CommandsCase):
    def setUp(self):
        super().setUp()
        self.user = f'client.{self.mark}'
        self.pool = f'pool {self.mark} (ceph)'

    def refused(self, verb='plan'):
        """{object: why} of what a plan refuses."""
        return {
            row['Object']: row['Reason']
            for row in self.tier(verb, expect=REFUSED)
            if row['Refused']
        }

    def allow(self, *names, expect=0):
        """Apply with consent."""
        done = self.run_tier(
            'apply', *(word for one in names for word in ('--allow', one))
        )
        self.assertEqual(expect, done.status, done.stderr)

    def pools(self):
        """{name: pool} of those of the test."""
        return {
            one['pool_name']: one
            for one in self.session.command('osd dump')['pools']
            if one['pool_name'].startswith(self.mark)
        }

    def caps(self):
        return self.session.command('auth get', entity=self.user)[0]['caps']

    def add_volume(self):
        session = keystoneauth1.session.Session(
            auth=token_endpoint.Token(self.api.endpoint, self.api.token)
        )
        types = session.get(f'{self.api.endpoint}/types').json()
        (found,) = (
            one['id']
            for one in types['volume_types']
            if one['name'] == self.mark
        )
        self.api.add_volume(host='node@x#x', volume_type_id=found)

    def add_backend(self, fsid, pool):
        self.api.add_backend(
            f'tier-{self.mark}',
            storage_protocol='ceph',
            location_info=f'ceph:{real_ceph.CONF}:{fsid}:{self.mark}:{pool}',
        )

    @ddt.data((TIER, ''), (WITH_DATA, '-data'))
    @ddt.unpack
    def test_a_lost_pool_is_made_anew_with_consent_only(self, tiers, suffix):
        self.declare(tiers)
        self.allow()
        self.add_volume()
        self.tier('plan')
        lost = f'{self.mark}{suffix}'
        real_ceph.delete_pools(self.session, [lost])
        ((name, reason),) = self.refused().items()
        self.assertEqual(f'pool {lost} (ceph)', name)
        self.assertIn(f'1 volume of {self.mark} is expected there', reason)
        self.allow(expect=REFUSED)
        self.assertNotIn(lost, self.pools())
        self.allow(name)
        self.assertIn(lost, self.pools())
        self.tier('plan')

    def test_another_cluster_than_the_backends_report(self):
        self.declare(TIER)
        other = str(uuid.uuid4())
        self.add_backend(other, self.mark)
        refused = self.refused()
        self.assertEqual(
            {self.pool, f'cephx user {self.user} (ceph)'}, {*refused}
        )
        for reason in refused.values():
            self.assertIn(other, reason)
            self.assertIn(self.session.command('mon dump')['fsid'], reason)
        self.allow(expect=REFUSED)
        self.assertEqual({}, self.pools())
        self.allow(*refused)
        self.tier('plan')

    def test_a_pool_that_was_renamed_in_the_tiers_file(self):
        self.declare(TIER)
        self.add_backend(self.session.command('mon dump')['fsid'], self.mark)
        self.allow()
        self.add_volume()
        self.declare(TIER.replace('pool: MARK', 'pool: MARK-other'))
        refused = self.refused()
        self.assertEqual({f'pool {self.mark}-other (ceph)'}, {*refused})
        self.allow(expect=REFUSED)
        self.assertEqual({self.mark}, {*self.pools()})

    @ddt.data('with an image', 'empty', 'without an application')
    def test_a_pool_with_a_rule_of_its_name_is_of_others(self, what):
        command = self.session.command
        command(
            'osd crush rule create-replicated',
            name=self.mark,
            root='default',
            type='osd',
            **{'class_': 'ssd'},
        )
        command(
            'osd pool create',
            pool=self.mark,
            pg_num=8,
            pgp_num=8,
            pool_type='replicated',
            rule=self.mark,
            size=2,
            autoscale_mode='off',
        )
        if what != 'without an application':
            command('osd pool application enable', pool=self.mark, app='rbd')
        if what == 'with an image':
            self.session.set_rbd_option(self.mark, 'rbd_cache', 'false')
        self.declare(TIER)
        before = self.pools()[self.mark]['application_metadata']
        refused = self.refused()
        self.assertIn('ownership marker', refused.pop(self.pool))
        self.assertEqual({}, refused)
        self.allow(expect=REFUSED)
        self.assertEqual(
            before, self.pools()[self.mark]['application_metadata']
        )
        self.allow(self.pool)
        self.assertEqual(
            {'rbd': {'managed_by': 'cinder-tiers'}},
            self.pools()[self.mark]['application_metadata'],
        )
        self.tier('plan')

    def test_a_user_of_others_gets_nothing_without_consent(self):
        theirs = [
            'mon',
            'allow r',
            'osd',
            'allow rwx  pool=vms',
            'mds',
            'allow',
        ]
        self.session.command(
            'auth get-or-create', entity=self.user, caps=theirs
        )
        held = self.caps()
        self.declare(TIER)
        name = f'cephx user {self.user} (ceph)'
        refused = self.refused()
        self.assertEqual({name}, {*refused})
        self.assertIn('osd allow rwx pool=vms', refused[name])
        self.allow(expect=REFUSED)
        self.assertEqual(held, self.caps())
        self.allow(name)
        for daemon, text in held.items():
            self.assertTrue(self.caps()[daemon].startswith(text))
        self.tier('plan')
        # Another tier is no news to it.
        self.declare(TIER + SECOND)
        self.allow()
        self.assertIn(f'pool={self.mark}-second', self.caps()['osd'])
        self.assertIn('allow rwx  pool=vms', self.caps()['osd'])

    def test_a_user_of_ceph_is_never_changed(self):
        entity = 'client.bootstrap-rbd'
        before = self.session.command('auth get', entity=entity)[0]['caps']
        self.declare(TIER)
        self.path.write_text(
            self.path.read_text().replace(
                f'cinder_user: {self.mark}', 'cinder_user: bootstrap-rbd'
            )
        )
        name = f'cephx user {entity} (ceph)'
        self.assertEqual({name}, {*self.refused()})
        done = self.run_tier('apply', '--allow', name)
        self.assertNotEqual(0, done.status)
        self.assertEqual(
            before, self.session.command('auth get', entity=entity)[0]['caps']
        )

    def test_what_a_removed_tier_left_is_reported_until_it_is_removed(self):
        self.declare(TIER + SECOND)
        self.allow()
        self.declare(TIER)
        self.allow(f'volume type {self.mark}-second')
        second = f'{self.mark}-second'

        def left():
            return {
                row['Object']: row['Reason']
                for row in self.tier('audit')
                if row['Aspect'] == 'left over' and self.mark in row['Object']
            }

        self.assertEqual({f'pool {second} (ceph)'}, {*left()})
        real_ceph.delete_pools(self.session, [second])
        self.assertEqual(
            {f'cephx user {self.user} (ceph)', f'crush rule {second} (ceph)'},
            {*left()},
        )
        remedy = left()[f'cephx user {self.user} (ceph)']
        words = shlex.split(remedy.partition('revoke them: ')[2])
        self.assertEqual(['ceph', 'auth', 'caps', self.user], words[:4])
        self.session.command('auth caps', entity=self.user, caps=words[4:])
        self.assertNotIn(second, str(self.caps()))
        self.tier('plan')
        self.assertEqual({}, left())
