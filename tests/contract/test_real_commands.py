# SPDX-License-Identifier: Apache-2.0

"""`openstack tier plan` and `apply` against a real Ceph and a real Cinder.

Ceph is the cluster of test_real_ceph, run the same way; Cinder is its real
API on sqlite. The tiers are those of the sample tiers file under other names.
"""

import json
import os
import pathlib
import tempfile
import uuid

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from tests.contract import real_ceph
from tests.unit.cli import shell
from tests.worlds import cinder_api

SAMPLE = (
    pathlib.Path(__file__).resolve().parents[2]
    / 'etc'
    / 'cinder-tiers'
    / 'tiers.yaml'
)


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class CommandsTestCase(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)
        # audit asks its scheduler where backends keep volumes.
        cls.api.add_backend('any')

    def setUp(self):
        super().setUp()
        self.mark = f'contract-{uuid.uuid4().hex[:8]}'
        text = (
            SAMPLE.read_text('utf-8')
            .replace('pool: tier-', f'pool: {self.mark}-')
            .replace('cinder_user: cinder', f'cinder_user: {self.mark}')
            .replace('pg_num: 32', 'pg_num: 8')
            .replace('images_pool: images', f'conf: {real_ceph.CONF}')
        )
        handle, self.path = tempfile.mkstemp(suffix='.yaml')
        self.addCleanup(os.unlink, self.path)
        os.write(handle, text.encode())
        os.close(handle)
        self.session = self.enterContext(
            ceph_session.session(
                catalogs.Cluster(name='ceph', conf=real_ceph.CONF)
            )
        )
        self.addCleanup(self.remove)

    def run_tier(self, command, *arguments):
        return shell.openstack(
            *self.api.shell_arguments,
            'tier',
            command,
            '--catalog',
            self.path,
            *arguments,
        )

    def remove(self):
        command = self.session.command
        pools = [
            f'{self.mark}-{name}'
            for name in ('database', 'general', 'archive', 'archive-data')
        ]
        real_ceph.delete_pools(self.session, pools)
        for pool in pools:
            command('osd crush rule rm', name=pool)
        command(
            'osd erasure-code-profile rm', name=f'{self.mark}-archive-data'
        )
        command('auth rm', entity=f'client.{self.mark}')

    def test_plan_apply_plan_drift_plan(self):
        plan = self.run_tier('plan', '-f', 'json')
        self.assertEqual(4, plan.status, plan.stderr)
        planned = [
            (row['Action'], row['Object']) for row in json.loads(plan.stdout)
        ]
        self.assertEqual(14, len(planned))

        done = self.run_tier('apply', '-f', 'json')
        self.assertEqual(0, done.status, done.stderr)
        self.assertEqual(
            [(*row, 'done') for row in planned],
            [
                (row['Action'], row['Object'], row['Result'])
                for row in json.loads(done.stdout)
            ],
        )
        # Besides what it says of keys that older clients cannot read.
        self.assertEqual(
            14,
            sum(line.endswith(': done') for line in done.stderr.splitlines()),
        )

        again = self.run_tier('plan', '-f', 'json')
        self.assertEqual((0, []), (again.status, json.loads(again.stdout)))
        self.assertIn('No changes', again.stderr)

        pool = f'{self.mark}-database'
        self.session.command(
            'osd pool set',
            pool=pool,
            var='pg_autoscale_mode',
            val='warn',
        )
        (drift,) = json.loads(self.run_tier('plan', '-f', 'json').stdout)
        self.assertEqual(
            (
                f'pool {pool} (ceph)',
                {'pg_autoscale_mode': 'warn'},
                {'pg_autoscale_mode': 'off'},
            ),
            (drift['Object'], drift['Before'], drift['After']),
        )
        self.assertEqual(0, self.run_tier('apply').status)

        self.session.command('osd pool set', pool=pool, var='size', val='2')
        refused = self.run_tier('plan')
        self.assertEqual(5, refused.status)
        self.assertIn('size 2 -> 3', refused.stderr)
        self.assertIn(
            f'effect of update pool {pool} (ceph), estimated: ', refused.stderr
        )
        refused = self.run_tier('apply')
        self.assertEqual((5, ''), (refused.status, refused.stdout))
        self.assertIn('Nothing was changed', refused.stderr)
