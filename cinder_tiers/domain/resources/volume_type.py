# SPDX-License-Identifier: Apache-2.0

"""Volume types: the wanted types, the plan and its refusals.

Pure. A volume type without the ownership marker is not managed.
"""

import collections.abc
import dataclasses
import types

from cinder_tiers.domain.card import card as cards
from cinder_tiers.domain.card import description as descriptions
from cinder_tiers.domain.card import fingerprint
from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain.catalog import fio_patterns
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import default_access
from cinder_tiers.domain.resources import kind as kinds
from cinder_tiers.domain.resources import qos_spec as qos_spec_kind
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import difference
from cinder_tiers.domain.state import type_opening
from cinder_tiers.domain.state import type_succession
from cinder_tiers.domain import tags

_Clusters = collections.abc.Mapping[str, ceph_state.CephState]


def plan(
    catalog: catalogs.Catalog, actual: actual_state.ActualState
) -> kinds.Actions:
    """Yield actions that set the volume types of the catalog.

    :returns: actions for tiers in the order of the file, but a tier to which
        another overflows before that, each with its retired types; then for
        types that follow the image, then for managed types that the catalog
        does not have.
    """
    volume_types, projects = actual.cinder.volume_types, actual.projects
    alike = {
        cinder_state.as_databases_compare(name): name for name in volume_types
    }
    for tier in _targets_first(catalog):
        before = volume_types.get(tier.type_name)
        if not tier.take_over:
            if before is not None and before.is_ours:
                yield _not_taken_over(catalog, tier, before)
            continue
        after = _tier_type(
            catalog,
            tier,
            before,
            frozenset().union(*(projects[name] for name in tier.projects)),
            ceph=actual.ceph,
        )
        yield from _action(
            before,
            after,
            why=f'tier {tier.name}',
            stale=stale_card(catalog, tier, before, actual.ceph),
            mark=f'{cinder_state.NAME}={tier.name}',
            needs=_needs(catalog, tier),
            may_open=tier.access is not None,
            standby=volume_types.get(
                type_succession.standby_name(tier.type_name)
            ),
            alike=alike.get(cinder_state.as_databases_compare(tier.type_name)),
            renamed=_under_another_name(tier, volume_types),
            default_of=default_access.left_as_they_are(
                catalog, actual.cinder, projects, tier.type_name
            ),
        )
        yield from _narrowed(catalog, tier, after, actual)
    for name in catalog.follow_image_types:
        before = volume_types.get(name)
        yield from _action(
            before,
            _follow_image_type(name, before),
            why='follows the image',
            mark=f'{cinder_state.FOLLOW_IMAGE}={cinder_state.TRUE}',
            standby=volume_types.get(type_succession.standby_name(name)),
            alike=alike.get(cinder_state.as_databases_compare(name)),
        )
    for name in undeclared(catalog, volume_types):
        yield _undeclared(volume_types[name])


def undeclared(
    catalog: catalogs.Catalog,
    volume_types: collections.abc.Mapping[str, cinder_state.VolumeType],
) -> tuple[str, ...]:
    """Return managed types that the catalog neither has nor waits for.

    :param volume_types: {name: volume type} of all existing types.
    """
    declared = set(catalog.volume_types)
    # Types of an interrupted apply, which the next one continues.
    waiting = {
        type_succession.standby_name(name)
        for name in (
            *changing_extra_specs(catalog=catalog, volume_types=volume_types),
            *(
                name
                for name in declared - volume_types.keys()
                if _has_standby(catalog, name, volume_types)
            ),
        )
    }
    return tuple(
        name
        for name, volume_type in volume_types.items()
        if volume_type.is_ours
        and name not in declared | waiting
        and type_succession.successor_of(name) is None
    )


def _has_standby(
    catalog: catalogs.Catalog,
    name: str,
    volume_types: collections.abc.Mapping[str, cinder_state.VolumeType],
) -> bool:
    """Return whether a standby type waits for a name that does not exist."""
    standby = volume_types.get(type_succession.standby_name(name))
    tier = catalog.tier_of_type(name)
    return standby is not None and type_succession.is_ready(
        standby, volume_type_of(tier) if tier else follow_image_type(name)
    )


