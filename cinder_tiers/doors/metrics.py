# SPDX-License-Identifier: Apache-2.0

"""Numbers of what a door decides, for Prometheus; off unless asked for.

cinder-api runs as several processes, of which a request to scrape would reach
any one. So each process writes a file of its own for the textfile collector
of node_exporter. A request only counts; a thread writes, and it is the first
to import prometheus_client. The metrics are described in
doc/source/admin/metrics.rst. Labels hold words of placement, names of applied
tiers and names of exception classes, never a text of a tenant. Must not know
how a decision came about.
"""

import bisect
import collections
import collections.abc
import dataclasses
import os
import threading
import time
import typing
import weakref

from oslo_config import cfg
from oslo_log import log as logging

from cinder_tiers.domain.placement import decision
from cinder_tiers.doors import process_file
from cinder_tiers.doors import record as records

if typing.TYPE_CHECKING:
    from prometheus_client import metrics_core

LOG = logging.getLogger(__name__)

#: Upper bounds in seconds: a decision from memory takes some 100 us, one that
#: waits for Glance up to glance_timeout.
BUCKETS = (
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
)
#: Different values of a label at most, each; the rest is `OTHER`.
MOST_TIERS = 1000
MOST_KINDS = 100
OTHER = 'other'
#: The kind of all errors that clients cause.
CLIENT = 'client'

