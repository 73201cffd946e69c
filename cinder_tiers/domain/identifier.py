# SPDX-License-Identifier: Apache-2.0

"""Ids of OpenStack objects, the only text that may become part of a URL.

Pure. Cinder and Nova give each object a UUID; Glance takes no other id of an
image (glance/api/v2/images.py, 30.0.0); Keystone gives a project a UUID
without hyphens. Any other text from a tenant or a cluster may be a path.
"""

import re

_UUID = re.compile(
    '[0-9a-f]{8}(-?)[0-9a-f]{4}\\1[0-9a-f]{4}\\1[0-9a-f]{4}\\1[0-9a-f]{12}',
    re.IGNORECASE | re.ASCII,
)


def is_id(value: object) -> bool:
    """Return whether a value is an id.

    >>> is_id('c0ffee00-0000-4000-8000-000000000000')
    True
    >>> is_id('c0ffee00-0000-4000-8000-000000000000/file'), is_id('../types')
    (False, False)
    """
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


def is_same(one: object, other: object) -> bool:
    """Return whether two ids are equal; databases ignore their case."""
    return (
        is_id(one)
        and isinstance(other, str)
        and str(one).lower() == other.lower()
    )
