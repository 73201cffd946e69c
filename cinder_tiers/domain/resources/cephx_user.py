# SPDX-License-Identifier: Apache-2.0

"""The cephx user of cinder-volume, and its capabilities in Ceph's form.

Grammar: ceph doc/rados/operations/user-management.rst, "Authorization
(Capabilities)". Grants are only added, because others may rely on existing
ones.

A cephx user has no place for an ownership marker. A user whose grants are only
those that tiers need, or which has the grants of a managed pool, counts as one
that `apply` created or was allowed to change; for others it asks. Pure.
"""

import collections.abc
import dataclasses
import re

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.resources import kind as kinds
from cinder_tiers.domain import spelling
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import difference

#: Cipher of the keys that every Ceph release reads.
_OLD_CIPHER = 'aes'
#: Users, without `client.`, of Ceph itself, of its gateways and of deployment
#: tools (ceph src/pybind/mgr/cephadm/services, src/ceph-create-keys; rook
#: pkg/operator/ceph: csi/secrets.go, config/keyring, and its external script).
_OF_CEPH = re.compile(
    r'admin|healthchecker'
    r'|(?:bootstrap|csi|rook-(?:ceph|csi|rbd))-.+'
    r'|(?:agent|ceph-exporter|cephfs-mirror|crash|fs-mirror|iscsi|mds|mgr|mon'
    r'|nfs|nfs-ganesha|nvmeof|osd|rbd-mirror|rbd-mirror-peer|rgw|smb)'
    r'(?:\..*)?'
)
# A grant ends at a comma or semicolon that is not inside quotes.
_GRANT = re.compile(r"""(?:"[^"]*"|'[^']*'|[^,;"'])+""")


def parse(text: str) -> tuple[str, ...]:
    """Return the grants of one daemon type, with white space normalised.

    >>> parse('profile rbd pool=a,  profile  rbd pool=b')
    ('profile rbd pool=a', 'profile rbd pool=b')
    """
    grants = (' '.join(part.split()) for part in _GRANT.findall(text))
    return tuple(grant for grant in grants if grant)


def covers(held: str, wanted: str) -> bool:
    """Return whether one grant already allows what another would.

    Knows the grants for RBD, and returns False when unsure: the grant is then
    added, which is harmless.

    >>> covers('profile rbd pool=images', 'profile rbd-read-only pool=images')
    True
    """
    if held in (wanted, 'allow *'):
        return True
    stronger = wanted.replace('profile rbd-read-only', 'profile rbd')
    return held in (
        stronger,
        re.sub(' pool=.*', '', wanted),
        re.sub(' pool=.*', '', stronger),
    )


def union(
    held: collections.abc.Mapping[str, str],
    wanted: collections.abc.Mapping[str, tuple[str, ...]],
) -> dict[str, str]:
    """Return capabilities that include the held and the wanted ones.

    :param held: {daemon type: text}.
    :param wanted: {daemon type: grants}.
    :returns: {daemon type: text}; it begins with the held text, and equals it
        if nothing is missing.
    """
    result = dict(held)
    for daemon, grants in wanted.items():
        text = held.get(daemon, '').strip(' ,;')
        have = parse(text)
        missing = tuple(
            grant
            for grant in grants
            if not any(covers(one, grant) for one in have)
        )
        if missing:
            result[daemon] = ', '.join(filter(None, (text, *missing)))
    return result


def beyond(
    held: collections.abc.Mapping[str, str],
    others: collections.abc.Mapping[str, str],
) -> tuple[str, ...]:
    """Return the held grants that other capabilities do not include.

    >>> beyond({'mon': 'allow r', 'mds': 'allow r'}, {'mon': 'allow r'})
    ('mds allow r',)

    :param held: {daemon type: text}.
    :param others: {daemon type: text}.
    :returns: grants, each with its daemon type.
    """
    return tuple(
        f'{daemon} {grant}'
        for daemon, text in sorted(held.items())
        for grant in parse(text)
        if not any(covers(one, grant) for one in parse(others.get(daemon, '')))
    )


