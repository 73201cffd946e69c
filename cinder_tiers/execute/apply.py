# SPDX-License-Identifier: Apache-2.0

"""Carries out a plan: each action, in order, with what became of it.

Must not know Cinder or Ceph: an executor for each kind of object does.
"""

import collections.abc
import dataclasses
import time
import typing

from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import consent
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.plan import removals
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import difference


_LOOK_EVERY_S = 0.2
_NEXT = '"openstack tier plan" shows what is left to do'
_BACK = (
    'run "openstack tier plan" again: if it shows the same, the service '
    'ignores what was written, or something else changes it back'
)
_WRITTEN_AS_A_WHOLE = frozenset(
    {
        actions.Kind.VOLUME_TYPE,
        actions.Kind.TYPE_ENCRYPTION,
        actions.Kind.TYPE_QUOTA,
        actions.Kind.PROJECT_DEFAULTS,
        actions.Kind.TAG_NAMESPACE,
    }
)
#: {kind: what becomes of an object of which only the first step is done}
_WITHOUT = {
    actions.Kind.VOLUME_TYPE: 'stays closed without',
    actions.Kind.PROJECT_DEFAULTS: 'is only unset',
}
#: Reads an object as it is in effect; None when it does not exist.
Reader = collections.abc.Callable[[actions.Key], actions.Resource | None]


class Executor(typing.Protocol):
    """Writes objects of one kind. Safe to repeat."""

    # Its first argument and `current` are of its own kind, as the key is. Not
    # all have `consented`, and one mapping has all executors.
    @property
    def write(self) -> collections.abc.Callable[..., None]:
        """Makes an object what it should be.

        It is called with

        * the object as it should be; None when it should not exist;
        * `key`, which names it;
        * `current`, the object as it was read a moment ago; None when absent.
          It may differ from what the plan saw, after an interrupted write;
        * `consented`, only when it is true: an operator allowed it to do to
          this object what it refuses otherwise. One for a kind of which no
          action yields to consent needs none.

        It raises `errors.TiersError` when it could not.
        """


def apply(
    *,
    plan: plans.Plan,
    executors: collections.abc.Mapping[actions.Kind, Executor],
    read: Reader,
    report: collections.abc.Callable[[actions.Result], None],
    settle_s: float = 0.0,
    is_to_stop: collections.abc.Callable[[], bool] = lambda: False,
) -> tuple[actions.Result, ...]:
    """Execute a plan that has no refused actions.

    An object that needs an interim state, such as a volume type that must not
    be usable before it is complete, is written in two steps: first with the
    interim state at its place in the plan, then with the final state as soon
    as the actions that complete it, or that it needs, are done. Until then it
    has no result.

    If an action fails, the actions that need it are skipped, and so are all
    actions that take something away, unless the failed action is a deletion
    itself: the replacement may be missing. The others go on.

    :param executors: {kind: executor}, with all kinds in the plan.
    :param read: reads the effective state, before and after each write.
    :param report: called with each result as soon as it is known.
    :param settle_s: seconds that a write may take to show in the effective
        state; daemons receive it a little later.
    :param is_to_stop: called before each action; once it returns True the
        remaining actions are skipped.
    :returns: a result for each action, in the order in which they came.
    :raises errors.Refused: when an action is refused; then nothing has been
        changed.
    """
    if plan.refused:
        raise errors.Refused(
            'Nothing was changed because the plan has refused actions:',
            *(
                f'{action.verb} {action.key}: {action.objection}'
                for action in plan.refused
            ),
        )
    results: dict[actions.Key, actions.Result] = {}
    held: dict[actions.Key, actions.Action] = {}
    missing: set[actions.Key] = set()
    not_made: actions.Key | None = None
    for step in _steps(plan):
        action = step.action
        if action.key in results:
            continue
        lacking = sorted(str(key) for key in step.needs & missing)
        if is_to_stop():
            result = actions.Result(
                action=action,
                outcome=actions.Outcome.SKIPPED,
                reason='apply was interrupted',
            )
        elif lacking:
            result = actions.Result(
                action=action,
                outcome=actions.Outcome.SKIPPED,
                reason=f'it needs {", ".join(lacking)}'
                + (
                    f', and {_WITHOUT[action.key.kind]}; {_NEXT}'
                    if action.key in held
                    else ''
                ),
            )
        elif not_made and (removed := removals.removed_by(action)):
            result = actions.Result(
                action=action,
                outcome=actions.Outcome.SKIPPED,
                reason=f'it removes {removed}, and {not_made}, which comes '
                'first, failed',
            )
        else:
            result = _carry_out(
                step, executors[action.key.kind], read, settle_s
            )
        if not step.is_last and result.outcome is actions.Outcome.DONE:
            held[action.key] = action
            continue
        if result.outcome is not actions.Outcome.DONE:
            missing.add(action.key)
            if action.after is not None:
                not_made = not_made or action.key
        results[action.key] = result
        report(result)
    return tuple(results.values())


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Step:
    """A part of an action."""

    action: actions.Action
    #: As the object is before it, and as it should be behind it.
    before: actions.Resource | None
    after: actions.Resource | None
    #: Objects that must be right before it makes sense.
    needs: frozenset[actions.Key]
    #: Whether the object is then as the action wants it.
    is_last: bool = True


