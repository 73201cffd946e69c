# SPDX-License-Identifier: Apache-2.0

"""Usage of each tier by each project, as far as Cinder's records show it.

The API of Cinder shows the existing volumes, with their current size, and two
times: when a volume was created, and when its record was last changed. An
extend, a retype and a transfer change the record (column `updated_at`, which
each update sets), and so do many other operations. So a volume certainly had
its size, its type and its project since that time, and cannot have been larger
before, for a volume never shrinks: both bounds are given, and no number
between them. Volumes that were deleted, or left the tier or the project, are
in neither, since no record shows them. Databases keep both times in whole
seconds, so that either bound may be off by one.

Pure. Must not know how volumes are read.
"""

import collections.abc
import dataclasses
import datetime
import fractions

from cinder_tiers.domain.audit import volumes as audit_volumes
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.state import sold
from cinder_tiers.domain.state import type_succession

_HOUR = datetime.timedelta(hours=1)
_TICK = datetime.timedelta(microseconds=1)
_TICKS_OF_HOUR = _HOUR // _TICK
#: Directions of IOPS limits, as of `sold.iops_limit`.
DIRECTIONS = (None, 'read', 'write')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Period:
    """A time that has begun; both ends are aware of their time zone."""

    begin: datetime.datetime
    #: Not part of it; not after now.
    end: datetime.datetime


def period(
    begin: datetime.datetime | None,
    end: datetime.datetime | None,
    *,
    now: datetime.datetime,
) -> Period:
    """Return the part of the requested period that is over.

    >>> period(None, None, now=datetime.datetime(
    ...     2028, 2, 29, 12, tzinfo=datetime.UTC)).begin.isoformat()
    '2028-02-01T00:00:00+00:00'

    :param begin: begin of the period; None: the first of the month (UTC) in
        which it ends.
    :param end: end of the period; None: now.
    :param now: current time; all three are aware of their time zone.
    :raises ValueError: the period does not begin before its end, or before
        now.
    """
    last = now if end is None else min(end, now)
    if begin is None:
        begin = (last.astimezone(datetime.UTC) - _TICK).replace(
            day=1, hour=0, minute=0, second=0, microsecond=0
        )
    if end is not None and begin >= end:
        raise ValueError(
            f'the period begins at {begin.isoformat()} and ends at '
            f'{end.isoformat()}: expected a beginning before the end'
        )
    if begin >= now:
        raise ValueError(
            f'the period begins at {begin.isoformat()}: expected a time '
            f'before now, {now.isoformat(timespec="seconds")}'
        )
    return Period(begin=begin, end=last)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GibHours:
    """Sizes of existing volumes in GiB, times hours."""

    #: Since the record of each volume was last changed.
    at_least: fractions.Fraction
    #: If each volume always had its size of now, and was always where it is.
    at_most: fractions.Fraction


@dataclasses.dataclass(frozen=True, kw_only=True)
class Usage:
    """Usage of a tier, or of a volume type without a tier, by a project."""

    #: None: the volumes are of no tier, or the user does not see of which.
    tier: str | None
    #: Name of the type of the tier, or else of the volumes; None: none.
    volume_type: str | None
    #: Id.
    project: str
    #: Now.
    volumes: int
    #: Of the volumes, now.
    size_gib: int
    #: In the period.
    gib_hours: GibHours
    #: {direction: what its volumes may do at once, by their limits}; None: a
    #: volume has no limit, or the user does not see limits.
    iops: collections.abc.Mapping[str | None, int | None]
    #: Volumes without an IOPS limit; None: the user does not see limits.
    unlimited: int | None


