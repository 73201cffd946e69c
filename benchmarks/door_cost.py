# SPDX-License-Identifier: Apache-2.0

"""What TierFilter and TierWeigher cost beside Cinder's default filters.

Each round is one request in each thread, on pools that Cinder has just
updated, so with new copies of all capabilities, as in cinder-scheduler. It
takes the time of Cinder's three default filters, of TierFilter on what they
leave, and of what TierWeigher adds to the weighing of what that leaves, all
through Cinder's handlers. The four are measured one after the other in the
same round, so that what disturbs the machine disturbs all of them.

A cold round begins with nothing remembered: it reads the types from the
database and asks Glance (a stand-in that answers at once) for the image.

What the doors leave to threads of their own, such as notifications, is not
waited for by any request: its processor time stands in a column of its own.

Threads are native unless OS_CINDER_DISABLE_EVENTLET_PATCHING is 0: then they
are eventlet's, as in cinder-scheduler by default.

The log is written as by a service: level INFO, with Cinder's formatter, to a
file. Figures are medians; what follows +- is the median absolute deviation.
"""

import argparse
from concurrent import futures
import dataclasses
import gc
import itertools
import math
import statistics
import sys
import threading
import time

import pyperf

# First of all: it lets Cinder choose the kind of threads.
from benchmarks import pools as many_pools

from cinder import monkey_patch  # noqa: H306

WARM_UP_ROUNDS = 3
MIN_ROUNDS = 5
MAX_ROUNDS = 500
#: Of the names of the threads that the doors start.
THREAD_PREFIX = 'cinder-tiers-'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cell:
    """One row of the table."""

    scenario: str
    pools: int
    threads: int
    caches: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Round:
    """Seconds for each request of a round, waiting for others included."""

    default_filters: float
    tier_filter: float
    weigh_without: float
    weigh_with: float

    @property
    def doors(self):
        """What a request pays for ours."""
        return self.tier_filter + self.weigh_with - self.weigh_without

    @property
    def ratio(self):
        """Ours for 1 of Cinder's default filters."""
        return self.doors / self.default_filters


class Crew:
    """Threads that go through the same phases at the same time."""

    def __init__(self, threads):
        """The thread that makes it is one of them.

        :param threads: how many.
        """
        self.threads = threads
        self._others = futures.ThreadPoolExecutor(max(1, threads - 1))
        self._barrier = threading.Barrier(threads)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._others.shutdown()

    def run(self, phases, states, requests):
        """Go through all phases, each thread with a request of its own.

        :param phases: functions that take the properties of a request and
            what the phase before returned.
        :param states: what the first phase gets.
        :param requests: properties for each thread.
        :returns: for each phase, seconds from the first start to the last
            end, divided by the number of threads.
        """
        others = [
            self._others.submit(self._go_through, phases, states, one)
            for one in requests[1:]
        ]
        times = [self._go_through(phases, states, requests[0])]
        times += [other.result() for other in others]
        return [
            (
                max(ended for _, ended in phase)
                - min(started for started, _ in phase)
            )
            / self.threads
            for phase in zip(*times, strict=True)
        ]

    def _go_through(self, phases, value, request):
        try:
            # As oslo.messaging's dispatcher: log lines name the request.
            request['context'].update_store()
            times = []
            for phase in phases:
                self._barrier.wait()
                started = pyperf.perf_counter()
                value = phase(request, value)
                times.append((started, pyperf.perf_counter()))
        except BaseException:
            self._barrier.abort()
            raise
        return times


def phases_of(pools):
    """What a request goes through, one function for each phase.

    :param pools: the scheduler, a `pools.Pools` fixture.
    """
    manager = pools.host_manager

    def filtering(*names):
        classes = pools.filters(*names)
        return lambda request, states: (
            manager.filter_handler.get_filtered_objects(
                classes, states, request
            )
        )

    def weighing(*names):
        classes = pools.weighers(*names)

        def weigh(request, states):
            manager.weight_handler.get_weighed_objects(
                classes, states, request
            )
            return states

        return weigh

    return (
        filtering(*many_pools.CINDER_FILTERS),
        filtering('TierFilter'),
        # In cinder-scheduler it has gone over all of them before ours does.
        weighing('CapacityWeigher'),
        weighing(),
        weighing('TierWeigher'),
    )


def run_round(pools, crew, phases, properties, is_cold):
    """One request in each thread.

    :param pools: the scheduler, a `pools.Pools` fixture.
    :param crew: the threads.
    :param phases: of `phases_of`.
    :param properties: of the request.
    :param is_cold: whether all that the doors remember is dropped before.
    """
    if is_cold:
        pools.forget()
    default_filters, tier_filter, _, weigh_without, weigh_with = crew.run(
        phases,
        pools.states(),
        [pools.of_new_request(properties) for _ in range(crew.threads)],
    )
    return Round(
        default_filters=default_filters,
        tier_filter=tier_filter,
        weigh_without=weigh_without,
        weigh_with=weigh_with,
    )


