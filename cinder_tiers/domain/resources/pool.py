# SPDX-License-Identifier: Apache-2.0

"""Pools: the rules between their settings, their plan and its refusals.

This module alone defines which changes move data. Pure.
"""

import collections.abc
import dataclasses
import shlex
import typing

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import crush
from cinder_tiers.domain.resources import erasure_code
from cinder_tiers.domain.resources import kind as kinds
from cinder_tiers.domain.resources import known_safe
from cinder_tiers.domain.resources import pg_budget
from cinder_tiers.domain.resources import pool_options
from cinder_tiers.domain.resources import rbd_options
from cinder_tiers.domain.resources import safety
from cinder_tiers.domain.resources import tier_pools
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import difference
from cinder_tiers.domain.state import usage as usages
from cinder_tiers.domain import units

#: Fields of an existing pool that Ceph can change, which moves its data.
MOVING_FIELDS = ('size', 'pg_num', 'crush_rule')
#: Fields that Ceph never changes.
FIXED_FIELDS = ('kind', 'erasure_code_profile', 'stripe_width_bytes')
#: Fields from which the autoscaler chooses pg_num.
STEERS_AUTOSCALER = frozenset(
    f'options.{name}' for name in pool_options.STEERS_AUTOSCALER
)

Problems = kinds.Problems
_Rules = collections.abc.Mapping[str, ceph_state.CrushRule]
_DATA_POOL = 'rbd_default_data_pool'


def check(catalog: catalogs.Catalog) -> Problems:
    """Yield all problems between the settings of pools."""
    for tier in catalog.ceph_tiers:
        place = ('tiers', tier.name, 'rbd')
        written = frozenset(
            name
            for name in ('device_class', 'erasure_coded')
            if (*place, name) in catalog.source.lines
        )
        for name, found, expected, remedy in _faults(tier.rbd, written):
            yield errors.Problem(
                where=catalog.source.where(('tiers', tier.name, 'rbd', *name)),
                found=f'{".".join(name)} of tier {tier.name!r}: {found}',
                expected=expected,
                remedy=remedy,
            )


def _faults(
    rbd: catalogs.RbdPool,
    written: frozenset[str],
) -> collections.abc.Iterator[tuple[tuple[str, ...], str, str, str]]:
    """Yield (place, found, expected, remedy) of each problem.

    :param written: device_class and erasure_coded if the file has them, even
        with an invalid value.
    """
    options = rbd.options
    yield from _names_of_drafts(rbd)
    if rbd.device_class is None and 'device_class' not in written:
        yield from _without_class(rbd)
    for name, value in options.items():
        try:
            pool_options.normal(name, value)
        except ValueError as error:
            yield ('pool_options', name), repr(value), str(error), 'fix it'
        if name in pool_options.STEERS_AUTOSCALER and rbd.pg_num is not None:
            yield (
                ('pool_options', name),
                f'{value!r} together with pg_num {rbd.pg_num}',
                (
                    'only one of them: pg_num turns off the autoscaler, '
                    'which this setting is for'
                ),
                'remove one of them',
            )
    if {'target_size_bytes', 'target_size_ratio'} <= options.keys():
        yield (
            ('pool_options', 'target_size_bytes'),
            'it is declared together with target_size_ratio',
            'one of them; Ceph uses the ratio only',
            'remove one of them',
        )
    low, high = options.get('pg_num_min'), options.get('pg_num_max')
    if _is_number(low) and _is_number(high) and 0 < high < low:
        yield (
            ('pool_options', 'pg_num_max'),
            f'{high} is below pg_num_min {low}',
            f'{low} or more',
            'raise it',
        )
    for name in pool_options.OF_ERASURE_CODE:
        if options.get(name) is True and isinstance(
            rbd.protection, catalogs.Replicated
        ):
            yield (
                ('pool_options', name),
                'the pool is replicated',
                'an erasure coded pool; it has no effect on others',
                'remove it',
            )
    if options.get(pool_options.EC_OPTIMIZATIONS) is True and isinstance(
        rbd.protection, catalogs.ErasureCoded
    ):
        yield from _of_optimizations(rbd.protection)
    if rbd.primary_device_class is not None:
        yield from _of_primary_class(rbd, written)
    if rbd.data_pool_name is not None:
        yield from _of_data_pool(rbd, written)
    yield from _of_rbd_options(rbd)


