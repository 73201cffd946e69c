# SPDX-License-Identifier: Apache-2.0

"""Plan of the layers scenario from a task, and checks of this host.

All of it is known before anything is created, so the validator has Rally
refuse a task that cannot be executed.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
import os
import pathlib
from typing import Any

from rally.common import validation
import yaml

from cinder_tiers.domain import errors
from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.layers import host_file
from cinder_tiers.figures.layers import model
from rally_scenarios.plugins.fleet import arguments as fleet_arguments
from rally_scenarios.plugins.fleet import run_plan
from rally_scenarios.plugins.layers import process
from rally_scenarios.plugins import task_validator

HOST_VARIABLE = 'CINDER_TIERS_LAYERS_HOST'
DEFAULT_HOST = '~/.rally/cinder-tiers/layers-host.yaml'
_PROGRAMS = {
    'raw': ('fio', 'wipefs'),
    'osd': ('ceph',),
    'rados': ('ceph', 'rados', 'rbd'),
    'librbd': ('ceph', 'rados', 'rbd', 'fio'),
    'guest': (),
}
# osd_bench_max_block_size of Ceph.
_OSD_BENCH_BLOCK_BYTES = 64 * 1024**2
_COMMAND_SECONDS = 3
SETTLE_SECONDS = 5
_METHOD = {'region_mib': 64, 'ramp_seconds': 5, 'runtime_seconds': 10}


@dataclass(frozen=True, kw_only=True)
class LayersArguments:
    """Arguments of a task for the layers; None: not given.

    ``scenario.Layers.run`` documents each of them.
    """

    tier: str
    pool: str
    patterns: Sequence[Mapping[str, Any]]
    layers: Sequence[str] | None = None
    host: str | None = None
    image_pool: str | None = None
    image: str | None = None
    #: id, or, before Rally has looked it up, what the task says of it
    flavor: Any = None
    guests: int = 1
    processes: int = 1
    volume_size_gib: int | None = None
    region_mib: int | None = None
    ramp_seconds: int | None = None
    runtime_seconds: int | None = None
    settle_seconds: float = SETTLE_SECONDS
    drop_caches: bool = True
    start: Mapping[str, Any] | None = None
    start_volume_type: str | None = None
    result_folder: str = fleet_arguments.RESULT_FOLDER
    listen_every_seconds: float = fleet_arguments.LISTEN_EVERY_SECONDS
    tier_mib_per_second: int | None = None
    timeouts_seconds: Mapping[str, int] | None = None


@dataclass(frozen=True, kw_only=True)
class LayersPlan:
    """A run as it will be."""

    #: layers that are measured, from below
    chosen: tuple[str, ...]
    #: at each of them
    patterns: tuple[fio_pattern.Pattern, ...]
    #: region, ramp and runtime
    method: fio_pattern.Profile
    #: what the admin says of this host
    host: host_file.Host
    #: of RADOS bench
    processes: int

    @property
    def below_guests(self) -> tuple[str, ...]:
        """Layers that this host measures."""
        return tuple(each for each in self.chosen if each != 'guest')


def _problem(
    where: str, found: str, expected: str, remedy: str
) -> errors.ProblemsFound:
    return errors.ProblemsFound(
        [
            errors.Problem(
                where=where, found=found, expected=expected, remedy=remedy
            )
        ]
    )


def _host(named: str | None, chosen: tuple[str, ...]) -> host_file.Host:
    """Read the host file; without a file, return Ceph's own defaults.

    :raises cinder_tiers.domain.errors.ProblemsFound: the file is wrong, or is
        missing although it is named or needed
    """
    asked = named or os.environ.get(HOST_VARIABLE)
    path = pathlib.Path(os.path.expanduser(asked or DEFAULT_HOST))
    try:
        document = yaml.safe_load(path.read_text('utf-8'))
    except FileNotFoundError as error:
        if not asked and 'raw' not in chosen:
            return host_file.Host()
        needs = (
            'a file that says which disk may be measured raw'
            if 'raw' in chosen
            else 'the host file that was named'
        )
        raise _problem(
            f'host file {path}',
            'is not there',
            needs,
            f"write it, name another in the argument 'host' or in"
            f' {HOST_VARIABLE}, or leave the layers'
            f" {', '.join(set(chosen) - {'guest'})} out of 'layers'"
            if asked
            else f"write it, name another in the argument 'host' or in"
            f" {HOST_VARIABLE}, or leave raw out of 'layers'",
        ) from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _problem(
            f'host file {path}',
            f'cannot read it: {error}',
            'YAML',
            "fix it, or name another in the argument 'host'",
        ) from error
    return host_file.host(document, str(path))


def _wrong_numbers(plan: LayersPlan, guests: int) -> Iterator[str]:
    for pattern in plan.patterns:
        for layer, count, name in (
            ('rados', plan.processes, 'processes'),
            ('guest', guests, 'guests'),
        ):
            if layer in plan.chosen and pattern.iodepth % count:
                yield (
                    f'pattern {pattern.name!r}: iodepth'
                    f' {pattern.iodepth} cannot be shared by {count}'
                    f' {name}, expected a multiple'
                )
        if 'osd' in plan.chosen and pattern.bs_bytes > _OSD_BENCH_BLOCK_BYTES:
            yield (
                f'pattern {pattern.name!r}: bs {pattern.bs}: OSD bench'
                f' takes 64m at most; lower it, or leave osd out of'
                f" 'layers'"
            )
        fio_pattern.measure_argv(pattern, plan.method)


def planned(arguments: LayersArguments) -> LayersPlan:
    """Plan the run that a task's arguments request.

    :raises cinder_tiers.domain.errors.ProblemsFound: the host file is wrong
        or missing
    :raises ValueError: the values do not fit each other
    :raises TypeError: a pattern has an unknown field
    """
    asked = arguments.layers or model.LAYERS
    chosen = tuple(each for each in model.LAYERS if each in asked)
    plan = LayersPlan(
        chosen=chosen,
        patterns=model.patterns(arguments.patterns),
        method=fio_pattern.Profile(
            **{
                name: default
                if getattr(arguments, name) is None
                else getattr(arguments, name)
                for name, default in _METHOD.items()
            }
        ),
        host=_host(arguments.host, chosen)
        if chosen != ('guest',)
        else host_file.Host(),
        processes=arguments.processes,
    )
    wrong = list(_wrong_numbers(plan, arguments.guests))
    if 'guest' in chosen:
        wrong += [
            f'layer guest: no {name} is given; give the argument'
            f" {name!r}, or leave guest out of 'layers'"
            for name in ('image', 'flavor')
            if not getattr(arguments, name)
        ]
    if wrong:
        raise ValueError('; '.join(wrong))
    return plan


def to_fleet_arguments(
    plan: LayersPlan, arguments: LayersArguments
) -> fleet_arguments.FleetArguments:
    """Arguments for a fleet that runs the same patterns.

    What is in flight is shared by the guests.
    """
    return fleet_arguments.FleetArguments(
        fleets=[{'tier': arguments.tier, 'image': arguments.image}],
        flavor=arguments.flavor,
        patterns=[
            {
                'name': each.name,
                'rw': each.rw,
                'bs': each.bs,
                'iodepth': each.iodepth // arguments.guests,
            }
            for each in plan.patterns
        ],
        guests_per_tier=arguments.guests,
        region_mib=plan.method.region_mib,
        ramp_seconds=plan.method.ramp_seconds,
        runtime_seconds=plan.method.runtime_seconds,
        volume_size_gib=arguments.volume_size_gib,
        start=arguments.start,
        start_volume_type=arguments.start_volume_type,
        result_folder=arguments.result_folder,
        listen_every_seconds=arguments.listen_every_seconds,
        tier_mib_per_second=arguments.tier_mib_per_second,
        timeouts_seconds=arguments.timeouts_seconds,
        # As on the layers below.
        turn_order='listed',
    )


def expected_seconds(plan: LayersPlan, arguments: LayersArguments) -> int:
    """Estimate the duration of a run in seconds.

    The times of measurements are known; for the rest, a command is assumed to
    take some seconds, and a tier to have the given speed of large writes.
    """
    method = plan.method
    run = method.ramp_seconds + method.runtime_seconds
    fill = method.region_mib // (
        arguments.tier_mib_per_second or schedule.TIER_MIB_PER_SECOND
    )
    reads = sum(each.rw not in model.WRITES for each in plan.patterns)
    runs = len(plan.patterns) * len(plan.below_guests)
    seconds = runs * (run + _COMMAND_SECONDS + round(arguments.settle_seconds))
    if 'osd' in plan.chosen:  # no reads, but objects to be filled before
        seconds += (len(plan.patterns) - reads) * fill - reads * run
    if 'rados' in plan.chosen:  # reads need what writes leave
        seconds += reads * run
    if 'librbd' in plan.chosen:
        seconds += fill
    if 'guest' in plan.chosen:
        seconds += run_plan.planned(
            to_fleet_arguments(plan, arguments)
        ).expected.seconds
    return max(0, seconds)


def check_host(plan: LayersPlan) -> None:
    """Check that this host has all programs that the layers need.

    :raises ValueError: programs are missing; names all of them and their
        packages
    """
    programs = [name for layer in plan.chosen for name in _PROGRAMS[layer]]
    wrong = process.missing(programs)
    if 'librbd' in plan.chosen and not process.missing(['fio']):
        wrong += process.without_rbd_engine()
    if plan.below_guests and not pathlib.Path(plan.host.ceph.conf).exists():
        wrong.append(
            f'layers {", ".join(plan.below_guests)}: {plan.host.ceph.conf} is'
            f" not there: name Ceph's configuration in the host file, or"
            f" leave them out of 'layers'"
        )
    if wrong:
        raise ValueError('; '.join(wrong))


@validation.configure(name='cinder_tiers_layers')
class LayersValidator(task_validator.ArgumentsValidator):
    """Refuses a task whose layers cannot be measured from this host."""

    def check(self, workload: Mapping[str, Any], plugin_cfg: object) -> None:
        """Look at the arguments of the scenario, and at this host.

        :param workload: configuration of the workload
        :param plugin_cfg: not used
        :raises Exception: one of ``WRONG``
        """
        arguments = LayersArguments(**(workload.get('args') or {}))
        plan = planned(arguments)
        if 'guest' in plan.chosen:
            run_plan.check_orders(
                run_plan.planned(to_fleet_arguments(plan, arguments))
            )
        check_host(plan)
