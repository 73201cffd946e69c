# SPDX-License-Identifier: Apache-2.0

"""The panel of tiers for administrators."""

import horizon

from cinder_tiers.horizon import block_storage


class StorageTiers(horizon.Panel):
    """For whoever may see the backends, which an explanation needs."""

    name = 'Storage Tiers'
    slug = 'storage_tiers'
    permissions = block_storage.PERMISSIONS
    policy_rules = (
        ('volume', 'scheduler_extension:scheduler_stats:get_pools'),
    )
