# SPDX-License-Identifier: Apache-2.0

"""Rules between parts of a catalog, which a JSON schema cannot state.

Pure, and total: every rule can check a catalog from which invalid values were
left out, so all problems of a file are shown at once. Must not know what
exists in a cluster; `validation.clusters` does.
"""

import collections.abc
import dataclasses
import itertools

from cinder_tiers.domain.catalog import expectations
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import failure_domains
from cinder_tiers.domain.resources import registry
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.domain.state import type_succession
from cinder_tiers.domain import tags
from cinder_tiers.domain.validation import cards
from cinder_tiers.domain.validation import fallback as fallback_rules
from cinder_tiers.domain.validation import osd_requirements as osds
from cinder_tiers.domain.validation import rules
from cinder_tiers.domain.validation import tiers as volume_type_rules

#: Longest value of an extra spec (cinder/api/schemas/types_extra_specs.py).
EXTRA_SPEC_MAX_CHARS = 255

_ONE_MEANING = (
    'one meaning for each volume type name (databases ignore case and accents)'
)

Problems = collections.abc.Iterator[errors.Problem]


def check(catalog: catalogs.Catalog) -> tuple[errors.Problem, ...]:
    """Return all problems between the parts of a catalog.

    :returns: problems in the order of the rules, each with the id of its rule;
        empty for a sound catalog.
    """
    checks = (
        (rules.FALLBACK, fallback_rules.check),
        (rules.TYPE_NAME, _names),
        (rules.TAG, _tags_within),
        (rules.SHARED_TAG, _tags_across),
        (rules.PRIORITY, _priorities),
        *volume_type_rules.RULES,
        *cards.RULES,
        (rules.CLUSTER, _clusters),
        (rules.PROTECTION, _protection),
        (rules.SHARED_POOL, _pools),
        *((rules.of_kind(one.kind), one.check) for one in registry.RESOURCES),
        (rules.OSD_REQUIREMENTS, osds.check),
        (rules.EXPECTATION, _expectations),
    )
    return tuple(
        dataclasses.replace(problem, rule=rule)
        for rule, check_one in checks
        for problem in check_one(catalog)
    )


def _names(catalog: catalogs.Catalog) -> Problems:
    seen: dict[str, str] = {}
    for index, name in enumerate(catalog.follow_image_types):
        where = catalog.source.where(('follow_image_types', index))
        other = seen.setdefault(cinder_state.as_databases_compare(name), name)
        # A repeated name has a problem of its own.
        if other != name:
            yield errors.Problem(
                where=where,
                found=f'follow_image_types has {name!r}, but {other!r} exists',
                expected=_ONE_MEANING,
                remedy='remove one of them',
            )
        yield from _type_name(name, 'follow_image_types', where)
    seen = {
        folded: f'follow_image_types has {name!r}'
        for folded, name in seen.items()
    }
    for tier in catalog.tiers:
        where = catalog.source.where(('tiers', tier.name, 'volume_type'))
        other = seen.setdefault(
            cinder_state.as_databases_compare(tier.type_name),
            f'tier {tier.name!r} exists',
        )
        if other != f'tier {tier.name!r} exists':
            yield errors.Problem(
                where=where,
                found=f'tier {tier.name!r}'
                + (
                    f' with volume_type {tier.volume_type_name!r}'
                    if tier.volume_type_name
                    else ''
                )
                + f', but {other}',
                expected=_ONE_MEANING,
                remedy='rename one of them',
            )
        yield from _type_name(
            tier.type_name, f'volume_type of tier {tier.name!r}', where
        )


def _type_name(name: str, what: str, where: str) -> Problems:
    """Yield problems of the name of a type that apply may replace.

    :param what: description of the object with the name.
    """
    if len(name) > type_succession.MAX_CHARS:
        yield errors.Problem(
            where=where,
            found=f'{what} has a name of {len(name)} characters, {name!r}',
            expected=f'at most {type_succession.MAX_CHARS}, so that apply '
            'can rename the type to "NAME - retired ID" and replace it '
            'while it has volumes',
            remedy='use a shorter name; a type that exists keeps its '
            'volumes when it is renamed: openstack volume type set '
            '--name NAME ID',
        )
    owner = type_succession.owner_of(name)
    if owner != name:
        yield errors.Problem(
            where=where,
            found=f'{what} has {name!r}',
            expected='a name that apply does not give to types that '
            f'replace, or were replaced by, {owner!r}',
            remedy='use another name, or remove this one: it is reserved '
            'while apply replaces the other type',
        )


