# SPDX-License-Identifier: Apache-2.0

"""Rules on the demands of a tier on Cinder: overflow and backends.

Part of `validation.catalog`: pure, and total.
"""

import collections.abc
import itertools

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.placement import backends
from cinder_tiers.domain.placement import tier_specs as extra_specs
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.validation import rules

#: Scope of extra specs that Cinder matches against backends, as it does those
#: without a scope (cinder/scheduler/filters/capabilities_filter.py).
_CAPABILITIES = 'capabilities'
#: Maximum number of suggestions: each takes a millisecond, and a file may have
#: thousands of wrong names.
_SUGGESTIONS = 100
#: Stands for any zone, or any requirement for backends.
_ANY = object()

Problems = collections.abc.Iterator[errors.Problem]


def _is_written(
    catalog: catalogs.Catalog, tier: catalogs.Tier, key: str
) -> bool:
    """Return whether the file has a key, even with an invalid value."""
    return ('tiers', tier.name, key) in catalog.source.lines


def _storage(catalog: catalogs.Catalog) -> Problems:
    for tier in catalog.tiers:
        has_rbd = tier.rbd is not None or _is_written(catalog, tier, 'rbd')
        has_backend = tier.backend_name is not None or _is_written(
            catalog, tier, 'backend'
        )
        if (
            has_rbd
            or has_backend
            or backends.selects_backends(tier.extra_specs)
        ):
            continue
        yield errors.Problem(
            where=catalog.source.where(('tiers', tier.name)),
            found=f'tier {tier.name!r} names no storage',
            expected='rbd, backend, or extra_specs with a key that Cinder '
            'matches against backends (without a scope, or with '
            'the scope capabilities) and a value that only some have; '
            'a comparison such as >=, and a feature such as multiattach, '
            'selects no backend',
            remedy='add one of them',
        )


def _extra_specs(catalog: catalogs.Catalog) -> Problems:
    for tier in catalog.tiers:
        seen: dict[str, str] = {}
        for key in tier.extra_specs:
            folded = cinder_state.as_databases_compare(key)
            other = seen.setdefault(folded, key)
            where = catalog.source.where(
                ('tiers', tier.name, 'extra_specs', key)
            )
            if folded.startswith(cinder_state.SCOPE):
                yield errors.Problem(
                    where=where,
                    found=f'extra spec {key!r}',
                    expected=f'keys without the scope {cinder_state.SCOPE}, '
                    'which cinder-tiers sets from the other keys of the tier',
                    remedy='remove it; use tags, priority, fallback or '
                    'overflow',
                )
            elif (
                folded.removeprefix(f'{_CAPABILITIES}:')
                == cinder_state.BACKEND
            ):
                yield errors.Problem(
                    where=where,
                    found=f'extra spec {key!r}',
                    expected=f'{cinder_state.BACKEND} from rbd, backend and '
                    'overflow, not as an extra spec',
                    remedy='remove it; name the backend with backend',
                )
            elif other != key:
                yield errors.Problem(
                    where=where,
                    found=f'extra spec {key!r}, but {other!r} exists',
                    expected='each key once (the database ignores case)',
                    remedy='remove one of them',
                )


def _overflow(catalog: catalogs.Catalog) -> Problems:
    names = {tier.name: None for tier in catalog.tiers}
    expected = f'another one of those under tiers: {spelling.listed(names)}'
    unknown = 0
    for tier in catalog.tiers:
        where = catalog.source.where(('tiers', tier.name, 'overflow'))
        if tier.overflow == tier.name:
            yield errors.Problem(
                where=where,
                found=f'tier {tier.name!r} overflows to itself',
                expected=expected,
                remedy='name another tier, or remove overflow',
            )
        elif tier.overflow is not None and tier.overflow not in names:
            unknown += 1
            near = (
                spelling.did_you_mean(tier.overflow, names)
                if unknown <= _SUGGESTIONS
                else ''
            )
            yield errors.Problem(
                where=where,
                found=f'unknown tier {tier.overflow!r}',
                expected=expected,
                remedy=f'{near}fix it or declare the tier',
            )


