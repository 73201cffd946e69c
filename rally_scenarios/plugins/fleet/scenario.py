# SPDX-License-Identifier: Apache-2.0

"""The scenario that measures tiers with fleets of guests.

Thin: Rally reads its arguments here and checks a task by them; ``fleet.run``
does the rest.
"""

from collections.abc import Callable
import time
from typing import Any

from rally.common import validation
from rally.task import types
from rally_openstack.common import consts
from rally_openstack.task import scenario

from rally_scenarios.plugins.fleet import arguments as fleet_arguments
from rally_scenarios.plugins.fleet import run as fleet_run
from rally_scenarios.plugins.fleet import shape as fleet_shape
from rally_scenarios.plugins.report import harmless
from rally_scenarios.plugins import runner
from rally_scenarios.plugins import sla
from rally_scenarios.plugins.transport import access


@types.convert(flavor={'type': 'nova_flavor'})
@validation.add(
    'required_services',
    services=[
        consts.Service.CINDER,
        consts.Service.GLANCE,
        consts.Service.NOVA,
    ],
)
@validation.add('required_platform', platform='openstack', users=True)
@validation.add(runner.NAME)
@validation.add(sla.NAMES_VALIDATOR)
@validation.add('cinder_tiers_plan')
@scenario.configure(
    name='CinderTiers.fleet_fio',
    platform='openstack',
    context={'cleanup@openstack': ['cinder', 'nova', 'glance']},
)
class FleetFio(harmless.Scenario):
    """Measure tiers with fio inside guests that boot from them.

    Volumes are made by Cinder from the given images without naming a volume
    type: where they land is what is to be measured.  Guests need no
    network: orders come by config drive, results by the console, or by SSH
    where the task says so.  The iteration fails if any guest is not complete,
    after the others' figures were output and the result file was written.

    One of patterns, profile and job_file is given.  With guest_steps, each
    pattern runs with the first few guests of a tier, then with more, while
    the others are idle; with load_steps, at a few IOPS, then at more.  The
    disks of a fleet are for a table that compares
    what was measured with what they should do.
    """

    def __init__(
        self,
        *args: object,
        clock: Callable[[], float] = time.monotonic,
        **kwargs: object,
    ) -> None:
        """Create the scenario; clock: the host's, in seconds."""
        super().__init__(*args, **kwargs)
        self._clock = clock

    def run(
        self,
        fleets: list[fleet_arguments.FleetArgs],
        flavor: Any,
        patterns: list[fleet_arguments.PatternArgs] | None = None,
        profile: str | None = None,
        job_file: str | None = None,
        profile_size: fleet_arguments.Size = None,
        ioengine: str | None = None,
        guests_per_tier: fleet_arguments.OneOrNone = None,
        late_after_ms: fleet_arguments.AtLeastOne = (
            fleet_arguments.LATE_AFTER_MS
        ),
        guest_steps: list[fleet_arguments.AtLeastOne] | None = None,
        volume_size_gib: fleet_arguments.AtLeastOne = 1,
        gap_seconds: fleet_arguments.OneOrNone = None,
        region_mib: fleet_arguments.OneOrNone = None,
        start_volume_type: str | None = None,
        ramp_seconds: fleet_arguments.ZeroOrNone = None,
        runtime_seconds: fleet_arguments.OneOrNone = None,
        tier_mib_per_second: fleet_arguments.OneOrNone = None,
        repeats: fleet_arguments.OneOrNone = None,
        start: fleet_shape.StartArgs | None = None,
        ceph: fleet_arguments.CephArgs | None = None,
        listen_every_seconds: fleet_arguments.PauseSeconds = (
            fleet_arguments.LISTEN_EVERY_SECONDS
        ),
        spread: bool = True,
        volume: fleet_shape.VolumeArgs | None = None,
        result_folder: str = fleet_arguments.RESULT_FOLDER,
        timeouts_seconds: fleet_arguments.TimeoutArgs | None = None,
        transport: access.TransportArgs | None = None,
        turn_order: fleet_arguments.TurnOrder = fleet_arguments.TURN_ORDER,
        seed: fleet_arguments.ZeroOrNone = None,
        zones: fleet_arguments.ZoneArgs | None = None,
        stop_when: fleet_arguments.StopArgs | None = None,
        precondition: fleet_arguments.PreconditionArgs | None = None,
        load_steps: list[fleet_arguments.AtLeastOne] | None = None,
        cost_from: str | None = None,
        side_by_side: bool = False,
        keep: fleet_arguments.KeepArgs | None = None,
        latency_seconds: fleet_arguments.LogSecondsOrNone = None,
    ) -> None:
        """Boot all guests once, then let each tier run each pattern in turn.

        :param fleets: see FleetArgs
        :param flavor: flavor of all guests
        :param patterns: fio patterns, run one after another
        :param profile: name of one of the profiles of rally_scenarios/profiles
        :param job_file: path of a fio job file on the host of Rally
        :param profile_size: size at which a profile or job file is run
        :param guests_per_tier: servers of each tier, 3 by default
        :param guest_steps: numbers of a tier's guests that run, in turn
        :param volume_size_gib: size of the boot volumes
        :param region_mib: MiB that each guest fills and then works on
        :param ramp_seconds: seconds that fio runs before it counts
        :param runtime_seconds: seconds that count
        :param ioengine: fio's engine in the guest, unless a pattern names one
        :param repeats: how often each tier runs each pattern
        :param start: see fleet_shape.StartArgs; by a volume by default
        :param start_volume_type: type with multi-attach; by default the
            context's
        :param volume: see fleet_shape.VolumeArgs; the boot volume by default
        :param spread: spread guests of a tier over compute hosts, if possible
        :param result_folder: folder of the result file, on the host of Rally
        :param late_after_ms: a start that deviates by more does not count
        :param ceph: cluster whose state is kept with the result
        :param listen_every_seconds: pause between readings of the consoles
        :param tier_mib_per_second: speed of large writes, which sets slots and
            limits
        :param gap_seconds: minimum gap between two runs; 4 by default
        :param timeouts_seconds: see TimeoutArgs
        :param transport: see TransportArgs; the console by default
        :param turn_order: order of tiers and patterns: drawn, or as listed
        :param seed: seed of a random order; None draws one, which the result
            keeps
        :param zones: see ZoneArgs
        :param stop_when: see StopArgs; replaces repeats
        :param precondition: see PreconditionArgs; nothing by default
        :param load_steps: IOPS requested of each volume, in turn, rising
        :param cost_from: path of an earlier result on the host of Rally, which
            gives the speed of the cloud for the estimated duration
        :param side_by_side: all tiers run a pattern at the same time; they
            must share no disk
        :param keep: see KeepArgs; the fleet is deleted by default
        :param latency_seconds: length of the windows whose latencies are kept
            as histograms, for faults
        """
        arguments = fleet_arguments.FleetArguments(
            fleets=fleets,
            flavor=flavor,
            patterns=patterns,
            profile=profile,
            job_file=job_file,
            profile_size=profile_size,
            ioengine=ioengine,
            guests_per_tier=guests_per_tier,
            late_after_ms=late_after_ms,
            guest_steps=guest_steps,
            volume_size_gib=volume_size_gib,
            gap_seconds=gap_seconds,
            region_mib=region_mib,
            start_volume_type=start_volume_type,
            ramp_seconds=ramp_seconds,
            runtime_seconds=runtime_seconds,
            tier_mib_per_second=tier_mib_per_second,
            repeats=repeats,
            start=start,
            ceph=ceph,
            listen_every_seconds=listen_every_seconds,
            spread=spread,
            volume=volume,
            result_folder=result_folder,
            timeouts_seconds=timeouts_seconds,
            transport=transport,
            turn_order=turn_order,
            seed=seed,
            zones=zones,
            stop_when=stop_when,
            precondition=precondition,
            load_steps=load_steps,
            cost_from=cost_from,
            side_by_side=side_by_side,
            keep=keep,
            latency_seconds=latency_seconds,
        )
        with harmless.errors():
            fleet_run.FleetRun(
                fleet_run.context(self, arguments, clock=self._clock),
                add_output=self.add_output,
            ).run()
