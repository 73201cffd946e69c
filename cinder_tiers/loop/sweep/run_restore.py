# SPDX-License-Identifier: Apache-2.0

"""Brings back what a sweep has changed, by the executors of apply.

May be ended at any point and repeated: each value is looked at first, and
only what the sweep has written is written again. Must not know Cinder or
Ceph, nor where the values from before are kept.
"""

import collections.abc
import dataclasses
import enum
import time

from cinder_tiers.domain import errors
from cinder_tiers.domain.state import action as actions
from cinder_tiers.execute import apply
from cinder_tiers.loop.sweep import kept as keeping

_LOOK_EVERY_S = 0.2


class RestoreOutcome(enum.Enum):
    """Outcomes of restoring a value."""

    #: Nothing was to be done.
    AS_BEFORE = 'as before'
    BROUGHT_BACK = 'brought back'
    #: Another user set it, and it was left.
    LEFT = 'left'
    FAILED = 'failed'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Restored:
    """A value from before, and what became of it."""

    key: actions.Key
    setting: keeping.Setting
    #: As it was found; None: not set.
    found: str | None
    outcome: RestoreOutcome
    #: Why it failed.
    reason: str = ''

    @property
    def name(self) -> str:
        """Name of the value in a consent."""
        return keeping.name_of(self.key, self.setting.field)

    @property
    def before(self) -> str | None:
        """Former value; None: not set."""
        return self.setting.before

    @property
    def is_back(self) -> bool:
        """Return whether the value is the former one."""
        return self.outcome in (
            RestoreOutcome.AS_BEFORE,
            RestoreOutcome.BROUGHT_BACK,
        )


def rehearse(
    kept: collections.abc.Iterable[keeping.Kept],
    *,
    executors: collections.abc.Mapping[actions.Kind, apply.Executor],
) -> None:
    """Remove values that are not set, where that changes nothing.

    A user who may set an option may lack the right to remove one (`config
    rm`). This must be known before the first is set.

    :param executors: {kind: executor}, with all kinds of objects.
    :raises errors.TiersError: values cannot be removed.
    """
    for one in kept:
        unset: keeping.Fields = {
            setting.field: None
            for setting in one.settings
            if setting.before is None
        }
        if unset and keeping.is_only_values(one.key):
            executors[one.key.kind].write(
                keeping.brought_back(one.key, None, unset),
                key=one.key,
                current=None,
            )


def restore(
    kept: collections.abc.Iterable[keeping.Kept],
    *,
    executors: collections.abc.Mapping[actions.Kind, apply.Executor],
    read: apply.Reader,
    now: keeping.Now,
    allowed: collections.abc.Container[str] = (),
    settle_s: float = 0.0,
) -> tuple[Restored, ...]:
    """Restore every value that a sweep has changed.

    :param executors: {kind: executor}, with all kinds of objects.
    :param read: returns an object as it is in effect.
    :param now: returns the values of an object word for word.
    :param allowed: names of values that are replaced even if another user
        wrote them.
    :param settle_s: seconds that a write may take to show.
    :returns: the outcome for each value, in the order of the objects.
    :raises errors.TiersError: an object cannot be read, since a service does
        not answer or refuses; all others are restored.
    """
    found: list[Restored] = []
    failure = None
    for one in kept:
        try:
            found.extend(
                _restored(
                    one,
                    executors[one.key.kind],
                    read,
                    now,
                    allowed=allowed,
                    settle_s=settle_s,
                )
            )
        except errors.TiersError as error:
            # A value of the next object may be why this one does not answer.
            failure = failure or error
    if failure is not None:
        raise failure
    return tuple(found)


