# SPDX-License-Identifier: Apache-2.0

"""The use cases of the watch: measure windows of tiers and judge them; remove.

Each window is measured on all tiers at the same time, by a thread each, so
that a tier that hangs holds up no other. Must not know how arguments are
parsed, nor how results are shown.
"""

import collections.abc
from concurrent import futures
import contextlib
import dataclasses
import functools

from cinder_tiers.clients import ceph as ceph_clients
from cinder_tiers.clients import probe_image
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.loop.watch import change
from cinder_tiers.loop.watch import files
from cinder_tiers.loop.watch import judgement
from cinder_tiers.loop.watch import observed_activity
from cinder_tiers.loop.watch import pace
from cinder_tiers.loop.watch import probe as probes
from cinder_tiers.loop.watch import series

#: Why a tier is not watched.
NOT_WATCHED = (
    'it has no rbd in the tiers file; only Ceph pools are watched, by an RBD '
    'image of their own'
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Watched:
    """A tier after a window."""

    kept: series.Series
    verdict: judgement.TierVerdict
    #: I/Os in a second that the probe was to do.
    probe_iops: float

    @property
    def last(self) -> series.TierWindow:
        """The latest window."""
        return self.kept.windows[-1]


@dataclasses.dataclass(kw_only=True)
class _WatchedTier:
    """A tier that is watched, with what is open for it."""

    tier: catalogs.CephTier
    reader: observed_activity.ActivityReader
    probe: probes.Probe
    kept: series.Series
    interval_s: float = pace.IOS_OF_PAIR / pace.LEAST_IOPS

    def measure(self, seconds: float) -> series.TierWindow:
        return self.probe.window(seconds=seconds, interval_s=self.interval_s)


def watch(
    *,
    catalog: catalogs.Catalog,
    tiers: collections.abc.Sequence[catalogs.Tier],
    kept: files.SeriesFiles,
    windows: int | None,
    stop: probes.Stop,
    report: collections.abc.Callable[[list[Watched]], None],
    complain: collections.abc.Callable[[errors.TiersError | None], None],
    least_percent: float = change.LEAST_PERCENT,
    window_s: float = series.WINDOW_S,
    open_session: ceph_clients.Open = ceph_clients.session,
) -> list[Watched]:
    """Measure windows, one after the other, and judge each.

    :param tiers: tiers of the catalog; those without `rbd` are left out.
    :param kept: storage of the series.
    :param windows: number of windows; None: until `stop`.
    :param stop: ends the watch; an unfinished window is left out.
    :param report: called with all tiers after each window.
    :param complain: called after each window with the error of writing, or
        None: a full disk must not end a watch.
    :param least_percent: minimum increase of a latency to report.
    :param window_s: length of a window, in seconds.
    :param open_session: opens a session with a cluster.
    :returns: all tiers after the last window; empty if there was none.
    :raises errors.TiersError: a cluster or a pool cannot be reached, a series
        cannot be read, or data of the first or the last window could not be
        written.
    """
    result: list[Watched] = []
    failure: errors.TiersError | None = None
    was_written = False
    with contextlib.ExitStack() as stack:
        stack.enter_context(kept.held())
        opened = _opened(
            stack, catalog, tiers, kept, stop=stop, open_session=open_session
        )
        if not opened:
            return result
        pool = stack.enter_context(
            futures.ThreadPoolExecutor(max_workers=len(opened))
        )
        while windows is None or windows > 0:
            measured = list(
                pool.map(lambda each: each.measure(window_s), opened)
            )
            if stop.is_set():
                break
            result = [
                _judged(each, window, least_percent)
                for each, window in zip(opened, measured, strict=True)
            ]
            failure = None
            for write in (
                *(functools.partial(kept.write, each.kept) for each in result),
                functools.partial(report, result),
            ):
                try:
                    write()
                except errors.TiersError as error:
                    failure = failure or error
            if failure is not None and not was_written:
                # A folder that is wrong, and not a disk that is full.
                raise failure
            was_written = True
            complain(failure)
            if windows is not None:
                windows -= 1
    if failure is not None:
        raise failure
    return result


def _opened(
    stack: contextlib.ExitStack,
    catalog: catalogs.Catalog,
    tiers: collections.abc.Sequence[catalogs.Tier],
    kept: files.SeriesFiles,
    *,
    stop: probes.Stop,
    open_session: ceph_clients.Open,
) -> list[_WatchedTier]:
    readers: dict[str, observed_activity.ActivityReader] = {}
    sessions: dict[str, ceph_clients.Session] = {}
    opened = []
    for tier in tiers:
        if not isinstance(tier, catalogs.CephTier):
            continue
        cluster = tier.rbd.cluster
        if cluster not in sessions:
            sessions[cluster] = stack.enter_context(
                open_session(catalog.clusters[cluster])
            )
            readers[cluster] = observed_activity.ActivityReader(
                sessions[cluster]
            )
        image = stack.enter_context(
            sessions[cluster].open_probe(
                tier.rbd.pool, data_pool=tier.rbd.data_pool
            )
        )
        opened.append(
            _WatchedTier(
                tier=tier,
                reader=readers[cluster],
                probe=probes.Probe(
                    image,
                    places=probe_image.PLACES,
                    block_bytes=probe_image.BLOCK_BYTES,
                    stop=stop,
                ),
                kept=kept.read(tier.name, tier.rbd.pools),
            )
        )
    return opened


def _judged(
    watched: _WatchedTier,
    window: series.TierWindow,
    least_percent: float,
) -> Watched:
    status = watched.reader.read(watched.tier.rbd.pools)
    probe_iops = pace.IOS_OF_PAIR / watched.interval_s
    watched.kept, verdict = judgement.added(
        watched.kept,
        dataclasses.replace(window, status=status),
        watched.tier.expect,
        least_percent=least_percent,
    )
    if status.client_iops is not None:
        watched.interval_s = pace.interval_s(
            max(status.client_iops - probe_iops, 0.0)
        )
    return Watched(kept=watched.kept, verdict=verdict, probe_iops=probe_iops)


def remove(
    *,
    catalog: catalogs.Catalog,
    tiers: collections.abc.Sequence[catalogs.Tier],
    kept: files.SeriesFiles,
    open_session: ceph_clients.Open = ceph_clients.session,
) -> list[str]:
    """Remove the images and the series of tiers.

    :param kept: storage of the series.
    :param open_session: opens a session with a cluster.
    :returns: names of the tiers that had an image.
    :raises errors.TiersError: a cluster or a pool cannot be reached, or an
        image is not ours.
    """
    had = []
    with kept.held():
        for tier in tiers:
            if tier.rbd is not None:
                cluster = catalog.clusters[tier.rbd.cluster]
                with open_session(cluster) as session:
                    if session.remove_probe(tier.rbd.pool):
                        had.append(tier.name)
            kept.remove(tier.name)
    return had
