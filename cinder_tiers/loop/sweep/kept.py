# SPDX-License-Identifier: Apache-2.0

"""Values that a sweep changes, with those to restore, word for word.

A value that was not set is restored by removing it, not by setting the value
that was in effect. The values that the sweep may write to each place are known
before the first change. So a value that is neither one of these nor the old
one was written by another user meanwhile, and the sweep must not replace it.
Pure. Must not know where the values are kept, nor how they are written.
"""

import collections.abc
import dataclasses
import enum
import typing

from cinder_tiers.domain import errors
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.resources import osd_options
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import difference

#: {field, such as values.osd_max_backfills: text; None: it is not set}; an
#: object that does not exist has none.
Fields = collections.abc.Mapping[str, str | None]
#: {object: its fields}; None for one that does not exist.
Now = collections.abc.Callable[[actions.Key], Fields | None]

_VALUES, _OPTIONS, _RBD_OPTIONS = 'values.', 'options.', 'rbd_options.'
_SPECS, _CONSUMER = 'specs.', 'consumer'


@dataclasses.dataclass(frozen=True, kw_only=True)
class _SweptKind:
    """A kind of object that a sweep may change."""

    #: How its fields begin.
    beginnings: tuple[str, ...]
    #: Whether an object is nothing but its values: it is always there, each
    #: value is written or removed without a look at the others, and to remove
    #: one that is not set changes nothing.
    is_only_values: bool = False
    #: Whether a sweep may make one, which is deleted afterwards.
    may_be_made: bool = False


_SWEPT: collections.abc.Mapping[actions.Kind, _SweptKind] = {
    actions.Kind.OSD_OPTIONS: _SweptKind(
        beginnings=(_VALUES,), is_only_values=True
    ),
    actions.Kind.POOL: _SweptKind(beginnings=(_OPTIONS, _RBD_OPTIONS)),
    actions.Kind.QOS_SPEC: _SweptKind(
        beginnings=(_SPECS, _CONSUMER), may_be_made=True
    ),
}
#: Those kinds.
KINDS = tuple(_SWEPT)


def is_only_values(key: actions.Key) -> bool:
    """Return whether an object consists of nothing but its values."""
    return _SWEPT[key.kind].is_only_values


def may_be_made(kind: actions.Kind) -> bool:
    """Return whether a sweep may create, and later delete, such an object."""
    found = _SWEPT.get(kind)
    return found is not None and found.may_be_made


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setting:
    """A value that a sweep changes."""

    #: As `difference.fields_of` names it.
    field: str
    #: To be brought back; None: it was not set.
    before: str | None
    #: What treatments write there.
    swept: frozenset[str]
    #: Ceph's type of an option of OSDs, by which texts are compared.
    option_kind: str = ''


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kept:
    """An object in which a sweep changes values."""

    kind: actions.Kind
    #: None: it is in none.
    cluster: str | None = None
    name: str
    #: Whether it was there; else it is deleted afterwards.
    existed: bool
    settings: tuple[Setting, ...]

    @property
    def key(self) -> actions.Key:
        """Names it."""
        return actions.Key(
            kind=self.kind, cluster=self.cluster, name=self.name
        )


class Stand(enum.Enum):
    """States of a value that a sweep changes."""

    AS_BEFORE = 'as before'
    #: As a treatment has it.
    SWEPT = 'changed by the sweep'
    CHANGED = 'changed by another user'


def name_of(key: actions.Key, field: str) -> str:
    """Names one value, for messages and for consent.

    >>> name_of(
    ...     actions.Key(
    ...         kind=actions.Kind.POOL, cluster='ceph', name='tier-a'
    ...     ),
    ...     'options.compression_mode',
    ... )
    'pool tier-a (ceph):options.compression_mode'
    """
    return f'{key}:{field}'


def objections(
    treatment: str, plan: plans.Plan
) -> collections.abc.Iterator[str]:
    """Yield reasons why a treatment cannot be measured and restored.

    A sweep has no consent to give: changes that `apply` refuses stay refused.

    :param treatment: name of the treatment.
    :param plan: plan that starts from the tier as its file declares it.
    :returns: a line for each.
    """
    for action in plan.actions:
        beginning = f'{treatment}: {action.verb} {action.key}'
        if action.refusal:
            yield (
                f'{beginning}: {action.refusal.reason}; a sweep makes no '
                f'change that "tier apply" refuses; {action.refusal.remedy}'
            )
            continue
        fields = _changed(action)
        beyond = [name for name in fields if not _may_sweep(action, name)]
        if beyond or action.after is None:
            yield (
                f'{beginning} changes {", ".join(beyond) or "all of it"}, '
                'which a sweep cannot restore; remove the '
                'treatment'
            )


def _may_sweep(action: actions.Action, field: str) -> bool:
    if action.before is None:
        return may_be_made(action.key.kind)
    kind = _SWEPT.get(action.key.kind)
    return kind is not None and field.startswith(kind.beginnings)


