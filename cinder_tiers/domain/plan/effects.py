# SPDX-License-Identifier: Apache-2.0

"""Estimated effects of the actions of a plan on data and free space.

They are not part of the plan, because sizes change from minute to minute. Only
changes of existing pools affect data; a new object holds nothing yet. Each
figure is described in `data_movement` and in doc/source/admin/tiers.rst. Pure.
Must not know how effects are shown.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.plan import capacity
from cinder_tiers.domain.plan import data_movement
from cinder_tiers.domain.resources import cache_tier
from cinder_tiers.domain.resources import cephx_user
from cinder_tiers.domain.resources import crush
from cinder_tiers.domain.resources import pool as pool_kind
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import difference
from cinder_tiers.domain.state import usage as usages
from cinder_tiers.domain import units

_PROBLEMS = {
    'backfillfull': 'Ceph would stop the move before it is complete',
    'full': 'Ceph would stop all writes to every pool on these OSDs',
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Effect:
    """Effect of an action on data and free space; sizes are estimates."""

    #: Bytes that OSDs write, up to all copies of the pool; None if unknown.
    bytes_to_move: int | None = 0
    #: Bytes that the pool then takes in addition, negative for fewer; None if
    #: unknown.
    bytes_added: int | None = 0
    #: Independent statements for people.
    statements: tuple[str, ...] = ()
    #: Statements that volumes would lose their pool, or the move not end.
    problems: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """Statements, and problems marked as such."""
        return (
            *self.statements,
            *(f'problem: {one}' for one in self.problems),
        )

    def __str__(self) -> str:
        return '; '.join(self.lines)


NONE = Effect()


def of_plan(
    planned: collections.abc.Iterable[actions.Action],
    ceph: collections.abc.Mapping[str, ceph_state.CephState],
) -> dict[actions.Key, Effect]:
    """Return the effects of the actions of a plan.

    Each is estimated as if those before it had been carried out, even refused
    ones; the last action on an OSD set shows the cumulative effect.

    :param planned: actions in the order of the plan.
    :param ceph: {name of the cluster in the catalog: its state}.
    :returns: {key of the action: effect}, `NONE` for an action without effect.
    """
    planned = tuple(planned)
    found = {}
    earlier: dict[str, dict[int, float]] = {name: {} for name in ceph}
    for action in planned:
        found[action.key] = NONE
        if (
            action.key.kind is actions.Kind.CEPHX_USER
            and action.before is None
            and (note := cephx_user.key_note(ceph[action.key.of_cluster]))
        ):
            found[action.key] = Effect(statements=(note,))
        if (
            isinstance(action.after, ceph_state.CrushRule)
            and action.before is None
            and (
                note := crush.shared_domains_note(
                    action.after, ceph[action.key.of_cluster]
                )
            )
        ):
            found[action.key] = Effect(statements=(note,))
        if (
            isinstance(action.before, ceph_state.CacheTier)
            and action.after is None
            and _may_be_done(action)
        ):
            found[action.key] = Effect(
                bytes_to_move=None,
                bytes_added=None,
                statements=cache_tier.removal_steps(action.before),
            )
        if not (
            isinstance(action.before, ceph_state.Pool)
            and isinstance(action.after, ceph_state.Pool)
        ):
            continue
        cluster = action.key.of_cluster
        created = {
            one.key.name: one.after
            for one in planned
            if isinstance(one.after, ceph_state.CrushRule)
            and one.key.cluster == cluster
            and one.before is None
        }
        found[action.key], added = of_pool(
            action.before,
            action.after,
            ceph=dataclasses.replace(
                ceph[cluster],
                crush_rules={**ceph[cluster].crush_rules, **created},
            ),
            earlier=earlier[cluster],
        )
        for osd_id, size_bytes in added.items():
            earlier[cluster][osd_id] = (
                earlier[cluster].get(osd_id, 0) + size_bytes
            )
    return found


def _may_be_done(action: actions.Action) -> bool:
    """Return whether an action will or could, with consent, be carried out."""
    return action.refusal is None or action.refusal.yields_to_consent


def of_pool(
    before: ceph_state.Pool,
    after: ceph_state.Pool,
    *,
    ceph: ceph_state.CephState,
    earlier: capacity.Added,
) -> tuple[Effect, capacity.Added]:
    """Return the effect of changing an existing pool.

    :param before: pool as it exists.
    :param after: pool as declared.
    :param ceph: cluster with the CRUSH rules of both.
    :param earlier: bytes that earlier changes add to each OSD.
    :returns: the effect, and the bytes that it adds to each OSD.
    """
    changed = {one.field: one for one in difference.differences(before, after)}
    impossible = _impossible(before, after, changed)
    if impossible:
        return Effect(
            statements=(
                (
                    f'Ceph cannot change {" and ".join(impossible)} of an '
                    'existing pool of this kind'
                ),
            )
        ), {}
    moving = [
        f'{name} {changed[name].before} -> {changed[name].after}'
        for name in pool_kind.MOVING_FIELDS
        if name in changed
    ]
    steered = (
        before.pg_autoscale_mode == 'on'
        and not changed.keys().isdisjoint(pool_kind.STEERS_AUTOSCALER)
    )
    if steered:
        moving.append('the autoscaler may choose another pg_num')
    quotas = [
        name
        for name in sorted(pool_options.QUOTAS)
        if f'options.{name}' in changed and after.options[name] != '0'
    ]
    if not moving and not quotas:
        return NONE, {}
    usage = ceph.usage
    if (
        isinstance(usage, usages.ClusterUsage)
        and before.name not in usage.pools
    ):
        usage = usages.Unknown(
            reason=f'Ceph has no statistics of pool {before.name} yet'
        )
    if isinstance(usage, usages.Unknown):
        size = None if moving else 0
        return Effect(
            bytes_to_move=size,
            bytes_added=size,
            statements=(
                f'the effect could not be determined: {usage.reason}',
            ),
        ), {}
    effect = NONE
    added: collections.abc.Mapping[int, float] = {}
    if moving:
        effect, added = _moved(
            before,
            after,
            ceph=ceph,
            usage=usage,
            earlier=earlier,
            why=', '.join(moving),
            steered=steered,
        )
    return dataclasses.replace(
        effect,
        problems=(
            *effect.problems,
            *pool_kind.full_quotas(before, after, usage),
        ),
    ), added


def _impossible(
    before: ceph_state.Pool,
    after: ceph_state.Pool,
    changed: collections.abc.Container[str],
) -> list[str]:
    return [
        name
        for name in (*pool_kind.FIXED_FIELDS, *pool_kind.MOVING_FIELDS)
        if name in changed
        and not all(
            pool_kind.is_settable(one, name) for one in (before, after)
        )
    ]


def _moved(
    before: ceph_state.Pool,
    after: ceph_state.Pool,
    *,
    ceph: ceph_state.CephState,
    usage: usages.ClusterUsage,
    earlier: capacity.Added,
    why: str,
    steered: bool,
) -> tuple[Effect, capacity.Added]:
    """Return the effect of a change that moves data.

    The used bytes in `df` include padding and omap and are those of all
    copies, so a further copy takes as much as each existing one.
    """
    one_copy = usage.pools[before.name].used_bytes / before.size
    rules = [
        ceph.crush_rules.get(name)
        for name in (before.crush_rule, after.crush_rule)
    ]
    old, new = (
        data_movement.shares_of(
            rule, osds=ceph.osds, usage=usage, size=pool.size
        )
        for rule, pool in zip(rules, (before, after), strict=True)
    )
    same_rule = before.crush_rule == after.crush_rule or _alike(*rules)
    kept = (
        0.0
        if steered
        else _copies_kept(
            before, after, rules=rules, shares=(old, new), osds=ceph.osds
        )
    )
    # Rounding can make the sum of chances exceed all copies.
    moved = one_copy * max(0.0, after.size - kept)
    grown = one_copy * (after.size - before.size)
    added = {
        osd_id: one_copy
        * (after.size * new.get(osd_id, 0) - before.size * old.get(osd_id, 0))
        for osd_id in (*old, *(one for one in new if one not in old))
    }
    if same_rule:
        added = {osd_id: grown * share for osd_id, share in old.items()}
    estimated = bool(old and new) and (
        same_rule
        or (both := _of_one_tree(*rules)) is None
        or (before.kind != 'erasure' and _are_of_one_level(*both))
    )
    statements = [
        _told(
            moved,
            grown,
            why=why,
            bound=steered
            or not estimated
            and kept < min(before.size, after.size),
        )
    ]
    if grown and same_rule:
        raw = usage.pools[before.name].max_avail_bytes * before.size - grown
        statements.append(
            f'room for about {units.size_text(max(raw, 0) / after.size)} more'
        )
    problems: tuple[str, ...] = ()
    if rules[1] and new and any(added.values()):
        room = capacity.change(
            rules[1], shares=new, usage=usage, earlier=earlier, added=added
        )
        if room.passes in _PROBLEMS:
            problems = (f'{room}: {_PROBLEMS[room.passes]}',)
        else:
            statements.append(str(room))
    return Effect(
        bytes_to_move=round(moved),
        bytes_added=round(grown),
        statements=tuple(statements),
        problems=problems,
    ), added


def _copies_kept(
    before: ceph_state.Pool,
    after: ceph_state.Pool,
    *,
    rules: list[ceph_state.CrushRule | None],
    shares: tuple[data_movement.Shares, data_movement.Shares],
    osds: tuple[ceph_state.Osd, ...],
) -> float:
    """Return how many of the copies stay where they are.

    Those of placement groups with the same number stay as far as the rule
    allows; the others stay by chance.
    """
    size = min(before.size, after.size)
    chance = data_movement.copies_kept_by_chance(
        *shares,
        size_before=before.size,
        size_after=after.size,
        ordered=before.kind == 'erasure',
    )
    stay = chance
    if before.crush_rule == after.crush_rule or _alike(*rules):
        stay = float(size)
    elif (
        (both := _of_one_tree(*rules))
        and shares[0]
        and before.kind == 'replicated'
        and _are_of_one_level(*both)
    ):
        stay = data_movement.copies_kept_by_tree(
            shares[0],
            osds=osds,
            size=size,
            domains=(both[0].failure_domain, both[1].failure_domain),
        )
    if not before.pg_num or not after.pg_num:
        return stay
    share = data_movement.kept_by_pg_num(before.pg_num, after.pg_num)
    return share * stay + (1 - share) * chance


def _of_one_tree(
    old: ceph_state.CrushRule | None, new: ceph_state.CrushRule | None
) -> tuple[ceph_state.CrushRule, ceph_state.CrushRule] | None:
    """Return both rules if they take the same OSDs of the same tree."""
    if (
        old is not None
        and new is not None
        and old.root is not None
        and (old.kind, old.root, old.device_class, old.primary_device_class)
        == (new.kind, new.root, new.device_class, new.primary_device_class)
    ):
        return old, new
    return None


def _are_of_one_level(*rules: ceph_state.CrushRule) -> bool:
    """Return whether rules place one copy or chunk per failure domain."""
    return all(one.sub_failure_domain is None for one in rules)


def _alike(
    old: ceph_state.CrushRule | None, new: ceph_state.CrushRule | None
) -> bool:
    """Return whether two rules differ only in their names.

    Placement follows from the steps of a rule, not from its name.
    """
    both = _of_one_tree(old, new)
    return both is not None and not difference.differences(*both)


def _told(moved: float, grown: float, *, why: str, bound: bool) -> str:
    """Describe the bytes that move, and those that the pool grows by.

    :param bound: whether `moved` is an upper bound.
    """
    parts = ['moves nothing']
    if moved:
        parts = [
            f'moves {"up to" if bound else "about"} {units.size_text(moved)}'
        ]
    if grown > 0:
        parts.append(f'takes about {units.size_text(grown)} more')
    elif grown:
        parts.append(f'frees about {units.size_text(-grown)}')
    return f'{", ".join(parts)} ({why})'
