# SPDX-License-Identifier: Apache-2.0
"""Plan from a task's arguments: patterns, slots, orders, time.

All of it is known before anything is created, so the validator has Rally
refuse a task that cannot be executed.
"""

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from dataclasses import dataclass
import secrets
from typing import Any

from oslo_log import log as logging
from rally.common import validation

from cinder_tiers.figures.fio import pattern as fio_pattern
from cinder_tiers.figures.fleet import disk_estimate
from cinder_tiers.figures.fleet import duration
from cinder_tiers.figures.fleet import precondition as rounds_before
from cinder_tiers.figures.fleet import schedule
from cinder_tiers.figures.profile import profile as named_profile
from cinder_tiers.figures.result import cost as result_cost
from cinder_tiers.figures.result import trust
from cinder_tiers.figures.stats import stopping
from rally_scenarios.guest import orders
from rally_scenarios.plugins.fleet import arguments as fleet_arguments
from rally_scenarios.plugins.fleet import kept
from rally_scenarios.plugins.fleet import shape as fleet_shape
from rally_scenarios.plugins import profiles
from rally_scenarios.plugins.results import store
from rally_scenarios.plugins import task_validator
from rally_scenarios.plugins.transport import access

LOG = logging.getLogger(__name__)

GUESTS_PER_TIER = 3
# Of the SNIA's specification: minutes, and 25 of them at most.
ROUND_SECONDS = 60
MOST_ROUNDS = 25


@dataclass(frozen=True, kw_only=True)
class FleetPlan:
    """A run as it will be."""

    #: what is measured, and how
    chosen: named_profile.NamedProfile
    #: when
    slots: schedule.Schedule
    #: how many guests each tier has
    guests_per_tier: int
    #: how many all tiers have
    guests: int
    #: how long it will take
    expected: duration.Duration
    #: the same by rates that are assumed
    assumed: duration.Duration
    #: how the fleet is made
    shape: fleet_shape.GuestShape
    #: when repeats are enough; None: their number is fixed
    stop: stopping.StoppingRule | None = None
    #: what guests write before the first turn; None: only their regions
    precondition: rounds_before.Precondition | None = None
    #: of each so many seconds latencies are kept by themselves; 0: of none
    latency_seconds: int | None = None

    def describe(self) -> str:
        """Describe the run and its expected duration in one line."""
        parts = self.expected
        repeats, saved = '', 0
        order = (
            'of all tiers side by side'
            if self.slots.side_by_side
            else 'one after another'
        )
        if self.stop is not None:
            few = self.slots.up_to(self.stop.looks[0])
            saved += self.slots.seconds - few.seconds
            repeats = (
                f' in {self.stop.looks[0]} to {self.stop.most_repeats} repeats'
            )
        if self.precondition is not None and not parts.after:
            saved += parts.precondition - self.precondition.least_seconds
        least = (
            f'{duration.in_words(parts.seconds - saved)} to ' if saved else ''
        )
        return (
            f'{self.guests} guests, {len(self.slots.slots)} runs of fio'
            f' {order}{repeats}; expected to take about {least}'
            f'{duration.in_words(parts.seconds)}: volumes {parts.volumes} s,'
            f' boot {parts.boot} s,'
            f' prepare {parts.first_sign + parts.prepare} s,'
            + (
                f' precondition at most {parts.precondition} s,'
                if parts.precondition
                else ''
            )
            + (f' wait {parts.wait} s for the start,' if parts.after else '')
            + f' measure {parts.measure} s, delete {parts.delete} s'
            + f' ({result_cost.source(parts)})'
        )

    def cannot_say(self) -> str:
        """Describe in a line what its result cannot show; empty if nothing."""
        return trust.before_run(
            self.chosen.method.runtime_seconds,
            self.stop.looks[0] if self.stop else self.chosen.repeats,
        )


def _guests_per_tier(given: int | None, guest_steps: Sequence[int]) -> int:
    """The size of each tier's fleet.

    :raises ValueError: it is not that of the last step
    """
    if not guest_steps:
        return given or GUESTS_PER_TIER
    if given not in (None, guest_steps[-1]):
        raise ValueError(
            f'guests_per_tier {given} with guest_steps {list(guest_steps)}:'
            f' expected {guest_steps[-1]}, the last step, or leave'
            f' guests_per_tier out'
        )
    return guest_steps[-1]