def _under_another_name(
    tier: catalogs.Tier,
    volume_types: collections.abc.Mapping[str, cinder_state.VolumeType],
) -> str | None:
    """Return the name of a tier's volume type if it is another name."""
    return next(
        (
            name
            for name, one in sorted(volume_types.items())
            if one.extra_specs.get(cinder_state.NAME) == tier.name
            and type_succession.owner_of(name) == name != tier.type_name
        ),
        None,
    )


def _narrowed(
    catalog: catalogs.Catalog,
    tier: catalogs.Tier,
    wanted: cinder_state.VolumeType,
    actual: actual_state.ActualState,
) -> collections.abc.Iterator[actions.Action]:
    """Yield actions that close retired types to projects without the tier.

    Retired types of other types stay as they are: a type that follows the
    image is public, and for a tier that is not declared or not managed,
    nothing defines who may use it.

    :param wanted: declared type of the tier.
    """
    for before in actual.cinder.volume_types.values():
        if (
            before.is_ours
            and type_succession.successor_of(before.name) == wanted.name
        ):
            yield from _action(
                before,
                type_succession.narrowed(before, wanted),
                why=f'retired type of tier {tier.name}',
                mark='',
                standby=None,
                continues=actions.Key(
                    kind=actions.Kind.VOLUME_TYPE, name=wanted.name
                ),
                default_of=default_access.left_as_they_are(
                    catalog, actual.cinder, actual.projects, before.name
                ),
            )


def types_whose_usage_matters(
    catalog: catalogs.Catalog, cinder: cinder_state.CinderState
) -> frozenset[str]:
    """Return types that change or are removed only if nothing uses them."""
    volume_types = cinder.volume_types
    kept = {
        *(tier.type_name for tier in catalog.ours),
        *catalog.follow_image_types,
    }
    return changing_extra_specs(catalog=catalog, volume_types=volume_types) | {
        name
        for name, one in volume_types.items()
        if one.is_ours
        and name not in kept
        and type_succession.successor_of(name) is None
    }


def changing_extra_specs(
    *,
    catalog: catalogs.Catalog,
    volume_types: collections.abc.Mapping[str, cinder_state.VolumeType],
) -> frozenset[str]:
    """Return existing types whose extra specs differ from the catalog's.

    :param volume_types: {name: volume type} of all existing types.
    """
    wanted = {
        tier.type_name: _tier_type(
            catalog, tier, volume_types.get(tier.type_name), frozenset()
        )
        for tier in catalog.ours
    }
    wanted.update(
        {
            name: _follow_image_type(name, volume_types.get(name))
            for name in catalog.follow_image_types
        }
    )
    return frozenset(
        name
        for name, one in wanted.items()
        if name in volume_types
        and volume_types[name].extra_specs != one.extra_specs
    )


def extra_specs_of(
    catalog: catalogs.Catalog,
    tier: catalogs.Tier,
    before: cinder_state.VolumeType | None,
) -> collections.abc.Mapping[str, str]:
    """Return the extra specs that the volume type of a tier should have.

    :param before: existing type; None if it does not exist.
    """
    return _tier_type(catalog, tier, before, frozenset()).extra_specs


def _targets_first(
    catalog: catalogs.Catalog,
) -> tuple[catalogs.Tier, ...]:
    """Return tiers, each after the tier to which it overflows."""
    ordered: dict[str, catalogs.Tier] = {}
    for tier in catalog.tiers:
        chain: dict[str, catalogs.Tier] = {}
        one: catalogs.Tier | None = tier
        while one and one.name not in chain and one.name not in ordered:
            chain[one.name] = one
            one = catalog.tier(one.overflow)
        ordered.update(reversed(chain.items()))
    return tuple(ordered.values())


def _needs(
    catalog: catalogs.Catalog, tier: catalogs.Tier
) -> frozenset[actions.Key]:
    """Return the pools that must exist before a type offers them."""
    needs = set()
    for one in (tier, catalog.tier(tier.overflow)):
        if not isinstance(one, catalogs.CephTier):
            continue
        cluster = catalog.clusters[one.rbd.cluster]
        needs |= {
            actions.Key(
                kind=actions.Kind.POOL, cluster=cluster.name, name=pool
            )
            for pool in one.rbd.pools
        }
        if one.rbd.cache:
            needs.add(
                actions.Key(
                    kind=actions.Kind.CACHE_TIER,
                    cluster=cluster.name,
                    name=one.rbd.data_pool,
                )
            )
        needs.add(
            actions.Key(
                kind=actions.Kind.CEPHX_USER,
                cluster=cluster.name,
                name=f'client.{cluster.cinder_user}',
            )
        )
    return frozenset(needs)


