# SPDX-License-Identifier: Apache-2.0

"""A tier whose volume type and QoS spec have names of their own."""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.placement import tier_specs
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import plan
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.validation import catalog as catalog_rules
from tests.unit.domain import catalogs as given

TYPE = 'Super Fast (EU)'
GOLD = given.other_tier(
    'gold',
    volume_type_name=TYPE,
    tags=('gold',),
    priority=5,
    qos=catalogs.Qos(name='old limits', back_end={'total_iops_sec': '500'}),
    encryption=catalogs.Encryption(provider='luks'),
)
MARKS = {
    'volume_backend_name': 'backend-gold',
    'tiers:name': 'gold',
    'tiers:tags': 'gold',
    'tiers:priority': '5',
}


def existing(*types, qos_specs=(), **cinder):
    return actual_state.ActualState(
        cinder=cinder_state.CinderState(
            volume_types={one.name: one for one in types},
            qos_specs={one.name: one for one in qos_specs},
            **cinder,
        ),
        ceph={},
        projects={},
    )


def made(actual, tier=GOLD):
    catalog = given.of(tier, follow_image_types=(), without_fallback=True)
    return plan.make(catalog=catalog, actual=actual)


class PlanTestCase(testtools.TestCase):
    def test_all_of_it_has_the_name_of_the_type(self):
        actions = made(existing()).actions
        self.assertEqual(
            [
                f'volume type {TYPE}',
                'qos spec old limits',
                f'type encryption {TYPE}',
            ],
            [str(one.key) for one in actions],
        )
        volume_type, spec, _ = (one.after for one in actions)
        self.assertEqual('gold', volume_type.extra_specs['tiers:name'])
        self.assertEqual({TYPE}, spec.volume_types)

    def test_what_was_applied_is_as_declared(self):
        actions = made(existing()).actions
        volume_type, spec, encryption = (one.after for one in actions)
        self.assertEqual(
            (),
            made(
                existing(
                    volume_type,
                    qos_specs=[spec],
                    encryptions={TYPE: encryption},
                )
            ).actions,
        )

    def test_an_old_type_is_taken_over_under_its_name(self):
        old = cinder_state.VolumeType(
            name=TYPE, extra_specs={'volume_backend_name': 'backend-gold'}
        )
        limits = cinder_state.QosSpec(
            name='old limits',
            consumer='back-end',
            specs={'total_iops_sec': '500'},
            volume_types=frozenset({TYPE}),
        )
        found = made(existing(old, qos_specs=[limits]))
        self.assertEqual(
            [f'volume type {TYPE}', f'type encryption {TYPE}'],
            [str(one.key) for one in found.actions],
        )
        allowed = consent.grant(found, [f'volume type {TYPE}'])
        self.assertEqual((), allowed.refused)

    def test_a_tier_that_has_a_type_of_another_name_is_not_given_two(self):
        has = cinder_state.VolumeType(name='gold', extra_specs=MARKS)
        refused = {
            str(one.key): one.refusal for one in made(existing(has)).refused
        }
        self.assertIn(
            f'openstack volume type set --name "{TYPE}" "gold"',
            refused[f'volume type {TYPE}'].remedy,
        )
        self.assertFalse(refused[f'volume type {TYPE}'].yields_to_consent)

    def test_a_retired_type_is_narrowed_with_its_tier(self):
        wanted = cinder_state.VolumeType(
            name=TYPE, extra_specs=MARKS, is_public=False
        )
        retired = dataclasses.replace(
            wanted, name=f'{TYPE} - retired 12345678', is_public=True
        )
        tier = dataclasses.replace(GOLD, access=(), qos=None, encryption=None)
        found = made(existing(wanted, retired), tier)
        self.assertEqual(
            [f'volume type {TYPE} - retired 12345678'],
            [str(one.key) for one in found.actions],
        )


class ReadTestCase(testtools.TestCase):
    def test_the_type_is_the_tier_and_its_retired_types_are_not(self):
        read = tier_specs.read_tiers(
            tier_specs.read_type(MARKS, type_id=name, name=name, projects=None)
            for name in (
                TYPE,
                f'{TYPE} - new',
                f'{TYPE} - retired 12345678',
            )
        )
        self.assertEqual(
            [('gold', TYPE)],
            [(name, one.name) for name, one in read.types.items()],
        )
        self.assertEqual((), read.problems)


@ddt.ddt
class RulesTestCase(testtools.TestCase):
    def problems(self, *tiers, follow=('image-tier',)):
        return [
            problem.found
            for problem in catalog_rules.check(
                given.of(
                    *tiers, follow_image_types=follow, without_fallback=True
                )
            )
        ]

    @ddt.data(
        'image-tier',
        'IMAGE-TIER',
        'x - new',
        'x - retired 12345678',
        'x' * 240,
    )
    def test_names_that_no_type_may_have(self, name):
        tier = given.other_tier('a', volume_type_name=name)
        self.assertEqual(1, len(self.problems(tier)), name)

    def test_two_tiers_have_two_types_and_two_qos_specs(self):
        limits = catalogs.Qos(name='x', back_end={'total_iops_sec': '500'})
        found = self.problems(
            given.other_tier('a', volume_type_name='Fast', qos=limits),
            given.other_tier('b', volume_type_name='fast', qos=limits),
            given.other_tier('fast'),
        )
        self.assertEqual(3, len(found), found)

    def test_a_tier_may_have_the_name_of_the_type_of_another(self):
        self.assertEqual(
            [],
            self.problems(
                given.other_tier('a', volume_type_name='b'),
                given.other_tier('b', volume_type_name='a'),
            ),
        )

    def test_limits_are_not_only_a_name(self):
        tier = given.other_tier('a', qos=catalogs.Qos(name='x'))
        self.assertIn('without limits', self.problems(tier)[0])

    def test_quotas_need_a_name_that_cinder_accepts(self):
        quotas = catalogs.Quotas(volumes=3)
        for name, count in (('Fast EU', 0), ('Fast (EU)', 1), ('größe', 1)):
            tier = given.other_tier('a', volume_type_name=name, quotas=quotas)
            self.assertEqual(count, len(self.problems(tier)), name)