def plan(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> kinds.Actions:
    """Yield the action on the user of cinder-volume, if it lacks a grant."""
    name = f'client.{cluster.cinder_user}'
    before = ceph.users.get(name)
    needed = grants_of(catalog, cluster)
    after = ceph_state.CephxUser(
        name=name,
        caps=union(before.caps if before else {}, needed),
        needed=needed,
        of_others=_of_others(before, needed, ceph) if before else (),
    )
    if before is None or difference.differences(before, after):
        yield actions.Action(
            key=actions.Key(
                kind=actions.Kind.CEPHX_USER, cluster=cluster.name, name=name
            ),
            before=before,
            after=after,
            why='gives cinder-volume access to the pools of the tiers',
            refusal=_refusal(cluster.cinder_user, after.of_others),
        )


def _refusal(name: str, of_others: tuple[str, ...]) -> actions.Refusal | None:
    """Return why a user may not be given what the tiers need.

    :param name: name of the user, without `client.`.
    :param of_others: grants that suggest that the user belongs to another
        service.
    """
    another = (
        'name another user in cinder_user, which apply then creates, and give '
        'its key to cinder-volume and Nova'
    )
    if _OF_CEPH.fullmatch(name):
        return actions.Refusal(
            reason=f'client.{name} is a user of Ceph itself, or of what '
            'deploys it, and not of cinder-volume',
            remedy=another,
        )
    if not of_others:
        return None
    return actions.Refusal(
        reason='the user exists, and holds what the tiers do not need, so it '
        'may belong to another service, which would get access to the volumes '
        f'of the tiers: {"; ".join(of_others)}',
        remedy=another,
        yields_to_consent=True,
    )


def _of_others(
    user: ceph_state.CephxUser,
    needed: collections.abc.Mapping[str, tuple[str, ...]],
    ceph: ceph_state.CephState,
) -> tuple[str, ...]:
    """Return grants that tiers do not need; none if it has a managed pool's.

    :param needed: {daemon type: grants}.
    """
    held = [set(parse(user.caps.get(one, ''))) for one in ('osd', 'mgr')]
    if any(
        pool.managed and all(grant_of(pool.name) in one for one in held)
        for pool in ceph.pools.values()
    ):
        return ()
    return beyond(
        user.caps,
        {daemon: ', '.join(grants) for daemon, grants in needed.items()},
    )


def key_note(ceph: ceph_state.CephState) -> str | None:
    """Return a note on a new cephx user; None if there is none.

    A cluster created by Ceph 20 has keys that older clients cannot read: those
    of 16.2.15 and 18.2.7 end with "Malformed input".
    """
    if not ceph.key_ciphers or _OLD_CIPHER in ceph.key_ciphers:
        return None
    return (
        f'the key of the user has the cipher {", ".join(ceph.key_ciphers)}, '
        'the only one that the cluster allows: hosts of Cinder, Nova and '
        'Glance with librados of Ceph 19 or older cannot use it. Upgrade them '
        'first, or allow the old cipher, "ceph mon set auth_allowed_ciphers '
        'aes,aes256k", "ceph mon set auth_service_cipher aes" and "ceph '
        'config set mon mon_auth_allow_insecure_key true", and make the user '
        'with "ceph auth get-or-create --key_type aes"'
    )


def _lacks(
    catalog: catalogs.Catalog,
    tier: catalogs.CephTier,
    held: collections.abc.Mapping[str, str],
) -> bool:
    """Return whether the user of cinder-volume lacks what a tier needs."""
    alone = dataclasses.replace(catalog, tiers=(tier,))
    return held != union(
        held, grants_of(alone, catalog.clusters[tier.rbd.cluster])
    )


def grant_of(pool: str) -> str:
    """Return the capability of a cephx user for the images of a pool."""
    return f'profile rbd pool={pool}'


def grants_of(
    catalog: catalogs.Catalog, cluster: catalogs.Cluster
) -> dict[str, tuple[str, ...]]:
    """Return the grants that the cephx user of Cinder needs.

    See ceph doc/rbd/rbd-openstack.rst, "Setup Ceph client authentication".

    :returns: {daemon type: grants}.
    """
    pools = [
        grant_of(pool)
        for tier in catalog.tiers_of(cluster.name)
        for pool in tier.rbd.pools
    ]
    read = (
        [f'profile rbd-read-only pool={cluster.images_pool}']
        if cluster.images_pool
        else []
    )
    return {
        'mon': ('profile rbd',),
        'osd': (*pools, *read),
        'mgr': tuple(pools),
    }


def check_cluster(
    catalog: catalogs.Catalog,
    cluster: catalogs.Cluster,
    ceph: ceph_state.CephState,
) -> kinds.Problems:
    """Yield a problem if the images pool of a cluster does not exist."""
    if not cluster.images_pool or cluster.images_pool in ceph.pools:
        return
    near = spelling.did_you_mean(cluster.images_pool, ceph.pools)
    yield errors.Problem(
        where=catalog.source.where(('clusters', cluster.name, 'images_pool')),
        found=f'cluster {cluster.name!r} has no pool {cluster.images_pool!r}',
        expected='the pool in which Glance stores images',
        remedy=(
            f'{near}fix it, create the pool for Glance first, or leave '
            'images_pool out if Glance does not use the cluster'
        ),
    )


def _tiers_affected(
    catalog: catalogs.Catalog, action: actions.Action
) -> tuple[str, ...]:
    before = action.before
    held = before.caps if isinstance(before, ceph_state.CephxUser) else None
    return tuple(
        tier.name
        for tier in catalog.tiers_of(action.key.of_cluster)
        if held is None or _lacks(catalog, tier, held)
    )


CEPHX_USER = kinds.ResourceKind(
    kind=actions.Kind.CEPHX_USER,
    resource=ceph_state.CephxUser,
    state_field='users',
    plan=kinds.for_each_cluster(plan),
    tiers_affected=_tiers_affected,
    check_cluster=check_cluster,
)
