# SPDX-License-Identifier: Apache-2.0

"""What is kept of a Ceph cluster that a run was measured on.

Records of the result file: the cluster as it was before and after the
measurement, and what changed.  This module must not know how Ceph is asked.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass

HEALTHY = 'HEALTH_OK'
# States of placement groups in which nothing but clients uses the disks.
_QUIET = {'active', 'clean'}


@dataclass(frozen=True, kw_only=True)
class CephPool:
    """A pool that holds volumes of a tier.

    :ivar kind: replicated or erasure
    :ivar size: copies, or chunks of an erasure code
    :ivar min_size: how many of them must be there for I/O to go on
    :ivar pg_num: placement groups
    :ivar crush_rule: by its name
    :ivar device_class: that its rule takes; null: all
    :ivar compression: mode and algorithm, as far as the pool sets them
    :ivar rbd_options: that the pool sets for its clients
    :ivar osds: how many OSDs it may use
    :ivar osd_options: of these, those that are not at their default and have
        to do with I/O, as the running OSDs have them
    """

    kind: str
    size: int
    min_size: int
    pg_num: int
    crush_rule: str
    device_class: str | None
    compression: str
    rbd_options: Mapping[str, str]
    osds: int
    osd_options: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class CephReading:
    """A cluster at one instant.

    :ivar release: of each kind of daemon, as Ceph tells it; several, if
        daemons are not of one release
    :ivar health: HEALTH_OK, HEALTH_WARN or HEALTH_ERR
    :ivar checks: {code of a health check: its summary}
    :ivar osds_down: OSDs that are not up
    :ivar osds_out: OSDs that are not in
    :ivar osd_boots: {OSD: epoch of the OSD map in which it last came up}
    :ivar pg_states: {state: number of placement groups}
    :ivar client_options: RBD options that the monitors tell clients, and
        the defaults of its cache; what ceph.conf of a compute host says, and
        QEMU's cache mode, are stronger
    :ivar pools: that hold volumes of the run, by their names
    """

    release: tuple[str, ...]
    health: str
    checks: Mapping[str, str]
    osds_down: tuple[int, ...]
    osds_out: tuple[int, ...]
    osd_boots: Mapping[str, int]
    pg_states: Mapping[str, int]
    client_options: Mapping[str, str]
    pools: Mapping[str, CephPool]


@dataclass(frozen=True, kw_only=True)
class CephWatch:
    """A cluster before and after the measurement.

    :ivar before: when guests were booting; null if it could not be read
    :ivar after: when they were done; null if it could not be read
    :ivar unread: why something could not be read
    """

    before: CephReading | None
    after: CephReading | None
    unread: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CephImage:
    """The RBD image of the volume that a guest worked on, after the run.

    :ivar pool: in which it lies
    :ivar data_pool: which has its data, if that is another one
    :ivar parent: of which it is a copy-on-write clone; null if it is flat
    :ivar objects: of which its size would be made
    :ivar own_objects: that exist; what is missing was never written, and is
        read from the parent or is zero.  null if it would take long to count
    :ivar object_bytes: size of an object
    """

    pool: str
    data_pool: str | None
    parent: str | None
    objects: int
    own_objects: int | None
    object_bytes: int


def _differing(kind: str, before: Mapping, after: Mapping) -> Iterator[str]:
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield (
                f'{kind} {name}: {before.get(name, "not set")} before,'
                f' {after.get(name, "not set")} after'
            )


def _pools_changed(before: CephReading, after: CephReading) -> Iterator[str]:
    for name in sorted(before.pools.keys() & after.pools.keys()):
        old, new = before.pools[name], after.pools[name]
        for kind in ('osd_options', 'rbd_options'):
            yield from _differing(
                f'pool {name}: option', getattr(old, kind), getattr(new, kind)
            )
        for field in (
            'size',
            'min_size',
            'pg_num',
            'crush_rule',
            'compression',
            'osds',
        ):
            if getattr(old, field) != getattr(new, field):
                yield (
                    f'pool {name}: {field} {getattr(old, field)} before,'
                    f' {getattr(new, field)} after'
                )


def changes(watch: CephWatch) -> list[str]:
    """What happened to the cluster during the run; a clause for each.

    What came and went between the two readings is seen only of OSDs.
    """
    before, after = watch.before, watch.after
    if before is None or after is None:
        return []
    found = []
    if before.release != after.release:
        found.append(
            f'release: {", ".join(before.release)} before,'
            f' {", ".join(after.release)} after'
        )
    found += [
        f'{code} appeared: {text}'
        for code, text in sorted(after.checks.items())
        if code not in before.checks
    ]
    found += [
        f'{code} went away'
        for code in sorted(before.checks)
        if code not in after.checks
    ]
    for what, old, new in (
        ('down', before.osds_down, after.osds_down),
        ('out', before.osds_out, after.osds_out),
    ):
        found += [f'osd.{osd} went {what}' for osd in sorted({*new} - {*old})]
        found += [
            f'osd.{osd} is no longer {what}' for osd in sorted({*old} - {*new})
        ]
    found += [
        f'osd.{osd} was started again'
        for osd, epoch in sorted(after.osd_boots.items())
        if before.osd_boots.get(osd, epoch) != epoch
        and int(osd) not in before.osds_down
    ]
    found += _differing(
        'client option', before.client_options, after.client_options
    )
    return found + list(_pools_changed(before, after))


def busy_with(reading: CephReading) -> str:
    """What placement groups did beside serving clients; empty if nothing."""
    return ', '.join(
        f'{count} {state}'
        for state, count in sorted(reading.pg_states.items())
        if set(state.split('+')) - _QUIET
    )
