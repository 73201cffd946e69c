# SPDX-License-Identifier: Apache-2.0

"""Sets how willing OSDs are to be primaries."""

from cinder_tiers.clients import ceph
from cinder_tiers.clients import side_by_side
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
        consented: bool = False,
    ) -> None:
        """Sets it on each OSD that has another one.

        Ceph has no command for several. Those that reach the monitors
        together become one map, not one each.
        """
        session = self._sessions[key.of_cluster]
        side_by_side.each(
            lambda osd_id: session.command(
                'osd primary-affinity', id=osd_id, weight=float(wanted.value)
            ),
            (
                osd_id
                for osd_id, value in sorted(
                    current.by_osd.items() if current else ()
                )
                if value != wanted.value
            ),
            at_once=side_by_side.CEPH_AT_ONCE,
        )
