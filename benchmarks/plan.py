# SPDX-License-Identifier: Apache-2.0

"""What `openstack tier plan` costs, by the number of tiers.

    python -m benchmarks.plan --tiers 10 100

runs the command's own code, once for each size and plan and in a process of
its own: the first plan, when nothing exists, and the empty one, when all is as
the tiers file says. Keystone and Cinder are generated (`generated_tiers`) in
another process; so is Ceph, in this process, but before anything is measured.
Prints calls of the APIs, commands to Ceph, seconds of processor time, and how
much the peak of resident memory grew from before the file was read.
"""

import argparse
import contextlib
import json
import pathlib

from benchmarks import command_cost
from benchmarks import generated_tiers
from benchmarks import new_process
from cinder_tiers.cli.render import plan as render
from cinder_tiers.files.tiers import reader
from cinder_tiers import workflow

#: {plan: whether the tiers exist}
PLANS = {'first': False, 'empty': True}


def measure(*, tiers, plan):
    """The cost of one plan, in this process.

    :param plan: one of PLANS.
    :returns: {what: number}.
    """
    text = generated_tiers.text(tiers)
    ceph = generated_tiers.Ceph(
        reader.read_text(text, file='tiers.yaml'), applied=PLANS[plan]
    )

    def command(connection):
        planned = workflow.plan(
            connection=connection,
            catalog=reader.read_text(text, file='tiers.yaml'),
            open_clusters=lambda _: contextlib.nullcontext({'ceph': ceph}),
        )
        return [
            render.plan_row(action, planned.effects[action.key])
            for action in planned.plan.actions
        ]

    rows, cost = command_cost.measure(
        command, 'benchmarks.generated_tiers', tiers, int(PLANS[plan])
    )
    return {
        'tiers': tiers,
        'plan': plan,
        'actions': len(rows),
        'ceph_commands': ceph.calls,
        **cost,
    }


def parse(arguments):
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--tiers', type=int, nargs='+', default=[10, 100], metavar='N'
    )
    parser.add_argument(
        '--json', type=pathlib.Path, help='write all values to this file'
    )
    parser.add_argument(
        '--in-this-process', choices=PLANS, help=argparse.SUPPRESS
    )
    return parser.parse_args(arguments)


def main():
    """Measures each plan in a new process, and prints a table."""
    options = parse(None)
    if options.in_this_process:
        print(
            json.dumps(
                measure(tiers=options.tiers[0], plan=options.in_this_process)
            )
        )
        return
    measured = []
    print(
        f'{"tiers":>6} {"plan":>6} {"actions":>8} {"calls":>6} '
        f'{"ceph":>5} {"cpu s":>6} {"peak MiB":>9}'
    )
    for tiers in options.tiers:
        for plan in PLANS:
            one = new_process.measure(
                'benchmarks.plan', '--in-this-process', plan, '--tiers', tiers
            )
            measured.append(one)
            print(
                f'{tiers:>6} {plan:>6} {one["actions"]:>8} '
                f'{one["calls"]:>6} {one["ceph_commands"]:>5} '
                f'{one["cpu_s"]:>6.2f} {one["peak_growth_mib"]:>9.1f}'
            )
    if options.json:
        options.json.write_text(json.dumps(measured, indent=2), 'utf-8')


if __name__ == '__main__':
    main()
