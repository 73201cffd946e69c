# SPDX-License-Identifier: Apache-2.0

"""Cephx users as commands that create them, without keys."""

import collections.abc
import pathlib
import shlex

from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import ceph_access
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain import text as escaping

_DEFAULT_CONF = '/etc/ceph/ceph.conf'
#: {value of `--for`: (function that returns the user, its commands)}
_USERS = {
    'ceph-reader': (ceph_access.reader, 'plan, audit and export'),
    'ceph-writer': (ceph_access.writer, 'apply'),
    'ceph-watcher': (ceph_access.watcher, 'watch'),
    'ceph-repairer': (ceph_access.repairer, 'repair'),
}
#: Values of `--for` for users.
TARGETS = tuple(_USERS)


def values(
    catalog: catalogs.Catalog, target: str
) -> dict[str, dict[str, object]]:
    """Return the users for programs.

    :param target: one of `TARGETS`.
    :returns: {cluster: {'entity': name, 'caps': {daemon: text}}}
    """
    make, _ = _USERS[target]
    return {
        cluster.name: {
            'entity': (user := make(catalog, cluster)).name,
            'caps': dict(user.caps),
        }
        for cluster in catalog.clusters_in_use
    }


def commands(catalog: catalogs.Catalog, target: str) -> str:
    """Return the users as lines for a shell.

    :param target: one of `TARGETS`.
    """
    if not catalog.clusters_in_use:
        return '# No tier has rbd: no cephx user is needed.\n'
    return ''.join(
        f'{line}\n'
        for cluster in catalog.clusters_in_use
        for line in _lines(catalog, cluster, target)
    )


def _lines(
    catalog: catalogs.Catalog, cluster: catalogs.Cluster, target: str
) -> collections.abc.Iterator[str]:
    make, acts = _USERS[target]
    user = make(catalog, cluster)
    keyring = _keyring(cluster, user)
    ceph = ['ceph', *(['--conf', cluster.conf] if cluster.conf else [])]
    caps = [text for pair in user.caps.items() if pair[1] for text in pair]
    name = escaping.printable(cluster.name)
    yield f'# Ceph cluster {name}: {acts} can act as {user.name}.'
    yield shlex.join(
        [*ceph, 'auth', 'get-or-create', user.name, *caps, '-o', keyring]
    )
    yield '# If it exists with other capabilities:'
    yield '# ' + shlex.join([*ceph, 'auth', 'caps', user.name, *caps])
    plain = user.name.removeprefix('client.')
    if cluster.user != plain:
        yield f'# In the tiers file: clusters: {{{name}: {{user: {plain}}}}}'
    if cluster.conf not in (None, _DEFAULT_CONF):
        yield escaping.printable(
            f'# In {cluster.conf}: [{user.name}] keyring = {keyring}'
        )
    if target == 'ceph-reader':
        more = ', '.join(ceph_access.volumes_grants(catalog, cluster))
        yield f'# audit --volumes needs in osd as well: {shlex.quote(more)}'
    if target == 'ceph-watcher':
        rbd = ['rbd', *(['--conf', cluster.conf] if cluster.conf else [])]
        yield '# Once, as an administrator:'
        for words in ceph_access.watch_preparations(catalog, cluster):
            yield '# ' + escaping.printable(shlex.join([*rbd, *words]))


def _keyring(cluster: catalogs.Cluster, user: ceph_state.CephxUser) -> str:
    conf = pathlib.PurePath(cluster.conf or _DEFAULT_CONF)
    return str(conf.with_name(f'{conf.stem}.{user.name}.keyring'))
