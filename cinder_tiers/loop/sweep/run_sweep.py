# SPDX-License-Identifier: Apache-2.0

"""Carries out a sweep: slot by slot, each from the default and back to it.

Whoever calls this has written down what is to be brought back before, and
brings it back afterwards, whatever becomes of the slots. Must not know Cinder
or Ceph, nor what is measured.
"""

import collections.abc
import datetime
import time
import typing

from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.execute import apply
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import kept as keeping
from cinder_tiers.loop.sweep import preparation
from cinder_tiers.loop.sweep import record
from cinder_tiers.loop.sweep import run_restore

_LOOK_EVERY_S = 0.5


class World(typing.Protocol):
    """World in which a sweep takes place."""

    @property
    def executors(
        self,
    ) -> collections.abc.Mapping[actions.Kind, apply.Executor]:
        """Executors of all kinds of objects."""

    def observe(self) -> actual_state.ActualState:
        """Read the state for plans, with the options of all treatments."""

    def read(self, key: actions.Key) -> actions.Resource | None:
        """An object as it is in effect; None when it does not exist."""

    def now(self, key: actions.Key) -> keeping.Fields | None:
        """The values of an object word for word; None: there is none."""


#: Measures one slot, while its treatment is in effect.
Measure = collections.abc.Callable[
    [design.TreatmentSlot, design.Treatment], record.MeasuredSlot
]


def run(
    prepared: preparation.Prepared,
    *,
    world: World,
    measure: Measure,
    report: collections.abc.Callable[[record.SlotRecord], None],
    is_to_stop: collections.abc.Callable[[], bool] = lambda: False,
    settle_s: float = 0.0,
) -> None:
    """Measures all slots, in their order.

    :param report: is called with each slot as soon as it is over.
    :param is_to_stop: is asked before each slot; those after a yes are not
        measured.
    :param settle_s: seconds that a write may take to be in effect.
    :raises errors.TiersError: a service does not answer, or another user
        changes the tier; the slots that are left are not measured.
    """
    treatments = {one.name: one for one in prepared.sweep.all_treatments}
    for slot in prepared.sweep.slots:
        if is_to_stop():
            return
        report(
            _slot(
                prepared,
                slot,
                treatments[slot.treatment],
                world=world,
                measure=measure,
                settle_s=settle_s,
            )
        )
        bring_back(prepared.kept, world=world, settle_s=settle_s)


def bring_back(
    kept: tuple[keeping.Kept, ...], *, world: World, settle_s: float
) -> None:
    """Brings the default back between two slots.

    :raises errors.ActionFailed: some of it is not back.
    """
    found = run_restore.restore(
        kept,
        executors=world.executors,
        read=world.read,
        now=world.now,
        settle_s=settle_s,
    )
    amiss = [
        f'{one.name} is {one.found}, which another user has set'
        if one.outcome is run_restore.RestoreOutcome.LEFT
        else f'{one.name}: {one.reason}'
        for one in found
        if not one.is_back
    ]
    if amiss:
        raise errors.ActionFailed(
            'The sweep was stopped because the default was not restored:',
            *amiss,
        )


def _slot(
    prepared: preparation.Prepared,
    slot: design.TreatmentSlot,
    treatment: design.Treatment,
    *,
    world: World,
    measure: Measure,
    settle_s: float,
) -> record.SlotRecord:
    started = _now()
    actual = _default(prepared, world, settle_s)
    wanted = prepared.catalogs[treatment.name]
    plan = plans.make(catalog=wanted, actual=actual)
    _check_same(prepared, treatment, plan)
    failed = [
        f'{one.action.key}: {one.reason}'
        for one in apply.apply(
            plan=plan,
            executors=world.executors,
            read=world.read,
            report=lambda result: None,
            settle_s=settle_s,
        )
        if one.outcome is not actions.Outcome.DONE
    ]
    if failed:
        return record.SlotRecord(
            slot=slot,
            verdict=record.TreatmentVerdict.NOT_IN_EFFECT,
            reason='; '.join(failed),
            started=started,
            ended=_now(),
        )
    measured = measure(slot, treatment)
    actual = world.observe()
    changed = preparation.differing(plans.make(catalog=wanted, actual=actual))
    if not plan.actions:
        changed = preparation.not_default(prepared, actual)
    wrong = [
        f'{one.name}: {one.problem}' for one in measured.faults if one.problem
    ]
    verdict = record.TreatmentVerdict.IN_EFFECT
    if wrong:
        verdict = record.TreatmentVerdict.FAULT_NOT_MADE
    if changed:
        verdict = record.TreatmentVerdict.CHANGED
    return record.SlotRecord(
        slot=slot,
        verdict=verdict,
        reason='; '.join([*changed, *wrong]),
        measured=measured,
        started=started,
        ended=_now(),
    )


def _default(
    prepared: preparation.Prepared, world: World, settle_s: float
) -> actual_state.ActualState:
    """The world when the default is in effect.

    :raises errors.ActionFailed: it is not, even after some time.
    """
    end = time.monotonic() + settle_s
    while True:
        actual = world.observe()
        amiss = preparation.not_default(prepared, actual)
        if not amiss:
            return actual
        if time.monotonic() >= end:
            raise errors.ActionFailed(
                'The sweep was stopped because the default is not in '
                'effect, so nothing can be compared with it:',
                *amiss,
            )
        time.sleep(_LOOK_EVERY_S)


def _check_same(
    prepared: preparation.Prepared,
    treatment: design.Treatment,
    plan: plans.Plan,
) -> None:
    """Check that the plan of a treatment is still the prepared one.

    The values to restore are those that the prepared plan changes.

    :raises errors.ActionFailed: the plan differs now.
    """
    if plan != prepared.plans[treatment.name] and [
        (one.key, one.after, one.refusal) for one in plan.actions
    ] != [
        (one.key, one.after, one.refusal)
        for one in prepared.plans[treatment.name].actions
    ]:
        raise errors.ActionFailed(
            'The sweep was stopped because the treatment '
            f'{treatment.name} would change something other than when the '
            'sweep began: ' + '; '.join(preparation.differing(plan))
        )


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime('%Y-%m-%dT%H:%M:%SZ')
