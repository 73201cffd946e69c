# SPDX-License-Identifier: Apache-2.0

"""A tiers file with each kind of object, on a real cluster.

The file is tests/cases/every_kind.yaml, under names of each test's own.
"""

import contextlib
import dataclasses
import pathlib
import tempfile
import uuid

import testtools

from cinder_tiers.clients import ceph as ceph_session
from cinder_tiers.domain.audit import tiers as audit
from cinder_tiers.domain.catalog import model as catalogs
from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import action as actions
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import difference
from cinder_tiers.execute import apply
from cinder_tiers.execute import registry as executing
from cinder_tiers.files.tiers import codec
from cinder_tiers.files.tiers import reader
from cinder_tiers.observe.ceph import cluster
from cinder_tiers.observe.ceph.osd import osd_metadata
from cinder_tiers.observe.ceph.osd import osds as observed_osds
from cinder_tiers.observe.ceph import usage
from cinder_tiers.observe import registry as observing
from tests.contract import real_ceph
from tests.worlds import in_memory

FILE = pathlib.Path(__file__).parents[1] / 'cases' / 'every_kind.yaml'
#: Its names of the cluster's user, of tiers and pools, and of the host.
MARK, HOST = 'every-kind', 'host-a'
#: The device classes of its tiers.
HDD, SSD = 'hdd', 'ssd'
POOLS = ('whole', 'cache', 'coded', 'chunks', 'other')
#: What it sets for the OSDs of a class, and of a host.
CLASS_OPTION = 'osd_max_scrubs'
HOST_OPTION = 'bluestore_prefer_deferred_size_ssd'
#: How databases of OSDs compress in the file, and until Ceph 16.
ROCKSDB, ROCKSDB_BEFORE = 'lz4', 'none'
#: What OSDs with mClock, the default queue since Ceph 17, would not heed.
NOT_WITH_MCLOCK = ('osd_recovery_sleep', 'osd_max_backfills')

#: What a cluster goes through: nothing is there, the same for a file that
#: asks for what OSDs with mClock would not heed, all is as declared, and
#: somebody else has changed it.
ABSENT, UNHEEDED, APPLIED, CHANGED = 'absent', 'unheeded', 'applied', 'changed'
PHASES = (ABSENT, UNHEEDED, APPLIED, CHANGED)


def text(*, mark=MARK, host=HOST, conf=None, **osd_options):
    """The tiers file.

    :param mark: what names begin with.
    :param host: a host of the cluster.
    :param conf: the configuration file of the cluster; None: Ceph's own.
    :param osd_options: what it sets for the OSDs of a class, too.
    """
    whole = FILE.read_text('utf-8').replace(MARK, mark).replace(HOST, host)
    if conf:
        whole = whole.replace('  ceph:\n', f'  ceph:\n    conf: {conf}\n', 1)
    for name, value in osd_options.items():
        whole = whole.replace(
            f'{CLASS_OPTION}: ', f'{name}: {value}, {CLASS_OPTION}: '
        )
    return whole


def catalog_of(phase):
    """The tiers file of a phase."""
    unheeded = dict.fromkeys(NOT_WITH_MCLOCK, 2) if phase == UNHEEDED else {}
    return reader.read_text(text(**unheeded), file=FILE.name)


def observed(session, phase, cinder):
    """All that a plan of a phase is compared with."""
    ceph = cluster.observe(session, catalog_of(phase))
    return actual_state.ActualState(
        cinder=cinder.observe().cinder,
        ceph={'ceph': dataclasses.replace(ceph, usage=usage.attempt(session))},
    )


def meaning(session, phase, cinder):
    """What the product makes of a cluster.

    :param session: with the cluster.
    :param cinder: a world in memory, with what Cinder has.
    :returns: the plan and the audit in lines, the export, and the state.
    """
    catalog = catalog_of(phase)
    actual = observed(session, phase, cinder)
    plan = plans.make(catalog=catalog, actual=actual)
    found = audit.audit(
        catalog=catalog,
        observed=audit.Observed(
            cinder=actual.cinder,
            projects={},
            ceph=actual.ceph,
            # Not of this host, of which it would ask the kernel.
            osds={'ceph': osd_metadata.observe(session, host='-')},
        ),
    )
    exported = real_ceph.exported(session, cinder, catalog)
    return {
        'plan': [
            ('refused: ' if one.refusal else '')
            + f'{one.verb} {one.key}'
            + ''.join(
                f'; {change.field} {change.before} -> {change.after}'
                for change in (
                    difference.differences(one.before, one.after)
                    if one.before and one.after
                    else ()
                )
            )
            for one in plan.actions
        ],
        'audit': [
            f'{one.object_name}: {one.aspect}: {one.state.value}'
            for one in found
            if one.state is audit.State.NON_COMPLIANT
        ],
        'export': codec.write(exported.catalog),
        'state': actual.ceph['ceph'],
    }


