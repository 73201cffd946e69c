# SPDX-License-Identifier: Apache-2.0

"""Volume types that exist as tiers, and what of them no catalog holds."""

import dataclasses

import ddt

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.export import catalog as export
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.validation import catalog as catalog_rules
from cinder_tiers.domain.validation import rules
from tests.unit.domain.export import test_catalog


@ddt.ddt
class VolumeTypesTestCase(test_catalog.ExportCase):
    def test_a_pool_of_several_types_is_that_of_one(self):
        exported = export.export(
            test_catalog.cloud(
                test_catalog.volume_type('a'),
                test_catalog.volume_type('b'),
                test_catalog.volume_type('z', specs={'tiers:name': 'z'}),
            )
        )
        self.assertEqual(
            [('z', True), ('a', False), ('b', False)],
            [
                (tier.name, tier.rbd is not None)
                for tier in exported.catalog.tiers
            ],
        )
        self.assertIn(
            'pool volumes belongs to tier z', exported.remarks[0].text
        )

    def test_types_that_are_retired_or_wait_are_no_tiers(self):
        exported = export.export(
            test_catalog.cloud(
                test_catalog.volume_type('gold', specs={'tiers:name': 'gold'}),
                test_catalog.volume_type('gold - retired 1'),
                test_catalog.volume_type(
                    'gold - retired 2', specs={'tiers:name': 'gold'}
                ),
                test_catalog.volume_type(
                    'any - retired 1',
                    specs={'tiers:follow_image': '<is> True'},
                ),
                test_catalog.volume_type('silver - new', 'lvm'),
            )
        )
        self.assertEqual((), exported.leftover)
        self.assertEqual(
            (['gold'], ()),
            (
                [tier.name for tier in exported.catalog.tiers],
                exported.catalog.follow_image_types,
            ),
        )
        self.assertEqual(
            4, str(exported.remarks).count('is not in the tiers file: ')
        )
        self.assertIn(
            'it is retired: type gold replaced it', str(exported.remarks)
        )

    def test_keys_that_differ_in_case_are_left_out(self):
        exported = export.export(
            test_catalog.cloud(
                test_catalog.volume_type(
                    'gold',
                    'lvm',
                    specs={
                        'tiers:name': 'gold',
                        'Thin': 'a',
                        'thin': 'b',
                        'else': 'c',
                    },
                ),
            )
        )
        self.assertEqual((), exported.leftover)
        (tier,) = exported.catalog.tiers
        self.assertEqual({'else': 'c'}, tier.extra_specs)
        self.assertIn('the extra spec Thin=a is left', str(exported.remarks))
        self.assertIn('the extra spec thin=b is left', str(exported.remarks))

    def test_another_spelling_of_the_backend_is_told(self):
        exported = export.export(
            test_catalog.cloud(
                test_catalog.volume_type(
                    'gold',
                    'lvm',
                    specs={'tiers:name': 'gold', 'Volume_Backend_Name': 'a'},
                ),
            )
        )
        self.assertEqual(1, len(exported.leftover), exported.leftover)
        self.assertIn(
            'Volume_Backend_Name=a is left out: to some databases it is '
            'volume_backend_name',
            str(exported.remarks),
        )

    def test_a_type_that_could_not_be_retired_is_left_out(self):
        names = [letter * chars for letter, chars in (('a', 236), ('b', 237))]
        exported = export.export(
            test_catalog.cloud(
                test_catalog.volume_type('gold', 'lvm'),
                *(
                    test_catalog.volume_type(
                        name, None, specs={'tiers:follow_image': '<is> True'}
                    )
                    for name in names
                ),
            )
        )
        self.assertEqual(tuple(names[:1]), exported.catalog.follow_image_types)
        self.assertIn('has at most 236 printable', str(exported.remarks))

    def test_what_an_apply_left_half_done_is_told(self):
        exported = export.export(
            test_catalog.cloud(
                *(
                    test_catalog.volume_type(
                        name, specs={'tiers:name': 'gold'}
                    )
                    for name in ('gold', 'gold - new')
                )
            )
        )
        self.assertEqual(
            ('refused: delete volume type gold - new',), exported.leftover
        )

    def test_types_on_other_storage(self):
        exported = export.export(
            test_catalog.cloud(
                test_catalog.volume_type(
                    'lvm', 'lvm', specs={'multiattach': '<is> True'}
                ),
                test_catalog.volume_type(
                    'any', None, specs={'vendor_name': 'x'}
                ),
                test_catalog.volume_type(
                    'none', None, specs={'hp3par:x': 'y'}
                ),
                test_catalog.volume_type('both', '<or> a <or> b'),
                test_catalog.volume_type('a/b', 'lvm'),
                test_catalog.volume_type('ANY', 'lvm'),
                test_catalog.volume_type('__DEFAULT__', None),
            )
        )
        self.assertEqual((), exported.leftover)
        self.assertEqual(
            [
                ('ANY', 'lvm', {}),
                ('a-b', 'lvm', {}),
                ('lvm', 'lvm', {'multiattach': '<is> True'}),
            ],
            [
                (tier.name, tier.backend_name, tier.extra_specs)
                for tier in exported.catalog.tiers
            ],
        )
        told = {one.text.split()[2]: one.text for one in exported.remarks}
        self.assertEqual({'__DEFAULT__', 'any', 'both', 'none'}, told.keys())
        self.assertIn('its name differs from ANY only in case', told['any'])
        self.assertIn('names no backend', told['none'])
        self.assertIn('<or> a <or> b', told['both'])

    def test_limits_quotas_and_access(self):
        spec = cinder_state.QosSpec(
            name='tier-gold',
            consumer='both',
            specs={'total_iops_sec': '5'},
            volume_types=frozenset({'gold'}),
        )
        known = test_catalog.cloud(
            test_catalog.volume_type(
                is_public=False,
                projects=frozenset({'1', '2'}),
                description='Fast',
            ),
            qos_specs=[spec],
            projects={'1': 'one', '2': None},
            quotas=[cinder_state.TypeQuota(name='gold', volumes=7)],
        )
        tier, remarks = self.tier(known)
        limits = {'total_iops_sec': '5'}
        self.assertEqual(
            (
                'Fast',
                ('1', '2'),
                catalogs.Quotas(volumes=7),
                catalogs.Qos(front_end=limits, back_end=limits),
            ),
            (tier.description, tier.access, tier.quotas, tier.qos),
        )
        self.assertEqual(
            [
                (
                    'project 2 has access, but Keystone does not have such a '
                    'project'
                )
            ],
            remarks,
        )

    def test_a_card_is_a_promise_and_no_description(self):
        known = test_catalog.cloud(
            test_catalog.volume_type(
                specs={'tiers:name': 'gold'},
                description='Fast. Promise: oltp iops at least 500. Not '
                'measured since 2026-11-29T14:05Z.',
            )
        )
        tier, remarks = self.tier(known)
        self.assertEqual(
            ('Fast.', {'oltp': {'iops_min': 500}}, []),
            (tier.description, tier.expect, remarks),
        )

    def test_of_two_cards_the_first_is_no_description_either(self):
        known = test_catalog.cloud(
            test_catalog.volume_type(
                specs={'tiers:name': 'gold'},
                description='Fast. Promise: oltp iops at least 9. '
                'Promise: oltp iops at least 500.',
            )
        )
        catalog = export.export(known).catalog
        tier = catalog.tier('gold')
        self.assertEqual(
            ('Fast.', {'oltp': {'iops_min': 500}}),
            (tier.description, tier.expect),
        )
        # With it, nobody could use the file.
        self.assertEqual(
            [],
            [
                one
                for one in catalog_rules.check(catalog)
                if one.rule == rules.CARD
            ],
        )

    def test_default_types_of_projects_that_exist(self):
        known = test_catalog.cloud(
            test_catalog.volume_type(), projects={'1': 'one', '2': None}
        )
        known = dataclasses.replace(
            known,
            cinder=dataclasses.replace(
                known.cinder,
                project_defaults={
                    'gold': cinder_state.ProjectDefaults(
                        name='gold', default_for=frozenset('12')
                    )
                },
            ),
        )
        tier, (remark,) = self.tier(known)
        self.assertEqual(('1',), tier.default_for)
        self.assertIn('project 2, whose default type it is', remark)

    def test_an_encryption_is_taken_over(self):
        found = cinder_state.TypeEncryption(
            name='gold',
            provider='luks',
            cipher='aes-xts-plain64',
            key_size_bits=None,
            control_location='back-end',
        )
        tier, remarks = self.tier(
            test_catalog.cloud(test_catalog.volume_type(), encryptions=[found])
        )
        self.assertEqual(
            catalogs.Encryption(
                provider='luks',
                cipher='aes-xts-plain64',
                control_location='back-end',
            ),
            tier.encryption,
        )
        self.assertEqual([], remarks)

    @ddt.data(
        {'provider': 'a b'},
        {'cipher': 'x' * 256},
        {'key_size_bits': 0},
        {'key_size_bits': 2**31},
    )
    def test_an_encryption_that_no_catalog_holds_is_a_remark(self, wrong):
        found = cinder_state.TypeEncryption(
            name='gold',
            control_location='front-end',
            **{
                'provider': 'luks',
                'cipher': None,
                'key_size_bits': None,
                **wrong,
            },
        )
        tier, remarks = self.tier(
            test_catalog.cloud(test_catalog.volume_type(), encryptions=[found])
        )
        self.assertIsNone(tier.encryption)
        self.assertIn('its encryption is left out', remarks[0])

    def test_limits_keep_the_name_of_their_qos_spec(self):
        spec = cinder_state.QosSpec(
            name='gold',
            consumer='back-end',
            specs={'total_iops_sec': '5'},
            volume_types=frozenset({'gold'}),
        )
        tier, remarks = self.tier(
            test_catalog.cloud(test_catalog.volume_type(), qos_specs=[spec])
        )
        self.assertEqual(
            catalogs.Qos(name='gold', back_end={'total_iops_sec': '5'}),
            tier.qos,
        )
        self.assertEqual([], remarks)

    def test_limits_of_several_types_are_a_remark(self):
        spec = cinder_state.QosSpec(
            name='gold',
            consumer='back-end',
            specs={'total_iops_sec': '5'},
            volume_types=frozenset({'gold', 'other'}),
        )
        tier, remarks = self.tier(
            test_catalog.cloud(test_catalog.volume_type(), qos_specs=[spec])
        )
        self.assertIsNone(tier.qos)
        self.assertIn('QoS spec gold (back-end: total_iops_sec=5)', remarks[0])

    def test_a_type_of_any_name_is_a_tier(self):
        exported = export.export(
            test_catalog.cloud(
                test_catalog.volume_type('Super Fast (EU)', 'lvm'),
                test_catalog.volume_type('Super-Fast-EU', 'lvm'),
                test_catalog.volume_type('größe', 'lvm'),
            )
        )
        self.assertEqual((), exported.leftover)
        self.assertEqual(
            {
                ('Super-Fast-EU-2', 'Super Fast (EU)'),
                ('Super-Fast-EU', 'Super-Fast-EU'),
                ('gr-e', 'größe'),
            },
            {(one.name, one.type_name) for one in exported.catalog.tiers},
        )

    def test_quotas_of_a_name_that_quotas_cannot_have_are_a_remark(self):
        name = 'fast (EU)'
        exported = export.export(
            test_catalog.cloud(
                test_catalog.volume_type(name, 'lvm'),
                quotas=[cinder_state.TypeQuota(name=name, volumes=3)],
            )
        )
        (tier,), (remark,) = exported.catalog.tiers, exported.remarks
        self.assertIsNone(tier.quotas)
        self.assertIn('default quotas', remark.text)
