# SPDX-License-Identifier: Apache-2.0

"""The schema that editors use is the one that files are compared with."""

import json
import pathlib
import re
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies
import jsonschema
import testtools
import yaml

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain.catalog import limits
from cinder_tiers.files.tiers import schema as tiers_schema
from cinder_tiers.files.tiers import shapes
from tests.unit.files import test_reader
from tests.unit.files import test_version_1

TOP = pathlib.Path(__file__).parents[3]
PUBLISHED = TOP / 'etc' / 'cinder-tiers' / 'tiers.schema.json'

LIMITS = [one for one in vars(limits).values() if isinstance(one, limits.Text)]


class SchemaTestCase(testtools.TestCase):
    def test_the_published_schema_is_the_one_that_is_used(self):
        """To renew it: python -m cinder_tiers.files.tiers.schema > FILE"""
        self.assertEqual(
            tiers_schema.published(), PUBLISHED.read_text('utf-8')
        )

    def test_the_command_writes_the_published_schema(self):
        self.assertEqual(
            PUBLISHED.read_text('utf-8'),
            subprocess.run(
                [sys.executable, '-m', 'cinder_tiers.files.tiers.schema'],
                cwd=TOP,
                check=True,
                capture_output=True,
                text=True,
            ).stdout,
        )

    def test_it_is_a_schema_and_written_files_are_valid_by_it(self):
        schema = json.loads(PUBLISHED.read_text('utf-8'))
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        for path in (test_reader.SAMPLE, test_version_1.TIERS_FILE):
            value = yaml.safe_load(path.read_text('utf-8'))
            validator.validate(value)
            self.assertFalse(validator.is_valid({**value, 'version': 2}))

    def test_every_value_says_what_is_expected(self):
        def walk(subschema, place):
            if '$ref' not in subschema:
                self.assertIn('description', subschema, place)
            for name, below in subschema.get('properties', {}).items():
                walk(below, f'{place}.{name}')
            if 'items' in subschema:
                walk(subschema['items'], f'{place}[]')

        walk(tiers_schema.schema(), 'the catalog')
        for name, subschema in tiers_schema.schema()['$defs'].items():
            walk(subschema, name)

    @given(
        strategies.builds(
            '{}{}'.format,
            strategies.sampled_from(('', 'read_', 'write_', 'trim_')),
            strategies.sampled_from(
                (
                    *expectations.NAMES,
                    'p99_ms_max',
                    'iops_99_percent_of_time_min',
                )
            ),
        )
        | strategies.from_regex(r'(read_)?p[0-9.]{1,6}_ms_max', fullmatch=True)
        | strategies.text(max_size=20)
    )
    def test_the_schema_knows_the_same_names(self, name):
        schema = tiers_schema.schema()['$defs']['limits']
        self.assertEqual(
            expectations.find(name) is not None,
            bool(
                re.search(schema['propertyNames']['pattern'], name, re.ASCII)
            ),
        )

    @given(strategies.data())
    def test_a_limit_holds_in_the_schema_as_in_an_export(self, data):
        limit = data.draw(strategies.sampled_from(LIMITS))
        text = data.draw(
            strategies.from_regex(limit.pattern or '.*')
            | strategies.text(max_size=300)
            | strategies.sampled_from(('', 'a' * 255, 'a' * 256, 'name'))
        )
        self.assertEqual(
            limit.fits(text),
            jsonschema.Draft202012Validator(
                shapes.text_keywords(limit)
            ).is_valid(text),
        )
