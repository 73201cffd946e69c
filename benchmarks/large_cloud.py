# SPDX-License-Identifier: Apache-2.0

"""What the commands cost in a large cloud, and how that grows.

    python -m benchmarks.large_cloud --osds 10000 --tiers 200 --types 1000 \
        --volumes 100000

runs the code of `openstack tier plan`, `apply`, `audit --volumes` and
`export`, each in a process of its own and against a generated cloud
(`large_world`): once at a tenth of that size, and once at that size. The apply
makes a few tiers more and changes an option of all OSDs. Prints seconds, the
peak of resident memory of the process (Ceph is generated in it), calls of the
APIs and commands to Ceph, and behind each by how much it grew; less than 10
times is less than linear. `--kinds` shows the calls of each kind. `--check`
fails when plan or audit takes more than 60 s or 1 GiB, or an action fails.
"""

import argparse
import contextlib
import json
import pathlib
import sys

from benchmarks import command_cost
from benchmarks import generated_tiers
from benchmarks import large_world
from benchmarks import new_process
from cinder_tiers.domain.placement import decide as placement
from cinder_tiers.files.tiers import reader
from cinder_tiers import workflow

#: Numbers of the tiers that an apply makes; none of them is erasure coded.
MORE = (10000, 10002, 10004)
SCRUBS = 3
#: Of plan and audit, in seconds and MiB.
MOST_S = 60
MOST_MIB = 1024
SMALLER = 10
#: Three hosts of each device class, and a tier to be misplaced on.
LEAST = {'osds': 120, 'tiers': 2, 'types': 4, 'volumes': 1}


def _catalog(tiers, **changed):
    return reader.read_text(
        generated_tiers.text(tiers, **changed), file='tiers.yaml'
    )


def _plan(connection, ceph, tiers):
    planned = workflow.plan(
        connection=connection,
        catalog=_catalog(tiers),
        open_clusters=lambda _: contextlib.nullcontext({'ceph': ceph}),
    )
    return {'actions': len(planned.plan.actions)}


def _apply(connection, ceph, tiers):
    planned = []
    results = workflow.apply(
        connection=connection,
        wanted=_catalog(tiers, more=MORE, scrubs=SCRUBS),
        lock=workflow.Lock(url=None),
        agree=planned.append,
        report=lambda result: None,
        open_clusters=lambda _: contextlib.nullcontext({'ceph': ceph}),
    )
    return {
        'actions': len(results),
        'not_done': [
            f'{one.action.key}: {one.reason}' for one in results if one.reason
        ],
    }


def _audit(connection, ceph, tiers):
    audited = workflow.audit(
        connection=connection,
        catalog=_catalog(tiers),
        volumes_by=placement.DEFAULT_POLICY,
        open_session=lambda _: contextlib.nullcontext(ceph),
    )
    return {'findings': len(audited.findings)}


def _export(connection, ceph, tiers):
    exported = workflow.export(
        connection=connection,
        clusters=[ceph.cluster],
        open_session=lambda _: contextlib.nullcontext(ceph),
    )
    return {
        'file_bytes': len(exported.text.encode()),
        'exported_types': len(exported.exported.catalog.tiers),
    }


COMMANDS = {
    'plan': _plan,
    'apply': _apply,
    'audit': _audit,
    'export': _export,
}


def measure(command, *, osds, tiers, types, volumes):
    """The cost of one command, in this process.

    :param command: one of COMMANDS.
    :returns: {what: number}.
    """
    ceph = large_world.Ceph(_catalog(tiers), osds=osds)
    found, cost = command_cost.measure(
        lambda connection: COMMANDS[command](connection, ceph, tiers),
        'benchmarks.large_world',
        tiers,
        types,
        volumes,
    )
    return {
        'command': command,
        'osds': osds,
        'tiers': tiers,
        'types': types,
        'volumes': volumes,
        'ceph_commands': ceph.calls,
        'ceph_kinds': ceph.counted,
        **found,
        **cost,
    }


def exceeded(small, large):
    """What is above the limits, for people; empty when nothing is."""
    found = []
    if large['command'] in ('plan', 'audit'):
        for what, most, unit in (
            ('seconds', MOST_S, 's'),
            ('peak_mib', MOST_MIB, 'MiB'),
        ):
            if large[what] > most:
                found.append(
                    f'{large["command"]} took {large[what]:.1f} {unit}, more '
                    f'than {most}'
                )
    found += [
        f'{large["command"]} failed: {one}'
        for one in large.get('not_done', ())
    ]
    return found


def parse(arguments):
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--osds', type=int, default=10000)
    parser.add_argument('--tiers', type=int, default=200)
    parser.add_argument('--types', type=int, default=1000)
    parser.add_argument('--volumes', type=int, default=100000)
    parser.add_argument(
        '--commands', nargs='+', choices=COMMANDS, default=list(COMMANDS)
    )
    parser.add_argument(
        '--kinds', action='store_true', help='show the calls of each kind'
    )
    parser.add_argument(
        '--check', action='store_true', help='fail above the limits'
    )
    parser.add_argument(
        '--json', type=pathlib.Path, help='write all values to this file'
    )
    parser.add_argument(
        '--in-this-process', choices=COMMANDS, help=argparse.SUPPRESS
    )
    return parser.parse_args(arguments)


def _measured(command, sizes):
    return new_process.measure(
        'benchmarks.large_cloud',
        '--in-this-process',
        command,
        *(
            text
            for name, size in sizes.items()
            for text in (f'--{name}', size)
        ),
    )


def main():
    """Measures each command at two sizes, and prints a table."""
    options = parse(None)
    sizes = {
        name: getattr(options, name)
        for name in ('osds', 'tiers', 'types', 'volumes')
    }
    if options.in_this_process:
        print(json.dumps(measure(options.in_this_process, **sizes)))
        return 0
    measured, too_much = [], []
    columns = {
        'seconds': 's',
        'cpu_s': 'cpu s',
        'peak_mib': 'peak MiB',
        'calls': 'calls',
        'ceph_commands': 'ceph',
    }
    print(
        f'{"command":8}'
        + ''.join(f'{title:>11} {"x":>6}' for title in columns.values())
    )
    smaller = {
        name: max(LEAST[name], size // SMALLER) for name, size in sizes.items()
    }
    for command in options.commands:
        small, large = (_measured(command, one) for one in (smaller, sizes))
        measured += [small, large]
        print(
            f'{command:8}'
            + ''.join(
                f'{large[name]:>11.4g} {large[name] / small[name]:>6.1f}'
                for name in columns
            ),
            flush=True,
        )
        if options.kinds:
            for one in ('kinds', 'ceph_kinds'):
                for kind, count in sorted(large[one].items()):
                    print(f'  {count:>8} {small[one].get(kind, 0):>8} {kind}')
        too_much += exceeded(small, large)
    if options.json:
        options.json.write_text(json.dumps(measured, indent=2), 'utf-8')
    for one in too_much:
        print(one, file=sys.stderr)
    return int(options.check and bool(too_much))


if __name__ == '__main__':
    sys.exit(main())
