# SPDX-License-Identifier: Apache-2.0

"""A value of each kind: changed in the catalog, and behind our back.

All of them at once, since each command takes seconds: the plan must show
exactly these and the audit must name each.
"""

import copy
import json
import pathlib
import time

import fixtures
import yaml

from tests.functional import volumes

NAME = 'functional-kinds'
CACHE = f'{NAME}-cache'
#: What the tier has at first.
TIER = {
    'description': 'one',
    'tags': [NAME],
    'priority': 55,
    'overflow': 'general',
    'access': [],
    'quotas': {'volumes': 10, 'gigabytes': 100},
    'qos': {'front_end': {'total_iops_sec': 500}},
    'extra_specs': {'functional:kind': 'one'},
    'rbd': {
        'cluster': 'ceph',
        'pool': NAME,
        'device_class': 'hdd',
        'pg_num': 8,
        'replicated': {'size': 2, 'min_size': 2},
        'pool_options': {
            'compression_mode': 'passive',
            'quota_max_objects': 100000,
        },
        'osd_options': {'osd_max_scrubs': 2},
        'rbd_options': {'rbd_readahead_max_bytes': 65536},
        'primary_affinity': 0.5,
        'cache': {
            'pool': CACHE,
            'device_class': 'ssd',
            'mode': 'writeback',
            'pg_num': 8,
            'replicated': {'size': 2},
            'target_max_bytes': 2**26,
            'cache_min_flush_age': 5,
        },
    },
}
HOST = 'host-a'
#: What the cluster has at first, of the OSDs of that host; with mClock, the
#: default queue since Ceph 17, OSDs use it as well.
HOST_OPTION = 'bluestore_prefer_deferred_size_ssd'
HOST_OPTIONS = {HOST_OPTION: 16384}
#: {object of the plan: fields of it that change}.
CHANGED = {
    f'volume type {NAME}': {
        'description',
        'projects',
        'extra_specs.functional:kind',
        'extra_specs.tiers:priority',
        'extra_specs.tiers:tags',
        'extra_specs.tiers:overflow',
        'extra_specs.volume_backend_name',
    },
    f'default quota {NAME}': {'volumes', 'size_gib'},
    f'qos spec tier-{NAME}': {'specs.total_iops_sec'},
    f'pool {NAME} (ceph)': {
        'options.compression_mode',
        'options.quota_max_objects',
        'rbd_options.rbd_readahead_max_bytes',
    },
    'osd options hdd (ceph)': {'values.osd_max_scrubs'},
    f'host osd options {HOST} (ceph)': {f'values.{HOST_OPTION}'},
    'primary affinity hdd (ceph)': {'value'},
    f'cache tier {NAME} (ceph)': {
        'settings.cache_min_flush_age',
        'settings.target_max_bytes',
    },
}
#: {aspect: fields that the audit names after `change_behind_our_back`}.
NAMED = {
    'volume type': {'description'},
    'extra specs': {'extra_specs.tiers:priority'},
    'access': {'projects'},
    'default quota': {'volumes'},
    'qos spec': {'specs.total_iops_sec'},
    'pool': {'min_size'},
    'pool options': {'options.compression_mode', 'options.quota_max_objects'},
    'rbd options': {'rbd_options.rbd_readahead_max_bytes'},
    'osd options': {'values.osd_max_scrubs'},
    'host osd options': {f'values.{HOST_OPTION}'},
    'primary affinity': {'value'},
    'cache tier': {'settings.cache_min_flush_age'},
}


