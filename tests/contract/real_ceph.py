# SPDX-License-Identifier: Apache-2.0

"""A real Ceph cluster for tests, and tiers on it under names of their own.

The environment variable CINDER_TIERS_TEST_CEPH_CONF names its ceph.conf.
"""

import dataclasses
import os
import threading
import uuid

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain import errors
from cinder_tiers.domain.export import catalog as export
from cinder_tiers.domain.export import inventory as inventories
from cinder_tiers.domain.placement import rbd_location
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.execute import registry
from cinder_tiers.observe.ceph import cluster as ceph
from cinder_tiers.observe.ceph.osd import osds as observed_osds
from cinder_tiers.observe.ceph import usage as ceph_usage
from cinder_tiers.observe import for_export as inventory
from tests.unit.domain import inventories as given
from tests.worlds import in_memory

#: One of each kind, with values that Ceph shows in another form.
OPTIONS = {
    'compression_mode': 'aggressive',
    'compression_algorithm': 'zstd',
    'compression_required_ratio': 0.70,
    'compression_min_blob_size': 8192,
    'csum_type': 'xxhash64',
    'scrub_min_interval': 86400.5,
    'recovery_priority': 5,
    'nodeep-scrub': False,
    'write_fadvise_dontneed': True,
    'quota_max_bytes': 10**12,
    'quota_max_objects': 10**6,
}
#: Values in another form than the OSDs show them; OSDs with the queue mClock,
#: the default since Ceph 17, use them as well.
OSD_OPTIONS = {
    'bluestore_prefer_deferred_size_hdd': '48K',
    'osd_scrub_load_threshold': 0.10,
    'osd_recovery_priority': 6,
}
#: Of all OSDs of one host, likewise.
HOST_OPTIONS = {
    'bluestore_prefer_deferred_size_ssd': '16K',
    'osd_max_scrubs': 2,
}
CONF = os.environ.get('CINDER_TIERS_TEST_CEPH_CONF')
#: Between two looks at placement groups, in seconds.
LOOK_EVERY_S = 3.0


def delete_pools(session, names):
    """Delete pools, and what a cut off apply has of them.

    The cluster's own guard is left as it was.
    """
    guard = {'who': 'mon', 'name': 'mon_allow_pool_delete'}
    allowed = session.command(
        'config get', who='mon', key='mon_allow_pool_delete'
    ) in (True, 'true')
    if not allowed:
        session.command('config set', **guard, value='true')
    for one in (*names, *(f'{name}.tiers-new' for name in names)):
        session.command(
            'osd pool delete',
            pool=one,
            pool2=one,
            yes_i_really_really_mean_it=True,
        )
    if not allowed:
        session.command('config rm', **guard)


def serve_clients_since(case, client):
    """Cut older clients off, until a test ends.

    :param case: the test case, with `session` and `remove`.
    :param client: name of a release.
    """
    command = 'osd set-require-min-compat-client'
    before = case.session.command('osd dump')['require_min_compat_client']
    case.session.command(command, version=client)
    case.addCleanup(
        case.session.command,
        command,
        version=before,
        yes_i_really_mean_it=True,
    )
    # Runs before that, which Ceph refuses while anything needs them.
    case.addCleanup(case.remove)


def exported(session, cinder, catalog):
    """The export of a cluster in which a catalog was applied.

    :param cinder: a world in memory, with the volume types.
    """
    fsid = session.command('mon dump')['fsid']
    backends = tuple(
        given.rbd_backend(
            tier.backend,
            tier.rbd.pool,
            fsid=fsid,
            user=session.cluster.cinder_user,
        )
        for tier in catalog.tiers
    )
    return export.export(
        inventories.Inventory(
            cinder=cinder.observe().cinder,
            backends=backends,
            clusters=(
                inventory.read_cluster(
                    session, map(rbd_location.location_of, backends)
                ),
            ),
        )
    )


class NoConnection:
    """Stands where a cloud would be; no action of these tests reaches it."""

    block_storage = None


class LaggyGroups:
    """Lets placement groups peer again that stay laggy, while it is entered.

    In a young cluster a group that has just moved can miss the lease of its
    other OSDs; it serves no I/O, for minutes (seen on 16.2.15 and 20.2.4),
    until it peers again. That is Ceph's, and no test is about it.
    """

    def __init__(self, session):
        self._session = session
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *_caught):
        self._is_over.set()
        self._thread.join()

    def _watch(self):
        before = set()
        while not self._is_over.wait(LOOK_EVERY_S):
            try:
                found = self._session.command('pg ls', states=['laggy'])
                laggy = {one['pgid'] for one in found.get('pg_stats', ())}
                for group in sorted(laggy & before):
                    self._session.command('pg repeer', pgid=group)
            except errors.TiersError:
                # A group that is gone, or monitors that a test holds up.
                continue
            before = laggy


