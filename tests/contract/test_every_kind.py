# SPDX-License-Identifier: Apache-2.0

"""Each resource kind on the Ceph release at hand, by `openstack tier`.

Planned, applied, in effect, changed behind our back, found by the audit,
planned again, and nothing left to do. What came of it is a row of the page of
releases: CINDER_TIERS_TEST_TABLE names a folder for it, see
`tests.contract.releases`. All kinds at once, since each command takes seconds.
"""

import json
import time

import testtools

from tests.contract import every_kind
from tests.contract import real_ceph
from tests.contract import releases
from tests.unit.cli import shell
from tests.worlds import cinder_api

#: Longer than an OSD takes to hear of an option.
MOST_SECONDS = 60


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class EveryKindTestCase(every_kind.EveryKindCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        # audit asks its scheduler where backends keep volumes.
        cls.api.add_backend('any')

    def tier(self, verb, *arguments, expect=0):
        done = shell.openstack(
            *self.api.shell_arguments,
            'tier',
            verb,
            '--catalog',
            str(self.path),
            '-f',
            'json',
            *arguments,
        )
        self.assertEqual(expect, done.status, done.stderr)
        return json.loads(done.stdout or '[]')

    def test_each_kind(self):
        self.declare()
        planned = {
            releases.kind_of(row['Object']): row
            for row in self.tier('plan', expect=4)
        }
        self.assertEqual(set(releases.KINDS), set(planned))
        ciphers = self.session.command('mon dump').get(
            'auth_allowed_ciphers', [{'name': 'aes'}]
        )
        self.assertEqual(
            'aes' not in {one['name'] for one in ciphers},
            'Upgrade them first' in planned['cephx user']['Effect'],
        )
        self.tier('apply', '--yes')
        self.assertEqual([], self.tier('plan'))
        self.assertEqual(
            {'compliant'},
            {row['State'] for row in self.tier('audit')} - {'warning'},
        )
        self.assertEqual(set(), self.not_in_effect())
        self.change_behind_our_back()
        found = self.wait_for_audit()
        self.assertEqual(releases.AUDITED, found)
        self.tier(
            'apply', '--yes', '--allow', f'pool {self.mark}-whole (ceph)'
        )
        self.assertEqual([], self.tier('plan'))
        refused = {
            name: self.is_refused(name) for name in every_kind.NOT_WITH_MCLOCK
        }
        has_mclock = 'mclock_scheduler' in {
            self.session.tell(osd_id, 'config get', var='osd_op_queue')[
                'osd_op_queue'
            ]
            for osd_id in self.ids
        }
        self.assertEqual({has_mclock}, set(refused.values()))
        releases.keep(self.version, refused)

    def is_refused(self, option):
        """Whether a plan with an option of OSDs is refused."""
        self.declare(**{option: 2})
        done = shell.openstack(
            *self.api.shell_arguments,
            'tier',
            'plan',
            '--catalog',
            str(self.path),
        )
        self.assertIn(done.status, (4, 5), done.stderr)
        return done.status == 5

    def not_in_effect(self):
        """Kinds of which the cluster itself shows something else."""
        command = self.session.command
        pools = {one['pool_name']: one for one in command('osd dump')['pools']}
        pool = pools[f'{self.mark}-whole']
        cache = pools[f'{self.mark}-cache']
        coded = pools[f'{self.mark}-chunks']
        profile = command(
            'osd erasure-code-profile get', name=f'{self.mark}-chunks'
        )
        affinities = {
            round(node['primary_affinity'], 4)
            for node in command('osd tree')['nodes']
            if node.get('device_class') == every_kind.HDD
        }
        caps = command('auth get', entity=f'client.{self.mark}')[0]['caps']
        rule = command('osd crush rule dump', name=f'{self.mark}-whole')
        first, others = (
            step['item_name']
            for step in command(
                'osd crush rule dump', name=f'{self.mark}-other'
            )['steps']
            if step['op'] == 'take'
        )
        limits = self.session.rbd_options(f'{self.mark}-whole')
        checks = {
            'pool': (pool['size'], pool['min_size'], pool['pg_num'])
            == (2, 2, 8)
            and pool['options']['compression_mode'] == 'passive'
            and limits['rbd_qos_iops_burst'] == '2000',
            'crush rule': f'~{every_kind.HDD}' in json.dumps(rule)
            and (first, others)
            == (
                f'{self.host}~{every_kind.SSD}',
                f'{self.host}~{every_kind.HDD}',
            ),
            'erasure code profile': coded['erasure_code_profile']
            == f'{self.mark}-chunks'
            and (coded['size'], coded['stripe_width']) == (3, 2 * 16384)
            and (profile['plugin'], profile['technique'])
            == ('isa', 'reed_sol_van'),
            'primary affinity': affinities == {0.5},
            'cephx user': f'{self.mark}-cache' in caps['osd'],
            'cache tier': pool['write_tier'] == cache['pool']
            and cache['target_max_bytes'] == 2**26,
            'osd options': self.told(self.ids, every_kind.CLASS_OPTION)
            == {'2'},
            'host osd options': self.told(
                self.of_host, 'bluestore_prefer_deferred_size_ssd'
            )
            == {'16384'},
        }
        self.assertEqual(set(checks), set(releases.KINDS) - releases.OF_CINDER)
        return {kind for kind, holds in checks.items() if not holds}

    def told(self, osd_ids, option):
        return {
            str(self.session.tell(osd_id, 'config get', var=option)[option])
            for osd_id in osd_ids
        }

    def wait_for_audit(self):
        """Aspects that the audit names; OSDs hear of an option soon."""
        wanted = releases.AUDITED
        until = time.monotonic() + MOST_SECONDS
        while True:
            found = {
                row['Aspect']
                for row in self.tier('audit', expect=4)
                if row['State'] not in ('compliant', 'warning')
            }
            if found == wanted or time.monotonic() > until:
                return found
            time.sleep(1)
