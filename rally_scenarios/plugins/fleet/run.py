# SPDX-License-Identifier: Apache-2.0

"""A run of a fleet: created, measured, reported, kept and deleted.

A scenario composes it and decides what else its iteration does.
``figures.fleet`` decides the outcomes of guests, ``figures.result`` computes
figures, and ``plugins.report`` shows them.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import functools
import multiprocessing
import pathlib
import time
from typing import Any
import uuid

from oslo_log import log as logging
from rally.common import objects
from rally.task import atomic
from rally_openstack.common.services.network import neutron
from rally_openstack.task import scenario as rally_scenario

from cinder_tiers.figures.fleet import common_clock
from cinder_tiers.figures.fleet import guest_facts
from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.fleet import verdict
from cinder_tiers.figures.fleet import volume_types
from cinder_tiers.figures.protocol import frames
from cinder_tiers.figures.result import build
from cinder_tiers.figures.result import result as run_result
from cinder_tiers.loop.report import answers
from rally_scenarios.guest import orders
from rally_scenarios.plugins.environment import probe
from rally_scenarios.plugins.fleet import announcement
from rally_scenarios.plugins.fleet import arguments as fleet_arguments
from rally_scenarios.plugins.fleet import kept as kept_fleets
from rally_scenarios.plugins.fleet import progress
from rally_scenarios.plugins.fleet import repeat_watch
from rally_scenarios.plugins.fleet import report as fleet_report
from rally_scenarios.plugins.fleet import resources as fleet_resources
from rally_scenarios.plugins.fleet import run_plan
from rally_scenarios.plugins.fleet import start_volume_type
from rally_scenarios.plugins.report import disks
from rally_scenarios.plugins.report import tables
from rally_scenarios.plugins.results import reference
from rally_scenarios.plugins.results import store
from rally_scenarios.plugins import servers
from rally_scenarios.plugins.transport import access as guest_access
from rally_scenarios.plugins.transport import collector as result_collector

LOG = logging.getLogger(__name__)

# Of guests that are not complete: whose console is in the log, and how many
# an error names; in a large fleet all of them may be.
_MOST_CONSOLES = 5
_MOST_NAMED = 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunContext:
    """Context of a run: its inputs and services; nothing is created yet."""

    #: gives clients, names that Rally's cleanup knows, and timers
    scenario: rally_scenario.OpenStackScenario
    #: of the task or subtask; None if unknown
    task_title: str | None
    #: what the task asks for
    arguments: fleet_arguments.FleetArguments
    #: what the arguments come to
    plan: run_plan.FleetPlan
    #: how long to wait for each part of the run
    limits_seconds: Mapping[str, int]
    #: volume type of the start volume; None: the start is by clock
    start_volume_type: str | None
    #: where the result file is written
    folder: pathlib.Path
    #: how guests are reached
    access: guest_access.GuestAccess
    #: looks at what the run is measured on
    probe: probe.EnvironmentProbe
    #: volumes and servers
    resources: fleet_resources.FleetResources
    #: clock of this host, in seconds, to note when guests were read
    clock: Callable[[], float]
    #: what another task must ask for to use the same fleet
    asked: Mapping[str, str]
    #: a fleet that a former run has kept; None: it is to be made
    kept_fleet: kept_fleets.KeptFleet | None = None

    @property
    def fills(self) -> bool:
        """Return whether guests write their regions before they measure."""
        region_mib = self.plan.chosen.method.region_mib
        return self.plan.shape.fill and (
            self.kept_fleet is None or self.kept_fleet.filled_mib < region_mib
        )

    def describe(self) -> str:
        """Describe the run and its expected duration in one line."""
        if self.kept_fleet is None:
            return self.plan.describe()
        return dataclasses.replace(
            self.plan,
            expected=self.plan.expected.of_kept_fleet(
                fills=self.fills,
                deletes=bool(self.arguments.keep.get('last')),
            ),
        ).describe()

    @property
    def nova(self) -> Any:
        """A novaclient that can attach a volume to many servers."""
        return _nova(self.scenario)


@dataclasses.dataclass(frozen=True, kw_only=True)
class KeptResult:
    """A result and the file that has it."""

    #: what was found
    result: run_result.RunResult
    #: of the file, on the host of Rally
    path: pathlib.Path


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Collected:
    """Data heard from guests, and the turns that count."""

    slots: schedule.Schedule
    outcomes: Sequence[verdict.GuestOutcome]
    #: None: the number of repeats was fixed
    stopping: run_result.Stopping | None
    #: {name: console} of guests that are not complete
    consoles: Mapping[str, str]
    #: what was heard of all guests
    heard: Mapping[str, frames.GuestConsole]


def _nova(scenario: rally_scenario.OpenStackScenario) -> Any:
    return scenario.clients('nova', version=servers.NOVA_MICROVERSION)


def _start_volume_type(
    scenario: rally_scenario.OpenStackScenario,
    plan: run_plan.FleetPlan,
    named: str | None,
) -> str | None:
    """Type of the start volume; None if there is to be none.

    :raises servers.FleetError: neither the task nor a context names one
    """
    if plan.shape.by_clock:
        return None
    made = scenario.context.get(start_volume_type.NAME, {}).get('volume_type')
    if not (named or made):
        raise servers.FleetError(
            f'no volume type for the start volume: add the context'
            f' {start_volume_type.NAME}, or name a type with multi-attach in'
            f' the argument start_volume_type'
        )
    return named or made


def context(
    scenario: rally_scenario.OpenStackScenario,
    arguments: fleet_arguments.FleetArguments,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> RunContext:
    """Return the context of a run, checked as far as possible beforehand.

    :param scenario: scenario that runs it
    :param clock: clock of this host, in seconds
    :raises cinder_tiers.domain.errors.ProblemsFound: see ``run_plan.planned``
    :raises ValueError: the arguments do not fit each other
    :raises servers.FleetError: a prerequisite of the run is missing
    """
    arguments = run_plan.with_seed(arguments)
    plan = run_plan.planned(arguments)
    folder = store.prepare(arguments.result_folder)
    access = guest_access.GuestAccess(
        arguments.transport,
        context=scenario.context,
        nova=_nova(scenario),
        neutron=neutron.NeutronService(
            clients=scenario._clients,
            name_generator=scenario.generate_random_name,
            atomic_inst=scenario.atomic_actions(),
        ),
    )
    is_admin = scenario.context.get('admin')
    environment_probe = probe.EnvironmentProbe(
        admin=scenario.admin_clients if is_admin else None,
        ceph=arguments.ceph,
    )
    start_type = _start_volume_type(
        scenario, plan, arguments.start_volume_type
    )
    servers.check_volume_types(
        scenario.clients('cinder'), plan.shape.blank_types
    )
    image_ids = servers.find_images(
        scenario.clients('glance'), plan.shape.images
    )
    asked = kept_fleets.asked_for(
        arguments,
        shape=plan.shape,
        guests_per_tier=plan.guests_per_tier,
        image_ids=image_ids,
    )
    made = RunContext(
        scenario=scenario,
        task_title=_task_title(scenario),
        arguments=arguments,
        plan=plan,
        limits_seconds=run_plan.limits_seconds(
            plan, arguments.timeouts_seconds
        ),
        start_volume_type=start_type,
        folder=folder,
        access=access,
        probe=environment_probe,
        clock=clock,
        asked=asked,
        kept_fleet=_kept_fleet(scenario, arguments, folder, asked),
        resources=fleet_resources.FleetResources(
            cinder=scenario.clients('cinder'),
            nova=_nova(scenario),
            shape=plan.shape,
            new_name=_new_name(scenario, arguments),
            image_ids=image_ids,
            tiers=[
                fleet['tier']
                for fleet in arguments.fleets
                for _ in range(plan.guests_per_tier)
            ],
            server_options=access.server_options,
        ),
    )
    LOG.info('%s', made.describe())
    return made


def _task_title(scenario: rally_scenario.OpenStackScenario) -> str | None:
    """Return the title of the task of a scenario, or else of its subtask.

    ``rally task start`` stores no title of a task.

    :returns: None if Rally has neither; or if it has none of the task, and
        this is not the process that opened its database.
    """
    task = scenario.context['task']
    if not isinstance(task, objects.Task):
        return task.get('title')
    if task['title']:
        return task['title']
    if multiprocessing.parent_process():
        return None
    found = objects.Task.get(task['uuid'], detailed=True)
    of_subtask = (
        subtask['title']
        for subtask in found['subtasks']
        for workload in subtask['workloads']
        if workload['uuid'] == scenario.context['owner_id']
    )
    return next(of_subtask, None)


def _new_name(
    scenario: rally_scenario.OpenStackScenario,
    arguments: fleet_arguments.FleetArguments,
) -> Callable[[], str]:
    """Gives the names of a fleet's servers and volumes."""
    if arguments.keep is None:
        return scenario.generate_random_name
    prefix = kept_fleets.name_prefix(arguments.keep['name'])
    return lambda: f'{prefix}{uuid.uuid4().hex[: kept_fleets.NAME_DIGITS]}'


