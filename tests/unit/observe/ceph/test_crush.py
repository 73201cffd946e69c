# SPDX-License-Identifier: Apache-2.0

"""CRUSH rules and erasure code profiles, as Ceph answers."""

import dataclasses

from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.files.tiers import reader
from cinder_tiers.observe.ceph import cluster as ceph
from cinder_tiers.observe.ceph import crush as observed_crush
from tests.unit.observe.ceph import test_cluster


class CrushTestCase(test_cluster.ObserveCase):
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
                test_cluster.SAMPLE.read_text('utf-8').replace('m: 1', 'm: 2'),
                file='t',
            ),
        )
        self.assertEqual(
            [1, 2],
            [
                found.erasure_code_profiles[name].m
                for name in ('tier-archive-data', second)
            ],
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