#: Rules that say more about a decision which another rule has made.
_AFTERWARDS = frozenset(
    {
        decision.Rule.OVERFLOW,
        decision.Rule.OVERFLOW_MISSING,
        decision.Rule.LOWER_PRIORITY,
    }
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Gauges:
    """State of a door at a moment."""

    #: Whether the circuit breaker keeps several projects from asking Glance.
    is_circuit_open: bool = False
    #: Number of the applied tiers that it knows.
    applied_tiers: int = 0
    #: Number of the volume types that say they are tiers and cannot be read.
    applied_problems: int = 0


@dataclasses.dataclass(kw_only=True)
class _Counts:
    """Counters since the process started."""

    #: {(verdict, rule, name of the tier): decisions}
    decisions: collections.Counter = dataclasses.field(
        default_factory=collections.Counter
    )
    #: {kind: errors}
    errors: collections.Counter = dataclasses.field(
        default_factory=collections.Counter
    )
    stale_images: int = 0
    #: Decisions for each bucket, not those of the smaller ones; the last is
    #: for those beyond all.
    buckets: list[int] = dataclasses.field(
        default_factory=lambda: [0] * (len(BUCKETS) + 1)
    )
    seconds: float = 0.0

    def copy(self) -> '_Counts':
        """The same counts, which no longer change."""
        return dataclasses.replace(
            self,
            decisions=self.decisions.copy(),
            errors=self.errors.copy(),
            buckets=list(self.buckets),
        )


class Metrics:
    """Counts the decisions of one door in one process.

    Safe for use by many threads. It must not be used in a process that was
    forked: make another there. Its thread ends when it is dropped.
    """

    def __init__(
        self,
        door: str,
        options: cfg.ConfigOpts.GroupAttr,
        *,
        look: collections.abc.Callable[[], Gauges] = Gauges,
    ) -> None:
        """Create metrics; the thread is started with the first count.

        :param door: api or scheduler.
        :param options: options of the group [cinder_tiers], of which those for
            metrics are read here.
        :param look: returns the state of the door; another thread calls it
            every few seconds, so it must not wait for anything.
        """
        self._door = door
        self._look = look
        self._interval_s = options.metrics_interval_seconds
        self._is_on = bool(options.metrics_directory)
        self._directory = options.metrics_directory
        self._file = process_file.ProcessFile(
            options.metrics_directory or '', f'cinder-tiers-{door}'
        )
        self._lock = threading.Lock()
        self._counts = _Counts()
        self._tiers = {''}
        self._thread: threading.Thread | None = None
        #: Number of decisions and the gauges that are in the file.
        self._written: tuple[int, Gauges] | None = None
        self._complaint: str | None = None

    def observe(self, record: records.DecisionRecord) -> None:
        """Count a decision. Never raises an Exception, never waits for a disk.

        :param record: record of the decision, which need not be worth keeping.
        """
        if not self._is_on:
            return
        decided = record.decision
        tier = decided.tier.name if decided.tier is not None else ''
        rule = _deciding_rule(decided)
        with self._lock:
            counts = self._counts
            if tier not in self._tiers:
                if len(self._tiers) > MOST_TIERS:
                    tier = OTHER
                else:
                    self._tiers.add(tier)
            counts.decisions[decided.verdict, rule, tier] += 1
            counts.buckets[bisect.bisect_left(BUCKETS, record.seconds)] += 1
            counts.seconds += record.seconds
            if record.error:
                self._count_error(record)
            if record.image_age_s is not None:
                counts.stale_images += 1
        if self._thread is None:
            self._start()

    def write(self) -> None:
        """Write the file if anything changed; remove those of the dead.

        Never raises an Exception: what fails is logged, once in a row.
        """
        try:
            with self._lock:
                counts = self._counts.copy()
            state = sum(counts.buckets), self._look()
            if state != self._written or not self._file.is_there():
                self._file.replace(self._text(counts, state[1]))
                self._written = state
            self._file.remove_those_of_ended()
            self._complaint = None
        except ImportError as error:
            self._is_on = False
            LOG.error(
                'No metrics are written: [cinder_tiers] metrics_directory is '
                'set, but the Python package prometheus_client cannot be '
                'imported (%s). Install it, or cinder-tiers[metrics], and '
                'restart; or unset the option.',
                error,
            )
        except Exception as error:  # noqa: BLE001 - see the docstring
            self._complain(error)

    def _count_error(self, record: records.DecisionRecord) -> None:
        errors = self._counts.errors
        kind = (
            CLIENT if record.is_clients_doing else (record.error_kind or OTHER)
        )
        errors[
            kind if kind in errors or len(errors) < MOST_KINDS else OTHER
        ] += 1

    def _complain(self, error: Exception) -> None:
        complaint = f'{type(error).__name__}: {error}'
        if complaint != self._complaint:
            LOG.error(
                'Metrics could not be written to [cinder_tiers] '
                'metrics_directory = %(directory)s: %(error)s. Tried '
                'again every %(interval)g s.',
                {
                    'directory': self._directory,
                    'error': complaint,
                    'interval': self._interval_s,
                },
            )
        self._complaint = complaint

    def _start(self) -> None:
        with self._lock:
            if self._thread is not None:
                return
            self._thread = threading.Thread(
                target=_write_on,
                args=(weakref.ref(self), self._interval_s),
                name='cinder-tiers-metrics',
                daemon=True,
            )
        try:
            self._thread.start()
        # No more threads: metrics are not worth failing a request.
        except RuntimeError as error:
            self._is_on = False
            self._complain(error)

    def _text(self, counts: _Counts, gauges: Gauges) -> bytes:
        # Here, so that a host without it loses nothing but the metrics, and
        # no request waits for the import.
        import prometheus_client

        registry = prometheus_client.CollectorRegistry()
        registry.register(_Collector(self._door, counts, gauges))
        return prometheus_client.generate_latest(registry)


class _Collector:
    """A snapshot of the metrics, in the classes of prometheus_client."""

    def __init__(self, door: str, counts: _Counts, gauges: Gauges) -> None:
        self._counts = counts
        self._gauges = gauges
        # Series of several processes of a host must differ.
        self._labels = {'door': door, 'pid': str(os.getpid())}

    def collect(self) -> collections.abc.Iterator['metrics_core.Metric']:
        """Yield the metrics (called by prometheus_client)."""
        from prometheus_client import core

        counts, gauges = self._counts, self._gauges
        yield self._family(
            core.CounterMetricFamily,
            'decisions',
            'Decisions about requests, by the rule that decided.',
            [
                (
                    (verdict.value, rule.name.lower() if rule else '', tier),
                    count,
                )
                for (verdict, rule, tier), count in counts.decisions.items()
            ],
            'verdict',
            'rule',
            'tier',
        )
        yield self._family(
            core.CounterMetricFamily,
            'errors',
            (
                'Decisions made without a required fact, by the class of the '
                f'error; kind "{CLIENT}" covers everything that clients '
                'cause.'
            ),
            [((kind,), count) for kind, count in counts.errors.items()],
            'kind',
        )
        yield self._family(
            core.CounterMetricFamily,
            'stale_images',
            (
                'Decisions based on an old answer about the image, because '
                'Glance gave no new one.'
            ),
            [((), counts.stale_images)],
        )
        yield self._seconds(core.HistogramMetricFamily)
        for name, text, value in (
            (
                'glance_circuit_open',
                'Whether the circuit breaker keeps several projects from '
                'Glance.',
                gauges.is_circuit_open,
            ),
            (
                'applied_tiers',
                'Applied tiers that the process has read.',
                gauges.applied_tiers,
            ),
            (
                'applied_problems',
                ('Volume types that are marked as tiers and cannot be read.'),
                gauges.applied_problems,
            ),
        ):
            yield self._family(
                core.GaugeMetricFamily, name, text, [((), value)]
            )

    def _family(
        self,
        kind: type,
        name: str,
        text: str,
        samples: collections.abc.Iterable[tuple],
        *labels: str,
    ) -> 'metrics_core.Metric':
        family = kind(
            f'cinder_tiers_{name}', text, labels=[*self._labels, *labels]
        )
        for values, value in samples:
            family.add_metric([*self._labels.values(), *values], value)
        return family

    def _seconds(self, kind: type) -> 'metrics_core.Metric':
        family = kind(
            'cinder_tiers_decision_seconds',
            'Seconds that decisions took.',
            labels=[*self._labels],
        )
        total, buckets = 0, []
        for bound, count in zip(
            (*map(str, BUCKETS), '+Inf'), self._counts.buckets, strict=True
        ):
            total += count
            buckets.append((bound, total))
        family.add_metric(
            [*self._labels.values()], buckets, self._counts.seconds
        )
        return family


def _deciding_rule(
    decided: decision.PlacementDecision,
) -> decision.Rule | None:
    """The rule that made a decision what it is."""
    for reason in reversed(decided.reasons):
        if reason.rule not in _AFTERWARDS:
            return reason.rule
    return None


def _write_on(metrics: 'weakref.ref[Metrics]', interval_s: float) -> None:
    """Write the file again and again, as long as its metrics are counted."""
    while True:
        time.sleep(interval_s)
        counted = metrics()
        if counted is None or not counted._is_on:
            return
        counted.write()
        del counted