def changed(tier, project):
    """The tier with another value of each kind."""
    tier = copy.deepcopy(tier)
    tier |= {
        'description': 'two',
        'tags': [NAME, f'{NAME}-2'],
        'priority': 56,
        'overflow': 'archive',
        'access': [project],
        'quotas': {'volumes': 20, 'gigabytes': 200},
        'qos': {'front_end': {'total_iops_sec': 600}},
        'extra_specs': {'functional:kind': 'two'},
    }
    tier['rbd'] |= {
        'pool_options': {
            'compression_mode': 'aggressive',
            'quota_max_objects': 200000,
        },
        'osd_options': {'osd_max_scrubs': 3},
        'rbd_options': {'rbd_readahead_max_bytes': 131072},
        'primary_affinity': 0.75,
    }
    tier['rbd']['cache'] |= {
        'target_max_bytes': 2**27,
        'cache_min_flush_age': 7,
    }
    return tier


class EveryKindTest(volumes.VolumesTestCase):
    def setUp(self):
        super().setUp()
        self.path = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'tiers.yaml'
        )
        self.caps = self.ceph('auth', 'get', 'client.cinder')[0]['caps']
        self.addCleanup(self.restore)

    def ceph(self, *words):
        return json.loads(
            self.run_command('ceph', *words, '--format', 'json')[0].strip()
            or 'null'
        )

    def restore(self):
        """As it was, whatever the test came to."""
        for one in self.cinder.volume_types.list(is_public=None):
            if one.name == NAME:
                self.cinder.volume_types.delete(one)
        for one in self.cinder.qos_specs.list():
            if one.name == f'tier-{NAME}':
                self.cinder.qos_specs.delete(one, force=True)
        for osd_id in self.ceph('osd', 'crush', 'class', 'ls-osd', 'hdd'):
            self.ceph('osd', 'primary-affinity', f'osd.{osd_id}', '1')
        self.ceph('config', 'rm', 'osd/class:hdd', 'osd_max_scrubs')
        self.ceph('config', 'rm', f'osd/host:{HOST}', *HOST_OPTIONS)
        pools = self.ceph('osd', 'pool', 'ls')
        if CACHE in pools and any(
            one['tiers']
            for one in self.ceph('osd', 'pool', 'ls', 'detail')
            if one['pool_name'] == NAME
        ):
            self.ceph('osd', 'tier', 'remove-overlay', NAME)
            self.ceph('osd', 'tier', 'remove', NAME, CACHE)
        for pool in {NAME, CACHE} & set(pools):
            self.ceph(
                'osd',
                'pool',
                'rm',
                pool,
                pool,
                '--yes-i-really-really-mean-it',
            )
        for rule in {NAME, CACHE} & set(
            self.ceph('osd', 'crush', 'rule', 'ls')
        ):
            self.ceph('osd', 'crush', 'rule', 'rm', rule)
        self.ceph(
            'auth',
            'caps',
            'client.cinder',
            *(word for item in sorted(self.caps.items()) for word in item),
        )

    def declare(self, tier, host_options):
        content = yaml.safe_load(
            pathlib.Path(self.environment['CINDER_TIERS_CATALOG']).read_text()
        )
        content['tiers'][NAME] = tier
        content['clusters']['ceph']['host_osd_options'] = {HOST: host_options}
        self.path.write_text(yaml.safe_dump(content, sort_keys=False))

    def tier(self, verb, *options, expect=0):
        return self.ask(
            'openstack',
            'tier',
            verb,
            *options,
            '--catalog',
            str(self.path),
            expect=expect,
        )

    def test_each_is_planned_applied_effective_and_audited(self):
        self.declare(TIER, HOST_OPTIONS)
        self.tier('apply')
        wanted = changed(TIER, self.member.current_project_id)
        self.declare(wanted, {HOST_OPTION: 24576})
        self.assertEqual(
            CHANGED,
            {
                row['Object']: set(row['After'])
                for row in self.tier('plan', expect=4)
            },
        )
        self.tier('apply')
        self.assertEqual([], self.tier('plan'))
        self.assertEqual(
            {'compliant'},
            {row['State'] for row in self.tier('audit')} - {'warning'},
        )
        self.assert_effective()

        self.change_behind_our_back()
        self.assertEqual(NAMED, self.wait_for_audit())
        self.tier(
            'apply',
            '--allow',
            f'volume type {NAME}',
            '--allow',
            f'pool {NAME} (ceph)',
        )
        self.assertEqual([], self.tier('plan'))

    def assert_effective(self):
        """Asked of the daemons, not of what was written."""
        for osd_id in self.ceph('osd', 'crush', 'class', 'ls-osd', 'hdd'):
            told = self.ceph(
                'tell', f'osd.{osd_id}', 'config', 'get', 'osd_max_scrubs'
            )
            self.assertEqual('3', str(told['osd_max_scrubs']))
        for osd_id in self.ceph('osd', 'ls-tree', HOST):
            told = self.ceph(
                'tell', f'osd.{osd_id}', 'config', 'get', HOST_OPTION
            )
            self.assertEqual('24576', str(told[HOST_OPTION]))
        affinities = {
            node['primary_affinity']
            for node in self.ceph('osd', 'tree')['nodes']
            if node['type'] == 'osd' and node['device_class'] == 'hdd'
        }
        self.assertEqual({0.75}, {round(one, 4) for one in affinities})
        pools = {
            one['pool_name']: one
            for one in self.ceph('osd', 'pool', 'ls', 'detail')
        }
        self.assertEqual(
            (2, 200000, 'aggressive', pools[CACHE]['pool_id']),
            (
                pools[NAME]['min_size'],
                pools[NAME]['quota_max_objects'],
                pools[NAME]['options']['compression_mode'],
                pools[NAME]['write_tier'],
            ),
        )
        self.assertEqual(
            (2**27, 7),
            (
                pools[CACHE]['target_max_bytes'],
                pools[CACHE]['cache_min_flush_age'],
            ),
        )
        options = {
            one['name']: one['value']
            for one in json.loads(
                self.run_command(
                    'rbd', 'config', 'pool', 'list', NAME, '--format', 'json'
                )[0]
            )
        }
        self.assertEqual('131072', options['rbd_readahead_max_bytes'])

    def change_behind_our_back(self):
        volume_type = next(
            one
            for one in self.cinder.volume_types.list(is_public=None)
            if one.name == NAME
        )
        self.cinder.volume_types.update(volume_type, description='theirs')
        volume_type.set_keys({'tiers:priority': '57'})
        self.cinder.volume_type_access.remove_project_access(
            volume_type, self.member.current_project_id
        )
        self.cinder.quota_classes.update('default', **{f'volumes_{NAME}': 30})
        spec = next(
            one
            for one in self.cinder.qos_specs.list()
            if one.name == f'tier-{NAME}'
        )
        self.cinder.qos_specs.set_keys(spec.id, {'total_iops_sec': '700'})
        for words in (('min_size', '1'), ('compression_mode', 'force')):
            self.ceph('osd', 'pool', 'set', NAME, *words)
        self.ceph('osd', 'pool', 'set-quota', NAME, 'max_objects', '5')
        self.run_command(
            'rbd',
            'config',
            'pool',
            'set',
            NAME,
            'rbd_readahead_max_bytes',
            '4096',
        )
        self.ceph('config', 'set', 'osd/class:hdd', 'osd_max_scrubs', '4')
        self.ceph('config', 'set', f'osd/host:{HOST}', HOST_OPTION, '8192')
        osd_id = self.ceph('osd', 'crush', 'class', 'ls-osd', 'hdd')[0]
        self.ceph('osd', 'primary-affinity', f'osd.{osd_id}', '0.25')
        self.ceph('osd', 'pool', 'set', CACHE, 'cache_min_flush_age', '9')

    def wait_for_audit(self):
        """{aspect: fields} as the audit names them; OSDs hear of it soon."""
        for _ in range(30):
            found = {
                row['Aspect']: set(row['Current'])
                for row in self.tier('audit', expect=4)
                if row['State'] not in ('compliant', 'warning')
            }
            if found == NAMED:
                break
            time.sleep(1)
        return found
