# SPDX-License-Identifier: Apache-2.0

"""Removes keys that the database may take for others that stay.

MySQL and MariaDB compare without case. With them Cinder gives a row the new
key when the new one is written, and deletes it when the old one is deleted
(volume_type_extra_specs_update_or_create and qos_specs_item_delete, cinder/
db/api.py); with other databases there are two rows.
"""

import collections.abc
import typing

from cinder_tiers.domain.state import cinder as cinder_state

Specs = collections.abc.Mapping[str, str]


class Rows(typing.Protocol):
    """The keys and values of an object of Cinder."""

    def read(self) -> Specs:
        """Those that it has."""

    def write(self, key: str, value: str) -> None:
        """Sets one."""

    def delete(self, key: str) -> None:
        """Deletes one that it has."""


def remove(removed: str, wanted: Specs, rows: Rows) -> None:
    """Removes a key, after all that is wanted was written.

    :param removed: is not among those that are wanted.
    :param wanted: all that the object should have, and has by now.
    :param rows: of the object.
    """
    folded = cinder_state.as_databases_compare(removed)
    stays = next(
        (
            key
            for key in wanted
            if cinder_state.as_databases_compare(key) == folded
        ),
        None,
    )
    if stays is None:
        rows.delete(removed)
        return
    found = rows.read()
    if removed in found:
        rows.delete(removed)
        found = rows.read()
    if found.get(stays) != wanted[stays]:
        # Both were made in one call, and each had a row of its own.
        if stays in found:
            rows.delete(stays)
        rows.write(stays, wanted[stays])