def of_cinder(plan):
    """The part of a plan that is of Cinder."""
    return plans.Plan(
        actions=tuple(one for one in plan.actions if not one.key.cluster)
    )


class EveryKindCase(testtools.TestCase):
    """A cluster from which all of it is removed in the end."""

    #: What names begin with; None: something of this test.
    mark = None

    def setUp(self):
        super().setUp()
        self.mark = self.mark or f'kinds-{uuid.uuid4().hex[:8]}'
        self.opened = self.enterContext(contextlib.ExitStack())
        self.open_session()
        osds = observed_osds.read_osds(self.session)
        self.ids = [osd.osd_id for osd in osds if osd.device_class == HDD]
        self.host = min(osd.location['host'] for osd in osds)
        self.of_host = [
            osd.osd_id for osd in osds if osd.location['host'] == self.host
        ]
        self.version = self.session.command('version')['version'].split()[2]
        self.path = pathlib.Path(
            self.enterContext(tempfile.TemporaryDirectory()), 'tiers.yaml'
        )
        self.addCleanup(self.remove)

    def open_session(self):
        """Be a new client of the cluster."""
        self.opened.close()
        self.session = self.opened.enter_context(
            ceph_session.session(
                catalogs.Cluster(
                    name='ceph', conf=real_ceph.CONF, cinder_user=self.mark
                )
            )
        )

    def declare(self, **osd_options):
        """Write the tiers file."""
        whole = text(
            mark=self.mark,
            host=self.host,
            conf=real_ceph.CONF,
            **osd_options,
        )
        if self.version.startswith('16.'):
            whole = whole.replace(ROCKSDB, ROCKSDB_BEFORE)
        self.path.write_text(whole)

    def remove(self):
        """Leave nothing of it in the cluster."""
        command = self.session.command
        whole, cache = f'{self.mark}-whole', f'{self.mark}-cache'
        pools = [f'{self.mark}-{name}' for name in POOLS]
        if {whole, cache} <= set(command('osd pool ls')):
            # Neither is refused where there is no cache tier.
            command('osd tier remove-overlay', pool=whole)
            command('osd tier remove', pool=whole, tierpool=cache)
        real_ceph.delete_pools(self.session, pools)
        for name in pools:
            command('osd crush rule rm', name=name)
            command('osd erasure-code-profile rm', name=name)
        for osd_id in self.ids:
            command('osd primary-affinity', id=osd_id, weight=1.0)
        for who, name in (
            (f'osd/class:{HDD}', CLASS_OPTION),
            (f'osd/host:{self.host}', HOST_OPTION),
        ):
            command('config rm', who=who, name=name)
        command('auth rm', entity=f'client.{self.mark}')

    def change_behind_our_back(self):
        """Change a value of each object of Ceph that can be changed."""
        command = self.session.command
        pool = f'{self.mark}-whole'
        for name, value in (('min_size', '1'), ('compression_mode', 'force')):
            command('osd pool set', pool=pool, var=name, val=value)
        command(
            'config set',
            who=f'osd/class:{HDD}',
            name=CLASS_OPTION,
            value='4',
        )
        command(
            'config set',
            who=f'osd/host:{self.host}',
            name=HOST_OPTION,
            value='8192',
        )
        command('osd primary-affinity', id=self.ids[0], weight=0.25)
        command(
            'osd pool set',
            pool=f'{self.mark}-cache',
            var='cache_min_flush_age',
            val='9',
        )
        entity = f'client.{self.mark}'
        command('auth caps', entity=entity, caps=['mon', 'profile rbd'])


class CephOnlyCase(EveryKindCase):
    """Cinder is a world in memory; names are those of the file."""

    mark = MARK

    def setUp(self):
        super().setUp()
        self.assertEqual(HOST, self.host)
        self.start_anew()

    def start_anew(self):
        """Leave nothing of what was made."""
        self.remove()
        # An old client may take a pool for the deleted one of that name.
        self.open_session()
        self.cinder = in_memory.World(osds=())

    def plan(self, phase):
        return plans.make(
            catalog=catalog_of(phase),
            actual=observed(self.session, phase, self.cinder),
        )

    def read(self, key):
        if key.cluster is None:
            return self.cinder.read(key)
        return cluster.read(self.session, key)

    def carry_out(self, plan, session=None):
        """The results of a plan.

        :param session: of the executors; None: that of the test.
        """
        executors = executing.executors(
            connection=real_ceph.NoConnection(),
            clusters={'ceph': session or self.session},
            read_usage=usage.attempt,
        )
        executors |= dict.fromkeys(observing.CINDER, self.cinder)
        return apply.apply(
            plan=plan,
            executors=executors,
            read=self.read,
            report=lambda result: None,
            settle_s=30.0,
        )

    def assert_all_done(self, results):
        self.assertEqual(
            [],
            [
                (str(one.action.key), one.reason)
                for one in results
                if one.outcome is not actions.Outcome.DONE
            ],
        )
