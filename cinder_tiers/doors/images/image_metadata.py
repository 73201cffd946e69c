# SPDX-License-Identifier: Apache-2.0

"""The image from which a volume or a snapshot that exists was made."""

import collections.abc
import typing

from cinder import exception


def image_of(
    read_metadata: collections.abc.Callable, context: typing.Any, ident: str
) -> str | None:
    """Return the id of the image that Cinder stored with the volume.

    A member may write another id there (os-set_image_metadata). This gains
    nothing: it can only select tiers that its project may use, as when it
    creates a volume, and the same trust in images of others applies.

    :param read_metadata: function of Cinder's database layer for the kind of
        object.
    :param ident: id of the volume or the snapshot.
    :returns: None if it was not made from an image.
    :raises Exception: Cinder's database layer failed.
    """
    try:
        rows = read_metadata(context.elevated(), ident)
    except exception.GlanceMetadataNotFound:
        return None
    return next(
        (row['value'] for row in rows if row['key'] == 'image_id'), None
    )
