# SPDX-License-Identifier: Apache-2.0

"""Removes keys that the database may take for others that stay.

MySQL and MariaDB compare without case. With them Cinder gives a row the new
key when the new one is written, and deletes it when the old one is deleted
(volume_type_extra_specs_update_or_create and qos_specs_item_delete, cinder/
db/api.py); with other databases there are two rows. Which letters are the same
depends on the collation and its version: what is left shows it.
"""

import collections.abc
import typing

Specs = collections.abc.Mapping[str, str]


class Rows(typing.Protocol):
    """The keys and values of an object of Cinder."""

    def read(self) -> Specs:
        """Return the current keys and values."""

    def write(self, key: str, value: str) -> None:
        """Sets one."""

    def delete(self, key: str) -> None:
        """Deletes one that it has."""


def remove(removed: str, wanted: Specs, rows: Rows) -> None:
    """Remove a key after all wanted keys were written.

    :param removed: key that is not in `wanted`.
    :param wanted: all keys and values that the object must have.
    """
    left = rows.read()
    # To the database it was one that was written, or removed, before.
    is_gone = removed not in left
    if not is_gone:
        rows.delete(removed)
        left = rows.read()
    for key, value in wanted.items():
        if key not in left:
            rows.write(key, value)
        elif is_gone and left[key] != value:
            # Both were made in one call, and each had a row of its own.
            rows.delete(key)
            rows.write(key, value)
