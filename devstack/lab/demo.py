# SPDX-License-Identifier: Apache-2.0
"""Shows the whole chain in the lab: plan, placement, measurement, report.

Runs in the lab's Python environment, as ``python -m lab.demo REPORT
TRANSPORT...``, with the variables of the lab's openrc. Everything is done by
the commands and clients that a user would take; where a volume lies is asked
of Ceph.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
from typing import Any

import openstack
import prettytable
import yaml

from cinder_tiers.cli import results as result_files
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.figures.result import trust
from lab.ceph import topology
from lab.host import throttle
from lab import layout
from lab.openstack import access
from lab.openstack import cloud
from rally_scenarios.plugins.report import tables

TASK = layout.REPOSITORY / 'rally_scenarios' / 'tasks' / 'quick.yaml'
#: Largest deviation of the throttled tier from its estimate.
TOLERANCE = 0.25
#: What ``rally task start`` says when it has given the task its id.
_TASK_STARTED = re.compile(r'Task\s+(?:\[.*\] )?([0-9a-f-]{36}): started')
#: What a fleet's scenario says when it has written its result file.
_RESULT_WRITTEN = re.compile(r'.* The result is in (/.+)$')
#: The pattern that throttled disks are judged by.
_RANDOM_WRITES = 'randwrite-4k'
#: How often each pattern is measured if results are to be compared.
_COMPARED_REPEATS = 3
#: Else as many of one pattern, which take little longer than one of each: a
#: single one has no interval, and so no answer.
_ONE_PATTERN: dict[str, object] = {
    'repeats': 3,
    # Guests are emulated where there is no KVM, and each takes seconds more.
    'guests_per_tier': 2,
    'runtime_seconds': 4,
    'patterns': [
        {
            'name': _RANDOM_WRITES,
            'rw': 'randwrite',
            'bs': '4k',
            'iodepth': 48,
        }
    ],
}
#: Exit status of ``openstack tier compare``: something is worse.
_WORSE = 4
#: Whom the lab's guest lets in with a key pair.
_GUEST_USER = 'root'


class DemoFailed(Exception):
    """A part of the chain does not hold; the message says which."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class VolumePlacement:
    """Where a volume of an image came to lie.

    :param volume_type: the volume's type in Cinder.
    :param backend: host@backend#pool, as Cinder's administrator sees it.
    :param pool: the Ceph pool that really holds the RBD image.
    :param data_pool: the pool of its data, if that is another one.
    """

    image: str
    tags: tuple[str, ...]
    volume_type: str
    backend: str
    pool: str
    data_pool: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """A task of Rally that has ended.

    :param transport: how results left its guests.
    :param passed: what its exit status says.
    """

    id: str
    transport: str
    passed: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimate:
    """What throttled disks allow a client: disks x IOPS / replicas."""

    tier: str
    disks: int
    disk_iops: int
    replicas: int

    @property
    def iops(self) -> float:
        return self.disks * self.disk_iops / self.replicas


def demo(report: pathlib.Path, transports: Sequence[str]) -> None:
    """Run the chain and print what it shows.

    :param report: where the report of all results is written; that of Rally
        beside it, see ``of_rally``.
    :param transports: how results leave guests: console, ssh, or one after
        the other, which measures all tiers by each.
    :raises DemoFailed: a command failed, a volume lies elsewhere, the
        throttled tier is not as fast as its disks allow, or a tier is worse
        by the second transport than by the first.
    """
    started = time.monotonic()
    catalog = yaml.safe_load(
        pathlib.Path(os.environ[access.CATALOG_VARIABLE]).read_text()
    )
    report.parent.mkdir(parents=True, exist_ok=True)
    # A claim about two results rests on repeats of each.
    arguments = (
        {'repeats': _COMPARED_REPEATS} if len(transports) > 1 else _ONE_PATTERN
    )
    rally = _start_rally(transports[0], arguments)
    tasks = []
    announced: list[str] = []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        early = []
        figures: dict[str, concurrent.futures.Future[str]] = {}

        def take_result(path: str) -> None:
            # while Rally deletes its guests
            announced.append(path)
            figures[path] = pool.submit(_read_figures, path)
            if len(announced) == len(transports):
                early.append(
                    pool.submit(_write_report, list(announced), report)
                )

        try:
            # while Rally loads its plugins and makes its users
            problems = _show_placement(catalog)
        finally:
            tasks.append(_follow(rally, transports[0], take_result))
        for transport in transports[1:]:
            rally = _start_rally(transport, arguments)
            tasks.append(_follow(rally, transport, take_result))
        for task in tasks:
            if not task.passed:
                problems.append(
                    f'the Rally task failed (results by {task.transport}); '
                    'the reasons are above and in its report'
                )
        ids = [task.id for task in tasks]
        page_of_rally = pool.submit(_write_report_of_rally, ids, report)
        # To ask Rally takes as long as to write its report.
        results = (
            list(announced)
            if len(announced) == len(tasks)
            else _ask_for_results(ids)
        )
        for task, path in zip(tasks, results, strict=True):
            _headline(f'Figures by {task.transport}: openstack tier result')
            early_figures = figures.get(path)
            print(
                early_figures.result()
                if early_figures
                else _read_figures(path),
                end='',
                flush=True,
            )
            problems += compare(
                random_writes(result_files.read(path)),
                estimate_tiers(catalog),
                find_throttled_tiers(catalog),
            )
        if len(results) > 1:
            problems += _compare_results(results)
        for page in (page_of_rally, *early):
            page.result()
        if results != announced:
            # Rally's log, or its format, is configured
            _write_report(results, report)
    print(
        f'\nreport: {report}\n'
        f'report of Rally: {of_rally(report)}\n'
        f'result: {" ".join(results)}\n'
        f'demo ended after {time.monotonic() - started:.0f} s'
    )
    if problems:
        raise DemoFailed('\n'.join(problems))


