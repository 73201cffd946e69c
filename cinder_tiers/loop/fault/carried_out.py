# SPDX-License-Identifier: Apache-2.0

"""Makes and undoes faults of Ceph. Each step may be repeated.

An OSD is marked, its daemon is not touched: one that is kept down by the flag
noup waits, and comes up by itself when the flag is gone (OSD::_preboot in
src/osd/OSD.cc). It also has noout, so that its data are not moved meanwhile,
however long it takes (mon_osd_down_out_interval).
"""

import collections.abc

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain import errors
from cinder_tiers.loop.fault import facts as cluster_facts
from cinder_tiers.loop.fault import fault as faults

_FLAGS = ','.join(sorted(cluster_facts.KEPT_DOWN))

#: How an OSD is from before, in words.
IN, UP = 'in', 'up'


#: {id: OSD} at the moment.
Osds = collections.abc.Callable[
    [], collections.abc.Mapping[int, cluster_facts.OsdStatus]
]


def begin(
    session: ceph_session.Session, target: faults.Target, osds: Osds
) -> None:
    """Makes a fault, unless it is of the operator's commands.

    :param osds: reads the OSDs.
    :raises errors.ActionFailed: it is not in effect.
    :raises errors.TiersError: Ceph does not answer or refuses.
    """
    kind = target.fault.kind
    if kind is faults.FaultKind.OSD_OUT:
        session.command('osd out', ids=[str(target.osd)])
    elif kind is faults.FaultKind.OSD_DOWN:
        session.command('osd set-group', flags=_FLAGS, who=[str(target)])
        session.command('osd down', ids=[str(target.osd)])
    elif kind is faults.FaultKind.DEEP_SCRUB:
        session.command('osd pool deep-scrub', who=[target.pool])
        return
    found = stand(target, osds)
    if found == before(target):
        raise errors.ActionFailed(
            f'Ceph accepted the command for {target}, but {target} is '
            f'still {found}'
        )


def end(
    session: ceph_session.Session, target: faults.Target, osds: Osds
) -> None:
    """Undoes what was told to Ceph, as far as it is there.

    An OSD then needs some seconds to come up.

    :param osds: reads the OSDs.
    :raises errors.TiersError: Ceph does not answer or refuses.
    """
    osd = None if target.osd is None else osds().get(target.osd)
    if osd is None:
        raise errors.ActionFailed(f'{target} no longer exists')
    kind = target.fault.kind
    if kind is faults.FaultKind.OSD_OUT and osd.weight == 0:
        session.command('osd in', ids=[str(target.osd)])
    if (
        kind is faults.FaultKind.OSD_DOWN
        and osd.flags & cluster_facts.KEPT_DOWN
    ):
        session.command('osd unset-group', flags=_FLAGS, who=[str(target)])


def before(target: faults.Target) -> str:
    """Return the state that an OSD has without the fault."""
    return IN if target.fault.kind is faults.FaultKind.OSD_OUT else UP


def stand(target: faults.Target, osds: Osds) -> str:
    """Return the state of an OSD; that of `before` if nothing is to undo.

    :param osds: reads the OSDs.
    :raises errors.TiersError: Ceph does not answer or refuses.
    """
    osd = None if target.osd is None else osds().get(target.osd)
    if osd is None:
        return 'gone'
    if target.fault.kind is faults.FaultKind.OSD_OUT:
        return 'out' if osd.weight == 0 else IN
    flags = sorted(cluster_facts.KEPT_DOWN & osd.flags)
    return ', '.join([UP if osd.is_up else 'down', *flags])