def _tier_type(
    catalog: catalogs.Catalog,
    tier: catalogs.Tier,
    before: cinder_state.VolumeType | None,
    projects: frozenset[str],
    *,
    ceph: _Clusters = types.MappingProxyType({}),
) -> cinder_state.VolumeType:
    wanted = volume_type_of(
        tier, overflow=catalog.tier(tier.overflow), projects=projects
    )
    if before is None:
        return wanted
    return dataclasses.replace(
        wanted,
        extra_specs=_with_foreign(before, wanted),
        description=descriptions.write(
            card_of(catalog, tier, before, ceph=ceph)
        ),
    )


def promise_of(tier: catalogs.Tier) -> expectations.Expectations:
    """Return the promise of a card: expectations of guests, not of a watch."""
    return {
        pattern: limits
        for pattern, limits in tier.expect.items()
        if pattern != fio_patterns.PROBE
    }


def card_of(
    catalog: catalogs.Catalog,
    tier: catalogs.Tier,
    before: cinder_state.VolumeType,
    *,
    ceph: _Clusters,
) -> cards.Card:
    """Return the card that the volume type of a tier should have.

    Purpose and promise are those of the catalog. Measured figures are those of
    the type, unless something that they depend on changed.

    :param before: existing type.
    :param ceph: {name of a cluster: its state}, as far as known.
    """
    text = _description_of(before)
    found = descriptions.read(text)
    since = found.not_measured_since
    if found.measured and stale_card(catalog, tier, before, ceph):
        since = found.measured.ended_at
    return cards.Card(
        purpose=_purpose(tier, text),
        promise=promise_of(tier),
        measured=None if since else found.measured,
        not_measured_since=since,
    )


def _purpose(tier: catalogs.Tier, text: str) -> str:
    """Return the description of the catalog, or else of the volume type."""
    if tier.description is None:
        return descriptions.purpose(text)
    return tier.description


def continued_card(
    tier: catalogs.Tier, before: cinder_state.VolumeType | None
) -> bool:
    """Return whether apply leaves text that follows the card.

    The description of a catalog replaces the existing one.

    :param before: existing type; None if it does not exist.
    """
    return (
        before is not None
        and tier.description is None
        and descriptions.is_continued(before.description)
    )


#: Remedy for such a description.
CONTINUED_CARD = (
    'set "description" of the tier in the tiers file to what the tier is for '
    'and run "openstack tier apply", or remove the sentences of the card with '
    '"openstack volume type set --description"; then publish the results again'
)


def stale_card(
    catalog: catalogs.Catalog,
    tier: catalogs.Tier,
    before: cinder_state.VolumeType | None,
    ceph: _Clusters,
) -> tuple[str, ...]:
    """Return why the figures of a volume type are outdated.

    :param before: existing type; None if it does not exist.
    :param ceph: {name of a cluster: its state}, as far as known.
    :returns: a clause for each change; empty without figures.
    """
    measured = before and descriptions.read(before.description).measured
    if not measured:
        return ()
    return fingerprint.changes(
        measured,
        catalog,
        tier,
        ceph.get(tier.rbd.cluster) if tier.rbd else None,
    )


def with_measured(
    tier: catalogs.Tier,
    before: cinder_state.VolumeType,
    measured: cards.Measured,
) -> actions.Action | None:
    """Return the action that writes measured figures into a volume type.

    :param before: existing type.
    :returns: action; None if the type already has these figures.
    :raises ValueError: the description has no room for a figure; the text has
        the number of free characters.
    """
    card = cards.Card(
        purpose=_purpose(tier, before.description),
        promise=promise_of(tier),
        measured=measured,
    )
    text = descriptions.write(card)
    if descriptions.read(text).measured is None:
        room = descriptions.room(cards.Card(purpose=card.purpose))
        raise ValueError(
            f'the description leaves {room} of {descriptions.MOST_CHARS} '
            'characters, and a card with one figure has more'
        )
    if text == before.description:
        return None
    return actions.Action(
        key=actions.Key(kind=actions.Kind.VOLUME_TYPE, name=before.name),
        before=before,
        after=dataclasses.replace(before, description=text),
        why=f'figures of tier {tier.name}',
    )


