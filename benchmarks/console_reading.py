# SPDX-License-Identifier: Apache-2.0


"""What it costs to read the consoles of a large fleet, and how late it is.

    python -m benchmarks.console_reading

serves consoles over HTTP from a process of its own, which answers each request
after a while, as Nova does, and has the collector of the scenario read them
with novaclient, in another process: with one reader, then with several, then
with several while a part of the consoles does not answer. Prints how long
after a guest said something the collector had it, requests a second, the share
of a processor that the collector takes, its processor time for each reading,
and by how much its resident memory grew at most.
"""

import argparse
import contextlib
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import time

from keystoneauth1 import identity
from keystoneauth1 import session as keystone_session
from novaclient import client as nova_client

from benchmarks import new_process
from rally_scenarios.guest import orders
from rally_scenarios.plugins import servers
from rally_scenarios.plugins.transport import collector
from rally_scenarios.plugins.transport import readers as guest_readers
from tests.unit.guest import console_text

# Until the other process has made all lines.
_LEAD_SECONDS = 3
# As Rally's openstack_client_http_timeout.
_TIMEOUT_SECONDS = 180


@contextlib.contextmanager
def served(**options):
    """Consoles in a process of their own; gives URL and process.

    :param options: of `served_consoles.Consoles`
    """
    with subprocess.Popen(
        [
            sys.executable,
            '-m',
            'benchmarks.served_consoles',
            json.dumps(options),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield f'http://127.0.0.1:{process.stdout.readline().strip()}'
        finally:
            process.kill()


def nova(url):
    """A novaclient of the kind that Rally gives a scenario."""
    return nova_client.Client(
        servers.NOVA_MICROVERSION,
        session=keystone_session.Session(
            identity.V3Password(
                auth_url=f'{url}/v3',
                user_id='u',
                password='p',  # noqa: S106
                project_id='p',
            ),
            timeout=_TIMEOUT_SECONDS,
        ),
    )


def delays_ms(results, guests):
    """From when something was said to when it was heard, of all guests."""
    return sorted(
        seen.by_ms - seen.said_ms
        for guest in guests
        for seen in results.first_seen[guest].values()
    )


def measure(options):
    """The cost of one run, in this process.

    :param options: of `served_consoles.Consoles`, and `readers`,
        `per_second` and `pause_s`
    :returns: {what: number}
    """
    readers, per_second, pause_s = (
        options.pop(name) for name in ('readers', 'per_second', 'pause_s')
    )
    names = options['guests']
    heard = [name for name in names if name not in options['silent']]
    lasts_s = (options['slots'] + 1) * options['slot_ms'] / 1000
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begins_s = time.monotonic() + _LEAD_SECONDS
    with served(begins_ms=round(begins_s * 1000), **options) as url:
        time.sleep(max(0, begins_s - time.monotonic()))
        results = collector.ResultCollector(
            nova=nova(url),
            run=console_text.RUN,
            guests=[
                servers.Guest(name=name, tier='one', server_id=name)
                for name in names
            ],
            pause_seconds=pause_s,
            readers=readers,
            pace=guest_readers.RequestPace(per_second),
            last_words_seconds=0,
        )
        started_s, cpu_s = time.perf_counter(), time.process_time()
        results.wait_for_leader(10 * lasts_s)
        # Those that are silent never come.
        results.collect(2 * lasts_s if options['silent'] else 20 * lasts_s)
        wall_s = time.perf_counter() - started_s
        cpu_s = time.process_time() - cpu_s
        readings = sum(results.readings.values())
        found = delays_ms(results, heard)
        results.close()
    return {
        'delay_median_s': statistics.median(found) / 1000,
        'delay_p99_s': found[int(0.99 * (len(found) - 1))] / 1000,
        'delay_most_s': found[-1] / 1000,
        'events': len(found),
        'readings_per_s': readings / wall_s,
        'cpu_share': cpu_s / wall_s,
        'cpu_ms_per_reading': 1000 * cpu_s / readings,
        'peak_mib': (
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib
        )
        / 1024,
    }


def parse(arguments):
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--guests', type=int, nargs='+', default=[12, 100, 300]
    )
    parser.add_argument('--readers', type=int, default=guest_readers.READERS)
    parser.add_argument(
        '--per-second', type=int, default=guest_readers.REQUESTS_PER_SECOND
    )
    parser.add_argument('--pause', type=float, default=2, help='seconds')
    parser.add_argument(
        '--latency', type=float, default=0.1, help='of an answer, in seconds'
    )
    parser.add_argument(
        '--silent',
        type=float,
        default=0.1,
        help='part of the consoles that does not answer',
    )
    parser.add_argument(
        '--silence', type=float, default=60, help='seconds to the refusal'
    )
    parser.add_argument('--slots', type=int, default=8)
    parser.add_argument(
        '--slot-seconds', type=float, default=5, help='of each slot'
    )
    parser.add_argument(
        '--json', type=pathlib.Path, help='write all values to this file'
    )
    parser.add_argument('--in-this-process', help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def runs(options):
    """[(guests, readers, how many are silent), ...]."""
    for guests in options.guests:
        yield guests, 1, 0
        yield guests, options.readers, 0
        yield guests, options.readers, max(1, round(options.silent * guests))


def main():
    """Measures each run in a new process, and prints a table."""
    options = parse(None)
    if options.in_this_process:
        print(json.dumps(measure(json.loads(options.in_this_process))))
        return
    print(
        f'{"guests":>6} {"readers":>7} {"silent":>6} {"median s":>8}'
        f' {"p99 s":>7} {"most s":>7} {"req/s":>6} {"CPU":>6}'
        f' {"CPU ms":>6} {"peak MiB":>8}'
    )
    rows = []
    for guests, readers, silent in runs(options):
        names = [orders.guest_name(number) for number in range(guests)]
        found = new_process.measure(
            'benchmarks.console_reading',
            '--in-this-process',
            json.dumps(
                {
                    'guests': names,
                    'readers': readers,
                    'per_second': options.per_second,
                    'pause_s': options.pause,
                    'latency_s': options.latency,
                    'slots': options.slots,
                    'slot_ms': round(options.slot_seconds * 1000),
                    # The guest that leads is heard.
                    'silent': names[guests - silent :],
                    'silence_s': options.silence,
                }
            ),
        )
        rows.append(
            {'guests': guests, 'readers': readers, 'silent': silent, **found}
        )
        print(
            f'{guests:6} {readers:7} {silent:6}'
            f' {found["delay_median_s"]:8.2f} {found["delay_p99_s"]:7.2f}'
            f' {found["delay_most_s"]:7.2f} {found["readings_per_s"]:6.1f}'
            f' {100 * found["cpu_share"]:5.1f}%'
            f' {found["cpu_ms_per_reading"]:6.2f} {found["peak_mib"]:8.1f}',
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(rows))


if __name__ == '__main__':
    main()
