# SPDX-License-Identifier: Apache-2.0

"""Reads what chooses primaries besides primary affinity. Writes nothing."""

import collections
import collections.abc

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain import errors
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph import answers

#: The first release with `ceph osd pg-upmap-primary`.
FIRST_RELEASE = 18
#: Modes of the balancer in which it chooses primaries.
MODES = ('read', 'upmap-read')


@answers.in_known_form
def observe(
    session: ceph_session.Session, release: int | None
) -> ceph_state.ReadBalancer | None:
    """The read balancer of a cluster.

    :param release: the major release that all monitors have.
    :returns: None of a release that has none, or an unknown one.
    :raises errors.TiersError: when Ceph does not answer or refuses.
    """
    if release is None or release < FIRST_RELEASE:
        return None
    return ceph_state.ReadBalancer(
        mode=_mode(session), primaries=parse(session.command('osd dump'))
    )


def parse(osd_dump: collections.abc.Mapping) -> dict[int, int]:
    """Return {OSD id: placement groups of which it was made the primary}.

    :param osd_dump: answer to `osd dump` (OSDMap::dump, pg_upmap_primaries).
    """
    return dict(
        collections.Counter(
            one['primary_osd'] for one in osd_dump['pg_upmap_primaries']
        )
    )


def _mode(session: ceph_session.Session) -> str:
    try:
        found = session.command('balancer status')
    except errors.TiersError:
        # A cluster without a manager can be planned for, and balances nothing.
        return ''
    return found['mode'] if found['active'] and found['mode'] in MODES else ''
