# SPDX-License-Identifier: Apache-2.0

"""Creates cephx users and adds capabilities. Sees no key."""

from cinder_tiers.clients import ceph
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import cephx_user
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state


class CephxUsers:
    """Creates cephx users and adds capabilities. Sees no key."""

    def __init__(self, sessions: ceph.Sessions) -> None:
        self._sessions = sessions

    def write(
        self,
        wanted: ceph_state.CephxUser,
        *,
        key: actions.Key,
        current: ceph_state.CephxUser | None,
        consented: bool = False,
    ) -> None:
        """Create the user, or replace its capabilities.

        The wanted capabilities include those that the plan saw.

        :param consented: whether the operator allows changing a user of
            others; even then no capability is taken away.
        :raises errors.ActionFailed: the user has gained capabilities since the
            plan, which Ceph would take away, or lost some, which would come
            back.
        """
        if current and wanted.of_others and not consented:
            raise errors.ActionFailed(
                f'refusing to change {key}, which holds '
                f'{"; ".join(wanted.of_others)}: not permitted by --allow; '
                'run "openstack tier plan" for details'
            )
        lost = cephx_user.beyond(current.caps, wanted.caps) if current else ()
        if lost:
            raise errors.ActionFailed(
                f'{key} was granted {"; ".join(lost)} since the plan was '
                'made; no part of it was changed; run "openstack tier '
                'plan" again'
            )
        revoked = (
            cephx_user.beyond(
                wanted.caps, cephx_user.union(current.caps, wanted.needed)
            )
            if current
            else ()
        )
        if revoked:
            raise errors.ActionFailed(
                f'{"; ".join(revoked)} of {key} was revoked since the '
                'plan was made; no part of it was changed; run "openstack '
                'tier plan" again'
            )
        self._sessions[key.of_cluster].command(
            'auth caps' if current else 'auth get-or-create',
            entity=wanted.name,
            caps=[
                text for pair in sorted(wanted.caps.items()) for text in pair
            ],
        )
