# SPDX-License-Identifier: Apache-2.0

"""Each resource kind on the Ceph release at hand, by `openstack tier`.

Planned, applied, in effect, changed behind our back, found by the audit,
planned again, and nothing left to do. What came of it is a row of the page of
releases: CINDER_TIERS_TEST_TABLE names a folder for it, see
`tests.contract.releases`. All kinds at once, since each command takes seconds.
"""

import json
import pathlib
import tempfile
import time
import uuid

import testtools
import yaml

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.observe.ceph import osds as observed_osds
from tests.contract import cinder_api
from tests.contract import real_ceph
from tests.contract import releases
from tests.unit.cli import shell

#: What OSDs with mClock, the default queue since Ceph 17, would not heed.
NOT_WITH_MCLOCK = ('osd_recovery_sleep', 'osd_max_backfills')
#: Longer than an OSD takes to hear of an option.
MOST_SECONDS = 60


@testtools.skipUnless(real_ceph.CONF, 'CINDER_TIERS_TEST_CEPH_CONF is not set')
class EveryKindTestCase(testtools.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cinder_api.CinderApi()
        cls.addClassCleanup(cls.api.stop)

    def setUp(self):
        super().setUp()
        self.mark = f'kinds-{uuid.uuid4().hex[:8]}'
        self.session = self.enterContext(
            ceph_session.session(
                catalogs.Cluster(name='ceph', conf=real_ceph.CONF)
            )
        )
        osds = observed_osds.read_osds(self.session)
        self.hdd, self.ssd = sorted({osd.device_class for osd in osds})[:2]
        self.ids = [osd.osd_id for osd in osds if osd.device_class == self.hdd]
        self.host = min(osd.location['host'] for osd in osds)
        self.of_host = [
            osd.osd_id for osd in osds if osd.location['host'] == self.host
        ]
        self.version = self.session.command('version')['version'].split()[2]
        self.path = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory()), 'tiers.yaml'
        )
        self.addCleanup(self.remove)

    def pool(self, name, device_class, **settings):
        return {
            'pool': f'{self.mark}-{name}',
            'device_class': device_class,
            'failure_domain': 'osd',
            'pg_num': 8,
            'replicated': {'size': 2, 'min_size': 2},
            **settings,
        }

    def declare(self, **osd_options):
        """Write the tiers file; a tier with all that it may have, and two."""
        whole = {
            'description': 'each kind',
            'tags': [self.mark],
            'priority': 10,
            'quotas': {'volumes': 10, 'gigabytes': 100},
            'qos': {'front_end': {'total_iops_sec': 500}},
            'encryption': {
                'provider': 'luks',
                'cipher': 'aes-xts-plain64',
                'key_size_bits': 256,
                'control_location': 'front-end',
            },
            'rbd': {
                'cluster': 'ceph',
                **self.pool(
                    'whole',
                    self.hdd,
                    pool_options={'compression_mode': 'passive'},
                    osd_options={'osd_max_scrubs': 2} | osd_options,
                    rbd_options={'rbd_readahead_max_bytes': 65536},
                    primary_affinity=0.5,
                    cache={
                        **self.pool('cache', self.ssd),
                        'mode': 'writeback',
                        'target_max_bytes': 2**26,
                        'cache_min_flush_age': 5,
                    },
                ),
            },
        }
        coded = {
            'tags': [f'{self.mark}-coded'],
            'priority': 20,
            'rbd': {
                'cluster': 'ceph',
                **self.pool('coded', self.hdd),
                'erasure_coded': {'k': 2, 'm': 1},
            },
        }
        del coded['rbd']['replicated']
        self.path.write_text(
            yaml.safe_dump(
                {
                    'version': 1,
                    'clusters': {
                        'ceph': {
                            'conf': real_ceph.CONF,
                            'cinder_user': self.mark,
                            'host_osd_options': {
                                self.host: {
                                    'bluestore_prefer_deferred_size_ssd': '16K'
                                }
                            },
                        }
                    },
                    'tiers': {
                        f'{self.mark}-whole': whole,
                        f'{self.mark}-coded': coded,
                        f'{self.mark}-other': {
                            'fallback': True,
                            'rbd': {
                                'cluster': 'ceph',
                                **self.pool('other', self.ssd),
                            },
                        },
                    },
                },
                sort_keys=False,
            )
        )

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

    def remove(self):
        command = self.session.command
        whole, cache = f'{self.mark}-whole', f'{self.mark}-cache'
        pools = [
            f'{self.mark}-{name}'
            for name in ('whole', 'cache', 'coded', 'coded-data', 'other')
        ]
        if cache in command('osd pool ls'):
            command('osd tier remove-overlay', pool=whole)
            command('osd tier remove', pool=whole, tierpool=cache)
        real_ceph.delete_pools(self.session, pools)
        for name in pools:
            command('osd crush rule rm', name=name)
            command('osd erasure-code-profile rm', name=name)
        for osd_id in self.ids:
            command('osd primary-affinity', id=osd_id, weight=1.0)
        for who, name in (
            (f'osd/class:{self.hdd}', 'osd_max_scrubs'),
            (f'osd/host:{self.host}', 'bluestore_prefer_deferred_size_ssd'),
        ):
            command('config rm', who=who, name=name)
        command('auth rm', entity=f'client.{self.mark}')

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
        refused = {name: self.is_refused(name) for name in NOT_WITH_MCLOCK}
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
        coded = pools[f'{self.mark}-coded-data']
        affinities = {
            round(node['primary_affinity'], 4)
            for node in command('osd tree')['nodes']
            if node.get('device_class') == self.hdd
        }
        caps = command('auth get', entity=f'client.{self.mark}')[0]['caps']
        rule = command('osd crush rule dump', name=f'{self.mark}-whole')
        checks = {
            'pool': (pool['size'], pool['min_size'], pool['pg_num'])
            == (2, 2, 8)
            and pool['options']['compression_mode'] == 'passive',
            'crush rule': f'~{self.hdd}' in json.dumps(rule),
            'erasure code profile': coded['erasure_code_profile']
            == f'{self.mark}-coded-data'
            and coded['size'] == 3,
            'primary affinity': affinities == {0.5},
            'cephx user': f'{self.mark}-cache' in caps['osd'],
            'cache tier': pool['write_tier'] == cache['pool']
            and cache['target_max_bytes'] == 2**26,
            'osd options': self.told(self.ids, 'osd_max_scrubs') == {'2'},
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

    def change_behind_our_back(self):
        command = self.session.command
        pool = f'{self.mark}-whole'
        for name, value in (('min_size', '1'), ('compression_mode', 'force')):
            command('osd pool set', pool=pool, var=name, val=value)
        command(
            'config set',
            who=f'osd/class:{self.hdd}',
            name='osd_max_scrubs',
            value='4',
        )
        command(
            'config set',
            who=f'osd/host:{self.host}',
            name='bluestore_prefer_deferred_size_ssd',
            value='8192',
        )
        command('osd primary-affinity', id=self.ids[0], weight=0.25)
        command(
            'osd pool set',
            pool=f'{self.mark}-cache',
            var='cache_min_flush_age',
            val='9',
        )
        entity = f'client.{self.mark}'
        command('auth caps', entity=entity, caps=['mon', 'profile rbd'])

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
