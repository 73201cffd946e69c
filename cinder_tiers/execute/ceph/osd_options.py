# SPDX-License-Identifier: Apache-2.0

"""Sets options of OSDs for a device class or host, or removes them."""

from cinder_tiers.clients import ceph
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state


class OsdOptions:
    """Sets options of the OSDs of a device class or host, or removes them.

    :param mask: class or host, of the sections of Ceph's configuration.
    """

    def __init__(self, sessions: ceph.Sessions, *, mask: str) -> None:
        self._sessions = sessions
        self._mask = mask

    def write(
        self,
        wanted: ceph_state.OsdOptions,
        *,
        key: actions.Key,
        current: ceph_state.OsdOptions | None,
        consented: bool = False,
    ) -> None:
        """Sets each value in the monitors, which covers future OSDs.

        A value of None is removed from them.
        """
        session = self._sessions[key.of_cluster]
        who = f'osd/{self._mask}:{wanted.name}'
        # Without the override OSDs would not heed some of the others.
        for name, value in sorted(
            wanted.values.items(),
            key=lambda item: item[0] != osd_options.MCLOCK_OVERRIDE,
        ):
            if value is None:
                session.command('config rm', who=who, name=name)
            else:
                session.command('config set', who=who, name=name, value=value)
