# SPDX-License-Identifier: Apache-2.0

"""Steps of a repair in plain values: a plan, a recommendation, a record.

All three say which volumes are to be changed to what, and why. Who reads them
believes nothing: a step is done only if it is made again of what Cinder shows
today, and is the same. Pure. Must not know where they are kept.
"""

import collections.abc
import dataclasses
import enum
import re
import uuid

from cinder_tiers.domain.audit import volume_limits
from cinder_tiers.domain import record
from cinder_tiers.loop.repair import repair

_OPTIONS = frozenset(volume_limits.OPTIONS.values())
_Limits = collections.abc.Mapping[str, str | None]
#: What librbd reads as a number (strict_si_cast, src/common/strtol.cc).
_NUMBER = re.compile('[0-9]+[KMGTPE]?')


class Origin(enum.Enum):
    """Origins of orders."""

    PLAN = 'plan'
    """Steps that "tier repair --out" would take."""
    RECOMMENDATION = 'recommendation'
    """Moves that "tier recommend --out" advises."""
    RECORD = 'record'
    """Steps that "tier repair --record" took, or began."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Order:
    """A step for a volume.

    :raises ValueError: its fields do not go together.
    """

    #: Id of the volume; in a recommendation, that of its RBD image.
    volume: str
    kind: repair.RepairKind
    #: Tier that the volume is of.
    tier: str
    #: What is wrong, or why another tier is better.
    reason: str
    #: Tier that is recommended.
    to_tier: str | None = record.omitted()
    #: Name of the volume type that it gets.
    retype_to: str | None = record.omitted()
    #: host@backend#pool that it is migrated to, with its type.
    migrate_to: str | None = record.omitted()
    #: Id of the server that is shelved for it.
    shelves: str | None = record.omitted()
    #: What that server is before and after it.
    server_state: repair.ServerState | None = record.omitted()
    #: Whether Nova saves its local disk as an image meanwhile.
    saves_image: bool = record.omitted(False)
    #: {option of its RBD image: value to set; None: to remove}
    limits: _Limits | None = record.omitted()
    #: Name of the volume type that it had.
    had_type: str | None = record.omitted()
    #: host@backend#pool that it was on.
    had_host: str | None = record.omitted()
    #: {option of `limits`: value that it had; None: none}
    had_limits: _Limits | None = record.omitted()
    #: Why it is not done; empty: it is.
    refused: str = record.omitted('')
    #: What came of it; None: it is not known, or not carried out.
    outcome: repair.StepOutcome | None = record.omitted()
    #: host@backend#pool that it was on after that.
    host: str | None = record.omitted()

    def __post_init__(self) -> None:
        try:
            is_canonical = str(uuid.UUID(self.volume)) == self.volume
        except ValueError:
            is_canonical = False
        if not is_canonical:
            raise ValueError(
                f'volume: found {self.volume[:60]!r}, expected a UUID'
            )
        for name in ('limits', 'had_limits'):
            for option in getattr(self, name) or ():
                if option not in _OPTIONS:
                    raise ValueError(
                        f'{name}: found {option[:60]!r}, expected one of '
                        f'{", ".join(sorted(_OPTIONS))}'
                    )
        for fault in not_settable(self.limits or {}):
            raise ValueError(f'limits: found {fault}')
        if bool(self.to_tier) != (
            self.kind is repair.RepairKind.RECOMMENDATION
        ):
            raise ValueError(
                'to_tier: expected with the kind '
                f'{repair.RepairKind.RECOMMENDATION.value}, and with no other'
            )
        changes = (self.retype_to, self.migrate_to, self.limits)
        if sum(one is not None for one in changes) > 1:
            raise ValueError(
                'expected one of retype_to, migrate_to and limits'
            )
        if (self.limits is None) == (self.kind is repair.RepairKind.LIMITS):
            raise ValueError(
                f'limits: expected with the kind '
                f'{repair.RepairKind.LIMITS.value}, and with no other'
            )
        if (self.limits or {}).keys() != (self.had_limits or {}).keys():
            raise ValueError('had_limits: expected the options of limits')


def not_settable(limits: _Limits) -> list[str]:
    """The limits that an image cannot be given, each with what was expected.

    An image may have some that were set by hand, such as 100M.

    :param limits: {option of an RBD image: value; None: none}
    """
    return [
        f'{option} {value[:60]!r}, expected digits, or null'
        for option, value in limits.items()
        if value is not None and not _NUMBER.fullmatch(value)
    ]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Orders:
    """Steps for volumes, one for each.

    :raises ValueError: a volume has two.
    """

    origin: Origin
    #: Identifies the cloud; None: those who recommend do not ask it.
    cloud: str | None = record.omitted()
    steps: tuple[Order, ...]

    def __post_init__(self) -> None:
        if (self.cloud is None) != (self.origin is Origin.RECOMMENDATION):
            raise ValueError(
                'cloud: expected unless the origin is '
                f'{Origin.RECOMMENDATION.value}'
            )
        seen: set[str] = set()
        for one in self.steps:
            if one.volume in seen:
                raise ValueError(f'volume {one.volume} has two steps')
            seen.add(one.volume)


def of_step(
    step: repair.RepairStep,
    *,
    outcome: repair.StepOutcome | None = None,
    host: str | None = None,
) -> Order:
    """Return a step in plain values.

    :param outcome: outcome of the step; None: not known yet.
    :param host: host of its volume after that.
    """
    limits = step.limits
    return Order(
        volume=step.volume.volume_id,
        kind=step.kind,
        tier=step.tier,
        reason=step.reason,
        to_tier=step.to_tier,
        retype_to=step.retype_to,
        migrate_to=step.migrate_to,
        shelves=step.shelves.server_id if step.shelves else None,
        server_state=step.shelves.state if step.shelves else None,
        saves_image=step.shelves is not None and step.shelves.saves_image,
        limits=dict(limits.changes) if limits else None,
        had_type=step.volume.type_name,
        had_host=step.volume.host,
        had_limits={
            option: limits.has.get(option) for option in limits.changes
        }
        if limits
        else None,
        refused=step.refusal,
        outcome=outcome,
        host=host,
    )


def wishes(
    orders: Orders,
    ids: collections.abc.Mapping[str, str],
) -> dict[str, repair.Wish]:
    """Return the wishes of orders for volumes.

    :param ids: {id under which a volume is stored: its own id}
    :returns: {id of a volume: wish}
    """
    return {
        volume_of(orders, one, ids): repair.Wish(
            kind=one.kind,
            tier=one.tier,
            to_tier=one.to_tier,
            reason=one.reason,
            migrate_to=one.migrate_to,
        )
        for one in orders.steps
    }


def volume_of(
    orders: Orders, one: Order, ids: collections.abc.Mapping[str, str]
) -> str:
    """Id of the volume of a step.

    :param ids: {id that a volume is stored under: its own}
    """
    if orders.origin is Origin.RECOMMENDATION:
        return ids.get(one.volume, one.volume)
    return one.volume


def agreed(
    orders: Orders,
    steps: collections.abc.Iterable[repair.RepairStep],
    ids: collections.abc.Mapping[str, str],
) -> list[repair.RepairStep]:
    """The steps of today that were ordered; a step that is another is refused.

    :param steps: made of `wishes` today.
    :param ids: {id that a volume is stored under: its own}
    """
    ordered = {volume_of(orders, one, ids): one for one in orders.steps}
    found = []
    for step in steps:
        one = ordered[step.volume.volume_id]
        refusal = step.refusal
        if orders.origin is Origin.PLAN and not refusal:
            if one.refused:
                refusal = (
                    f'it was refused when the plan was made: {one.refused}'
                )
            else:
                now = of_step(step)
                changed = [
                    f'{words} was {_text(before)} and is {_text(after)}'
                    for words, before, after in (
                        ('type', one.had_type, now.had_type),
                        ('host', one.had_host, now.had_host),
                        ('new type', one.retype_to, now.retype_to),
                        ('new host', one.migrate_to, now.migrate_to),
                        ('server to shelve', _server(one), _server(now)),
                        ('limits', one.had_limits, now.had_limits),
                        ('new limits', one.limits, now.limits),
                    )
                    if before != after
                ]
                if changed:
                    refusal = (
                        'since the plan was made, it has changed: its '
                        f'{", its ".join(changed)}; make another plan'
                    )
        found.append(dataclasses.replace(step, refusal=refusal))
    return found


def _server(one: Order) -> str | None:
    if one.shelves is None or one.server_state is None:
        return one.shelves
    image = ' with a local disk' if one.saves_image else ''
    return f'{one.shelves}, {one.server_state.value}{image}'


def _text(value: str | _Limits | None) -> str:
    if isinstance(value, collections.abc.Mapping):
        return ', '.join(
            f'{option} {"not set" if each is None else each}'
            for option, each in sorted(value.items())
        )
    return value or 'none'
