# SPDX-License-Identifier: Apache-2.0

"""Reads the capabilities of a cephx user.

The key of the user is dropped at once.
"""

import errno

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.observe.ceph import answers


@answers.in_known_form
def observe(
    session: ceph_session.Session,
    catalog: catalogs.Catalog,
    found: ceph_state.CephState,
) -> dict[str, object]:
    """The cephx user of cinder-volume, if there is one."""
    name = f'client.{session.cluster.cinder_user}'
    user = read(session, name)
    if user:
        return {'users': {name: user}}
    # Since Ceph 20 (MonMap::dump).
    ciphers = session.command('mon dump').get('auth_allowed_ciphers', ())
    return {
        'users': {},
        'key_ciphers': tuple(one['name'] for one in ciphers),
    }


@answers.in_known_form
def read(
    session: ceph_session.Session, name: str
) -> ceph_state.CephxUser | None:
    """A cephx user with its capabilities; None when it does not exist."""
    try:
        dumped = session.command('auth get', entity=name)
    except ceph_session.CephRefused as error:
        if error.errno == errno.ENOENT:
            return None
        raise
    return ceph_state.CephxUser(name=name, caps=dict(dumped[0]['caps']))
