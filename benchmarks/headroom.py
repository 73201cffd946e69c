# SPDX-License-Identifier: Apache-2.0


"""How many volumes fit, as "tier headroom" says it and as is then measured.

    python -m benchmarks.headroom

needs the lab. In each run, four volumes of the tier "general" do random reads
of 4 KiB at more and more IOPS, which gives a load curve; "openstack tier
headroom" says of it how many volumes of --volume-iops keep the p99; and so
many volumes, one less, or one more, and so on, are then measured, until the
most that keep it is found. I/Os are spaced by chance (rate_process=poisson).

Small writes would tell nothing within seconds: the OSDs defer them on flash,
which takes 560 IOPS for as long as a run lasts, and the disks 400 in the end.

A volume is a client of librbd on this host in place of a guest, which would
take a minute to boot. The disks of the lab do --disk-iops in a second each.
"""

import argparse
import dataclasses
import json
import math
import pathlib
import subprocess
import tempfile

from scipy import stats

from cinder_tiers.figures.result import result as run_result
from tests.functional import disk_iops
from tests.functional import lab
from tests.functional import rbd_load
from tests.unit.figures import results

TIER = 'general'
RUNS = 20
DISK_IOPS = 160
#: In the 5 s of a measurement chance adds or takes 2 % of what is asked for,
#: which is not to be a volume.
VOLUME_IOPS = 40
P99_MS = 100
REPEATS = 3
#: Of what one of the three disks does. Volumes get 2.1 to 2.5 times as much:
#: the objects of an image are not spread evenly.
STEPS = (2.0, 2.375, 2.75, 3.125)
#: Volumes of the curve.
VOLUMES = 4
#: More than the OSDs cache.
_IMAGE_MIB = 1024
#: I/Os of each repeat. A p99 needs 1000; near what the disks do, a queue grows
#: for as long as it is measured, so that the truth has as many.
_IOS = 2000