def _steps(plan: plans.Plan) -> collections.abc.Iterator[_Step]:
    """Yield the steps in the order in which they are executed.

    An object with an interim state comes twice: at its place, and after the
    last action that completes it, or that it needs and that comes later.
    """
    waiting: dict[actions.Key, set[actions.Key]] = {}
    last: dict[actions.Key, _Step] = {}

    def ended(key: actions.Key) -> collections.abc.Iterator[_Step]:
        for other in [one for one, keys in waiting.items() if key in keys]:
            waiting[other].discard(key)
            if not waiting[other]:
                del waiting[other]
                yield last[other]
                yield from ended(other)

    later = {one.key for one in plan.actions}
    for action in plan.actions:
        later.discard(action.key)
        whole = _Step(
            action=action,
            before=action.before,
            after=action.after,
            needs=action.needs,
        )
        awaited = {
            one.key for one in plan.actions if one.completes == action.key
        } | (action.needs & later)
        if action.meanwhile is None or not awaited:
            yield whole
            yield from ended(action.key)
            continue
        yield dataclasses.replace(whole, after=action.meanwhile, is_last=False)
        waiting[action.key] = awaited
        last[action.key] = dataclasses.replace(
            whole,
            before=action.meanwhile,
            needs=action.needs | awaited,
        )


def _carry_out(
    step: _Step, executor: Executor, read: Reader, settle_s: float
) -> actions.Result:
    action = step.action
    try:
        current = read(action.key)
        if (
            not step.is_last
            and current is not None
            and action.after is not None
            and not difference.differences(current, action.after)
        ):
            # It is complete by now, and nothing that is open is closed.
            return actions.Result(action=action, outcome=actions.Outcome.DONE)
        seen = dataclasses.replace(
            action, before=step.before, after=step.after
        )
        if action.consented:
            _check_consent(seen, current)
            executor.write(
                step.after, key=action.key, current=current, consented=True
            )
        else:
            _check_unchanged(seen, current)
            executor.write(step.after, key=action.key, current=current)
        _check_effect(seen, _settled(seen, read, settle_s))
    except errors.TiersError as error:
        return actions.Result(
            action=action, outcome=actions.Outcome.FAILED, reason=str(error)
        )
    return actions.Result(action=action, outcome=actions.Outcome.DONE)


def _check_consent(
    action: actions.Action, current: actions.Resource | None
) -> None:
    if changed := _changed_since_plan(action, current):
        raise errors.ActionFailed(
            f'{action.key} was changed since the plan was made, and '
            f'--allow covers only what the plan showed: {changed}; no part '
            'of it was changed; run "openstack tier plan" again'
        )


def _check_unchanged(
    action: actions.Action, current: actions.Resource | None
) -> None:
    """Check that an object written as a whole is as the plan saw it.

    While a person reads the plan, others may open, close, extend or encrypt a
    volume type, set its quotas, or make it the default type of a project. To
    write the planned state would silently undo that.
    """
    if (
        action.key.kind not in _WRITTEN_AS_A_WHOLE
        or action.after is None
        # Its executor refuses a type that came up since, and with a new type
        # come quotas.
        or (
            action.before is None
            and action.key.kind
            in (actions.Kind.VOLUME_TYPE, actions.Kind.TYPE_QUOTA)
        )
    ):
        return
    if changed := _changed_since_plan(action, current):
        raise errors.ActionFailed(
            f'{action.key} was changed since the plan was made: {changed}; '
            'no part of it was changed; run "openstack tier plan" again'
        )


def _changed_since_plan(
    action: actions.Action, current: actions.Resource | None
) -> str:
    return ', '.join(
        f'{one.field} is {_text(one.before)}, not {_text(one.after)}'
        for one in consent.changed_since_plan(action, current)
    )


def _text(value: object) -> str:
    return (
        ' '.join(sorted(value)) or '-'
        if isinstance(value, frozenset)
        else str(value)
    )


def _settled(
    action: actions.Action, read: Reader, settle_s: float
) -> actions.Resource | None:
    """Return the effective state once it is right, or after the timeout."""
    end = time.monotonic() + settle_s
    while True:
        effective = read(action.key)
        if time.monotonic() >= end or _is_right(action, effective):
            return effective
        time.sleep(_LOOK_EVERY_S)


def _is_right(
    action: actions.Action, effective: actions.Resource | None
) -> bool:
    if effective is None or action.after is None:
        return effective is action.after
    return not difference.differences(effective, action.after)


def _check_effect(
    action: actions.Action, effective: actions.Resource | None
) -> None:
    """Services accept values and then ignore some of them."""
    if action.after is None:
        if effective is not None:
            raise errors.ActionFailed(
                f'{action.key} was deleted without an error, but still '
                f'exists; {_BACK}'
            )
        return
    if effective is None:
        raise errors.ActionFailed(
            f'{action.key} was written without an error, but does not '
            f'exist; {_BACK}'
        )
    ignored = difference.differences(effective, action.after)
    if ignored:
        reasons = getattr(effective, 'reasons', {})
        values = ', '.join(
            f'{one.field} is {one.before}, not {one.after}'
            + (
                f' ({reasons[name]})'
                if reasons.get(name := one.field.rpartition('.')[2])
                else ''
            )
            for one in ignored
        )
        raise errors.ActionFailed(
            f'{action.key} was written without an error, but {values}; {_BACK}'
        )
