# SPDX-License-Identifier: Apache-2.0

"""Reads how many I/Os clients do on pools right now. Writes nothing.

`osd pool stats`, which the monitors pass on to the manager: rates over its
last reports of the OSDs, some seconds (PGMap::pool_client_io_rate_summary in
src/mon/PGMap.cc, the same in Ceph 16 to 20). A pool without I/O has an empty
object in place of rates. What clients ask of a pool is counted, not what OSDs
make of it: neither copies nor recovery.
"""

import collections.abc
import dataclasses

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain import errors
from cinder_tiers.observe.ceph import answers


@dataclasses.dataclass(frozen=True, kw_only=True)
class ClientIo:
    """I/Os per second of all clients of some pools, at one moment."""

    read_iops: int
    write_iops: int

    def iops(self, direction: str | None) -> int:
        """Return the IOPS of reads, of writes, or of both together.

        :param direction: `read`, `write`, or None for both.
        """
        return {
            'read': self.read_iops,
            'write': self.write_iops,
            None: self.read_iops + self.write_iops,
        }[direction]


def parse(
    stats: collections.abc.Iterable[collections.abc.Mapping],
    pools: collections.abc.Container[str],
) -> ClientIo:
    """Sum the client I/O of some pools; without pools it is zero.

    :param stats: answer to `osd pool stats`.
    :param pools: names of the pools to include.
    """
    rates = [
        one['client_io_rate'] for one in stats if one['pool_name'] in pools
    ]
    return ClientIo(
        read_iops=sum(one.get('read_op_per_sec', 0) for one in rates),
        write_iops=sum(one.get('write_op_per_sec', 0) for one in rates),
    )


@answers.in_known_form
def observe(
    session: ceph_session.Session, pools: collections.abc.Sequence[str]
) -> ClientIo:
    """Read the client I/O of some pools.

    :param pools: names of the pools.
    :raises errors.TiersError: Ceph does not answer or refuses, or a pool does
        not exist.
    """
    stats = session.command('osd pool stats')
    known = {one['pool_name'] for one in stats}
    missing = [name for name in pools if name not in known]
    if missing:
        raise errors.TiersError(
            f'Ceph cluster {session.cluster.name!r} has no statistics of '
            f'{", ".join(missing)}: expected the pools of the tier; run '
            '"openstack tier apply" first'
        )
    return parse(stats, pools)