def _of_rbd_options(
    rbd: catalogs.RbdPool,
) -> collections.abc.Iterator[tuple[tuple[str, ...], str, str, str]]:
    for name, found, expected, remedy in rbd_options.faults(rbd.rbd_options):
        yield ('rbd_options', name), found, expected, remedy
    if _DATA_POOL in rbd.rbd_options:
        yield (
            ('rbd_options', _DATA_POOL),
            repr(rbd.rbd_options[_DATA_POOL]),
            'nothing: erasure_coded sets it',
            'remove it',
        )


def _of_optimizations(
    protection: catalogs.ErasureCoded,
) -> collections.abc.Iterator[tuple[tuple[str, ...], str, str, str]]:
    if not erasure_code.has_optimizations(protection):
        yield (
            ('pool_options', pool_options.EC_OPTIMIZATIONS),
            f'true with plugin {protection.plugin} and technique '
            f'{protection.technique}',
            f'technique {erasure_code.REED_SOLOMON}; Ceph accepts it with '
            'no other',
            f'remove it, or change technique to {erasure_code.REED_SOLOMON}',
        )


def _of_primary_class(
    rbd: catalogs.RbdPool,
    written: frozenset[str],
) -> collections.abc.Iterator[tuple[tuple[str, ...], str, str, str]]:
    place, found = ('primary_device_class',), repr(rbd.primary_device_class)
    if rbd.device_class is None and 'device_class' not in written:
        yield (
            place,
            f'{found} without device_class',
            'device_class as well, for the other copies',
            'add device_class',
        )
    elif rbd.device_class == rbd.primary_device_class:
        yield (
            place,
            f'{found}, the same class as device_class',
            'a class other than that of the other copies',
            'remove primary_device_class',
        )
    if isinstance(rbd.protection, catalogs.ErasureCoded):
        yield (
            place,
            f'{found} with erasure_coded',
            'replicated: the primary OSD of an erasure coded pool has no '
            'whole copy',
            'remove primary_device_class',
        )
    elif rbd.protection.size == 1:
        yield (
            place,
            f'{found} with size 1',
            'a size of 2 or more',
            'name the class in device_class',
        )


def _of_data_pool(
    rbd: catalogs.RbdPool,
    written: frozenset[str],
) -> collections.abc.Iterator[tuple[tuple[str, ...], str, str, str]]:
    if (
        isinstance(rbd.protection, catalogs.Replicated)
        and 'erasure_coded' not in written
    ):
        yield (
            ('data_pool',),
            f'{rbd.data_pool_name!r} with replicated',
            'erasure_coded; a replicated tier stores its data in the pool '
            'that the key pool names',
            'remove data_pool',
        )
    elif rbd.data_pool_name == rbd.pool:
        yield (
            ('data_pool',),
            f'{rbd.data_pool_name!r}, the same pool as the key pool',
            'another pool: RBD stores image headers in a replicated pool',
            'name another pool',
        )


def _names_of_drafts(
    rbd: catalogs.RbdPool,
) -> collections.abc.Iterator[tuple[tuple[str, ...], str, str, str]]:
    for name in filter(is_draft, rbd.pools):
        yield (
            ('pool',),
            repr(name),
            f'a name that does not end in {_DRAFT!r}: apply gives such names '
            'to pools until they are complete',
            'choose another name',
        )


def _without_class(
    rbd: catalogs.RbdPool,
) -> collections.abc.Iterator[tuple[tuple[str, ...], str, str, str]]:
    """Yield settings for the OSDs of a class that is not declared."""
    for name, is_there, what, done in (
        (
            'osd_options',
            bool(rbd.osd_options),
            'options of OSDs',
            'options are set for',
        ),
        (
            'primary_affinity',
            rbd.primary_affinity is not None,
            'an affinity of OSDs',
            'it is set for',
        ),
        (
            'osd_requirements',
            rbd.osd_requirements is not None,
            'requirements of OSDs',
            'audit compares them with',
        ),
    ):
        if is_there:
            yield (
                (name,),
                f'{what} without a device_class',
                f'device_class as well: {done} the OSDs of a class',
                f'add device_class, or remove {name}',
            )


