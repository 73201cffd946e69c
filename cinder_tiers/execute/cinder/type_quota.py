# SPDX-License-Identifier: Apache-2.0


"""Writes the default quotas of volume types to Cinder."""

import openstack.connection
import openstack.exceptions

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import difference
from cinder_tiers.execute.cinder import progress


class TypeQuotas:
    """Sets quotas of volume types in the quota class `default`.

    Cinder 29 uses this class for every project without a quota of its own.
    """

    def __init__(self, connection: openstack.connection.Connection) -> None:
        self._block_storage = connection.block_storage

    def write(
        self,
        wanted: cinder_state.TypeQuota,
        *,
        key: actions.Key,
        current: cinder_state.TypeQuota | None,
        consented: bool = False,
    ) -> None:
        """Sets what differs, in one call.

        :raises errors.ActionFailed: when Cinder refuses.
        """
        before = current or cinder_state.TypeQuota(name=wanted.name)
        resources = cinder_state.QUOTA_RESOURCES
        changed = {
            f'{resources[one.field]}_{wanted.name}': one.after
            for one in difference.differences(before, wanted)
        }
        if not changed:
            return
        try:
            # openstacksdk knows only the resources that are of no type.
            openstack_client.request(
                self._block_storage,
                'PUT',
                '/os-quota-class-sets/default',
                json={'quota_class_set': changed},
            )
        except openstack_client.API_ERRORS as error:
            raise progress.failure(key, error, []) from error
