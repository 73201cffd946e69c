# SPDX-License-Identifier: Apache-2.0

"""What Ceph answers, as domain values. The answers are recorded ones."""

import dataclasses
import json
import pathlib

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import difference
from cinder_tiers.files.tiers import reader
from cinder_tiers.observe.ceph import cephx_user as observed_user
from cinder_tiers.observe.ceph import cluster as ceph
from cinder_tiers.observe.ceph import crush as observed_crush
from cinder_tiers.observe.ceph import pool as observed_pool

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


class RuleThatGoes(Recording):
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
            observed_pool.read_pools(Recording(), with_rbd_options=set()),
            observed_pool.read_pools(RuleThatGoes(1), with_rbd_options=set()),
        )
        changing = self.assertRaises(
            errors.Unreachable,
            observed_pool.read_pools,
            RuleThatGoes(2),
            with_rbd_options=set(),
        )
        self.assertIn('changed while it was read', str(changing))


class ObserveTestCase(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.session = Recording()
        self.catalog = reader.read_file(str(SAMPLE))
        self.state = ceph.observe(self.session, self.catalog)

    def tier(self, name):
        (tier,) = [one for one in self.catalog.tiers if one.name == name]
        return tier_pools.pools_of(tier.rbd)

    def test_the_fsid_can_be_compared(self):
        self.assertEqual(
            '5c0b9d1e-3f64-4a57-9c28-d1e0b7a46f35', self.state.fsid
        )

    def test_a_profile_is_looked_for_under_its_second_name(self):
        # The first name has other chunks than the catalog wants.
        second = 'tier-archive-data-hdd-host'
        self.session.answers[f'osd erasure-code-profile get {second}'] = {
            'code': 0,
            'answer': {'k': '2', 'm': '2', 'crush-device-class': 'hdd'},
        }
        found = ceph.observe(
            self.session,
            reader.read_text(
                SAMPLE.read_text('utf-8').replace('m: 1', 'm: 2'), file='t'
            ),
        )
        self.assertEqual(
            [1, 2],
            [
                found.erasure_code_profiles[name].m
                for name in ('tier-archive-data', second)
            ],
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

    def test_a_rule_without_a_class_takes_all(self):
        rule = self.state.crush_rules['replicated_rule']
        self.assertEqual(
            (None, 'host', 'default'),
            (rule.device_class, rule.failure_domain, rule.root),
        )

    def test_a_rule_over_osds_has_that_failure_domain(self):
        self.assertEqual('osd', self.state.crush_rules['o1'].failure_domain)

    def test_a_rule_of_two_parts_was_recorded(self):
        rule = self.state.crush_rules['by_hand']
        self.assertEqual(
            ('default', 'ssd', 'hdd'),
            (rule.root, rule.primary_device_class, rule.device_class),
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

    def test_the_key_of_a_user_is_not_taken_in(self):
        user = self.state.users['client.cinder']
        self.assertEqual({'mon', 'osd', 'mgr', 'mds'}, user.caps.keys())
        self.assertNotIn('left out', repr(user))

    def test_a_user_that_does_not_exist_is_none(self):
        self.assertIsNone(observed_user.read(self.session, 'client.nobody'))

    def test_a_profile_that_does_not_exist_is_none(self):
        self.assertIsNone(observed_crush.read_profile(self.session, 'nope'))

    def test_a_profile_of_another_plugin_is_no_error(self):
        self.assertEqual(
            4, observed_crush.read_profile(self.session, 'lrcp').k
        )

    def test_a_rule_of_shared_failure_domains_is_known(self):
        # As CrushWrapper::dump_rule of Ceph 20 writes it.
        dumped = {
            'rule_id': 9,
            'rule_name': 'shared',
            'type': 5,
            'steps': [
                {'op': 'set_msr_descents', 'num': 100},
                {'op': 'take', 'item': -2, 'item_name': 'default~hdd'},
                {'op': 'choosemsr', 'num': 4, 'type': 'host'},
                {'op': 'choosemsr', 'num': 3, 'type': 'osd'},
                {'op': 'emit'},
            ],
        }
        self.assertEqual(
            ceph_state.CrushRule(
                name='shared',
                kind='erasure',
                root='default',
                device_class='hdd',
                failure_domain='host',
                num_failure_domains=4,
                osds_per_failure_domain=3,
            ),
            observed_crush.parse_rule(dumped),
        )
        for change in ({'num': 0}, {'type': 'rack'}, {'op': 'choose_indep'}):
            changed = [*dumped['steps']]
            changed[3] = {**changed[3], **change}
            self.assertIsNone(
                observed_crush.parse_rule({**dumped, 'steps': changed}).root,
                change,
            )

    def test_a_rule_with_a_class_for_the_first_copy_is_known(self):
        # As 16.2.15 shows it.
        dumped = {
            'rule_id': 2,
            'rule_name': 'mixed',
            'ruleset': 2,
            'type': 1,
            'min_size': 1,
            'max_size': 10,
            'steps': [
                {'op': 'take', 'item': -2, 'item_name': 'default~ssd'},
                {'op': 'chooseleaf_firstn', 'num': 1, 'type': 'host'},
                {'op': 'emit'},
                {'op': 'take', 'item': -3, 'item_name': 'default~hdd'},
                {'op': 'chooseleaf_firstn', 'num': -1, 'type': 'host'},
                {'op': 'emit'},
            ],
        }
        self.assertEqual(
            ceph_state.CrushRule(
                name='mixed',
                kind='replicated',
                root='default',
                device_class='hdd',
                failure_domain='host',
                primary_device_class='ssd',
            ),
            observed_crush.parse_rule(dumped),
        )
        for number, change in (
            (0, {'item_name': 'default'}),
            (0, {'item_name': 'flash~ssd'}),
            (1, {'num': 2}),
            (1, {'type': 'rack'}),
            (1, {'op': 'chooseleaf_indep'}),
            (3, {'item_name': 'default~ssd'}),
            (4, {'num': 0}),
            (5, {'op': 'noop'}),
        ):
            changed = [*dumped['steps']]
            changed[number] = {**changed[number], **change}
            self.assertIsNone(
                observed_crush.parse_rule({**dumped, 'steps': changed}).root,
                change,
            )

    def test_a_rule_of_two_levels_is_known(self):
        # As 16.2.15 shows what Rook makes of replicasPerFailureDomain.
        dumped = {
            'rule_id': 2,
            'rule_name': 'zones',
            'ruleset': 2,
            'type': 1,
            'min_size': 1,
            'max_size': 10,
            'steps': [
                {'op': 'set_chooseleaf_tries', 'num': 5},
                {'op': 'take', 'item': -2, 'item_name': 'default~ssd'},
                {'op': 'choose_firstn', 'num': 0, 'type': 'zone'},
                {'op': 'chooseleaf_firstn', 'num': 2, 'type': 'host'},
                {'op': 'emit'},
            ],
        }
        expected = ceph_state.CrushRule(
            name='zones',
            kind='replicated',
            root='default',
            device_class='ssd',
            failure_domain='zone',
            replicas_per_failure_domain=2,
            sub_failure_domain='host',
        )
        self.assertEqual(expected, observed_crush.parse_rule(dumped))

        def changed(number, **change):
            steps = [*dumped['steps']]
            steps[number] = {**steps[number], **change}
            return observed_crush.parse_rule({**dumped, 'steps': steps})

        self.assertEqual(
            dataclasses.replace(
                expected, device_class=None, sub_failure_domain='osd'
            ),
            dataclasses.replace(
                changed(3, op='choose_firstn', type='osd'), device_class=None
            ),
        )
        for number, change in (
            (2, {'num': 2}),
            (2, {'num': -1}),
            (2, {'op': 'chooseleaf_firstn'}),
            (2, {'op': 'choose_indep'}),
            (3, {'num': 1}),
            (3, {'num': 0}),
            # It would emit hosts, and no OSDs.
            (3, {'op': 'choose_firstn'}),
            (3, {'op': 'chooseleaf_indep'}),
            (4, {'op': 'noop'}),
        ):
            found = changed(number, **change)
            self.assertIsNone(found.root, change)
        coded = observed_crush.parse_rule({**dumped, 'type': 3})
        self.assertIsNone(coded.root)

    def test_a_profile_of_shared_failure_domains_is_known(self):
        for each, domains in (('3', '4'), ('0', '0')):
            self.session.answers['osd erasure-code-profile get named'] = {
                'code': 0,
                'answer': {
                    'k': '8',
                    'm': '4',
                    'crush-osds-per-failure-domain': each,
                    'crush-num-failure-domains': domains,
                },
            }
            profile = observed_crush.read_profile(self.session, 'named')
            self.assertEqual(
                (int(each) or None, int(domains) or None),
                (
                    profile.osds_per_failure_domain,
                    profile.num_failure_domains,
                ),
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

    def test_how_chunks_are_made_is_known(self):
        profile = self.state.erasure_code_profiles['tier-archive-data']
        self.assertEqual(
            ('jerasure', 'reed_sol_van', None),
            (profile.plugin, profile.technique, profile.stripe_unit_bytes),
        )
        pools = self.state.pools
        self.assertEqual(
            (8192, 0),
            (
                pools['tier-archive-data'].stripe_width_bytes,
                pools['tier-archive'].stripe_width_bytes,
            ),
        )

    def test_a_stripe_unit_is_as_somebody_wrote_it(self):
        answers = self.session.answers
        for text, expected in (
            ('16384', 16384),
            ('16K', 16384),
            ('1 Mi', 2**20),
            ('many', None),
        ):
            answers['osd erasure-code-profile get named'] = {
                'code': 0,
                'answer': {'k': '2', 'm': '1', 'stripe_unit': text},
            }
            profile = observed_crush.read_profile(self.session, 'named')
            self.assertEqual(expected, profile.stripe_unit_bytes, text)

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
