# SPDX-License-Identifier: Apache-2.0

"""The panel of tiers for members."""

import horizon

from cinder_tiers.horizon import block_storage


class StorageTiers(horizon.Panel):
    """Panel for users who may list the volumes of the project."""

    name = 'Storage Tiers'
    slug = 'storage_tiers'
    permissions = block_storage.PERMISSIONS
    policy_rules = (('volume', 'volume:get_all'),)