def _ask_for_results(task_ids: Sequence[str]) -> list[str]:
    """Return the paths of the result files of tasks, as Rally has them.

    :raises DemoFailed: one has none.
    """
    return [
        path
        for each in task_ids
        for path in find_results(
            json.loads(
                _read(['rally', 'task', 'report', '--json', '--uuid', each])
            )
        )
    ]


def _read_figures(path: str) -> str:
    """Return what ``openstack tier result`` says of a file.

    :raises DemoFailed: it cannot show it.
    """
    argv = ['openstack', 'tier', 'result', path]
    done = subprocess.run(
        argv,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **_width_of_terminal()},
    )
    # 3: a pattern has no complete repeat, of which compare() tells
    if done.returncode not in (0, 3):
        raise DemoFailed(
            f'{" ".join(argv[:3])} ended with {done.returncode}:\n'
            f'{done.stdout.strip()}'
        )
    return done.stdout


def _width_of_terminal() -> dict[str, str]:
    """Return the variable that has it, for what is printed there later."""
    if not sys.stdout.isatty():
        return {}
    return {'COLUMNS': str(shutil.get_terminal_size().columns)}


def _write_report(results: Sequence[str], report: pathlib.Path) -> None:
    _read(['openstack', 'tier', 'report', *results, '-o', str(report)])


def _write_report_of_rally(
    task_ids: Sequence[str], report: pathlib.Path
) -> None:
    _read(
        [
            'rally',
            'task',
            'report',
            '--html-static',
            '--out',
            str(of_rally(report)),
            '--uuid',
            *task_ids,
        ]
    )


def _compare_results(results: Sequence[str]) -> list[str]:
    """Print what can be claimed of results; return what is worse."""
    _headline('The same figures by each transport? openstack tier compare')
    done = subprocess.run(['openstack', 'tier', 'compare', *results])
    # 3: something was not compared, which the table says
    if done.returncode == _WORSE:
        return [
            f'figures by {results[1]} are worse than by {results[0]}, '
            'see the comparison above'
        ]
    if done.returncode not in (0, 3):
        raise DemoFailed(
            f'openstack tier compare ended with {done.returncode}'
        )
    return []


def of_rally(report: pathlib.Path) -> pathlib.Path:
    """Where Rally's own report is: demo-rally.html beside demo.html."""
    return report.with_name(f'{report.stem}-rally{report.suffix}')


def find_results(found: dict) -> list[str]:
    """Return the paths of the result files that Rally's JSON report names.

    :raises DemoFailed: it names none.
    """
    column = tables.RESULT_TABLE_COLUMNS[1]
    return [row[column] for row in read_rows(found, tables.RESULT_TABLE_TITLE)]


def place_volumes() -> Iterator[VolumePlacement]:
    """Create a volume of each image, see where it lies, and delete it.

    :raises DemoFailed: one does not become available.
    """
    member = openstack.connect(cloud=access.MEMBER_CLOUD)
    admin = openstack.connect(cloud=access.ADMIN_CLOUD)
    volumes = {}
    try:
        for name in cloud.IMAGES:
            image = member.image.find_image(name, ignore_missing=False)
            volumes[name] = member.block_storage.create_volume(
                name=f'demo of {name}', size=1, image_id=image.id
            )
        for name, volume in volumes.items():
            _wait_until_available(member, volume, name)
            seen = admin.block_storage.get_volume(volume.id)
            yield VolumePlacement(
                image=name,
                tags=tuple(cloud.IMAGES[name]),
                volume_type=seen.volume_type,
                backend=seen.host,
                **_find_in_ceph(volume.id),
            )
    finally:
        for volume in volumes.values():
            # as administrator, as it may still be in the making
            admin.block_storage.delete_volume(volume, force=True)


