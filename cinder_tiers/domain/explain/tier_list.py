# SPDX-License-Identifier: Apache-2.0

"""Tiers for a list: applied ones, or those of a catalog.

Both are read from volume types, existing or declared, so they can be compared
line by line. Must not know how volume types are fetched, nor how a list is
shown.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.card import card as cards
from cinder_tiers.domain.card import description as descriptions
from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.explain import explanation
from cinder_tiers.domain.explain import visible_cloud as facts
from cinder_tiers.domain.placement import backends
from cinder_tiers.domain.placement import tier_specs
from cinder_tiers.domain.resources import volume_type as volume_type_kind
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import type_succession


@dataclasses.dataclass(frozen=True, kw_only=True)
class ListedTier:
    """A tier, as its volume type describes it."""

    name: str
    volume_type: str
    #: Card in the description of its volume type.
    card: cards.Card = cards.Card()
    #: Normal forms, sorted.
    tags: tuple[str, ...] = ()
    #: The highest wins; None if it cannot be read.
    priority: int | None = 0
    #: Serves untagged images and blank volumes.
    fallback: bool = False
    #: Tier that takes a volume when this one is full.
    overflow: str | None = None
    is_public: bool = True
    #: Ids of the projects that may use a private tier, as far as known; for a
    #: catalog, its names of them.
    projects: frozenset[str] = frozenset()
    #: {key: value} of the volume type.
    extra_specs: collections.abc.Mapping[str, str]
    #: Pools of the catalog, as cluster/pool; None for an applied tier, whose
    #: pools only Cinder's scheduler knows.
    pools: tuple[str, ...] | None = None
    #: Whether it is in effect, or will be when the catalog is applied.
    take_over: bool = True
    #: {fio pattern: {limit: value}} of the catalog; None for an applied tier,
    #: whose card has as much as fits.
    expect: expectations.Expectations | None = None
    #: Reason why a part of it is unknown, or ''.
    problem: str = ''

    @property
    def backend_names(self) -> tuple[str, ...]:
        """Values of `volume_backend_name` that serve it, its own first.

        >>> ListedTier(name='a', volume_type='a', extra_specs={
        ...     'volume_backend_name': '<or> ssd <or> hdd'}).backend_names
        ('ssd', 'hdd')
        """
        return backends.alternatives(
            self.extra_specs.get(cinder_state.BACKEND)
        )

    def find_pools(
        self,
        known: collections.abc.Iterable[backends.Backend],
    ) -> tuple[backends.Backend, ...]:
        """Return the pools that serve it, including those of its overflow.

        :param known: all pools that report to Cinder.
        """
        return tuple(
            one
            for one in known
            if backends.find_mismatch(one, self.extra_specs) is None
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class OfferedType:
    """A volume type as seen by users from whom extra specs are hidden.

    They cannot see which types are tiers, except for those with a card.
    """

    name: str
    is_public: bool
    card: cards.Card


def offered(known: facts.VisibleCloud) -> tuple[OfferedType, ...]:
    """Return the volume types that a user may choose among.

    Retired and incomplete types and Cinder's own default type are left out.

    :param known: view of the user on the cloud.
    :returns: types: those with a promise or figures first, then by name.
    """
    found = (
        OfferedType(
            name=one.name,
            is_public=one.projects is None,
            card=descriptions.read(one.description),
        )
        for one in known.types
        if type_succession.owner_of(one.name) == one.name
        and one.description != cinder_state.HALF_MADE
        and one.name != cinder_state.DEFAULT_TYPE
    )
    return tuple(
        sorted(
            found,
            key=lambda one: (
                one.card == cards.Card(purpose=one.card.purpose),
                one.name,
            ),
        )
    )


def applied(known: facts.VisibleCloud) -> tuple[ListedTier, ...]:
    """Return the applied tiers, in the order in which they are asked.

    :param known: view of the user on the cloud.
    :raises errors.Unreachable: extra specs are hidden from the user.
    :raises errors.NotVisible: extra specs are hidden from the user.
    """
    if facts.EXTRA_SPECS in known.hidden:
        raise errors.NotVisible(
            f'Cinder does not show you {facts.EXTRA_SPECS.what} '
            f'(policy {facts.EXTRA_SPECS.policy}); run the command as an '
            'administrator, or show a tiers file with --declared'
        )
    by_id = {one.type_id: one for one in known.types}
    read = tier_specs.read_tiers(map(explanation.read_type, known.types))
    return _ranked(
        _listed(by_id[one.type_id], problem=one.problem or '')
        for one in (
            *read.types.values(),
            *read.left_out,
            # Next to a complete tier, it will replace the type of that tier.
            *(one for one in read.half_made if one.mark not in read.types),
        )
    )


def _listed(volume_type: facts.KnownType, *, problem: str) -> ListedTier:
    return _read(
        name=volume_type.name,
        description=volume_type.description,
        extra_specs=volume_type.extra_specs,
        projects=volume_type.projects or (),
        is_public=volume_type.projects is None,
        problem=problem,
    )


def declared(catalog: catalogs.Catalog) -> tuple[ListedTier, ...]:
    """Return the tiers of a catalog, in the order in which they are asked."""
    listed = []
    for tier in catalog.tiers:
        wanted = volume_type_kind.volume_type_of(
            tier, overflow=catalog.tier(tier.overflow)
        )
        listed.append(
            dataclasses.replace(
                _read(
                    name=wanted.name,
                    description=wanted.description,
                    extra_specs=wanted.extra_specs,
                    is_public=wanted.is_public,
                    projects=tier.projects,
                ),
                card=cards.Card(
                    purpose=tier.description or '',
                    promise=volume_type_kind.promise_of(tier),
                ),
                take_over=tier.take_over,
                expect=tier.expect,
                pools=tuple(
                    f'{tier.rbd.cluster}/{pool}' for pool in tier.rbd.pools
                )
                if tier.rbd
                else (),
            )
        )
    return _ranked(listed)


def find(
    listed: collections.abc.Sequence[ListedTier], name: str
) -> ListedTier:
    """Return the tier with a name.

    :raises errors.TiersError: no volume type, or more than one, is this tier.
    """
    found = [one for one in listed if one.name == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise errors.TiersError(
            '; '.join(one.problem for one in found if one.problem)
        )
    raise _missing(name, [one.name for one in listed])


def find_offered(
    offers: collections.abc.Iterable[OfferedType], name: str
) -> OfferedType:
    """Return the volume type with a name.

    :raises errors.TiersError: there is no such type.
    """
    by_name = {one.name: one for one in offers}
    if name in by_name:
        return by_name[name]
    raise _missing(name, by_name)


def _missing(
    name: str, known: collections.abc.Iterable[str]
) -> errors.TiersError:
    names = sorted(known)
    expected = (
        f'expected one of {", ".join(names)}'
        if names
        else 'there are no tiers'
    )
    return errors.TiersError(
        f'tier {name} does not '
        f'exist; {expected}; {spelling.did_you_mean(name, names)}see '
        '"openstack tier list"'
    )


def _read(
    *,
    name: str,
    description: str,
    is_public: bool,
    extra_specs: collections.abc.Mapping[str, str],
    projects: collections.abc.Iterable[str] = (),
    problem: str = '',
) -> ListedTier:
    marked = extra_specs[cinder_state.NAME]
    priority: int | None = None
    try:
        tier = tier_specs.applied_tier(marked, extra_specs, projects=None)
        priority = tier.priority
    except ValueError as error:
        problem = problem or str(error)
        tier = tier_specs.applied_tier(
            marked, {**extra_specs, cinder_state.PRIORITY: '0'}, projects=None
        )
    return ListedTier(
        name=tier.name,
        volume_type=name,
        card=descriptions.read(description),
        tags=tuple(sorted(tier.tags)),
        priority=priority,
        fallback=tier.fallback,
        overflow=tier.overflow,
        is_public=is_public,
        projects=frozenset(projects),
        extra_specs=extra_specs,
        problem=problem,
    )


def _ranked(
    listed: collections.abc.Iterable[ListedTier],
) -> tuple[ListedTier, ...]:
    """Return tiers by priority, as `decide()` ranks; fallbacks come last."""
    return tuple(
        sorted(
            listed,
            key=lambda one: (one.fallback, -(one.priority or 0), one.name),
        )
    )
