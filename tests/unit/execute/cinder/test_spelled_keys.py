# SPDX-License-Identifier: Apache-2.0

"""Keys that differ only in case, with and without a database that sees it.

To MySQL and MariaDB they are one key: Cinder renames the one when it is asked
to write the other, and deletes it when it is asked to delete the other.
"""

import dataclasses

import ddt
import testtools

from cinder_tiers.domain.plan import consent as consents
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.files.tiers import reader
from cinder_tiers.observe import for_plan as world
from tests.unit.domain import catalogs as given
from tests.unit.execute import test_cinder_world
from tests.worlds import cinder_api

TIERS = """version: 1
tiers:
  gold:
    tags: [database]
    fallback: true
    backend: ssd
    extra_specs: {Thin_support: <is> True}
    qos:
      front_end: {Total_iops_sec: '500'}
"""
RESPELLED = TIERS.replace('Thin_', 'thin_').replace('Total_', 'total_')
SPECS = {
    'volume_backend_name': 'ssd',
    'tiers:name': 'gold',
    'tiers:tags': 'database',
    'tiers:priority': '0',
    'tiers:fallback': '<is> True',
    'thin_support': '<is> True',
}


@ddt.ddt
class SpelledKeysTestCase(testtools.TestCase):
    """Each with a database that takes such keys for one, and one that not."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.exact, cls.folding = cinder_api.CinderApi(), cinder_api.CinderApi()
        cls.addClassCleanup(cls.exact.stop)
        cls.addClassCleanup(cls.folding.stop)
        cls.folding.fold_names()
        cls.empty = {each: each.keep() for each in (cls.exact, cls.folding)}

    def connect(self, folds):
        api = self.folding if folds else self.exact
        self.connection = test_cinder_world.log_in(api)
        self.block_storage = self.connection.block_storage
        self.addCleanup(self.connection.close)
        self.addCleanup(api.return_to, self.empty[api])

    def plan(self, text):
        catalog = reader.read_text(text, file='tiers.yaml')
        return plans.make(
            catalog=catalog,
            actual=dataclasses.replace(
                given.nothing(),
                cinder=world.observe_cinder(self.connection, catalog),
            ),
        )

    def apply(self, text, has_consent=False):
        plan = self.plan(text)
        if has_consent:
            plan = consents.grant(plan, [str(one.key) for one in plan.refused])
        results = test_cinder_world.apply_plan(plan, self.connection)
        self.assertEqual([], test_cinder_world.undone(results))
        self.assertEqual((), self.plan(text).actions)

    def specs(self):
        (found,) = [
            one
            for one in self.block_storage.types(is_public='None')
            if one.name == 'gold'
        ]
        return dict(found.extra_specs)

    @ddt.data(False, True)
    def test_a_key_of_the_file_is_spelled_otherwise(self, folds):
        self.connect(folds)
        self.apply(TIERS)
        self.apply(RESPELLED)
        self.assertEqual(SPECS, self.specs())
        (qos,) = self.block_storage.qos_specs()
        self.assertEqual({'total_iops_sec': '500'}, dict(qos.specs))

    @ddt.data(
        (False, 'Volume_Backend_Name'),
        (True, 'Volume_Backend_Name'),
        (False, 'tiers:Tags'),
        (True, 'tiers:Tags'),
        (False, 'tiers:Name'),
        (True, 'tiers:Name'),
        (False, 'THIN_SUPPORT'),
        (True, 'THIN_SUPPORT'),
    )
    @ddt.unpack
    def test_somebody_writes_the_key_of_a_tier_otherwise(self, folds, key):
        self.connect(folds)
        self.apply(RESPELLED)
        (gold,) = [
            one for one in self.block_storage.types() if one.name == 'gold'
        ]
        self.block_storage.update_type_extra_specs(gold, **{key: 'else'})
        self.apply(RESPELLED, has_consent=True)
        self.assertEqual(SPECS, self.specs())

    @ddt.data(False, True)
    def test_a_type_was_made_with_both_at_once(self, folds):
        self.connect(folds)
        self.block_storage.create_type(
            name='gold',
            extra_specs={
                'Volume_Backend_Name': 'a',
                'volume_backend_name': 'b',
                'thin_support': 'c',
                'Thin_Support': 'd',
                'else': 'e',
            },
        )
        self.apply(RESPELLED, has_consent=True)
        self.assertEqual({**SPECS, 'else': 'e'}, self.specs())

    @ddt.data(False, True)
    def test_a_qos_spec_was_made_with_both_at_once(self, folds):
        self.connect(folds)
        self.apply(RESPELLED)
        (qos,) = self.block_storage.qos_specs()
        self.block_storage.delete_qos_spec(qos, force=True)
        qos = self.block_storage.create_qos_spec(
            name='tier-gold',
            consumer='front-end',
            total_iops_sec='1',
            Total_Iops_Sec='2',
        )
        self.apply(RESPELLED, has_consent=True)
        (qos,) = self.block_storage.qos_specs()
        self.assertEqual({'total_iops_sec': '500'}, dict(qos.specs))

    @ddt.data(False, True)
    def test_all_spellings_of_a_key_go(self, folds):
        self.connect(folds)
        self.block_storage.create_type(
            name='gold',
            extra_specs={'tiers:Zeal': '1', 'tiers:zeal': '2'},
        )
        self.block_storage.create_qos_spec(
            name='tier-gold',
            consumer='front-end',
            read_iops_sec='1',
            Read_Iops_Sec='2',
        )
        self.apply(RESPELLED, has_consent=True)
        self.assertEqual(SPECS, self.specs())
        (qos,) = self.block_storage.qos_specs()
        self.assertEqual({'total_iops_sec': '500'}, dict(qos.specs))

    @ddt.data(
        (False, 'total_iop\N{LATIN SMALL LETTER SHARP S}_sec'),
        (True, 'total_iop\N{LATIN SMALL LETTER SHARP S}_sec'),
        (True, 'total_\N{LATIN SMALL LETTER DOTLESS I}ops_sec'),
        (True, 'total_iops_sec '),
    )
    @ddt.unpack
    def test_letters_that_only_the_database_takes_for_one(self, folds, key):
        self.connect(folds)
        self.block_storage.create_qos_spec(
            name='tier-gold', consumer='front-end', **{key: '1'}
        )
        self.apply(RESPELLED, has_consent=True)
        (qos,) = self.block_storage.qos_specs()
        self.assertEqual({'total_iops_sec': '500'}, dict(qos.specs))

    @ddt.data(False, True)
    def test_a_type_was_made_with_a_blank_at_the_end(self, folds):
        self.connect(folds)
        self.block_storage.create_type(
            name='gold', extra_specs={'thin_support ': 'a', 'tiers:tags ': 'b'}
        )
        self.apply(RESPELLED, has_consent=True)
        self.assertEqual(SPECS, self.specs())
