# SPDX-License-Identifier: Apache-2.0

"""Consent by name: an operator may allow what a plan refuses.

A consent names one object of the plan. It covers the planned change of that
object and nothing else, except for the rest of an interrupted change of that
object (`Action.continues`). With fields after a colon, as in `pool
tier-database (ceph):size`, it is valid only while no other field of the object
changes. For an object that is created or deleted, that verb takes the place of
the fields. Pure. Must not know where names come from.
"""

import collections.abc
import dataclasses
import shlex

from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import difference
from cinder_tiers.domain.state import glance as glance_state

_Actions = collections.abc.Mapping[actions.Key, actions.Action]


def grant(
    plan: plans.Plan, names: collections.abc.Iterable[str]
) -> plans.Plan:
    """Allow the refused actions that are named.

    An unknown name is not an error if no refused action could be named any
    more: after an interrupted apply, the same names finish it.

    :param names: refused objects, as `str(Key)`, or without the part in
        parentheses if only one refused object has that kind and name; each may
        be followed by a colon and fields, separated by commas.
    :returns: the plan; the named actions are no longer refused, and marked so.
    :raises errors.ProblemsFound: for each name that fits no refused object,
        several of them, or one that consent cannot allow.
    """
    refused = {action.key: action for action in plan.refused}
    refusals = _refusals(plan)
    unclear: list[errors.Problem] = []
    unknown: list[str] = []
    granted: set[actions.Key] = set()
    names = tuple(dict.fromkeys(names))
    for name in names:
        found, fields = _named(refused, name, names)
        if not found:
            unknown.append(name)
        elif len(found) > 1 or not refusals[found[0]].yields_to_consent:
            unclear.append(_unclear(name, found, refusals[found[0]]))
        elif beyond := _beyond(refused[found[0]], fields):
            unclear.append(_too_narrow(name, refused[found[0]], beyond))
        else:
            granted.update(found)
    left = [
        str(key)
        for key, refusal in refusals.items()
        if refusal.yields_to_consent and key not in granted
    ]
    unclear.extend(
        _unknown(name, left)
        for name in unknown
        if left or not _is_of_a_kind(name)
    )
    if unclear:
        raise errors.ProblemsFound(unclear)
    return _granted(plan, granted)


def _refusals(plan: plans.Plan) -> dict[actions.Key, actions.Refusal]:
    return {
        action.key: action.refusal for action in plan.actions if action.refusal
    }


def repeat(
    plan: plans.Plan, names: collections.abc.Collection[str]
) -> plans.Plan:
    """Give the consents of an earlier plan.

    :param names: result of `names_of`. Names without a refused action are
        ignored: the plan has then changed, which `check_same` reports.
    """
    return _granted(
        plan,
        {
            key
            for key, refusal in _refusals(plan).items()
            if str(key) in names and refusal.yields_to_consent
        },
    )


def names_of(plan: plans.Plan) -> tuple[str, ...]:
    """Return the names of all objects to which consent was given."""
    return tuple(
        str(action.key) for action in plan.actions if action.consented
    )


def not_needed(
    plan: plans.Plan,
    names: collections.abc.Iterable[str],
) -> tuple[str, ...]:
    """Return the granted names that changed nothing.

    :param plan: result of `grant`.
    :param names: names that were given to `grant`.
    """
    allowed = {
        action.key: action for action in plan.actions if action.consented
    }
    return tuple(
        name for name in dict.fromkeys(names) if not _named(allowed, name)[0]
    )


def changed_since_plan(
    action: actions.Action,
    current: actions.Resource | None,
) -> tuple[difference.Difference, ...]:
    """Return the fields that are neither as planned from nor as declared.

    A consent covers what a plan shows, but no later change. A change that an
    interrupted apply left half done does not count.

    :param action: action with consent, or one that updates a type or its
        encryption.
    :param current: current state of the object; None if it does not exist.
    :returns: differences: `before` is the current value, `after` that in the
        plan.
    """
    if current is None:
        return ()
    if action.before is None:
        # Created after the plan, which does not show it. An encryption has no
        # marker; one that an interrupted apply set has the declared value.
        is_foreign = (
            isinstance(current, cinder_state.TypeEncryption)
            or (
                isinstance(current, cinder_state.VolumeType)
                and not current.is_ours
            )
            or (
                isinstance(current, cinder_state.ProjectDefaults)
                and isinstance(action.after, cinder_state.ProjectDefaults)
                and not current.default_for <= action.after.default_for
            )
            or (
                isinstance(current, glance_state.TagNamespace)
                and not current.is_ours
            )
            or (isinstance(current, ceph_state.Pool) and not current.managed)
        )
        return (
            difference.differences(current, action.after)
            if is_foreign and action.after
            else ()
        )
    old, now = (difference.fields_of(one) for one in (action.before, current))
    new = {} if action.after is None else difference.fields_of(action.after)
    changed = (
        {one.field for one in difference.differences(current, action.after)}
        if action.after
        else now.keys()
    )
    return tuple(
        difference.Difference(
            field=name, before=now.get(name), after=old.get(name)
        )
        for name in sorted(changed)
        # For OSDs, only the configured values are read again.
        if not (isinstance(current, ceph_state.OsdOptions) and name not in now)
        if not _between(now.get(name), old.get(name), new.get(name))
    )


