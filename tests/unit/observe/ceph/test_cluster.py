# SPDX-License-Identifier: Apache-2.0

"""What Ceph answers, as domain values. The answers are recorded ones."""

import json
import pathlib

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import difference
from cinder_tiers.files.tiers import reader
from cinder_tiers.observe.ceph import cluster as ceph

SAMPLE = (
    pathlib.Path(__file__).resolve().parents[4]
    / 'etc'
    / 'cinder-tiers'
    / 'tiers.yaml'
)
RECORDED = pathlib.Path(__file__).parents[1] / 'data' / 'ceph-16.2.15.json'


class Recording:
    """A session that gives recorded answers; other commands are errors."""

    cluster = catalogs.Cluster(name='ceph', images_pool='images')

    def __init__(self):
        self.answers = json.loads(RECORDED.read_text('utf-8'))['answers']
        self.rbd_metadata = {
            'tier-archive': {
                'rbd_default_data_pool': 'tier-archive-data',
                'rbd_cache': 'false',
            }
        }

    def command(self, prefix, **arguments):
        recorded = self.answers[' '.join([prefix, *arguments.values()])]
        if recorded['code']:
            raise ceph_session.CephRefused(
                recorded['said'], errno=-recorded['code']
            )
        return recorded['answer']

    def rbd_options(self, pool):
        return self.rbd_metadata.get(pool, {})


class ObserveCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.session = Recording()
        self.catalog = reader.read_file(str(SAMPLE))
        self.state = ceph.observe(self.session, self.catalog)


class ObserveTestCase(ObserveCase):
    def tier(self, name):
        (tier,) = [one for one in self.catalog.tiers if one.name == name]
        return tier_pools.pools_of(tier.rbd)

    def test_the_fsid_can_be_compared(self):
        self.assertEqual(
            '5c0b9d1e-3f64-4a57-9c28-d1e0b7a46f35', self.state.fsid
        )

    def test_what_was_applied_is_what_is_desired(self):
        for name in ('archive', 'database'):
            wanted = self.tier(name)
            for pool in wanted.pools:
                # Recorded when pools had no ownership marker.
                self.assertEqual(
                    ['managed'],
                    [
                        one.field
                        for one in difference.differences(
                            self.state.pools[pool.name], pool
                        )
                    ],
                )
            for rule in wanted.crush_rules:
                self.assertEqual(rule, self.state.crush_rules[rule.name])
            for one in wanted.erasure_code_profiles:
                self.assertEqual(
                    (),
                    difference.differences(
                        self.state.erasure_code_profiles[one.name], one
                    ),
                )

    def test_device_classes_are_counted(self):
        self.assertEqual({'hdd': 3, 'ssd': 3}, self.state.device_classes)

    def test_osds_know_their_host_and_root(self):
        self.assertEqual(
            {'hostA', 'hostB', 'hostC'},
            self.state.buckets(
                kind='host', root='default', device_class='ssd'
            ),
        )
        self.assertEqual(
            6, len(self.state.buckets(kind='osd', root='default'))
        )

    def test_a_pool_may_be_the_autoscaler_s(self):
        self.assertEqual('on', self.state.pools['images'].pg_autoscale_mode)

    def test_settings_that_were_never_set_are_known_too(self):
        options = self.state.pools['tier-database'].options
        self.assertEqual(pool_options.KNOWN, options.keys())
        self.assertEqual(
            ('unset', 'unset', 'false', '0'),
            (
                options['compression_mode'],
                options['target_size_ratio'],
                options['nodelete'],
                options['quota_max_bytes'],
            ),
        )

    def test_rbd_options_are_those_that_the_pool_sets(self):
        self.assertEqual(
            {'rbd_cache': 'false'},
            self.state.pools['tier-archive'].rbd_options,
        )

    def test_the_oldest_clients_are_looked_at_where_it_matters(self):
        self.session.answers['osd dump'] = {
            'code': 0,
            'answer': {'require_min_compat_client': 'luminous'},
        }
        text = SAMPLE.read_text('utf-8')
        shared = text.replace(
            'm: 1', 'm: 2, failure_domains: 2, osds_per_failure_domain: 2'
        )
        self.session.answers[
            'osd erasure-code-profile get tier-archive-data-hdd-host-2x2'
        ] = {'code': -2, 'answer': None, 'said': ''}
        self.assertEqual(
            [None, 'luminous'],
            [
                ceph.observe(
                    self.session, reader.read_text(one, file='t')
                ).min_compat_client
                for one in (text, shared)
            ],
        )

    def test_one_object_reads_as_in_the_whole(self):
        for kind, name, expected in (
            (actions.Kind.POOL, 'tier-archive', self.state.pools),
            (actions.Kind.CRUSH_RULE, 'tier-database', self.state.crush_rules),
            (actions.Kind.CEPHX_USER, 'client.cinder', self.state.users),
        ):
            self.assertEqual(
                expected[name],
                ceph.read(
                    self.session,
                    actions.Key(kind=kind, cluster='ceph', name=name),
                ),
            )
