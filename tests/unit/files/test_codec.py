# SPDX-License-Identifier: Apache-2.0

"""The table of the tiers file leaves out nothing of the catalog."""

import dataclasses

import testtools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.files.tiers import codec
from cinder_tiers.files.tiers import shapes

#: Attributes that no key holds: the key of the mapping above, and places.
_WITHOUT_KEY = {'name', 'source'}


def records(shape):
    """All records of the table, at any depth."""
    if isinstance(shape, shapes.Record):
        yield shape
        for one in shape.fields:
            yield from records(one.shape)
    elif isinstance(shape, shapes.Named | shapes.MapOf):
        yield from records(shape.values)


class CompleteTestCase(testtools.TestCase):
    def test_every_attribute_has_a_key(self):
        """What has none would be lost in an export, without a word."""
        seen = set()
        for record in records(codec.CATALOG):
            seen.add(record.kind)
            kept = {one.attribute for one in record.fields} | _WITHOUT_KEY
            if record.kind is catalogs.Cache:
                # Its pool lies flat beside its own keys.
                kept |= {'rbd'}
            self.assertEqual(
                set(),
                {one.name for one in dataclasses.fields(record.kind)} - kept,
                record.kind,
            )
        self.assertLessEqual(
            {catalogs.Catalog, catalogs.Tier, catalogs.RbdPool}, seen
        )

    def test_what_is_left_out_means_the_default(self):
        catalog = codec.read(
            {'version': 1, 'tiers': {'a': {}}}, source=catalogs.CatalogSource()
        )
        self.assertEqual((catalogs.Tier(name='a'),), catalog.tiers)
        self.assertEqual(
            {'version': 1, 'tiers': {'a': {}}}, codec.write(catalog)
        )

    def test_a_mapping_that_may_not_be_empty_is_written_with_a_default(self):
        tier = catalogs.Tier(name='a', quotas=catalogs.Quotas())
        written = codec.write(catalogs.Catalog(tiers=(tier,), clusters={}))
        self.assertEqual({'quotas': {'volumes': -1}}, written['tiers']['a'])
