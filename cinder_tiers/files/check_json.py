# SPDX-License-Identifier: Apache-2.0

"""Checks what a JSON file contains against a schema of this package.

`jsonschema.validate` checks the schema itself at each call, which takes longer
than most files do; the schemas are ours, and a test checks them.
"""

import collections.abc

import jsonschema


def check(value: object, schema: collections.abc.Mapping[str, object]) -> None:
    """Checks a value.

    :raises jsonschema.ValidationError: of what is wrong, what matters most.
    """
    error = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(schema).iter_errors(value)
    )
    if error is not None:
        raise error
