# SPDX-License-Identifier: Apache-2.0

"""Record of the Ceph cluster on which a run was measured.

Records of the result file: the cluster before and after the measurement, and
the changes.  This module must not know how Ceph is queried.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass

HEALTHY = 'HEALTH_OK'
# States of placement groups in which nothing but clients uses the disks.
_QUIET = {'active', 'clean'}
_UNSET = 'unset'


@dataclass(frozen=True, kw_only=True)
class CephPool:
    """A pool that holds volumes of a tier."""

    #: replicated or erasure
    kind: str
    #: copies, or chunks of an erasure code
    size: int
    #: how many of them must be there for I/O to go on
    min_size: int
    #: placement groups
    pg_num: int
    #: by its name
    crush_rule: str
    #: that its rule takes; null: all
    device_class: str | None
    #: mode and algorithm, as far as the pool sets them
    compression: str
    #: that the pool sets for its clients
    rbd_options: Mapping[str, str]
    #: how many OSDs it may use
    osds: int
    #: of these, those that are not at their default and have to do with I/O,
    #: as the running OSDs have them
    osd_options: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class CephReading:
    """A cluster at one instant."""

    #: of each kind of daemon, as Ceph has it; several, if daemons are not of
    #: one release
    release: tuple[str, ...]
    #: HEALTH_OK, HEALTH_WARN or HEALTH_ERR
    health: str
    #: {code of a health check: its summary}
    checks: Mapping[str, str]
    #: OSDs that are not up
    osds_down: tuple[int, ...]
    #: OSDs that are not in
    osds_out: tuple[int, ...]
    #: {OSD: epoch of the OSD map in which it last came up}
    osd_boots: Mapping[str, int]
    #: {state: number of placement groups}
    pg_states: Mapping[str, int]
    #: RBD options that the monitors send clients, and the defaults of its
    #: cache; what ceph.conf of a compute host says, and QEMU's cache mode, are
    #: stronger
    client_options: Mapping[str, str]
    #: that hold volumes of the run, by their names
    pools: Mapping[str, CephPool]


@dataclass(frozen=True, kw_only=True)
class CephWatch:
    """A cluster before and after the measurement."""

    #: when guests were booting; null if it could not be read
    before: CephReading | None
    #: when they were done; null if it could not be read
    after: CephReading | None
    #: why something could not be read
    unread: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CephImage:
    """The RBD image of the volume that a guest worked on, after the run."""

    #: in which it lies
    pool: str
    #: which has its data, if that is another one
    data_pool: str | None
    #: of which it is a copy-on-write clone; null if it is flat
    parent: str | None
    #: of which its size would be made
    objects: int
    #: that exist; what is missing was never written, and is read from the
    #: parent or is zero.  null if it would take long to count
    own_objects: int | None
    #: size of an object
    object_bytes: int


def compression(options: Mapping[str, str]) -> str:
    """`compression` of a pool.

    :param options: {name: value} that the pool sets.

    >>> compression({'compression_mode': 'force'})
    'mode force, algorithm unset'
    """
    mode, algorithm = (
        options.get(f'compression_{what}', _UNSET)
        for what in ('mode', 'algorithm')
    )
    return f'mode {mode}, algorithm {algorithm}'


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
    """Describe changes of the cluster during the run; a clause for each.

    Changes that were undone between the two readings show for OSDs only.
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
    """Describe the work of placement groups other than I/O of clients."""
    return ', '.join(
        f'{count} {state}'
        for state, count in sorted(reading.pg_states.items())
        if set(state.split('+')) - _QUIET
    )
