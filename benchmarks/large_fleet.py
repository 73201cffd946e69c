# SPDX-License-Identifier: Apache-2.0

"""Measures what a fleet of hundreds leaves, and what reading it costs.

    python -m benchmarks.large_fleet

runs the scenario with 300 guests of 3 tiers, 6 patterns and 3 repeats against
a cloud in memory: guests are made, their consoles read, merged and written.
Then shows and reports the result file with "openstack tier result" and
"openstack tier report". Each in a process of its own. Prints bytes of the file
and of what Rally keeps for each guest and turn, lines of the log at the level
INFO, seconds of processor time, and the peak of resident memory, of which the
consoles that the cloud holds are subtracted; and the seconds to make and to
delete the fleet where Cinder thinks of each request for a volume for a while.
"""

import argparse
import collections
import contextlib
import json
import logging
import pathlib
import resource
import sys
import tempfile
import time

from benchmarks import new_process


def _peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class _Lines(logging.Handler):
    """Counts lines of each level by what they say."""

    def __init__(self):
        super().__init__()
        self.found = collections.Counter()

    def emit(self, record):
        if record.levelno >= logging.INFO:
            self.found[record.msg] += record.getMessage().count('\n') + 1


def measure_run(guests_per_tier, repeats, seconds_per_volume, folder):
    """The cost of a run, in this process."""
    # Loads Rally's plugins.
    from tests.unit.rally import large_fleet

    lines = _Lines()
    logging.getLogger().addHandler(lines)
    logging.getLogger().setLevel(logging.INFO)
    fleet = large_fleet.LargeFleet(
        guests_per_tier=guests_per_tier, repeats=repeats
    )
    fleet.cloud.seconds_per_volume = seconds_per_volume
    before_mib = _peak_mib()
    started_s, started_cpu_s = time.perf_counter(), time.process_time()
    fleet.run(folder)
    (file,) = pathlib.Path(folder).glob('*.json')
    guest_turns = fleet.guests * fleet.turns
    return {
        'file': str(file),
        'guest_turns': guest_turns,
        'file_bytes': file.stat().st_size,
        'rally_bytes': len(json.dumps(fleet.outputs)),
        'lines': sum(lines.found.values()),
        'lines_by_text': lines.found.most_common(12),
        'took_s': fleet.took_s,
        'wall_s': time.perf_counter() - started_s,
        'cpu_s': time.process_time() - started_cpu_s,
        'peak_mib': _peak_mib(),
        'before_mib': before_mib,
        'consoles_mib': fleet.console_bytes / 2**20,
    }


def measure_command(words):
    """The cost of a command, in this process."""
    from openstackclient import shell

    started_cpu_s = time.process_time()
    if words[1] == 'report':
        words[-1:-1] = ['-o']
    with contextlib.redirect_stdout(sys.stderr):
        status = shell.main(words)
    return {
        'status': status,
        'cpu_s': time.process_time() - started_cpu_s,
        'peak_mib': _peak_mib(),
    }


def _measured(options, *words):
    return new_process.measure(
        'benchmarks.large_fleet',
        *('--guests-per-tier', options.guests_per_tier),
        *('--repeats', options.repeats),
        *('--seconds-per-volume', options.seconds_per_volume),
        '--in-this-process',
        *words,
    )


def main():
    """Measures in new processes, and prints what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--guests-per-tier', type=int, default=100)
    parser.add_argument('--repeats', type=int, default=3)
    parser.add_argument(
        '--seconds-per-volume',
        type=float,
        default=0.1,
        help='how long Cinder thinks of a request for a volume',
    )
    parser.add_argument(
        '--json', type=pathlib.Path, help='write all values to this file'
    )
    parser.add_argument('--in-this-process', nargs='+', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_this_process:
        what, *words = options.in_this_process
        if what == 'run':
            found = measure_run(
                options.guests_per_tier,
                options.repeats,
                options.seconds_per_volume,
                words[0],
            )
        else:
            found = measure_command(['tier', what, *words])
        print(json.dumps(found), file=sys.__stdout__)
        return
    with tempfile.TemporaryDirectory() as folder:
        run = _measured(options, 'run', folder)
        page = f'{folder}/page.html'
        commands = {
            'result': _measured(options, 'result', run['file']),
            'report': _measured(options, 'report', run['file'], page),
        }
    if options.json:
        options.json.write_text(json.dumps({'run': run, **commands}))
    turns = run['guest_turns']
    own_mib = run['peak_mib'] - run['before_mib'] - run['consoles_mib']
    print(
        f'{turns} turns of guests, each {run["file_bytes"] / turns:.0f} bytes'
        f' of {run["file_bytes"] / 2**20:.1f} MiB of the result file,'
        f' {run["rally_bytes"] / turns:.0f} bytes of what Rally keeps,'
        f' {1024 * own_mib / turns:.0f} KiB of {own_mib:.0f} MiB of memory,'
        f' {1000 * run["cpu_s"] / turns:.0f} ms of processor time'
    )
    print(
        f'{run["took_s"]["create_volumes"]:.1f} s to make volumes,'
        f' {run["took_s"]["delete"]:.1f} s to delete all, at'
        f' {options.seconds_per_volume} s for a request'
    )
    print(f'{run["lines"]} lines of the log:')
    for text, count in run['lines_by_text']:
        print(f'{count:6} {text}')
    for name, found in commands.items():
        print(
            f'tier {name}: {found["cpu_s"]:.1f} s of processor time,'
            f' {found["peak_mib"]:.0f} MiB'
        )


if __name__ == '__main__':
    main()
