# SPDX-License-Identifier: Apache-2.0

"""A load on an RBD image of the lab, by fio on the host in place of guests.

A guest of the lab takes a minute to boot, and seconds of two processors. Where
a test is about what is made of many results, and not about guests, the load is
that of librbd clients, one for each volume. As a program, it writes what it
measured to the file that a sweep asks for:

    python -m tests.functional.rbd_load POOL/IMAGE SECONDS
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from rally_scenarios.bench.fio import output
from rally_scenarios.bench.result import result as run_result
from tests.unit.bench import results

PATTERN = 'randwrite-4k'
#: Before fio counts: the first writes go to the journal, on flash.
RAMP_S = 3


def make_image(run, pool, name, *, mib=64):
    """Make an image that several clients may write to at once.

    :param run: runs a command
    """
    run(
        *('rbd', 'create', f'{pool}/{name}', '--size', f'{mib}M'),
        *('--image-feature', 'layering'),
    )


def measure(
    place,
    seconds,
    *,
    volumes=1,
    volume_iops=None,
    iodepth=32,
    environment=None,
    nice=0,
):
    """Random writes of 4 KiB, and what fio says of them.

    :param place: POOL/IMAGE
    :param volumes: how many clients, each in a part of its own
    :param volume_iops: of each, spaced by chance; None: as many as can be
    """
    pool, _, image = place.partition('/')
    paced = (
        (f'--rate_iops={volume_iops}', '--rate_process=poisson')
        if volume_iops
        else ()
    )
    part = 64 * 2**20 // volumes // 4096 * 4096
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder) / 'out'
        subprocess.run(
            [
                *('nice', '-n', str(nice), 'fio', f'--output={text}'),
                *('--output-format=json+', '--ioengine=rbd'),
                *('--clientname=admin', f'--pool={pool}'),
                *(f'--rbdname={image}', f'--name={PATTERN}', '--bs=4k'),
                *('--rw=randwrite', f'--iodepth={iodepth}', '--time_based'),
                *(f'--ramp_time={RAMP_S}', f'--runtime={seconds}'),
                *(f'--numjobs={volumes}', '--group_reporting'),
                *(f'--size={part}', f'--offset_increment={part}'),
                *('--randrepeat=0', '--norandommap', *paced),
            ],
            check=True,
            env=environment,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            timeout=600,
        )
        found = text.read_bytes()
    return output.parse(found[found.index(b'{') :], jobname=PATTERN)


def slot(found):
    """A repeat of a result, of one guest that did what fio says."""
    made = results.slot([found.iops])
    return dataclasses.replace(
        made,
        merged=dataclasses.replace(
            made.merged,
            bw_bytes=found.bw_bytes,
            clat=run_result.latencies(found.clat),
        ),
    )


def main():
    """Measure, and write the result of a slot of a sweep."""
    place, seconds = sys.argv[1:]
    tier = os.environ['CINDER_TIERS_SWEEP_TIER']
    run = results.run({tier: {PATTERN: [slot(measure(place, int(seconds)))]}})
    pathlib.Path(os.environ['CINDER_TIERS_SWEEP_RESULT']).write_text(
        run_result.write(run)
    )
    print(json.dumps({'iops': run.runs[0].slot.merged.iops}), file=sys.stderr)


if __name__ == '__main__':
    main()
