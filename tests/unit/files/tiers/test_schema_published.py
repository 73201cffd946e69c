# SPDX-License-Identifier: Apache-2.0

"""The schema that editors use is the one that files are compared with."""

import json
import pathlib
import re
import subprocess
import sys
import textwrap

import ddt
from hypothesis import given
from hypothesis import strategies
import jsonschema
import testtools
import yaml

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain.catalog import limits
from cinder_tiers.files.tiers import schema as tiers_schema
from cinder_tiers.files.tiers import shapes
from tests.unit.files import test_version_1
from tests.unit.files.tiers import test_reader

TOP = pathlib.Path(__file__).parents[4]
PUBLISHED = TOP / 'etc' / 'cinder-tiers' / 'tiers.schema.json'

#: Each YAML in a page of the guide, with its indentation.
EXAMPLE = re.compile(
    r'\.\. code-block:: yaml\n(?: +:.*\n)*\n'
    r'((?P<indent> +).*\n(?:(?P=indent).*\n|\n)*)'
)

LIMITS = [one for one in vars(limits).values() if isinstance(one, limits.Text)]


def documented():
    """{place: value} of each tiers file that the guide shows as a whole."""
    found = {}
    for path in sorted((*TOP.glob('doc/**/*.rst'), TOP / 'README.rst')):
        text = path.read_text('utf-8')
        for match in EXAMPLE.finditer(text):
            value = yaml.safe_load(textwrap.dedent(match[1]))
            if isinstance(value, dict) and (
                {'version', 'tiers'} <= set(value) or 'include' in value
            ):
                line = text.count('\n', 0, match.start()) + 1
                found[f'{path.name}:{line}'] = value
    return found


def parts_of(value, draw):
    """A mapping without some of its keys, and with null for others."""
    if not isinstance(value, dict):
        return value
    left = {}
    for key, one in value.items():
        match draw(strategies.sampled_from(('all', 'part', 'null', 'none'))):
            case 'all':
                left[key] = one
            case 'part':
                left[key] = parts_of(one, draw)
            case 'null':
                left[key] = None
    return left


@ddt.ddt
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

    def test_files_in_the_guide_are_valid_by_it(self):
        validator = jsonschema.Draft202012Validator(
            json.loads(PUBLISHED.read_text('utf-8'))
        )
        files = documented()
        self.assertGreater(len(files), 5)
        self.assertTrue(any('include' in one for one in files.values()))
        self.assertEqual(
            {},
            {
                place: errors
                for place, value in files.items()
                if (
                    errors := [
                        one.message for one in validator.iter_errors(value)
                    ]
                )
            },
        )

    @given(strategies.data())
    def test_any_part_may_override_an_included_file(self, data):
        whole = yaml.safe_load(
            data.draw(
                strategies.sampled_from(
                    (test_reader.SAMPLE, test_version_1.TIERS_FILE)
                )
            ).read_text('utf-8')
        )
        override = {
            **parts_of(whole, data.draw),
            'include': ['base.yaml'],
        }
        jsonschema.Draft202012Validator(
            json.loads(PUBLISHED.read_text('utf-8'))
        ).validate(override)

    @ddt.data(
        'version: 2',
        'include: null',
        'include: []',
        'tier: {}',
        'tiers: []',
        'tiers: {-a: null}',
        'tiers: {a: {tag: null}}',
        'tiers: {a: {tags: [null]}}',
        'tiers: {a: {priority: high}}',
        'tiers: {a: {rbd: {pg_num: 0}}}',
        'tiers: {a: {rbd: {pool_options: {nodelet: null}}}}',
        'tiers: {a: {rbd: {replicated: {size: three}}}}',
        'tiers: {a: {rbd: {osd_options: {max_backfills: null}}}}',
        'tiers: {a: {extra_specs: {multiattach: true}}}',
        'clusters: {ceph: {config: /etc/ceph.conf}}',
        'fallback: some',
    )
    def test_an_override_is_looked_at(self, text):
        validator = jsonschema.Draft202012Validator(
            json.loads(PUBLISHED.read_text('utf-8'))
        )
        value = {'include': ['base.yaml'], **yaml.safe_load(text)}
        self.assertFalse(validator.is_valid(value))

    def test_without_include_all_is_required(self):
        validator = jsonschema.Draft202012Validator(
            json.loads(PUBLISHED.read_text('utf-8'))
        )
        self.assertTrue(validator.is_valid({'version': 1, 'tiers': {}}))
        for value in (
            None,
            {'version': 1},
            {'tiers': {}},
            {'version': 1, 'tiers': None},
            {'version': 1, 'tiers': {'a': {'rbd': {'pg_num': 64}}}},
            {'version': 1, 'tiers': {'a': {'overflow': None}}},
        ):
            self.assertFalse(validator.is_valid(value), value)

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
