# SPDX-License-Identifier: Apache-2.0

"""What else changed in a cluster when the latency of a tier did.

Two windows that follow one another are compared, fact by fact, for some
minutes around the change. What differs is named with its time, the nearest
first. It happened at the same time, and nothing more is said: a cause may be
among it, or a consequence, or neither.

Pure.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import datetime
import itertools
import statistics

from cinder_tiers.loop.watch import series

#: Looked at before the change and after it, in seconds.
BEFORE_S = 300.0
AFTER_S = 120.0
#: An OSD is slow if it takes so many times as long as the median of all.
SLOW_OSD = 3.0
# And at least this long, in ms: below it, noise.
_SLOW_OSD_MS = 5.0
#: A load grew if it is so many times as great.
GREATER_LOAD = 2.0
# And by so many I/Os in a second, at least.
_LEAST_IOPS = 10.0
#: So many images are the busiest of more (observe.ceph.activity.MOST_IMAGES).
FULL_LIST = 10
#: Named of each change.
MOST_NAMED = 8


def around(windows: Sequence[series.Window], since: float) -> tuple[str, ...]:
    """What changed at the time of a change, nearest first.

    :param windows: in order of time
    :param since: when the first window on the new level began, in seconds
        since the epoch
    :returns: sentences, each with its time of day in UTC
    """
    near = [
        window
        for window in windows
        if -BEFORE_S <= window.began_at - since <= AFTER_S
        and window.status is not None
    ]
    found = [
        (abs(after.began_at - since), after.began_at, text)
        for before, after in itertools.pairwise(near)
        for compare in _COMPARED
        for text in compare(before.status, after.status)
    ]
    found.sort(key=lambda each: each[0])
    return tuple(
        f'{time_text(began_at)} {text}'
        for _, began_at, text in found[:MOST_NAMED]
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
    if None in (before.config_version, after.config_version):
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


def _groups(before: series.Status, after: series.Status) -> Iterator[str]:
    for what, old, new in (
        ('recovery', before.recovering, after.recovering),
        ('scrubbing', before.scrubbing, after.scrubbing),
    ):
        if old is None or new is None or bool(old) == bool(new):
            continue
        if new:
            yield f'{what} of placement groups began ({new})'
        else:
            yield f'{what} of placement groups ended'


def _slow_osds(before: series.Status, after: series.Status) -> Iterator[str]:
    if before.osd_ms is None or after.osd_ms is None:
        return
    for name in sorted(_slow(after) - _slow(before)):
        yield (
            f'osd.{name} became slow: {after.osd_ms[name]:g} ms to commit, '
            f'the median of all is {_median_ms(after):g} ms'
        )


def _median_ms(status: series.Status) -> float:
    if status.osd_median_ms is not None:
        return status.osd_median_ms
    return statistics.median(status.osd_ms.values())


def _slow(status: series.Status) -> set[str]:
    if not status.osd_ms:
        return set()
    least = max(_SLOW_OSD_MS, SLOW_OSD * _median_ms(status))
    return {name for name, ms in status.osd_ms.items() if ms >= least}


def _images(before: series.Status, after: series.Status) -> Iterator[str]:
    if before.image_iops is None or after.image_iops is None:
        return
    # One that was not among the busiest did no more than the least of them.
    most = 0.0
    if len(before.image_iops) >= FULL_LIST:
        most = min(before.image_iops.values())
    for name, iops in after.image_iops.items():
        old = before.image_iops.get(name)
        if _grew(most if old is None else old, iops):
            known = f'{most:.0f} or less' if old is None and most else ''
            yield (
                f'image {name} went from {known or f"{old or 0:.0f}"} to'
                f' {iops:.0f} IOPS'
            )


def _load(before: series.Status, after: series.Status) -> Iterator[str]:
    if before.client_iops is None or after.client_iops is None:
        return
    if _grew(before.client_iops, after.client_iops):
        yield (
            f'the load of the tier went from {before.client_iops:.0f} to '
            f'{after.client_iops:.0f} IOPS'
        )


def _grew(before: float, after: float) -> bool:
    return after >= max(GREATER_LOAD * before, before + _LEAST_IOPS)


def _health(before: series.Status, after: series.Status) -> Iterator[str]:
    if before.checks is None or after.checks is None:
        return
    for check in sorted(set(after.checks) - set(before.checks)):
        yield f'health check {check} appeared'


#: Of the same time, those first that are somebody's doing.
_COMPARED: tuple[
    Callable[[series.Status, series.Status], Iterator[str]], ...
] = (
    _configuration,
    _pools,
    _osds,
    _groups,
    _slow_osds,
    _images,
    _load,
    _health,
)
