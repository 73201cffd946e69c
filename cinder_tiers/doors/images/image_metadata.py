# SPDX-License-Identifier: Apache-2.0

"""The image from which a volume or a snapshot that exists was made."""

import collections.abc
import typing

from cinder import exception


def image_of(
    read_metadata: collections.abc.Callable, context: typing.Any, ident: str
) -> str | None:
    """Id of the image, as Cinder stored it with the volume.

    A member may write another id there (os-set_image_metadata). It gains
    nothing by that: it chooses among the tiers that its project may use, as
    it does when it creates a volume, and of the images of others those count
    that count for a create.

    :param read_metadata: the function of Cinder's database layer for the
        kind of thing.
    :param ident: of the volume or the snapshot.
    :returns: None when it was not made from an image.
    :raises Exception: whatever Cinder's database layer raises.
    """
    try:
        rows = read_metadata(context.elevated(), ident)
    except exception.GlanceMetadataNotFound:
        return None
    return next(
        (row['value'] for row in rows if row['key'] == 'image_id'), None
    )
