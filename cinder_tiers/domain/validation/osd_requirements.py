# SPDX-License-Identifier: Apache-2.0

"""Rules between the OSD requirements of tiers on the same OSDs.

An OSD must be able to meet the requirements of all tiers on it. Pure, and
total as part of `validation.catalog`. Must not know what exists in a cluster.
"""

import collections.abc
import dataclasses

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors

Problems = collections.abc.Iterator[errors.Problem]
_SINGLE = (
    'object_store',
    'rotational',
    'file_system',
    'alloc_size',
    'rocksdb_compression',
)
_SCHEDULER = 'io_scheduler'


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Requiring:
    """A tier, and its requirements for its OSDs."""

    name: str
    #: Description of the OSDs.
    osds: str
    requirements: catalogs.Requirements


def check(catalog: catalogs.Catalog) -> Problems:
    """Yield all requirements that no OSD can meet together."""
    together: dict[tuple[str, str], list[_Requiring]] = {}
    for tier in catalog.ceph_tiers:
        rbd = tier.rbd
        if rbd.osd_requirements and rbd.device_class is not None:
            together.setdefault((rbd.cluster, rbd.device_class), []).append(
                _Requiring(
                    name=tier.name,
                    osds=f'the {rbd.device_class} OSDs of cluster '
                    f'{rbd.cluster!r}',
                    requirements=rbd.osd_requirements,
                )
            )
    for tiers in together.values():
        for name in _SINGLE:
            yield from _single(catalog, tiers, name)
        yield from _schedulers(catalog, tiers)
        yield from _stores(catalog, tiers)


def _single(
    catalog: catalogs.Catalog, tiers: list[_Requiring], name: str
) -> Problems:
    """Yield contradicting requirements for a property with one value."""
    having = [tier for tier in tiers if name in tier.requirements.declared]
    for tier in having[1:]:
        if _text(tier, name) != _text(having[0], name):
            yield _problem(catalog, tier, name, having[0], name)


def _schedulers(
    catalog: catalogs.Catalog, tiers: list[_Requiring]
) -> Problems:
    having = [tier for tier in tiers if tier.requirements.io_scheduler]
    for index, tier in enumerate(having):
        for other in having[:index]:
            if not (
                set(tier.requirements.io_scheduler)
                & set(other.requirements.io_scheduler)
            ):
                yield _problem(catalog, tier, _SCHEDULER, other, _SCHEDULER)
                break


def _stores(catalog: catalogs.Catalog, tiers: list[_Requiring]) -> Problems:
    """Yield requirements for parts that only another object store has."""
    owner = next(
        (tier for tier in tiers if tier.requirements.object_store),
        None,
    )
    if owner is None:
        return
    for tier in tiers:
        for name in tier.requirements.declared:
            store = catalogs.STORE_OF.get(name)
            if store not in (None, owner.requirements.object_store):
                yield _problem(catalog, tier, name, owner, 'object_store')


def _text(tier: _Requiring, name: str) -> str:
    return tier.requirements.declared[name]


def _problem(
    catalog: catalogs.Catalog,
    tier: _Requiring,
    name: str,
    other: _Requiring,
    other_name: str,
) -> errors.Problem:
    return errors.Problem(
        where=catalog.source.where(
            ('tiers', tier.name, 'rbd', 'osd_requirements', name)
        ),
        found=f'tier {tier.name!r} requires {name} {_text(tier, name)}'
        + (f', tier {other.name!r} ' if tier is not other else ' and ')
        + f'{other_name} {_text(other, other_name)}',
        expected=(
            f'requirements that one OSD can meet: {tier.osds} serve '
            f'{"both" if tier is not other else "the tier"}'
        ),
        remedy=(
            'use one value for both, or give some of the OSDs a different '
            'device class'
        )
        if tier is not other
        else 'remove one of them',
    )
