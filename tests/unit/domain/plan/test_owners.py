# SPDX-License-Identifier: Apache-2.0

"""What is said of pools that Rook keeps.

Which pools it keeps is in tests/cases/plan/rook.yaml.
"""

import dataclasses

import testtools

from cinder_tiers.domain.plan import owner_fragments
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from tests.unit.domain import catalogs as given

TIER = given.tier(
    rbd=given.rbd(
        options={'quota_max_bytes': 10**12, 'compression_mode': 'force'}
    )
)


class RookTestCase(testtools.TestCase):
    def action(self, namespace='storage', **changes):
        """What is planned for the pool, as it is with some changes."""
        wanted = tier_pools.pools_of(TIER.rbd)
        (pool,) = wanted.pools
        (rule,) = wanted.crush_rules
        pools = (
            {pool.name: dataclasses.replace(pool, **changes)}
            if changes
            else {}
        )
        plan = plans.make(
            catalog=given.of(TIER),
            actual=given.nothing(
                ceph=given.empty_cluster(
                    pools=pools,
                    crush_rules={rule.name: rule},
                    rook_namespace=namespace,
                )
            ),
        )
        (found,) = [
            one for one in plan.actions if one.key.kind is actions.Kind.POOL
        ]
        return found

    def test_the_resource_to_apply_is_named(self):
        objection = self.action().objection
        self.assertIn('in the namespace storage', objection)
        self.assertIn('apply the CephBlockPool tier-database that', objection)
        self.assertIn('--allow', objection)

    def test_the_fields_to_set_are_named(self):
        objection = self.action(
            size=2,
            options={'quota_max_bytes': '0', 'compression_mode': 'none'},
        ).objection
        self.assertIn(
            'set in the CephBlockPool tier-database: '
            'spec.replicated.size: 3, spec.parameters.compression_mode: '
            '"force", spec.quotas.maxSize: "1000000000000"; ',
            objection,
        )

    def test_what_is_no_field_of_a_resource_is_found_in_what_is_printed(self):
        self.assertIn(
            'change the CephBlockPool tier-database to what',
            self.action(applications=frozenset({'rgw'}), size=2).objection,
        )

    def test_a_change_that_is_not_rooks_needs_nobody(self):
        refusal = self.action(managed=False).refusal
        self.assertNotIn('Rook', refusal.reason)

    def test_without_rook_nothing_is_left_to_it(self):
        self.assertIsNone(self.action(namespace=None).refusal)

    def test_the_fields_are_those_of_the_resource(self):
        (pool,) = tier_pools.pools_of(TIER.rbd).pools
        (fragment,) = owner_fragments.rook(given.of(TIER))
        spec = fragment.documents[0]['spec']
        for section, name, value in owner_fragments.rook_values(pool).values():
            self.assertEqual(value, spec[section][name])


class CephadmTestCase(testtools.TestCase):
    def planned(self, *, tunes, **values):
        """The actions on options, of which OSDs use some values."""
        schemas = {
            name: ceph_state.OptionSchema(name=name, kind='uint', default='1')
            for name in ('osd_memory_target', 'osd_max_scrubs')
        }
        tier = given.tier(
            rbd=given.rbd(
                osd_options={'osd_memory_target': 2**32, 'osd_max_scrubs': 2}
            )
        )
        used = {'osd_memory_target': str(2**32), 'osd_max_scrubs': '2'}
        plan = plans.make(
            catalog=given.of(tier),
            actual=given.nothing(
                ceph=given.empty_cluster(
                    option_schemas=schemas,
                    class_options={
                        'ssd': ceph_state.OsdOptions(
                            name='ssd', values={**used, **values}
                        )
                    },
                    cephadm_tunes_memory=tunes,
                )
            ),
        )
        return [
            one
            for one in plan.actions
            if one.key.kind is actions.Kind.OSD_OPTIONS
        ]

    def test_what_cephadm_would_set_again_is_refused(self):
        (action,) = self.planned(tunes=True, osd_memory_target='5')
        self.assertIn('cephadm sets osd_memory_target', action.objection)
        self.assertIn('osd_memory_target_autotune false', action.objection)
        self.assertFalse(action.refusal.yields_to_consent)
        (action,) = self.planned(tunes=False, osd_memory_target='5')
        self.assertIsNone(action.refusal)

    def test_other_options_are_set(self):
        (action,) = self.planned(tunes=True, osd_max_scrubs='5')
        self.assertIsNone(action.refusal)
        self.assertEqual([], self.planned(tunes=True))
