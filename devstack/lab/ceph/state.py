# SPDX-License-Identifier: Apache-2.0
"""Brings the state inside a running Ceph to what the lab starts from.

Everything here goes through the monitor and may be repeated. What a user or
a tier has changed since is left as it is.
"""

from collections.abc import Mapping
import dataclasses
import errno
import json

from lab.ceph import errors
from lab.ceph import keyrings
from lab.ceph import monitor_client
from lab.ceph import topology

IMAGES_POOL = 'images'
IMAGES_CLIENT = 'glance'
_OLDEST_CLIENT = 'mimic'
_IMAGES_RULE = 'images-ssd'
#: Key in the monitor's key-value store: INITIAL_OPTIONS were set.
_OPTIONS_MARK = 'cinder-tiers-lab/first-options'
_IMAGES_CAPABILITIES = {
    'mon': 'profile rbd',
    'osd': f'profile rbd pool={IMAGES_POOL}',
    'mgr': f'profile rbd pool={IMAGES_POOL}',
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class DaemonStatus:
    """Which daemons of the cluster are up.

    :param missing: daemons that are not up, by name.
    :param out: ids of OSDs, as text, that get no data.
    :param flags: of the OSD map, such as noup, separated by commas.
    """

    missing: tuple[str, ...]
    out: tuple[str, ...]
    flags: str

    def is_ready(self) -> bool:
        return not self.missing and not self.out

    def __str__(self) -> str:
        return (
            f'not up: {", ".join(self.missing) or "none"}; not in: '
            f'{", ".join(self.out) or "none"} (flags: {self.flags})'
        )


def observe(
    monitor: monitor_client.Monitor, layout: topology.CephLayout
) -> DaemonStatus:
    """Return which of the cluster's OSDs are up, and whether its manager is.

    :raises lab.ceph.monitor_client.MonitorError: no answer in time.
    """
    return parse_status(
        layout,
        monitor.query({'prefix': 'osd dump'}),
        monitor.query({'prefix': 'mgr dump'}),
    )


def parse_status(
    layout: topology.CephLayout, osd_dump: dict, mgr_dump: dict
) -> DaemonStatus:
    """Read the answers to ``osd dump`` and ``mgr dump``."""
    seen = {osd['osd']: osd for osd in osd_dump['osds']}
    missing = [
        osd.name for osd in layout.osds if not seen.get(osd.id, {}).get('up')
    ]
    if not mgr_dump['available']:
        missing.append(topology.MANAGER)
    return DaemonStatus(
        missing=tuple(missing),
        flags=osd_dump['flags'],
        # What has never been up is not in, but will be by itself.
        out=tuple(
            str(osd.id)
            for osd in layout.osds
            if seen.get(osd.id, {}).get('up') and not seen[osd.id]['in']
        ),
    )


def set_initial_options(
    monitor: monitor_client.Monitor,
    options: Mapping[tuple[str, str], str],
) -> None:
    """Give options their first values, once in a cluster's life.

    :param options: (section, option) -> value.
    :raises lab.ceph.monitor_client.MonitorError: an option is refused.
    """
    try:
        monitor.command({'prefix': 'config-key get', 'key': _OPTIONS_MARK})
        return
    except monitor_client.MonitorError as problem:
        if problem.code != errno.ENOENT:
            raise
    for (section, name), value in options.items():
        # force: options of manager modules are unknown without a manager
        monitor.command(
            {
                'prefix': 'config set',
                'who': section,
                'name': name,
                'value': value,
                'force': name.startswith('mgr/'),
            }
        )
    monitor.command(
        {'prefix': 'config-key set', 'key': _OPTIONS_MARK, 'val': 'done'}
    )


def register_osds(
    monitor: monitor_client.Monitor, layout: topology.CephLayout
) -> None:
    """Make those OSDs known that are not, with their key and class.

    :raises lab.ceph.monitor_client.MonitorError: an OSD is refused.
    """
    known = {
        osd['uuid'] for osd in monitor.query({'prefix': 'osd dump'})['osds']
    }
    for osd in layout.osds:
        identity = str(layout.osd_uuid(osd))
        if identity in known:
            continue
        key = keyrings.read_key(layout.data(osd.name) / 'keyring', osd.name)
        monitor.command(
            {'prefix': 'osd new', 'uuid': identity, 'id': osd.id},
            json.dumps(
                {'cephx_secret': key, 'crush_device_class': osd.device_class}
            ),
        )


def make_images_pool(monitor: monitor_client.Monitor) -> None:
    """Make the pool of images on flash, and the user that writes to it.

    Two copies: what it holds can be built again.

    :raises lab.ceph.monitor_client.MonitorError: Ceph refuses a step.
    """
    if IMAGES_POOL not in _pools_of_rbd(monitor):
        monitor.command(
            {
                'prefix': 'osd crush rule create-replicated',
                'name': _IMAGES_RULE,
                'root': 'default',
                'type': 'host',
                'class': 'ssd',
            }
        )
        monitor.command(
            {
                'prefix': 'osd pool create',
                'pool': IMAGES_POOL,
                'pg_num': 32,
                'pgp_num': 32,
                'pool_type': 'replicated',
                'rule': _IMAGES_RULE,
                'size': 2,
            }
        )
        monitor.initialise_rbd_pool(IMAGES_POOL)
        # For clones of the second version, as devstack-plugin-ceph does it.
        # With the first, neither Glance nor Cinder can delete an image or a
        # volume below a clone.
        monitor.command(
            {
                'prefix': 'osd set-require-min-compat-client',
                'version': _OLDEST_CLIENT,
            }
        )
    entity = f'client.{IMAGES_CLIENT}'
    try:
        keyring_text(monitor, entity)
        prefix = 'auth caps'
    except errors.CephError:
        prefix = 'auth get-or-create'
    monitor.command(
        {
            'prefix': prefix,
            'entity': entity,
            'caps': [
                word for pair in _IMAGES_CAPABILITIES.items() for word in pair
            ],
        }
    )


def ensure_rbd_user(monitor: monitor_client.Monitor, entity: str) -> None:
    """Make a cephx user of RBD that may use no pool yet, if need be.

    A user that is there keeps what it may do.

    :raises lab.ceph.monitor_client.MonitorError: Ceph refuses.
    """
    try:
        keyring_text(monitor, entity)
    except errors.CephError:
        monitor.command(
            {
                'prefix': 'auth get-or-create',
                'entity': entity,
                'caps': ['mon', 'profile rbd'],
            }
        )


def keyring_text(monitor: monitor_client.Monitor, entity: str) -> str:
    """Return a cephx user's key and capabilities, as a keyring file.

    :raises lab.ceph.errors.CephError: there is no such user.
    :raises lab.ceph.monitor_client.MonitorError: no answer.
    """
    try:
        return monitor.command({'prefix': 'auth get', 'entity': entity})
    except monitor_client.MonitorError as problem:
        if problem.code != errno.ENOENT:
            raise
        raise errors.CephError(
            f'found no cephx user {entity}; expected one made earlier '
            "(client.cinder: by 'openstack tier apply'). See: ceph auth ls"
        ) from None


def _pools_of_rbd(monitor: monitor_client.Monitor) -> set[str]:
    """Return pools marked as RBD's: that is the last step of making one."""
    return {
        pool['pool_name']
        for pool in monitor.query({'prefix': 'osd dump'})['pools']
        if 'rbd' in pool['application_metadata']
    }