def background_s():
    """Seconds of processor time that threads of ours have had so far.

    Not a number under eventlet: all green threads share one real thread.
    """
    if monkey_patch.is_patched():
        return math.nan
    return sum(
        time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
        for thread in threading.enumerate()
        # One that is being started has no number yet, and has used nothing.
        if thread.ident and thread.name.startswith(THREAD_PREFIX)
    )


def measure(pools, cell, seconds):
    """One row: (its rounds, background seconds for each request).

    :param pools: the scheduler, a `pools.Pools` fixture.
    :param cell: the row.
    :param seconds: for which rounds go on, within bounds.
    """
    properties = pools.properties(cell.scenario)
    phases = phases_of(pools)
    rounds = []
    with Crew(cell.threads) as crew:
        gc.collect()
        for number in range(-WARM_UP_ROUNDS, MAX_ROUNDS):
            if number == 0:
                background = background_s()
                end = pyperf.perf_counter() + seconds
            if number >= MIN_ROUNDS and pyperf.perf_counter() > end:
                break
            done = run_round(
                pools, crew, phases, properties, cell.caches == 'cold'
            )
            # Green threads of ours run when others wait, as they do for each
            # message in cinder-scheduler.
            time.sleep(0)
            if number >= 0:
                rounds.append(done)
    background = background_s() - background
    return rounds, background / len(rounds) / cell.threads


def spread(values):
    """(median, median absolute deviation)."""
    middle = statistics.median(values)
    return middle, statistics.median(abs(value - middle) for value in values)


def row_of(cell, rounds, background):
    """A row of the table: texts."""

    def micro(values, digits=1):
        middle, deviation = spread([value * 1e6 for value in values])
        return f'{middle:.{digits}f} +-{deviation:.{digits}f}'

    ratio, deviation = spread([done.ratio * 100 for done in rounds])
    return (
        cell.scenario,
        str(cell.pools),
        str(cell.threads),
        cell.caches,
        str(len(rounds)),
        micro([done.default_filters for done in rounds]),
        micro([done.tier_filter for done in rounds]),
        micro([done.weigh_with - done.weigh_without for done in rounds]),
        micro([done.doors / cell.pools for done in rounds], digits=3),
        f'{ratio:.2f} +-{deviation:.2f}',
        f'{background * 1e6:.1f}',
    )


HEADINGS = (
    'scenario',
    'pools',
    'threads',
    'caches',
    'rounds',
    'defaults us',
    'TierFilter us',
    'TierWeigher us',
    'ours us/pool',
    'ours %',
    'background us',
)


def print_table(rows):
    """Rows of texts, in columns under `HEADINGS`."""
    widths = [
        max(map(len, column)) for column in zip(HEADINGS, *rows, strict=True)
    ]
    for row in (HEADINGS, *rows):
        print(
            '  '.join(
                text.rjust(width)
                for text, width in zip(row, widths, strict=True)
            )
        )


def benchmarks_of(cell, rounds):
    """The rounds of a row as pyperf keeps them, in seconds per request."""
    for field in dataclasses.fields(Round):
        name = (
            f'{field.name}: {cell.scenario}, {cell.pools} pools, '
            f'{cell.threads} threads, {cell.caches}'
        )
        yield pyperf.Benchmark(
            [
                pyperf.Run(
                    [getattr(done, field.name) for done in rounds],
                    metadata={
                        'name': name,
                        'unit': 'second',
                        **dataclasses.asdict(cell),
                    },
                )
            ]
        )


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.door_cost',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--pools',
        type=int,
        nargs='+',
        default=[10, 100, 1000, 10000],
        metavar='N',
    )
    parser.add_argument(
        '--threads', type=int, nargs='+', default=[1, 8, 32], metavar='N'
    )
    parser.add_argument(
        '--caches',
        nargs='+',
        default=['warm', 'cold'],
        choices=['warm', 'cold'],
    )
    parser.add_argument(
        '--scenarios',
        nargs='+',
        default=['tier', 'overflow'],
        choices=list(many_pools.SCENARIOS),
        help='tier: the doors choose; overflow: a tier with '
        'overflow; typed: the request names the tier, '
        'as behind the API door',
    )
    parser.add_argument(
        '--notify', action='store_true', help='send notifications, too'
    )
    parser.add_argument(
        '--seconds',
        type=float,
        default=5.0,
        help='for each row; default %(default)s',
    )
    parser.add_argument(
        '--json', metavar='FILE', help='write all values as pyperf reads them'
    )
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    rows, benchmarks = [], []
    for count in options.pools:
        with many_pools.Pools(count, notify=options.notify) as pools:
            for scenario, threads, caches in itertools.product(
                options.scenarios, options.threads, options.caches
            ):
                cell = Cell(
                    scenario=scenario,
                    pools=count,
                    threads=threads,
                    caches=caches,
                )
                rounds, background = measure(pools, cell, options.seconds)
                rows.append(row_of(cell, rounds, background))
                benchmarks += benchmarks_of(cell, rounds)
    print_table(rows)
    if options.json:
        pyperf.BenchmarkSuite(benchmarks).dump(options.json, replace=True)


if __name__ == '__main__':
    main(sys.argv[1:])