def _changed(action: actions.Action) -> dict[str, str | None]:
    """{field: value} that carrying out an action may write."""
    if action.after is None:
        return {}
    after = difference.texts_of(action.after)
    # Of OSDs, all that is declared is written, not only what differs.
    if action.before is None or isinstance(
        action.after, ceph_state.OsdOptions
    ):
        return after
    return {one.field: difference.text_of(one.after) for one in action.changes}


def of_plans(
    planned: collections.abc.Iterable[plans.Plan],
    now: Now,
    schemas: collections.abc.Mapping[
        str, collections.abc.Mapping[str, ceph_state.OptionSchema]
    ],
) -> tuple[Kept, ...]:
    """Return the values that plans would write, with the current ones.

    :param planned: plans of treatments, without `objections`.
    :param now: returns the values of an object word for word.
    :param schemas: {cluster: {option of OSDs: schema}}.
    """
    swept: dict[actions.Key, dict[str, set[str]]] = {}
    for plan in planned:
        for action in plan.actions:
            fields = swept.setdefault(action.key, {})
            for name, value in _changed(action).items():
                fields.setdefault(name, set()).add(value or '')
    found = []
    for key, fields in swept.items():
        before = now(key)
        existed = before is not None or is_only_values(key)
        before = before or {}
        if not existed and 'volume_types' in fields:
            # A process may end between its creation and its association.
            fields['volume_types'].add('')
        found.append(
            Kept(
                **vars(key),
                existed=existed,
                settings=tuple(
                    Setting(
                        field=name,
                        before=before.get(name),
                        swept=frozenset(values),
                        option_kind=(
                            schemas[key.of_cluster][
                                name.removeprefix(_VALUES)
                            ].kind
                            if key.kind is actions.Kind.OSD_OPTIONS
                            else ''
                        ),
                    )
                    for name, values in sorted(fields.items())
                ),
            )
        )
    return tuple(found)


def stand_of(setting: Setting, now: str | None) -> Stand:
    """Return the state of a value.

    >>> setting = Setting(field='x', before=None, swept=frozenset({'4'}))
    >>> [stand_of(setting, now).value for now in (None, '4', '7')]
    ['as before', 'changed by the sweep', 'changed by another user']

    :param now: current value; None: not set.
    """
    if now == setting.before:
        return Stand.AS_BEFORE
    if now is None:
        return Stand.CHANGED  # a sweep sets values, and removes none
    written = {_normal(setting, value) for value in setting.swept}
    if _normal(setting, now) in written or is_back(setting, now):
        return Stand.SWEPT
    return Stand.CHANGED


def is_back(setting: Setting, now: str | None) -> bool:
    """Return whether a value that was written again is the former one.

    Monitors may spell a number otherwise than a former release did.
    """
    return now == setting.before or (
        now is not None
        and setting.before is not None
        and _normal(setting, now) == _normal(setting, setting.before)
    )


def _normal(setting: Setting, value: str | None) -> str | None:
    if value is None or not setting.option_kind:
        return value
    schema = ceph_state.OptionSchema(
        name=setting.field, kind=setting.option_kind
    )
    try:
        return osd_options.normal(schema, value)
    except ValueError:  # whatever it is, it is only like itself
        return value


def stands(
    kept: Kept, now: Fields | None
) -> collections.abc.Iterator[tuple[Setting, str | None, Stand]]:
    """Yield the state of each value of an object.

    :param now: its values; None: the object does not exist.
    :returns: also values that another user added to an object of the sweep.
    """
    if not kept.existed and now is None:
        for setting in kept.settings:
            yield setting, None, Stand.AS_BEFORE
        return
    now = now or {}
    for setting in kept.settings:
        value = now.get(setting.field)
        yield setting, value, stand_of(setting, value)
    if kept.existed:
        return
    known = {setting.field for setting in kept.settings}
    for name in sorted(now.keys() - known):
        yield (
            Setting(field=name, before=None, swept=frozenset()),
            now[name],
            Stand.CHANGED,
        )


def brought_back(
    key: actions.Key,
    current: actions.Resource | None,
    fields: Fields,
) -> actions.Resource:
    """Return an object with some of its former values.

    :param key: key of the object.
    :param current: the current object.
    :param fields: {field: value to restore; None: to be removed}.
    :raises errors.ActionFailed: the object does not exist any more.
    """

    def of(beginning: str) -> dict[str, str | None]:
        return {
            name.removeprefix(beginning): value
            for name, value in fields.items()
            if name.startswith(beginning)
        }

    if key.kind is actions.Kind.OSD_OPTIONS:
        return ceph_state.OsdOptions(name=key.name, values=of(_VALUES))
    if current is None:
        raise errors.ActionFailed(
            f'{key} no longer exists, so its values cannot be restored'
        )
    if isinstance(current, ceph_state.Pool):
        return dataclasses.replace(
            current,
            options=typing.cast(dict[str, str], of(_OPTIONS)),
            rbd_options=of(_RBD_OPTIONS),
        )
    if not isinstance(current, cinder_state.QosSpec):
        raise TypeError(f'{key} is not swept')
    return dataclasses.replace(
        current,
        consumer=fields.get(_CONSUMER) or current.consumer,
        specs={
            name: value
            for name, value in {**current.specs, **of(_SPECS)}.items()
            if value is not None
        },
    )
