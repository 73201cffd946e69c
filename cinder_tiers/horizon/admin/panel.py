# SPDX-License-Identifier: Apache-2.0

"""The panel of tiers for administrators."""

import horizon

from cinder_tiers.horizon import block_storage


class StorageTiers(horizon.Panel):
    """Panel for users who may see the backends, which explanations need."""

    name = 'Storage Tiers'
    slug = 'storage_tiers'
    permissions = block_storage.PERMISSIONS
    policy_rules = (
        ('volume', 'scheduler_extension:scheduler_stats:get_pools'),
    )
