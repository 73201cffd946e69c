# SPDX-License-Identifier: Apache-2.0

"""Rules between the settings of a tier's pool.

Pure, and total like `catalog_rules`, of which these are a part. Must not know
what exists in a cluster.
"""

import collections.abc

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import pool_options

Problems = collections.abc.Iterator[errors.Problem]
_DATA_POOL = 'rbd_default_data_pool'


def check(catalog: catalogs.Catalog) -> Problems:
    """All problems between the settings of pools and of their OSDs."""
    yield from _osd_options(catalog)
    for tier in catalog.tiers:
        if tier.rbd is None:
            continue
        path = ('tiers', tier.name, 'rbd', 'device_class')
        for name, found, expected, remedy in _found(
            tier.rbd, is_class_written=path in catalog.source.lines
        ):
            yield errors.Problem(
                where=catalog.source.where(('tiers', tier.name, 'rbd', *name)),
                found=f'{".".join(name)} of tier {tier.name!r}: {found}',
                expected=expected,
                remedy=remedy,
            )


def _found(
    rbd: catalogs.RbdPool,
    *,
    is_class_written: bool,
) -> collections.abc.Iterator[tuple[tuple[str, ...], str, str, str]]:
    """(place, what was found, what is right, what to do) of each problem.

    :param is_class_written: whether the file has a device_class, even with a
        value that was left out.
    """
    options = rbd.options
    if rbd.device_class is None and not is_class_written:
        yield from _without_class(rbd)
    for name, value in options.items():
        try:
            pool_options.normal(name, value)
        except ValueError as error:
            yield ('pool_options', name), repr(value), str(error), 'correct it'
        if name in pool_options.STEERS_AUTOSCALER and rbd.pg_num is not None:
            yield (
                ('pool_options', name),
                f'{value!r} beside pg_num {rbd.pg_num}',
                'one of them: pg_num turns the autoscaler off, which this '
                'is meant for',
                'remove one of them',
            )
    if {'target_size_bytes', 'target_size_ratio'} <= options.keys():
        yield (
            ('pool_options', 'target_size_bytes'),
            'it stands beside target_size_ratio',
            'one of them; Ceph heeds the ratio only',
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
    if options.get('fast_read') is True and isinstance(
        rbd.protection, catalogs.Replicated
    ):
        yield (
            ('pool_options', 'fast_read'),
            'the pool is replicated',
            'an erasure coded pool, to which alone it applies',
            'remove it',
        )
    if _DATA_POOL in rbd.rbd_options:
        yield (
            ('rbd_options', _DATA_POOL),
            repr(rbd.rbd_options[_DATA_POOL]),
            'nothing: erasure_coded sets it',
            'remove it',
        )


def _without_class(
    rbd: catalogs.RbdPool,
) -> collections.abc.Iterator[tuple[tuple[str, ...], str, str, str]]:
    """What is of the OSDs of a class, where there is none."""
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
            'they are held against',
        ),
    ):
        if is_there:
            yield (
                (name,),
                f'{what} without a device_class',
                f'device_class beside it: {done} the OSDs of a class',
                f'add device_class, or remove {name}',
            )


def _osd_options(catalog: catalogs.Catalog) -> Problems:
    """Tiers on the same OSDs cannot want different options of them."""
    seen: dict[tuple[str, str, str], tuple[str, object]] = {}
    for tier in catalog.tiers:
        rbd = tier.rbd
        if rbd is None or rbd.device_class is None:
            continue
        for name, value in rbd.osd_options.items():
            other, wanted = seen.setdefault(
                (rbd.cluster, rbd.device_class, name), (tier.name, value)
            )
            if wanted != value or isinstance(wanted, bool) != isinstance(
                value, bool
            ):
                yield errors.Problem(
                    where=catalog.source.where(
                        ('tiers', tier.name, 'rbd', 'osd_options', name)
                    ),
                    found=f'tier {tier.name!r} wants {name} {value!r}, tier '
                    f'{other!r} {wanted!r}',
                    expected=f'one value for the {rbd.device_class} OSDs of '
                    f'cluster {rbd.cluster!r}, which serve both',
                    remedy='agree on one, or give some of the OSDs a device '
                    'class of their own',
                )


def _is_number(value: pool_options.Value | None) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