def _between(now: object, old: object, new: object) -> bool:
    if isinstance(now, frozenset) and isinstance(old, frozenset):
        return now <= old | (new if isinstance(new, frozenset) else {*()})
    return now in (old, new)


def _named(
    refused: _Actions,
    name: str,
    names: collections.abc.Collection[str] = (),
) -> tuple[list[actions.Key], frozenset[str] | None]:
    """Return the keys that a name fits: one exact match, or several.

    :param names: all names that were given.
    :returns: the keys, and the fields in the name; None for all fields. The
        name of an object may also have a colon.
    """
    name = name.strip()
    if found := _keys_named(refused, name, names):
        return found, None
    # A field may also have a colon, such as extra_specs.tiers:tags.
    whole = name.split(':')
    for words in range(len(whole) - 1, 0, -1):
        object_name = ':'.join(whole[:words]).strip()
        if found := _keys_named(refused, object_name, names):
            fields = ':'.join(whole[words:])
            return found, frozenset(one.strip() for one in fields.split(','))
    return [], None


def _keys_named(
    refused: _Actions, name: str, names: collections.abc.Collection[str]
) -> list[actions.Key]:
    return (
        [key for key in refused if str(key) == name]
        or [
            key
            for key in refused
            if str(dataclasses.replace(key, cluster=None)) == name
        ]
        or [
            key
            for key, action in refused.items()
            if action.continues
            and str(action.continues) == name
            and not any(_is_name_of(key, one.strip()) for one in names)
        ]
    )


def _is_name_of(key: actions.Key, name: str) -> bool:
    return name == str(key) or name.startswith(f'{key}:')


def _beyond(
    action: actions.Action, fields: frozenset[str] | None
) -> tuple[str, ...]:
    """Return changed fields that are not named, or the verb if it is not."""
    if fields is None:
        return ()
    if not (action.before and action.after):
        return () if fields == {action.verb} else (action.verb,)
    return tuple(
        one.field for one in action.changes if one.field not in fields
    )


def _too_narrow(
    name: str, action: actions.Action, beyond: tuple[str, ...]
) -> errors.Problem:
    whole = str(action.key)
    if beyond == (action.verb,):
        found = f'the plan would {action.verb} the object'
        wider = f'{whole}:{action.verb}'
    else:
        found = f'the plan also changes {spelling.listed(beyond)}'
        wider = f'{whole}:' + ','.join(one.field for one in action.changes)
    return errors.Problem(
        where=f'--allow {shlex.quote(name)}',
        found=found,
        expected='changes only of the fields that it names',
        remedy=f'to allow all of it: --allow {shlex.quote(wider)}',
    )


def _is_of_a_kind(name: str) -> bool:
    return any(
        name.strip().startswith(f'{kind.value} ') for kind in actions.Kind
    )


def _granted(plan: plans.Plan, keys: set[actions.Key]) -> plans.Plan:
    return dataclasses.replace(
        plan,
        actions=tuple(
            dataclasses.replace(action, refusal=None, consented=action.refusal)
            if action.key in keys
            else action
            for action in plan.actions
        ),
    )


def _unclear(
    name: str, found: list[actions.Key], refusal: actions.Refusal
) -> errors.Problem:
    """Return the problem of an ambiguous name, or of one without consent.

    :param refusal: refusal of the first object.
    """
    where = f'--allow {shlex.quote(name)}'
    if len(found) > 1:
        names = [str(key) for key in found]
        return errors.Problem(
            where=where,
            found=f'{len(found)} refused objects with that name',
            expected='one',
            remedy=f'name one of: {spelling.listed(names)}',
        )
    return errors.Problem(
        where=where,
        found=refusal.reason,
        expected='a refused change that --allow can permit',
        remedy=refusal.remedy,
    )


def _unknown(name: str, left: list[str]) -> errors.Problem:
    where = f'--allow {shlex.quote(name)}'
    if not left:
        kinds = spelling.listed(kind.value for kind in actions.Kind)
        return errors.Problem(
            where=where,
            found='not the name of an object',
            expected=f'a kind ({kinds}) and a name',
            remedy='copy it from the column Object of "tier plan"',
        )
    return errors.Problem(
        where=where,
        found='no refused change in this plan has that name',
        expected=f'one of: {spelling.listed(left)}',
        remedy=(
            f'{spelling.did_you_mean(name, left)}omit it if the change '
            'has already been made'
        ),
    )
