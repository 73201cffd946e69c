# SPDX-License-Identifier: Apache-2.0

"""Sets how willing OSDs are to be primaries."""

from cinder_tiers.clients import ceph
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state


class PrimaryAffinities:
    """Sets the primary affinity of the OSDs of a device class."""

    def __init__(self, sessions: ceph.Sessions) -> None:
        self._sessions = sessions

    def write(
        self,
        wanted: ceph_state.PrimaryAffinity,
        *,
        key: actions.Key,
        current: ceph_state.PrimaryAffinity | None,
    ) -> None:
        """Sets it on each OSD that has another one."""
        for osd_id, value in sorted(current.by_osd.items() if current else ()):
            if value != wanted.value:
                self._sessions[key.cluster].command(
                    'osd primary-affinity',
                    id=osd_id,
                    weight=float(wanted.value),
                )
