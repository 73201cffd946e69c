# SPDX-License-Identifier: Apache-2.0

"""The published schema of result files is that of the code."""

import json
import pathlib

import jsonschema
import testtools

from cinder_tiers.figures.result import result as run_result
from tests.unit.figures.result import test_build

PUBLISHED = (
    pathlib.Path(__file__).parents[3]
    / 'etc'
    / 'cinder-tiers'
    / 'result.schema.json'
)


class ResultSchemaTest(testtools.TestCase):
    def test_the_published_schema_is_that_of_the_code(self):
        self.assertEqual(run_result.published(), PUBLISHED.read_text('utf-8'))

    def test_it_is_a_schema_and_files_are_valid_by_it(self):
        schema = json.loads(PUBLISHED.read_text('utf-8'))
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        for outcomes in (
            [test_build.outcome('g000')],
            [
                test_build.outcome('g000', without=[0, 1, 2]),
                test_build.outcome('g001'),
            ],
        ):
            value = json.loads(run_result.write(test_build.result(*outcomes)))
            validator.validate(value)
            self.assertFalse(validator.is_valid({**value, 'version': 1}))
            self.assertFalse(validator.is_valid({**value, 'guests': [{}]}))