def with_seed(
    arguments: fleet_arguments.FleetArguments,
) -> fleet_arguments.FleetArguments:
    """The arguments of one run, with a seed drawn where none is given."""
    if arguments.turn_order != 'random' or arguments.seed is not None:
        return arguments
    return dataclasses.replace(arguments, seed=secrets.randbits(32))


def _seed(arguments: fleet_arguments.FleetArguments) -> int | None:
    """The seed of the order; None: the order is as listed.

    :raises ValueError: there is one, and no random order
    """
    if arguments.turn_order == 'random':
        # Of a plan that is only looked at, any order takes as long.
        return arguments.seed or 0
    if arguments.seed is not None:
        raise ValueError(
            f'seed {arguments.seed} with the turn_order'
            f' {arguments.turn_order!r}:'
            f" expected turn_order 'random', or leave seed out"
        )
    return None


def _stop_rule(
    arguments: fleet_arguments.FleetArguments,
) -> stopping.StoppingRule | None:
    """Return the rule that ends the repeats, or None.

    :raises ValueError: the rule is invalid, or the number of repeats is given
        too
    """
    if arguments.stop_when is None:
        return None
    rule = stopping.StoppingRule(**arguments.stop_when)
    if arguments.repeats is not None:
        raise ValueError(
            f'repeats {arguments.repeats} with stop_when, which has'
            f' most_repeats {rule.most_repeats}: expected only one of them'
        )
    return rule


def planned(arguments: fleet_arguments.FleetArguments) -> FleetPlan:
    """Plan the run that a task's arguments request.

    :raises cinder_tiers.domain.errors.ProblemsFound: the patterns are not
        available, see ``profiles.chosen``
    :raises ValueError: the values do not fit each other
    """
    kept.check(arguments)
    stop = _stop_rule(arguments)
    if stop is not None:
        arguments = dataclasses.replace(arguments, repeats=stop.most_repeats)
    chosen = profiles.chosen(
        **{name: getattr(arguments, name) for name in profiles.ARGUMENTS}
    )
    guest_steps = arguments.guest_steps or ()
    if guest_steps and arguments.load_steps:
        raise ValueError(
            f'guest_steps {list(guest_steps)} with load_steps'
            f' {list(arguments.load_steps)}: expected only one of them; a'
            f' load curve has one axis'
        )
    guests_per_tier = _guests_per_tier(arguments.guests_per_tier, guest_steps)
    tier_mib_per_second = (
        arguments.tier_mib_per_second or schedule.TIER_MIB_PER_SECOND
    )
    tiers = [fleet['tier'] for fleet in arguments.fleets]
    shape = _shape(arguments, chosen)
    gap_seconds = arguments.gap_seconds or schedule.GAP_SECONDS
    slots = schedule.plan(
        tiers,
        chosen.patterns,
        chosen.method,
        chosen.repeats,
        guest_steps,
        guests_per_tier,
        tier_mib_per_second,
        gap_seconds,
        _seed(arguments),
        shape.measured_per_guest,
        side_by_side=arguments.side_by_side,
    )
    _check_gap(gap_seconds, slots)
    for tier in tiers:
        found = len(slots.of_tier(tier))
        if found > named_profile.MAX_SLOTS:
            raise ValueError(
                f'tier {tier!r}: {found} runs of a guest, expected at most'
                f' {named_profile.MAX_SLOTS}: ask for fewer patterns, repeats'
                f' or guest_steps'
            )
    guests = guests_per_tier * len(tiers)
    rounds = _precondition(arguments, chosen.method)
    _check_time_for_rounds(shape.after_seconds, rounds)
    if rounds and shape.measured_per_guest > 1:
        raise ValueError(
            f'precondition with volume: per_guest'
            f' {shape.measured_per_guest}: expected only one of them; what is'
            f' written before is steady or not on one volume'
        )
    rates = _rates(arguments, shape)
    expected, assumed = (
        duration.estimate(
            slots,
            chosen.method,
            guests=guests,
            by_clock=shape.by_clock,
            after_seconds=shape.after_seconds,
            fill=shape.fill,
            volumes_per_guest=shape.volumes_per_guest,
            measured_per_guest=shape.measured_per_guest,
            tier_mib_per_second=tier_mib_per_second,
            precondition_seconds=rounds.seconds if rounds else 0,
            rates=each,
        )
        for each in (rates, duration.ASSUMED)
    )
    return FleetPlan(
        chosen=chosen,
        slots=slots,
        guests_per_tier=guests_per_tier,
        guests=guests,
        shape=shape,
        stop=stop,
        precondition=rounds,
        expected=expected,
        assumed=assumed,
        latency_seconds=arguments.latency_seconds,
    )


