# SPDX-License-Identifier: Apache-2.0

"""Runs samples of rally-openstack in the lab, for tests/rally_samples.sh.

Run it with the Python of the lab, which has Rally and openstacksdk. A sample
is asked for one iteration of one user: how long things take is not the
question, only whether they work.
"""

import argparse
from collections.abc import Iterator
import json
import pathlib
import re
import sys

from rally import api as rally_api
from rally.common import objects
from rally import exceptions
from rally import plugins
import yaml

import tempest_conf

ENVIRONMENT = 'cinder-tiers-lab'
FLAVOR = 'rally-samples'
#: {flavor that samples ask for by name: the one of here, its memory in MiB}
LARGER_FLAVORS = {'m1.small': ('rally-samples-larger', 192)}
# The images that the samples ask for. That of the lab has a tier's tag.
IMAGES = ('^cirros.*-disk$', '^(cirros.*-disk|TestVM)$')
IMAGE = f'^{tempest_conf.IMAGE}$'
# The volume type that DevStack has for LVM.
VOLUME_TYPE = 'lvmdriver-1'
LONGEST_MESSAGE = 400
PASSED, FAILED = 'passed', 'failed'

Results = dict[str, str]


def smallest(subtask: dict) -> dict:
    """A subtask with one iteration of one user of one project."""
    contexts = dict(subtask.get('contexts') or {})
    if 'users' in contexts:
        contexts['users'] = {'tenants': 1, 'users_per_tenant': 1}
    return {
        **subtask,
        'contexts': contexts,
        'runner': {'constant': {'times': 1, 'concurrency': 1}},
    }


def subtasks(
    api: rally_api.API, folder: pathlib.Path, regex: str
) -> Iterator[tuple[str, dict]]:
    """Names and configurations of the subtasks of samples, as tasks.

    :param folder: of the samples, with a folder for each service
    :param regex: finds names of samples, such as cinder/create-volume
    """
    for path in sorted(folder.glob('*/*.yaml')):
        sample = f'{path.parent.name}/{path.stem}'
        if not re.search(regex, sample):
            continue
        text = path.read_text()
        for image in IMAGES:
            text = text.replace(image, IMAGE)
        text = text.replace(VOLUME_TYPE, tempest_conf.FOLLOWS)
        for asked, (flavor, _ram_mib) in LARGER_FLAVORS.items():
            text = text.replace(f'name: {asked}', f'name: {flavor}')
        config = yaml.safe_load(
            api.task.render_template(
                task_template=text,
                template_dir=str(path.parent),
                flavor_name=FLAVOR,
            )
        )
        for number, subtask in enumerate(config['subtasks'], 1):
            yield (
                f'{sample} {number}',
                {**config, 'subtasks': [smallest(subtask)]},
            )


def failure_of(task: objects.Task) -> str:
    """Why a task failed, in a line; empty if it did not."""
    reasons = []
    for subtask in task.to_dict()['subtasks']:
        for workload in subtask['workloads']:
            for one in workload['data']:
                if one['error']:
                    reasons.append(': '.join(one['error'][:2]))
            if not workload['data']:
                reasons.append('no iteration')
            for criterion in workload['sla_results'].get('sla', ()):
                if not criterion['success']:
                    reasons.append(criterion['detail'])
    return ' '.join('; '.join(reasons).split())[:LONGEST_MESSAGE]


def result_of(api: rally_api.API, config: dict) -> str:
    """Run a task; why it failed, or empty."""
    try:
        uuid = api.task.create(deployment=ENVIRONMENT, tags=['samples'])[
            'uuid'
        ]
        api.task.start(deployment=ENVIRONMENT, config=config, task=uuid)
    except exceptions.RallyException as error:
        # What stands before it is the task.
        reason = str(error).rpartition('Reason(s):')[2] or repr(error)
        return ' '.join(reason.split())[:LONGEST_MESSAGE]
    return failure_of(objects.Task.get(uuid, detailed=True))