def _kept_fleet(
    scenario: rally_scenario.OpenStackScenario,
    arguments: fleet_arguments.FleetArguments,
    folder: pathlib.Path,
    asked: Mapping[str, str],
) -> kept_fleets.KeptFleet | None:
    """The fleet that the task means; None: one is to be made.

    :raises servers.FleetError: it cannot be used, or none could be kept
    """
    if arguments.keep is None:
        return None
    if not scenario.context.get('config', {}).get('existing_users'):
        raise servers.FleetError(
            'keep: Rally deletes the project of this task when it ends;'
            ' expected an environment of Rally with existing users, and a task'
            ' without users of its own (member: true)'
        )
    found = kept_fleets.find(folder, arguments.keep['name'], asked)
    if found is not None:
        LOG.info(
            'Fleet %s exists from an earlier run: its volumes, servers%s '
            'are used again',
            found.name,
            ' and regions' if found.filled_mib else '',
        )
    return found


class FleetRun:
    """A run of a fleet.

    :ivar kept: the result; None until its file is written
    """

    def __init__(
        self, context: RunContext, *, add_output: Callable[..., None]
    ) -> None:
        """Create a run; no resource is created yet.

        :param context: context of this run only
        :param add_output: takes an output by the keyword ``complete`` or
            ``additive``, like that of Rally's scenarios
        """
        self._context = context
        self._add_output = add_output
        self.kept: KeptResult | None = None
        self._took_s: dict[str, float] = {}
        self._is_deleted = False

    def run(self) -> None:
        """Make the fleet, measure, report, keep, and delete in any case.

        :raises servers.FleetError: it could not be made, or a guest is not
            complete; what was found is reported and kept before
        """
        context = self._context
        try:
            result, consoles = self._measure()
            self._report(result, consoles)
            # Before anything is deleted, which may take long.
            self._keep(result)
        finally:
            try:
                with self._timer('delete'):
                    try:
                        context.access.delete()
                    finally:
                        # No cleanup of Rally knows one that was to be kept.
                        self._keep_or_delete_fleet()
                self._add_time_to_delete()
            finally:
                self._refer_to_kept()
        for output in disks.outputs(
            result, run_plan.disks_of_tiers(context.arguments.fleets)
        ):
            self._add_output(complete=output)
        _fail_unless_complete(result)

    def _keep_or_delete_fleet(self) -> None:
        """A fleet that is kept must be as good as new."""
        context, keep = self._context, self._context.arguments.keep
        limit_seconds = context.limits_seconds['volumes']
        context.resources.take_orders_back(limit_seconds)
        result = self.kept and self.kept.result
        is_sound = result is not None and all(
            guest.verdict == verdict.GuestVerdict.COMPLETE.value
            for guest in result.guests
        )
        if keep is None or keep.get('last') or not is_sound:
            self._delete_fleet()
            return
        before = context.kept_fleet
        on_devices = all(
            (guest.target or '').startswith('/dev/') for guest in result.guests
        )
        filled_mib = context.plan.chosen.method.region_mib
        if not context.fills:
            filled_mib = before.filled_mib if before else 0
        fleet = kept_fleets.KeptFleet(
            name=keep['name'],
            runs=result.run_of_fleet,
            asked=context.asked,
            # Of a file, the script cannot tell whether it was filled.
            filled_mib=filled_mib if on_devices else 0,
            orders_key=context.resources.orders_key,
            **context.resources.made_of(),
        )
        try:
            kept_fleets.write(context.folder, fleet)
        except OSError as error:
            # No run would find it, and no cleanup knows it.
            LOG.warning(
                'Fleet %s cannot be remembered, and is deleted: %s',
                fleet.name,
                error,
            )
            self._delete_fleet()
            return
        LOG.info(
            'Fleet %s is kept for another run: %s',
            keep['name'],
            kept_fleets.path_of(context.folder, keep['name']),
        )

    def _delete_fleet(self) -> None:
        """Delete the fleet; only the log reports remains of a kept one."""
        context, keep = self._context, self._context.arguments.keep
        is_any = any(context.resources.made_of().values())
        left = context.resources.delete(context.limits_seconds['volumes'])
        self._is_deleted = not left
        if keep is None:
            if left:
                LOG.warning('Left to the cleanup of Rally: %s', left)
        elif left:
            LOG.warning(
                'Part of the fleet %s was not deleted, and Rally will not '
                'clean it up: %s: %s',
                keep['name'],
                left,
                kept_fleets.how_to_delete(keep['name']),
            )
        elif is_any:
            kept_fleets.forget(context.folder, keep['name'])

    @contextlib.contextmanager
    def _timer(self, name: str) -> Iterator[None]:
        """Take the time of a part, for Rally and for the result."""
        began = self._context.clock()
        with atomic.ActionTimer(
            self._context.scenario, f'cinder_tiers.{name}'
        ):
            yield
        self._took_s[name] = round(self._context.clock() - began, 3)

    def _cost(self, collected: _Collected) -> run_result.Cost | None:
        """Return the duration so far; None if it was not measured.

        Also None if guests were kept: their duration does not apply to runs
        that create their own.
        """
        if 'measure' not in self._took_s or self._context.kept_fleet:
            return None
        gone_by_s = sum(self._took_s.values())

        def longest(part: str) -> float | None:
            found = [
                guest_facts.spent_seconds(console, part, gone_by_s)
                for console in collected.heard.values()
            ]
            return max(
                (each for each in found if each is not None), default=None
            )

        return run_result.Cost(
            fill_s=longest('fill'),
            rounds_s=longest('rounds'),
            turns_s=_turns_seconds(collected.outcomes),
            told=self._context.plan.expected,
            volumes_s=self._took_s['create_volumes'],
            boot_s=self._took_s['boot_guests'],
            prepare_s=self._took_s.get('prepare_guests'),
            measure_s=self._took_s['measure'],
        )

    def _measure(self) -> tuple[run_result.RunResult, dict[str, str]]:
        """Make the fleet and wait until all is said.

        :returns: what was found, {name: console} of guests that are not
            complete
        """
        context, plan = self._context, self._context.plan
        resources = context.resources
        with self._timer('create_volumes'):
            types_of_tiers = self._volumes()
        fleet_orders = self._orders()
        announcement.announce(fleet_orders)
        with self._timer('boot_guests'):
            guests = self._guests(fleet_orders)
        context.probe.look_before(guests, resources.measured())
        collected = self._collect(fleet_orders, guests)
        result = build.build_result(
            run=fleet_orders.run,
            ended_at=store.now(),
            environment={
                **store.environment(),
                'clone_or_flat': run_result.Fact(
                    value=plan.shape.clone_or_flat
                ),
            },
            profile=dataclasses.replace(
                plan.chosen, repeats=collected.slots.repeats
            ),
            plan=collected.slots,
            guests_per_tier=plan.guests_per_tier,
            images=resources.images(),
            outcomes=collected.outcomes,
            stopping=collected.stopping,
            preconditioning=plan.precondition,
            cost=self._cost(collected),
            run_of_fleet=(context.kept_fleet.runs if context.kept_fleet else 0)
            + 1,
            volume_types=types_of_tiers,
            measured_on=context.probe.look_after(),
            hosts={guest.name: guest.host for guest in guests},
            has_latency_windows=plan.latency_seconds is not None,
            task=context.task_title,
        )
        return result, collected.consoles

    def _volumes(self) -> dict[str, run_result.Fact]:
        """Make volumes, or take over a kept fleet: {tier: types it got}."""
        context = self._context
        if context.kept_fleet is not None:
            return context.resources.adopt(context.kept_fleet)
        return context.resources.create_volumes(
            start_volume_type=context.start_volume_type,
            timeout_seconds=context.limits_seconds['volumes'],
        )

    def _orders(self) -> orders.FleetOrders:
        context = self._context
        return dataclasses.replace(
            run_plan.orders_of(
                context.plan,
                context.limits_seconds,
                run=uuid.uuid4().hex[:16],
                start_serial=context.resources.start_volume,
                now=int(time.time()),
            ),
            fill=context.fills,
            # Those of a kept fleet do so already.
            keep=context.arguments.keep is not None
            and context.kept_fleet is None,
            orders_key=context.resources.orders_key,
            **context.access.delivery(
                guests=context.plan.guests,
                pause_seconds=context.arguments.listen_every_seconds,
            ),
        )

    def _guests(self, fleet_orders: orders.FleetOrders) -> list[servers.Guest]:
        """Boot guests, or give those that wait their orders."""
        context = self._context
        if context.kept_fleet is not None:
            return context.resources.order_again(
                fleet_orders,
                glance=context.scenario.clients('glance'),
                new_name=context.scenario.generate_random_name,
                volume_type=context.start_volume_type,
                timeout_seconds=context.limits_seconds['volumes'],
            )
        return context.resources.boot(
            fleet_orders,
            flavor_id=context.arguments.flavor,
            timeout_seconds=context.limits_seconds['boot'],
        )

    def _judged(
        self,
        collector: result_collector.ResultCollector,
        guests: Sequence[servers.Guest],
        slots: schedule.Schedule,
        *,
        is_last: bool = False,
    ) -> list[verdict.GuestOutcome]:
        """Return the outcomes of all guests in some turns.

        :param is_last: whether their results are not requested later
        """
        late_after_ms = self._context.arguments.late_after_ms
        resources = self._context.resources
        volumes = resources.measured()

        def judge(guest: servers.Guest) -> verdict.GuestOutcome:
            console = collector.console(guest)
            found = verdict.judge(
                console,
                guest=guest.name,
                tier=guest.tier,
                position=guest.position,
                plan=slots,
                late_after_ms=late_after_ms,
                volumes=volumes[guest.name],
            )
            if is_last:
                # A large fleet has all results in memory, but not twice.
                console.forget_results()
            return found

        return volume_types.reject_wrong_volume_types(
            common_clock.reject_wrong_clocks(
                [judge(guest) for guest in guests],
                collector.first_seen,
                late_after_ms=late_after_ms,
            ),
            dict(
                zip(
                    (each.name for each in guests),
                    resources.types_of_guests,
                    strict=True,
                )
            ),
            self._context.plan.shape.expected_types,
        )

    def _collect(
        self,
        fleet_orders: orders.FleetOrders,
        guests: Sequence[servers.Guest],
    ) -> _Collected:
        """Read guests until all is said, or enough."""
        collector = result_collector.ResultCollector(
            nova=self._context.nova,
            run=fleet_orders.run,
            guests=guests,
            pause_seconds=self._context.arguments.listen_every_seconds,
            transport=self._context.access.transport(guests),
            clock=self._context.clock,
            readers=self._context.access.readers,
            pace=self._context.access.pace,
            hear_event=progress.RunProgress(
                self._context.plan.slots, [guest.name for guest in guests]
            ).hear,
        )
        plan = self._context.plan
        watch = plan.stop and repeat_watch.RepeatWatch(
            plan.stop,
            plan.slots,
            plan.chosen,
            guests=guests,
            consoles=collector.consoles,
            judge=functools.partial(self._judged, collector, guests),
        )
        with contextlib.closing(collector):
            self._wait(collector, fleet_orders, watch)
        slots = plan.slots.up_to(watch.repeats) if watch else plan.slots
        outcomes = self._judged(collector, guests, slots, is_last=True)
        return _Collected(
            slots=slots,
            outcomes=outcomes,
            stopping=watch and watch.record(slots, outcomes),
            consoles={
                guest.name: collector.evidence(guest)
                for guest, outcome in zip(guests, outcomes, strict=True)
                if outcome.verdict is not verdict.GuestVerdict.COMPLETE
            },
            heard=collector.consoles,
        )

    def _wait(
        self,
        collector: result_collector.ResultCollector,
        fleet_orders: orders.FleetOrders,
        watch: repeat_watch.RepeatWatch | None,
    ) -> None:
        """Read until the end; without a clock, first until a guest leads."""
        limits = self._context.limits_seconds
        if fleet_orders.clock is None:
            with self._timer('prepare_guests'):
                leads = collector.wait_for_leader(
                    limits['ready'] + limits['prepare']
                )
            if not leads:
                LOG.warning('No guest gave a start; not waiting for figures')
                return
            start_seconds = fleet_orders.start_seconds
        else:
            start_seconds = max(0, fleet_orders.clock.at - time.time())
        with self._timer('measure'):
            collector.collect(
                start_seconds
                + fleet_orders.schedule.seconds
                + fleet_orders.copy_seconds
                + limits['end'],
                **({'is_enough': watch.is_enough} if watch else {}),
            )

    def _report(
        self, result: run_result.RunResult, consoles: Mapping[str, str]
    ) -> None:
        for output in tables.complete_outputs(result):
            self._add_output(complete=output)
        additive = tables.additive_output(result)
        if additive is not None:
            self._add_output(additive=additive)
        if consoles:
            self._add_output(complete=fleet_report.console_output(consoles))
        for guest, text in list(consoles.items())[:_MOST_CONSOLES]:
            LOG.warning(
                'Guest %s is not complete; its console ends:\n%s',
                guest,
                '\n'.join(fleet_report.last_lines(text)),
            )
        self._add_output(
            complete=fleet_report.output(self._context.plan.shape, result)
        )

    def _keep(self, result: run_result.RunResult) -> None:
        path = store.write(self._context.folder, result)
        self.kept = KeptResult(result=result, path=path)
        LOG.info('The result is in %s', path)

    def _refer_to_kept(self) -> None:
        """Name the result file, once nothing more is written to it."""
        if self.kept is not None:
            self._add_output(
                complete=reference.output(self.kept.path, self.kept.result.run)
            )
            for text in answers.of_run(self.kept.result):
                LOG.info('%s', text)
            LOG.info(
                'To show its figures: openstack tier result %s', self.kept.path
            )

    def _add_time_to_delete(self) -> None:
        """Write the result again, with what came after it was written.

        Of a fleet that is there still, the time says nothing.
        """
        if self.kept is None or self.kept.result.cost is None:
            return
        if self._is_deleted:
            result = dataclasses.replace(
                self.kept.result,
                cost=dataclasses.replace(
                    self.kept.result.cost, delete_s=self._took_s['delete']
                ),
            )
            self.kept = KeptResult(
                result=result, path=store.write(self._context.folder, result)
            )
        self._add_output(
            complete=fleet_report.cost_output(self.kept.result.cost)
        )


def _turns_seconds(
    outcomes: Sequence[verdict.GuestOutcome],
) -> float | None:
    """Return the seconds from the first turn to the last one's end."""
    measured = [
        found.measured
        for outcome in outcomes
        for found in outcome.slots
        if found.measured is not None
    ]
    if not measured:
        return None
    return (
        max(each.ended_ms for each in measured)
        - min(each.planned_ms for each in measured)
    ) / 1000


def _fail_unless_complete(result: run_result.RunResult) -> None:
    bad = [
        f'{guest.guest} ({guest.tier}): {guest.verdict}:'
        f' {"; ".join(guest.reasons)}'
        for guest in result.guests
        if guest.verdict != 'complete'
    ]
    if bad:
        more = len(bad) - _MOST_NAMED
        raise servers.FleetError(
            f'{len(bad)} of {len(result.guests)} guests are not complete: '
            + ' | '.join(bad[:_MOST_NAMED])
            + (f' | and {more} more, see the result file' if more > 0 else '')
        )
