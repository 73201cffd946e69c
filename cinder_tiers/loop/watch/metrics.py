# SPDX-License-Identifier: Apache-2.0

"""Facts on watched tiers, as metrics of Prometheus in a file.

For the textfile collector of node_exporter, like the files of
``metrics_directory``. Labels are names of tiers, which the operator chose, and
words of this project.
"""

import collections.abc
import statistics
import typing

from cinder_tiers.cli import metrics_file
from cinder_tiers.loop.watch import expectation
from cinder_tiers.loop.watch import judgement
from cinder_tiers.loop.watch import series
from cinder_tiers.loop.watch import use_case

if typing.TYPE_CHECKING:
    from prometheus_client import metrics_core

_QUANTILES = (0.5, 0.99)


class WindowMetricsFile:
    """The file, replaced after each window.

    :param path: see `metrics_file.MetricsFile`.
    :raises errors.TiersError: prometheus_client is not installed.
    """

    def __init__(self, path: str) -> None:
        self._file = metrics_file.MetricsFile(path)

    def write(self, found: collections.abc.Sequence[use_case.Watched]) -> None:
        """Replace the file atomically: a reader sees the old or the new one.

        :param found: all tiers after a window.
        :raises errors.TiersError: the file cannot be written.
        """
        self._file.write(_WindowCollector(found))


class _WindowCollector:
    """The metrics in the classes of prometheus_client."""

    def __init__(
        self, found: collections.abc.Sequence[use_case.Watched]
    ) -> None:
        self._found = found

    def collect(
        self,
    ) -> collections.abc.Iterator['metrics_core.Metric']:
        """Yield the metrics (called by prometheus_client)."""
        from prometheus_client import core

        for name, text, labels, samples in _FAMILIES:
            family = core.GaugeMetricFamily(
                f'cinder_tiers_watch_{name}', text, labels=('tier', *labels)
            )
            for each in self._found:
                for values, value in samples(each):
                    family.add_metric([each.kept.tier, *values], value)
            yield family


_Samples = collections.abc.Iterator[tuple[tuple[str, ...], float]]


def _states(watched: use_case.Watched) -> _Samples:
    for state in judgement.TierState:
        yield (state.name.lower(),), float(watched.verdict.state is state)


def _since(watched: use_case.Watched) -> _Samples:
    if watched.verdict.since is not None:
        yield (), watched.verdict.since


def _latencies(watched: use_case.Watched) -> _Samples:
    """Yield latencies of the period by which expectations are judged."""
    windows = watched.kept.windows
    latest = [
        window
        for window in windows
        if windows[-1].began_at - window.began_at < expectation.PERIOD_S
    ]
    for direction in series.DIRECTIONS:
        found = [
            each / 1000
            for some in series.latencies_ms(latest, direction)
            for each in some
        ]
        if len(found) < 2:
            continue
        cuts = statistics.quantiles(found, n=100, method='inclusive')
        for quantile in _QUANTILES:
            yield (
                (direction, f'{quantile:g}'),
                cuts[round(100 * quantile) - 1],
            )


def _load(watched: use_case.Watched) -> _Samples:
    status = watched.last.status
    if status is not None and status.client_iops is not None:
        yield (), status.client_iops


_FAMILIES: tuple[
    tuple[
        str,
        str,
        tuple[str, ...],
        collections.abc.Callable[[use_case.Watched], _Samples],
    ],
    ...,
] = (
    ('state', 'Whether the tier is in this state.', ('state',), _states),
    (
        'since_timestamp_seconds',
        'When what is wrong began; absent if nothing is.',
        (),
        _since,
    ),
    (
        'latency_seconds',
        'Latency of single I/Os of 4 KiB in the last ten minutes.',
        ('direction', 'quantile'),
        _latencies,
    ),
    (
        'pending_seconds',
        'How long an I/O has no completion; 0 without one.',
        (),
        lambda watched: iter([((), watched.last.pending_s)]),
    ),
    (
        'failed_ios',
        'I/Os of the last window that ended with an error.',
        (),
        lambda watched: iter([((), float(watched.last.failed))]),
    ),
    (
        'window_timestamp_seconds',
        'When the last window began.',
        (),
        lambda watched: iter([((), watched.last.began_at)]),
    ),
    (
        'probe_iops',
        'I/Os in a second that the watch does.',
        (),
        lambda watched: iter([((), watched.probe_iops)]),
    ),
    (
        'client_iops',
        'I/Os in a second of clients of the pools, the watch among them.',
        (),
        _load,
    ),
)
