# SPDX-License-Identifier: Apache-2.0

"""The schema that editors use is the one that files are held against."""

import pathlib
import re

from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.files.tiers import schema as structure

TOP = pathlib.Path(__file__).parents[3]


class SchemaTestCase(testtools.TestCase):
    def test_the_published_schema_is_the_one_that_is_used(self):
        published = TOP / 'etc' / 'cinder-tiers' / 'tiers.schema.json'
        used = TOP / 'cinder_tiers' / 'files' / 'tiers' / 'tiers.schema.json'
        self.assertEqual(used, published.resolve())

    def test_every_value_says_what_is_expected(self):
        def walk(subschema, place):
            if '$ref' not in subschema:
                self.assertIn('description', subschema, place)
            for name, below in subschema.get('properties', {}).items():
                walk(below, f'{place}.{name}')
            if 'items' in subschema:
                walk(subschema['items'], f'{place}[]')

        walk(structure.schema(), 'the catalog')
        for name, subschema in structure.schema()['$defs'].items():
            walk(subschema, name)

    @given(
        strategies.sampled_from((*expectations.NAMES, 'p99_ms_max'))
        | strategies.from_regex(r'p[0-9.]{1,6}_ms_max', fullmatch=True)
        | strategies.text(max_size=20)
    )
    def test_the_schema_knows_the_same_names(self, name):
        schema = structure.schema()['$defs']['limits']
        self.assertEqual(
            expectations.find(name) is not None,
            bool(
                re.search(schema['propertyNames']['pattern'], name, re.ASCII)
            ),
        )