class Place:
    """An image in the lab, and how its volumes are measured."""

    def __init__(self, environment, image, nice):
        self._environment = environment
        self._place = f'tier-{TIER}/{image}'
        self._nice = nice

    def load(self, iops, volumes, *, ios=_IOS):
        """What so many volumes do that ask for so many IOPS together."""
        return rbd_load.measure(
            self._place,
            # A paced run that is no longer than its ramp measures nothing.
            max(rbd_load.RAMP_S + 1, math.ceil(ios / iops)),
            pattern=rbd_load.READS,
            size_mib=_IMAGE_MIB,
            volumes=volumes,
            volume_iops=round(iops / volumes),
            # No volume is to wait for its own I/Os.
            iodepth=max(8, 256 // volumes),
            environment=self._environment,
            nice=self._nice,
        )


def curve(place, steps, repeats):
    """A result that has the load curve.

    :param steps: IOPS of all volumes together
    """
    found = {
        step: [
            rbd_load.slot(place.load(step, VOLUMES))
            for _repeat in range(repeats)
        ]
        for step in steps
    }
    run = results.run(
        {TIER: {f'{rbd_load.READS}.r{step}': of for step, of in found.items()}}
    )
    (tier,) = run.tiers
    return dataclasses.replace(
        run,
        tiers=(
            dataclasses.replace(
                tier,
                patterns=tuple(
                    dataclasses.replace(
                        each,
                        asked=run_result.AskedLoad(
                            curve=rbd_load.READS,
                            iops=step,
                            volume_iops=round(step / VOLUMES),
                        ),
                    )
                    for step, each in zip(steps, tier.patterns, strict=True)
                ),
            ),
        ),
    )


def predicted(environment, run, p99_ms, volume_iops):
    """What "tier headroom" says of a result: its row of the expectation."""
    with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
        file.write(run_result.write(run))
        file.flush()
        done = subprocess.run(
            [
                *('openstack', 'tier', 'headroom', TIER, file.name),
                *('--expect', f'p99_ms_max={p99_ms}', '--volumes', '0'),
                *('--per-volume-iops', str(volume_iops), '--load', '0'),
                *('-f', 'json'),
            ],
            env=environment,
            capture_output=True,
            text=True,
        )
    # 3 is a number that has no interval, or one with no room in it.
    if done.returncode not in (0, 3, 4):
        raise RuntimeError(done.stderr)
    return next(
        row
        for row in json.loads(done.stdout)
        if row['Until'].startswith('p99_ms_max') and row['By'] == 'sold'
    )


def most_volumes(place, about, p99_ms, volume_iops):
    """{volumes: p99 in ms} around the most that keep the p99, and that."""
    measured = {}

    def keeps(volumes):
        if volumes not in measured:
            found = place.load(volumes * volume_iops, volumes)
            measured[volumes] = found.found.clat.percentile_ns(99) / 1e6
        return measured[volumes] <= p99_ms

    volumes = max(1, about)
    while volumes > 1 and not keeps(volumes):
        volumes -= 1
    while keeps(volumes + 1):
        volumes += 1
    return volumes, measured


def main():
    """Measure, and print a row for each run."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--runs', type=int, default=RUNS)
    parser.add_argument('--disk-iops', type=int, default=DISK_IOPS)
    parser.add_argument('--volume-iops', type=int, default=VOLUME_IOPS)
    parser.add_argument('--p99-ms', type=float, default=P99_MS)
    parser.add_argument('--repeats', type=int, default=REPEATS)
    parser.add_argument('--nice', type=int, default=0, help='of fio')
    parser.add_argument(
        '--json', type=pathlib.Path, help='write all values to this file'
    )
    options = parser.parse_args()
    environment = lab.user_environment()

    def run(*argv):
        subprocess.run(
            argv, check=True, env=environment, stdout=subprocess.DEVNULL
        )

    image = 'headroom-benchmark'
    place = Place(environment, image, options.nice)
    steps = [round(share * options.disk_iops) for share in STEPS]
    rbd_load.make_image(run, f'tier-{TIER}', image, size_mib=_IMAGE_MIB)
    rows = []
    try:
        root = pathlib.Path(environment['CINDER_TIERS_LAB'])
        with disk_iops.DiskIops(root) as disks:
            disks.set(options.disk_iops)
            # What was never written is not read from a disk.
            run(
                *('fio', '--ioengine=rbd', '--clientname=admin'),
                *(f'--pool=tier-{TIER}', f'--rbdname={image}'),
                *('--name=fill', '--rw=write', '--bs=4M', '--iodepth=8'),
            )
            for number in range(1, options.runs + 1):
                row = one_run(environment, place, steps, options)
                rows.append(row)
                print(number, json.dumps(row), flush=True)
                if options.json:
                    options.json.write_text(json.dumps(rows, indent=2))
    finally:
        run('rbd', 'rm', '--no-progress', f'tier-{TIER}/{image}')
    known = [row for row in rows if row['predicted'] is not None]
    near = sum(abs(row['predicted'] - row['measured']) <= 1 for row in known)
    low, high = stats.binomtest(near, len(rows)).proportion_ci(method='exact')
    print(
        f'within one volume: {near} of {len(rows)} runs'
        f' ({100 * low:.0f} to {100 * high:.0f} %)'
    )


def one_run(environment, place, steps, options):
    """What was predicted, and what was measured."""
    found = curve(place, steps, options.repeats)
    said = predicted(environment, found, options.p99_ms, options.volume_iops)
    volumes = said['More volumes']
    about = volumes['volumes'] or volumes['at_least'] or 1
    most, measured = most_volumes(
        place, about, options.p99_ms, options.volume_iops
    )
    return {
        'predicted': volumes['volumes'],
        'from': volumes['at_least'],
        'to': volumes['at_most'],
        'measured': most,
        'p99_ms': {str(n): round(ms, 1) for n, ms in sorted(measured.items())},
        'curve': {
            str(step): [
                round(slot.merged.clat.percentiles_ns['99'] / 1e6, 1)
                for slot in pattern.slots
            ]
            for step, pattern in zip(
                steps, found.tiers[0].patterns, strict=True
            )
        },
        'said': said['Rests on'],
    }


if __name__ == '__main__':
    main()
