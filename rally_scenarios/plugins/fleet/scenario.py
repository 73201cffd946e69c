# SPDX-License-Identifier: Apache-2.0

"""The scenario that measures tiers with fleets of guests.

Thin: it turns arguments into a schedule, has the guests made, listens to
them until they are done, and hands over what came of it.  Deciding
is done in ``guest.verdict``, figures in ``bench``, output in ``report``.
"""

import contextlib
import dataclasses
import time
from typing import Annotated
import uuid

from oslo_log import log as logging
from rally.common import validation
from rally.task import atomic
from rally.task import scenario as task_scenario
from rally.task import types
from rally_openstack.common import consts
from rally_openstack.common.services.network import neutron
from rally_openstack.task import scenario

from rally_scenarios.bench.fleet import common_clock
from rally_scenarios.bench.fleet import verdict
from rally_scenarios.bench.fleet import volume_types as placing
from rally_scenarios.bench.result import build as run_result
from rally_scenarios.bench.result import result as result_file
from rally_scenarios.plugins.environment import probe as surroundings
from rally_scenarios.plugins.fleet import arguments as fleet_args
from rally_scenarios.plugins.fleet import report as fleet_report
from rally_scenarios.plugins.fleet import resources as fleet_resources
from rally_scenarios.plugins.fleet import run_plan as planning
from rally_scenarios.plugins.fleet import shape as fleet_shape
from rally_scenarios.plugins.fleet import start_volume_type as start_signal
from rally_scenarios.plugins.report import scaling as matrix_report
from rally_scenarios.plugins.report import tables as report
from rally_scenarios.plugins.results import reference as result_reference
from rally_scenarios.plugins.results import store as result_files
from rally_scenarios.plugins import servers as cloud_guests
from rally_scenarios.plugins import sla as tier_sla
from rally_scenarios.plugins.transport import access as guest_access
from rally_scenarios.plugins.transport import listener as listening

LOG = logging.getLogger(__name__)