def _is_number(
    value: catalogs.Value | None,
) -> typing.TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def plan(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> kinds.Actions:
    """Yield actions on the pools of a cluster, tier by tier."""
    declared = [
        (tier, crush.pools_in(tier.rbd, ceph))
        for tier in catalog.tiers_of(cluster.name)
    ]
    rules = {
        **ceph.crush_rules,
        **{
            rule.name: rule
            for _, wanted in declared
            for rule in wanted.crush_rules
        },
    }
    budget = pg_budget.Budget(ceph, rules)
    for tier, wanted in declared:
        for pool in wanted.pools:
            yield from _action(
                cluster.name, pool, f'tier {tier.name}', ceph, rules, budget
            )


def _unsafe(
    before: ceph_state.Pool | None,
    after: ceph_state.Pool,
    ceph: ceph_state.CephState,
) -> collections.abc.Iterator[actions.Refusal]:
    """Yield options not known to be safe, and small quotas of new pools."""
    yield from safety.refusals(
        text for *_, text in safety.of_pool(before, after)
    )
    if before is None:
        yield from _refusals_of_quotas(None, after, ceph.usage)


def _too_new(
    wanted: ceph_state.Pool, ceph: ceph_state.CephState
) -> actions.Refusal | None:
    """Return a refusal of settings that the cluster's release lacks."""
    lacking = [
        f'{name} (Ceph {since})'
        for name, since in pool_options.SINCE.items()
        if wanted.options.get(name) == 'true'
        and ceph.release is not None
        and ceph.release < since
    ] + [
        f'{name} (Ceph {since})'
        for name, since in rbd_options.SINCE.items()
        if name in wanted.rbd_options
        and ceph.release is not None
        and ceph.release < since
    ]
    if not lacking:
        return None
    return actions.Refusal(
        reason=f'the cluster, of Ceph {ceph.release}, does not have '
        f'{", ".join(lacking)}',
        remedy='remove it, or upgrade the cluster first',
    )


def _action(
    cluster: str,
    wanted: ceph_state.Pool,
    why: str,
    ceph: ceph_state.CephState,
    rules: _Rules,
    budget: pg_budget.Budget,
) -> collections.abc.Iterator[actions.Action]:
    def key(kind: actions.Kind, name: str) -> actions.Key:
        return actions.Key(kind=kind, cluster=cluster, name=name)

    needs = {key(actions.Kind.CRUSH_RULE, wanted.crush_rule)}
    if wanted.erasure_code_profile:
        needs.add(
            key(actions.Kind.ERASURE_CODE_PROFILE, wanted.erasure_code_profile)
        )
    if wanted.rbd_default_data_pool:
        needs.add(key(actions.Kind.POOL, wanted.rbd_default_data_pool))
    before = ceph.pools.get(wanted.name)
    after = wanted
    if before is None:
        after = dataclasses.replace(wanted, min_size=wanted.first_min_size)
    elif (
        wanted.min_size is None
        and wanted.least_min_size is not None
        and before.min_size is not None
        and (
            before.min_size < wanted.least_min_size
            or before.size != wanted.size
        )
    ):
        # Ceph chooses a min_size with each size, which an interrupted apply
        # leaves behind.
        after = dataclasses.replace(
            wanted,
            min_size=max(
                wanted.least_min_size, min(before.min_size, wanted.size)
            ),
        )
    if before is not None:
        after = dataclasses.replace(
            after,
            applications=before.applications | wanted.applications,
            is_rule_first=_is_rule_first(before, after, rules),
        )
        if not difference.differences(before, after):
            return
    yield actions.Action(
        key=key(actions.Kind.POOL, wanted.name),
        before=before,
        after=after,
        why=why,
        notes=(
            (f'finishes pool {draft_name(wanted.name)}',)
            if before is None and draft_name(wanted.name) in ceph.pools
            else ()
        ),
        needs=frozenset(needs),
        refusal=actions.joined(
            (
                *filter(
                    None,
                    (
                        _refusal(
                            before,
                            after,
                            ceph,
                            has_min_size=wanted.min_size is not None,
                        )
                        if before
                        else _refusal_of_draft(after, ceph),
                        budget.refusal_of(before, after),
                        _too_new(after, ceph),
                    ),
                ),
                *_unsafe(before, after, ceph),
            )
        ),
    )


def _is_rule_first(
    before: ceph_state.Pool,
    after: ceph_state.Pool,
    rules: _Rules,
) -> bool:
    """Return whether the rule must change before the size is lowered.

    A rule that places several copies in each failure domain fills one after
    the other, so two copies of four would be in one of them. Under the new
    rule, the copies that stay are placed before the size changes, and I/O
    continues with them.

    :param rules: rules of the cluster, and those that are created first.
    """
    old, new = (rules.get(one.crush_rule) for one in (before, after))
    return (
        old is not None
        and new is not None
        and after.size < before.size
        and (before.min_size or 1) <= after.size
        and old.failure_domains_for(after.size)
        < min(
            old.failure_domains_for(before.size),
            new.failure_domains_for(after.size),
        )
    )


_DRAFT = '.tiers-new'


def draft_name(name: str) -> str:
    """Return the name of a new pool until it has its settings and marker.

    So a pool without the marker was not left by `apply`.

    >>> draft_name('tier-database')
    'tier-database.tiers-new'

    :param name: final name of the pool.
    """
    return f'{name}{_DRAFT}'


def is_draft(name: str) -> bool:
    """Return whether a pool has the name of one that `apply` is creating."""
    return name.endswith(_DRAFT)


def draft_of(
    wanted: ceph_state.Pool, found: ceph_state.Pool | None
) -> ceph_state.Pool:
    """Return a new pool in its state before it gets its final name.

    :param wanted: pool with its final name.
    :param found: half-made pool of an interrupted apply, perhaps of another
        tiers file; options that only that file set are reset to those of a new
        pool. None if there is no such pool.
    :returns: pool with the name `draft_name`, without the settings that Ceph
        keeps in objects of the pool.
    """
    left = {
        name: pool_options.of_new_pool(name)
        for name in (found.options if found else {})
        if name not in pool_options.OF_THE_CLUSTER
    }
    return dataclasses.replace(
        wanted,
        name=draft_name(wanted.name),
        rbd_default_data_pool=None,
        options={**left, **wanted.options},
        rbd_options={},
    )


def why_not_finished(
    found: ceph_state.Pool,
    wanted: ceph_state.Pool,
    usage: usages.ClusterUsage | usages.Unknown,
) -> tuple[str, str] | None:
    """Return why a half-made pool of an interrupted apply cannot be used.

    The tiers file may have changed since, and Ceph cannot change some fields
    of a pool, even if the pool is empty.

    :param found: pool with the name `draft_name`.
    :param wanted: pool that it should become.
    :param usage: usage of the cluster.
    :returns: (reason, remedy); None if it can be finished.
    """
    name = found.name
    foreign = found.applications - {'rbd'}
    if foreign:
        return (
            f'pool {name} is used by {", ".join(sorted(foreign))}, while '
            'apply makes a new pool under that name',
            'rename that pool',
        )
    held = usages.of_pool(usage, name)
    if isinstance(held, usages.PoolUsage) and held.objects:
        return (
            f'pool {name} is not empty (objects: {held.objects}), unlike a '
            'pool that an interrupted apply leaves under that name',
            f'see what they are with "rados -p {shlex.quote(name)} ls", and '
            'rename that pool, or delete it if they are not needed',
        )
    moving = [
        one
        for one in difference.differences(found, draft_of(wanted, found))
        if one.field in (*MOVING_FIELDS, *FIXED_FIELDS)
    ]
    changes = ', '.join(
        f'{one.field} {one.before} instead of {one.after}' for one in moving
    )
    if any(not is_settable(found, one.field) for one in moving):
        return (
            f'an interrupted apply left pool {name} with {changes}, which '
            'Ceph does not change',
            f'delete that pool, which is empty: {deletion(name)}'
            if isinstance(held, usages.PoolUsage)
            else f'see that "rados -p {shlex.quote(name)} ls" shows nothing, '
            f'and delete that pool: {deletion(name)}',
        )
    # Ceph has no statistics of a pool that was just created.
    if isinstance(held, usages.Unknown) and (moving or held is usage):
        return (
            f'pool {name} has the name that apply gives a pool until it is '
            'complete, and whether it holds objects could not be determined: '
            f'{held.reason}',
            'apply again when the manager of the cluster reports its pools',
        )
    return None


def deletion(name: str) -> str:
    """Return the command that deletes a pool."""
    word = shlex.quote(name)
    return f'ceph osd pool delete {word} {word} --yes-i-really-really-mean-it'


def _refusal_of_draft(
    wanted: ceph_state.Pool, ceph: ceph_state.CephState
) -> actions.Refusal | None:
    """Return the refusal of a new pool that its half-made one blocks."""
    found = ceph.pools.get(draft_name(wanted.name))
    why = found and why_not_finished(found, wanted, ceph.usage)
    if not why:
        return None
    reason, remedy = why
    return actions.Refusal(reason=reason, remedy=remedy)


def moves_data(before: ceph_state.Pool, field: str) -> bool:
    """Return whether a change of a field moves or rewrites data of a pool.

    :param before: existing pool.
    :param field: field of a `Difference`.
    """
    return (
        field in MOVING_FIELDS
        or field in FIXED_FIELDS
        or (field in STEERS_AUTOSCALER and before.pg_autoscale_mode == 'on')
    )


def is_settable(before: ceph_state.Pool, field: str) -> bool:
    """Return whether Ceph can change this field that moves data.

    :param before: existing pool.
    :param field: field of a `Difference`.
    """
    if field in STEERS_AUTOSCALER:
        return before.kind in ('replicated', 'erasure')
    if field == 'size':
        return before.kind == 'replicated'
    return field in MOVING_FIELDS and before.kind in ('replicated', 'erasure')


def full_quotas(
    before: ceph_state.Pool | None,
    after: ceph_state.Pool,
    usage: usages.ClusterUsage | usages.Unknown,
) -> collections.abc.Iterator[str]:
    """Yield the quotas that would stop all writes to a pool, now or soon.

    Ceph treats a pool that has reached its quota as full (OSDMonitor.cc).

    :param before: existing pool; None if it will be created.
    :param after: declared pool.
    :param usage: usage of the cluster. If the usage of a pool is unknown, its
        quotas are reported as well.
    :returns: a statement for each quota.
    """
    old = before.options if before else {}
    for name in sorted(pool_options.QUOTAS & after.options.keys()):
        quota = int(after.options[name])
        if not quota or after.options[name] == old.get(name):
            continue
        if before is None:
            stored = 0
        elif isinstance(
            used := usages.of_pool(usage, before.name), usages.Unknown
        ):
            yield (
                f'{name} may be below what the pool stores, which could not '
                f'be determined: {used.reason}'
            )
            continue
        else:
            stored = (
                used.stored_bytes
                if name == 'quota_max_bytes'
                else used.objects
            )
        found = full_quota(name, quota, stored)
        if found:
            yield found


def full_quota(name: str, quota: int, stored: int) -> str | None:
    """Return why a quota stops all writes to its pool, now or soon.

    :param name: one of `pool_options.QUOTAS`.
    :param quota: quota in bytes or objects, not 0.
    :param stored: content of the pool, in bytes or objects like the quota.
    :returns: a statement; None if the quota leaves enough room.
    """
    text, least_room = (
        (units.size_text, known_safe.LEAST_ROOM_BYTES)
        if name == 'quota_max_bytes'
        else ('{} objects'.format, known_safe.LEAST_ROOM_OBJECTS)
    )
    if quota <= stored:
        return (
            f'{name} of {text(quota)} is not above the {text(stored)} '
            'that the pool stores: Ceph would stop all writes to the pool'
        )
    room = quota - stored
    if room < least_room or stored > known_safe.NEARLY_FULL * quota:
        return (
            f'{name} of {text(quota)} leaves room for {text(room)} beside the '
            f'{text(stored)} that the pool stores, less than '
            f'{text(least_room)} or {1 - known_safe.NEARLY_FULL:.0%} of it: '
            'Ceph stops all writes to the pool when it is reached'
        )
    return None


def _refusal(
    before: ceph_state.Pool,
    after: ceph_state.Pool,
    ceph: ceph_state.CephState,
    *,
    has_min_size: bool,
) -> actions.Refusal | None:
    """Return why an existing pool may not be changed.

    :param has_min_size: whether the tiers file has a min_size.
    """
    usage = ceph.usage
    refusals = []
    foreign = before.applications - {'rbd'}
    if foreign:
        refusals.append(
            actions.Refusal(
                reason=f'the pool is used by {", ".join(sorted(foreign))}',
                remedy='name another pool in the tiers file',
            )
        )
    elif not before.managed:
        refusals.append(
            actions.Refusal(
                reason=(
                    'the pool exists and does not have the ownership marker '
                    f'({ceph_state.OWNERSHIP_KEY}='
                    f'{ceph_state.OWNERSHIP_VALUE} in the metadata of its '
                    'application rbd), so it may belong to another service'
                ),
                remedy='name another pool in the tiers file',
                yields_to_consent=True,
            )
        )
    moving = [
        one
        for one in difference.differences(before, after)
        if moves_data(before, one.field)
    ]
    if moving:
        changes = ', '.join(
            f'{one.field} {one.before} -> {one.after}' for one in moving
        )
        can_be_set = all(is_settable(before, one.field) for one in moving)
        refusals.append(
            actions.Refusal(
                reason=(
                    'it would move or rewrite data of an existing '
                    f'pool: {changes}'
                    + (
                        '; fewer failed disks would lose data'
                        if after.size < before.size
                        else ''
                    )
                ),
                remedy='declare the current settings in the tiers file'
                + (
                    ''
                    if can_be_set
                    else ', or name another pool and retype the volumes'
                ),
                yields_to_consent=can_be_set,
            )
        )
    if (
        before.min_size is not None
        and after.min_size is not None
        and before.min_size != after.min_size
    ):
        refusals.append(
            _refusal_of_min_size(before.min_size, after.min_size, has_min_size)
        )
    refusals.extend(_refusals_of_data_pool(before, after, ceph))
    refusals.extend(_refusals_of_ec_optimizations(before, after))
    refusals.extend(_refusals_of_quotas(before, after, usage))
    return actions.joined(refusals)


def _refusals_of_quotas(
    before: ceph_state.Pool | None,
    after: ceph_state.Pool,
    usage: usages.ClusterUsage | usages.Unknown,
) -> collections.abc.Iterator[actions.Refusal]:
    for statement in full_quotas(before, after, usage):
        yield actions.Refusal(
            reason=statement,
            remedy='raise the quota far above what is stored, or remove it',
            yields_to_consent=True,
        )


def _refusals_of_data_pool(
    before: ceph_state.Pool,
    after: ceph_state.Pool,
    ceph: ceph_state.CephState,
) -> collections.abc.Iterator[actions.Refusal]:
    """Yield refusals of a change of the pool that holds the data.

    If a data pool exists and is only no longer set, it is set again without a
    refusal.
    """
    old, new = before.rbd_default_data_pool, after.rbd_default_data_pool
    is_set_again = old is None and new in ceph.pools
    if old == new or is_set_again:
        return
    yield actions.Refusal(
        reason='new RBD images would store their data in pool '
        f'{new or before.name}, while existing ones keep it in '
        f'pool {old or before.name}',
        remedy='declare the current settings in the tiers file, or name '
        'another pool and retype the volumes',
        yields_to_consent=True,
    )


def _refusals_of_ec_optimizations(
    before: ceph_state.Pool, after: ceph_state.Pool
) -> collections.abc.Iterator[actions.Refusal]:
    name = f'options.{pool_options.EC_OPTIMIZATIONS}'
    for one in difference.differences(before, after):
        if one.field != name:
            continue
        is_on = one.before == 'true'
        yield actions.Refusal(
            reason=f'Ceph never switches {pool_options.EC_OPTIMIZATIONS} off '
            'again' + ('' if is_on else ', once it is on in an existing pool'),
            remedy='declare the current settings in the tiers file',
            yields_to_consent=not is_on,
        )


def _refusal_of_min_size(
    before: int, after: int, is_declared: bool
) -> actions.Refusal:
    effect = (
        'Ceph would acknowledge writes with fewer copies or chunks of them'
        if after < before
        else 'I/O would stop wherever fewer copies or chunks are available'
    )
    return actions.Refusal(
        reason=f'it would change min_size of an existing pool, {before}'
        f' -> {after}: {effect}'
        + (
            ''
            if is_declared or after < before
            else f'; with {before}, a write may be lost with one disk'
        ),
        remedy='remove min_size from the tiers file, which leaves it as it is'
        if is_declared
        else f'declare min_size: {before} and unprotected_writes: true '
        'in the tiers file',
        yields_to_consent=True,
    )


POOL = kinds.ResourceKind(
    kind=actions.Kind.POOL,
    resource=ceph_state.Pool,
    state_field='pools',
    plan=kinds.for_each_cluster(plan),
    tiers_affected=tier_pools.tiers_affected,
    check=check,
)
