# SPDX-License-Identifier: Apache-2.0

"""Reads how much of its quota a project uses, in one call.

Cinder keeps these counts itself, so that no volume is listed for them.
"""

import collections.abc
import dataclasses

import openstack.connection

from cinder_tiers.clients import openstack as openstack_client
from cinder_tiers.domain.state import cinder as cinder_state


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuotaAmount:
    """Use and limit of one quota."""

    in_use: int
    #: For requests that are not done yet.
    reserved: int
    #: None: as much as there is.
    limit: int | None

    @property
    def left(self) -> int | None:
        """Return the amount that a new request may take; None: no limit.

        >>> QuotaAmount(in_use=7, reserved=1, limit=10).left
        2
        """
        if self.limit is None:
            return None
        return max(0, self.limit - self.in_use - self.reserved)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Quota:
    """The volumes and the size that a project has, or may have."""

    volumes: QuotaAmount
    size_gib: QuotaAmount


def read(
    connection: openstack.connection.Connection,
    project: str,
    types: collections.abc.Iterable[str],
) -> tuple[Quota, dict[str, Quota]]:
    """Read the quota of a project, and {volume type name: its quota}.

    :param connection: connection of a member of the project, or of an
        administrator.
    :param project: id of the project.
    :param types: names of volume types; those for which Cinder has no quota
        are left out. Cinder also names the types of others.
    :raises errors.TiersError: Cinder does not answer, or refuses.
    """
    with openstack_client.asking(
        'Cinder did not show the quota of the project',
        remedy='the policy volume_extension:quotas:show must allow it',
    ):
        found = openstack_client.request(
            connection.block_storage,
            'GET',
            '/os-quota-sets/{}',
            project,
            params={'usage': 'True'},
        ).json()['quota_set']
        return _quota(found), {
            name: _quota(found, f'_{name}')
            for name in types
            if f'{cinder_state.QUOTA_RESOURCES["volumes"]}_{name}' in found
        }


def _quota(found: collections.abc.Mapping, ending: str = '') -> Quota:
    return Quota(
        **{
            field: _amount(
                found[f'{cinder_state.QUOTA_RESOURCES[field]}{ending}']
            )
            for field in ('volumes', 'size_gib')
        }
    )


def _amount(found: collections.abc.Mapping) -> QuotaAmount:
    limit = int(found['limit'])
    return QuotaAmount(
        in_use=int(found['in_use']),
        reserved=int(found.get('reserved') or 0),
        limit=None if limit == cinder_state.UNLIMITED else limit,
    )