def _check_gap(gap_seconds: int, slots: schedule.Schedule) -> None:
    """Check that guests launch fio while no others are measured.

    :raises ValueError: the gap is too short
    """
    if gap_seconds < schedule.LAUNCH_SECONDS and len(slots.slots) > 1:
        raise ValueError(
            f'gap_seconds {gap_seconds}: expected at least'
            f' {schedule.LAUNCH_SECONDS}, since guests launch fio so long'
            f' before its time, while the run before may still be measured'
        )


def _rates(
    arguments: fleet_arguments.FleetArguments, shape: fleet_shape.GuestShape
) -> duration.Rates:
    """Return the speed of the cloud, from the run that the task names.

    :raises ValueError: its result cannot be read, or lacks the figures
    """
    if arguments.cost_from is None:
        return duration.ASSUMED
    try:
        return result_cost.rates(
            store.read(arguments.cost_from), by_clock=shape.by_clock
        )
    except ValueError as error:
        raise ValueError(
            f'cost_from {arguments.cost_from!r}: {error}'
        ) from error


def _precondition(
    arguments: fleet_arguments.FleetArguments,
    profile: fio_pattern.Profile,
) -> rounds_before.Precondition | None:
    """Return the writes of guests before the first turn.

    :raises ValueError: the rounds are invalid, or their blocks do not fit the
        region
    """
    given = arguments.precondition
    if given is None:
        return None
    found = rounds_before.Precondition(
        pattern=fio_pattern.Pattern(
            name='precondition',
            rw=given.get('rw', 'randwrite'),
            bs=given.get('bs', '4k'),
            iodepth=given.get('iodepth', 16),
        ),
        round_seconds=given.get('round_seconds', ROUND_SECONDS),
        most_rounds=given.get('most_rounds', MOST_ROUNDS),
    )
    named_profile.check_engine(found.pattern, profile)
    fio_pattern.round_argv(found.pattern, profile, seconds=1)
    return found


def _check_time_for_rounds(
    after_seconds: int | None, rounds: rounds_before.Precondition | None
) -> None:
    """Check that rounds can end before a start by clock.

    :raises ValueError: the fewest that can be steady take longer
    """
    if None in (after_seconds, rounds) or (
        after_seconds > rounds.least_seconds
    ):
        return
    raise ValueError(
        f'start: after_seconds {after_seconds} with precondition, of which'
        f' the fewest rounds take {rounds.least_seconds} s and all of them'
        f' {rounds.seconds} s: expected more, and the time to boot and to'
        f' fill on top; without after_seconds the time follows from them'
    )


def _shape(
    arguments: fleet_arguments.FleetArguments,
    chosen: named_profile.NamedProfile,
) -> fleet_shape.GuestShape:
    """The shape of the fleet.

    :raises ValueError: the values do not fit each other
    """
    shape = fleet_shape.from_arguments(
        arguments.fleets,
        start=arguments.start,
        volume=arguments.volume,
        volume_size_gib=arguments.volume_size_gib,
        spread=arguments.spread,
        zones=arguments.zones,
    )
    if shape.by_clock and arguments.start_volume_type:
        raise ValueError(
            f'start_volume_type {arguments.start_volume_type!r} with a'
            f' start by clock, which needs no start volume: expected only one'
            f' of them'
        )
    several = [each for each in chosen.patterns if each.numjobs > 1]
    if shape.measured_per_guest > 1 and several:
        raise ValueError(
            f'volume: per_guest {shape.measured_per_guest} with pattern'
            f' {several[0].name!r}, which has numjobs {several[0].numjobs}:'
            f' expected only one of them; each volume has a job of its own'
        )
    region_mib = chosen.method.region_mib
    kind, gib = (
        ('data', shape.data_gib)
        if shape.has_data
        else ('boot', shape.boot_gib)
    )
    if region_mib > gib * 1024:
        raise ValueError(
            f'region_mib {region_mib} on {kind} volumes of {gib} GiB:'
            f' expected at most {gib * 1024}'
            + ('' if shape.has_data else ', less what the image takes')
        )
    return shape


