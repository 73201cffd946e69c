# SPDX-License-Identifier: Apache-2.0

"""What a read of the applied tiers costs beside Cinder's own functions.

    python -m benchmarks.applied_read

fills a database (SQLite in a file) with private volume types, each with the
extra specs of a tier, a tag and projects that have access to it, and with
default types of projects. In each round it takes the processor time, of this
thread alone, of

* Cinder's own functions for the same: all volume types, the access to each of
  the private ones, and the default types of all projects,
* the first read of a process,
* a later one, when nothing changed since,
* one after a type changed,
* one look-up of the default type of a project.

All but the last run in a thread of their own, so that no request waits for
them. Figures are medians.
"""

import argparse
import gc
import json
import pathlib
import statistics
import sys
import time
import uuid

# First of all: it tells Cinder to run with native threads.
from tests.worlds import cinder_fixture

from cinder.volume import volume_types  # noqa: H306

from cinder_tiers.doors.volume_types import applied
from cinder_tiers.doors.volume_types import volume_type_rows

db_api = cinder_fixture.db_api
models = volume_type_rows.models

STEPS = (
    "Cinder's own",
    'first read',
    'later read',
    'after a change',
    'default type',
)


def fill(cinder, *, types, access, defaults):
    """Write the volume types and the defaults.

    :param cinder: a `cinder_fixture.Scheduler` fixture.
    :param types: private volume types.
    :param access: projects that have access to each of them.
    :param defaults: projects that have a default type.
    :returns: ids of the types.
    """
    ids = [str(uuid.uuid4()) for _ in range(types)]
    rows = {
        models.VolumeType: [
            {'id': ident, 'name': f'tier-{number}', 'is_public': False}
            for number, ident in enumerate(ids)
        ],
        models.VolumeTypeExtraSpecs: [
            {'volume_type_id': ident, 'key': key, 'value': value}
            for number, ident in enumerate(ids)
            for key, value in (
                ('tiers:name', f'tier-{number}'),
                ('tiers:tags', f'tag-{number}'),
                ('tiers:priority', f'{number}'),
                ('tiers:overflow', 'tier-0'),
                ('volume_backend_name', f'tier-{number}'),
            )
        ],
        models.VolumeTypeProjects: [
            {'volume_type_id': ident, 'project_id': f'{project:032x}'}
            for ident in ids
            for project in range(access)
        ],
        models.DefaultVolumeTypes: [
            {
                'volume_type_id': ids[project % types],
                'project_id': f'{project:032x}',
            }
            for project in range(defaults)
        ],
    }
    with cinder.engine.begin() as connection:
        for model, values in rows.items():
            if values:
                connection.execute(model.__table__.insert(), values)
    return ids


def read_by_cinder(context):
    """What the doors need, with the functions of Cinder's database API.

    :param context: with admin rights.
    """
    for row in volume_types.get_all_types(context).values():
        if not row['is_public']:
            db_api.volume_type_access_get_all(context, row['id'])
    db_api.project_default_volume_type_get(context)


def seconds(work):
    """Processor time of this thread."""
    gc.collect()  # what earlier steps left
    started = time.thread_time()
    work()
    return time.thread_time() - started


def one_round(cinder, ids, number):
    """Seconds of each step.

    :param cinder: a `cinder_fixture.Scheduler` fixture.
    :param ids: of the types.
    :param number: of the round.
    """
    context = cinder.admin
    reader = applied.TypeReader()
    defaults = applied.ProjectDefaults()
    found = [seconds(lambda: read_by_cinder(context))]
    found += [seconds(lambda: reader.read(context)) for _ in range(2)]
    db_api.volume_type_extra_specs_update_or_create(
        context, ids[0], {'tiers:tags': f'round-{number}'}
    )
    found.append(seconds(lambda: reader.read(context)))
    found.append(
        seconds(lambda: defaults.type_id_of(context, f'{0:032x}', ttl_s=0))
    )
    return found


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.applied_read',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--types',
        type=int,
        default=1000,
        metavar='N',
        help='private volume types; default %(default)s',
    )
    parser.add_argument(
        '--access',
        type=int,
        default=20,
        metavar='N',
        help='projects with access to each of them; default %(default)s',
    )
    parser.add_argument(
        '--defaults',
        type=int,
        default=20000,
        metavar='N',
        help='projects with a default type; default %(default)s',
    )
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument(
        '--json', metavar='FILE', help='write the seconds of all rounds'
    )
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    with cinder_fixture.Scheduler() as cinder:
        ids = fill(
            cinder,
            types=options.types,
            access=options.access,
            defaults=options.defaults,
        )
        one_round(cinder, ids, 'warm-up')
        rounds = [
            one_round(cinder, ids, number) for number in range(options.rounds)
        ]
    times = dict(zip(STEPS, zip(*rounds, strict=True), strict=True))
    whole = statistics.median(times[STEPS[0]])
    print(f'{"":>15}  {"ms":>8}  {"ratio":>8}')
    for step, values in times.items():
        median = statistics.median(values)
        print(f'{step:>15}  {median * 1e3:>8.2f}  {median / whole:>8.4f}')
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(times), 'utf-8')


if __name__ == '__main__':
    main(sys.argv[1:])