class CephAndCinderInMemory(testtools.TestCase):
    """Volume types are kept in memory, all else in Ceph.

    A test case gives `session`, `cinder` and `catalog`.
    """

    def read(self, key):
        if key.cluster is None:
            return self.cinder.read(key)
        return ceph.read(self.session, key)

    def observe(self):
        return actual_state.ActualState(
            cinder=self.cinder.observe().cinder,
            ceph={
                'ceph': dataclasses.replace(
                    ceph.observe(self.session, self.catalog),
                    usage=ceph_usage.attempt(self.session),
                )
            },
        )


class RealCephCase(CephAndCinderInMemory):
    """Two tiers, one of them erasure coded, with all that they may have."""

    settle_s = 30.0

    def setUp(self):
        super().setUp()
        self.mark = f'contract-{uuid.uuid4().hex[:8]}'
        cluster = catalogs.Cluster(
            name='ceph', conf=CONF, cinder_user=self.mark
        )
        self.session = self.enterContext(ceph_session.session(cluster))
        self.enterContext(LaggyGroups(self.session))
        self.addCleanup(self.remove)
        self.host = min(self.osds().hosts)
        cluster = dataclasses.replace(
            cluster, host_osd_options={self.host: HOST_OPTIONS}
        )
        classes = [
            name
            for name, count in sorted(self.osds().device_classes.items())
            if count > 2
        ]
        self.device_class = classes[-1]
        whole = self.tier(
            'whole',
            classes[0],
            catalogs.Replicated(size=2, min_size=1, unprotected_writes=True),
            options=OPTIONS,
            rbd_options={'rbd_cache': False, 'rbd_qos_iops_limit': 500},
        )
        coded = self.tier(
            'coded',
            classes[-1],
            catalogs.ErasureCoded(k=2, m=1, min_size=3),
            options={**OPTIONS, 'fast_read': True},
            osd_options=OSD_OPTIONS,
            primary_affinity=0.7,
        )
        self.catalog = catalogs.Catalog(
            clusters={'ceph': cluster}, tiers=(whole, coded)
        )
        self.replicated = whole.name
        # Of the pool with the headers.
        self.other_rule = coded.name
        self.cinder = in_memory.World(osds=())
        self.executors = registry.executors(
            connection=NoConnection(),
            clusters={'ceph': self.session},
            read_usage=ceph_usage.attempt,
        )
        self.executors[actions.Kind.VOLUME_TYPE] = self.cinder

    def osd_ids(self):
        return self.session.command(
            'osd crush class ls-osd', class_=self.device_class
        )

    def osds(self):
        """The OSDs, and nothing else, of the cluster."""
        osds = observed_osds.read_osds(self.session)
        return ceph_state.CephState(
            crush_rules={},
            erasure_code_profiles={},
            pools={},
            users={},
            osds=osds,
        )

    def tier(self, name, device_class, protection, **settings):
        return catalogs.Tier(
            name=f'{self.mark}-{name}',
            rbd=catalogs.RbdPool(
                cluster='ceph',
                pool=f'{self.mark}-{name}',
                pg_num=8,
                device_class=device_class,
                failure_domain='osd',
                protection=protection,
                **settings,
            ),
        )

    def set_pool(self, name, field, value):
        self.session.command('osd pool set', pool=name, var=field, val=value)

    def set_caps(self, user, **caps):
        self.session.command(
            'auth get-or-create',
            entity=user,
            caps=[text for pair in caps.items() for text in pair],
        )

    def remove(self):
        command = self.session.command
        names = [
            pool for tier in self.catalog.tiers for pool in tier.rbd.pools
        ]
        delete_pools(self.session, names)
        for name in names:
            command('osd crush rule rm', name=name)
            command('osd erasure-code-profile rm', name=name)
        for name in OSD_OPTIONS:
            command(
                'config rm', who=f'osd/class:{self.device_class}', name=name
            )
        for osd_id in self.osd_ids():
            command('osd primary-affinity', id=osd_id, weight=1.0)
        for name in HOST_OPTIONS:
            command('config rm', who=f'osd/host:{self.host}', name=name)
        command('auth rm', entity=f'client.{self.mark}')
