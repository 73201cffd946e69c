# SPDX-License-Identifier: Apache-2.0

"""Reads the memory of the hosts of OSDs, and how much OSDs aim at.

OSDs report what their host has when they start (mem_total_kb of `osd
metadata`, from /proc/meminfo: `collect_sys_info`, ceph src/common/util.cc). Of
one in a container, too, it is the memory of the host. Writes nothing.
"""

import collections.abc

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.plan import owners
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph import answers
from cinder_tiers.observe.ceph.osd import osd_options


@answers.in_known_form
def observe(
    session: ceph_session.Session, osd_ids: collections.abc.Set[int]
) -> dict[int, ceph_state.OsdMemory]:
    """Read the memory of some OSDs, and of all others on their hosts.

    :param osd_ids: ids of those OSDs.
    :raises errors.TiersError: Ceph does not answer or refuses.
    """
    reported = {one['id']: one for one in session.command('osd metadata')}
    hosts = {
        reported[osd_id].get('hostname')
        for osd_id in osd_ids & reported.keys()
    } - {None}
    here = {
        osd_id: one
        for osd_id, one in reported.items()
        if osd_id in osd_ids or one.get('hostname') in hosts
    }
    targets = osd_options.values_of(session, here, owners.MEMORY)
    return {
        osd_id: ceph_state.OsdMemory(
            host=one.get('hostname'),
            host_bytes=_bytes(one.get('mem_total_kb')),
            target_bytes=targets.get(osd_id),
        )
        for osd_id, one in here.items()
    }


def _bytes(kib: str | None) -> int | None:
    text = kib or ''
    # Of a kernel that does not say, 0.
    return int(text) * 1024 or None if text.isdecimal() else None