def find_misplaced(
    placements: Sequence[VolumePlacement], catalog: dict
) -> list[str]:
    """Return a sentence for each volume that does not lie on its tier."""
    found = []
    for placement in placements:
        tier = _tier_of(placement.tags, catalog)
        pool = catalog['tiers'][tier]['rbd']['pool']
        if placement.pool != pool:
            found.append(
                f'a volume of {placement.image} lies in pool '
                f'{placement.pool or "(none)"}, expected {pool} of '
                f'tier {tier}'
            )
    return found


def estimate_tiers(catalog: dict) -> list[Estimate]:
    """Return the estimate of each replicated tier on throttled disks."""
    found = []
    for name, tier in catalog['tiers'].items():
        speeds = _disk_speeds(tier)
        if speeds and 'replicated' in tier['rbd']:
            found.append(
                Estimate(
                    tier=name,
                    disks=len(speeds),
                    disk_iops=speeds[0].iops,
                    replicas=tier['rbd']['replicated']['size'],
                )
            )
    return found


def find_throttled_tiers(catalog: dict) -> set[str]:
    """Return the names of the tiers on throttled disks."""
    return {
        name for name, tier in catalog['tiers'].items() if _disk_speeds(tier)
    }


def _disk_speeds(tier: dict) -> list[throttle.DiskSpeed]:
    """Return the speed of each throttled disk that a tier lies on."""
    return [
        osd.speed
        for osd in topology.six_osds()
        if osd.speed and osd.device_class == tier['rbd']['device_class']
    ]


def compare(
    measured: Mapping[str, float],
    expected: Sequence[Estimate],
    slow: Set[str],
) -> list[str]:
    """Compare random writes with what the disks allow; print both.

    :param measured: {tier: its IOPS}.
    :param slow: names of all tiers on throttled disks.
    :returns: a sentence for each estimate that is missed.
    """
    problems = []
    print()
    for estimate in expected:
        iops = measured.get(estimate.tier, 0.0)
        deviation = iops / estimate.iops - 1
        print(
            f'{estimate.tier}: {iops:.0f} IOPS of 4k random writes. Its '
            f'throttle allows {estimate.disks} disks x {estimate.disk_iops} '
            f'IOPS / {estimate.replicas} copies = {estimate.iops:.0f} '
            f'({deviation:+.0%})'
        )
        if abs(deviation) > TOLERANCE:
            problems.append(
                f'{estimate.tier}: {iops:.0f} IOPS, expected '
                f'{estimate.iops:.0f} within {TOLERANCE:.0%}: is other work '
                'on this machine, or a disk not throttled?'
            )
        for tier, other in sorted(measured.items()):
            if iops and tier not in slow:
                print(
                    f'{tier} / {estimate.tier}: {other / iops:.1f} times '
                    f'measured, {other / estimate.iops:.1f} times if '
                    f'{estimate.tier} ran exactly at its throttle'
                )
            if tier not in slow and other <= iops:
                problems.append(
                    f'{tier}: {other:.0f} IOPS, no more than the throttled '
                    f'{estimate.tier}'
                )
    return problems


def random_writes(result: run_result.RunResult) -> dict[str, float]:
    """Return the IOPS of each tier that has some, the mean of its repeats."""
    return {
        tier.tier: found.mean
        for tier in result.tiers
        for pattern in tier.patterns
        if pattern.pattern == _RANDOM_WRITES
        and (found := trust.estimate(pattern.slots, 'iops')) is not None
    }


def read_rows(report: dict, title: str) -> list[dict]:
    """Return the rows of a table of the fleet in Rally's JSON report.

    :param title: of the table.
    :raises DemoFailed: the report has none.
    """
    found = [
        table
        for task in report['tasks']
        for subtask in task['subtasks']
        for workload in subtask['workloads']
        for iteration in workload['data']
        for table in iteration['output']['complete']
        if table['title'] == title
    ]
    if not found:
        raise DemoFailed(
            f'the task ended without its table {title!r}; see its errors above'
        )
    return [
        dict(zip(table['data']['cols'], row, strict=True))
        for table in found
        for row in table['data']['rows']
    ]


def _tier_of(tags: Sequence[str], catalog: dict) -> str:
    for name, tier in catalog['tiers'].items():
        if set(tags) & set(tier.get('tags', ())) or (
            not tags and tier.get('fallback')
        ):
            return name
    raise DemoFailed(f'no tier of the catalog serves the tags {tags}')