def of_volumes(
    listed: collections.abc.Iterable[audit_volumes.ListedVolume],
    *,
    over: Period,
    types: collections.abc.Mapping[str, str],
    limits: collections.abc.Mapping[str, sold.Limits] | None,
) -> tuple[Usage, ...]:
    """Sum up the usage of each tier and project, in this order.

    :param listed: volumes, each with the tier that the audit finds; targets of
        running migrations do not count.
    :param over: period of the GiB-hours.
    :param types: {tier: name of its volume type}
    :param limits: {id of a volume type: its limits}; None: unknown.
    :returns: usage by the names of tiers, then that without a tier.
    """
    sums: dict[tuple[str | None, str | None, str], _Sum] = {}
    for one in listed:
        # It takes the place of one that is listed as well.
        if one.volume.is_migration_target:
            continue
        tier = one.verdict.tier
        name = types.get(tier) if tier else None
        if name is None:
            # Who does not see which types are tiers sees their names.
            own = one.volume.type_name
            name = own and (type_succession.successor_of(own) or own)
        key = tier, name, one.volume.project
        sums.setdefault(key, _Sum()).add(one.volume, over, limits)
    return tuple(
        sums[key].usage(*key, knows_limits=limits is not None)
        for key in sorted(
            sums,
            key=lambda key: (
                key[0] is None,
                key[0] or '',
                key[1] or '',
                key[2],
            ),
        )
    )


class _Sum:
    """Sum in whole units."""

    def __init__(self) -> None:
        self._volumes = 0
        self._size_gib = 0
        self._at_least = 0
        self._at_most = 0
        self._iops = dict.fromkeys(DIRECTIONS, 0)
        self._without = dict.fromkeys(DIRECTIONS, 0)

    def add(
        self,
        volume: facts.KnownVolume,
        over: Period,
        limits: collections.abc.Mapping[str, sold.Limits] | None,
    ) -> None:
        """Adds a volume."""
        self._volumes += 1
        self._size_gib += volume.size_gib
        known, possible = _ticks(volume, over)
        self._at_least += volume.size_gib * known
        self._at_most += volume.size_gib * possible
        clients = sold.clients(volume.status, volume.servers)
        if limits is None or not clients:
            return
        of_type = limits.get(
            volume.volume_type.type_id if volume.volume_type else ''
        )
        for direction in DIRECTIONS:
            most = (
                of_type.iops(direction, size_gib=volume.size_gib)
                if of_type
                else None
            )
            if most is None:
                self._without[direction] += 1
            else:
                self._iops[direction] += most * clients

    def usage(
        self,
        tier: str | None,
        volume_type: str | None,
        project: str,
        *,
        knows_limits: bool,
    ) -> Usage:
        """The sum."""
        return Usage(
            tier=tier,
            volume_type=volume_type,
            project=project,
            volumes=self._volumes,
            size_gib=self._size_gib,
            gib_hours=GibHours(
                at_least=fractions.Fraction(self._at_least, _TICKS_OF_HOUR),
                at_most=fractions.Fraction(self._at_most, _TICKS_OF_HOUR),
            ),
            iops={
                direction: self._iops[direction]
                if knows_limits and not self._without[direction]
                else None
                for direction in DIRECTIONS
            },
            unlimited=self._without[None] if knows_limits else None,
        )


def _ticks(volume: facts.KnownVolume, over: Period) -> tuple[int, int]:
    """Return for how long the size is certain, and for how long possible.

    In microseconds, the resolution of the times in Cinder's answers.
    """
    begin = max(over.begin, volume.created_at or over.begin)
    if begin >= over.end:
        return 0, 0
    if volume.created_at is None:
        return 0, (over.end - begin) // _TICK
    since = max(begin, volume.updated_at or begin)
    return (
        max(over.end - since, datetime.timedelta(0)) // _TICK,
        (over.end - begin) // _TICK,
    )


def iops_of_tier(
    found: collections.abc.Iterable[Usage], tier: str, direction: str | None
) -> int | None:
    """Return the allowed IOPS of all volumes of a tier; None if unknown.

    :param found: usage of all projects.
    :param tier: name of the tier.
    :param direction: see `sold.iops_limit`.
    """
    total = 0
    for one in found:
        if one.tier == tier:
            iops = one.iops[direction]
            if iops is None:
                return None
            total += iops
    return total
