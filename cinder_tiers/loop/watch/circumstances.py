# SPDX-License-Identifier: Apache-2.0

"""Changes in a cluster at the time when the latency of a tier changed.

Changes at a moment, such as of the configuration, are searched in successive
windows. Values that fluctuate, such as the load of an image, are compared by
their medians before and after the change, which shows slow growth and ignores
jitter; the begin of their change is estimated like that of the latency.
Differences are named with their time, the nearest first. They happened at the
same time, and no more is claimed: a cause may be among them, or a consequence,
or neither.

Pure.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
import datetime
import functools
import itertools
import statistics

from cinder_tiers.loop.watch import change
from cinder_tiers.loop.watch import series

#: Looked at before the change and after it, in seconds.
BEFORE_S = 300.0
AFTER_S = 120.0
#: Medians are of so many seconds before it: twice as long and more than a
#: cause may precede it.
MEDIAN_S = 900.0
#: And of so many of the latest windows.
LATEST_WINDOWS = 9
#: An OSD is slow if it takes so many times as long as the median of all.
SLOW_OSD = 3.0
# And at least this long, in ms: below it, noise.
_SLOW_OSD_MS = 2.0
#: What goes up and down grew if it is so many times as great.
GREATER = 1.5
# And by so many I/Os in a second, or placement groups, at least.
_LEAST_IOPS = 10.0
_LEAST_GROUPS = 5.0
# Of the same time are those of so many seconds.
_PRECISION_S = 120.0
#: So many images are the busiest of more (observe.ceph.activity.MOST_IMAGES).
FULL_LIST = 10
#: Named of each change.
MOST_NAMED = 8


@dataclass(frozen=True, kw_only=True)
class _Compared:
    """The windows around a change that have a status."""

    before: Sequence[series.Status]
    #: from it on
    after: Sequence[series.Status]
    #: when each began, seconds since the epoch
    began_at: Sequence[float]

    @property
    def all(self) -> Sequence[series.Status]:
        return (*self.before, *self.after)

    def medians(
        self, value: Callable[[series.Status], float | None]
    ) -> tuple[float, float, float] | None:
        """(before, after, when it began to change) of a fact.

        :returns: None if it was not read on both sides
        """
        before, after = (
            [one for each in some if (one := value(each)) is not None]
            for some in (self.before, self.after[-LATEST_WINDOWS:])
        )
        if not before or not after:
            return None
        known = [
            (moment, one)
            for moment, each in zip(self.began_at, self.all, strict=True)
            if (one := value(each)) is not None
        ]
        return (
            statistics.median(before),
            statistics.median(after),
            known[change.begins([one for _, one in known])][0],
        )


def around(
    windows: Sequence[series.TierWindow],
    since: float,
    *,
    until: float | None = None,
) -> tuple[str, ...]:
    """List changes at the time of a change, the nearest first.

    :param windows: windows in order of time
    :param since: begin of the change, in seconds since the epoch
    :param until: time when it was seen; None: soon after it began
    :returns: sentences, each with its time of day in UTC
    """
    until = max(until or 0.0, since + AFTER_S)
    near = [
        (window.began_at, window.status)
        for window in windows
        if since - MEDIAN_S <= window.began_at <= until
        and window.status is not None
    ]
    both = _Compared(
        before=[status for began_at, status in near if began_at < since],
        after=[status for began_at, status in near if began_at >= since],
        began_at=[began_at for began_at, _status in near],
    )
    found = [
        (began_at, text, rank)
        for (before_at, before), (began_at, after) in itertools.pairwise(near)
        if before_at >= since - BEFORE_S
        for compare, rank in _AT_ONCE
        for text in compare(before, after)
    ]
    found += [
        (*each, rank)
        for compare, rank in _BY_MEDIANS
        for each in compare(both)
    ]
    found.sort(
        key=lambda each: (abs(each[0] - since) // _PRECISION_S, each[2])
    )
    return tuple(
        f'{time_text(began_at)} {text}'
        for began_at, text, _ in found[:MOST_NAMED]
    )


def time_text(seconds: float) -> str:
    """A time for people.

    >>> time_text(0)
    '1970-01-01T00:00:00Z'
    """
    return datetime.datetime.fromtimestamp(
        round(seconds), datetime.UTC
    ).strftime('%Y-%m-%dT%H:%M:%SZ')


def _configuration(
    before: series.Status, after: series.Status
) -> Iterator[str]:
    if before.config_version is None or after.config_version is None:
        return
    if after.config_version > before.config_version:
        names = ', '.join(after.config_names or ())
        yield (
            f'the configuration was changed to version {after.config_version}'
            + (f': {names}' if names else '')
        )


def _pools(before: series.Status, after: series.Status) -> Iterator[str]:
    if before.pool_options is None or after.pool_options is None:
        return
    for name in sorted({*before.pool_options, *after.pool_options}):
        old, new = before.pool_options.get(name), after.pool_options.get(name)
        if old != new:
            yield f'{name} was changed from {old or "-"} to {new or "-"}'


def _osds(before: series.Status, after: series.Status) -> Iterator[str]:
    if before.osds_up is None or after.osds_up is None:
        return
    if before.osds_up == after.osds_up:
        return
    old, new = map(series.ids_of, (before.osds_up, after.osds_up))
    for osd in sorted(old - new):
        yield f'osd.{osd} went down'
    for osd in sorted(new - old):
        yield f'osd.{osd} came up'


def _groups(both: _Compared) -> Iterator[tuple[float, str]]:
    for what, value in (
        ('recovery', lambda status: status.recovering),
        ('scrubbing', lambda status: status.scrubbing),
    ):
        found = both.medians(value)
        if found is None:
            continue
        old, new, began_at = found
        if new and not old:
            text = f'began ({new:.0f})'
        elif old and not new:
            text = 'ended'
        elif _grew(old, new, _LEAST_GROUPS):
            text = f'grew from {old:.0f} to {new:.0f}'
        else:
            continue
        yield began_at, f'{what} of placement groups {text}'


def _slow_osds(both: _Compared) -> Iterator[tuple[float, str]]:
    all_osds = both.medians(_median_ms)
    if all_osds is None:
        return
    middle_ms = all_osds[1]
    for name in sorted(
        {name for each in both.after for name in each.osd_ms or ()}
    ):
        found = both.medians(functools.partial(_commit_ms, name=name))
        if found is None:
            continue
        old_ms, new_ms, began_at = found
        if new_ms >= max(
            _SLOW_OSD_MS, SLOW_OSD * middle_ms
        ) and new_ms >= GREATER * max(old_ms, 1.0):
            yield (
                began_at,
                f'osd.{name} became slow: {new_ms:g} ms to commit, '
                f'the median of all is {middle_ms:g} ms',
            )


def _commit_ms(status: series.Status, name: str) -> float | None:
    """Return the latency of an OSD; the median unless it is a slow one."""
    if status.osd_ms is None:
        return None
    return status.osd_ms.get(name, _median_ms(status))


def _all_osds(both: _Compared) -> Iterator[tuple[float, str]]:
    found = both.medians(_median_ms)
    if found is not None and _grew(found[0], found[1], _SLOW_OSD_MS):
        yield (
            found[2],
            f'the median of all OSDs went from {found[0]:g} to {found[1]:g} ms'
            ' to commit',
        )


def _median_ms(status: series.Status) -> float | None:
    if status.osd_median_ms is not None:
        return status.osd_median_ms
    return statistics.median(status.osd_ms.values()) if status.osd_ms else None


def _images(both: _Compared) -> Iterator[tuple[float, str]]:
    for name in sorted(
        {name for each in both.after for name in each.image_iops or ()}
    ):
        found = both.medians(functools.partial(_iops, name=name))
        if found is None or not _grew(found[0], found[1], _LEAST_IOPS):
            continue
        listed = [
            name in each.image_iops
            for each in both.before
            if each.image_iops is not None
        ]
        less = ' or less' if found[0] and 2 * sum(listed) < len(listed) else ''
        yield (
            found[2],
            f'image {name} went from {found[0]:.0f}{less} to {found[1]:.0f} '
            'IOPS',
        )


def _iops(status: series.Status, name: str) -> float | None:
    """Return an upper bound of the IOPS of an image.

    An image that is not among the busiest does no more than the least of them.
    """
    if status.image_iops is None:
        return None
    if name in status.image_iops:
        return status.image_iops[name]
    if len(status.image_iops) < FULL_LIST:
        return 0.0
    return min(status.image_iops.values())


def _load(both: _Compared) -> Iterator[tuple[float, str]]:
    found = both.medians(lambda status: status.client_iops)
    if found is not None and _grew(found[0], found[1], _LEAST_IOPS):
        yield (
            found[2],
            f'the load of the tier went from {found[0]:.0f} to {found[1]:.0f} '
            'IOPS',
        )


def _grew(before: float, after: float, least: float) -> bool:
    return after >= max(GREATER * before, before + least)


def _health(before: series.Status, after: series.Status) -> Iterator[str]:
    if before.checks is None or after.checks is None:
        return
    for check in sorted(set(after.checks) - set(before.checks)):
        yield f'health check {check} appeared'


# (function, rank): of causes at one time, what an administrator did is first.
_AT_ONCE: tuple[
    tuple[Callable[[series.Status, series.Status], Iterator[str]], int], ...
] = ((_configuration, 0), (_pools, 1), (_osds, 2), (_health, 8))
_BY_MEDIANS: tuple[
    tuple[Callable[[_Compared], Iterator[tuple[float, str]]], int], ...
] = (
    (_groups, 3),
    (_slow_osds, 4),
    (_images, 5),
    (_load, 6),
    (_all_osds, 7),
)