def _overflow_backends(catalog: catalogs.Catalog) -> Problems:
    by_name = {tier.name: tier for tier in catalog.tiers}
    for tier in catalog.tiers:
        other = by_name.get(tier.overflow or '')
        if other is None or other is tier:
            continue
        where = catalog.source.where(('tiers', tier.name, 'overflow'))
        for one in (tier, other):
            if one.backend is None and not any(
                _is_written(catalog, one, key) for key in ('rbd', 'backend')
            ):
                yield errors.Problem(
                    where=where,
                    found=f'overflow from {tier.name!r} to {other.name!r}, '
                    f'of which {one.name!r} has neither rbd nor '
                    f'backend',
                    expected=f'rbd or backend in both: {cinder_state.BACKEND} '
                    'of '
                    f'the volume type names the backends of both',
                    remedy='give it a backend, or remove overflow',
                )
        if tier.backend is not None and tier.backend == other.backend:
            yield errors.Problem(
                where=where,
                found=f'overflow from {tier.name!r} to {other.name!r}, '
                f'which has the same backend {tier.backend!r}',
                expected='a tier on another backend, which may have room',
                remedy='name another tier, or remove overflow',
            )


def _circles(catalog: catalogs.Catalog) -> Problems:
    """Yield circles of overflow.

    A chain is sound: overflow goes only one step, because the volume type of a
    tier names its own backend and that of one other. In a circle of two tiers,
    both types allow the same backends, so neither tier would have a backend of
    its own that the weigher could prefer.
    """
    targets = {tier.name: tier.overflow for tier in catalog.tiers}
    seen: set[str] = set()
    for start in targets:
        chain: list[str] = []
        name: str | None = start
        while name in targets and name not in seen:
            seen.add(name)
            chain.append(name)
            name = targets[name]
        # A tier that overflows to itself has a problem of its own.
        if name not in chain or chain[-1] == name:
            continue
        circle = chain[chain.index(name) :]
        yield errors.Problem(
            where=catalog.source.where(('tiers', circle[0], 'overflow')),
            found=f'overflow loop: {" -> ".join((*circle, circle[0]))}',
            expected='overflow without a loop (only one step is taken)',
            remedy='remove overflow from one of them',
        )


def _shared_backends(catalog: catalogs.Catalog) -> Problems:
    """Yield pools whose backends have the same name in Cinder.

    A tier without rbd on the backend of one with rbd is sound: the volumes of
    both types lie in the pool of the latter. So are two tiers in different
    zones, and two that require different properties of backends.
    """
    owners: dict[tuple, catalogs.CephTier] = {}
    for tier in catalog.ceph_tiers:
        zones = extra_specs.zones(tier.extra_specs)
        asked = frozenset(
            (key.removeprefix(f'{_CAPABILITIES}:'), value)
            for key, value in tier.extra_specs.items()
            if backends.capability_names({key: ''})
        )
        # A file may have thousands of tiers, so each is looked up, not
        # compared.
        mixed_with = itertools.product(
            (tier.backend,),
            (_ANY,) if zones is None else (None, *sorted(zones)),
            (asked, frozenset()) if asked else (_ANY,),
        )
        other = next(filter(None, map(owners.get, mixed_with)), None)
        for place in itertools.product(
            (tier.backend,), (_ANY, *(zones or (None,))), (_ANY, asked)
        ):
            owners.setdefault(place, tier)
        # Two tiers with one pool are reported by another rule.
        if other is None or (other.rbd.cluster, other.rbd.pool) == (
            tier.rbd.cluster,
            tier.rbd.pool,
        ):
            continue
        yield errors.Problem(
            where=catalog.source.where(('tiers', tier.name, 'backend')),
            found=f'backend {tier.backend!r} of tier {tier.name!r}, with pool '
            f'{tier.rbd.pool!r} of cluster {tier.rbd.cluster!r}, is also the '
            f'backend of tier {other.name!r}, with pool {other.rbd.pool!r} of '
            f'cluster {other.rbd.cluster!r}',
            expected='one pool for each volume_backend_name: Cinder places '
            'volumes of both types on any backend with that name',
            remedy='name the backend that serves the pool, or remove backend '
            'if none does yet; or restrict both tiers to different zones with '
            f'the extra spec {extra_specs.ZONES}',
        )


#: (id of the rule, function that yields its problems in a catalog).
RULES = (
    (rules.STORAGE, _storage),
    (rules.EXTRA_SPEC, _extra_specs),
    (rules.OVERFLOW, _overflow),
    (rules.OVERFLOW, _overflow_backends),
    (rules.OVERFLOW, _circles),
    (rules.SHARED_BACKEND, _shared_backends),
)
