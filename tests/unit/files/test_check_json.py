# SPDX-License-Identifier: Apache-2.0

"""The schemas of JSON files, which no start of a program checks."""

import json

import ddt
import jsonschema
import testtools

from cinder_tiers.files import check_json
from cinder_tiers.files import saved_plan


@ddt.ddt
class SchemasTestCase(testtools.TestCase):
    @ddt.data(saved_plan)
    def test_they_are_schemas(self, module):
        jsonschema.Draft202012Validator.check_schema(module._SCHEMA)

    @ddt.data(saved_plan)
    def test_what_is_wrong_is_told_as_jsonschema_tells_it(self, module):
        for text in ('{}', '[]', 'null', '{"version": "x", "tier": 1}'):
            value = json.loads(text)
            ours, theirs = (
                str(
                    self.assertRaises(
                        jsonschema.ValidationError,
                        check,
                        value,
                        module._SCHEMA,
                    )
                )
                for check in (check_json.check, jsonschema.validate)
            )
            self.assertEqual(theirs, ours)
