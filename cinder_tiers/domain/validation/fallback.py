# SPDX-License-Identifier: Apache-2.0

"""Rules on several fallback tiers, and catalogs without one.

Pure. Must not know where tiers come from: a catalog, an inventory or Cinder's
database.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.placement import tier_specs as extra_specs

#: {name of a tier: its availability zones}, see `extra_specs.zones`.
Zones = collections.abc.Mapping[str, frozenset[str] | None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class FallbackFault:
    """A tier that cannot be the fallback."""

    tier: str
    #: A clause that names the tier.
    found: str


def find_faults(fallbacks: Zones) -> collections.abc.Iterator[FallbackFault]:
    """Yield tiers that cannot be the fallback after those before them.

    At most one tier serves an availability zone: a tier restricted to zones
    serves these, and one without a restriction all others.

    :param fallbacks: {fallback tier: its zones}, in the order in which they
        win.
    """
    owners: dict[str | None, str] = {}
    for name, zones in fallbacks.items():
        served: frozenset[str | None] = (
            frozenset({None}) if zones is None else zones - {''}
        )
        shared = sorted((zone for zone in served if zone in owners), key=str)
        if not served:
            yield FallbackFault(
                tier=name,
                found=(
                    f'fallback tier {name!r} is restricted to '
                    'availability zones, but names none '
                    f'({extra_specs.ZONES} is empty)'
                ),
            )
        elif shared == [None]:
            yield FallbackFault(
                tier=name,
                found=(
                    f'tier {name!r} is a second fallback '
                    f'besides {owners[None]!r}, and neither is restricted '
                    'to availability zones'
                ),
            )
        elif shared:
            yield FallbackFault(
                tier=name,
                found=(
                    f'tiers {owners[shared[0]]!r} and {name!r} are both the '
                    f'fallback in availability zone {shared[0]}'
                ),
            )
        else:
            owners.update(dict.fromkeys(served, name))


def check(
    catalog: catalogs.Catalog,
) -> collections.abc.Iterator[errors.Problem]:
    """Yield problems with the fallback tiers of a catalog.

    :param catalog: catalog, of which parts may be missing.
    """
    fallbacks = {
        tier.name: extra_specs.zones(tier.extra_specs)
        for tier in catalog.tiers
        if tier.fallback
    }
    if fallbacks and catalog.without_fallback:
        yield errors.Problem(
            where=catalog.source.where(('fallback',)),
            found=f'fallback: none, but tier {next(iter(fallbacks))!r} has '
            'fallback: true',
            expected='either of them, not both',
            remedy='remove one of them',
        )
    if not fallbacks and catalog.ours and not catalog.without_fallback:
        yield errors.Problem(
            where=catalog.source.where(('tiers',)),
            found='no tier has fallback: true',
            expected='exactly one, which serves untagged images, or one for '
            'each availability zone',
            remedy=(
                'add fallback: true to one tier, or fallback: none at the '
                'top level, which leaves such volumes to Cinder'
            ),
        )
    for fault in find_faults(fallbacks):
        yield errors.Problem(
            where=catalog.source.where(('tiers', fault.tier, 'fallback')),
            found=fault.found,
            expected='one fallback tier, or several that share no '
            'availability zone, of which all but one have the extra spec '
            f'{extra_specs.ZONES}',
            remedy=(
                'remove fallback from one of them, or restrict it to '
                'different zones'
            ),
        )


def has_open_default(catalog: catalogs.Catalog) -> bool:
    """Return whether types that follow the image lack a fallback tier.

    As `default_volume_type`, such a type sends blank volumes, and those of
    untagged images, to any backend.

    :param catalog: a sound catalog.
    """
    return bool(catalog.follow_image_types) and not any(
        tier.fallback for tier in catalog.ours
    )


def default_type(catalog: catalogs.Catalog) -> str | None:
    """Return the volume type for Cinder's default, or None.

    :param catalog: a sound catalog.
    """
    fallbacks = sorted(
        (tier for tier in catalog.ours if tier.fallback),
        key=lambda tier: extra_specs.zones(tier.extra_specs) is not None,
    )
    if not fallbacks:
        return None
    return (*catalog.follow_image_types, fallbacks[0].type_name)[0]