def _restored(
    kept: keeping.Kept,
    executor: apply.Executor,
    read: apply.Reader,
    now: keeping.Now,
    *,
    allowed: collections.abc.Container[str],
    settle_s: float,
) -> collections.abc.Iterator[Restored]:
    fields = now(kept.key)
    stands = list(keeping.stands(kept, fields))
    left = {
        setting.field
        for setting, _value, stand in stands
        if stand is keeping.Stand.CHANGED
        and keeping.name_of(kept.key, setting.field) not in allowed
    }
    to_write = {
        setting.field: setting.before
        for setting, _value, stand in stands
        if stand is not keeping.Stand.AS_BEFORE and setting.field not in left
    }
    is_to_go = not kept.existed and fields is not None
    if is_to_go and left:
        to_write = {}  # another user has changed it, too
    reasons: dict[str, str] = {}
    if to_write or is_to_go and not left:
        reasons = _not_back(
            kept,
            to_write,
            executor,
            read,
            now,
            is_to_go=is_to_go,
            settle_s=settle_s,
        )
    for setting, value, _stand in stands:
        outcome = RestoreOutcome.AS_BEFORE
        if setting.field in left or (is_to_go and left):
            outcome = RestoreOutcome.LEFT
        elif setting.field in to_write:
            outcome = (
                RestoreOutcome.FAILED
                if setting.field in reasons
                else RestoreOutcome.BROUGHT_BACK
            )
        yield Restored(
            key=kept.key,
            setting=setting,
            found=value,
            outcome=outcome,
            reason=reasons.get(setting.field, ''),
        )


def _not_back(
    kept: keeping.Kept,
    to_write: keeping.Fields,
    executor: apply.Executor,
    read: apply.Reader,
    now: keeping.Now,
    *,
    is_to_go: bool,
    settle_s: float,
) -> dict[str, str]:
    """Writes values; {field: why it is not as before all the same}."""
    try:
        _write(kept, to_write, executor, read, is_to_go=is_to_go)
        return _missing(kept, to_write, now, settle_s)
    except errors.Unreachable:
        raise
    except errors.TiersError as error:
        reason = str(error)
    if is_to_go or len(to_write) == 1:
        return dict.fromkeys(to_write, reason)
    # One value that is refused, such as of an option that Ceph does not have
    # any more, must not keep the others as the sweep has set them.
    found: dict[str, str] = {}
    for field, value in to_write.items():
        found |= _not_back(
            kept,
            {field: value},
            executor,
            read,
            now,
            is_to_go=False,
            settle_s=settle_s,
        )
    return found


def _write(
    kept: keeping.Kept,
    to_write: keeping.Fields,
    executor: apply.Executor,
    read: apply.Reader,
    *,
    is_to_go: bool,
) -> None:
    # Monitors take options whether OSDs run or not, and a treatment may be why
    # they do not.
    current = None if keeping.is_only_values(kept.key) else read(kept.key)
    if is_to_go:
        # The sweep made it; there was none before.
        executor.write(None, key=kept.key, current=current, consented=True)
        return
    executor.write(
        keeping.brought_back(kept.key, current, to_write),
        key=kept.key,
        current=current,
    )


def _missing(
    kept: keeping.Kept,
    written: keeping.Fields,
    now: keeping.Now,
    settle_s: float,
) -> dict[str, str]:
    """Return {field: its state} of fields that were not restored."""
    end = time.monotonic() + settle_s
    while True:
        fields = now(kept.key)
        if not kept.existed:
            missing = (
                {}
                if fields is None
                else dict.fromkeys(written, 'it still exists')
            )
        else:
            missing = {
                one.field: f'{one.field} is '
                f'{_shown((fields or {}).get(one.field))}, not '
                f'{_shown(one.before)}'
                for one in kept.settings
                if one.field in written
                and not keeping.is_back(one, (fields or {}).get(one.field))
            }
        if not missing or time.monotonic() >= end:
            break
        time.sleep(_LOOK_EVERY_S)
    return {
        field: f'written without an error, but {found}'
        for field, found in missing.items()
    }


def _shown(value: str | None) -> str:
    return 'not set' if value is None else value
