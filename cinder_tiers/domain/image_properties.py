# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""What the properties of an image mean to Cinder. Hostile text, as tags are.
"""

import json

#: Names the volume type of volumes made from the image.
VOLUME_TYPE = 'cinder_img_volume_type'
#: Nova's list of the disks of a server that an image was made of.
BLOCK_DEVICES = 'block_device_mapping'


def stands_for_snapshot(block_devices: object) -> bool:
    """Whether Cinder makes a volume of the image from a snapshot.

    So it is with an image of a server that booted from a volume (cinder/api/
    v3/volumes.py, `_get_image_snapshot`, 29.0.0).

    :param block_devices: the property `BLOCK_DEVICES`: JSON text or what it
        stands for, or anything else.

    >>> stands_for_snapshot('[{"source_type": "snapshot", "boot_index": 0}]')
    True
    """
    try:
        devices = (json.loads(block_devices)
                   if isinstance(block_devices, str) else block_devices)
    except (ValueError, RecursionError):
        return False
    return isinstance(devices, list) and any(
        isinstance(device, dict) and device.get('source_type') == 'snapshot'
        and device.get('boot_index') == 0 for device in devices)
