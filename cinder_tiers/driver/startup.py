# SPDX-License-Identifier: Apache-2.0

"""Conditions that pools must meet before a backend serves volumes. Pure."""

import collections.abc

from cinder_tiers.driver import pools

_ERASURE_CODED = 3
_FULL = frozenset({'full', 'full_quota'})


def may_keep_images(pool: collections.abc.Mapping) -> bool:
    """Return whether a pool can have images with headers.

    :param pool: an entry of the answer to "osd pool ls" with detail "detail".
    """
    return (
        'rbd' in pool['application_metadata']
        and pool['type'] != _ERASURE_CODED
    )


def unusable(
    wanted: collections.abc.Iterable[pools.BackendPool],
    found: collections.abc.Iterable[collections.abc.Mapping],
) -> list[str]:
    """Explain why pools cannot keep volumes, a sentence for each.

    :param found: answer to the command "osd pool ls" with detail "detail".
    """
    by_name = {pool['pool_name']: pool for pool in found}
    problems = []
    for pool in wanted:
        there = by_name.get(pool.rados_pool)
        where = f'{pools.OPTION} {pool.name}:{pool.rados_pool}'
        if there is None:
            problems.append(
                f'{where}: the cluster has no pool {pool.rados_pool!r}; '
                'create it, or take it out of the option.'
            )
            continue
        applications = sorted(there['application_metadata'])
        if 'rbd' not in applications:
            problems.append(
                f'{where}: its application is '
                f'{", ".join(applications) or "not set"}, expected rbd; name '
                'another pool, or run "rbd pool init" for a new one.'
            )
        if there['type'] == _ERASURE_CODED:
            problems.append(
                f'{where}: it is erasure coded, which keeps no headers of '
                'images; name a replicated pool whose rbd_default_data_pool '
                'is the erasure coded one.'
            )
    return problems


def without_rights(user: str, rados_pool: str) -> str:
    """Say that a cephx user lacks rights in a pool, in a sentence."""
    return (
        f'Ceph refuses user {user} in pool {rados_pool}: it needs osd '
        f'"profile rbd pool={rados_pool}", which "openstack tier apply" '
        'grants.'
    )


def shared(
    wanted: collections.abc.Iterable[pools.BackendPool],
    others: collections.abc.Mapping[str, collections.abc.Iterable[str]],
) -> list[str]:
    """Say which pools are also of another backend, a sentence for each.

    >>> shared(pools.parse(['tier-a:a']), {'other': ['tier-b:a', 'tier-c:c']})
    ['Section other has RADOS pool a, too: Cinder counts its space twice.']

    :param others: {section of cinder.conf: entries of the option}.
    """
    names = {pool.rados_pool for pool in wanted}
    return [
        f'Section {section} has RADOS pool {name}, too: Cinder counts its '
        'space twice.'
        for section, entries in others.items()
        for name in sorted(names & {one.partition(':')[2] for one in entries})
    ]


def full(
    names: collections.abc.Container[str],
    found: collections.abc.Iterable[collections.abc.Mapping],
) -> list[str]:
    """Names of the RADOS pools that take no writes now.

    :param names: names of the RADOS pools to look for.
    :param found: see `unusable`.
    """
    return [
        pool['pool_name']
        for pool in found
        if pool['pool_name'] in names and is_full(pool)
    ]


def is_full(pool: collections.abc.Mapping) -> bool:
    """Return whether a pool takes no writes now.

    :param pool: an entry of the answer to "osd pool ls" with detail "detail".
    """
    return bool(_FULL & set(pool['flags_names'].split(',')))