def run(options: argparse.Namespace) -> int:
    """Run the samples; their results are in a file of the state folder."""
    cloud = tempest_conf.connect(options.lab / 'clouds.yaml')
    if tempest_conf.api_door_is_open(cloud) != (options.doors == 'on'):
        print(f'doors {options.doors}: the API middleware of the lab is not')
        return 1
    wanted = set(failed(read(options.state, 'on'))) if options.failed else None
    flavors = [
        cloud.compute.find_flavor(name)
        or cloud.compute.create_flavor(name=name, ram=ram_mib, vcpus=1, disk=1)
        for name, ram_mib in ((FLAVOR, 128), *LARGER_FLAVORS.values())
    ]
    api = rally_api.API(config_file=str(options.lab / 'rally' / 'rally.conf'))
    plugins.load()
    results: Results = {}
    try:
        for name, config in subtasks(api, options.samples, options.regex):
            if wanted is not None and name not in wanted:
                continue
            results[name] = result_of(api, config)
            print(
                f'doors {options.doors}: {name}: {results[name] or PASSED}',
                flush=True,
            )
    finally:
        for flavor in flavors:
            cloud.compute.delete_flavor(flavor)
        options.state.joinpath(f'{options.doors}.json').write_text(
            json.dumps(results, indent=1)
        )
    return 0


def read(state: pathlib.Path, doors: str) -> Results:
    """The results of a pass; none if it did not run.

    :returns: {subtask: why it failed, or empty}
    """
    path = state / f'{doors}.json'
    return json.loads(path.read_text()) if path.exists() else {}


def failed(results: Results) -> list[str]:
    """The subtasks that failed."""
    return sorted(name for name, why in results.items() if why)


def any_failed(options: argparse.Namespace) -> int:
    """0 if a subtask failed with the doors open."""
    return 0 if failed(read(options.state, 'on')) else 1


def judge(options: argparse.Namespace) -> int:
    """Print what failed, and whether the doors are the cause."""
    known = yaml.safe_load(options.known.read_text()) or {}
    on, off = read(options.state, 'on'), read(options.state, 'off')
    wrong = 0
    for name in failed(on):
        print(f'\nfailed: {name}')
        if name in known:
            print(f'  known: {known[name]}')
        print(f'  doors on: {on[name]}')
        print(f'  doors off: {off.get(name) or PASSED}')
        if not off.get(name):
            wrong += 1
            print('  worse with the doors')
        elif name not in known:
            wrong += 1
            print('  is no known failure')
    for name in sorted(set(known) & set(on) - set(failed(on))):
        print(f'\nknown to fail, and passed: {name}')
    passed = len(on) - len(failed(on))
    print(
        f'\n{passed} passed, {wrong} failed, {len(failed(on)) - wrong} skipped'
    )
    return 1 if wrong or not passed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest='command', required=True)
    running = commands.add_parser('run', help='run samples')
    running.add_argument('--doors', choices=('on', 'off'), required=True)
    running.add_argument('--regex', default='', help='finds the samples')
    running.add_argument(
        '--failed',
        action='store_true',
        help='only what failed with the doors open',
    )
    running.set_defaults(do=run)
    commands.add_parser(
        'failed', help='exit status 0 if one failed with the doors open'
    ).set_defaults(do=any_failed)
    judging = commands.add_parser('judge', help='print what failed')
    judging.add_argument('--known', type=pathlib.Path, required=True)
    judging.set_defaults(do=judge)
    for command in commands.choices.values():
        command.add_argument('lab', type=pathlib.Path, help='folder of it')
        command.add_argument('samples', type=pathlib.Path, help='folder')
        command.add_argument('state', type=pathlib.Path, help='of results')
    options = parser.parse_args()
    return options.do(options)


if __name__ == '__main__':
    sys.exit(main())
