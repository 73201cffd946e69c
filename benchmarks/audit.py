# SPDX-License-Identifier: Apache-2.0

"""What `openstack tier audit --volumes` costs, by the number of volumes.

    python -m benchmarks.audit --volumes 1000 10000

runs the command's own code, once for each size and in a process of its own,
against a generated cloud (`generated_cloud`) in another process. Prints calls
of the APIs, seconds of processor time, and how much the peak of resident
memory grew from before the first call.
"""

import argparse
import collections
import json
import pathlib

from benchmarks import command_cost
from benchmarks import new_process
from cinder_tiers.domain.audit import volumes as audit_volumes
from cinder_tiers.domain.placement import decide as placement
from cinder_tiers import workflow


def measure(*, volumes, tiers, images):
    """The cost of one audit, in this process.

    :returns: {what: number}; `findings` are all rows, of which one is for
        each volume that is not compliant.
    """
    findings, cost = command_cost.measure(
        lambda connection: list(
            workflow.audit_all_volumes(
                connection,
                policy=placement.DEFAULT_POLICY,
                tiers=None,
                residency=None,
            )
        ),
        'benchmarks.generated_cloud',
        volumes,
        tiers,
        images,
    )
    counted = collections.Counter()
    for one in findings:
        if (
            one.aspect == audit_volumes.PLACEMENT
            and one.object_name.startswith('volumes of ')
        ):
            counted[one.state.value] += one.current['volumes']
    return {
        'volumes': volumes,
        'tiers': tiers,
        'images': images,
        'findings': len(findings),
        'states': dict(counted),
        **cost,
    }


def parse(arguments):
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--volumes', type=int, nargs='+', default=[1000, 10000], metavar='N'
    )
    parser.add_argument('--tiers', type=int, default=20)
    parser.add_argument('--images', type=int, default=500)
    parser.add_argument(
        '--json', type=pathlib.Path, help='write all values to this file'
    )
    parser.add_argument(
        '--in-this-process', action='store_true', help=argparse.SUPPRESS
    )
    return parser.parse_args(arguments)


def main():
    """Measures each size in a new process, and prints a table."""
    options = parse(None)
    if options.in_this_process:
        print(
            json.dumps(
                measure(
                    volumes=options.volumes[0],
                    tiers=options.tiers,
                    images=options.images,
                )
            )
        )
        return
    measured = []
    print(
        f'{"volumes":>8} {"calls":>6} {"cpu s":>7} {"peak MiB":>9} '
        f'{"findings":>9}'
    )
    for volumes in options.volumes:
        one = new_process.measure(
            'benchmarks.audit',
            '--in-this-process',
            '--volumes',
            volumes,
            '--tiers',
            options.tiers,
            '--images',
            options.images,
        )
        measured.append(one)
        print(
            f'{volumes:>8} {one["calls"]:>6} {one["cpu_s"]:>7.2f} '
            f'{one["peak_growth_mib"]:>9.1f} {one["findings"]:>9}'
        )
    if options.json:
        options.json.write_text(json.dumps(measured, indent=2), 'utf-8')


if __name__ == '__main__':
    main()