AtLeastOne = fleet_args.AtLeastOne
# What is left out says nothing: a profile, or a default, speaks then.
OneOrNone = AtLeastOne | None
ZeroOrNone = fleet_args.ZeroOrMore | None
PauseSeconds = Annotated[float, task_scenario.Field(ge=0)]


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
@validation.add('cinder_tiers_profile')
@validation.add(tier_sla.NAMES_VALIDATOR)
@validation.add('cinder_tiers_plan')
@scenario.configure(
    name='CinderTiers.fleet_fio',
    platform='openstack',
    context={'cleanup@openstack': ['cinder', 'nova']},
)
class FleetFio(scenario.OpenStackScenario):
    """Measure tiers with fio inside guests that boot from them.

    Volumes are made by Cinder from the given images without naming a volume
    type: where they land is what is to be measured.  Guests need no
    network: orders come by config drive, results by the console, or by SSH
    where the task says so.  The iteration fails if any guest is not complete,
    after the others' figures were output and the result file was written.

    One of patterns, profile and job_file is given.  With guest_steps, each
    pattern runs with the first few guests of a tier, then with more, while
    the others are idle.  The disks of a fleet are for a table that compares
    what was measured with what they should do.
    """

    def __init__(self, *args, clock=time.monotonic, **kwargs):
        """As all scenarios; clock: the host's, in seconds."""
        super().__init__(*args, **kwargs)
        self._clock = clock

    def run(
        self,
        fleets: list[fleet_args.FleetArgs],
        flavor,
        patterns: list[fleet_args.PatternArgs] | None = None,
        profile: str | None = None,
        job_file: str | None = None,
        profile_size: fleet_args.Size = None,
        ioengine: str | None = None,
        guests_per_tier: OneOrNone = None,
        late_after_ms: AtLeastOne = 500,
        guest_steps: list[AtLeastOne] | None = None,
        volume_size_gib: AtLeastOne = 1,
        gap_seconds: OneOrNone = None,
        region_mib: OneOrNone = None,
        start_volume_type: str | None = None,
        ramp_seconds: ZeroOrNone = None,
        runtime_seconds: OneOrNone = None,
        tier_mib_per_second: OneOrNone = None,
        repeats: OneOrNone = None,
        start: fleet_shape.StartArgs | None = None,
        ceph: fleet_args.CephArgs | None = None,
        listen_every_seconds: PauseSeconds = 2,
        spread: bool = True,
        volume: fleet_shape.VolumeArgs | None = None,
        result_folder: str = result_files.DEFAULT_FOLDER,
        timeouts_seconds: fleet_args.TimeoutArgs | None = None,
        transport: guest_access.TransportArgs | None = None,
    ):
        """Boot all guests once, then let each tier run each pattern in turn.

        :param fleets: see FleetArgs
        :param flavor: of all guests
        :param patterns: fio patterns, run one after another
        :param profile: name of one of the profiles of rally_scenarios/profiles
        :param job_file: path of a fio job file on the host of Rally
        :param profile_size: how much of a profile or job file is run
        :param guests_per_tier: servers of each tier, 3 by default
        :param guest_steps: of a tier's guests, how many run, in turn
        :param volume_size_gib: size of the boot volumes
        :param region_mib: MiB that each guest fills and then works on
        :param ramp_seconds: run, but not counted
        :param runtime_seconds: counted
        :param ioengine: fio's engine in the guest, where a pattern names none
        :param repeats: how often each tier runs each pattern
        :param start: see fleet_shape.StartArgs; by a volume by default
        :param start_volume_type: with multi-attach; else the context's
        :param volume: see fleet_shape.VolumeArgs; the boot volume by default
        :param spread: guests of a tier over compute hosts, if possible
        :param result_folder: on the host of Rally, for the result file
        :param late_after_ms: a start further from its time does not count
        :param ceph: whose state is kept with the result
        :param listen_every_seconds: pause between readings of the consoles
        :param tier_mib_per_second: of large writes; sets slots and limits
        :param gap_seconds: between two runs, at least; 4 by default
        :param timeouts_seconds: see TimeoutArgs
        :param transport: see TransportArgs; the console by default
        """
        self._run_tiers(
            planning.planned(locals()),
            fleets,
            flavor,
            start_volume_type,
            result_files.prepare(result_folder),
            late_after_ms,
            ceph,
            listen_every_seconds,
            timeouts_seconds,
            self._access(transport),
        )

    def _access(self, transport):
        return guest_access.GuestAccess(
            transport,
            context=self.context,
            nova=self._nova,
            neutron=neutron.NeutronService(
                clients=self._clients,
                name_generator=self.generate_random_name,
                atomic_inst=self.atomic_actions(),
            ),
        )

    def _run_tiers(
        self,
        planned,
        fleets,
        flavor_id,
        start_type,
        folder,
        late_after_ms,
        ceph,
        pause_seconds,
        timeouts,
        access,
    ):
        """Find the images, run a fleet of all tiers, keep what it found.

        :param planned: a ``planning.Plan``
        :param start_type: of the start volume, if the task names one
        :param folder: where the result file is written
        :param access: a ``guest_access.GuestAccess``
        """
        LOG.info('%s', planned.told())
        lookout = surroundings.Lookout(
            admin=self.admin_clients if self.context.get('admin') else None,
            ceph=ceph,
        )
        start_type = self._start_type(planned, start_type)
        limits = planning.limits_seconds(planned, timeouts)
        shape = planned.shape
        cloud_guests.check_volume_types(
            self.clients('cinder'), shape.blank_types
        )
        resources = fleet_resources.FleetResources(
            cinder=self.clients('cinder'),
            nova=self._nova,
            shape=shape,
            new_name=self.generate_random_name,
            image_ids=cloud_guests.find_images(
                self.clients('glance'), shape.images
            ),
            tiers=[
                fleet['tier']
                for fleet in fleets
                for _ in range(planned.guests_per_tier)
            ],
            server_options=access.server_options,
        )
        result = self._run_fleet(
            planned,
            resources,
            flavor_id,
            start_type,
            late_after_ms,
            pause_seconds,
            limits,
            access,
            lookout,
            folder,
        )
        self._compare(result, planning.disks_of_tiers(fleets))
        self._fail_unless_complete(result)

    def _summed_up(self, planned, resources, **of_run):
        """What is kept of the run; see ``guest.run_result.of_run``."""
        return run_result.of_run(
            ended_at=result_files.now(),
            environment={
                **result_files.environment(),
                'clone_or_flat': result_file.Fact(
                    value=planned.shape.clone_or_flat
                ),
            },
            profile=planned.chosen,
            plan=planned.slots,
            guests_per_tier=planned.guests_per_tier,
            images=resources.images(),
            **of_run,
        )

    def _keep(self, folder, result):
        """Write the result file."""
        path = result_files.write(folder, result)
        self.add_output(complete=result_reference.output(path, result.run))
        LOG.info('The result is in %s', path)

    def _run_fleet(
        self,
        planned,
        resources,
        flavor_id,
        start_type,
        late_after_ms,
        pause_seconds,
        timeouts,
        access,
        lookout,
        folder,
    ):
        """Make the fleet, measure, hand over, and delete it in any case.

        :param resources: nothing is made yet
        :param lookout: a ``surroundings.Lookout``
        :param folder: where the result file is written, before anything is
            deleted, which may take long
        :returns: what was found, as it is kept
        """
        try:
            with atomic.ActionTimer(self, 'cinder_tiers.create_volumes'):
                volume_types = resources.create_volumes(
                    start_volume_type=start_type,
                    timeout_seconds=timeouts['volumes'],
                )
            fleet_orders = dataclasses.replace(
                planning.orders_of(
                    planned,
                    timeouts,
                    run=uuid.uuid4().hex[:16],
                    start_serial=resources.start_volume,
                    now=int(time.time()),
                ),
                **access.delivery(
                    guests=planned.guests, pause_seconds=pause_seconds
                ),
            )
            with atomic.ActionTimer(self, 'cinder_tiers.boot_guests'):
                guests = resources.boot(
                    fleet_orders,
                    flavor_id=flavor_id,
                    timeout_seconds=timeouts['boot'],
                )
            lookout.look_before(guests, resources.measured())
            outcomes, texts = self._measure(
                fleet_orders,
                guests,
                late_after_ms,
                pause_seconds,
                timeouts,
                access.transport(guests),
            )
            outcomes = placing.checked(
                outcomes,
                dict(
                    zip(
                        (guest.name for guest in guests),
                        resources.types_of_guests,
                        strict=True,
                    )
                ),
                planned.shape.expected_types,
            )
            result = self._summed_up(
                planned,
                resources,
                run=fleet_orders.run,
                outcomes=outcomes,
                volume_types=volume_types,
                around=lookout.look_after(),
                hosts={guest.name: guest.host for guest in guests},
            )
            self._hand_over(result, texts)
            self.add_output(
                complete=fleet_report.output(planned.shape, result)
            )
            self._keep(folder, result)
        finally:
            with atomic.ActionTimer(self, 'cinder_tiers.delete'):
                access.delete()
                resources.delete(timeouts['volumes'])
        return result

    @property
    def _nova(self):
        return self.clients('nova', version=cloud_guests.NOVA_MICROVERSION)

    def _start_type(self, planned, named: str | None) -> str | None:
        """Type of the start volume; None if there is to be none."""
        if planned.shape.by_clock:
            return None
        made = self.context.get(start_signal.NAME, {}).get('volume_type')
        if not (named or made):
            raise cloud_guests.FleetError(
                f'no volume type for the start volume: add the context'
                f' {start_signal.NAME}, or name a type with multi-attach in'
                f' the argument start_volume_type'
            )
        return named or made

    def _measure(
        self,
        fleet_orders,
        guests,
        late_after_ms,
        pause_seconds,
        timeouts,
        transport,
    ):
        """Listen until all is said.

        :returns: outcomes of all guests, {name: console} of those that are
            not complete
        """
        ears = listening.Listener(
            nova=self._nova,
            run=fleet_orders.run,
            guests=guests,
            pause_seconds=pause_seconds,
            transport=transport,
            clock=self._clock,
        )
        with contextlib.closing(ears):
            self._listen(ears, fleet_orders, timeouts)
        outcomes = common_clock.checked(
            [
                verdict.judge(
                    ears.heard(guest),
                    guest=guest.name,
                    tier=guest.tier,
                    position=guest.position,
                    plan=fleet_orders.schedule,
                    late_after_ms=late_after_ms,
                )
                for guest in guests
            ],
            ears.hearings,
            late_after_ms=late_after_ms,
        )
        return outcomes, {
            guest.name: ears.evidence(guest)
            for guest, outcome in zip(guests, outcomes, strict=True)
            if outcome.verdict is not verdict.Verdict.COMPLETE
        }

    def _listen(self, ears, fleet_orders, timeouts):
        if fleet_orders.clock is None:
            self._listen_to_leader(ears, fleet_orders, timeouts)
            return
        with atomic.ActionTimer(self, 'cinder_tiers.measure'):
            ears.listen_to_end(
                max(0, fleet_orders.clock.at - time.time())
                + fleet_orders.schedule.seconds
                + fleet_orders.copy_seconds
                + timeouts['end']
            )

    def _listen_to_leader(self, ears, fleet_orders, timeouts):
        """First until a guest leads, then to all, if one does."""
        with atomic.ActionTimer(self, 'cinder_tiers.prepare_guests'):
            leads = ears.listen_for_start(
                timeouts['ready'] + timeouts['prepare']
            )
        if not leads:
            LOG.warning('No guest gave a start; not waiting for figures')
            return
        with atomic.ActionTimer(self, 'cinder_tiers.measure'):
            ears.listen_to_end(
                fleet_orders.start_seconds
                + fleet_orders.schedule.seconds
                + fleet_orders.copy_seconds
                + timeouts['end']
            )

    def _hand_over(self, result, texts):
        for output in report.complete_outputs(result):
            self.add_output(complete=output)
        additive = report.additive_output(result)
        if additive is not None:
            self.add_output(additive=additive)
        if texts:
            self.add_output(complete=fleet_report.console_output(texts))
        for guest, text in texts.items():
            LOG.warning(
                'Guest %s is not complete; its console ends:\n%s',
                guest,
                '\n'.join(fleet_report.last_lines(text)),
            )

    def _compare(self, result, disks):
        for output in matrix_report.outputs(result, disks):
            self.add_output(complete=output)

    def _fail_unless_complete(self, result):
        bad = [
            f'{guest.guest} ({guest.tier}): {guest.verdict}:'
            f' {"; ".join(guest.reasons)}'
            for guest in result.guests
            if guest.verdict != 'complete'
        ]
        if bad:
            raise cloud_guests.FleetError(
                f'{len(bad)} of {len(result.guests)} guests are not complete: '
                + ' | '.join(bad)
            )