def _follow_image_type(
    name: str,
    before: cinder_state.VolumeType | None,
) -> cinder_state.VolumeType:
    wanted = follow_image_type(name)
    if before is None:
        return wanted
    return cinder_state.VolumeType(
        name=name,
        description=_description_of(before),
        extra_specs=_with_foreign(before, wanted),
    )


def _description_of(before: cinder_state.VolumeType) -> str:
    """Return an operator's description; '' for the mark of apply.

    The mark stays when somebody else opens the type.
    """
    text = before.description
    return '' if text == cinder_state.HALF_MADE else text


def _with_foreign(
    before: cinder_state.VolumeType, wanted: cinder_state.VolumeType
) -> dict[str, str]:
    """Return the wanted extra specs, and unmanaged ones that stay.

    The backend belongs to the catalog: a tier that selects backends by extra
    specs names none, and Cinder would hold a volume of a type that follows the
    image to it. A key that some databases treat as equal to a wanted one does
    not stay either: other databases keep both, and Cinder matches both against
    backends.
    """
    managed = {
        cinder_state.as_databases_compare(key)
        for key in (cinder_state.BACKEND, *wanted.extra_specs)
    }
    return {
        **{
            key: value
            for key, value in _foreign_specs(before).items()
            if cinder_state.as_databases_compare(key) not in managed
        },
        **wanted.extra_specs,
    }


def _foreign_specs(volume_type: cinder_state.VolumeType) -> dict[str, str]:
    """Return extra specs that are not managed, such as multiattach."""
    return {
        key: value
        for key, value in volume_type.extra_specs.items()
        if not key.startswith(cinder_state.SCOPE)
    }


def _action(
    before: cinder_state.VolumeType | None,
    after: cinder_state.VolumeType,
    *,
    why: str,
    mark: str,
    standby: cinder_state.VolumeType | None,
    may_open: bool = False,
    needs: frozenset[actions.Key] = frozenset(),
    continues: actions.Key | None = None,
    alike: str | None = None,
    renamed: str | None = None,
    default_of: frozenset[str] = frozenset(),
    stale: tuple[str, ...] = (),
) -> collections.abc.Iterator[actions.Action]:
    """Yield the action that changes a volume type, if it must change.

    :param alike: name of a type that some databases treat as the same name.
    :param renamed: name of another type that is already the tier's.
    :param default_of: ids of the projects whose default type it remains.
    :param stale: reasons why its figures are outdated.
    """
    notes: tuple[str, ...] = ()
    if before is not None:
        if not difference.differences(before, after):
            return
        if before.is_half_made:
            notes = ('an interrupted apply left it closed',)
        if before.has_volumes and before.extra_specs != after.extra_specs:
            after = cinder_state.SuccessorType(**vars(after))
            notes = (*notes, *before.use)
        if stale:
            notes = (*notes, f'the card is stale: {", ".join(stale)}')
    yield actions.Action(
        key=actions.Key(kind=actions.Kind.VOLUME_TYPE, name=after.name),
        before=before,
        after=after,
        why=why,
        notes=notes,
        needs=needs,
        meanwhile=type_opening.held_back(
            standby
            if before is None
            and standby is not None
            and type_succession.is_ready(standby, after)
            else before,
            after,
        ),
        refusal=actions.joined(
            (*_name_taken(alike), *_has_other_type(after.name, renamed))
        )
        if before is None
        else actions.joined(
            (
                *_refusals(before, after, mark, may_open),
                *_default_closed(before, after, default_of),
                *_no_place(after, standby),
            )
        ),
        continues=continues,
    )


def _has_other_type(
    name: str, renamed: str | None
) -> collections.abc.Iterator[actions.Refusal]:
    if renamed is not None:
        yield actions.Refusal(
            reason=f'volume type "{renamed}" is the type of the tier already',
            remedy='rename it, which changes nothing for its volumes: '
            f'openstack volume type set --name "{name}" "{renamed}"',
        )


def _name_taken(
    alike: str | None,
) -> collections.abc.Iterator[actions.Refusal]:
    if alike is None:
        return
    yield actions.Refusal(
        reason=(
            f'a volume type "{alike}" exists, and where the database of '
            'Cinder is MySQL or MariaDB, both names are the same to it and '
            'Cinder creates no second one'
        ),
        remedy=(
            f'use the name "{alike}" in the tiers file; or rename that type: '
            f'openstack volume type set --name NAME "{alike}"'
        ),
        yields_to_consent=True,
    )