def disks_of_tiers(
    fleets: Sequence[Mapping],
) -> dict[str, disk_estimate.Disks]:
    """{tier: its disks}, of the tiers whose disks the task gives.

    :param fleets: the argument of the scenario
    :raises ValueError: numbers that no disks have
    """
    return {
        fleet['tier']: disk_estimate.Disks(**fleet['disks'])
        for fleet in fleets
        if fleet.get('disks')
    }


def limits_seconds(
    plan: FleetPlan, given: Mapping[str, int] | None
) -> dict[str, int]:
    """Return the time limit of each part of the run, in seconds.

    :param given: the argument timeouts_seconds, which takes precedence
    """
    return {
        **duration.time_limits_seconds(plan.expected, plan.assumed),
        **(given or {}),
    }


def orders_of(
    plan: FleetPlan,
    limits: Mapping[str, int],
    *,
    run: str,
    start_serial: str,
    now: int,
) -> orders.FleetOrders:
    """Return the orders that all guests of a run get.

    :param limits: result of ``limits_seconds``
    :param run: nonce of the run
    :param start_serial: id of the start volume; not used with a start by clock
    :param now: wall time in seconds, from which a start by clock is counted
    :raises ValueError: the nonce is invalid
    """
    after = plan.expected.after
    first = plan.slots.slots[0]
    launching = first.guests or plan.guests_per_tier
    if plan.slots.side_by_side:
        launching *= len({slot.tier for slot in plan.slots.slots})
    return orders.FleetOrders(
        run=run,
        guests=plan.guests,
        schedule=plan.slots,
        profile=plan.chosen.method,
        fill=plan.shape.fill,
        precondition=plan.precondition,
        volumes=plan.shape.measured_per_guest,
        start_serial=start_serial if after is None else '',
        clock=None
        if after is None
        else orders.ClockStart(at=now + after, ordered_at=now),
        prep_seconds=limits['prepare'],
        ready_seconds=limits['ready'],
        lead_seconds=orders.lead_seconds(launching),
        latency_seconds=plan.latency_seconds,
    )


def check_orders(
    plan: FleetPlan,
    *,
    keep: bool = False,
    transport: Mapping[str, Any] | None = None,
) -> None:
    """Check that every guest can receive its orders and send its results.

    :param keep: whether guests wait for the orders of further runs
    :param transport: the argument of the scenario
    :raises ValueError: the user data of a tier's guests or a result would be
        too long, or guests that are to be kept start by clock
    """
    fleet_orders = dataclasses.replace(
        orders_of(
            plan,
            limits_seconds(plan, None),
            run='0' * 16,
            start_serial='0' * 36,
            # As long as today's.
            now=10**9,
        ),
        keep=keep,
        orders_key='0' * 64 if keep else '',
        **access.copies(transport),
    )
    for tier in dict.fromkeys(slot.tier for slot in plan.slots.slots):
        # The first guest of a tier has all of its slots; its number may be
        # as long as that of the last.
        orders.script(
            fleet_orders,
            number=plan.guests - 1,
            tier=tier,
            data_serials=('0' * 36,) * plan.shape.measured_per_guest
            if plan.shape.has_data
            else (),
            environment=orders.GuestEnvironment(),
        )


@validation.configure(name='cinder_tiers_plan')
class PlanValidator(task_validator.ArgumentsValidator):
    """Refuses a task whose schedule or orders cannot be made."""

    def check(self, workload: Mapping[str, Any], plugin_cfg: object) -> None:
        """Look at the arguments of the scenario.

        :param workload: configuration of the workload
        :param plugin_cfg: not used
        :raises Exception: one of ``WRONG``
        """
        arguments = fleet_arguments.FleetArguments(
            **(workload.get('args') or {})
        )
        access.check(arguments.transport)
        plan = planned(arguments)
        check_orders(
            plan,
            keep=arguments.keep is not None,
            transport=arguments.transport,
        )
        disks_of_tiers(arguments.fleets)
        cannot_say = plan.cannot_say()
        if cannot_say:
            LOG.warning('%s', cannot_say)
