# SPDX-License-Identifier: Apache-2.0

"""Meaning of image properties to Cinder; tenants write them."""

import collections.abc
import json

#: Property with the volume type of volumes created from the image.
VOLUME_TYPE = 'cinder_img_volume_type'
#: Nova's list of the disks of a server that an image was made of.
BLOCK_DEVICES = 'block_device_mapping'
#: Id of the key of an image that holds the data of an encrypted volume.
ENCRYPTION_KEY = 'cinder_encryption_key_id'

#: Characters of a volume type's name in Cinder's database.
_NAME_CHARACTERS = 255
# Properties that Cinder converts from JSON text when it reads an image.
_CONVERTED = (BLOCK_DEVICES, 'mappings')


def is_readable(image: collections.abc.Mapping[str, object]) -> bool:
    """Return whether Cinder can read an image at all.

    It treats an image that it cannot read as missing (cinder/image/glance.py,
    `_convert_from_string`, 29.0.0).

    :param image: properties and other fields of the image.

    >>> is_readable({'mappings': '{'})
    False
    """
    for name in _CONVERTED:
        try:
            _converted(image.get(name))
        except (ValueError, RecursionError):
            return False
    return True


def boot_device(
    block_devices: object,
) -> collections.abc.Mapping[str, object] | None:
    """Return the disk of an image that stands for a snapshot, if any.

    Cinder creates a volume of such an image from the snapshot that it names.

    Images of servers that booted from a volume are like that
    (cinder/api/v3/volumes.py, `_get_image_snapshot`, 29.0.0), from
    microversion 3.46 on.

    :param block_devices: property `BLOCK_DEVICES`: JSON text, its value, or
        anything else.

    >>> boot_device('[{"source_type": "snapshot", "boot_index": 0}]')
    {'source_type': 'snapshot', 'boot_index': 0}
    """
    try:
        devices = _converted(block_devices)
    except (ValueError, RecursionError):
        return None
    if not isinstance(devices, list):
        return None
    # False and 0.0 equal 0, as in Cinder.
    return next(
        (
            device
            for device in devices
            if isinstance(device, dict)
            and device.get('source_type') == 'snapshot'
            and device.get('boot_index') == 0
        ),
        None,
    )


def volume_type(image: collections.abc.Mapping[str, object]) -> str | None:
    """Return the name or id of the volume type that an image names.

    A text that is too long for a name is cut.

    :param image: properties and other fields of the image.
    """
    named = image.get(VOLUME_TYPE)
    return named[: _NAME_CHARACTERS + 1] if isinstance(named, str) else None


def brings_key(key_id: object) -> bool:
    """Return whether a volume of the image needs the image's key.

    An empty id is not a key (cinder/volume/volume_utils.py,
    `copy_image_to_volume`, 29.0.0).

    :param key_id: property `ENCRYPTION_KEY`; None without.
    """
    return bool(key_id)


def _converted(value: object) -> object:
    return json.loads(value) if isinstance(value, str) else value