def _tags_within(catalog: catalogs.Catalog) -> Problems:
    for tier in catalog.tiers:
        seen: dict[str, str] = {}
        for index, tag in enumerate(tier.tags):
            where = catalog.source.where(('tiers', tier.name, 'tags', index))
            normal = tags.normalize_tag(tag)
            if not normal or tags.SEPARATOR in tag or not tag.isprintable():
                yield errors.Problem(
                    where=where,
                    found=f'tag {tag!r}',
                    expected='printable text without a comma (the extra '
                    'spec tiers:tags is comma separated)',
                    remedy='remove it, or write each tag as a separate item',
                )
            elif normal in seen:
                yield errors.Problem(
                    where=where,
                    found=f'tag {tag!r} repeats {seen[normal]!r} of the '
                    f'same tier',
                    expected='each tag once (case, white space at its ends '
                    'and Unicode composition are ignored)',
                    remedy='remove one of them',
                )
            seen.setdefault(normal, tag)
        chars = len(tags.format_tags(tier.normal_tags))
        if chars > EXTRA_SPEC_MAX_CHARS:
            yield errors.Problem(
                where=catalog.source.where(('tiers', tier.name, 'tags')),
                found=f'tags of {chars} characters in all',
                expected=f'at most {EXTRA_SPEC_MAX_CHARS}, the longest value '
                f'of an extra spec',
                remedy='use fewer or shorter tags',
            )


def _tags_across(catalog: catalogs.Catalog) -> Problems:
    seen: dict[str, catalogs.Tier] = {}
    for tier in catalog.tiers:
        for index, tag in enumerate(tier.tags):
            other = seen.setdefault(tags.normalize_tag(tag), tier)
            if other is not tier:
                yield errors.Problem(
                    where=catalog.source.where(
                        ('tiers', tier.name, 'tags', index)
                    ),
                    found=(
                        f'tag {tag!r} of tier {tier.name!r} already selects '
                        f'tier {other.name!r}'
                    ),
                    expected='each tag in one tier (case, white space at its '
                    'ends and Unicode composition are ignored)',
                    remedy='remove it from one of them',
                )


def _priorities(catalog: catalogs.Catalog) -> Problems:
    seen: dict[int, str] = {}
    for tier in catalog.tiers:
        if not tier.tags:
            continue
        other = seen.setdefault(tier.priority, tier.name)
        if other != tier.name:
            yield errors.Problem(
                where=catalog.source.where(('tiers', tier.name, 'priority')),
                found=f'tiers {other!r} and {tier.name!r} both have '
                f'priority {tier.priority}',
                expected=(
                    'a different priority for each tier with tags (default: '
                    '0), because an image may have tags of both'
                ),
                remedy='give the tier that should win the higher number',
            )


def _expectations(catalog: catalogs.Catalog) -> Problems:
    for tier in catalog.tiers:
        for fault in expectations.faults(tier.expect):
            yield errors.Problem(
                where=catalog.source.where(
                    ('tiers', tier.name, 'expect', *fault.path)
                ),
                found=f'expect of tier {tier.name!r}: {fault.found}',
                expected=fault.expected,
                remedy=fault.remedy,
            )


def _clusters(catalog: catalogs.Catalog) -> Problems:
    known = ', '.join(catalog.clusters) or 'none'
    for tier in catalog.ceph_tiers:
        if tier.rbd.cluster in catalog.clusters:
            continue
        name = tier.rbd.cluster
        yield errors.Problem(
            where=catalog.source.where(('tiers', tier.name, 'rbd', 'cluster')),
            found=f'unknown cluster {name!r}',
            expected=f'one of those under clusters: {known}',
            remedy=(
                f'{spelling.did_you_mean(name, catalog.clusters)}fix it or '
                'declare the cluster'
            ),
        )