def _wait_until_available(
    connection: openstack.connection.Connection, volume: Any, image: str
) -> None:
    try:
        connection.block_storage.wait_for_status(
            volume,
            status='available',
            failures=['error'],
            interval=0.5,
            wait=60,
        )
    except (
        openstack.exceptions.ResourceFailure,
        openstack.exceptions.ResourceTimeout,
    ) as problem:
        raise DemoFailed(
            f'the volume of {image} is not available: {problem}. '
            'See: devstack/lab.sh logs cinder-scheduler'
        ) from None


def _find_in_ceph(volume_id: str) -> dict[str, str]:
    """Ask every pool for the RBD image of a volume."""
    pools = json.loads(
        _read(['ceph', 'osd', 'pool', 'ls', '--format', 'json'])
    )
    for pool in pools:
        done = subprocess.run(
            ['rbd', 'info', '--format', 'json', f'{pool}/volume-{volume_id}'],
            capture_output=True,
            text=True,
        )
        if done.returncode == 0:
            return {
                'pool': pool,
                'data_pool': json.loads(done.stdout).get('data_pool', ''),
            }
    return {'pool': '', 'data_pool': ''}


def _follow(
    rally: subprocess.Popen[str],
    transport: str,
    take_result: Callable[[str], None],
) -> Task:
    """Print what a task says until it ends.

    :param take_result: called with the path of each result file, as soon as
        it is written.
    :raises DemoFailed: Rally did not start it.
    """
    _headline(
        f'Fleets measure each tier, results by {transport}: '
        f'rally task start {TASK.name}'
    )
    task_id = None
    for line in rally.stdout or ():
        print(line, end='', flush=True)
        started = _TASK_STARTED.match(line)
        task_id = started[1] if started else task_id
        if written := _RESULT_WRITTEN.match(line):
            take_result(written[1])
    passed = rally.wait() == 0
    if task_id is None:
        raise DemoFailed('Rally did not start the task, see above')
    return Task(id=task_id, transport=transport, passed=passed)


def _start_rally(
    transport: str, arguments: dict[str, object]
) -> subprocess.Popen[str]:
    # The start disk is polled by all guests, which a throttled disk feels.
    return subprocess.Popen(
        [
            'rally',
            'task',
            'start',
            str(TASK),
            '--no-use',
            '--task-args',
            json.dumps(
                {
                    'start_volume_backend': 'tier-database',
                    'ceph_conf': os.environ['CEPH_CONF'],
                    **arguments,
                    'transport': (
                        {'kind': 'ssh', 'user': _GUEST_USER}
                        if transport == 'ssh'
                        else {'kind': transport}
                    ),
                }
            ),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors='replace',
    )


def _show_placement(catalog: dict) -> list[str]:
    """Print the plan and where volumes lie; return what is wrong there."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        placed = pool.submit(lambda: list(place_volumes()))
        _headline('The catalog is in effect: openstack tier plan')
        _show(['openstack', 'tier', 'plan'])
        placements = placed.result()
    _headline(
        'Where volumes of the images lie (a member of a project creates '
        'them without a volume type)'
    )
    print(
        _table(
            (
                'image',
                'tags',
                'volume type',
                'host@backend#pool',
                'pool in Ceph',
            ),
            [
                (
                    placement.image,
                    ','.join(placement.tags) or '-',
                    placement.volume_type,
                    placement.backend,
                    placement.pool
                    + (
                        f' (data: {placement.data_pool})'
                        if placement.data_pool
                        else ''
                    ),
                )
                for placement in placements
            ],
        ),
        flush=True,
    )
    return find_misplaced(placements, catalog)


def _show(argv: Sequence[str]) -> None:
    done = subprocess.run(argv)
    if done.returncode:
        raise DemoFailed(f'{" ".join(argv[:3])} ended with {done.returncode}')


def _read(argv: Sequence[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise DemoFailed(
            f'{" ".join(argv[:3])} ended with '
            f'{done.returncode}:\n{done.stderr.strip()}'
        )
    return done.stdout


def _headline(text: str) -> None:
    print(f'\n== {text}', flush=True)


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    # As a row, since a head cannot have several lines.
    table = prettytable.PrettyTable(header=False)
    table.align = 'l'
    table.add_row(
        [
            # A word below the other if its figures are narrower.
            name.replace(' ', '\n')
            if all(len(str(row[at])) < len(name) for row in rows)
            else name
            for at, name in enumerate(columns)
        ],
        divider=True,
    )
    table.add_rows(rows)
    return str(table)


if __name__ == '__main__':
    try:
        demo(pathlib.Path(sys.argv[1]), sys.argv[2:])
    except DemoFailed as problem:
        sys.exit(f'demo: {problem}')
