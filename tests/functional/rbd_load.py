# SPDX-License-Identifier: Apache-2.0

"""A load on an RBD image of the lab, by fio on the host in place of guests.

A guest of the lab takes a minute to boot, and seconds of two processors. Where
a test is about what is made of many results, and not about guests, the load is
that of librbd clients, one for each volume. As a program, it writes what it
measured to the file that a sweep asks for, and announces its beginning:

    python -m tests.functional.rbd_load POOL/IMAGE SECONDS [--mix]
"""

import argparse
import dataclasses
import os
import pathlib
import subprocess
import tempfile

from cinder_tiers.figures.fio import iops_log
from cinder_tiers.figures.fio import latency_log
from cinder_tiers.figures.fio import output
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import merge
from cinder_tiers.figures.profile import profile as named_profile
from cinder_tiers.figures.result import build
from cinder_tiers.figures.result import result as run_result
from rally_scenarios.guest import orders
from tests.unit.figures import results

PATTERN = 'randwrite-4k'
READS = 'randread-4k'
MIX = 'randrw-4k-r30'
#: Before fio counts: the first writes go to the journal, on flash.
RAMP_S = 3
LATENCY_S = 5
_IMAGE_MIB = 64
_RW = {
    PATTERN: ('--rw=randwrite',),
    READS: ('--rw=randread',),
    MIX: ('--rw=randrw', '--rwmixread=30'),
}
#: The same for a result.
_PATTERNS = {
    PATTERN: fio_pattern.Pattern(name=PATTERN, rw='randwrite', bs='4k'),
    READS: fio_pattern.Pattern(name=READS, rw='randread', bs='4k'),
    MIX: fio_pattern.Pattern(
        name=MIX, rw='randrw', rwmixread_percent=30, bs='4k'
    ),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Load:
    """What fio measured."""

    pattern: str
    found: output.FioResult
    #: As the guest's script sends it behind fio's output.
    log: bytes


def make_image(run, pool, name, *, size_mib=_IMAGE_MIB):
    """Make an image that several clients may write to at once.

    :param run: runs a command
    """
    run(
        *('rbd', 'create', f'{pool}/{name}', '--size', f'{size_mib}M'),
        *('--image-feature', 'layering'),
    )


def _logged(folder):
    """The logs of fio, as the guest's script prints them."""
    script = orders.script_file('fleet.sh')
    begin = script.index('print_latencies() {')
    function = script[begin : script.index('\n}\n', begin) + 3]
    return subprocess.run(
        [
            *('sh', '-c'),
            f"{function}\nprintf '\\n@series\\n'\n"
            'cut -d , -f 1-3 "$CT_WORK"/series_iops*.log\nprint_latencies',
        ],
        check=True,
        capture_output=True,
        env={
            **os.environ,
            'CT_WORK': folder,
            'CT_LATENCY_MS': str(LATENCY_S * 1000),
        },
    ).stdout


def measure(
    place,
    seconds,
    *,
    pattern=PATTERN,
    size_mib=_IMAGE_MIB,
    volumes=1,
    volume_iops=None,
    iodepth=32,
    environment=None,
    nice=0,
    announcement='',
):
    """I/Os of 4 KiB, and what fio says of them.

    :param place: POOL/IMAGE
    :param size_mib: of the image
    :param volumes: how many clients, each in a part of its own
    :param volume_iops: of each, spaced by chance; None: as many as can be
    :param announcement: file that says when fio counts; empty: none does
    """
    pool, _, image = place.partition('/')
    paced = (
        (f'--rate_iops={volume_iops}', '--rate_process=poisson')
        if volume_iops
        else ()
    )
    # fio sends the output of the command to a file of its own.
    announced = (
        (
            f'--exec_prerun=echo $(($(date +%s) + {RAMP_S}))'
            f" | tee '{announcement}'",
        )
        if announcement
        else ()
    )
    part = size_mib * 2**20 // volumes // 4096 * 4096
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder) / 'out'
        subprocess.run(
            [
                *('nice', '-n', str(nice), 'fio', f'--output={text}'),
                *('--output-format=json+', '--ioengine=rbd'),
                *('--clientname=admin', f'--pool={pool}'),
                *(f'--rbdname={image}', f'--name={pattern}', '--bs=4k'),
                *(*_RW[pattern], f'--iodepth={iodepth}', '--time_based'),
                *(f'--ramp_time={RAMP_S}', f'--runtime={seconds}'),
                *(f'--numjobs={volumes}', '--group_reporting'),
                *(f'--size={part}', f'--offset_increment={part}'),
                *('--randrepeat=0', '--norandommap', *paced, *announced),
                *('--write_iops_log=series', '--log_avg_msec=1000'),
                *('--write_hist_log=series', '--log_unix_epoch=1'),
                f'--log_hist_msec={1000 * LATENCY_S}',
                f'--log_hist_coarseness={latency_log.COARSENESS}',
            ],
            check=True,
            env=environment,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            timeout=seconds + 600,
        )
        found = text.read_bytes()
        return Load(
            pattern=pattern,
            found=output.parse(found[found.index(b'{') :], jobname=pattern),
            log=_logged(folder),
        )


def slot(load):
    """A repeat of a result, of one guest that did what fio says."""
    sent = iops_log.split(load.log)
    directions = iops_log.parse_directions(
        sent.iops,
        runtime_ms=load.found.runtime_ms,
        end_ms=load.found.timestamp_ms,
    )
    series = iops_log.total(directions)
    guest = merge.GuestSlot(
        guest='g000',
        planned_ms=series[0][0],
        started_ms=series[0][0],
        ended_ms=load.found.timestamp_ms,
        result=load.found,
        series=series,
        directions=tuple(directions.items()),
        latencies=latency_log.parse(
            sent.latencies,
            begins_ms=series[0][0],
            runtime_ms=load.found.runtime_ms,
            total_ios=load.found.total_ios,
        ),
    )
    made_up = results.slot([load.found.iops])
    return build.slot_of(
        [guest],
        number=made_up.number,
        repeat=made_up.repeat,
        guests=made_up.guests,
        has_latency_windows=True,
    )


def main():
    """Measure, and write the result of a slot of a sweep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('place')
    parser.add_argument('seconds', type=int)
    parser.add_argument('--mix', action='store_true')
    arguments = parser.parse_args()
    tier = os.environ['CINDER_TIERS_SWEEP_TIER']
    load = measure(
        arguments.place,
        arguments.seconds,
        pattern=MIX if arguments.mix else PATTERN,
        announcement=os.environ['CINDER_TIERS_SWEEP_BEGIN'],
    )
    run = results.run(
        {tier: {load.pattern: [slot(load)]}},
        guests=[
            dataclasses.replace(results.guest('g000', tier), clock_error_ms=0)
        ],
    )
    profile = dataclasses.replace(
        results.PROFILE, patterns=(_PATTERNS[load.pattern],)
    )
    run = dataclasses.replace(run, profile=named_profile.from_profile(profile))
    pathlib.Path(os.environ['CINDER_TIERS_SWEEP_RESULT']).write_text(
        run_result.write(run)
    )


if __name__ == '__main__':
    main()