def _min_size(
    catalog: catalogs.Catalog,
    path: catalogs.Path,
    protection: catalogs.Replicated | catalogs.ErasureCoded,
) -> Problems:
    """Yield problems of a min_size, if it is declared."""
    if isinstance(protection, catalogs.Replicated):
        name, least, what = 'replicated', 1, f'size {protection.size}'
    else:
        name, least = 'erasure_coded', protection.k
        what = f'k={protection.k} and m={protection.m}'
    where = catalog.source.where((*path, name, 'min_size'))
    found = protection.min_size
    if found is not None and not least <= found <= protection.size:
        yield errors.Problem(
            where=where,
            found=f'min_size {found} with {what}',
            expected=f'a min_size from {least} to {protection.size}; Ceph '
            'accepts no other',
            remedy='fix min_size',
        )
        return
    is_unprotected = found is not None and found < protection.least_min_size
    if is_unprotected != protection.unprotected_writes:
        yield errors.Problem(
            where=where,
            found=f'{"no min_size" if found is None else f"min_size {found}"} '
            f'with {what} and '
            f'{"with" if protection.unprotected_writes else "without"} '
            'unprotected_writes: true',
            expected=f'both or neither: with a min_size below '
            f'{protection.least_min_size} a write may be lost with one disk, '
            'so it must be requested explicitly',
            remedy=f'raise min_size to {protection.least_min_size} or more, '
            'or add unprotected_writes: true for data that may be lost'
            if is_unprotected
            else 'remove unprotected_writes',
        )


def _protection(catalog: catalogs.Catalog) -> Problems:
    for path, rbd in itertools.chain.from_iterable(
        tier.storages for tier in catalog.tiers
    ):
        protection = rbd.protection
        yield from _min_size(catalog, path, protection)
        if (
            isinstance(protection, catalogs.Replicated)
            and (protection.size == 1) != protection.single_copy
        ):
            yield errors.Problem(
                where=catalog.source.where((*path, 'replicated', 'size')),
                found=f'size {protection.size}'
                f'{" with" if protection.single_copy else " without"} '
                f'single_copy: true',
                expected=(
                    'both or neither: a single copy loses data with the '
                    'first failed disk, so it must be requested explicitly'
                ),
                remedy='raise size to 2 or more, or add single_copy: true '
                'for data that may be lost'
                if protection.size == 1
                else 'remove single_copy',
            )
        if (
            isinstance(protection, catalogs.ErasureCoded)
            and protection.m > protection.k
        ):
            yield errors.Problem(
                where=catalog.source.where((*path, 'erasure_coded', 'm')),
                found=f'm={protection.m} with k={protection.k}',
                expected=(
                    'm of at most k; with a larger m, data takes more space '
                    'than two copies'
                ),
                remedy='lower m, or use replicated',
            )
        for fault in failure_domains.faults(rbd):
            yield errors.Problem(
                where=catalog.source.where((*path, 'replicated', fault.key)),
                found=f'{fault.key} {fault.found}',
                expected=fault.expected,
                remedy=fault.remedy,
            )
        pg_num = rbd.pg_num
        if pg_num is not None and pg_num.bit_count() != 1:
            below = 1 << (pg_num.bit_length() - 1)
            yield errors.Problem(
                where=catalog.source.where((*path, 'pg_num')),
                found=f'pg_num {pg_num}',
                expected='a power of two, so that placement groups are of '
                'equal size',
                remedy=f'use {below} or {below * 2}',
            )


def _pools(catalog: catalogs.Catalog) -> Problems:
    owners: dict[tuple[str, str], str] = {
        (cluster.name, cluster.images_pool): 'images_pool of the cluster'
        for cluster in catalog.clusters.values()
        if cluster.images_pool
    }
    for tier in catalog.ceph_tiers:
        for path, pool in (
            (
                (*path, 'data_pool' if pool == rbd.data_pool_name else 'pool'),
                pool,
            )
            for path, rbd in tier.storages
            for pool in rbd.own_pools
        ):
            key = (tier.rbd.cluster, pool)
            if key in owners:
                yield errors.Problem(
                    where=catalog.source.where(path),
                    found=f'pool {pool!r} of tier {tier.name!r} is also the '
                    f'{owners[key]}',
                    expected=(
                        'a separate pool for each tier and cache (an erasure '
                        'coded one also has data_pool, by default '
                        f'POOL{catalogs.DATA_POOL_SUFFIX})'
                    ),
                    remedy='name another pool',
                )
            owners.setdefault(key, f'pool of tier {tier.name!r}')