def _no_place(
    after: cinder_state.VolumeType,
    standby: cinder_state.VolumeType | None,
) -> collections.abc.Iterator[actions.Refusal]:
    if (
        isinstance(after, cinder_state.SuccessorType)
        and standby
        and not type_succession.is_ready(standby, after)
    ):
        yield actions.Refusal(
            reason=(
                f'the new type would be created as "{standby.name}", but a '
                'volume type with that name and without the ownership marker '
                'exists'
            ),
            remedy=(
                'rename that type: openstack volume type set --name NAME '
                f'"{standby.name}"'
            ),
        )


def _refusals(
    before: cinder_state.VolumeType,
    after: cinder_state.VolumeType,
    mark: str,
    may_open: bool,
) -> collections.abc.Iterator[actions.Refusal]:
    name = after.name
    if not before.is_ours:
        yield actions.Refusal(
            reason=(
                f'a volume type {name} without the ownership marker ({mark}) '
                'exists'
            ),
            remedy='use another name in the tiers file',
            yields_to_consent=True,
        )
    if (
        after.is_public
        and not before.is_public
        and not before.is_half_made
        and not may_open
    ):
        yield actions.Refusal(
            reason='it would open a private volume type to all projects',
            remedy=(
                'declare "access: public", or list the projects that have '
                'access, if it is a tier'
            ),
            yields_to_consent=True,
        )
    if before.is_public and not after.is_public:
        yield actions.Refusal(
            reason=(
                'it would take a public volume type away from all projects '
                'except those listed'
            ),
            remedy='declare "access: public"',
            yields_to_consent=True,
        )
    if isinstance(after, cinder_state.SuccessorType):
        yield actions.Refusal(
            reason=(
                'the volume type has volumes, and Cinder does not change '
                'extra specs of such a type; instead, apply would rename it '
                f'to "{retired_name_of(before)}" and create a new type with '
                'its name; existing volumes keep the retired type and do not '
                'move'
                + (
                    '; of the projects, only those with access to the new '
                    'type keep access to the retired one'
                    if type_succession.narrowed(before, after) != before
                    else ''
                )
            ),
            remedy='undo the change in the tiers file',
            yields_to_consent=True,
        )
    taken = sorted(before.projects - after.projects)
    if taken and not after.is_public:
        yield actions.Refusal(
            reason=(
                'it would take the volume type away from '
                f'projects: {", ".join(taken)}'
            ),
            remedy='list them under access',
            yields_to_consent=True,
        )


def _default_closed(
    before: cinder_state.VolumeType,
    after: cinder_state.VolumeType,
    default_of: frozenset[str],
) -> collections.abc.Iterator[actions.Refusal]:
    lost = default_access.without_access(after, default_of)
    lost -= default_access.without_access(before, default_of)
    if lost:
        yield actions.Refusal(
            reason='it is the default type of projects that could no longer '
            f'use it: {", ".join(sorted(lost))}; Cinder would refuse '
            f'{default_access.REFUSED}',
            remedy=default_access.REMEDY,
            yields_to_consent=True,
            projects=lost,
        )


def retired_name_of(before: cinder_state.VolumeType) -> str:
    """Return the name of a type once its successor has its name."""
    return type_succession.retired_name(before.name, before.type_id or 'ID')


def _not_taken_over(
    catalog: catalogs.Catalog,
    tier: catalogs.Tier,
    before: cinder_state.VolumeType,
) -> actions.Action:
    """Return the action that gives up a type of an unmanaged tier."""
    where = catalog.source.where(('tiers', tier.name, 'take_over'))
    return actions.Action(
        key=actions.Key(kind=actions.Kind.VOLUME_TYPE, name=before.name),
        before=before,
        after=dataclasses.replace(before, extra_specs=_foreign_specs(before)),
        why=f'tier {tier.name} has take_over: false',
        notes=before.use,
        refusal=actions.Refusal(
            reason=f'{where}: the tiers file says take_over: false, but the '
            'volume type has the ownership marker'
            + (
                ', and has volumes; Cinder does not change extra '
                'specs of such a type'
                if before.has_volumes
                else '; without it, the tier would no longer be managed'
            ),
            remedy='remove take_over: false'
            + (
                ', or first retype the volumes with "openstack '
                'volume set --type"'
                if before.has_volumes
                else ''
            ),
            yields_to_consent=not before.has_volumes,
        ),
    )


