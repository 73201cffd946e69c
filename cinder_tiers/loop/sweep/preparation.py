# SPDX-License-Identifier: Apache-2.0

"""Preparation of a sweep: all of it is known before the first change.

Pure. Must not know how the world is read, nor how it is changed.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.loop.fault import fault as faults
from cinder_tiers.loop.sweep import design
from cinder_tiers.loop.sweep import kept as keeping
from cinder_tiers.loop.sweep import memory

#: {device class with its cluster: {option: value in effect}}
Effective = collections.abc.Mapping[
    actions.Key, collections.abc.Mapping[str, str]
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prepared:
    """A sweep, and what each treatment changes."""

    sweep: design.Sweep
    #: {treatment: the catalog that it is}, that of the default among them.
    catalogs: collections.abc.Mapping[str, catalogs.Catalog]
    #: {treatment: what makes the world match its catalog}.
    plans: collections.abc.Mapping[str, plans.Plan]
    #: What is brought back afterwards.
    kept: tuple[keeping.Kept, ...]
    #: Of OSDs, what is in effect by default.
    effective: Effective
    #: What is struck by faults in each slot; None: there are none.
    struck: faults.Struck | None = None
    #: A line for each; no reason to refuse the sweep.
    warnings: tuple[str, ...] = ()

    def tiers_affected(self, treatment: str) -> tuple[str, ...]:
        """Other tiers that a treatment changes, for they share its OSDs."""
        wanted = self.catalogs[treatment]
        tier = wanted.tier(self.sweep.tier)
        return tuple(
            other.name
            for action in self.plans[treatment].actions
            if action.key.kind is actions.Kind.OSD_OPTIONS and tier is not None
            for other in wanted.tiers_of(action.key.cluster or '')
            if other.name != tier.name
            and other.rbd is not None
            and other.rbd.device_class in (None, action.key.name)
        )


def prepare(
    sweep: design.Sweep,
    wanted: collections.abc.Mapping[str, catalogs.Catalog],
    actual: actual_state.ActualState,
    now: keeping.Now,
    memory_of: memory.Reader,
) -> Prepared:
    """Plans each treatment from the tier as its file declares it.

    :param wanted: {treatment: catalog}, that of the default among them.
    :param actual: observed with all options of all treatments.
    :param now: gives the values of an object word for word.
    :param memory_of: gives OSDs with the memory of their hosts.
    :raises errors.ProblemsFound: with all that a cluster cannot do of it.
    :raises errors.ActionFailed: the world is not as the tiers file declares
        it, so there is no default to measure, nor to come back to.
    :raises errors.Refused: with all that a sweep refuses to do.
    """
    _check_default(wanted[design.DEFAULT], actual)
    planned: dict[str, plans.Plan] = {}
    problems: dict[errors.Problem, None] = {}
    objections: list[str] = []
    for name, catalog in wanted.items():
        try:
            planned[name] = plans.make(catalog=catalog, actual=actual)
        except errors.ProblemsFound as error:
            problems.update(dict.fromkeys(error.problems))
        else:
            objections.extend(keeping.objections(name, planned[name]))
    if problems:
        raise errors.ProblemsFound(problems)
    judged = memory.judge(
        planned,
        actual.ceph,
        memory_of,
        where=lambda name: wanted[name].source.where(
            ('tiers', sweep.tier, 'rbd', 'osd_options', memory.TARGET)
        ),
    )
    objections.extend(judged.objections)
    if objections:
        raise errors.Refused(
            'Nothing was changed because the sweep has refused treatments:',
            *objections,
        )
    kept = keeping.of_plans(
        planned.values(),
        now,
        {name: one.option_schemas for name, one in actual.ceph.items()},
    )
    return Prepared(
        sweep=sweep,
        catalogs=wanted,
        plans=planned,
        kept=kept,
        effective=effective_of(kept, actual),
        warnings=judged.warnings,
    )


def _check_default(
    catalog: catalogs.Catalog, actual: actual_state.ActualState
) -> None:
    made = plans.make(catalog=catalog, actual=actual)
    if made.actions:
        raise errors.ActionFailed(
            'Nothing was changed because the cloud is not as the tiers file '
            'declares it, so there is no default to compare with:',
            *(f'{one.verb} {one.key}' for one in made.actions),
            'Run "openstack tier apply" first.',
        )


def effective_of(
    kept: collections.abc.Iterable[keeping.Kept],
    actual: actual_state.ActualState,
) -> dict[actions.Key, dict[str, str]]:
    """Return the values in effect of the OSD options that a sweep changes."""
    found: dict[actions.Key, dict[str, str]] = {}
    for one in kept:
        if one.key.kind is not actions.Kind.OSD_OPTIONS:
            continue
        values = (
            actual.ceph[one.key.cluster or '']
            .class_options[one.key.name]
            .values
        )
        found[one.key] = {
            name: str(values.get(name))
            for name in (
                setting.field.removeprefix('values.')
                for setting in one.settings
            )
        }
    return found


def not_default(
    prepared: Prepared, actual: actual_state.ActualState
) -> tuple[str, ...]:
    """List the differences between the world and the default, as clauses."""
    made = plans.make(catalog=prepared.catalogs[design.DEFAULT], actual=actual)
    return (
        *differing(made),
        *(
            f'{key}: {name} in effect is {now[name]}, not {value}'
            for key, now in effective_of(prepared.kept, actual).items()
            for name, value in prepared.effective[key].items()
            if now[name] != value
        ),
    )


def differing(plan: plans.Plan) -> tuple[str, ...]:
    """List the changes of a plan, a clause for each value."""
    return tuple(
        f'{action.key}: {one.field} is {one.before}, not {one.after}'
        for action in plan.actions
        for one in action.changes
    ) + tuple(
        f'{action.key} is to be {action.verb}d'
        for action in plan.actions
        if action.before is None or action.after is None
    )
