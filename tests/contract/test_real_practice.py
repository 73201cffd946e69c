# SPDX-License-Identifier: Apache-2.0

"""Known bad practice, made on a real Ceph cluster and found by the audit.

What only some releases tell, or do, is found on those and on no other.
"""

import errno

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.audit import practice
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.resources import mclock
from cinder_tiers.observe.ceph.osd import read_balancer
from tests.contract import commands
from tests.contract import real_ceph

#: All of it is declared, and as declared.
TIERS = """
    MARK-weak:
      fallback: true
      expect:
        4k-randread: {p99_ms_max: 20}
      rbd:
        cluster: ceph
        pool: MARK-weak
        device_class: ssd
        failure_domain: osd
        pg_num: 8
        replicated: {size: 2, min_size: 1, unprotected_writes: true}
        cache:
          pool: MARK-cache
          device_class: ssd
          failure_domain: osd
          pg_num: 8
          replicated: {size: 2}
          mode: writeback
          target_max_bytes: 67108864
    MARK-coded:
      tags: [MARK-coded]
      priority: 1
      rbd:
        cluster: ceph
        pool: MARK-coded
        device_class: hdd
        failure_domain: osd
        pg_num: 8
        erasure_coded: {k: 2, m: 1}
    MARK-balanced:
      tags: [MARK-balanced]
      priority: 2
      rbd:
        cluster: ceph
        pool: MARK-balanced
        device_class: ssd
        failure_domain: osd
        replicated: {size: 3}
    """
TIERS_OF_IT = ('weak', 'coded', 'balanced')


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class PracticeTestCase(commands.CommandsCase):
    def warnings(self):
        """{(tier, aspect): row} of what is as declared, and a risk.

        But for the backends, of which this world has none.
        """
        rows = self.tier('audit')
        self.assertEqual(
            set(), {row['State'] for row in rows} - {'compliant', 'warning'}
        )
        return {
            (
                row['Object'].removeprefix(f'tier {self.mark}-'),
                row['Aspect'],
            ): (row)
            for row in rows
            if row['State'] == 'warning' and row['Aspect'] != 'backend'
        }

    def remove(self):
        command = self.session.command
        pools = (f'{self.mark}-weak', f'{self.mark}-cache')
        if set(pools) <= set(command('osd pool ls')):
            command('osd tier remove-overlay', pool=pools[0])
            command('osd tier remove', pool=pools[0], tierpool=pools[1])
        super().remove()

    def queue(self):
        """Of the OSDs that the erasure coded pool lies on."""
        (osd_id, *_) = self.session.command(
            'osd crush class ls-osd', class_='hdd'
        )
        return self.session.tell(osd_id, 'config get', var='osd_op_queue')[
            'osd_op_queue'
        ]

    def version(self):
        """Such as (18, 2, 7)."""
        words = self.session.command('version')['version'].split()
        return tuple(map(int, words[2].split('.')))

    def test_each_practice_is_found_where_it_is_one(self):
        self.declare(TIERS)
        self.tier('apply', '--yes')
        # Of somebody, on OSDs of all classes.
        self.session.command(
            'osd pool create',
            pool=f'{self.mark}-foreign',
            pg_num=1,
            rule='replicated_rule',
        )
        self.session.command(
            'osd pool set',
            pool=f'{self.mark}-balanced',
            var='pg_autoscale_mode',
            val='on',
        )
        wanted = {
            ('weak', practice.REDUNDANCY),
            ('weak', practice.SHARED_OSDS),
            ('balanced', practice.PG_TARGET),
        }
        if self.release >= cache_tier.DEPRECATED_SINCE:
            wanted.add(('weak', practice.DEPRECATED))
        if self.queue() == mclock.QUEUE:
            # The lab does not let its OSDs measure their disks.
            wanted |= {(tier, practice.MCLOCK) for tier in TIERS_OF_IT}
            if self.version() < practice.FIRST_WITH_HELD_BACK_READS:
                wanted.add(('coded', practice.EC_RECOVERY))
        found = self.warnings()
        self.assertEqual(
            wanted,
            {
                one
                for one in found
                # Chance makes primaries of a few groups uneven.
                if one[1] != practice.READ_BALANCE
            },
        )
        self.assertEqual([], self.tier('plan'))

    def lead_all(self, pool):
        """Make one OSD the primary of each placement group of a pool."""
        number = next(
            one['pool']
            for one in self.session.command('osd dump')['pools']
            if one['pool_name'] == pool
        )
        leader = min(
            self.session.command('osd crush class ls-osd', class_='ssd')
        )
        for group in range(8):
            pgid = f'{number}.{group:x}'
            # Ceph refuses to choose the one that there is.
            if self.session.command('pg map', pgid=pgid)['up'][0] != leader:
                self.session.command(
                    'osd pg-upmap-primary', pgid=pgid, id=leader
                )

    def test_primaries_on_one_osd_are_found_where_ceph_can_choose_them(self):
        affinity = """
            MARK-led:
              fallback: true
              rbd:
                cluster: ceph
                pool: MARK-led
                device_class: ssd
                failure_domain: osd
                pg_num: 8
                replicated: {size: 3}
            """
        self.declare(affinity)
        self.tier('apply', '--yes')
        pool = f'{self.mark}-led'
        if self.release < read_balancer.FIRST_RELEASE:
            refused = self.assertRaises(
                ceph_session.CephRefused, self.lead_all, pool
            )
            self.assertEqual(errno.EINVAL, refused.errno)
            self.assertEqual({}, self.warnings())
            return
        real_ceph.serve_clients_since(self, 'reef')
        self.lead_all(pool)
        (found,) = (
            row
            for (_, aspect), row in self.warnings().items()
            if aspect == practice.READ_BALANCE
        )
        self.assertEqual(
            {f'pool {pool}': 'read_balance_score 3.00'}, found['Current']
        )
        self.assertEqual(
            self.release >= practice.FIRST_WITH_ONLINE_READ_BALANCER,
            'balancer mode upmap-read' in found['Reason'],
        )
        self.declare(affinity + '    primary_affinity: 0.5\n')
        (refused,) = (
            row for row in self.tier('plan', expect=5) if row['Refused']
        )
        self.assertEqual('primary affinity ssd (ceph)', refused['Object'])
        self.assertIn('pg-upmap-primary', refused['Reason'])