def _undeclared(volume_type: cinder_state.VolumeType) -> actions.Action:
    name = volume_type.name
    return actions.Action(
        key=actions.Key(kind=actions.Kind.VOLUME_TYPE, name=name),
        before=volume_type,
        after=None,
        why='has the ownership marker, but is not in the tiers file',
        notes=volume_type.use,
        # Without the type, nothing would show that its QoS spec is managed.
        needs=frozenset(
            {
                actions.Key(
                    kind=actions.Kind.QOS_SPEC,
                    name=qos_spec_kind.qos_spec_name(
                        volume_type.extra_specs.get(cinder_state.NAME) or name
                    ),
                )
            }
        ),
        refusal=actions.Refusal(
            reason=(
                'it would delete a volume type that has volumes, and Cinder '
                'deletes only unused volume types'
            ),
            remedy=(
                'declare it again, or first retype the volumes with '
                '"openstack volume set --type"'
            ),
        )
        if volume_type.has_volumes
        else actions.Refusal(
            reason='it would delete a volume type',
            remedy='declare it again',
            yields_to_consent=True,
        ),
    )


def volume_type_of(
    tier: catalogs.Tier,
    *,
    overflow: catalogs.Tier | None = None,
    projects: frozenset[str] = frozenset(),
) -> cinder_state.VolumeType:
    """Return the volume type of a tier.

    :param overflow: tier that `tier.overflow` names, of which only the own
        backend is used, not its overflow.
    :param projects: ids of the projects in `tier.access`.
    """
    specs = {**tier.extra_specs, cinder_state.NAME: tier.name}
    if tier.backend is not None:
        specs[cinder_state.BACKEND] = tier.backend
    if overflow is not None:
        specs[cinder_state.OVERFLOW] = overflow.name
        # Cinder's notation for alternatives, which its CapabilitiesFilter and
        # TierWeigher read.
        specs[cinder_state.BACKEND] = (
            f'{cinder_state.OR} {tier.backend} '
            f'{cinder_state.OR} {overflow.backend}'
        )
    if tier.tags:
        specs[cinder_state.TAGS] = tags.format_tags(tier.normal_tags)
        specs[cinder_state.PRIORITY] = str(tier.priority)
    if tier.fallback:
        specs[cinder_state.FALLBACK] = cinder_state.TRUE
    return cinder_state.VolumeType(
        name=tier.type_name,
        extra_specs=specs,
        is_public=tier.is_public,
        projects=projects,
        description=descriptions.write(
            cards.Card(
                purpose=tier.description or '', promise=promise_of(tier)
            )
        ),
    )


def follow_image_type(name: str) -> cinder_state.VolumeType:
    """Return a volume type that leaves the choice of tier to the image."""
    return cinder_state.VolumeType(
        name=name,
        extra_specs={cinder_state.FOLLOW_IMAGE: cinder_state.TRUE},
        description='The tags of the image select the storage tier',
    )


def _taken_away(
    before: cinder_state.VolumeType, after: cinder_state.VolumeType
) -> collections.abc.Iterator[str]:
    """Yield tags, extra specs and access that a change removes."""
    old, new = before.extra_specs, after.extra_specs
    for tag in sorted(
        set(tags.parse_tags(old.get(cinder_state.TAGS, '')))
        - set(tags.parse_tags(new.get(cinder_state.TAGS, '')))
    ):
        yield f'tag {tag}'
    for name in sorted(old.keys() - new.keys() - {cinder_state.TAGS}):
        yield f'extra spec {name}'
    if not after.is_public and (
        before.is_public or before.projects - after.projects
    ):
        yield 'access of projects'


def _tiers_affected(
    catalog: catalogs.Catalog, action: actions.Action
) -> tuple[str, ...]:
    """Return the tier of the type, or of its successor."""
    name = action.key.name
    tier = catalog.tier_of_type(type_succession.successor_of(name) or name)
    return () if tier is None else (tier.name,)


VOLUME_TYPE = kinds.ResourceKind(
    kind=actions.Kind.VOLUME_TYPE,
    resource=cinder_state.VolumeType,
    state_field='volume_types',
    plan=plan,
    tiers_affected=_tiers_affected,
    types_whose_usage_matters=types_whose_usage_matters,
    taken_away=_taken_away,
)
