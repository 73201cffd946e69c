# SPDX-License-Identifier: Apache-2.0

"""Remains of removed tiers in a Ceph cluster.

No command removes them: pools may hold volumes, and rules and capabilities may
be used by others. A grant that outlives its pool gives cinder-volume access to
any later pool of that name, so it is reported with the command that removes
it. Pure.
"""

import collections.abc
import dataclasses
import re
import shlex

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.resources import cephx_user
from cinder_tiers.domain.resources import pool as pool_kind
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import usage as usages

#: The pool that a grant is for (ceph src/osd/OSDCap.cc).
_POOL = re.compile(r"""\bpool[ =]\s*(?:"([^"]*)"|'([^']*)'|([^\s,;]+))""")


@dataclasses.dataclass(frozen=True, kw_only=True)
class LeftOver:
    """An object that no tier of the file needs."""

    #: Kind, name and cluster.
    object_name: str
    reason: str
    #: Commands that remove it, unless something speaks against it.
    remedy: str


def find(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> collections.abc.Iterator[LeftOver]:
    """Yield the objects of a cluster that no tier of the file needs.

    :returns: managed pools, then grants of the user of cinder-volume for pools
        that do not exist, then the CRUSH rules of these pools.
    """
    declared = {
        pool
        for tier in catalog.ceph_tiers
        if tier.rbd.cluster == cluster.name
        for pool in tier.rbd.pools
    }
    drafts = {pool_kind.draft_name(pool) for pool in declared}
    for name in sorted(ceph.pools.keys() - declared):
        if name in drafts:
            yield _half_made(cluster, name)
        # A pool of another application belongs to that application.
        elif pool_kind.is_draft(name) and ceph.pools[name].applications <= {
            'rbd'
        }:
            yield _abandoned(cluster, name, ceph.usage)
        elif ceph.pools[name].managed:
            yield _pool(cluster, name)
    user = ceph.users.get(f'client.{cluster.cinder_user}')
    if user is None:
        return
    gone = {
        pool
        for text in user.caps.values()
        for grant in cephx_user.parse(text)
        if (pool := _pool_of(grant))
    } - {*declared, *ceph.pools, cluster.images_pool}
    if not gone:
        return
    yield LeftOver(
        object_name=f'cephx user {user.name} ({cluster.name})',
        reason='it has capabilities for pools that do not exist: '
        f'{spelling.listed(gone)}; a later pool of that name would be open to '
        'it, whoever makes it',
        remedy=f'revoke them: {_without(user, gone)}',
    )
    used = {pool.crush_rule for pool in ceph.pools.values()}
    for name in sorted(ceph.crush_rules.keys() - used):
        if any(name == one or name.startswith(f'{one}-') for one in gone):
            yield _rule(cluster, ceph.crush_rules[name])


def _half_made(cluster: catalogs.Cluster, name: str) -> LeftOver:
    """Return a pool that the next apply finishes or refuses."""
    return LeftOver(
        object_name=f'pool {name} ({cluster.name})',
        reason='it has the name that apply gives a pool until it is complete',
        remedy='run "openstack tier plan", which says whether the next apply '
        'finishes it, or what to do with it',
    )


def _abandoned(
    cluster: catalogs.Cluster,
    name: str,
    usage: usages.ClusterUsage | usages.Unknown,
) -> LeftOver:
    """Return a half-made pool of a tier that the file does not have."""
    held = None if isinstance(usage, usages.Unknown) else usage.pools.get(name)
    objects = held.objects if held else 0
    shown = f'"rados -p {shlex.quote(name)} ls"'
    return LeftOver(
        object_name=f'pool {name} ({cluster.name})',
        reason='an interrupted apply left it'
        if not objects
        else f'it has the name that apply gives a pool until it is complete, '
        f'and is not empty (objects: {objects})',
        remedy=f'see what they are with {shown}, and rename the pool'
        if objects
        else f'if {shown} shows nothing, run {pool_kind.deletion(name)}',
    )


def _pool(cluster: catalogs.Cluster, name: str) -> LeftOver:
    """Return a managed pool that no tier has."""
    word = shlex.quote(name)
    return LeftOver(
        object_name=f'pool {name} ({cluster.name})',
        reason='it has the ownership marker, and no tier of the file has the '
        'pool; volumes of a removed tier may be in it',
        remedy=f'declare the tier again; or, if "rbd ls {word}" and "rbd '
        f'trash ls --all {word}" show nothing, {pool_kind.deletion(name)}',
    )


def _rule(cluster: catalogs.Cluster, rule: ceph_state.CrushRule) -> LeftOver:
    word = shlex.quote(rule.name)
    remove = f'ceph osd crush rule rm {word}'
    if rule.kind == 'erasure':
        remove += f'; ceph osd erasure-code-profile rm {word}'
    return LeftOver(
        object_name=f'crush rule {rule.name} ({cluster.name})',
        reason='no pool uses it, and the pool that it is named after does not '
        'exist',
        remedy=remove,
    )


def _pool_of(grant: str) -> str | None:
    found = _POOL.search(grant)
    return found and next(filter(None, found.groups()), None)


def _without(
    user: ceph_state.CephxUser, pools: collections.abc.Container[str]
) -> str:
    """Return the command that removes the grants of a user for some pools."""
    words = ['ceph', 'auth', 'caps', user.name]
    for daemon, text in sorted(user.caps.items()):
        kept = [
            grant
            for grant in cephx_user.parse(text)
            if _pool_of(grant) not in pools
        ]
        if kept:
            words += [daemon, ', '.join(kept)]
    return shlex.join(words)
